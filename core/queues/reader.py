"""The reader at which one group is served from one partition: its queue, and what was read for it in advance.

A read brings more than one poll asks for, so that the next ones need none: what comes next is read ahead, and what is
to be delivered again, which lies behind, is read apart, so that neither displaces the other. One read is under way at
most, and whoever waits in line is served of it in turn.
"""

from collections import deque

from attrs import define, field

from goqueue.core.partition.lane_runs import Run
from goqueue.core.queues.errands import Slot
from goqueue.core.queues.fetch_buffer import FetchBuffer
from goqueue.core.queues.queue import WorkQueue
from goqueue.core.queues.queue_ledger import QueueLedger
from goqueue.core.queues.targets import dead_topic
from goqueue.core.queues.window import HELD, READY
from goqueue.core.requests.messages import Fetch, Fetched
from goqueue.core.requests.refusals import Refusal
from goqueue.core.services.service import ServiceContext

_AHEAD_BYTES = 1 << 20
_BEHIND_BYTES = 1 << 18
# What comes next in each lane, and what is to be delivered again.
_SHELVES_MAX = 6


@define(eq=False)
class QueueReader:
    """A queue with its messages at hand."""

    group: str
    book: QueueLedger
    queue: WorkQueue
    _site: ServiceContext
    reading: int = 0
    # While a partition cannot be read, it is tried again at this time.
    retry_at: int = 0
    # Where the partition ended when that was last heard of.
    end: int = -1
    # How far the queue has come as far as the disk knows, and how far with what is being written.
    floor: int = 0
    _floors: deque[tuple[int, int]] = field(factory=deque)
    _reading_from: int = 0
    _is_reading_disk: bool = False
    # Whether there were batches that are to be looked into.
    _is_looking: bool = False
    _buffers: list[FetchBuffer] = field(factory=list)

    @property
    def slot(self) -> Slot:
        """Topic and partition."""
        return self.book.slot

    @property
    def is_reading(self) -> bool:
        """Whether something is being read that may bring messages."""
        return self.reading != 0 or self.book.lanes.is_reading

    @property
    def size(self) -> int:
        """Bytes that are kept here."""
        return sum(buffer.size for buffer in self._buffers)

    def wanted(self, now: int, member: str, count: int) -> list[Run]:
        """What a member is to be given next, as far as it is there to be read."""
        partition = self._site.led.partition(*self.slot)
        if isinstance(partition, Refusal) or count <= 0:
            return []
        if not self.book.lanes.is_complete and not self.book.lanes.want(now, partition):
            return []
        start, end = partition.log.start_offset, partition.high_watermark
        queue = self.queue
        self.book.touch(self.group)
        if start > queue.floor:
            queue.trim(now, start)
        runs = queue.wanted(now, member, count)
        return [(first, min(after, end)) for first, after in runs if first < end]

    @property
    def is_dry(self) -> bool:
        """Whether there is nothing to be given to anybody."""
        window = self.queue.ledger.window
        if window.counts[READY]:
            return False
        span = self._site.led.ends(*self.slot)
        return span is None or window.reach >= span[1] or window.counts[HELD] >= self.queue.settings.held_max

    @property
    def is_informed(self) -> bool:
        """Whether it was told how far the partition goes; if not, it will be in the turn under way or the next."""
        span = self._site.led.ends(*self.slot)
        return span is None or self.end == span[1]

    @property
    def progress(self) -> tuple[int, int]:
        """What differs once anything was given or found to be gone."""
        window = self.queue.ledger.window
        return window.reach, window.counts[READY]

    def cut(self, now: int, end: int) -> None:
        """The partition ends at an offset, and messages to come have the numbers of what was lost beyond it."""
        if self.queue.ledger.window.reach > end:
            self.book.touch(self.group)
            self.queue.cut(now, end)

    # --- looking

    @property
    def open(self) -> int:
        """How many messages are leased, or dead letters that are not where they belong."""
        counts = self.queue.counts()
        return counts.in_flight + counts.doomed

    @property
    def left(self) -> int:
        """How many messages are not settled, as far as it is known what is one."""
        window, span = self.queue.ledger.window, self._site.led.ends(*self.slot)
        beyond = 0 if span is None else max(span[1] - max(window.reach, span[0]), 0)
        return beyond + sum(window.counts[1:])

    @property
    def dead_topic(self) -> str:
        """Where dead letters go; empty where they are dropped."""
        return dead_topic(self._site.led.topics[self.slot[0]].topic)

    def wall_ms(self, at: int) -> int:
        """A time in milliseconds since 1970."""
        return self._site.clock.wall_ms(at)

    def written(self) -> None:
        """What was changed so far is on its way to the disk."""
        if not self._floors or self._floors[-1][1] != self.queue.floor:
            self._floors.append((self.book.appended, self.queue.floor))
        self.rise()

    def rise(self) -> None:
        """More of that is durable."""
        floors = self._floors
        while floors and floors[0][0] <= self.book.durable:
            self.floor = floors.popleft()[1]

    # --- messages

    def buffer(self, offset: int) -> FetchBuffer | None:
        """Where a message is at hand."""
        for buffer in reversed(self._buffers):
            if buffer.has(offset) and (buffer.is_from_disk or not self._needs_records):
                return buffer
        return None

    @property
    def _needs_records(self) -> bool:
        """Whether records are looked into: then they come from the disk, since captures keep no others whole."""
        settings = self.queue.settings
        return self._is_looking or settings.key_ordered or settings.ttl_ms > 0

    def fetch(self, offset: int) -> Fetch:
        """The read that brings a message, and what comes after it."""
        self._reading_from, self._is_reading_disk = offset, self._needs_records
        size = _AHEAD_BYTES if offset >= self.queue.ledger.window.reach else _BEHIND_BYTES
        return Fetch(*self.slot, offset, size, looks=True, from_disk=self._is_reading_disk)

    def fetched(self, fetched: Fetched) -> bool:
        """Keep what was read; False when it is nothing."""
        buffer, window = FetchBuffer.of(self._reading_from, fetched), self.queue.ledger.window
        buffer.is_from_disk = self._is_reading_disk
        if buffer.end <= buffer.start:
            return False
        if buffer.needs_records and not buffer.is_from_disk:
            self._is_looking = True
            return True
        if window.unlike:
            kept = self._buffers[1 - _SHELVES_MAX :]
        else:
            # One that lies ahead and one behind: this takes the place of the one that is like it.
            kept = [each for each in self._buffers if (each.end > window.reach) != (buffer.end > window.reach)][-1:]
        self._buffers = [*kept, buffer]
        return True

    def clear(self) -> None:
        """Let go of what is at hand."""
        self._buffers = []

    def check(self) -> None:
        """Assert that the queue is the one that is kept."""
        assert self.book.queues[self.group] is self.queue
