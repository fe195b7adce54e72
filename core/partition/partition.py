"""One partition: its log, the publishes that wait to be durable, and the fetches that wait for news.

Single messages that come within a turn become one batch, so that a thousand small publishes cost one write and one
sync. Readers see only what is acknowledged: the high watermark follows what the disk has confirmed, as the topic's
fsync mode demands.

Invariants: every publish is answered once, in the order of its offsets; the high watermark never goes back while the
partition is sound; a fetch that waits is answered when there is something below the high watermark, or when its time is
up.
"""

from collections import deque
from collections.abc import Iterator

from attrs import define, field

from goqueue.core.errors import BatchError
from goqueue.core.log.effects import Effect, Read, SyncToken
from goqueue.core.log.log import Log, LogState, LogUnsound, OffsetOutOfRange
from goqueue.core.records.batch import Lane, locate, read_header
from goqueue.core.records.build import BatchBuilder
from goqueue.core.verbs import Code, Fetch, NewRecord, Published, Refusal


@define
class Publishing:
    """A publish under way: as many answers as messages, filled in as they come."""

    to: int
    results: list[Published | Refusal | None]
    missing: int

    def answer(self, at: int, result: Published | Refusal) -> bool:
        """Fill in one answer; True when it was the last."""
        assert self.results[at] is None
        self.results[at] = result
        self.missing -= 1
        return self.missing == 0


@define
class _Gathering:
    """Single messages of one lane that become a batch at the end of the turn."""

    builder: BatchBuilder = field(factory=BatchBuilder)
    waiting: list[tuple[Publishing, int]] = field(factory=list)


@define
class _Unacknowledged:
    """Publishes whose batch ends at `next_offset`."""

    next_offset: int
    answers: list[tuple[Publishing, int, Published]]


@define
class WaitingFetch:
    """A fetch that found nothing, until news or `deadline`."""

    to: int
    fetch: Fetch
    deadline: int


class Partition:
    """The leader's side of one partition."""

    def __init__(self, topic: str, number: int, log: Log) -> None:
        self.topic = topic
        self.number = number
        self.log = log
        self.high_watermark = log.next_offset
        self._taken_offset = log.next_offset
        self._written_offset = log.next_offset
        self.waiting: list[WaitingFetch] = []
        self.done: list[Publishing] = []
        self._gathering: dict[Lane, _Gathering] = {}
        self._unacknowledged: deque[_Unacknowledged] = deque()

    # --- publishing

    def gather(self, now: int, wall_ms: int, record: NewRecord, publishing: Publishing, at: int) -> None:
        """Take one message into the batch of this turn."""
        gathering = self._gathering.setdefault(record.lane, _Gathering())
        if gathering.builder.size + _size(record) > self.log.config.batch_bytes_max and gathering.waiting:
            self._write_lane(now, record.lane)
            gathering = self._gathering.setdefault(record.lane, _Gathering())
        timestamp = wall_ms if record.timestamp is None else record.timestamp
        try:
            gathering.builder.add(timestamp, record.key, record.value, record.headers)
        except BatchError as error:
            self._answer(publishing, at, refusal_of(error))
        else:
            gathering.waiting.append((publishing, at))

    def publish_batch(self, now: int, batch: bytearray | memoryview, publishing: Publishing) -> None:
        """Take over a client's batch."""
        try:
            header = locate(batch)
            if header.has_producer or header.is_control or header.is_transactional:
                message = "batches of idempotent or transactional producers are not taken by this release"
                self._answer(publishing, 0, Refusal(Code.INVALID, message, "batch"))
                return
            self._write_gathered(now)
            offset = self.log.append(now, batch)
        except (BatchError, LogUnsound) as error:
            self._answer(publishing, 0, refusal_of(error))
        else:
            self._await_acknowledgement([(publishing, 0, Published(self.number, offset, header.max_timestamp))])

    def take(self, now: int) -> list[Effect]:
        """Everything to be done on the disk."""
        self._write_gathered(now)
        self._taken_offset = self.log.next_offset
        return self.log.take(now)

    def close(self, now: int) -> None:
        """Leave everything so that the next start needs to read nothing back; `take` what that means."""
        self._write_gathered(now)
        self.log.close(now)

    def _write_gathered(self, now: int) -> None:
        for lane in list(self._gathering):
            self._write_lane(now, lane)

    def _write_lane(self, now: int, lane: Lane) -> None:
        gathering = self._gathering.pop(lane)
        if not gathering.waiting:
            return
        try:
            batch = gathering.builder.build(lane=lane)
            offset = self.log.append(now, batch)
        except (BatchError, LogUnsound) as error:
            for publishing, at in gathering.waiting:
                self._answer(publishing, at, refusal_of(error))
            return
        timestamp = read_header(batch).max_timestamp
        self._await_acknowledgement(
            [
                (publishing, at, Published(self.number, offset + place, timestamp))
                for place, (publishing, at) in enumerate(gathering.waiting)
            ]
        )

    def _await_acknowledgement(self, answers: list[tuple[Publishing, int, Published]]) -> None:
        self._unacknowledged.append(_Unacknowledged(self.log.next_offset, answers))

    def _answer(self, publishing: Publishing, at: int, result: Published | Refusal) -> None:
        if publishing.answer(at, result):
            self.done.append(publishing)

    # --- what the disk says

    def written(self) -> None:
        """All that was taken is in the hands of the operating system."""
        self._written_offset = self._taken_offset
        self._acknowledge()

    def synced(self, now: int, token: SyncToken) -> None:
        """The disk kept a promise."""
        self.log.synced(now, token)
        self._acknowledge()

    def _acknowledge(self) -> None:
        if self.log.unsound is not None:
            return
        # What was appended since the last `take` is still in memory, whatever the fsync mode says.
        self.high_watermark = max(self.high_watermark, min(self.log.acknowledged_offset, self._written_offset))
        while self._unacknowledged and self._unacknowledged[0].next_offset <= self.high_watermark:
            for publishing, at, published in self._unacknowledged.popleft().answers:
                self._answer(publishing, at, published)

    def disk_failed(self, now: int, why: str) -> None:
        """What was not acknowledged may or may not be there; whoever waits for it is told so."""
        self.log.disk_failed(now, why)
        message = f"partition {self.number} of {self.topic} has lost its disk: {why}"
        refusal = Refusal(Code.UNAVAILABLE, message, retry_after_ms=1000)
        while self._unacknowledged:
            for publishing, at, _ in self._unacknowledged.popleft().answers:
                self._answer(publishing, at, refusal)

    def abandon(self, refusal: Refusal) -> list[Publishing]:
        """Give every publish that waits the same answer; those that are complete with it."""
        gathered = [waiting for gathering in self._gathering.values() for waiting in gathering.waiting]
        self._gathering.clear()
        for publishing, at in gathered:
            self._answer(publishing, at, refusal)
        while self._unacknowledged:
            for publishing, at, _ in self._unacknowledged.popleft().answers:
                self._answer(publishing, at, refusal)
        done, self.done = self.done, []
        return done

    def reopened(self, now: int, state: LogState) -> None:
        """Go on from what recovery found."""
        self.log.reopened(now, state)
        self.high_watermark = self._taken_offset = self._written_offset = self.log.next_offset

    # --- reading

    def read(self, fetch: Fetch) -> Read | Refusal | None:
        """The read that answers a fetch; None when there is nothing yet."""
        try:
            return self.log.read(fetch.offset, fetch.max_bytes, self.high_watermark)
        except OffsetOutOfRange as error:
            return Refusal(Code.OFFSET_OUT_OF_RANGE, str(error), "offset")

    def due(self, now: int) -> Iterator[WaitingFetch]:
        """The fetches that have news or no time left; they wait no more."""
        waiting, self.waiting = self.waiting, []
        for one in waiting:
            if one.fetch.offset < self.high_watermark or one.deadline <= now:
                yield one
            else:
                self.waiting.append(one)

    def check(self) -> None:
        """Assert the invariants."""
        self.log.check()
        assert self.high_watermark <= self.log.next_offset or self.log.unsound is not None
        ends = [one.next_offset for one in self._unacknowledged]
        assert ends == sorted(ends)


def _size(record: NewRecord) -> int:
    """At most what a message takes in a batch: its lengths and deltas have at most five bytes each, a time ten."""
    headers = sum(10 + 4 * len(name) + len(value or b"") for name, value in record.headers)
    return 40 + len(record.key or b"") + len(record.value or b"") + headers


def refusal_of(error: BatchError | LogUnsound) -> Refusal:
    """How an error of the log is told to a client."""
    if isinstance(error, LogUnsound):
        return Refusal(Code.UNAVAILABLE, str(error), retry_after_ms=1000)
    code = Code.TOO_LARGE if error.status_hint == 413 else Code.CORRUPT_BATCH
    return Refusal(code, str(error), "batch")
