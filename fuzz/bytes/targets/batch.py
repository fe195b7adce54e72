"""One record batch: its frame, CRC, fields and records, by every function that a batch is given to.

Invariants, for any bytes:
- each function answers or raises BatchError;
- what a producer may send a log may hold; `validate_exact` is `validate` and the right size; no position matters;
- `iterate` yields what the plain reader (`reference.py`) reads, or both refuse;
- `validate_records` refuses just what `validate_exact`, the plain reader or the timestamps give reason to refuse;
- what passes it and is written again passes again with the same records; uncompressed, it is the same bytes.
"""

from attrs import evolve

from goqueue.core.errors import BatchError
from goqueue.core.records.batch import (
    NO_TIMESTAMP,
    Codec,
    Header,
    locate,
    read_header,
    validate,
    validate_exact,
)
from goqueue.core.records.build import encode, rebuild
from goqueue.core.records.compression import decompress
from goqueue.core.records.control import encode_marker, read_marker
from goqueue.core.records.record import Record, iterate, validate_records
from goqueue.fuzz.bytes.batch_edits import change_batch, smaller_batch
from goqueue.fuzz.bytes.reference import Unreadable, read_records
from goqueue.fuzz.bytes.seeds import batches
from goqueue.fuzz.bytes.target import Target, attempt

_RECORDS_BYTES_MAX = 1 << 16
_OFFSET_EPOCH_AND_MAGIC = 17


def check(content: bytes) -> None:
    """All invariants, for `content` as a batch."""
    as_produced = _check_whole(content, compacted=False)
    as_stored = _check_whole(content, compacted=True)
    if isinstance(as_produced, Header):
        assert as_stored == as_produced, "a producer's batch is none for the log"
    records = _check_records(content)
    for compacted, header in ((False, as_produced), (True, as_stored)):
        accepted = _check_validated(content, header, records, compacted)
        if accepted:
            assert isinstance(header, Header)
            assert isinstance(records, list)
            _check_rewritten(content, header, records, compacted)
    _check_marker(content)


def _check_whole(content: bytes, *, compacted: bool) -> Header | BatchError:
    """What `validate_exact` says, once it agrees with `validate` here and at another position."""
    shifted = attempt(BatchError, lambda: validate(b"\xff\xff\xff" + content, 3, compacted=compacted))
    header = attempt(BatchError, lambda: validate(content, compacted=compacted))
    exact = attempt(BatchError, lambda: validate_exact(content, compacted=compacted))
    if isinstance(header, BatchError):
        assert isinstance(shifted, BatchError)
        assert isinstance(exact, BatchError)
        assert shifted.reason == header.reason
        assert shifted.position == header.position + 3
        return exact
    assert shifted == header
    assert header == read_header(content)
    assert header.size <= len(content)
    assert 0 <= header.base_offset < header.next_offset <= 1 << 63
    assert header.codec in Codec
    assert header.lane.value <= 4
    assert isinstance(exact, Header) == (header.size == len(content))
    _check_expected_offset(content, header, compacted)
    return exact


def _check_expected_offset(content: bytes, header: Header, compacted: bool) -> None:
    assert validate(content, compacted=compacted, base_offset=header.base_offset) == header
    other = attempt(BatchError, lambda: validate(content, compacted=compacted, base_offset=header.base_offset + 1))
    assert isinstance(other, BatchError)
    assert other.reason == "offset"


def _check_records(content: bytes) -> list[Record] | BatchError:
    """What `iterate` yields, once it agrees with the plain reader."""
    read = attempt(BatchError, lambda: list(iterate(content, max_bytes=_RECORDS_BYTES_MAX)))
    expected = _read_plainly(content)
    if isinstance(read, BatchError):
        assert expected is None, f"refused as {read.reason}: {read}"
        return read
    copied = [evolve(record, key=_copied(record.key), value=_copied(record.value)) for record in read]
    assert copied == expected
    return copied


def _copied(view: bytes | bytearray | memoryview | None) -> bytes | None:
    return None if view is None else bytes(view)


def _read_plainly(content: bytes) -> list[Record] | None:
    try:
        header = locate(content)
        codec = Codec(header.attributes & 7)
        packed = content[61 : header.size]
        records = packed if codec is Codec.NONE else bytes(decompress(codec, packed, _RECORDS_BYTES_MAX))
        return read_records(header, records)
    except (BatchError, ValueError, Unreadable):
        return None


def _check_validated(
    content: bytes, header: Header | BatchError, records: list[Record] | BatchError, compacted: bool
) -> bool:
    """Whether `validate_records` passes the batch, once it is seen to do so for good reasons."""
    shallow = attempt(BatchError, lambda: validate_records(content, compacted=compacted, max_bytes=_RECORDS_BYTES_MAX))
    deep = attempt(
        BatchError,
        lambda: validate_records(content, compacted=compacted, decompress=True, max_bytes=_RECORDS_BYTES_MAX),
    )
    sound = isinstance(header, Header) and isinstance(records, list) and _has_right_times(header, records)
    assert isinstance(deep, Header) == sound
    if isinstance(header, Header) and header.codec is not Codec.NONE:
        assert shallow == header
    else:
        assert isinstance(shallow, Header) == sound
    return sound


def _has_right_times(header: Header, records: list[Record]) -> bool:
    times = [record.timestamp for record in records]
    return not times or (min(times) >= NO_TIMESTAMP and max(times) == header.max_timestamp)


def _check_rewritten(content: bytes, header: Header, records: list[Record], compacted: bool) -> None:
    again = bytes(rebuild(header, records))
    # Under append time deltas mean nothing, so a reader forgets them and a writer chooses its own.
    if header.codec is Codec.NONE and not header.is_append_time:
        assert again == content
        if not compacted:
            assert _encoded(header, records) == content[_OFFSET_EPOCH_AND_MAGIC:]
    written = validate_records(again, compacted=True, decompress=True)
    reread = [evolve(one, key=_copied(one.key), value=_copied(one.value)) for one in iterate(again)]
    assert reread == records
    if records:
        same = {"length": header.length, "crc": header.crc}
        assert written._replace(**same) == header
    assert bytes(rebuild(written, records)) == again


def _encoded(header: Header, records: list[Record]) -> bytes:
    """The batch as a producer writes it, from the CRC on."""
    batch = encode(
        [(record.timestamp, record.key, record.value, record.headers) for record in records],
        base_timestamp=header.base_timestamp,
        lane=header.lane,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        transactional=header.is_transactional,
        control=header.is_control,
    )
    return bytes(batch[_OFFSET_EPOCH_AND_MAGIC:])


def _check_marker(content: bytes) -> None:
    marker = attempt(BatchError, lambda: read_marker(content))
    if not isinstance(marker, BatchError):
        assert read_marker(encode_marker(marker, 0, 0, 0)) == marker


TARGET = Target("batch", check, batches, change_batch, smaller_batch)
