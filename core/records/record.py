"""The records of a batch, read one after another without copying their keys and values.

One parser, `iterate`, serves whoever consumes records and whoever checks them: if a validator and a reader were two
pieces of code, a batch could pass the one and surprise the other. Not here: the batch around the records (`batch.py`)
and writing them (`build.py`).

A record is a length and then, within it: attributes (one byte, always zero), timestamp delta, offset delta, key length
and key, value length and value, header count and headers. Integers are varints; a length of -1 is null. Record
timestamps count from the base timestamp, which after a compaction may be its delete horizon instead.

Keys and values are memoryviews: of the batch itself, which lives as long as they do and, if a bytearray, cannot be
resized meanwhile; or of the decompressed records.

Invariants: offsets rise strictly from the base offset and end at the last offset at most; every view lies within its
record and every record within the batch; what comes after the last record is an error. Since a producer's batch has as
many records as offsets, rising strictly makes its offsets contiguous.
"""

from collections.abc import Iterator

from attrs import define

from goqueue.core.errors import BatchError
from goqueue.core.records import compression
from goqueue.core.records.batch import (
    CODEC_MASK,
    CRC_COVERS_FROM,
    HEADER_BYTES,
    NO_TIMESTAMP,
    Codec,
    Header,
    locate,
    validate_exact,
)
from goqueue.core.records.compression import DECOMPRESSED_BYTES_MAX
from goqueue.core.records.headers import Headers, decode_headers
from goqueue.core.records.varint import MEANT, Readable, decode_varint, decode_varlong


@define
class Record:
    """One record: where it is, when it was made, and what its producer sent."""

    offset: int
    timestamp: int
    key: Readable | None
    value: Readable | None
    headers: Headers = ()


def iterate(batch: Readable, *, max_bytes: int = DECOMPRESSED_BYTES_MAX) -> Iterator[Record]:
    """The records of the batch at the start of `batch`, parsed as they are asked for; the CRC is not checked.

    The header is read and the records are decompressed at once, to at most `max_bytes`; what is wrong with a record is
    raised when its turn comes, with a position in the decompressed bytes where there are such.
    """
    header = locate(batch)
    size, codec = header.size, header.attributes & CODEC_MASK
    if codec == Codec.NONE:
        return _parse(batch if size == len(batch) else memoryview(batch)[:size], HEADER_BYTES, header)
    if codec > Codec.ZSTD:
        raise BatchError("codec", f"Codec {codec} is unknown.", position=CRC_COVERS_FROM)
    return _parse(compression.decompress(Codec(codec), memoryview(batch)[HEADER_BYTES:size], max_bytes), 0, header)


def validate_records(
    buffer: Readable,
    *,
    compacted: bool = False,
    base_offset: int | None = None,
    decompress: bool = False,
    max_bytes: int = DECOMPRESSED_BYTES_MAX,
) -> Header:
    """Check one batch and nothing else in `buffer` down to its records; compressed ones only if asked to."""
    header = validate_exact(buffer, compacted=compacted, base_offset=base_offset)
    if header.codec != Codec.NONE and not decompress:
        return header
    latest = NO_TIMESTAMP
    for record in iterate(buffer, max_bytes=max_bytes):
        timestamp = record.timestamp
        if timestamp > latest:
            latest = timestamp
        elif timestamp < NO_TIMESTAMP:
            raise BatchError("timestamp", f"Record {record.offset} is of {timestamp}; the least is -1, for none.")
    if latest != header.max_timestamp and header.record_count:
        raise BatchError("timestamp", f"The latest record is of {latest}, not of {header.max_timestamp} as claimed.")
    return header


def _parse(source: Readable, position: int, header: Header) -> Iterator[Record]:  # noqa: PLR0915 - one loop, no calls
    """The loop that every consumed record goes through, with integers of one and two bytes decoded in place.

    One byte too far raises IndexError, which stands in for a bounds check at every field: a record ends with its header
    count, so a value that passes the end is noticed at the byte after it, before the record is yielded.
    """
    meant, view, at = MEANT, memoryview(source), position
    base_offset, previous, last_delta = header.base_offset, -1, header.last_offset_delta
    # With append time there is one timestamp, and the deltas mean nothing: they are masked away.
    base_timestamp, delta_mask = (header.max_timestamp, 0) if header.is_append_time else (header.base_timestamp, -1)
    try:
        for _ in range(header.record_count):
            if (first := source[at]) < 0x80:
                size, at = meant[first], at + 1
            elif 0 < (second := source[at + 1]) < 0x80:
                size, at = meant[first - 0x80 + (second << 7)], at + 2
            else:
                size, at = decode_varint(source, at)
            end = at + size
            if source[at]:
                raise _malformed("has unknown attributes", at)
            if (first := source[at + 1]) < 0x80:
                elapsed, at = meant[first], at + 2
            elif 0 < (second := source[at + 2]) < 0x80:
                elapsed, at = meant[first - 0x80 + (second << 7)], at + 3
            else:
                elapsed, at = decode_varlong(source, at + 1)
            if (first := source[at]) < 0x80:
                delta, at = meant[first], at + 1
            elif 0 < (second := source[at + 1]) < 0x80:
                delta, at = meant[first - 0x80 + (second << 7)], at + 2
            else:
                delta, at = decode_varint(source, at)
            if not previous < delta <= last_delta:
                raise _malformed(f"has offset delta {delta} after {previous}, and {last_delta} is the last", at)
            previous = delta
            if (first := source[at]) < 0x80:
                length, at = meant[first], at + 1
            elif 0 < (second := source[at + 1]) < 0x80:
                length, at = meant[first - 0x80 + (second << 7)], at + 2
            else:
                length, at = decode_varint(source, at)
            key = None
            if length >= 0:
                key, at = view[at : at + length], at + length
            elif length != -1:
                raise _malformed(f"has a key of {length} bytes", at)
            if (first := source[at]) < 0x80:
                length, at = meant[first], at + 1
            elif 0 < (second := source[at + 1]) < 0x80:
                length, at = meant[first - 0x80 + (second << 7)], at + 2
            else:
                length, at = decode_varint(source, at)
            value = None
            if length >= 0:
                value, at = view[at : at + length], at + length
            elif length != -1:
                raise _malformed(f"has a value of {length} bytes", at)
            headers: Headers = ()
            if source[at]:
                headers, at = decode_headers(source, at, end), end
            else:
                at += 1
            if at != end:
                raise _malformed(f"ends {at - end} bytes away from its length", at)
            yield Record(base_offset + delta, base_timestamp + (elapsed & delta_mask), key, value, headers)
    except IndexError:
        raise BatchError("truncated", "The bytes end inside a record.", position=at) from None
    if at != len(source):
        raise BatchError("trailing", f"{len(source) - at} bytes follow the last record.", position=at)


def _malformed(what: str, position: int) -> BatchError:
    return BatchError("record", f"A record {what}.", position=position)
