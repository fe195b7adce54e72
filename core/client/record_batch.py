"""Records of one partition that travel together: gathered, encoded once, sent until there is an answer, settled once.

A parcel outlives its records: whoever published one of them holds the parcel and asks it what became of them, and so an
answer costs the same for one record as for a thousand.

One that is too large for its topic is halved: the halves travel in its place, under its numbers, and it stays for those
who hold it. So in the end a record that is too large fails alone.

Invariants: records are added only until the parcel is encoded; a number once given to it (producer, epoch, sequence)
changes only through `renumber`; it is settled once, and then holds no records.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from attrs import define, field
from crc32c import crc32c

from goqueue.core.client.failure import Failure
from goqueue.core.records.batch import (
    CRC,
    CRC_COVERS_FROM,
    CRC_POSITION,
    HEADER,
    HEADER_BYTES,
    NO_SEQUENCE,
    Codec,
    Lane,
    read_header,
)
from goqueue.core.records.build import Entry, encode
from goqueue.core.records.record import iterate
from goqueue.core.requests.messages import Due
from goqueue.core.requests.refusals import Outcome

if TYPE_CHECKING:
    from goqueue.core.client.pipeline import Pipeline

# At most what a record adds to its key, value and headers: its lengths and deltas, and its attributes.
RECORD_BYTES_MAX = 32
HEADER_ENTRY_BYTES_MAX = 10
# How many sequence numbers there are.
SEQUENCES = 1 << 31


@define(eq=False)
class RecordBatch:
    """See the module; `size` is at least what the records come to without compression."""

    # The driver of the session, for those who hold nothing but the parcel.
    owner: Any
    pipeline: "Pipeline"
    lane: Lane
    opened: int
    bytes_max: int
    entries: list[Entry] = field(factory=list)
    size: int = HEADER_BYTES
    count: int = 0
    content: bytearray | None = None
    sequence: int = -1
    # How many were in flight before it.
    flown: int = 0
    # 0 while no answer is awaited; numbers begin at 1.
    request_id: int = 0
    sent: int = 0
    is_due: bool = False
    # When its records are delivered, and what their timestamps say; then by how much the broker has moved these.
    due: Due = Due.NOW
    moved_ms: int = 0
    # Whether it was sent and not answered, or the answer left open what was done.
    is_doubtful: bool = False
    # Whether it follows one, in the numbers of the same epoch, that is certainly not stored.
    is_behind_gap: bool = False
    is_settled: bool = False
    offset: int = -1
    failure: Failure | None = None
    # The places of those whose failure somebody has looked at; only of a parcel that failed.
    seen: set[int] | None = None
    # Of a parcel that was too large: what travels in its place. And the other way round.
    halves: "tuple[RecordBatch, RecordBatch] | None" = None
    whole: "RecordBatch | None" = None

    @property
    def may_be_stored(self) -> bool:
        """Whether a broker may have stored it that did not say so."""
        return self.is_doubtful and not self.is_behind_gap

    def seal(self, codec: Codec, producer_id: int, epoch: int, sequence: int) -> bytearray:
        """Encode the records as they are; nothing is added from here on. Raises BatchError."""
        assert self.content is None
        assert self.entries
        self.content = encode(
            self.entries,
            codec=codec,
            lane=self.lane,
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=sequence,
        )
        self.count = len(self.entries)
        self.sequence = sequence
        self.entries = []
        return self.content

    def hold(self, content: bytearray, count: int, sequence: int) -> None:
        """Take what somebody else has encoded, instead of records."""
        assert self.content is None
        assert not self.entries
        self.content = content
        self.size = len(content)
        self.count = count
        self.sequence = sequence
        self.is_due = True

    def renumber(self, producer_id: int, epoch: int, sequence: int) -> None:
        """Give encoded records other numbers."""
        assert self.content is not None
        # The old bytes may still be on their way into a socket.
        self.content = bytearray(self.content)
        header = list(HEADER.unpack_from(self.content))
        header[9:12] = producer_id, epoch, sequence
        HEADER.pack_into(self.content, 0, *header)
        CRC.pack_into(self.content, CRC_POSITION, crc32c(memoryview(self.content)[CRC_COVERS_FROM:]))
        self.sequence = sequence

    def halve(self) -> "tuple[RecordBatch, RecordBatch]":
        """Two parcels with the records and the numbers of this one, which is settled once they are."""
        assert self.content is not None
        assert self.count > 1
        header = read_header(self.content)
        entries: list[Entry] = [(one.timestamp, one.key, one.value, one.headers) for one in iterate(self.content)]
        middle, numbers = self.count // 2, (header.producer_id, header.producer_epoch)
        behind = self.sequence
        if behind != NO_SEQUENCE:
            behind = (behind + middle) & (SEQUENCES - 1)
        self.halves = (
            self._part(entries[:middle], header.codec, numbers, self.sequence),
            self._part(entries[middle:], header.codec, numbers, behind),
        )
        self.content = None
        return self.halves

    def _part(self, entries: list[Entry], codec: Codec, numbers: tuple[int, int], sequence: int) -> "RecordBatch":
        part = RecordBatch(self.owner, self.pipeline, self.lane, self.opened, self.bytes_max, entries)
        part.size += sum(map(_entry_bytes_max, entries))
        part.is_due = True
        part.whole = self
        part.due = self.due
        part.is_doubtful, part.is_behind_gap = self.is_doubtful, self.is_behind_gap
        part.seal(codec, *numbers, sequence)
        return part

    def tell_time(self, latest_ms: int) -> None:
        """The broker took the records: this is the latest time at which one of them is due."""
        if self.due is Due.AFTER and latest_ms >= 0:
            assert self.content is not None
            self.moved_ms = latest_ms - read_header(self.content).max_timestamp

    def settle(self, offset: int, failure: Failure | None) -> None:
        """The end: where the records went, or why they did not."""
        assert not self.is_settled
        assert not self.request_id
        self.count = self.count or len(self.entries)
        self.is_settled = True
        self.offset = offset
        self.failure = failure
        self.entries = []
        self.content = None

    def as_a_whole(self, failure: Failure) -> Failure:
        """The failure of the last attempt, which then says of all attempts what they have done."""
        if self.may_be_stored:
            return failure.in_doubt()
        return failure.undone() if failure.what_happened is Outcome.UNKNOWN else failure

    def look(self, index: int) -> Failure | None:
        """What became of one record, for somebody who asks."""
        assert self.is_settled
        if self.halves is not None:
            front, back = self.halves
            return front.look(index) if index < front.count else back.look(index - front.count)
        if self.failure is not None:
            if self.seen is None:
                self.seen = set()
            self.seen.add(index)
        return self.failure

    def offset_of(self, index: int) -> int:
        """Where one record went; -1 if that is not known."""
        assert self.is_settled
        if self.halves is not None:
            front, back = self.halves
            return front.offset_of(index) if index < front.count else back.offset_of(index - front.count)
        return self.offset + index if self.offset >= 0 else -1

    def due_ms_of(self, index: int, timestamp_ms: int) -> int:
        """When a record is due that was given this timestamp; -1 if it is not kept back, or that is not known."""
        assert self.is_settled
        if self.halves is not None:
            front, back = self.halves
            half, place = (front, index) if index < front.count else (back, index - front.count)
            return half.due_ms_of(place, timestamp_ms)
        if self.due is Due.NOW or (self.due is Due.AFTER and not self.moved_ms):
            return -1
        return timestamp_ms + self.moved_ms

    @property
    def unseen(self) -> int:
        """How many records failed without anybody having looked."""
        if self.failure is None:
            return 0
        return self.count - len(self.seen or ())


def headers_bytes_max(headers: Sequence[tuple[str, bytes | None]]) -> int:
    """At most what these headers take in a batch."""
    return sum(HEADER_ENTRY_BYTES_MAX + 4 * len(name) + len(value or b"") for name, value in headers)


def _entry_bytes_max(entry: Entry) -> int:
    _, key, value, headers = entry
    return RECORD_BYTES_MAX + len(key or b"") + len(value or b"") + headers_bytes_max(headers)
