"""Who has which messages until when: one lease for all that a poll was given, and a byte for each of its messages.

A lease lasts until a time, and those of its messages whose time was changed on their own until another. Looking up a
message costs a subtraction where its lease is one run, a search among the lease's own where it is not.

Invariants: a lease has something open. What a member has in flight is the sum over its leases.
"""

from array import array
from bisect import bisect_left

from attrs import define, field

from goqueue.core.partition.lane_runs import Run
from goqueue.core.queues.window import runs_of
from goqueue.core.timers.wheel import Wheel

_OPEN = b"\x01"


@define
class Lease:
    """A lease; `open` has a byte for each offset in order, `left` says how many are, `own` has times unlike `until`.

    Its offsets follow `first`, or are those of `scattered`.
    """

    number: int
    member: str
    since: int
    span_ms: int
    until: int
    first: int
    scattered: "array[int] | None"
    open: bytearray
    left: int
    own: dict[int, int] = field(factory=dict)

    @property
    def offsets(self) -> "range | array[int]":
        """All offsets that were leased."""
        return range(self.first, self.first + len(self.open)) if self.scattered is None else self.scattered

    def at(self, offset: int) -> int:
        """Where an open offset is among all; -1 when it is not, or not open."""
        scattered = self.scattered
        if scattered is None:
            at = offset - self.first
        else:
            at = bisect_left(scattered, offset)
            if at < len(scattered) and scattered[at] != offset:
                return -1
        return at if 0 <= at < len(self.open) and self.open[at] else -1

    def has_open(self, start: int, end: int) -> bool:
        """Whether a run is open as a whole."""
        at = self.at(start)
        if at < 0 or end - start == 1:
            return at >= 0
        last = at + end - start
        if last > len(self.open) or self.open[at:last].count(0):
            return False
        return self.scattered is None or self.scattered[last - 1] == end - 1

    def open_runs(self) -> list[Run]:
        """What is open, as runs."""
        offsets = self.offsets
        if self.left == len(offsets):
            return runs_of(offsets)
        return runs_of([offset for offset, is_open in zip(offsets, self.open, strict=True) if is_open])

    def over(self, now: int) -> list[Run]:
        """What is open and has come to its end."""
        if not self.own:
            return self.open_runs() if self.until <= now else []
        own, until = self.own, self.until
        pairs = zip(self.offsets, self.open, strict=True)
        return runs_of([offset for offset, is_open in pairs if is_open and own.get(offset, until) <= now])

    def end(self) -> int:
        """When the first of it comes to its end."""
        if not self.own:
            return self.until
        first = min(self.own.values())
        return first if len(self.own) == self.left else min(first, self.until)


@define
class Leases:
    """The leases of a ledger, by number."""

    _leases: dict[int, Lease] = field(factory=dict)
    _in_flight: dict[str, int] = field(factory=dict)
    _ends: Wheel[int] = field(factory=Wheel)

    def add(self, now: int, number: int, member: str, span_ms: int, runs: list[Run]) -> None:
        """Lease runs to a member."""
        scattered: array[int] | None = None
        if len(runs) > 1:
            scattered = array("q")
            for run in runs:
                scattered.extend(range(*run))
        count = sum(end - start for start, end in runs)
        until = now + span_ms * 1_000_000
        assert number not in self._leases
        is_open = bytearray(_OPEN * count)
        self._leases[number] = Lease(number, member, now, span_ms, until, runs[0][0], scattered, is_open, count)
        self._in_flight[member] = self._in_flight.get(member, 0) + count
        self._ends.set(number, until)

    def get(self, number: int) -> Lease | None:
        """The lease of a number, if it has something open."""
        return self._leases.get(number)

    def of(self, member: str) -> list[Lease]:
        """The leases of a member."""
        return [lease for lease in self._leases.values() if lease.member == member]

    def all(self) -> list[Lease]:
        """All leases, by age."""
        return [*self._leases.values()]

    def in_flight(self, member: str) -> int:
        """How many messages a member has."""
        return self._in_flight.get(member, 0)

    def close(self, number: int, runs: list[Run]) -> None:
        """Take runs that are open out of a lease."""
        lease = self._leases[number]
        closed = 0
        for start, end in runs:
            at = lease.at(start)
            assert at >= 0
            assert lease.scattered is None or lease.scattered[at + end - start - 1] == end - 1
            lease.open[at : at + end - start] = bytes(end - start)
            closed += end - start
            for offset in range(start, end) if lease.own else ():
                lease.own.pop(offset, None)
        left = self._in_flight[lease.member] - closed
        if left:
            self._in_flight[lease.member] = left
        else:
            del self._in_flight[lease.member]
        lease.left -= closed
        if not lease.left:
            del self._leases[number]
            self._ends.drop(number)

    def extend(self, now: int, number: int, runs: list[Run], span_ms: int) -> None:
        """Let runs of a lease last for a span from now."""
        lease = self._leases[number]
        until = now + span_ms * 1_000_000
        if sum(end - start for start, end in runs) == lease.left:
            lease.until, lease.span_ms, lease.own = until, span_ms, {}
        else:
            lease.span_ms = max(lease.span_ms, span_ms)
            for run in runs:
                lease.own.update(dict.fromkeys(range(*run), until))
        self._ends.set(number, lease.end())

    def over(self, now: int) -> list[Lease]:
        """Leases of which something may have come to its end."""
        return [self._leases[number] for number in self._ends.due(now)]

    def watch(self, lease: Lease) -> None:
        """Look at a lease again when the next of it comes to its end."""
        if lease.number in self._leases:
            self._ends.set(lease.number, lease.end())

    def deadline(self) -> int | None:
        """When `over` has something."""
        return self._ends.deadline()

    def check(self) -> None:
        """Assert the invariants."""
        self._ends.check()
        in_flight: dict[str, int] = {}
        for number, lease in self._leases.items():
            left = lease.open.count(1)
            assert 0 < left == lease.left
            assert lease.number == number
            assert len(lease.open) == len(lease.offsets)
            assert number in self._ends
            assert all(lease.at(offset) >= 0 for offset in lease.own)
            in_flight[lease.member] = in_flight.get(lease.member, 0) + left
        assert in_flight == self._in_flight
