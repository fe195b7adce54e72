"""A batch's header: what is read from it, what is refused and why, and what a stamp touches."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goqueue.core.errors import BatchError
from goqueue.core.records.batch import (
    APPEND_TIME,
    CONTROL,
    DELETE_HORIZON,
    EXPIRING,
    HEADER_BYTES,
    LANE_SHIFT,
    TRANSACTIONAL,
    Codec,
    Header,
    Lane,
    locate,
    read_header,
    split,
    stamp,
    validate,
    validate_exact,
)
from goqueue.core.records.build import encode
from goqueue.core.records.varint import Readable
from tests.core.records.samples import EMPTY_RECORD, NOW_MS, PLAIN, framed, refused, summed

BATCH = bytes(encode([(NOW_MS + i, b"key", bytes(900), ()) for i in range(2)]))

# Base offset and leader epoch, which the broker stamps: all that neither the CRC nor the checks of structure cover.
STAMPED = {*range(8), *range(12, 16)}


def flipped(batch: bytes | bytearray, bit: int) -> bytearray:
    damaged = bytearray(batch)
    damaged[bit // 8] ^= 1 << bit % 8
    return damaged


def test_the_header_has_61_bytes_and_its_fields_in_order() -> None:
    spelled = bytes.fromhex(
        "0000000000000001 00000002 00000003 02 00000004 0005 00000006 0000000000000007 0000000000000008"
        "0000000000000009 000a 0000000b 0000000c"
    )
    assert HEADER_BYTES == len(spelled) == 61
    assert read_header(spelled) == (1, 2, 3, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12)


def test_what_follows_from_the_fields() -> None:
    attributes = Codec.LZ4 | Lane.LOW << LANE_SHIFT | TRANSACTIONAL
    header = PLAIN._replace(base_offset=100, length=200, attributes=attributes, last_offset_delta=9)
    assert (header.size, header.last_offset, header.next_offset) == (212, 109, 110)
    assert (header.codec, header.lane) == (Codec.LZ4, Lane.LOW)
    assert header.is_transactional
    assert not header.is_control
    assert not header.is_append_time
    assert header.horizon_ms is None
    assert not header.has_producer


def test_each_flag_is_its_own_bit() -> None:
    assert PLAIN._replace(attributes=CONTROL).is_control
    assert PLAIN._replace(attributes=APPEND_TIME).is_append_time
    assert PLAIN._replace(attributes=EXPIRING).is_expiring
    assert not PLAIN.is_expiring
    assert PLAIN._replace(attributes=DELETE_HORIZON, base_timestamp=7).horizon_ms == 7
    assert PLAIN._replace(producer_id=0).has_producer
    assert (APPEND_TIME, TRANSACTIONAL, CONTROL, DELETE_HORIZON) == (8, 16, 32, 64)


@pytest.mark.parametrize("wrap", [bytes, bytearray, memoryview])
def test_a_valid_batch_passes_in_any_kind_of_buffer(wrap: Callable[[bytes], Readable]) -> None:
    header = validate_exact(wrap(BATCH))
    assert header == read_header(wrap(BATCH))
    assert header.size == len(BATCH)


def test_a_batch_is_found_at_its_position_with_others_around() -> None:
    assert validate(b"before" + BATCH + b"after", 6).size == len(BATCH)
    assert locate(b"before" + BATCH + b"after", 6).record_count == 2
    with refused("trailing"):
        validate_exact(BATCH + b"a")


def test_every_prefix_of_a_batch_is_truncated() -> None:
    for size in range(len(BATCH)):
        with refused("truncated"):
            validate(BATCH[:size])
    with refused("truncated"):
        read_header(BATCH, len(BATCH))


def test_a_batch_cut_short_is_noticed_at_any_position() -> None:
    for reader in (locate, validate):
        with refused("truncated"):
            reader(b"before" + BATCH[:-1], 6)


def test_a_run_is_split_into_its_batches() -> None:
    run = BATCH + bytes(framed(EMPTY_RECORD)) + BATCH
    batches = list(split(run))
    assert batches == [BATCH, framed(EMPTY_RECORD), BATCH]
    assert all(batch.obj is run for batch in batches)
    assert list(split(b"")) == []


@pytest.mark.parametrize("rest", [BATCH[:-1], BATCH[:60], b"\x00", bytes(61)])
def test_a_run_that_ends_inside_a_batch_is_refused_behind_the_whole_ones(rest: bytes) -> None:
    batches = split(BATCH + rest)
    assert next(batches) == BATCH
    with refused("truncated"):
        next(batches)


def test_every_flipped_bit_is_detected_outside_the_twelve_stamped_bytes() -> None:
    header = read_header(BATCH)
    for bit in range(len(BATCH) * 8):
        damaged = flipped(BATCH, bit)
        if bit // 8 not in STAMPED:
            with pytest.raises(BatchError):
                validate_exact(damaged)
        elif damaged[0] < 0x80:
            # Nothing in the bytes can tell; that they differ in one of the two stamped fields is all there is to see.
            read = validate_exact(damaged)
            assert read != header
            assert read._replace(base_offset=header.base_offset, leader_epoch=header.leader_epoch) == header


def test_a_flipped_bit_of_the_base_offset_is_detected_by_who_knows_the_offset() -> None:
    batch = bytearray(BATCH)
    stamp(batch, 1_234_567, 7)
    assert validate_exact(batch, base_offset=1_234_567).base_offset == 1_234_567
    for bit in range(64):
        with refused("offset"):
            validate_exact(flipped(batch, bit), base_offset=1_234_567)


def test_flipped_bits_of_the_records_are_called_by_the_crc() -> None:
    for bit in range(HEADER_BYTES * 8, len(BATCH) * 8):
        with refused("crc"):
            validate_exact(flipped(BATCH, bit))


@pytest.mark.parametrize(
    ("reason", "header"),
    [
        ("codec", PLAIN._replace(attributes=5)),
        ("codec", PLAIN._replace(attributes=7)),
        ("lane", PLAIN._replace(attributes=5 << LANE_SHIFT)),
        ("lane", PLAIN._replace(attributes=7 << LANE_SHIFT)),
        ("attributes", PLAIN._replace(attributes=0x80)),
        ("attributes", PLAIN._replace(attributes=0x1000)),
        ("attributes", PLAIN._replace(attributes=0x4000)),
        ("attributes", PLAIN._replace(attributes=-0x8000)),
        ("attributes", PLAIN._replace(attributes=DELETE_HORIZON)),
        ("count", PLAIN._replace(record_count=0, last_offset_delta=-1)),
        ("count", PLAIN._replace(record_count=0)),
        ("count", PLAIN._replace(record_count=2)),
        ("count", PLAIN._replace(record_count=-1)),
        ("count", PLAIN._replace(last_offset_delta=1)),
        ("count", PLAIN._replace(last_offset_delta=-1)),
        ("count", PLAIN._replace(last_offset_delta=(1 << 31) - 1, record_count=-(1 << 31))),
        ("offset", PLAIN._replace(base_offset=-1)),
        ("offset", PLAIN._replace(base_offset=(1 << 63) - 1, last_offset_delta=1, record_count=2)),
        ("timestamp", PLAIN._replace(base_timestamp=-2)),
        ("timestamp", PLAIN._replace(max_timestamp=-2)),
        ("producer", PLAIN._replace(producer_id=-2)),
        ("producer", PLAIN._replace(producer_epoch=-2)),
        ("producer", PLAIN._replace(base_sequence=-2)),
        ("magic", PLAIN._replace(magic=1)),
        ("magic", PLAIN._replace(magic=3)),
    ],
)
def test_nonsense_is_refused_by_name_though_its_sum_is_right(reason: str, header: Header) -> None:
    with refused(reason):
        validate_exact(framed(EMPTY_RECORD, header))


@pytest.mark.parametrize("length", [-(1 << 31), -1, 0, 48])
def test_a_length_below_a_header_is_refused(length: int) -> None:
    batch = framed(EMPTY_RECORD)
    batch[8:12] = length.to_bytes(4, "big", signed=True)
    with refused("length"):
        validate(batch)


def test_no_timestamp_is_allowed() -> None:
    assert validate_exact(framed(EMPTY_RECORD, PLAIN._replace(base_timestamp=-1, max_timestamp=-1))).max_timestamp == -1


@pytest.mark.parametrize("codec", Codec)
@pytest.mark.parametrize("lane", Lane)
@pytest.mark.parametrize("flags", [0, APPEND_TIME, TRANSACTIONAL, TRANSACTIONAL | CONTROL, EXPIRING])
def test_every_codec_lane_and_flag_is_allowed(codec: Codec, lane: Lane, flags: int) -> None:
    header = validate_exact(framed(EMPTY_RECORD, PLAIN._replace(attributes=codec | lane << LANE_SHIFT | flags)))
    assert (header.codec, header.lane) == (codec, lane)


@pytest.mark.parametrize(("count", "last_delta"), [(0, 0), (0, 9), (1, 9), (10, 9)])
def test_a_compacted_batch_may_have_lost_records(count: int, last_delta: int) -> None:
    batch = framed(EMPTY_RECORD * count, PLAIN._replace(record_count=count, last_offset_delta=last_delta))
    assert validate_exact(batch, compacted=True).record_count == count


@pytest.mark.parametrize(("count", "last_delta"), [(0, -1), (-1, 0), (11, 9), (1, -1), (0, -2)])
def test_a_compacted_batch_has_an_offset_and_no_more_records_than_offsets(count: int, last_delta: int) -> None:
    batch = framed(b"", PLAIN._replace(record_count=count, last_offset_delta=last_delta))
    with refused("count"):
        validate_exact(batch, compacted=True)


def test_a_delete_horizon_is_for_compacted_batches() -> None:
    batch = framed(EMPTY_RECORD, PLAIN._replace(attributes=DELETE_HORIZON))
    assert validate_exact(batch, compacted=True).horizon_ms == NOW_MS


@given(st.integers(0, (1 << 63) - 2), st.integers(-1, (1 << 31) - 1))
def test_a_stamp_touches_the_twelve_stamped_bytes_and_keeps_the_sum(base_offset: int, leader_epoch: int) -> None:
    batch = bytearray(BATCH)
    stamp(batch, base_offset, leader_epoch)
    header = validate_exact(batch, base_offset=base_offset)
    assert (header.base_offset, header.leader_epoch) == (base_offset, leader_epoch)
    assert all(batch[at] == BATCH[at] for at in range(len(BATCH)) if at not in STAMPED)


def test_a_stamp_writes_through_a_view_and_not_into_bytes() -> None:
    read = bytearray(b"before" + BATCH)
    stamp(memoryview(read)[6:], 5, 0)
    assert validate(read, 6).base_offset == 5
    with pytest.raises(TypeError):
        stamp(memoryview(BATCH), 5, 0)


def test_a_sum_put_right_hides_the_change_that_it_was_for() -> None:
    """The oracle of other tests here: `summed` is what makes nonsense reach the checks behind the CRC."""
    assert validate_exact(summed(flipped(BATCH, len(BATCH) * 8 - 9))).record_count == 2
