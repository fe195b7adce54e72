"""Records that are read: views into the batch, one after another; and what is wrong with one, by name."""

from collections.abc import Callable

import pytest

from goqueue.core.records.batch import CODEC_MASK, DELETE_HORIZON, Codec, Header, locate
from goqueue.core.records.build import encode
from goqueue.core.records.compression import compress
from goqueue.core.records.record import Record, iterate, validate_records
from goqueue.core.records.varint import Readable
from tests.core.records.samples import EMPTY_RECORD, NOW_MS, PLAIN, framed, plain, refused

THREE = encode(
    [
        (NOW_MS, b"key", b"value", ()),
        (NOW_MS - 9_000, b"", None, (("a", b"1"), ("a", None))),
        (NOW_MS + 9_000, None, b"", ()),
    ]
)
READ = [
    Record(0, NOW_MS, b"key", b"value"),
    Record(1, NOW_MS - 9_000, b"", None, (("a", b"1"), ("a", None))),
    Record(2, NOW_MS + 9_000, None, b""),
]


def body(text: str) -> bytes:
    """One record of these bytes, behind their length."""
    spelled = bytes.fromhex(text)
    return bytes([len(spelled) * 2]) + spelled


@pytest.mark.parametrize("wrap", [bytes, bytearray, memoryview])
def test_records_are_read_from_any_kind_of_buffer(wrap: Callable[[bytes], Readable]) -> None:
    assert list(map(plain, iterate(wrap(bytes(THREE))))) == READ


def test_records_equal_what_their_views_show() -> None:
    assert list(iterate(THREE)) == READ


def test_keys_and_values_are_views_of_the_batch() -> None:
    batch = bytes(THREE)
    record = next(iterate(batch))
    assert isinstance(record.key, memoryview)
    assert isinstance(record.value, memoryview)
    assert record.key.obj is batch
    assert record.value.obj is batch


def test_only_the_first_batch_of_the_buffer_is_read() -> None:
    assert list(map(plain, iterate(THREE + THREE))) == READ
    assert list(map(plain, iterate(memoryview(b"before" + THREE + b"after")[6:]))) == READ


def test_records_without_headers_share_the_empty_tuple() -> None:
    first, _, third = iterate(THREE)
    assert first.headers is third.headers


def test_offsets_count_from_the_base_offset() -> None:
    batch = framed(EMPTY_RECORD, PLAIN._replace(base_offset=1 << 40))
    assert [record.offset for record in iterate(batch)] == [1 << 40]


def test_with_append_time_all_records_bear_the_max_timestamp() -> None:
    batch = encode([(NOW_MS, None, None, ()), (NOW_MS + 5, None, None, ())], append_ms=NOW_MS + 100)
    assert [record.timestamp for record in iterate(batch)] == [NOW_MS + 100] * 2
    assert validate_records(batch).is_append_time


def test_timestamps_count_from_a_delete_horizon() -> None:
    earlier = body("00 c701 00 01 01 00")  # 100 ms before the base
    batch = framed(earlier, PLAIN._replace(attributes=DELETE_HORIZON, max_timestamp=NOW_MS - 100))
    assert [record.timestamp for record in iterate(batch)] == [NOW_MS - 100]
    assert validate_records(batch, compacted=True).horizon_ms == NOW_MS


def test_a_record_is_parsed_when_its_turn_comes() -> None:
    records = iterate(framed(EMPTY_RECORD + b"\xff\xff", PLAIN._replace(record_count=2, last_offset_delta=1)))
    assert next(records).offset == 0
    with refused("truncated"):
        next(records)


def test_integers_of_every_size_are_read() -> None:
    sizes = [0, 1, 63, 64, 200, 8_191, 8_192, 100_000]
    far = [0, 63, 64, -64, -65, 8_191, 8_192, 1 << 20, 1 << 40]
    entries = [
        (NOW_MS + elapsed, bytes(key_size), bytes(value_size), ())
        for elapsed in far
        for key_size in sizes
        for value_size in sizes
    ] * 20
    batch = encode(entries)
    assert len(entries) > 8_192
    read = [(r.timestamp, len(r.key or b""), len(r.value or b"")) for r in iterate(batch)]
    assert read == [(timestamp, len(key), len(value)) for timestamp, key, value, _ in entries]


@pytest.mark.parametrize(
    ("reason", "records"),
    [
        ("truncated", b""),
        ("truncated", EMPTY_RECORD[:-1]),
        ("truncated", b"\x80"),
        ("truncated", b"\xff\xff\xff\xff\x0f"),  # a length of -2^31, and nothing
        ("truncated", body("00 00 00 01 04 00")),  # a value that reaches past the end
        ("truncated", body("00 00 00 feffffff0f 01 00")),  # a key of 2^31 - 1 bytes
        ("truncated", bytes([14 * 2]) + bytes.fromhex("00 00 00 01 01 02 00 00")),  # headers in a record cut short
        ("trailing", EMPTY_RECORD + b"\x00"),
        ("trailing", EMPTY_RECORD * 2),
        ("record", body("01 00 00 01 01 00")),  # attributes
        ("record", body("00 00 01 01 01 00")),  # an offset delta of -1
        ("record", body("00 00 02 01 01 00")),  # an offset delta of 1 in a batch of one
        ("record", body("00 00 00 03 01 00")),  # a key of -2 bytes
        ("record", body("00 00 00 ff01 01 00")),  # a key of -128 bytes
        ("record", body("00 00 00 01 03 00")),  # a value of -2 bytes
        ("record", body("00 00 00 01 ff01 00")),  # a value of -128 bytes
        ("record", b"\x0a" + EMPTY_RECORD[1:]),  # a length that is one too small
        ("record", b"\x0e" + EMPTY_RECORD[1:]),  # and one too large
        ("record", b"\x0b" + EMPTY_RECORD[1:]),  # and negative
        ("varint", b"\x8c\x00" + EMPTY_RECORD[1:]),  # a padded length
        ("varint", body("00 8000 00 01 01 00")),
        ("varint", body("00 00 8000 01 01 00")),
        ("varint", body("00 00 00 8100 01 00")),
        ("varint", body("00 00 00 01 8100 00")),
        ("varint", body("00 00 00 01 01 8000")),
        ("varint", body("00 ffffffffffffffffff02 00 01 01 00")),  # 65 bits of time
        ("varint", body("00 00 ffffffff1f 01 01 00")),  # 33 bits of offset
        ("header", body("00 00 00 01 01 01")),  # -1 headers
        ("header", body("00 00 00 01 01 02 01 00")),  # a header without a key
        ("header", body("00 00 00 01 01 02 02ff 01")),  # a header's key that is not UTF-8
    ],
)
def test_a_malformed_record_is_refused_by_name_though_the_sum_is_right(reason: str, records: bytes) -> None:
    batch = framed(records)
    with refused(reason):
        validate_records(batch)
    with refused(reason):
        list(iterate(batch))
    for codec in [codec for codec in Codec if codec and records]:
        hidden = framed(compress(codec, records), PLAIN._replace(attributes=codec))
        with refused(reason):
            list(iterate(hidden))
        with refused(reason):
            validate_records(hidden, decompress=True)


@pytest.mark.parametrize(
    "deltas", [(0, 0), (0, 2), (1, 2), (1, 0)], ids=["repeated", "with a gap", "late", "backwards"]
)
def test_offsets_of_a_producers_batch_are_contiguous(deltas: tuple[int, int]) -> None:
    records = b"".join(body(f"00 00 {delta * 2:02x} 01 01 00") for delta in deltas)
    with refused("record"):
        validate_records(framed(records, PLAIN._replace(record_count=2, last_offset_delta=1)))


def test_offsets_of_a_compacted_batch_rise_and_may_have_gaps() -> None:
    header = PLAIN._replace(record_count=2, last_offset_delta=5)
    records = b"".join(body(f"00 00 {delta * 2:02x} 01 01 00") for delta in (1, 4))
    assert validate_records(framed(records, header), compacted=True).record_count == 2
    assert [record.offset for record in iterate(framed(records, header))] == [1, 4]
    backwards = b"".join(body(f"00 00 {delta * 2:02x} 01 01 00") for delta in (4, 1))
    with refused("record"):
        validate_records(framed(backwards, header), compacted=True)


@pytest.mark.parametrize("count", [0, 2])
def test_the_count_is_that_of_the_records(count: int) -> None:
    header = PLAIN._replace(record_count=count, last_offset_delta=1)
    with refused("truncated" if count else "trailing"):
        validate_records(framed(EMPTY_RECORD, header), compacted=True)


@pytest.mark.parametrize("claimed", [NOW_MS - 1, NOW_MS + 1, -1])
def test_the_max_timestamp_is_that_of_the_latest_record(claimed: int) -> None:
    with refused("timestamp"):
        validate_records(framed(EMPTY_RECORD, PLAIN._replace(max_timestamp=claimed)))


def test_a_record_from_before_time_is_refused() -> None:
    records = EMPTY_RECORD + body("00 03 02 01 01 00")
    header = PLAIN._replace(base_timestamp=0, max_timestamp=0, record_count=2, last_offset_delta=1)
    with refused("timestamp"):
        validate_records(framed(records, header))


def test_a_timestamp_past_64_bits_is_refused() -> None:
    latest = (1 << 63) - 1
    header = PLAIN._replace(base_timestamp=latest, max_timestamp=latest)
    with refused("timestamp"):
        validate_records(framed(body("00 02 00 01 01 00"), header))


def test_compressed_records_are_looked_at_only_on_demand() -> None:
    batch = framed(b"not gzip", PLAIN._replace(attributes=Codec.GZIP))
    assert validate_records(batch).codec == Codec.GZIP
    with refused("compression"):
        validate_records(batch, decompress=True)


@pytest.mark.parametrize("codec", [codec for codec in Codec if codec])
def test_records_that_decompress_to_too_much_are_refused(codec: Codec) -> None:
    batch = encode([(NOW_MS, None, bytes(100_000), ())], codec=codec)
    size = len(encode([(NOW_MS, None, bytes(100_000), ())])) - 61
    assert validate_records(batch, decompress=True, max_bytes=size).codec == codec
    with refused("oversize"):
        validate_records(batch, decompress=True, max_bytes=size - 1)
    with refused("oversize"):
        iterate(batch, max_bytes=size - 1)


@pytest.mark.parametrize("codec", [5, 6, 7])
def test_an_unknown_codec_is_refused(codec: int) -> None:
    assert PLAIN._replace(attributes=codec).attributes & CODEC_MASK == codec
    with refused("codec"):
        iterate(framed(EMPTY_RECORD, PLAIN._replace(attributes=codec)))


@pytest.mark.parametrize(
    ("reason", "header"),
    [("magic", PLAIN._replace(magic=1)), ("magic", PLAIN._replace(magic=-1))],
)
def test_what_is_no_batch_is_not_iterated(reason: str, header: Header) -> None:
    with refused(reason):
        iterate(framed(EMPTY_RECORD, header))
    with refused("truncated"):
        iterate(THREE[:-1])


def test_the_validated_header_is_returned() -> None:
    assert validate_records(THREE) == locate(THREE)
    with refused("trailing"):
        validate_records(THREE + b"\x00")
    with refused("offset"):
        validate_records(THREE, base_offset=1)
