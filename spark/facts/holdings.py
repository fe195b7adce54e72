"""What members hold of a work queue, as its ledger says: leases by number, with the runs of each that are still open.

A node knows as much, but forgets a lease when nothing of it is open, within the turn in which its end is written. Who
looks on sees the record of that end later than the node, and still wants to know whose lease it was, and which attempt.

Invariants: the pieces of a lease are in order, touch nowhere, and hold what is open; a lease without any is not kept.
"""

from collections.abc import Iterable, Iterator

from attrs import define, evolve, field

from goqueue.core.partition.lane_runs import Run
from goqueue.core.queues.leases import Lease
from goqueue.core.queues.window import PAGE_BITS, Window
from goqueue.spark.facts.services import Slot

_LATE_MAX = 1 << 12


@define
class Piece:
    """So many messages of a lease that were delivered as often and are of one lane; None where that is not known."""

    first: int
    end: int
    attempt: int
    lane: int | None


@define
class Held:
    """One lease; its end as the node has it, and those of single messages that differ."""

    number: int
    member: str
    until: int
    own: dict[int, int]
    pieces: list[Piece]
    # All that was leased, until the member is told of it, and the event in which that was written.
    given: list[Piece] = field(factory=list)
    written: int | None = None
    # How long it is to last by its record and until when by that, for all of its messages; 0 where that is not known.
    span_ms: int = 0
    least: int = 0

    def ends(self, offset: int) -> int:
        """When the lease of one message is over."""
        return self.own.get(offset, self.until)

    def within(self, first: int, end: int) -> Iterator[Piece]:
        """What of a run is open."""
        for piece in self.pieces:
            if piece.first < end and first < piece.end:
                yield Piece(max(piece.first, first), min(piece.end, end), piece.attempt, piece.lane)

    def take_out(self, first: int, end: int) -> list[Piece]:
        """Close a run; what of it was open."""
        taken = [*self.within(first, end)]
        if taken:
            self.pieces = [left for piece in self.pieces for left in _without(piece, first, end)]
        return taken


def _without(piece: Piece, first: int, end: int) -> Iterator[Piece]:
    if end <= piece.first or piece.end <= first:
        yield piece
        return
    if piece.first < first:
        yield evolve(piece, end=first)
    if end < piece.end:
        yield evolve(piece, first=end)


@define(eq=False)
class Holdings:
    """The leases of one group on one partition; `home` is what its receipts bear."""

    group: str
    slot: Slot
    home: int
    leases: dict[int, Held] = field(factory=dict)
    # Those that were over before the member was told.
    late: dict[int, Held] = field(factory=dict)
    # Under which epoch the ledger is written.
    epoch: int | None = None
    # The topic that they are of, whichever has its name by now.
    topic_id: int | None = None
    # Whether the queue may have begun in this turn: nothing was known of it before, and no record of it was read yet.
    is_new: bool = False

    def close(self, held: Held, first: int, end: int) -> list[Piece]:
        """Close a run of a lease, and forget the lease if that was all; what of the run was open."""
        taken = held.take_out(first, end)
        if not held.pieces and self.leases.pop(held.number, None) is not None and held.given:
            if len(self.late) >= _LATE_MAX:
                self.late.pop(next(iter(self.late)))
            self.late[held.number] = held
        return taken

    def told(self, number: int) -> Held | None:
        """The lease of that number, if its member was not told of it before."""
        held = self.leases.get(number) or self.late.pop(number, None)
        return held if held is not None and held.given else None


def pieces_of(window: Window, runs: Iterable[Run], *, has_lanes: bool) -> list[Piece]:
    """Runs by how often they were delivered and by lane, as a queue has it."""
    return [
        Piece(first, end, failures + 1, lane)
        for run in runs
        for start, after, failures in window.by_failures(*run)
        for first, end, lane in _by_lane(window, start, after, has_lanes)
    ]


def _by_lane(window: Window, first: int, end: int, has_lanes: bool) -> Iterable[tuple[int, int, int | None]]:
    if not has_lanes:
        return ((first, end, None),)
    # What was settled within the turn has no lane any more.
    is_known = all(number in window.pages for number in range(first >> PAGE_BITS, (end - 1 >> PAGE_BITS) + 1))
    return window.by_lane(first, end) if is_known or not window.unlike else ((first, end, None),)


def held_of(lease: Lease, window: Window, *, has_lanes: bool) -> Held:
    """A lease as a node has it, whose member was told of it before."""
    pieces = pieces_of(window, lease.open_runs(), has_lanes=has_lanes)
    return Held(lease.number, lease.member, lease.until, dict(lease.own), pieces)
