"""The record batch as bytes behind a 61-byte header: its fields, its checks, and the stamp of the broker.

Nothing here looks at records; that is `record.py`, and writing them is `build.py`. The layout is Kafka's RecordBatch
v2, big-endian: base offset i64, length i32 (of all that follows it), leader epoch i32, magic i8, CRC u32, attributes
i16, last offset delta i32, base timestamp i64, max timestamp i64, producer id i64, producer epoch i16, base sequence
i32, record count i32, records. There are two additions, in bits of the attributes that Kafka leaves unused: the lane,
and whether any record may say in a header when it expires, so that nobody needs to look for that in all others.

The CRC-32C covers everything from the attributes on. Before it lie what the checks of structure cover (length, magic)
and the twelve bytes of base offset and leader epoch, which no check of a single batch can cover: the broker stamps
them into a batch whose CRC a client computed. Whoever reads batches back in sequence knows the offset that must come
next and passes it to `validate` as `base_offset`.

Invariants: a batch that `validate` lets pass lies whole in the buffer, has the bytes that its sender summed, and says
nothing that this version does not understand; an offset in it never moves, so a compacted batch keeps its last offset
delta while records leave it.
"""

import struct
from collections.abc import Iterator
from enum import IntEnum
from typing import NamedTuple, TypeAlias

from crc32c import crc32c

from goqueue.core.errors import BatchError
from goqueue.core.records.varint import INT64_MAX, Readable

Writable: TypeAlias = bytearray | memoryview

HEADER = struct.Struct(">qiibIhiqqqhii")
HEADER_BYTES = HEADER.size
MAGIC = 2

# The fields that are written after the rest, each at its position, and where the reach of length and CRC begins.
BASE_OFFSET = struct.Struct(">q")
LENGTH = struct.Struct(">i")
LENGTH_POSITION = 8
LENGTH_COVERS_FROM = 12
LEADER_EPOCH = struct.Struct(">i")
LEADER_EPOCH_POSITION = 12
CRC = struct.Struct(">I")
CRC_POSITION = 17
CRC_COVERS_FROM = 21

ATTRIBUTES = struct.Struct(">h")
ATTRIBUTES_POSITION = 21
MAX_TIMESTAMP = struct.Struct(">q")
MAX_TIMESTAMP_POSITION = 35

CODEC_MASK = 0x07
APPEND_TIME = 0x08
TRANSACTIONAL = 0x10
CONTROL = 0x20
DELETE_HORIZON = 0x40
LANE_SHIFT = 8
LANE_MASK = 0x700
EXPIRING = 0x800

NO_TIMESTAMP = -1
NO_PRODUCER = -1
NO_SEQUENCE = -1
NO_EPOCH = -1


class Codec(IntEnum):
    """What the records of a batch are compressed with."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


class Lane(IntEnum):
    """The priority that a batch is delivered with."""

    NORMAL = 0
    CRITICAL = 1
    HIGH = 2
    LOW = 3
    BACKGROUND = 4


class Header(NamedTuple):
    """The thirteen fields of a batch's header, in the order of its bytes."""

    base_offset: int
    length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def size(self) -> int:
        """Bytes of the whole batch, header included."""
        return LENGTH_COVERS_FROM + self.length

    @property
    def last_offset(self) -> int:
        """The last offset that the batch holds or once held."""
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        """The offset at which the following batch begins, if nothing lies between."""
        return self.base_offset + self.last_offset_delta + 1

    @property
    def codec(self) -> Codec:
        """What the records are compressed with."""
        return Codec(self.attributes & CODEC_MASK)

    @property
    def lane(self) -> Lane:
        """The priority that the batch is delivered with."""
        return Lane((self.attributes & LANE_MASK) >> LANE_SHIFT)

    @property
    def is_append_time(self) -> bool:
        """Whether all records bear the time of their append, which is the max timestamp."""
        return self.attributes & APPEND_TIME != 0

    @property
    def is_transactional(self) -> bool:
        """Whether the batch belongs to a transaction."""
        return self.attributes & TRANSACTIONAL != 0

    @property
    def is_control(self) -> bool:
        """Whether the records are markers for brokers and not messages."""
        return self.attributes & CONTROL != 0

    @property
    def is_expiring(self) -> bool:
        """Whether a record may say when it expires."""
        return self.attributes & EXPIRING != 0

    @property
    def horizon_ms(self) -> int | None:
        """When tombstones and markers may leave the batch, once a compaction has decided it."""
        return self.base_timestamp if self.attributes & DELETE_HORIZON else None

    @property
    def has_producer(self) -> bool:
        """Whether an idempotent or transactional producer wrote the batch."""
        return self.producer_id != NO_PRODUCER


def _known_attributes(optional_flags: tuple[int, ...]) -> frozenset[int]:
    flags = {0}
    for flag in optional_flags:
        flags |= {flag | known for known in flags}
    return frozenset(codec | lane << LANE_SHIFT | flag for codec in Codec for lane in Lane for flag in flags)


# One membership test in place of one for the codec, one for the lane and one for the bits that nobody uses.
_PRODUCED = _known_attributes((APPEND_TIME, TRANSACTIONAL, CONTROL, EXPIRING))
_COMPACTED = _known_attributes((APPEND_TIME, TRANSACTIONAL, CONTROL, EXPIRING, DELETE_HORIZON))


def read_header(buffer: Readable, position: int = 0) -> Header:
    """The header at `position`, unchecked; its codec and lane may be ones that do not exist."""
    assert position >= 0
    try:
        return tuple.__new__(Header, HEADER.unpack_from(buffer, position))
    except struct.error:
        raise _cut_short(HEADER_BYTES, len(buffer), position) from None


def locate(buffer: Readable, position: int = 0) -> Header:
    """The header of the batch at `position`, if it has our magic and lies whole in the buffer; no more is checked."""
    header = read_header(buffer, position)
    length = header.length
    if length < HEADER_BYTES - LENGTH_COVERS_FROM:
        raise BatchError("length", f"A batch claims {length} bytes, less than its header has.", position=position + 8)
    if header.magic != MAGIC:
        raise BatchError("magic", f"The magic is {header.magic}, and only {MAGIC} is known.", position=position + 16)
    if position + LENGTH_COVERS_FROM + length > len(buffer):
        raise _cut_short(LENGTH_COVERS_FROM + length, len(buffer), position)
    return header


def validate(buffer: Readable, position: int = 0, *, compacted: bool = False, base_offset: int | None = None) -> Header:
    """Check structure, CRC and fields of the batch at `position`; its records are not looked at.

    `compacted` is for what comes out of a log and not from a producer: there a batch may hold fewer records than
    offsets, even none, and a delete horizon. `base_offset` is the offset that must stand there, where the caller knows
    it. The CRC is compared before the meaning of the fields, so `crc` says that bytes changed on their way, and
    every reason checked after it that the sender wrote nonsense.
    """
    header = locate(buffer, position)
    end = position + LENGTH_COVERS_FROM + header.length
    crc = crc32c(memoryview(buffer)[position + CRC_COVERS_FROM : end])
    if crc != header.crc:
        said = f"The CRC is {crc:#010x}, not {header.crc:#010x} as written."
        raise BatchError("crc", said, position=position + CRC_POSITION)
    if base_offset is not None and header.base_offset != base_offset:
        said = f"The batch begins at offset {header.base_offset}, not at {base_offset}."
        raise BatchError("offset", said, position=position)
    _check_fields(header, position, compacted)
    return header


def validate_exact(buffer: Readable, *, compacted: bool = False, base_offset: int | None = None) -> Header:
    """Check that `buffer` is one valid batch and nothing else, as an append must."""
    if not compacted and base_offset is None and len(buffer) >= HEADER_BYTES:
        plain: Header = tuple.__new__(Header, HEADER.unpack_from(buffer))
        if _is_plainly_valid(plain, buffer):
            return plain
    header = validate(buffer, 0, compacted=compacted, base_offset=base_offset)
    size = LENGTH_COVERS_FROM + header.length
    if size != len(buffer):
        raise BatchError("trailing", f"{len(buffer) - size} bytes follow the batch.", position=size)
    return header


def split(run: Readable) -> Iterator[memoryview]:
    """The whole batches that stand one after another in `run`, as views of it."""
    view, at = memoryview(run), 0
    while at < len(view):
        size = read_header(view, at).size
        if size < HEADER_BYTES or at + size > len(view):
            raise _cut_short(max(size, HEADER_BYTES), len(view), at)
        yield view[at : at + size]
        at += size


def stamp(batch: Writable, base_offset: int, leader_epoch: int) -> None:
    """Write base offset and leader epoch into a batch in place; no byte that the CRC covers is touched."""
    assert len(batch) >= HEADER_BYTES
    assert base_offset >= 0
    assert leader_epoch >= NO_EPOCH
    BASE_OFFSET.pack_into(batch, 0, base_offset)
    LEADER_EPOCH.pack_into(batch, LEADER_EPOCH_POSITION, leader_epoch)


def stamp_time(batch: Writable, append_ms: int) -> None:
    """Make all records of a valid batch bear the time of its append, in place; the CRC is made anew."""
    [attributes] = ATTRIBUTES.unpack_from(batch, ATTRIBUTES_POSITION)
    ATTRIBUTES.pack_into(batch, ATTRIBUTES_POSITION, attributes | APPEND_TIME)
    MAX_TIMESTAMP.pack_into(batch, MAX_TIMESTAMP_POSITION, append_ms)
    CRC.pack_into(batch, CRC_POSITION, crc32c(memoryview(batch)[CRC_COVERS_FROM:]))


def _check_fields(header: Header, position: int, compacted: bool) -> None:
    (
        base_offset, _, _, _, _, attributes, last_delta, base_timestamp, max_timestamp,
        producer_id, producer_epoch, base_sequence, count,
    ) = header  # fmt: skip
    if attributes not in (_COMPACTED if compacted else _PRODUCED):
        raise _unknown_attributes(attributes, position + 21)
    if not (0 <= count <= last_delta + 1 if compacted else count == last_delta + 1) or last_delta < 0:
        said = f"{count} records are claimed for a last offset delta of {last_delta}."
        raise BatchError("count", said, position=position + 57)
    if base_offset < 0 or base_offset + last_delta > INT64_MAX:
        raise BatchError("offset", f"No batch can begin at offset {base_offset}.", position=position)
    if base_timestamp < NO_TIMESTAMP or max_timestamp < NO_TIMESTAMP:
        said = f"The timestamps are {base_timestamp} and {max_timestamp}; below -1, which is none, there are none."
        raise BatchError("timestamp", said, position=position + 27)
    if producer_id < NO_PRODUCER or producer_epoch < NO_EPOCH or base_sequence < NO_SEQUENCE:
        said = f"Producer {producer_id}, epoch {producer_epoch}, sequence {base_sequence}: none may be below -1."
        raise BatchError("producer", said, position=position + 43)


def _is_plainly_valid(header: Header, buffer: Readable) -> bool:
    """All that `validate_exact` asks of a producer's batch as one condition, since nearly every batch meets it.

    Every append passes here. A batch that does not is looked at again, step by step, to name what is wrong with it.
    """
    (
        base_offset, length, _, magic, crc, attributes, last_delta, base_timestamp, max_timestamp,
        producer_id, producer_epoch, base_sequence, count,
    ) = header  # fmt: skip
    return (
        length == len(buffer) - LENGTH_COVERS_FROM
        and magic == MAGIC
        and attributes in _PRODUCED
        and count == last_delta + 1 > 0
        and 0 <= base_offset <= INT64_MAX - last_delta
        and base_timestamp >= NO_TIMESTAMP <= max_timestamp
        and producer_id >= NO_PRODUCER
        and producer_epoch >= NO_EPOCH
        and base_sequence >= NO_SEQUENCE
        and crc32c(memoryview(buffer)[CRC_COVERS_FROM:]) == crc
    )


def _unknown_attributes(attributes: int, position: int) -> BatchError:
    codec, lane = attributes & CODEC_MASK, (attributes & LANE_MASK) >> LANE_SHIFT
    if codec > max(Codec):
        return BatchError("codec", f"Codec {codec} is unknown; {max(Codec)} is the last.", position=position)
    if lane > max(Lane):
        return BatchError("lane", f"Lane {lane} is unknown; {max(Lane)} is the last.", position=position)
    said = f"Attributes {attributes & 0xFFFF:#06x} set a bit that is not allowed here."
    return BatchError("attributes", said, position=position)


def _cut_short(expected: int, size: int, position: int) -> BatchError:
    remaining = max(0, size - position)
    return BatchError("truncated", f"A batch needs {expected} bytes and {remaining} are left.", position=position)
