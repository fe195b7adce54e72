"""The delayed messages of one partition: the schedule stream read and written, and its messages moved when due.

    CLOSED  --both streams are open-->  LOADING  --all is read-->  READY
    any     --a stream fails, or refuses-->  CLOSED, until it is opened again, or after a pause

The pause after a refusal ends at once when a node that had lost touch with its cluster may act as a leader again.

What is in memory follows from the schedule stream and from how far the data got; when either was recovered it is read
anew, from the last whole summary on. Messages come by reading also while they are published: what is readable is
durable, so nothing that a crash takes back is ever counted. Control records are applied as they are appended, and
passed over when they are read; what rests on one is said when it is durable.

The calendar's clock is one millisecond behind the wall's: that is read in whole milliseconds and may be ahead of the
true time by nearly one, and nothing may be early. Intentions are written `_AHEAD_MS` before the first of their messages
is due and cover as much time again, so that the disk has been waited for when the time comes, and a trickle of messages
costs forty intentions a second at most. Moves are made in the order of their numbers; so a message that is published
with a delay shorter than what an intention covers may wait for one that was intended before it, that long and no more.

Invariant: a reply waits only for batches under way; a request waits only for what was readable when it came.
"""

from collections import deque
from enum import Enum

from attrs import define, field

from goqueue.core.delays.errands import Budget, Errands
from goqueue.core.delays.moving import Delivered, Mover
from goqueue.core.delays.records import (
    Cancelled,
    ControlRecord,
    Rescheduled,
    SummaryBegun,
    encode_control,
    read_control,
)
from goqueue.core.delays.schedule import Schedule
from goqueue.core.delays.summaries import Summaries, candidates
from goqueue.core.errors import BatchError
from goqueue.core.log.producers import MOVER_ID
from goqueue.core.log.thresholds import Thresholds
from goqueue.core.partition.partition import Partition
from goqueue.core.records.batch import split, validate
from goqueue.core.records.record import iterate
from goqueue.core.records.varint import Readable
from goqueue.core.requests.call import Call
from goqueue.core.requests.delays import DelayedMessage
from goqueue.core.requests.messages import Acks, Fetch, Fetched, PublishBatch, Published, PublishReply, Side
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.replies import Reply

_AHEAD_MS = 25
# A move is due later than any could be intended: the clock was set back, and what comes before it must not wait for it.
_SET_BACK_MS = 4 * _AHEAD_MS
_INTENDED_MAX = 1_000
_READ_BYTES = 256 << 10
_PAUSE_LEAST_NS, _PAUSE_MOST_NS = 500_000_000, 60_000_000_000


class Standing(Enum):
    """How far a calendar is from being asked."""

    CLOSED = "closed"
    LOADING = "loading"
    READY = "ready"


@define(eq=False)
class Calendar:
    """One partition's delays; `why` it is closed, `next_offset` where reading goes on."""

    errands: Errands
    thresholds: Thresholds
    delivered: Delivered
    standing: Standing = Standing.CLOSED
    why: str = "it is being opened"
    next_offset: int = 0
    # Its streams, while they can be used.
    stream: Partition | None = None
    data_stream: Partition | None = None
    # Whether there is more to do than a turn had room for.
    is_unfinished: bool = False
    # Replies that may be sent.
    replies: list[tuple[Call, Reply]] = field(factory=list)
    schedule: Schedule = field(factory=Schedule)
    _mover: Mover = field(init=False)
    _summaries: Summaries = field(init=False)
    # Batches of the schedule that were appended since the load, and how many of them are durable.
    _appended: int = 0
    _durable: int = 0
    _appending: dict[int, None] = field(factory=dict)
    # Replies, each with the count of batches that are to be durable first.
    _held: deque[tuple[int, Call, Reply]] = field(factory=deque)
    # The read under way, whether it looks for the begin of a summary, and where else there may be one.
    _reading: int = 0
    _is_looking: bool = False
    # What the schedule had when the load began: control records of it that are not durable yet are waited for.
    _load_end: int = 0
    _untried: list[int] = field(factory=list)
    # Control records below are in the summary.
    _controls_from: int = 0
    retry_at: int = 0
    _pause_ns: int = _PAUSE_LEAST_NS

    def __attrs_post_init__(self) -> None:
        self._begin(None)

    def _begin(self, moved: int | None) -> None:
        self.schedule = Schedule(moved)
        self._mover = Mover(self.errands, self.schedule, self.delivered)
        self._summaries = Summaries(self.errands, self.schedule, self.thresholds)

    @property
    def has_moves(self) -> bool:
        """Whether something is on its way, so that it matters how durable the data is."""
        return bool(self.schedule.moves)

    # --- the streams

    def opened(self, partition: Partition) -> None:
        """A stream of the partition can be used, and may hold other things than before."""
        if partition.side is Side.SCHEDULE:
            self.stream = partition
        else:
            self.data_stream = partition
        self._pause_ns = _PAUSE_LEAST_NS
        self.close("it is being read")
        self._load()

    def failed(self, side: Side, why: str) -> None:
        """A stream of the partition cannot be used until it is opened."""
        if side is Side.SCHEDULE:
            self.stream = None
        else:
            self.data_stream = None
        self.close(why)

    def close(self, why: str) -> None:
        """Forget everything; whoever waits for a reply is told."""
        self.standing, self.why = Standing.CLOSED, why
        self._appended = self._durable = self._reading = self.retry_at = 0
        self._appending, self._untried, self.is_unfinished, self._is_looking = {}, [], False, False
        self.replies.extend((call, self.refusal().in_doubt()) for _, call, _ in self._held)
        self._held.clear()
        self._begin(None)

    def refusal(self) -> Refusal:
        """What is answered while this is not ready."""
        topic, number = self.errands.slot
        why = self.why if self.standing is Standing.CLOSED else "they are being read"
        message = f"the delayed messages of partition {number} of {topic} cannot be used: {why}"
        return Refusal(Code.UNAVAILABLE, message, retry_after_ms=500)

    def _stall(self, now: int, why: str) -> None:
        """What the disk holds cannot be read, or nothing be added: try again, with growing pauses."""
        self.close(why)
        self.retry_at = now + self._pause_ns
        self._pause_ns = min(2 * self._pause_ns, _PAUSE_MOST_NS)

    def renew(self, now: int) -> None:
        """There is reason to think that it can be read by now: end the pause, and let the next one be short."""
        if self.retry_at:
            self.retry_at, self._pause_ns = now, _PAUSE_LEAST_NS

    # --- reading

    def _load(self) -> None:
        self.retry_at = 0
        if self.stream is None or self.data_stream is None:
            return
        self.standing, self._load_end = Standing.LOADING, self.stream.log.next_offset
        last = self.data_stream.log.producers.last(MOVER_ID)
        self._begin(None if last is None else last[1])
        self._look_for_summary(candidates(self.stream))

    def _look_for_summary(self, untried: list[int]) -> None:
        """Look where one may begin, at the last place first; where there is none, read everything."""
        assert self.stream is not None
        self._untried, self._is_looking = untried, bool(untried)
        if untried:
            self._read(untried.pop(), 1)
        else:
            self._replay(self.stream.log.start_offset, 0)

    def _replay(self, offset: int, controls_from: int) -> None:
        self.next_offset, self._controls_from = offset, controls_from
        self._read_on()

    def _read(self, offset: int, size: int) -> None:
        topic, number = self.errands.slot
        self._reading = self.errands.ask(Fetch(topic, number, offset, size, side=Side.SCHEDULE))

    def _read_on(self) -> None:
        """Read what can be read; where there is nothing more, all has been read, or is not durable yet."""
        assert self.stream is not None
        if self.next_offset < self.stream.high_watermark:
            self._read(self.next_offset, _READ_BYTES)
        elif self.standing is Standing.LOADING and self.next_offset >= self._load_end:
            self._end_load()

    def _end_load(self) -> None:
        if self.schedule.parts_missing:
            # The node stopped while it wrote that summary; one before it is whole, or there is none.
            self._begin(self.schedule.moved)
            self._look_for_summary(self._untried)
            return
        self.standing, self._pause_ns, self._untried = Standing.READY, _PAUSE_LEAST_NS, []
        self._mover.resume()

    def _fetched(self, fetched: Fetched, budget: Budget) -> None:
        self._reading = 0
        if self._is_looking:
            self._looked(fetched.batches)
            return
        reached = self.next_offset
        for batch in split(fetched.batches):
            # What is left is read again in another turn.
            if budget.is_spent:
                break
            self._take_in(batch, budget)
        if budget.is_spent:
            self.is_unfinished = True
        elif self.next_offset == reached:
            raise BatchError("offsets", f"nothing is found at offset {reached} of the schedule")
        else:
            self._read_on()

    def _looked(self, batches: Readable) -> None:
        """Whether a summary begins where a segment does."""
        self._is_looking = False
        header = validate(batches, compacted=True)
        if header.is_control:
            [record] = iterate(batches[: header.size])
            begun = read_control(record)
            if isinstance(begun, SummaryBegun):
                self.schedule.begin(begun)
                self._replay(begun.replay_from, header.base_offset)
                return
        self._look_for_summary(self._untried)

    def _take_in(self, batch: Readable, budget: Budget) -> None:
        """Messages always, control records while loading: later on they are applied when they are appended."""
        schedule, next_offset, header = self.schedule, self.next_offset, validate(batch, compacted=True)
        if not header.is_control:
            lane = header.lane
            for record in iterate(batch):
                if record.offset >= next_offset:
                    schedule.add(record.offset, record.timestamp, lane)
            self._summaries.added_bytes += header.size
        elif self.standing is Standing.LOADING and header.base_offset >= max(next_offset, self._controls_from):
            for record in iterate(batch):
                control = read_control(record)
                schedule.apply(control)
                self._summaries.count(control, header.size)
                # A part of a summary names many.
                budget.spend(len(record.value or b"") // 16)
        budget.spend(header.record_count)
        self.next_offset = max(next_offset, header.next_offset)

    def is_caught_up(self, offset: int) -> bool:
        """Whether it is known if a message is pending."""
        is_read = self.stream is None or offset < self.next_offset or offset >= self.stream.high_watermark
        return self.standing is Standing.READY and is_read

    # --- answers to internal requests

    def answered(self, now: int, wall_ms: int, number: int, reply: Reply, budget: Budget) -> None:
        """The answer to a wish, which is of no interest if it was asked before a failure."""
        try:
            refusal = self._take(wall_ms, number, reply, budget)
        except BatchError as error:
            self._stall(now, str(error))
        else:
            if refusal is not None:
                self._stall(now, refusal.message)

    def _take(self, wall_ms: int, number: int, reply: Reply, budget: Budget) -> Refusal | None:
        """Take an answer; the refusal, if it is one that stands in the way."""
        if number == self._reading or self._mover.is_reading(number):
            if isinstance(reply, Refusal):
                return reply
            assert isinstance(reply, Fetched)
            if number == self._reading:
                self._fetched(reply, budget)
            else:
                self._mover.found(number, reply, budget)
        elif isinstance(reply, PublishReply | Refusal):
            if number in self._appending:
                return self._made_durable(number, reply)
            return self._mover.published(wall_ms, number, reply)
        return None

    def _made_durable(self, number: int, reply: PublishReply | Refusal) -> Refusal | None:
        result = reply.results[0] if isinstance(reply, PublishReply) else reply
        if not isinstance(result, Published):
            return result
        assert number == next(iter(self._appending)), "batches are durable in their order"
        del self._appending[number]
        self._durable += 1
        return None

    # --- writing

    def _append(self, wall_ms: int, record: ControlRecord) -> None:
        """Apply a record, and write it."""
        assert self.standing is Standing.READY
        self.schedule.apply(record)
        topic, number = self.errands.slot
        batch = encode_control(record, wall_ms)
        self._summaries.count(record, len(batch))
        self._appending[self.errands.ask(PublishBatch(topic, number, batch, Acks.ALL, Side.SCHEDULE))] = None
        self._appended += 1

    def cancel(self, wall_ms: int, call: Call, offset: int) -> None:
        """Never deliver a pending message; the reply is there when that is durable."""
        self._append(wall_ms, Cancelled(offset))
        self._held.append((self._appended, call, None))

    def reschedule(self, wall_ms: int, call: Call, offset: int, due_ms: int) -> None:
        """Deliver a pending message at another time; the reply is there when that is durable."""
        self._append(wall_ms, Rescheduled(offset, due_ms))
        self._held.append((self._appended, call, self.message(offset)))

    def message(self, offset: int) -> DelayedMessage:
        """A pending message, without what is in it."""
        return DelayedMessage(*self.errands.slot, offset, *self.schedule.message(offset))

    # --- a turn

    def turn(self, now: int, wall_ms: int, budget: Budget) -> None:
        """Go on with everything that is not waiting for an answer, as far as the budget goes."""
        self.is_unfinished = budget.is_spent
        if self.retry_at and self.retry_at <= now:
            self._load()
        if self.standing is Standing.CLOSED or self.is_unfinished:
            return
        if not self._reading:
            self._read_on()
        if self.standing is Standing.READY:
            self._move(wall_ms, budget)
            self._summarize(wall_ms, budget)
            while self._held and self._held[0][0] <= self._durable:
                _, call, reply = self._held.popleft()
                self.replies.append((call, reply))

    def _move(self, wall_ms: int, budget: Budget) -> None:
        assert self.stream is not None
        assert self.data_stream is not None
        mover, ripe_ms = self._mover, wall_ms - 1
        mover.durable(self._durable)
        next_ms = mover.first_due_ms
        if next_ms is not None and next_ms > wall_ms + _SET_BACK_MS:
            self._append(wall_ms, self.schedule.plan_withdrawal(mover.withdraw()))
        self._intend(wall_ms, budget)
        mover.fetch(self.stream)
        mover.write(ripe_ms, budget)
        mover.settle(self.data_stream)

    def _intend(self, wall_ms: int, budget: Budget) -> None:
        """Say which messages are about to move."""
        schedule, mover = self.schedule, self._mover
        soon_ms = wall_ms + _AHEAD_MS
        while mover.room and not budget.is_spent:
            first_ms = schedule.first_due_ms
            if first_ms is None or first_ms > soon_ms:
                break
            intended = schedule.plan_moves(wall_ms - 1, soon_ms + _AHEAD_MS, min(mover.room, _INTENDED_MAX))
            assert intended is not None
            self._append(wall_ms, intended)
            count = len(intended.offsets)
            moves = schedule.moves
            mover.intend([moves[at - count] for at in range(count)], self._appended)
            budget.spend(count)

    def _summarize(self, wall_ms: int, budget: Budget) -> None:
        """Write a part of a summary, where there is one to be written, or tidy up behind it."""
        assert self.stream is not None
        summaries = self._summaries
        if budget.is_spent:
            self.is_unfinished = summaries.is_due or summaries.is_under_way
            return
        if summaries.is_due:
            self._append(wall_ms, summaries.begin(self.stream, self.next_offset))
        elif summaries.is_under_way:
            self._append(wall_ms, summaries.next_part())
        else:
            summaries.trim(self._durable)
            return
        budget.spend(self.thresholds.summary_part_messages)
        if summaries.is_under_way:
            self.is_unfinished = True
        else:
            summaries.written(self._appended)

    def due_ms(self) -> int | None:
        """When to take a turn by the wall clock, if nothing happens before; None while nothing depends on it."""
        if self.standing is not Standing.READY:
            return None
        mover = self._mover
        moving_ms, first_ms = mover.next_due_ms, self.schedule.first_due_ms
        times = [] if moving_ms is None else [moving_ms + 1]
        if first_ms is not None and mover.room:
            times.append(first_ms - _AHEAD_MS)
        return min(times, default=None)

    def forget_found(self) -> None:
        """Let go of messages that were read."""
        self._mover.forget_contents()

    def check(self) -> None:
        """Assert the invariants."""
        self.schedule.check()
        if self.standing is Standing.READY:
            self._mover.check()
        assert len(self._appending) == self._appended - self._durable
        assert not self._held or self.standing is Standing.READY
        assert not self._reading or self.standing is not Standing.CLOSED
