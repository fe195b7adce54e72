"""The reader of all records at once against the one that takes one record after another."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goqueue.core.errors import BatchError
from goqueue.core.records.batch import HEADER_BYTES, Codec, Header, read_header, stamp
from goqueue.core.records.build import Entry, encode, rebuild
from goqueue.core.records.record import iterate
from goqueue.core.records.varint import INT64_MAX, encode_varint, encode_varlong
from goqueue.spark.records.fields import Fields, Span, parse
from goqueue.spark.records.segments import Run, Section
from tests.core.records.samples import EMPTY_RECORD, NOW_MS, PLAIN, entries, framed

# Offset, timestamp, key, value, headers.
Parts = tuple[int, int, bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]


def at_once(batches: Sequence[bytes | bytearray]) -> list[Parts] | None:
    """What `parse` finds in batches that lie in one buffer, with other things between them; None when it refuses."""
    buffer, sections = bytearray(), []
    for batch in batches:
        buffer += b"between"
        begin = len(buffer) + HEADER_BYTES
        buffer += batch
        sections.append(Section(read_header(batch), 0, memoryview(batch), begin, len(buffer)))
    try:
        fields = parse(Run(buffer, sections))
        headers = dict(fields.decode_all_headers())
    except BatchError:
        return None
    numbers = zip(fields.offsets.tolist(), fields.timestamps.tolist(), strict=True)
    parts = zip(numbers, _contents(fields, fields.keys), _contents(fields, fields.values), strict=True)
    return [
        (offset, timestamp, key, value, headers.get(row, ()))
        for row, ((offset, timestamp), key, value) in enumerate(parts)
    ]


def _contents(fields: Fields, span: Span) -> list[bytes | None]:
    spans = zip(span.begins.tolist(), span.sizes.tolist(), strict=True)
    return [None if size < 0 else bytes(fields.buffer[begin : begin + size]) for begin, size in spans]


def one_by_one(batches: Sequence[bytes | bytearray]) -> list[Parts] | None:
    """The same by `iterate`."""
    try:
        return [
            (
                record.offset,
                record.timestamp,
                None if record.key is None else bytes(record.key),
                None if record.value is None else bytes(record.value),
                record.headers,
            )
            for batch in batches
            for record in iterate(batch)
        ]
    except BatchError:
        return None


def stamped(listed: list[list[Entry]], append_ms: int | None = None) -> list[bytearray]:
    """Batches of these entries, one after another in a log."""
    batches, offset = [], 7
    for records in listed:
        batch = encode(records, append_ms=append_ms)
        stamp(batch, offset, 3)
        offset = read_header(batch).next_offset
        batches.append(batch)
    return batches


@given(st.lists(st.lists(entries, min_size=1, max_size=5), min_size=1, max_size=4), st.none() | st.just(NOW_MS))
def test_both_readers_find_the_same_in_what_producers_write(listed: list[list[Entry]], append_ms: int | None) -> None:
    batches = stamped(listed, append_ms)
    expected = one_by_one(batches)
    assert expected is not None
    assert at_once(batches) == expected


@given(st.lists(entries, min_size=2, max_size=8), st.data())
def test_both_readers_find_the_same_in_what_a_compaction_leaves(listed: list[Entry], data: st.DataObject) -> None:
    [batch] = stamped([listed])
    kept = [record for record in iterate(batch) if data.draw(st.booleans())]
    horizon = data.draw(st.none() | st.integers(0, NOW_MS))
    rebuilt = rebuild(read_header(batch), kept, horizon_ms=horizon)
    later = encode([(NOW_MS, b"k", b"v", ())])
    stamp(later, read_header(batch).next_offset, 3)
    assert at_once([rebuilt, later]) == one_by_one([rebuilt, later])
    assert at_once([later, rebuilt]) == one_by_one([later, rebuilt])
    assert len(one_by_one([rebuilt, later]) or []) == len(kept) + 1


SAMPLES = [
    bytes(encode([(NOW_MS + i, b"key", b"value" * i, (("name", b"x"),) * (i % 3)) for i in range(9)])),
    bytes(encode([(NOW_MS, None, b"v" * 70, ())] * 3)),
    bytes(encode([(NOW_MS + (i << 20), b"k" * i, b"v" * 9000, ()) for i in range(3)])),
]

changes = st.lists(st.tuples(st.integers(0, 1 << 16) | st.integers(0, 40), st.integers(0, 255)), max_size=4)


@given(st.sampled_from(SAMPLES), changes, st.integers(-3, 3))
def test_both_readers_refuse_the_same_damage(sample: bytes, changed: list[tuple[int, int]], more: int) -> None:
    records = bytearray(sample[HEADER_BYTES:])
    for at, byte in changed:
        records[at % len(records)] = byte
    header = read_header(sample)
    claimed = header._replace(record_count=max(0, header.record_count + more), last_offset_delta=20)
    batch = framed(bytes(records), claimed)
    sound = framed(EMPTY_RECORD)
    assert at_once([sound, batch, sound]) == one_by_one([sound, batch, sound])


def record(elapsed: int, delta: int, tail: bytes = b"\x01\x01\x00") -> bytes:
    """A record spelled out: without key, value and headers, unless `tail` says otherwise."""
    body = b"\x00" + encode_varlong(elapsed) + encode_varint(delta) + tail
    return encode_varint(len(body)) + body


def timed(base_timestamp: int, records: bytes, count: int) -> bytearray:
    """A batch around these records."""
    header: Header = PLAIN._replace(base_timestamp=base_timestamp, record_count=count, last_offset_delta=count - 1)
    return framed(records, header)


extremes = st.integers(-(1 << 63), INT64_MAX) | st.sampled_from([-(1 << 63), INT64_MAX, 0, -1])


@given(st.integers(-1, INT64_MAX) | st.sampled_from([-1, INT64_MAX]), st.lists(extremes, min_size=1, max_size=5))
def test_times_that_no_record_can_have_are_refused(base_timestamp: int, elapsed: list[int]) -> None:
    batch = timed(base_timestamp, b"".join(record(one, delta) for delta, one in enumerate(elapsed)), len(elapsed))
    assert at_once([batch]) == one_by_one([batch])


@given(st.lists(st.integers(-2, 6), min_size=1, max_size=4))
def test_offsets_must_rise_within_their_batch(deltas: list[int]) -> None:
    batch = timed(NOW_MS, b"".join(record(0, delta) for delta in deltas), len(deltas))
    found = at_once([framed(EMPTY_RECORD), batch])
    assert found == one_by_one([framed(EMPTY_RECORD), batch])
    assert (found is not None) == (deltas == list(range(len(deltas))))


LONG = b"\x80" * 9 + b"\x02"


@pytest.mark.parametrize(
    "records",
    [
        b"",
        EMPTY_RECORD[:-1],
        EMPTY_RECORD + b"\x00",
        b"\x8c\x00" + EMPTY_RECORD[1:],
        b"\x8c\x80\x00" + EMPTY_RECORD[1:],
        b"\xff\xff\xff\xff\x1f" + EMPTY_RECORD[1:],
        b"\x01" + EMPTY_RECORD[1:],
        b"\x83\x80\x08" + EMPTY_RECORD[1:],
        b"\xff\xff\xff\xff\x0f" + EMPTY_RECORD[1:],
        b"\x0c\x01" + EMPTY_RECORD[2:],
        encode_varint(15) + b"\x00" + LONG + EMPTY_RECORD[3:],
        encode_varint(16) + b"\x00" + b"\x80" * 10 + b"\x01" + EMPTY_RECORD[3:],
        record(0, 0, b"\x03\x01\x00"),
        record(0, 0, b"\x01\x03\x00"),
        record(0, 0, b"\x01\x80\x02\x00"),
        record(0, 0, b"\x01\x01\x02"),
        record(0, 0, b"\x01\x01\x00\x00"),
        record(0, 0, b"\x01\x01\x02\x02\xff\x01"),
    ],
    ids=lambda records: records.hex()[:40],
)
def test_every_malformed_record_is_refused_by_both(records: bytes) -> None:
    batch = framed(records)
    assert one_by_one([batch]) is None
    assert at_once([batch]) is None
    assert at_once([framed(EMPTY_RECORD), batch, framed(EMPTY_RECORD)]) is None


@pytest.mark.parametrize("records", [encode_varint(-80) + b"\x80" * 20, encode_varint(-8300) + b"\x80" * 9000])
def test_a_length_below_nothing_leads_nowhere(records: bytes) -> None:
    batch = framed(records, PLAIN._replace(record_count=2, last_offset_delta=1))
    assert one_by_one([batch]) is None
    assert at_once([batch]) is None


def test_a_value_may_not_run_into_the_next_record_whether_headers_are_looked_at_or_not() -> None:
    records = record(0, 0, b"\x01" + encode_varint(5)) + record(
        0, 1, b"\x01" + encode_varint(6) + b"\x02" * 6 + b"\x00"
    )
    batch = framed(records, PLAIN._replace(record_count=2, last_offset_delta=1))
    assert one_by_one([batch]) is None
    with pytest.raises(BatchError):
        parse(Run(batch, [Section(read_header(batch), 0, memoryview(batch), HEADER_BYTES, len(batch))]))


def test_headers_that_nobody_asks_for_are_not_looked_at() -> None:
    batch = framed(record(0, 0, b"\x01\x01\x02\x02\xff\x01"))
    fields = parse(Run(batch, [Section(read_header(batch), 0, memoryview(batch), HEADER_BYTES, len(batch))]))
    assert fields.offsets.tolist() == [0]
    with pytest.raises(BatchError):
        fields.decode_all_headers()


def test_a_codec_is_not_looked_at_once_records_are_unpacked() -> None:
    packed = encode([(NOW_MS, b"k", b"v", ())], codec=Codec.LZ4)
    plain = encode([(NOW_MS, b"k", b"v", ())])
    section = Section(read_header(packed), 0, memoryview(packed), HEADER_BYTES, len(plain))
    assert parse(Run(plain, [section])).keys.sizes.tolist() == [1]
