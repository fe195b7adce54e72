"""The same bytes as Kafka: batches that a broker sent, and those of two clients, written and read both ways."""

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from goqueue.core.records.batch import Codec, stamp, validate_exact
from goqueue.core.records.build import Entry, encode, rebuild
from goqueue.core.records.control import ControlMarker, encode_marker, read_marker
from goqueue.core.records.headers import EXPIRES
from goqueue.core.records.record import Record, iterate, validate_records
from tests.core.records.oracles import AIOKAFKA, KAFKA_PYTHON, Oracle
from tests.core.records.samples import NOW_MS, entries, plain

both = pytest.mark.parametrize("oracle", [AIOKAFKA, KAFKA_PYTHON], ids=["aiokafka", "kafka-python"])

COMPRESSED = [codec for codec in Codec if codec != Codec.NONE]
MIXED: list[Entry] = [
    (NOW_MS, b"key", b"value " * 20, ()),
    (NOW_MS - 5_000, None, b"earlier " * 20, (("trace", b"\x00\x01"), ("trace", None), ("ünïcode", b""))),
    (NOW_MS + 100_000, b"", None, ()),
    (NOW_MS, b"k" * 200, b"long " * 10_000, ()),
    (NOW_MS, None, None, ()),
    *((NOW_MS + i, b"many", b"more", ()) for i in range(100)),
]


def records_of(batch_entries: list[Entry]) -> list[Record]:
    return [
        plain(Record(offset, timestamp, key, value, tuple(headers)))
        for offset, (timestamp, key, value, headers) in enumerate(batch_entries)
    ]


@pytest.mark.parametrize(
    ("base_offset", "leader_epoch", "said", "sent"),
    [
        (
            0,
            1,
            [(1_503_229_838_908, None, b"123", ())],
            "0000000000000000 0000003b 00000001 02 0318a270 0000 00000000 0000015dff7b063c 0000015dff7b063c"
            "ffffffffffffffff ffff ffffffff 00000001 12 00 00 00 01 06313233 00",
        ),
        (
            1,
            2,
            [(1_503_229_959_532, None, b"", ()), (1_503_229_959_700, None, b"", ())],
            "0000000000000001 00000040 00000002 02 c85cbd23 0000 00000001 0000015dff7cdd6c 0000015dff7cde14"
            "ffffffffffffffff ffff ffffffff 00000002 0c 00 00 00 01 00 00 0e 00 d002 02 01 00 00",
        ),
    ],
)
def test_a_batch_that_a_kafka_broker_sent_is_built_and_read(
    base_offset: int, leader_epoch: int, said: list[Entry], sent: str
) -> None:
    ours = encode(said)
    stamp(ours, base_offset, leader_epoch)
    assert ours == bytes.fromhex(sent)
    assert validate_records(bytes.fromhex(sent), base_offset=base_offset).leader_epoch == leader_epoch
    assert [record.timestamp for record in iterate(bytes.fromhex(sent))] == [entry[0] for entry in said]


@both
@given(st.lists(entries, min_size=1, max_size=20))
def test_uncompressed_batches_are_the_same_bytes(oracle: Oracle, batch_entries: list[Entry]) -> None:
    # Kafka has no bit for what a record says of its expiry.
    assume(not any(name == EXPIRES for *_, headers in batch_entries for name, _ in headers))
    ours, theirs = encode(batch_entries), oracle.encode(batch_entries)
    stamp(ours, 0, 0)
    stamp(theirs, 0, 0)
    assert ours == theirs


@both
def test_a_batch_of_a_thousand_records_is_the_same_bytes(oracle: Oracle) -> None:
    many: list[Entry] = [(NOW_MS + i * 7, b"key", bytes(i % 300), ()) for i in range(10_000)]
    ours, theirs = encode(many), oracle.encode(many)
    stamp(theirs, 0, -1)
    assert ours == theirs


@both
@given(
    st.tuples(st.integers(0, (1 << 63) - 1), st.integers(0, (1 << 15) - 1), st.integers(0, (1 << 31) - 1)),
    st.booleans(),
)
def test_producer_fields_and_transactions_are_the_same_bytes(
    oracle: Oracle, producer: tuple[int, int, int], transactional: bool
) -> None:
    producer_id, producer_epoch, base_sequence = producer
    ours = encode(
        MIXED,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        transactional=transactional,
    )
    theirs = oracle.encode(MIXED, transactional=transactional, producer=producer)
    stamp(theirs, 0, -1)
    assert ours == theirs
    header = validate_exact(theirs)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == producer
    assert header.is_transactional == transactional


@both
@given(batch_entries=st.lists(entries, min_size=1, max_size=20))
def test_they_read_what_we_write(oracle: Oracle, batch_entries: list[Entry]) -> None:
    batch = encode(batch_entries, producer_id=5, producer_epoch=6, base_sequence=7, transactional=True)
    stamp(batch, 10, 3)
    opened = oracle.open(batch)
    assert opened.records == [Record(10 + r.offset, *_rest(r)) for r in records_of(batch_entries)]
    assert opened.next_offset == 10 + len(batch_entries) == validate_exact(batch).next_offset
    assert (opened.producer, opened.is_transactional, opened.is_control) == ((5, 6, 7), True, False)


def _rest(record: Record) -> tuple[int, bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]:
    key = None if record.key is None else bytes(record.key)
    value = None if record.value is None else bytes(record.value)
    return record.timestamp, key, value, record.headers


@both
@pytest.mark.parametrize("codec", COMPRESSED)
def test_they_read_what_we_compress(oracle: Oracle, codec: Codec) -> None:
    opened = oracle.open(encode(MIXED, codec=codec))
    assert opened.codec == codec
    assert opened.records == records_of(MIXED)


@both
@pytest.mark.parametrize("codec", COMPRESSED)
def test_we_read_what_they_compress(oracle: Oracle, codec: Codec) -> None:
    batch = oracle.encode(MIXED, codec)
    assert validate_records(batch, decompress=True).codec == codec
    assert list(map(plain, iterate(batch))) == records_of(MIXED)


@both
@pytest.mark.parametrize("codec", COMPRESSED)
@settings(max_examples=20)
@given(batch_entries=st.lists(entries, min_size=1, max_size=20))
def test_compressed_batches_of_any_content_are_read_both_ways(
    oracle: Oracle, codec: Codec, batch_entries: list[Entry]
) -> None:
    theirs = oracle.encode(batch_entries, codec)
    validate_records(theirs, decompress=True)
    assert list(map(plain, iterate(theirs))) == records_of(batch_entries)
    assert oracle.open(encode(batch_entries, codec=codec)).records == records_of(batch_entries)


@both
def test_they_see_the_append_time_that_we_write(oracle: Oracle) -> None:
    opened = oracle.open(encode(MIXED, append_ms=NOW_MS + 77))
    assert opened.has_append_time
    assert {record.timestamp for record in opened.records} == {NOW_MS + 77}


@both
@pytest.mark.parametrize("codec", Codec)
def test_they_read_a_compacted_batch(oracle: Oracle, codec: Codec) -> None:
    header = validate_exact(encode(MIXED, codec=codec))
    kept = [record for record in records_of(MIXED) if record.offset % 3]
    opened = oracle.open(rebuild(header, kept, horizon_ms=NOW_MS + 86_400_000))
    assert opened.records == kept
    assert opened.next_offset == len(MIXED)


@both
@pytest.mark.parametrize("codec", Codec)
def test_they_read_a_batch_that_compaction_left_empty(oracle: Oracle, codec: Codec) -> None:
    opened = oracle.open(rebuild(validate_exact(encode(MIXED, codec=codec)), []))
    assert opened.records == []
    assert opened.next_offset == len(MIXED)


@both
@pytest.mark.parametrize("commit", [True, False])
def test_they_read_our_control_marker(oracle: Oracle, commit: bool) -> None:
    opened = oracle.open(encode_marker(ControlMarker(commit, 9), NOW_MS, 1_000, 3))
    [record] = opened.records
    assert opened.is_control
    assert opened.is_transactional
    assert opened.producer == (1_000, 3, -1)
    assert record.key == bytes([0, 0, 0, int(commit)])
    assert record.value == bytes([0, 0, 0, 0, 0, 9])


def test_kafka_python_takes_our_marker_for_a_commit() -> None:
    batch = encode_marker(ControlMarker(True, 9), NOW_MS, 1_000, 3)
    [record] = KAFKA_PYTHON.records.DefaultRecordBatch(batch)
    assert record.commit
    assert not record.abort
    assert read_marker(batch) == ControlMarker(True, 9)
