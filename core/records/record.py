"""The records of a batch, read one after another without copying their keys and values.

One parser, `iterate`, serves whoever consumes records and whoever checks them: if a validator and a reader were two
pieces of code, a batch could pass the one and surprise the other. Not here: the batch around the records (`batch.py`)
and writing them (`build.py`).

A record is a length and then, within it: attributes (one byte, always zero), timestamp delta, offset delta, key length
and key, value length and value, header count and headers. Integers are varints; a length of -1 is null. Record
timestamps count from the base timestamp, which after a compaction may be its delete horizon instead.

Keys and values are memoryviews: of the batch itself, which lives as long as they do and, if a bytearray, cannot be
resized meanwhile; or of the decompressed records.

Invariants: offsets rise strictly from the base offset and end at the last offset at most; times are from -1, for none,
to the end of 64 bits; every view lies within its record and every record within the batch; what comes after the last
record is an error. Since a producer's batch has as many records as offsets, rising strictly makes its offsets
contiguous.
"""

from collections.abc import Iterator
from itertools import islice

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
from goqueue.core.records.varint import INT64_MAX, MEANT, Readable, decode_varint, decode_varlong

# No delta of one or two bytes reaches further.
NEAR_MAX = len(MEANT)


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
        records = _parse(batch if size == len(batch) else memoryview(batch)[:size], HEADER_BYTES, header)
    elif codec <= Codec.ZSTD:
        inflated = compression.decompress(Codec(codec), memoryview(batch)[HEADER_BYTES:size], max_bytes)
        records = _parse(inflated, 0, header)
    else:
        raise BatchError("codec", f"Codec {codec} is unknown.", position=CRC_COVERS_FROM)
    # Of the deltas that are decoded in place none leads out of 64 bits, unless the base is near their ends.
    is_inside = NEAR_MAX <= header.base_timestamp <= INT64_MAX - NEAR_MAX
    return records if is_inside or header.is_append_time else _in_time(records)


def _in_time(records: Iterator[Record]) -> Iterator[Record]:
    """The same records, whose times are looked at since they may not be in 64 bits, or before there are any."""
    for record in records:
        _check_time(record.timestamp)
        yield record


def _far_delta(source: Readable, position: int, base_timestamp: int, delta_mask: int) -> tuple[int, int]:
    """A timestamp delta of more than two bytes, and the position after it."""
    elapsed, at = decode_varlong(source, position)
    _check_time(base_timestamp + (elapsed & delta_mask))
    return elapsed, at


def _check_time(timestamp: int) -> None:
    if not NO_TIMESTAMP <= timestamp <= INT64_MAX:
        raise BatchError("timestamp", f"A record is of {timestamp}; times are from -1, for none, to 2^63 - 1.")


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
    assert RecordCheck(buffer, header, max_bytes).advance(header.record_count)
    return header


class Recordless(bytearray):
    """A batch whose records were left out, and had passed every check: what a capture holds of most batches."""


class RecordCheck:
    """The check of every record in one batch, some at a time, so that whoever checks a large one can pause in between.

    `header` is that of `batch`, which has passed `validate_exact`. The first `advance` decompresses everything, to at
    most `max_bytes`.
    """

    __slots__ = ("_batch", "_header", "_is_recordless", "_latest", "_left", "_max_bytes", "_records")

    def __init__(self, batch: Readable, header: Header, max_bytes: int = DECOMPRESSED_BYTES_MAX) -> None:
        self._batch = batch
        self._header = header
        self._max_bytes = max_bytes
        self._latest = NO_TIMESTAMP
        self._left = header.record_count
        self._is_recordless = isinstance(batch.obj if isinstance(batch, memoryview) else batch, Recordless)
        self._records: Iterator[Record] | None = None

    def advance(self, count: int) -> bool:
        """Check the next `count` records; True when none is left. Raises BatchError for what is wrong with one."""
        records = self._records
        if self._is_recordless:
            # It takes as many calls as it took with the records.
            self._left -= count
            return self._left <= 0
        if records is None:
            records = self._records = iterate(self._batch, max_bytes=self._max_bytes)
        latest = self._latest
        for record in islice(records, count):
            if record.timestamp > latest:
                latest = record.timestamp
        self._latest = latest
        self._left -= count
        if self._left > 0:
            return False
        # Only a parser that is asked for one more record looks at what follows the last one.
        assert next(records, None) is None
        claimed = self._header.max_timestamp
        if latest != claimed and self._header.record_count:
            raise BatchError("timestamp", f"The latest record is of {latest}, not of {claimed} as claimed.")
        return True


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
                elapsed, at = _far_delta(source, at + 1, base_timestamp, delta_mask)
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
