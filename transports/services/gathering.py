"""Acknowledgements of many calls asked of the broker as one.

Who acknowledges message by message has many calls under way, and one read brings several of them. The first one steps
back for a moment, so that others can join it, and then asks for all. The broker takes a dozen receipts for little more
than one, and writes one record of them. Each call is answered with what became of its own.

Only calls on whose behalf the same is asked come together: of one caller, for one group and member. A call that is
cancelled gets no answer, but what it asked is done: it may be on its way already.

Invariant: a sheaf that is kept here is asked by the call that began it.
"""

from functools import partial
from typing import TypeAlias

from attrs import define, field

from goqueue.core.requests.call import Caller
from goqueue.core.requests.queues import AckWork, WorkDone
from goqueue.core.requests.refusals import Refusal
from goqueue.core.requests.replies import Reply
from goqueue.transports.broker import Broker
from goqueue.transports.services.settling import AckBatch
from goqueue.transports.trio_parking import Parking, step_back

_Key: TypeAlias = tuple[str, str, str, str, str]
# One step lets in what the same read brought, three what was waiting to be read: half of what a busy client has under
# way. The other half is at the client meanwhile, so neither side waits for the other.
_STEPS = 3


@define(eq=False)
class _Gathered:
    """A sheaf, and who waits for which answer."""

    sheaf: AckBatch = field(factory=AckBatch)
    waiting: list["_Waiting"] = field(factory=list)


@define(eq=False)
class _Waiting:
    """One call, until it has its answer."""

    parking: Parking = field(factory=Parking)
    reply: WorkDone | Refusal | None = None

    def answer(self, reply: WorkDone | Refusal) -> None:
        """Let the call go on."""
        self.reply = reply
        self.parking.wake()


@define(eq=False)
class AckGathering:
    """The acknowledgements by single calls of all connections."""

    _broker: Broker
    _open: dict[_Key, _Gathered] = field(factory=dict)

    async def ask(self, caller: Caller, request: AckWork) -> WorkDone | Refusal:
        """What becomes of an acknowledgement."""
        key = (caller.client_id, caller.principal, caller.trace, request.group, request.member_id)
        gathered = self._open.get(key)
        is_first = gathered is None or not gathered.sheaf.has_room(request)
        if gathered is None or is_first:
            gathered = self._open[key] = _Gathered()
        waiting = _Waiting()
        gathered.sheaf.add(len(gathered.waiting), request, 0)
        gathered.waiting.append(waiting)
        if is_first:
            for _ in range(_STEPS):
                await step_back()
            self._post(key, caller, request, gathered)
        while waiting.reply is None:
            await waiting.parking.wait()
        return waiting.reply

    def _post(self, key: _Key, caller: Caller, request: AckWork, gathered: _Gathered) -> None:
        if self._open.get(key) is gathered:
            del self._open[key]
        self._broker.post(
            caller, gathered.sheaf.request(request.group, request.member_id), partial(_answered, gathered)
        )


def _answered(gathered: _Gathered, reply: Reply) -> None:
    if isinstance(reply, WorkDone):
        for number, share in gathered.sheaf.answers(reply):
            gathered.waiting[number].answer(share)
        return
    assert isinstance(reply, Refusal)
    for waiting in gathered.waiting:
        waiting.answer(reply)
