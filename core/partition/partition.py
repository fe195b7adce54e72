"""One partition, or one side of it: its log, the publishes that wait to be durable, and how far readers may see.

Single messages that come within a turn become one batch, so that a thousand small publishes cost one write and one
sync. Readers see only what is acknowledged: the high watermark follows what the disk has confirmed, as the topic's
fsync mode demands.

A batch that an idempotent producer sends again is answered as the first one was, and no earlier: with its offset, once
that is acknowledged. Who asks for no acknowledgement is answered when the message is taken, with no offset: one that
is told and then lost in a crash would be given to another message.

Fetches that wait for news are not here but in `core/reads.py`.

Invariants: every publish is answered once, and those that wait in the order of their offsets; the high watermark never
goes back while the partition is sound.
"""

from bisect import bisect_left
from collections import deque
from collections.abc import Sequence

from attrs import define, field

from goqueue.core.errors import BatchError
from goqueue.core.log.effects import Effect, Read, SyncToken
from goqueue.core.log.log import Log, LogState, LogUnsound, OffsetOutOfRange
from goqueue.core.log.producers import OWN_IDS, Produced
from goqueue.core.partition.history import History
from goqueue.core.partition.producers import judge
from goqueue.core.partition.recent import RecentBatches
from goqueue.core.records.batch import Header, Lane, locate, read_header, validate_exact
from goqueue.core.records.build import BatchBuilder, Entry
from goqueue.core.records.headers import EXPIRES
from goqueue.core.verbs import NO_OFFSET, Code, Fetch, Fetched, NewRecord, Published, PublishReply, Refusal, Side
from goqueue.core.work.lanes import LaneIndex

_ENTRY_BYTES_MAX = 40
# Messages of other sides are read again one by one, from among all in their batch.
_SIDE_BATCH_BYTES = 64 << 10


@define
class Publishing:
    """A publish under way: as many answers as messages, filled in as they come.

    One that does not await acknowledgement is answered as its messages are taken. `dues` says by places which messages
    are kept back, and until when.
    """

    to: int
    results: list[Published | Refusal | None]
    missing: int
    awaits: bool = True
    dues: dict[int, int] | None = None

    def answer(self, at: int, result: Published | Refusal) -> bool:
        """Fill in one answer; True when it was the last."""
        assert self.results[at] is None
        self.results[at] = result
        self.missing -= 1
        return self.missing == 0

    def reply(self) -> PublishReply:
        """What is answered to whoever publishes."""
        results = [result for result in self.results if result is not None]
        assert len(results) == len(self.results)
        for at, due_ms in (self.dues or {}).items():
            result = results[at]
            if isinstance(result, Published):
                result.timestamp = result.due_ms = due_ms
        return PublishReply(results)


@define
class _Share:
    """Messages of one publish that lie in a batch one behind the other, from the record `begin` on.

    `places` are those of their answers.
    """

    publishing: Publishing
    places: list[int]
    begin: int

    def acknowledge(self, partition: int, offset: int, timestamp: int) -> bool:
        """Answer them, in a batch whose first record has this offset; True when the publish is complete."""
        publishing, offset = self.publishing, offset + self.begin
        results = publishing.results
        for at in self.places:
            assert results[at] is None
            results[at] = Published(partition, offset, timestamp)
            offset += 1
        publishing.missing -= len(self.places)
        return publishing.missing == 0


@define
class _Gathering:
    """Single messages of one lane that become a batch at the end of the turn."""

    builder: BatchBuilder = field(factory=BatchBuilder)
    shares: list[_Share] = field(factory=list)


@define
class _Unacknowledged:
    """Publishes in a batch, or in one sent again, that ends at `next_offset`."""

    first_offset: int
    next_offset: int
    timestamp: int
    shares: list[_Share]


class Partition:
    """The leader's side of one partition."""

    def __init__(self, topic: str, number: int, log: Log, recent: RecentBatches, side: Side = Side.DATA) -> None:
        self.topic = topic
        self.number = number
        self.side = side
        self.log = log
        self._recent = recent
        self.high_watermark = log.next_offset
        self._taken_offset = log.next_offset
        self._written_offset = log.next_offset
        self.done: list[Publishing] = []
        # Where what is appended is noted by lane, if somebody delivers by lanes.
        self.lanes: LaneIndex | None = None
        self.history = History()
        self._gathering: dict[Lane, _Gathering] = {}
        self._unacknowledged: deque[_Unacknowledged] = deque()

    # --- publishing

    def gather(
        self, now: int, wall_ms: int, publishing: Publishing, records: Sequence[NewRecord], places: list[int]
    ) -> None:
        """Take the messages at `places` of a publish into the batches of this turn."""
        lane = records[places[0]].lane
        if all(records[at].lane is lane for at in places):
            self._gather_lane(now, wall_ms, lane, publishing, records, places)
            return
        for one in dict.fromkeys(records[at].lane for at in places):
            of_lane = [at for at in places if records[at].lane is one]
            self._gather_lane(now, wall_ms, one, publishing, records, of_lane)

    def _gather_lane(
        self,
        now: int,
        wall_ms: int,
        lane: Lane,
        publishing: Publishing,
        records: Sequence[NewRecord],
        places: list[int],
    ) -> None:
        gathering = self._gathering.get(lane)
        if gathering is None:
            gathering = self._begin(lane, wall_ms)
        entries, size = _entries(records, places, wall_ms)
        if gathering.builder.size + size > self._gather_bytes:
            if len(places) > 1 and self.side is not Side.DATA:
                # Several batches: all but the messages at their ends go in by the hundred.
                half = len(places) // 2
                self._gather_lane(now, wall_ms, lane, publishing, records, places[:half])
                self._gather_lane(now, wall_ms, lane, publishing, records, places[half:])
                return
            self._gather_singly(now, wall_ms, lane, publishing, entries, places)
            return
        begin = gathering.builder.count
        try:
            gathering.builder.extend(entries)
        except BatchError:
            # One of them cannot be written; the others have done nothing wrong.
            self._gather_singly(now, wall_ms, lane, publishing, entries, places)
        else:
            self._gathered(gathering, _Share(publishing, places, begin), entries)

    def _begin(self, lane: Lane, wall_ms: int) -> _Gathering:
        """A batch of messages that are kept back says when they were published, as their timestamps do not."""
        base_timestamp = wall_ms if self.side is Side.SCHEDULE else None
        gathering = self._gathering[lane] = _Gathering(BatchBuilder(base_timestamp=base_timestamp))
        return gathering

    @property
    def _gather_bytes(self) -> int:
        bytes_max = self.log.config.batch_bytes_max
        return bytes_max if self.side is Side.DATA else min(bytes_max, _SIDE_BATCH_BYTES)

    def _gather_singly(
        self, now: int, wall_ms: int, lane: Lane, publishing: Publishing, entries: list[Entry], places: list[int]
    ) -> None:
        for at, entry in zip(places, entries, strict=True):
            gathering = self._gathering.get(lane)
            if gathering is not None and gathering.builder.count and not self._fits(gathering, entry):
                self._write_lane(now, lane)
                gathering = None
            if gathering is None:
                gathering = self._begin(lane, wall_ms)
            try:
                gathering.builder.add(*entry)
            except BatchError as error:
                self._answer(publishing, at, refusal_of(error))
            else:
                self._gathered(gathering, _Share(publishing, [at], gathering.builder.count - 1), [entry])

    def _fits(self, gathering: _Gathering, entry: Entry) -> bool:
        return gathering.builder.size + _size(entry) <= self._gather_bytes

    def _gathered(self, gathering: _Gathering, share: _Share, entries: list[Entry]) -> None:
        if share.publishing.awaits:
            gathering.shares.append(share)
            return
        for at, entry in zip(share.places, entries, strict=True):
            self._answer(share.publishing, at, Published(self.number, NO_OFFSET, entry[0]))

    def publish_batch(self, now: int, batch: bytearray | memoryview, publishing: Publishing) -> None:
        """Take over a client's batch, or one of the node's own."""
        try:
            header = locate(batch)
            verdict = self._judge(header, is_own=publishing.to < 0)
            if verdict is None:
                verdict = self._append(now, header, batch)
            else:
                # No answer may rest on a header that changed on its way.
                validate_exact(batch)
        except (BatchError, LogUnsound) as error:
            verdict = refusal_of(error)
        if isinstance(verdict, Refusal):
            self._answer(publishing, 0, verdict)
        elif publishing.awaits:
            share = _Share(publishing, [0], 0)
            ends = verdict.first_offset, verdict.next_offset
            self._await_acknowledgement(_Unacknowledged(*ends, verdict.timestamp, [share]))
        else:
            self._answer(publishing, 0, Published(self.number, NO_OFFSET, verdict.timestamp))

    def _judge(self, header: Header, *, is_own: bool) -> Produced | Refusal | None:
        """What a batch's header alone says: it is refused, it was taken before, or None."""
        problem = "" if is_own else _problem(header)
        if problem:
            return Refusal(Code.INVALID, problem, "batch")
        if not header.has_producer or header.producer_id in OWN_IDS:
            return None
        # What was taken before a disk failed may be lost, so nothing can be said of it.
        self.log.refuse_if_unsound()
        return judge(self.log.producers, header)

    def _append(self, now: int, header: Header, batch: bytearray | memoryview) -> Produced:
        self._write_gathered(now)
        offset = self._enter(now, batch)
        return Produced(0, header.last_offset_delta, offset, header.max_timestamp)

    def _enter(self, now: int, batch: bytearray | memoryview) -> int:
        offset = self.log.append(now, batch)
        self._recent.add(self.log.stream, offset, self.log.next_offset, batch)
        if self.lanes is not None:
            self.lanes.add_batches(batch, now)
        return offset

    def take(self, now: int) -> list[Effect]:
        """Everything to be done on the disk."""
        self._write_gathered(now)
        if now >= self.history.due and self.log.next_offset > self._taken_offset:
            self.history.note(now, self._taken_offset, self.log.start_offset)
        self._taken_offset = self.log.next_offset
        return self.log.take(now)

    def roll(self, now: int) -> None:
        """Have the next batch begin a segment. Raises LogUnsound."""
        self._write_gathered(now)
        self.log.roll(now)

    def close(self, now: int) -> None:
        """Leave everything so that the next start needs to read nothing back; `take` what that means."""
        self._write_gathered(now)
        self.log.close(now)

    def _write_gathered(self, now: int) -> None:
        for lane in list(self._gathering):
            self._write_lane(now, lane)

    def _write_lane(self, now: int, lane: Lane) -> None:
        gathering = self._gathering.pop(lane)
        if not gathering.builder.count:
            return
        try:
            batch = gathering.builder.build(lane=lane)
            offset = self._enter(now, batch)
        except (BatchError, LogUnsound) as error:
            self._refuse(gathering.shares, refusal_of(error))
            return
        if gathering.shares:
            timestamp = read_header(batch).max_timestamp
            ends = offset, self.log.next_offset
            self._await_acknowledgement(_Unacknowledged(*ends, timestamp, gathering.shares))

    def _await_acknowledgement(self, wanted: _Unacknowledged) -> None:
        """Answer when all below its `next_offset` is acknowledged; that may be so already."""
        waiting = self._unacknowledged
        if not waiting or waiting[-1].next_offset < wanted.next_offset:
            waiting.append(wanted)
        else:
            waiting.insert(bisect_left(waiting, wanted.next_offset, key=_next_offset), wanted)
        if wanted.next_offset <= self.high_watermark:
            self._acknowledge()

    def _refuse(self, shares: list[_Share], refusal: Refusal) -> None:
        for share in shares:
            for at in share.places:
                self._answer(share.publishing, at, refusal)

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
            acknowledged = self._unacknowledged.popleft()
            for share in acknowledged.shares:
                if share.acknowledge(self.number, acknowledged.first_offset, acknowledged.timestamp):
                    self.done.append(share.publishing)

    def disk_failed(self, now: int, why: str) -> None:
        """What was not acknowledged may or may not be there; whoever waits for it is told so."""
        self.log.disk_failed(now, why)
        self._recent.forget(self.log.stream)
        message = f"partition {self.number} of {self.topic} has lost its disk: {why}"
        refusal = Refusal(Code.UNAVAILABLE, message, retry_after_ms=1000)
        while self._unacknowledged:
            self._refuse(self._unacknowledged.popleft().shares, refusal)

    def abandon(self, refusal: Refusal) -> list[Publishing]:
        """Give every publish that waits the same answer; those that are complete with it."""
        gathered = [share for gathering in self._gathering.values() for share in gathering.shares]
        self._gathering.clear()
        self._recent.forget(self.log.stream)
        self._refuse(gathered, refusal)
        while self._unacknowledged:
            self._refuse(self._unacknowledged.popleft().shares, refusal)
        done, self.done = self.done, []
        return done

    def recovery_failed(self, why: str) -> None:
        """What a failed disk left cannot be taken up again yet, or ever: that is the reason from here on."""
        assert self.log.unsound is not None
        self.log.unsound = why

    def reopened(self, now: int, state: LogState) -> None:
        """Go on from what recovery found."""
        self.log.reopened(now, state)
        self._recent.forget(self.log.stream)
        self.history.cut(self.log.next_offset)
        self.high_watermark = self._taken_offset = self._written_offset = self.log.next_offset

    # --- reading

    def read(self, fetch: Fetch) -> Fetched | Read | Refusal | None:
        """The answer to a fetch, or the read that finds it; None when there is nothing yet."""
        log, offset = self.log, fetch.offset
        if log.start_offset <= offset < self.high_watermark and not fetch.from_disk:
            kept = self._recent.read(log.stream, offset, fetch.max_bytes, self.high_watermark)
            if kept is not None:
                return Fetched(*kept, self.high_watermark, log.start_offset)
        try:
            read = self.log.read(fetch.offset, fetch.max_bytes, self.high_watermark)
        except OffsetOutOfRange as error:
            return Refusal(Code.OFFSET_OUT_OF_RANGE, str(error), "offset")
        return self.withheld(offset) if read is None else read

    def withheld(self, offset: int) -> Refusal | None:
        """Why acknowledged records at `offset` or behind it cannot be read; None where that is not so.

        Of what was acknowledged before it was synced, a disk that failed may have anything or nothing.
        """
        log = self.log
        if log.unsound is None or max(offset, log.synced_offset) >= self.high_watermark:
            return None
        message = f"partition {self.number} of {self.topic} cannot be read from offset {log.synced_offset} on"
        return Refusal(Code.UNAVAILABLE, f"{message}: {log.unsound}", retry_after_ms=1000)

    def nothing(self, offset: int) -> Fetched:
        """The answer to a fetch whose time is up."""
        return Fetched(b"", offset, self.high_watermark, self.log.start_offset)

    def check(self) -> None:
        """Assert the invariants."""
        self.log.check()
        self.history.check()
        assert self.high_watermark <= self.log.next_offset or self.log.unsound is not None
        ends = [one.next_offset for one in self._unacknowledged]
        assert ends == sorted(ends)


def _next_offset(one: _Unacknowledged) -> int:
    return one.next_offset


def _problem(header: Header) -> str:
    """Why no client may send such a batch; empty when it may."""
    if header.is_control:
        return "control batches are written by brokers alone"
    if header.is_transactional:
        return "batches of transactions are not taken by this release"
    if header.producer_id in OWN_IDS:
        return f"producer ids from {OWN_IDS[0]} to {OWN_IDS[-1]} are the broker's own"
    if header.is_append_time:
        return "records bear the time that their producer gives them; a batch cannot claim the time of its append"
    return ""


def _entries(records: Sequence[NewRecord], places: list[int], wall_ms: int) -> tuple[list[Entry], int]:
    """Messages as a batch takes them, and the most that they take in it."""
    entries: list[Entry] = []
    size = 0
    for at in places:
        record = records[at]
        timestamp = record.timestamp
        if timestamp is None:
            timestamp = wall_ms
        headers = record.headers
        if record.ttl_ms:
            headers = (*headers, (EXPIRES, b"%d" % (timestamp + record.ttl_ms)))
        entry = timestamp, record.key, record.value, headers
        entries.append(entry)
        size += _size(entry)
    return entries, size


def _size(entry: Entry) -> int:
    """At most what a message takes in a batch: its lengths and deltas have at most five bytes each, a time ten."""
    _, key, value, headers = entry
    size = _ENTRY_BYTES_MAX
    if key is not None:
        size += len(key)
    if value is not None:
        size += len(value)
    for name, content in headers:
        size += 10 + 4 * len(name) + len(content or b"")
    return size


def refusal_of(error: BatchError | LogUnsound) -> Refusal:
    """How an error of the log is told to a client."""
    if isinstance(error, LogUnsound):
        return Refusal(Code.UNAVAILABLE, str(error), retry_after_ms=1000)
    code = Code.TOO_LARGE if error.status_hint == 413 else Code.CORRUPT_BATCH
    return Refusal(code, str(error), "batch")
