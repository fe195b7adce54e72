"""Publishes under way: what each of them waits for, and the single messages of a turn that become batches.

Nothing here knows a log. Invariant: every message of a publish is answered once.
"""

from bisect import bisect_left
from collections import deque
from collections.abc import Sequence

from attrs import define, field

from goqueue.core.errors import BatchError
from goqueue.core.log.config import UNLIMITED, LogConfig
from goqueue.core.log.log import LogUnsound
from goqueue.core.log.producers import OWN_IDS
from goqueue.core.records.batch import NO_TIMESTAMP, Header
from goqueue.core.records.build import BatchBuilder, Entry
from goqueue.core.records.claims import RECORDS_MAX
from goqueue.core.records.headers import EXPIRES
from goqueue.core.records.varint import INT64_MAX
from goqueue.core.requests.call import Call
from goqueue.core.requests.messages import NewRecord, Published, PublishReply
from goqueue.core.requests.refusals import Code, Refusal

_ENTRY_BYTES_MAX = 40
# The reason of a BatchError about nothing but the timestamps of a batch.
UNTIMELY = "untimely"


@define
class Publishing:
    """A publish under way: as many answers as messages, filled in as they come.

    One that does not await acknowledgement is answered as its messages are taken. `dues` says by places which messages
    are kept back, and until when. `needs_all` asks for all replicas in sync, where there are others than the leader.
    """

    call: Call
    results: list[Published | Refusal | None]
    missing: int
    awaits: bool = True
    dues: dict[int, int] | None = None
    needs_all: bool = True
    # Whether it is a batch of a schedule, whose latest time is the one that its answer has.
    is_kept_back: bool = False

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
        if self.is_kept_back and isinstance(results[0], Published):
            results[0].due_ms = results[0].timestamp
        return PublishReply(results)


@define
class Share:
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
class Echo(Share):
    """A batch that was taken before, and is told so once what it repeats is acknowledged."""

    refusal: Refusal

    def acknowledge(self, partition: int, offset: int, timestamp: int) -> bool:
        """Answer it; True, since it is a publish of its own."""
        [place] = self.places
        return self.publishing.answer(place, self.refusal)


@define
class Gathering:
    """Single messages of one lane that become a batch at the end of the turn."""

    builder: BatchBuilder = field(factory=BatchBuilder)
    shares: list[Share] = field(factory=list)

    def has_room(self, count: int, size: int, bytes_max: int) -> bool:
        """Whether so many messages of this size together go into this batch."""
        return self.builder.size + size <= bytes_max and self.builder.count + count <= RECORDS_MAX

    def fits(self, entry: Entry, bytes_max: int) -> bool:
        """Whether a message goes into this batch; the first one does, whatever its size."""
        builder = self.builder
        fits = builder.size + entry_bytes(entry) <= bytes_max and builder.count < RECORDS_MAX
        return fits or not builder.count


@define
class Unacknowledged:
    """Publishes in a batch, or in one sent again, that ends at `next_offset`; they wait since `since`."""

    first_offset: int
    next_offset: int
    timestamp: int
    shares: list[Share]
    since: int = 0


def enqueue(waiting: deque[Unacknowledged], wanted: Unacknowledged) -> None:
    """Put a batch that somebody waits for in its place: they stand in the order of their ends."""
    if not waiting or waiting[-1].next_offset < wanted.next_offset:
        waiting.append(wanted)
    else:
        waiting.insert(bisect_left(waiting, wanted.next_offset, key=_next_offset), wanted)


def acknowledge_below(waiting: deque[Unacknowledged], offset: int, partition: int) -> list[Publishing]:
    """Answer whoever waits for a batch that ends at an offset or before; the publishes that are complete with it."""
    done: list[Publishing] = []
    while waiting and waiting[0].next_offset <= offset:
        one = waiting.popleft()
        place = partition, one.first_offset, one.timestamp
        done += [share.publishing for share in one.shares if share.acknowledge(*place)]
    return done


def take_expired(waiting: deque[Unacknowledged], until: int) -> tuple[list[Share], int | None]:
    """Take out the clients' publishes that have waited since `until` or longer; and since when the first other waits.

    What the broker itself has published goes on waiting.
    """
    expired: list[Share] = []
    since: int | None = None
    for one in waiting:
        if one.since <= until:
            expired += [share for share in one.shares if not share.publishing.call.is_own]
            one.shares = [share for share in one.shares if share.publishing.call.is_own]
        elif since is None and one.shares:
            since = one.since
    while waiting and not waiting[0].shares:
        waiting.popleft()
    return expired, since


def _next_offset(one: Unacknowledged) -> int:
    return one.next_offset


def problem(header: Header) -> str:
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


@define
class Times:
    """The timestamps that a topic takes; -1, for none, is always taken."""

    earliest_ms: int = 0
    latest_ms: int = INT64_MAX

    @classmethod
    def of(cls, config: LogConfig, wall_ms: int) -> "Times":
        """Those that are taken at this time."""
        before_ms = config.timestamp_before_ms
        return cls(0 if before_ms == UNLIMITED else wall_ms - before_ms, config.latest_ms(wall_ms))

    def wrong(self, first_ms: int, last_ms: int) -> str:
        """Why timestamps from the first to the last of these are not taken; empty when they are."""
        if last_ms > self.latest_ms:
            return f"timestamp {last_ms} lies too far ahead of the broker's clock: {self.latest_ms} is the latest"
        if NO_TIMESTAMP < first_ms < self.earliest_ms:
            return f"timestamp {first_ms} lies too far in the past: {self.earliest_ms} is the earliest"
        return ""


ANY_TIME = Times()


def entries_of(
    records: Sequence[NewRecord], places: list[int], wall_ms: int, times: Times
) -> tuple[list[Entry], int, list[int]]:
    """Messages as a batch takes them, the most that they take in it, and the places of those with a wrong time."""
    entries: list[Entry] = []
    size = 0
    untimely: list[int] = []
    earliest_ms, latest_ms = times.earliest_ms, times.latest_ms
    for at in places:
        record = records[at]
        timestamp = record.timestamp
        if timestamp is None:
            timestamp = wall_ms
        elif timestamp > latest_ms or NO_TIMESTAMP < timestamp < earliest_ms:
            untimely.append(at)
        headers = record.headers
        if record.ttl_ms:
            headers = (*headers, (EXPIRES, b"%d" % (timestamp + record.ttl_ms)))
        entry = timestamp, record.key, record.value, headers
        entries.append(entry)
        size += entry_bytes(entry)
    return entries, size, untimely


def entry_bytes(entry: Entry) -> int:
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
    if error.reason == UNTIMELY:
        return Refusal(Code.INVALID_TIMESTAMP, str(error), "timestamp")
    code = Code.TOO_LARGE if error.status_hint == 413 else Code.CORRUPT_BATCH
    return Refusal(code, str(error), "batch")
