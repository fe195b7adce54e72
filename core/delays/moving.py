"""Moves carried out: what is intended is read from the schedule ahead of its time, and written to the data in time.

A move goes through three stages, all in the order of their numbers: wanted (its content is read), ready (intended for
certain, content there, waits for its time), written (waits for the data to be durable). What is due together and lies
in one lane becomes one batch. So the disk is asked for the content before anybody waits for it, and a burst costs a
batch for each thousand messages.

Contents are bounded by `CONTENTS_MAX` messages and a few times `_BYTES_MAX`; what was written and is not answered by
`_WRITTEN_BYTES_MAX`.

Invariant: `written` moves, then those in `_waiting`, are the moves of the schedule in order.
"""

from bisect import bisect_left
from collections import deque
from itertools import islice

from attrs import define, field

from goqueue.core.delays.errands import Budget, Errands
from goqueue.core.delays.publishing import shifted
from goqueue.core.delays.schedule import Move, Schedule
from goqueue.core.errors import BatchError
from goqueue.core.log.config import Fsync
from goqueue.core.log.producers import MOVER_ID, advance
from goqueue.core.partition.partition import Partition
from goqueue.core.records.batch import split, validate
from goqueue.core.records.build import BatchBuilder
from goqueue.core.records.record import Record, iterate
from goqueue.core.requests.histogram import Histogram
from goqueue.core.requests.messages import Acks, Fetch, Fetched, PublishBatch, Published, PublishReply, Side
from goqueue.core.requests.refusals import Refusal

CONTENTS_MAX = 2_000
_BYTES_MAX = 2 << 20
_BATCH_BYTES_MAX = 1 << 20
_READ_BYTES_MAX = 256 << 10
_WRITTEN_BYTES_MAX = 8 << 20
# Messages nearer to each other than this are read in one go.
_NEAR = 64


@define
class Content:
    """What a message says, and when it was published to be delivered later."""

    record: Record
    asked_ms: int
    size: int


@define
class _Written:
    """A batch of the data under way; `end_offset` is known when it is durable."""

    number: int
    moves: list[Move]
    size: int
    delay_ms: int
    end_offset: int = -1


@define
class Delivered:
    """What was delivered so far, in numbers."""

    count: int = 0
    delay_ms: int = 0
    lateness: Histogram = field(factory=Histogram)


@define(eq=False)
class Mover:
    """The moves of one partition."""

    _errands: Errands
    _schedule: Schedule
    _delivered: Delivered
    _waiting: deque[Move] = field(factory=deque)
    # How many of those that wait may be written as far as the schedule's disk is concerned, and what is yet to come:
    # the count of its batches that are to be durable, and so many moves.
    _sure: int = 0
    _unsure: deque[tuple[int, int]] = field(factory=deque)
    # How many of those that wait have their contents, or are being read.
    _asked: int = 0
    _contents: dict[int, Content] = field(factory=dict)
    _contents_bytes: int = 0
    _reading: dict[int, list[int]] = field(factory=dict)
    # All that was written and is not certainly kept, and of that what has no answer yet.
    _written: deque[_Written] = field(factory=deque)
    _unanswered: deque[_Written] = field(factory=deque)
    _written_bytes: int = 0

    # --- what is to be moved

    def resume(self) -> None:
        """Begin with the moves that a schedule has which was read anew."""
        self._waiting.extend(self._schedule.moves)
        self._sure = len(self._waiting)

    def intend(self, moves: list[Move], after: int) -> None:
        """More moves, which may be made when so many batches of the schedule are durable."""
        self._waiting.extend(moves)
        self._unsure.append((after, len(moves)))

    def withdraw(self) -> int:
        """Make none of the moves that wait; how many they are."""
        count = len(self._waiting)
        self.forget_contents()
        self._waiting.clear()
        self._unsure.clear()
        self._sure = 0
        return count

    @property
    def first_due_ms(self) -> int | None:
        """The time of the next move, whatever is in its way."""
        return self._waiting[0].due_ms if self._waiting else None

    def durable(self, count: int) -> None:
        """So many batches of the schedule are durable."""
        while self._unsure and self._unsure[0][0] <= count:
            self._sure += self._unsure.popleft()[1]

    @property
    def room(self) -> int:
        """How many moves more may wait to be made."""
        return max(2 * CONTENTS_MAX - len(self._waiting), 0)

    @property
    def next_due_ms(self) -> int | None:
        """When the next move is to be made, if nothing but time is in its way; None while something else is."""
        return self._waiting[0].due_ms if self._is_ready() else None

    def _is_ready(self) -> bool:
        fits = self._written_bytes < _WRITTEN_BYTES_MAX
        return fits and self._sure > 0 and self._waiting[0].offset in self._contents

    # --- contents

    def fetch(self, schedule_stream: Partition) -> None:
        """Have the contents of the next moves read."""
        room = CONTENTS_MAX - self._asked
        if self._asked == len(self._waiting) or self._contents_bytes >= _BYTES_MAX or room < CONTENTS_MAX // 2:
            return
        log = schedule_stream.log
        record_bytes = log.size_bytes // max(log.next_offset - log.start_offset, 1) + 1
        room = min(room, max((_BYTES_MAX - self._contents_bytes) // record_bytes, 1))
        wanted = sorted(move.offset for move in islice(self._waiting, self._asked, self._asked + room))
        self._asked += len(wanted)
        begin = 0
        for at in range(1, len(wanted) + 1):
            if at == len(wanted) or wanted[at] - wanted[at - 1] > _NEAR:
                self._read(wanted[begin:at], record_bytes)
                begin = at

    def _read(self, wanted: list[int], record_bytes: int) -> None:
        span = wanted[-1] - wanted[0] + 1
        size = min(span * record_bytes, _READ_BYTES_MAX)
        topic, number = self._errands.slot
        self._reading[self._errands.ask(Fetch(topic, number, wanted[0], size, side=Side.SCHEDULE))] = wanted

    def found(self, number: int, reply: Fetched, budget: Budget) -> None:
        """The answer to a read of these. Raises BatchError where not all is there."""
        wanted = self._reading.pop(number)
        read = bisect_left(wanted, reply.next_offset)
        contents = _contents(reply, wanted[:read])
        if len(contents) < max(read, 1):
            raise BatchError("offsets", f"The schedule has no message at offset {wanted[0]} where it should have one.")
        budget.spend(len(contents))
        self._contents_bytes += sum(content.size for content in contents)
        self._contents.update((content.record.offset, content) for content in contents)
        if read < len(wanted):
            self._read(wanted[read:], 1 + len(reply.batches) // len(contents))

    def is_reading(self, number: int) -> bool:
        """Whether a number is that of a read."""
        return number in self._reading

    def forget_contents(self) -> None:
        """Let go of what was read; it is read again."""
        self._contents.clear()
        self._reading.clear()
        self._asked = self._contents_bytes = 0

    # --- the data

    def write(self, ripe_ms: int, budget: Budget) -> None:
        """Make the moves whose time has come."""
        while self._is_ready() and self._waiting[0].due_ms <= ripe_ms and not budget.is_spent:
            run = self._run(ripe_ms, budget.left)
            budget.spend(len(run))
            self._write(run)

    def _run(self, ripe_ms: int, most: int) -> list[Move]:
        """Moves from the front that can go in one batch."""
        run: list[Move] = []
        size = 0
        for move in islice(self._waiting, min(self._sure, most)):
            content = self._contents.get(move.offset)
            if content is None or move.due_ms > ripe_ms:
                break
            size += content.size
            if run and (size > _BATCH_BYTES_MAX or not _follows(run[-1], move)):
                break
            run.append(move)
        return run

    def _write(self, run: list[Move]) -> None:
        entries, asked_ms = [], 0
        for move in run:
            self._waiting.popleft()
            content = self._contents.pop(move.offset)
            record = content.record
            self._contents_bytes -= content.size
            asked_ms += content.asked_ms
            headers = record.headers
            if record.timestamp != move.due_ms and headers:
                headers = shifted(headers, move.due_ms - record.timestamp)
            entries.append((move.due_ms, record.key, record.value, headers))
        self._sure -= len(run)
        self._asked -= len(run)
        builder = BatchBuilder()
        builder.extend(entries)
        lane, first = run[0].lane, run[0].sequence
        batch = builder.build(lane=lane, producer_id=MOVER_ID, producer_epoch=0, base_sequence=first)
        topic, partition = self._errands.slot
        number = self._errands.ask(PublishBatch(topic, partition, batch, Acks.ALL))
        delay_ms = sum(move.due_ms for move in run) - asked_ms
        written = _Written(number, run, len(batch), delay_ms)
        self._written.append(written)
        self._unanswered.append(written)
        self._written_bytes += len(batch)

    def published(self, wall_ms: int, number: int, reply: PublishReply | Refusal) -> Refusal | None:
        """The answer to a write, if it is one of these; the refusal when it was not taken."""
        result = reply.results[0] if isinstance(reply, PublishReply) else reply
        if isinstance(result, Refusal):
            # It comes at once, while what was written before may wait for other replicas.
            return result if any(one.number == number for one in self._unanswered) else None
        if not self._unanswered or self._unanswered[0].number != number:
            return None
        assert isinstance(result, Published)
        written = self._unanswered.popleft()
        written.end_offset = result.offset + len(written.moves)
        self._written_bytes -= written.size
        self._count(wall_ms, written)
        return None

    def _count(self, wall_ms: int, written: _Written) -> None:
        delivered, moves = self._delivered, written.moves
        delivered.count += len(moves)
        delivered.delay_ms += max(written.delay_ms, 0)
        at = 0
        while at < len(moves):
            end, due_ms = at, moves[at].due_ms
            while end < len(moves) and moves[end].due_ms == due_ms:
                end += 1
            delivered.lateness.observe(max(wall_ms - due_ms, 0) * 1_000_000, end - at)
            at = end

    def settle(self, data_stream: Partition) -> None:
        """Be done with the moves that the data keeps for certain."""
        log = data_stream.log
        is_certain = log.config.fsync is not Fsync.NONE
        limit = log.synced_offset if is_certain else log.next_offset
        while self._written and 0 <= self._written[0].end_offset <= limit:
            self._schedule.settle(len(self._written.popleft().moves), is_certain=is_certain)

    def check(self) -> None:
        """Assert the invariants."""
        written = [move.sequence for one in self._written for move in one.moves]
        assert [*written, *(move.sequence for move in self._waiting)] == [one.sequence for one in self._schedule.moves]
        assert self._sure + sum(count for _, count in self._unsure) == len(self._waiting)
        assert len(self._contents) + sum(map(len, self._reading.values())) == self._asked <= len(self._waiting)
        assert self._contents_bytes == sum(content.size for content in self._contents.values())
        assert self._written_bytes == sum(one.size for one in self._unanswered)
        assert [one for one in self._written if one.end_offset < 0] == [*self._unanswered]


def _follows(one: Move, other: Move) -> bool:
    return other.sequence == advance(one.sequence, 1) and other.lane is one.lane


def _contents(fetched: Fetched, wanted: list[int]) -> list[Content]:
    """The messages at some offsets, in order, of those that were read."""
    found: list[Content] = []
    at = 0
    for batch in split(fetched.batches):
        if at == len(wanted):
            break
        header = validate(batch, compacted=True)
        if header.next_offset <= wanted[at]:
            continue
        for record in iterate(batch):
            if record.offset == wanted[at]:
                found.append(Content(record, header.base_timestamp, _size(record)))
                at += 1
                if at == len(wanted) or wanted[at] >= header.next_offset:
                    break
    if sum(content.size for content in found) * 2 < len(fetched.batches):
        # Views of a few records would keep all that was read.
        for content in found:
            content.record = _copied(content.record)
    return found


def _size(record: Record) -> int:
    size = 20 + len(record.key or b"") + len(record.value or b"")
    for name, value in record.headers:
        size += 10 + len(name) + len(value or b"")
    return size


def _copied(record: Record) -> Record:
    key = None if record.key is None else bytes(record.key)
    value = None if record.value is None else bytes(record.value)
    return Record(record.offset, record.timestamp, key, value, record.headers)
