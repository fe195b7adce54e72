"""Batches that are written: in one go, record by record, or again with records taken out of them."""

from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goqueue.core.records.batch import HEADER_BYTES, Codec, Lane, read_header, stamp, validate_exact
from goqueue.core.records.build import RECORDS_BYTES_MAX, BatchBuilder, Entry, encode, rebuild
from goqueue.core.records.record import Record, iterate, validate_records
from tests.core.records.samples import NOW_MS, entries, plain, refused

TEN: list[Entry] = [(NOW_MS + i, b"key %d" % (i % 3), b"value" * 20, ()) for i in range(10)]
batches = st.lists(entries, min_size=1, max_size=12)


@given(batches)
def test_a_builder_writes_what_encode_writes_and_knows_its_size_all_along(batch_entries: list[Entry]) -> None:
    builder = BatchBuilder()
    assert builder.size == HEADER_BYTES
    for count, (timestamp, key, value, headers) in enumerate(batch_entries, 1):
        assert builder.add(timestamp, key, value, headers) == builder.size == len(builder.build())
        assert builder.count == count
    assert builder.build() == builder.build() == encode(batch_entries)


@given(batches, st.sampled_from(Codec), st.sampled_from(Lane), st.none() | st.integers(0, 1 << 60))
def test_what_is_built_is_valid_and_holds_what_was_said(
    batch_entries: list[Entry], codec: Codec, lane: Lane, base_timestamp: int | None
) -> None:
    batch = encode(batch_entries, base_timestamp=base_timestamp, codec=codec, lane=lane)
    header = validate_records(batch, decompress=True)
    assert (header.codec, header.lane) == (codec, lane)
    assert header.base_timestamp == (batch_entries[0][0] if base_timestamp is None else base_timestamp)
    assert (header.base_offset, header.leader_epoch, header.has_producer) == (0, -1, False)
    said = [Record(at, *entry[:3], tuple(entry[3])) for at, entry in enumerate(batch_entries)]
    assert list(map(plain, iterate(batch))) == list(map(plain, said))


def test_options_land_in_their_fields() -> None:
    batch = encode(TEN, producer_id=7, producer_epoch=8, base_sequence=9, transactional=True, control=True)
    header = validate_exact(batch)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (7, 8, 9)
    assert header.is_transactional
    assert header.is_control
    builder = BatchBuilder(base_timestamp=NOW_MS - 1)
    builder.add(NOW_MS, None, None)
    header = validate_exact(builder.build(append_ms=NOW_MS + 5, lane=Lane.CRITICAL))
    assert (header.base_timestamp, header.max_timestamp, header.lane) == (NOW_MS - 1, NOW_MS + 5, Lane.CRITICAL)
    assert header.is_append_time


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.LZ4, Codec.ZSTD])
def test_a_level_reaches_the_codec(codec: Codec) -> None:
    squares: list[Entry] = [(NOW_MS, None, b" ".join(b"%d" % (i * i) for i in range(3_000)), ())]
    fast, thorough = encode(squares, codec=codec, level=1), encode(squares, codec=codec, level=9)
    assert fast != thorough
    assert list(iterate(fast)) == list(iterate(thorough))


def test_what_is_built_can_be_stamped() -> None:
    for batch in (encode(TEN), rebuild(read_header(encode(TEN)), [])):
        stamp(batch, 17, 2)
        assert validate_exact(batch, compacted=True, base_offset=17).leader_epoch == 2


def test_no_timestamp_is_written_and_read_as_such() -> None:
    batch = encode([(-1, None, b"a", ()), (NOW_MS, None, b"b", ()), (-1, None, b"c", ())])
    assert validate_records(batch).max_timestamp == NOW_MS
    assert [record.timestamp for record in iterate(batch)] == [-1, NOW_MS, -1]
    assert validate_records(encode([(-1, None, b"a", ())])).max_timestamp == -1


def test_a_batch_of_nothing_is_refused() -> None:
    with refused("count"):
        encode([])
    with refused("count"):
        BatchBuilder(base_timestamp=NOW_MS).build()


@pytest.mark.parametrize("timestamp", [-2, 1 << 63, -(1 << 70)])
def test_a_timestamp_out_of_range_is_refused(timestamp: int) -> None:
    with refused("timestamp"):
        encode([(timestamp, None, None, ())])
    with refused("timestamp"):
        encode(TEN, base_timestamp=timestamp)


def test_timestamps_too_far_apart_are_refused() -> None:
    with refused("varint"):
        encode([(-1, None, None, ()), ((1 << 63) - 1, None, None, ())])


def test_a_refused_record_leaves_the_builder_as_it_was() -> None:
    builder = BatchBuilder()
    with refused("timestamp"):
        builder.add(-2, b"key", b"value")
    builder.add(NOW_MS, b"key", b"value")
    before = builder.build()
    with refused("header"):
        builder.add(NOW_MS + 1_000, b"key", b"value", [("\udfff", b"")])
    assert (builder.count, builder.size, builder.build()) == (1, len(before), before)


def test_records_past_the_bound_are_refused_before_they_are_copied() -> None:
    megabyte = bytes(1 << 20)
    with refused("oversize"):
        encode([(NOW_MS, None, megabyte, ())] * (RECORDS_BYTES_MAX >> 20))


def test_a_view_of_wide_items_is_noticed() -> None:
    with pytest.raises(AssertionError):
        encode([(NOW_MS, None, memoryview(array("I", [1, 2, 3])), ())])


def test_a_value_changed_in_size_before_the_build_is_noticed() -> None:
    builder, value = BatchBuilder(), bytearray(b"value")
    builder.add(NOW_MS, None, value)
    value.append(0)
    with pytest.raises(AssertionError):
        builder.build()


@given(batches, st.sampled_from(Codec), st.sampled_from(Lane), st.integers(0, 1 << 40))
def test_a_batch_rebuilt_with_all_its_records_is_the_same_bytes(
    batch_entries: list[Entry], codec: Codec, lane: Lane, base_offset: int
) -> None:
    batch = encode(batch_entries, codec=codec, lane=lane, producer_id=3, producer_epoch=4, base_sequence=5)
    stamp(batch, base_offset, 6)
    assert rebuild(read_header(batch), iterate(batch)) == batch


@given(batches, st.sampled_from(Codec), st.sampled_from(Lane), st.data())
def test_a_rebuilt_batch_keeps_offsets_producer_lane_and_codec(
    batch_entries: list[Entry], codec: Codec, lane: Lane, data: st.DataObject
) -> None:
    batch = encode(batch_entries, codec=codec, lane=lane, producer_id=3, producer_epoch=4, base_sequence=5)
    stamp(batch, 1_000, 6)
    before = read_header(batch)
    kept = [record for record in iterate(batch) if data.draw(st.booleans())]
    smaller = rebuild(before, kept)
    after = validate_records(smaller, compacted=True, decompress=True, base_offset=1_000)
    assert list(iterate(smaller)) == kept
    changed = {"length", "crc", "max_timestamp", "record_count"} | (set() if kept else {"attributes"})
    assert {name for name in after._fields if getattr(after, name) != getattr(before, name)} <= changed
    assert after.record_count == len(kept)
    assert after.max_timestamp == max((r.timestamp for r in kept), default=before.max_timestamp)
    assert (after.codec, after.lane) == (codec if kept else Codec.NONE, lane)


def test_a_batch_may_lose_all_its_records() -> None:
    batch = encode(TEN, codec=Codec.ZSTD, lane=Lane.LOW, producer_id=3, producer_epoch=4, base_sequence=5)
    empty = rebuild(read_header(batch), [])
    header = validate_records(empty, compacted=True)
    assert len(empty) == HEADER_BYTES
    assert (header.record_count, header.last_offset_delta, header.max_timestamp) == (0, 9, NOW_MS + 9)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (3, 4, 5)
    assert list(iterate(empty)) == []


def test_a_horizon_becomes_the_base_and_leaves_the_timestamps_alone() -> None:
    batch = encode(TEN)
    kept = list(iterate(batch))[3:]
    marked = rebuild(read_header(batch), kept, horizon_ms=NOW_MS + 86_400_000)
    header = validate_records(marked, compacted=True)
    assert header.horizon_ms == header.base_timestamp == NOW_MS + 86_400_000
    assert list(iterate(marked)) == kept


def test_a_horizon_stays_until_another_is_given() -> None:
    batch = encode(TEN)
    marked = rebuild(read_header(batch), iterate(batch), horizon_ms=5)
    again = rebuild(read_header(marked), iterate(marked))
    assert again == marked
    later = rebuild(read_header(marked), iterate(marked), horizon_ms=6)
    assert read_header(later).horizon_ms == 6
    assert list(iterate(later)) == list(iterate(batch))


def test_append_time_survives_a_rebuild() -> None:
    batch = encode(TEN, append_ms=NOW_MS + 1_000)
    smaller = rebuild(read_header(batch), list(iterate(batch))[:2], horizon_ms=NOW_MS + 2_000)
    assert validate_records(smaller, compacted=True).max_timestamp == NOW_MS + 1_000
    assert {record.timestamp for record in iterate(smaller)} == {NOW_MS + 1_000}


@pytest.mark.parametrize("offsets", [[10], [-1], [3, 3], [4, 2]])
def test_records_from_elsewhere_are_not_rebuilt(offsets: list[int]) -> None:
    header = read_header(encode(TEN))
    with pytest.raises(AssertionError):
        rebuild(header, [Record(offset, NOW_MS, None, None) for offset in offsets])
