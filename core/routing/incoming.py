"""Requests that other nodes have passed on: carried out here, or refused, and answered by letter.

A request that does harm when it is repeated is carried out once, however often its letter comes. For that its answer
is kept until the origin's floor has passed it, and repeated when the origin asks. The answers kept are bounded: in
place of one that had to go the origin hears that it may have been carried out. What may be repeated is forgotten with
its answer.

Letters of an earlier life of the origin may come late. Those of the last few lives are told apart; whatever was sent
to an earlier life of this node is not carried out at all.
"""

from collections.abc import Callable
from typing import Any

from attrs import define, field

from goqueue.core.errors import ProtocolError
from goqueue.core.requests.call import Call, Origin
from goqueue.core.requests.cluster import RegisterNode
from goqueue.core.requests.groups import Polled
from goqueue.core.requests.queues import PolledWork
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.table import SENT, is_idempotent
from goqueue.core.routing.messages import (
    ANY_LIFE,
    Abandoned,
    Answered,
    Forwarded,
    ForwardingMessage,
    Inquiry,
    Missing,
)

_LIVES_MAX = 4
# More nodes than a cluster has.
_ORIGINS_MAX = 2000
_TAKEN_MAX = 20_000
_KEPT_MAX = 4096
_KEPT_BYTES_MAX = 8 << 20
_REPLY_BYTES = 256
_SWEEP = 64


@define(eq=False)
class _Origin:
    """One life of a node that passes requests on.

    `gone` is the end of the numbers of which some were carried out and are forgotten.
    """

    sender: str
    life: int
    floor: int = 1
    gone: int = 0
    swept: int = 1
    under_way: dict[int, Call] = field(factory=dict)
    # Of what must not be repeated; None for what was abandoned.
    kept: dict[int, Answered | None] = field(factory=dict)
    kept_bytes: int = 0

    def keep(self, number: int, answer: Answered | None) -> None:
        """Remember what came of a request, and make room for it."""
        self.kept[number] = answer
        self.kept_bytes += _size(answer)
        while len(self.kept) > _KEPT_MAX or (self.kept_bytes > _KEPT_BYTES_MAX and len(self.kept) > 1):
            oldest = next(iter(self.kept))
            self.kept_bytes -= _size(self.kept.pop(oldest))
            self.gone = max(self.gone, oldest + 1)

    def raise_floor(self, floor: int) -> None:
        """The origin awaits nothing below this any more."""
        self.floor = max(self.floor, floor)
        if self.floor - self.swept >= _SWEEP:
            self.swept = self.floor
            self.kept = {number: answer for number, answer in self.kept.items() if number >= self.floor}
            self.kept_bytes = sum(map(_size, self.kept.values()))


@define(eq=False)
class _Taken:
    """A request that is being carried out here."""

    origin: _Origin
    number: int
    is_once: bool


class Incoming:
    """See the module.

    `take` carries a request out here, `introduce` passes on what a node asks that is not registered, and `forget` says
    that nobody waits for the answer any more.
    """

    def __init__(
        self,
        own_life: int,
        post: Callable[[str, ForwardingMessage], None],
        take: Callable[[int, Call, Any], None],
        introduce: Callable[[int, Call, Any], None],
        forget: Callable[[Call], None],
    ) -> None:
        self._own_life = own_life
        self._post = post
        self._take = take
        self._introduce = introduce
        self._forget = forget
        self._origins: dict[str, dict[int, _Origin]] = {}
        self._taken: dict[Call, _Taken] = {}
        self._count = 0

    def forwarded(self, now: int, sender: str, message: Forwarded) -> None:
        """Another node passes a request on. Raises ProtocolError for what is no request."""
        if type(message.request) not in SENT:
            raise ProtocolError(f"a {type(message.request).__name__} is no request that nodes pass on")
        is_introduction = message.life == ANY_LIFE and isinstance(message.request, RegisterNode)
        if message.life != self._own_life and not is_introduction:
            self._post(sender, Missing(message.origin, self._own_life, [message.number]))
            return
        origin, number = self._origin(sender, message.origin), message.number
        origin.raise_floor(message.floor)
        is_once = not is_idempotent(message.request)
        if number in origin.under_way or (is_once and number < origin.floor):
            return
        if number in origin.kept or (is_once and number < origin.gone):
            self._repeat(origin, number)
        elif len(self._taken) >= _TAKEN_MAX:
            refusal = Refusal(Code.UNAVAILABLE, "the node is busy with what others have passed on", retry_after_ms=200)
            self._post(sender, Answered(message.origin, self._own_life, number, refusal))
        else:
            self._count += 1
            call = Call(self._count, message.caller, Origin.NODE, is_own=message.is_own)
            origin.under_way[number] = call
            self._taken[call] = _Taken(origin, number, is_once)
            (self._introduce if is_introduction else self._take)(now, call, message.request)

    def _origin(self, sender: str, life: int) -> _Origin:
        lives = self._origins.setdefault(sender, {})
        if len(self._origins) > _ORIGINS_MAX:
            self._forget_origins(next(iter(self._origins)))
        origin = lives.get(life)
        if origin is None:
            if len(lives) >= _LIVES_MAX:
                self._forget_life(lives.pop(next(iter(lives))))
            origin = lives[life] = _Origin(sender, life)
        return origin

    def _forget_origins(self, sender: str) -> None:
        for origin in self._origins.pop(sender).values():
            self._forget_life(origin)

    def _forget_life(self, origin: _Origin) -> None:
        for call in origin.under_way.values():
            del self._taken[call]
            self._forget(call)

    def _repeat(self, origin: _Origin, number: int) -> None:
        """Answer once more what is not to be carried out again."""
        answer = origin.kept.get(number)
        if answer is None:
            answer = Answered(origin.life, self._own_life, number, _unknown())
        self._post(origin.sender, answer)

    def answered(self, call: Call, reply: Reply) -> None:
        """What came of a request; nobody may be waiting for it any more."""
        taken = self._taken.pop(call, None)
        if taken is None:
            return
        origin = taken.origin
        del origin.under_way[taken.number]
        answer = Answered(origin.life, self._own_life, taken.number, reply)
        if taken.is_once:
            origin.keep(taken.number, answer)
        self._post(origin.sender, answer)

    def abandoned(self, sender: str, message: Abandoned) -> None:
        """The origin does not wait for a request any more."""
        origin = self._origin(sender, message.origin)
        call = origin.under_way.pop(message.number, None)
        # It may have overtaken the request, which then is not begun at all.
        is_once = call is None or self._taken.pop(call).is_once
        if is_once and message.number not in origin.kept and message.number >= origin.floor:
            origin.keep(message.number, None)
        if call is not None:
            self._forget(call)

    def asked(self, sender: str, message: Inquiry) -> None:
        """The origin asks what has become of some requests."""
        origin = self._origin(sender, message.origin)
        origin.raise_floor(message.floor)
        unknown: list[int] = []
        for number in message.numbers:
            if number in origin.under_way:
                continue
            if number in origin.kept or number < origin.gone:
                self._repeat(origin, number)
            else:
                unknown.append(number)
        if unknown:
            self._post(sender, Missing(message.origin, self._own_life, unknown))

    def check(self) -> None:
        """Assert the invariants."""
        origins = [origin for lives in self._origins.values() for origin in lives.values()]
        assert sum(len(origin.under_way) for origin in origins) == len(self._taken)
        for call, taken in self._taken.items():
            assert taken.origin.under_way[taken.number] == call
        for origin in origins:
            assert len(origin.kept) <= _KEPT_MAX
            assert not origin.kept.keys() & origin.under_way.keys()
            assert origin.kept_bytes == sum(map(_size, origin.kept.values()))


def _unknown() -> Refusal:
    message = "the answer of the node that this was passed on to is lost: it may have been carried out"
    return Refusal(Code.OUTCOME_UNKNOWN, message)


def _size(answer: Answered | None) -> int:
    """About how much memory an answer takes."""
    if answer is not None and isinstance(answer.reply, Polled | PolledWork):
        return _REPLY_BYTES + sum(len(part.batches) for part in answer.reply.parts)
    return _REPLY_BYTES
