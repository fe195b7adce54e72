"""Writing batches: from a known list, one record at a time, or again with fewer records.

`encode` is for a list that is complete, `BatchBuilder` for one that grows until it is large or old enough, `rebuild`
for a compaction, which takes records out of a batch while those that stay keep their offsets. All three append the
parts of each record to one list, join them once and sum them once. Nothing is stamped here: offsets begin at zero and
the leader epoch is unknown, until the broker writes both (`batch.stamp`). A batch says by itself whether a record in it
may expire.

The base timestamp is that of the first record, unless the caller says otherwise. Under a codec the records are always
compressed, even where that makes them larger: a reader finds what the producer said.

Invariants: what is built passes `record.validate_records`; `rebuild` of all records of a batch that was built here
gives the same bytes; what a user put into a record and cannot be written raises BatchError, and what a caller of this
module said wrongly of the whole batch is an assertion.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias, TypedDict, Unpack

from crc32c import crc32c

from goqueue.core.errors import BatchError
from goqueue.core.records.batch import (
    APPEND_TIME,
    CODEC_MASK,
    CONTROL,
    CRC,
    CRC_COVERS_FROM,
    CRC_POSITION,
    DELETE_HORIZON,
    EXPIRING,
    HEADER,
    HEADER_BYTES,
    LANE_SHIFT,
    LENGTH,
    LENGTH_COVERS_FROM,
    LENGTH_POSITION,
    MAGIC,
    NO_EPOCH,
    NO_PRODUCER,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    TRANSACTIONAL,
    Codec,
    Header,
    Lane,
)
from goqueue.core.records.compression import compress
from goqueue.core.records.headers import EXPIRES, encode_headers
from goqueue.core.records.record import Record
from goqueue.core.records.varint import (
    INT64_MAX,
    LENGTHS,
    LENGTHS_END,
    Readable,
    encode_varint,
    encode_varlong,
)

Entry: TypeAlias = tuple[int, Readable | None, Readable | None, Sequence[tuple[str, bytes | None]]]
"""What a producer says of a record: timestamp in milliseconds, key, value, headers."""


class Options(TypedDict, total=False):
    """What a batch says of all its records; what is left out is plain, normal and of no producer.

    `append_ms` makes all records bear that time instead of their own; `level` is the codec's; `control` is for brokers.
    """

    codec: Codec
    level: int | None
    lane: Lane
    producer_id: int
    producer_epoch: int
    base_sequence: int
    transactional: bool
    control: bool
    append_ms: int | None


# Far above any limit that a topic sets, and far enough below 2^31 for no codec to expand the records past it.
RECORDS_BYTES_MAX = 1 << 30

_BLANK_HEADER = bytes(HEADER_BYTES)
_NULL = encode_varint(-1)
_NOTHING: Readable = b""
_EXPIRES = EXPIRES.encode()


def encode(entries: Sequence[Entry], *, base_timestamp: int | None = None, **options: Unpack[Options]) -> bytearray:
    """One batch of all `entries`, of which there must be some."""
    if not entries:
        raise BatchError("count", "A batch needs at least one record.")
    base = entries[0][0] if base_timestamp is None else base_timestamp
    parts: list[Readable] = [_BLANK_HEADER]
    size, latest, flags = _append_records(parts, base, enumerate(entries))
    return _finish(parts, len(entries), size, (base, latest), options, flags)


class BatchBuilder:
    """A batch that grows record by record; `size` is what it has come to, `count` how many records it holds.

    The size is exact for what is not compressed later. A record that is refused leaves the builder as it was, and a
    batch may be built more than once.
    """

    __slots__ = ("_base", "_flags", "_latest", "_parts", "count", "size")

    def __init__(self, *, base_timestamp: int | None = None) -> None:
        self.count = 0
        self.size = HEADER_BYTES
        self._base = base_timestamp
        self._latest = NO_TIMESTAMP
        self._flags = 0
        self._parts: list[Readable] = [_BLANK_HEADER]

    def add(
        self,
        timestamp: int,
        key: Readable | None,
        value: Readable | None,
        headers: Sequence[tuple[str, bytes | None]] = (),
    ) -> int:
        """Append a record and return the size of the batch with it."""
        base = timestamp if self._base is None else self._base
        numbered = ((self.count, (timestamp, key, value, headers)),)
        size, latest, flags = _append_records(self._parts, base, numbered)
        self._base = base
        self._flags |= flags
        self._latest = max(self._latest, latest)
        self.count += 1
        self.size += size
        return self.size

    def extend(self, entries: Sequence[Entry]) -> int:
        """Append records, all or none of them, and return the size of the batch with them."""
        base = entries[0][0] if self._base is None else self._base
        kept = len(self._parts)
        try:
            size, latest, flags = _append_records(self._parts, base, enumerate(entries, self.count))
        except BatchError:
            del self._parts[kept:]
            raise
        self._base = base
        self._flags |= flags
        self._latest = max(self._latest, latest)
        self.count += len(entries)
        self.size += size
        return self.size

    def build(self, **options: Unpack[Options]) -> bytearray:
        """The batch of what was added, which must be something."""
        if self._base is None or not self.count:
            raise BatchError("count", "A batch needs at least one record.")
        times = self._base, self._latest
        return _finish(self._parts, self.count, self.size - HEADER_BYTES, times, options, self._flags)


def rebuild(header: Header, records: Iterable[Record], *, horizon_ms: int | None = None) -> bytearray:
    """The batch of `header` with only `records` left in it: offsets, producer, lane and codec stay.

    `horizon_ms` is when tombstones may go; a horizon that the batch already has stays unless another is given. The base
    timestamp is the horizon where there is one. With no record left there is nothing to compress, and the codec goes.
    """
    attributes, base = header.attributes, header.base_timestamp
    if horizon_ms is not None:
        attributes, base = attributes | DELETE_HORIZON, horizon_ms
    parts: list[Readable] = [_BLANK_HEADER]
    kept = tuple(records)
    size, latest, _ = _append_records(parts, base, _in_place(header, kept))
    if not kept:
        attributes, latest = attributes & ~CODEC_MASK, header.max_timestamp
    changed = header._replace(attributes=attributes, base_timestamp=base, max_timestamp=latest, record_count=len(kept))
    return _seal(parts, size, changed, None)


def _in_place(header: Header, records: Iterable[Record]) -> Iterator[tuple[int, Entry]]:
    """Records with the offset deltas that they had."""
    previous = -1
    for record in records:
        delta = record.offset - header.base_offset
        assert previous < delta <= header.last_offset_delta
        previous = delta
        yield delta, (record.timestamp, record.key, record.value, record.headers)


def _append_records(parts: list[Readable], base: int, numbered: Iterable[tuple[int, Entry]]) -> tuple[int, int, int]:
    """Append the parts of each record to `parts`: the inner loop of all that is written.

    Returns the bytes appended, the latest timestamp, and what the records make of the batch's attributes. A record's
    parts are appended all at once and last, so that one that is refused leaves none behind.
    """
    if not NO_TIMESTAMP <= base <= INT64_MAX:
        raise _no_such_time(base)
    lengths, end = LENGTHS, LENGTHS_END
    total, latest, previous, stamp = 0, NO_TIMESTAMP, None, b""
    flags = 0
    # Most batches hold values of one size and nothing else: what goes around such a value is made once.
    like, until, lead, middle, step = -1, 0, b"", b"", 0
    for delta, (timestamp, key, value, headers) in numbered:
        if delta < until and timestamp == previous and value is not None and len(value) == like:
            if key is None and not headers:
                parts += (lead, lengths[delta], middle, value, b"\x00")
                total += step
                continue
        # Records of one batch are often of one millisecond; the attributes, always zero, ride along.
        if timestamp != previous:
            if not NO_TIMESTAMP <= timestamp <= INT64_MAX:
                raise _no_such_time(timestamp)
            elapsed = timestamp - base
            stamp = b"\x00" + (lengths[elapsed] if 0 <= elapsed < end else encode_varlong(elapsed))
            previous, like = timestamp, -1
            if timestamp > latest:
                latest = timestamp
        place = lengths[delta] if delta < end else encode_varint(delta)
        if key is None:
            key_bytes, key_length = _NOTHING, _NULL
        else:
            size = len(key_bytes := key)
            key_length = lengths[size] if size < end else encode_varint(size)
        if value is None:
            value_bytes, value_length = _NOTHING, _NULL
        else:
            size = len(value_bytes := value)
            value_length = lengths[size] if size < end else encode_varint(size)
        if headers:
            tail = encode_headers(headers)
            # A value that happens to hold these letters only makes a reader look at the headers.
            if _EXPIRES in tail:
                flags = EXPIRING
        else:
            tail = b"\x00"
        size = len(stamp) + len(place) + len(key_length) + len(key_bytes)
        size += len(value_length) + len(value_bytes) + len(tail)
        length = lengths[size] if size < end else encode_varint(size)
        parts += (length, stamp, place, key_length, key_bytes, value_length, value_bytes, tail)
        total += len(length) + size
        if key is None and value is not None and not headers:
            like, lead, middle, step = len(value), length + stamp, key_length + value_length, len(length) + size
            # From there on its place takes another byte.
            until = 1 << 6 if delta < 1 << 6 else 1 << 13 if delta < 1 << 13 else 0
    return total, latest, flags


def _finish(
    parts: list[Readable], count: int, size: int, times: tuple[int, int], options: Options, flags: int
) -> bytearray:
    """A producer's batch: offsets from zero, and as many of them as records; `times` are the base and the latest.

    `flags` are what its records make of the attributes.
    """
    base, latest = times
    if size > RECORDS_BYTES_MAX:
        raise BatchError("oversize", f"Records of {size} bytes do not fit into a batch.", status_hint=413)
    attributes = options.get("codec", Codec.NONE) | options.get("lane", Lane.NORMAL) << LANE_SHIFT | flags
    if options.get("transactional"):
        attributes |= TRANSACTIONAL
    if options.get("control"):
        attributes |= CONTROL
    append_ms = options.get("append_ms")
    if append_ms is not None:
        attributes, latest = attributes | APPEND_TIME, append_ms
    producer_id = options.get("producer_id", NO_PRODUCER)
    producer_epoch = options.get("producer_epoch", NO_EPOCH)
    base_sequence = options.get("base_sequence", NO_SEQUENCE)
    assert producer_id >= NO_PRODUCER
    assert producer_epoch >= NO_EPOCH
    assert base_sequence >= NO_SEQUENCE
    assert latest >= NO_TIMESTAMP
    header = Header(
        0, 0, NO_EPOCH, MAGIC, 0, attributes, count - 1, base, latest,
        producer_id, producer_epoch, base_sequence, count,
    )  # fmt: skip
    return _seal(parts, size, header, options.get("level"))


def _seal(parts: list[Readable], size: int, header: Header, level: int | None) -> bytearray:
    """Join a blank header and `size` bytes of records, compress them as `header` says, and fill in length and CRC."""
    codec = header.attributes & CODEC_MASK
    batch = bytearray().join(parts)
    # A part that was changed meanwhile, or a view of items wider than a byte, would make every length after it a lie.
    assert len(batch) == HEADER_BYTES + size
    if codec != Codec.NONE:
        batch[HEADER_BYTES:] = compress(Codec(codec), bytes(memoryview(batch)[HEADER_BYTES:]), level)
    HEADER.pack_into(batch, 0, *header)
    LENGTH.pack_into(batch, LENGTH_POSITION, len(batch) - LENGTH_COVERS_FROM)
    CRC.pack_into(batch, CRC_POSITION, crc32c(memoryview(batch)[CRC_COVERS_FROM:]))
    return batch


def _no_such_time(timestamp: int) -> BatchError:
    return BatchError("timestamp", f"A timestamp of {timestamp} is outside -1, which is none, to 2^63 - 1.")
