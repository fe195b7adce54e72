"""What a producer's batch claims of its records, held against the bytes that it has, without looking at any record.

A batch of a few bytes could claim two thousand million records, or a content that no reader has memory for. The log
gives out an offset for each record that is claimed, queues lease them, readers make room for them; so the claims are
checked before the batch is taken. What is looked at is the header and, of compressed records, the first and last bytes,
where the formats say how large their content is:

    zstd    the first frame's content size, if it was written
    lz4     the first frame's content size, if it was written
    snappy  the size in front of each block, which is always there
    gzip    the last member's size modulo 2^32, at the end

A producer that lies in a way that is not seen here is found out when the records are read (`record.RecordCheck`).

Invariant: no batch is refused here that `record.iterate` could read and that has at most `RECORDS_MAX` records.
"""

import struct

from goqueue.core.errors import BatchError
from goqueue.core.records.batch import CODEC_MASK, HEADER_BYTES, NO_PRODUCER, NO_SEQUENCE, Codec, Header
from goqueue.core.records.compression import DECOMPRESSED_BYTES_MAX, snappy_size
from goqueue.core.records.varint import Readable

# Length, attributes, timestamp delta, offset delta, key length, value length, header count: a byte each at the least.
RECORD_BYTES_MIN = 7
# A reader has an object for each record of a batch, and compaction a key.
RECORDS_MAX = 1 << 20

# What one byte decompresses to at most. zstd repeats a byte 128 KiB long in a block of four; deflate makes 258 bytes of
# two bits; a sequence of LZ4 grows by 255 for every byte of its length.
_RATIO_MAX = {Codec.GZIP: 1032, Codec.SNAPPY: 22, Codec.LZ4: 255, Codec.ZSTD: 32 << 10}

_U16, _U32, _U64 = struct.Struct("<H"), struct.Struct("<I"), struct.Struct("<Q")
_ZSTD_MAGIC, _LZ4_MAGIC, _GZIP_MAGIC = 0xFD2FB528, 0x184D2204, b"\x1f\x8b"
# Frames with these sixteen magics hold nothing, in zstd and LZ4 alike.
_SKIPPABLE, _SKIPPABLE_MASK = 0x184D2A50, 0xFFFFFFF0


def check_claims(batch: Readable, header: Header) -> None:
    """Refuse a producer's batch whose header or frame claims what its bytes cannot hold. Raises BatchError.

    `header` is that of `batch`, which `validate_exact` has passed.
    """
    _, _, _, _, _, attributes, _, _, _, producer_id, _, sequence, count = header
    size, codec = len(batch) - HEADER_BYTES, attributes & CODEC_MASK
    # Nearly every batch is like this, and passes here.
    if not codec and count * RECORD_BYTES_MIN <= size and count <= RECORDS_MAX:
        if producer_id != NO_PRODUCER or sequence == NO_SEQUENCE:
            return
    if producer_id == NO_PRODUCER and sequence != NO_SEQUENCE:
        raise BatchError("producer", f"The batch has sequence {sequence} and no producer.", position=43)
    if count > RECORDS_MAX:
        raise BatchError("count", f"{count} records are claimed; {RECORDS_MAX} is the most.", position=57)
    room = size if codec == Codec.NONE else _room(Codec(codec), memoryview(batch)[HEADER_BYTES:])
    if count * RECORD_BYTES_MIN > room:
        raise BatchError("count", f"{count} records are claimed, and {size} bytes cannot hold so many.", position=57)


def is_possible(header: Header) -> bool:
    """Whether a batch that a log holds, maybe since before claims were checked, has room for as many records."""
    count, codec = header.record_count, header.attributes & CODEC_MASK
    if codec != Codec.NONE:
        return count <= RECORDS_MAX
    return count <= RECORDS_MAX and count * RECORD_BYTES_MIN <= header.size - HEADER_BYTES


def _room(codec: Codec, content: memoryview) -> int:
    """How many bytes compressed records can have at most. Raises BatchError where they say that they have too many."""
    declared = declared_size(codec, content)
    if declared > DECOMPRESSED_BYTES_MAX:
        said = f"The records claim to decompress to {declared} bytes; {DECOMPRESSED_BYTES_MAX} is the most."
        raise BatchError("oversize", said, position=HEADER_BYTES, status_hint=413)
    return min(len(content) * _RATIO_MAX[codec], DECOMPRESSED_BYTES_MAX)


def declared_size(codec: Codec, content: memoryview) -> int:
    """How large compressed records say that they are, at the least; 0 where they do not say. Raises BatchError."""
    match codec:
        case Codec.ZSTD:
            return _zstd_size(content)
        case Codec.LZ4:
            return _lz4_size(content)
        case Codec.SNAPPY:
            return snappy_size(content)
        case Codec.GZIP:
            if content[:2] != _GZIP_MAGIC:
                raise _no_frame(codec)
            return int(_U32.unpack_from(content, len(content) - 4)[0]) if len(content) > 4 else 0
        case Codec.NONE:
            return len(content)


def _zstd_size(content: memoryview) -> int:
    # The descriptor has in bits 6 and 7 the width of the size, in bit 5 whether there is no window, in bits 0 and 1 the
    # width of the dictionary's id; then follow window, id and size.
    if len(content) < 5 or not _is_frame(content, _ZSTD_MAGIC):
        raise _no_frame(Codec.ZSTD)
    descriptor = content[4]
    if not _starts_with(content, _ZSTD_MAGIC):
        return 0
    has_window = not descriptor & 0x20
    at = 5 + has_window + (0, 1, 2, 4)[descriptor & 3]
    width = descriptor >> 6
    if width == 0:
        return 0 if has_window or at >= len(content) else content[at]
    field = (_U16, _U32, _U64)[width - 1]
    if at + field.size > len(content):
        raise _no_frame(Codec.ZSTD)
    # Sizes below 256 have one byte, so those of two begin there.
    return int(field.unpack_from(content, at)[0]) + (256 if width == 1 else 0)


def _lz4_size(content: memoryview) -> int:
    if len(content) < 7 or not _is_frame(content, _LZ4_MAGIC):
        raise _no_frame(Codec.LZ4)
    if not _starts_with(content, _LZ4_MAGIC) or not content[4] & 0x08:
        return 0
    if len(content) < 14:
        raise _no_frame(Codec.LZ4)
    return int(_U64.unpack_from(content, 6)[0])


def _is_frame(content: memoryview, magic: int) -> bool:
    return _starts_with(content, magic) or _U32.unpack_from(content)[0] & _SKIPPABLE_MASK == _SKIPPABLE


def _starts_with(content: memoryview, magic: int) -> bool:
    return bool(_U32.unpack_from(content)[0] == magic)


def _no_frame(codec: Codec) -> BatchError:
    return BatchError("compression", f"The records are not valid {codec.name.lower()}: they do not begin like it.")
