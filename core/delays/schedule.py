"""Which messages of a partition wait for their time, and which are on their way into the data: pure state.

It follows from the records of the schedule stream alone. `plan` methods read and answer a record, `add` and `apply` are
the only ones that change what is pending; live and when the stream is read again the same ones run.

How a message moves exactly once. The node writes into the data under a producer id of its own, whose sequences number
the moves of the partition. `Intended`, durable in the schedule before anything is written to the data, says which
message has which number; the data's table of producers says which number came last. So after a crash, wherever it
struck, the moves up to that number are done and those behind it are to be done, with the same numbers.

    1 the intention is lost: the messages are pending, and may be intended again in another order
    2 the intention is there, nothing of it is in the data: all of it is to be done
    3 the first half of it is in the data: the second half is to be done
    4 all is in the data, and nobody was told: nothing is to be done

Moves that were not written to the data yet can be withdrawn, which makes their numbers free; no number is ever given to
another message once the data may have it. Moves stay here until what they came to is on the disk for certain
(`settle`), so a data stream that loses its end gets it again.

Between two moves of one time those of a lane stand together, so that a burst becomes few batches.

Invariants: a message is pending or in `moves` or neither; numbers of moves rise without a gap within an intention.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise, takewhile

from attrs import define, field

from goqueue.core.delays.agenda import Agenda, Item
from goqueue.core.delays.records import (
    Cancelled,
    ControlRecord,
    Intended,
    Rescheduled,
    SummaryBegun,
    SummaryPart,
    Withdrawn,
    due_of,
    lane_of,
    mark_of,
)
from goqueue.core.log.producers import advance
from goqueue.core.records.batch import Lane
from goqueue.core.records.varint import INT32_MAX

# Of two numbers on a ring the nearer way round tells which came first.
_HALF = (INT32_MAX + 1) // 2


@define
class Move:
    """A message on its way, by the number of the move."""

    sequence: int
    offset: int
    due_ms: int
    lane: Lane


@define(eq=False)
class Schedule:
    """The delayed messages of one partition; `moved` is the number of the last move that the data has."""

    moved: int | None = None
    moves: deque[Move] = field(factory=deque)
    next_sequence: int = 0
    # The number of the last move that the data keeps for certain, as far as it was seen.
    settled: int = -1
    # The summary from which this began, and how many of its parts are yet to come.
    summary: int = -1
    parts_missing: int = 0
    _marks: dict[int, int] = field(factory=dict)
    _agenda: Agenda = field(factory=Agenda)

    def __attrs_post_init__(self) -> None:
        if self.moved is not None:
            self.next_sequence = advance(self.moved, 1)

    def __len__(self) -> int:
        return len(self._marks)

    def __contains__(self, offset: int) -> bool:
        return offset in self._marks

    # --- questions

    def message(self, offset: int) -> tuple[int, Lane]:
        """When a pending message is due, and its lane."""
        mark = self._marks[offset]
        return due_of(mark), lane_of(mark)

    @property
    def first_due_ms(self) -> int | None:
        """When the first pending message is due; None when there is none."""
        return self._agenda.first

    def since(self, due_ms: int, offset: int) -> Iterator[Item]:
        """Times and offsets of the pending messages from a place in their order on."""
        return self._agenda.since(due_ms, offset)

    def offsets(self) -> list[int]:
        """All pending messages, in the order of the stream."""
        return sorted(self._marks)

    # --- plans

    def plan_moves(self, ripe_ms: int, until_ms: int, count: int) -> Intended | None:
        """The next messages to be moved, of those due by `until_ms`; what is due by `ripe_ms` goes at once."""
        chosen: list[tuple[int, int, int, int]] = []
        for due_ms, offset in self._agenda.since(0, 0):
            if due_ms > until_ms or len(chosen) == count:
                break
            mark = self._marks[offset]
            chosen.append((max(due_ms, ripe_ms), lane_of(mark), mark, offset))
        if not chosen:
            return None
        chosen.sort()
        return Intended(self.next_sequence, self.settled, [one[3] for one in chosen], [one[2] for one in chosen])

    def plan_withdrawal(self, count: int) -> Withdrawn:
        """Take back the last so many moves."""
        moves = list(islice(self.moves, len(self.moves) - count, None))
        return Withdrawn([move.offset for move in moves], [mark_of(move.due_ms, move.lane) for move in moves])

    def plan_summary(self, number: int, replay_from: int, parts: int) -> SummaryBegun:
        """The begin of a summary, with all that is on its way."""
        moves = self.moves
        marks = [mark_of(move.due_ms, move.lane) for move in moves]
        sequences, offsets = [move.sequence for move in moves], [move.offset for move in moves]
        return SummaryBegun(number, replay_from, parts, sequences, offsets, marks)

    def plan_part(self, number: int, offsets: Sequence[int]) -> SummaryPart:
        """A part of a summary: those of some messages that are still pending."""
        marks = self._marks
        kept = [offset for offset in offsets if offset in marks]
        return SummaryPart(number, kept, [marks[offset] for offset in kept])

    # --- changes

    def add(self, offset: int, due_ms: int, lane: Lane) -> None:
        """A message of the stream."""
        assert offset not in self._marks
        self._marks[offset] = mark_of(due_ms, lane)
        self._agenda.add(due_ms, offset)

    def apply(self, record: ControlRecord) -> None:
        """A control record of the stream; what it names may be unknown to whoever began to read behind it."""
        if isinstance(record, Intended):
            self._intend(record)
        elif isinstance(record, Withdrawn):
            self._withdraw(record)
        elif isinstance(record, Cancelled):
            self._remove(record.offset)
        elif isinstance(record, Rescheduled):
            mark = self._marks.get(record.offset)
            if mark is not None:
                self._remove(record.offset)
                self.add(record.offset, record.due_ms, lane_of(mark))
        elif isinstance(record, SummaryPart) and record.number == self.summary:
            self.parts_missing -= 1
            # What was withdrawn since the summary began is there already.
            marks = self._marks
            rows = [row for row in zip(record.offsets, record.marks, strict=True) if row[0] not in marks]
            marks.update(rows)
            for due_ms, offset in sorted((due_of(mark), offset) for offset, mark in rows):
                self._agenda.add(due_ms, offset)

    def begin(self, begun: SummaryBegun) -> None:
        """Start from a summary, which the parts to come make complete."""
        assert not self._marks
        self.summary, self.parts_missing = begun.number, begun.parts
        self._move(begun.sequences, begun.offsets, begun.marks)

    def _intend(self, record: Intended) -> None:
        pending, drop = self._marks.pop, self._agenda.drop
        for offset in record.offsets:
            mark = pending(offset, None)
            if mark is not None:
                drop(due_of(mark), offset)
        while record.settled >= 0 and self.moves and not _is_behind(self.moves[0].sequence, record.settled):
            self.settle(1)
        first = record.first_sequence
        self._move([first + at & INT32_MAX for at in range(len(record.offsets))], record.offsets, record.marks)

    def _move(self, sequences: list[int], offsets: list[int], marks: list[int]) -> None:
        """Know of moves, but for those that are done, which are the first of them."""
        done = sum(1 for _ in takewhile(self.is_moved, sequences))
        rows = islice(zip(sequences, offsets, marks, strict=True), done, None)
        self.moves.extend([Move(number, offset, due_of(mark), lane_of(mark)) for number, offset, mark in rows])
        if self.moves:
            self.next_sequence = advance(self.moves[-1].sequence, 1)

    def _withdraw(self, record: Withdrawn) -> None:
        # Read again, they may seem done, as others were moved under their numbers since.
        withdrawn = dict.fromkeys(record.offsets)
        while self.moves and self.moves[-1].offset in withdrawn:
            self.next_sequence = self.moves.pop().sequence
        for offset, mark in zip(record.offsets, record.marks, strict=True):
            if offset not in self._marks:
                self.add(offset, due_of(mark), lane_of(mark))

    def is_moved(self, sequence: int) -> bool:
        """Whether the data had the move of a number when this began."""
        return self.moved is not None and not _is_behind(sequence, self.moved)

    def _remove(self, offset: int) -> None:
        mark = self._marks.pop(offset, None)
        if mark is not None:
            self._agenda.drop(due_of(mark), offset)

    def settle(self, count: int, *, is_certain: bool = True) -> None:
        """The first so many moves are in the data, for certain or as far as its topic cares."""
        for _ in range(count):
            move = self.moves.popleft()
            if is_certain:
                self.settled = move.sequence

    def check(self) -> None:
        """Assert the invariants."""
        self._agenda.check()
        assert len(self._agenda) == len(self._marks)
        assert list(self._agenda.since(0, 0)) == sorted((due_of(mark), at) for at, mark in self._marks.items())
        for one, other in pairwise(self.moves):
            assert 0 < (other.sequence - one.sequence) & INT32_MAX < _HALF
        assert not any(move.offset in self._marks for move in self.moves)


def _is_behind(sequence: int, other: int) -> bool:
    """Whether a number comes after another on the ring."""
    return (other - sequence) & INT32_MAX >= _HALF
