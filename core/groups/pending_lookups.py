"""Requests that rest on where partitions end: those of partitions led elsewhere are sounded before they are planned.

A commit beyond the end is refused, as it would skip messages yet to come. But what is known of another node's partition
may be behind what a member has read of it. So a commit beyond what is known waits until that was asked, and a reset
does always; whoever asks how far a group has come waits for partitions of which nothing is known at all. Where it
cannot be asked the request goes on all the same, and is refused or answered for want of it.

Invariant: a request waits for soundings that are under way.
"""

from attrs import define, field

from goqueue.core.groups.offset_lookup import OffsetLookup
from goqueue.core.groups.state import Slot
from goqueue.core.requests.call import Call
from goqueue.core.requests.groups import CommitOffsets, ResetOffsets
from goqueue.core.requests.row import Request

_WAITING_MAX = 1000

Asked = tuple[Call, Request]


@define
class _Waiting:
    """A request, and what it waits for."""

    request: Request
    slots: dict[Slot, None]


@define(eq=False)
class PendingLookups:
    """The requests that wait."""

    _reach: OffsetLookup
    _waiting: dict[Call, _Waiting] = field(factory=dict)

    def begin(self, call: Call, request: Request, slots: list[Slot]) -> bool:
        """Sound what a request rests on, which are some of these partitions; False if it need not wait."""
        if isinstance(request, CommitOffsets):
            offsets = [((one.topic, one.partition), one.offset) for one in request.offsets]
            wanted = [slot for slot, offset in offsets if self._is_beyond(slot, offset)]
        elif isinstance(request, ResetOffsets):
            wanted = [slot for slot in slots if self._reach.is_far(slot)]
        else:
            wanted = [slot for slot in slots if self._reach.is_far(slot) and self._reach.about(*slot) is None]
        if len(self._waiting) >= _WAITING_MAX:
            return False
        waits = {slot: None for slot in wanted if self._reach.sound(slot)}
        if waits:
            self._waiting[call] = _Waiting(request, waits)
        return bool(waits)

    def _is_beyond(self, slot: Slot, offset: int) -> bool:
        if not self._reach.is_far(slot):
            return False
        span = self._reach.ends(*slot)
        return span is None or offset > span[1]

    def heard(self, slot: Slot) -> list[Asked]:
        """A partition was sounded, or cannot be; the requests that wait for nothing more."""
        ready: list[Asked] = []
        for call, waiting in [*self._waiting.items()]:
            waiting.slots.pop(slot, None)
            if not waiting.slots:
                del self._waiting[call]
                ready.append((call, waiting.request))
        return ready

    def forget(self, call: Call) -> None:
        """Nobody waits for the answer to `call` any more."""
        self._waiting.pop(call, None)

    def clear(self) -> list[Call]:
        """Give up all requests; whom they are of."""
        waiting, self._waiting = self._waiting, {}
        return [*waiting]

    def check(self) -> None:
        """Assert the invariant."""
        for waiting in self._waiting.values():
            assert waiting.slots
            assert all(self._reach.is_sounding(slot) for slot in waiting.slots)
