"""What the tests of batches share: batches around hand-made records, sums put right, records that Hypothesis makes."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from crc32c import crc32c
from hypothesis import strategies as st

from goqueue.core.errors import BatchError
from goqueue.core.records.batch import CRC, CRC_COVERS_FROM, CRC_POSITION, HEADER, HEADER_BYTES, MAGIC, Header
from goqueue.core.records.record import Record

NOW_MS = 1_700_000_000_000

PLAIN = Header(
    base_offset=0,
    length=0,
    leader_epoch=-1,
    magic=MAGIC,
    crc=0,
    attributes=0,
    last_offset_delta=0,
    base_timestamp=NOW_MS,
    max_timestamp=NOW_MS,
    producer_id=-1,
    producer_epoch=-1,
    base_sequence=-1,
    record_count=1,
)

# A record without key, value or headers, as it stands in a batch: length, attributes, two deltas, three times nothing.
EMPTY_RECORD = bytes([12, 0, 0, 0, 1, 1, 0])


def framed(records: bytes, header: Header = PLAIN) -> bytearray:
    """`records` behind `header`, with the right length and CRC."""
    batch = bytearray(HEADER.pack(*header._replace(length=HEADER_BYTES - 12 + len(records)))) + records
    return summed(batch)


def summed(batch: bytearray) -> bytearray:
    """The same batch with the right CRC."""
    CRC.pack_into(batch, CRC_POSITION, crc32c(memoryview(batch)[CRC_COVERS_FROM:]))
    return batch


@contextmanager
def refused(reason: str) -> Iterator[None]:
    """Expect BatchError for just this reason."""
    with pytest.raises(BatchError) as caught:
        yield
    assert caught.value.reason == reason


def refusal(call: Callable[[], object]) -> str | None:
    """The reason for which `call` refuses, if it does; any other error goes on to the test."""
    try:
        call()
    except BatchError as error:
        return error.reason
    return None


def plain(record: Record) -> Record:
    """The record with its views copied out."""
    key = None if record.key is None else bytes(record.key)
    value = None if record.value is None else bytes(record.value)
    return Record(record.offset, record.timestamp, key, value, record.headers)


payloads = st.none() | st.binary(max_size=200) | st.integers(8_180, 8_200).map(bytes)
timestamps = st.integers(0, 1 << 50) | st.sampled_from([0, NOW_MS, (1 << 63) - 1])
record_headers = st.lists(st.tuples(st.text(max_size=20), st.none() | st.binary(max_size=100)), max_size=4).map(tuple)
entries = st.tuples(timestamps, payloads, payloads, record_headers)
