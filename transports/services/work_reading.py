"""What work queues hold for a member of a shared group: the reading half of its `Consume` stream.

One poll at a time is with the broker, for as many messages as the client has credit left; its answer is queued within
the turn, and the next poll follows. So what is leased is never more than was asked for, and what was leased and cannot
be sent at once is one answer at most. While there may be more than the last answer brought, a poll does not wait, and
has room for its answer; one that waits for messages has none (`feed.py` says why). Without credit for messages nothing
is polled: a lease runs from when it is made, also while a message waits for somebody to take it.

A poll that nobody waits for any more is taken back, and what it was about to lease is free for others.

Invariant: while the member reads, a poll is with the broker, or there is no credit or no room, or the client takes
nothing.
"""

from collections.abc import Callable

from attrs import define, field

from goqueue.core.requests.call import Caller
from goqueue.core.requests.queues import LeasedBatches, PolledWork, PollWork
from goqueue.core.requests.refusals import Refusal
from goqueue.core.requests.replies import Reply
from goqueue.transports.broker import Broker
from goqueue.transports.http2.errors import StreamGone
from goqueue.transports.services.envelopes import bytes_field
from goqueue.transports.services.feed import Feed
from goqueue.transports.services.leased import leased_head

BYTES_MAX = 1 << 20
_LEASED = 3
# The core answers sooner: after a third of the session timeout.
_WAIT_NS = 300_000_000_000


@define(eq=False)
class WorkReading:
    """The polls of one member on one stream; `fail` is told why there can be no more of them."""

    _broker: Broker
    _caller: Caller
    _feed: Feed
    _wall_ms: Callable[[], int]
    _fail: Callable[[Refusal], None]
    visibility_ms: int = 0
    _member: tuple[str, str] | None = None
    # The poll that is with the broker.
    _to: int = field(default=0, init=False)
    # The room for its answer, and how many messages it asks for.
    _room: int = field(default=0, init=False)
    _asked: int = field(default=0, init=False)
    # Whether there may be more messages at once.
    _is_behind: bool = field(default=True, init=False)

    def begin(self, group: str, member_id: str) -> None:
        """Poll as this member from here on."""
        self.stop()
        self._member = group, member_id
        self.go_on()

    def stop(self) -> None:
        """Poll no more."""
        if self._to:
            self._broker.forget(self._to)
        self._to, self._member, self._is_behind = 0, None, True
        self._leave_room()

    def go_on(self) -> None:
        """Poll, if that is possible and not under way."""
        feed, member = self._feed, self._member
        credit = feed.credit
        if member is None or self._to or not feed.is_roomy or not credit.messages or credit.is_used_up:
            return
        size = BYTES_MAX if credit.octets is None else min(BYTES_MAX, credit.octets)
        if self._is_behind:
            self._room = feed.take_room(size)
            if not self._room:
                return
            size = min(size, self._room)
        self._asked = credit.messages
        wait_ns = 0 if self._is_behind else _WAIT_NS
        poll = PollWork(*member, credit.messages, size, wait_ns, self.visibility_ms)
        self._to = self._broker.post(self._caller, poll, self._polled)

    def _leave_room(self) -> None:
        room, self._room = self._room, 0
        self._feed.give_room(room)

    def _polled(self, reply: Reply) -> None:
        self._to = 0
        self._leave_room()
        if self._feed.is_over or self._member is None:
            return
        if not isinstance(reply, PolledWork):
            assert isinstance(reply, Refusal)
            self._fail(reply)
            return
        now_ms = self._wall_ms()
        leased = sum(run.count for part in reply.parts for run in part.leases)
        octets = sum(len(part.batches) for part in reply.parts)
        self._is_behind = leased > 0 and (leased >= self._asked or octets * 2 >= BYTES_MAX)
        try:
            for part in reply.parts:
                self._send(part, now_ms)
        except StreamGone:
            self._feed.is_over = True
            return
        self.go_on()

    def _send(self, part: LeasedBatches, now_ms: int) -> None:
        head, size, credit = leased_head(part, now_ms), len(part.batches), self._feed.credit
        assert credit.messages is not None
        credit.messages -= sum(run.count for run in part.leases)
        if credit.octets is not None:
            credit.octets -= size
        self._feed.put(bytes_field(_LEASED, len(head) + size) + head, part.batches)
