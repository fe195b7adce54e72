"""Whatever the bytes, BatchError is all that parsing raises, and what passes is written again as the same bytes."""

from collections.abc import Callable, Iterable
from functools import partial

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from goqueue.core.records.batch import HEADER_BYTES, Codec, Header, Lane, locate, read_header, validate, validate_exact
from goqueue.core.records.build import Entry, encode, rebuild
from goqueue.core.records.compression import compress
from goqueue.core.records.control import ControlMarker, encode_marker, read_marker
from goqueue.core.records.record import iterate, validate_records
from goqueue.core.records.varint import Readable
from tests.core.records.samples import NOW_MS, PLAIN, framed, refusal, summed

MOST_BYTES = 1 << 20


def deep(batch: Readable) -> Header:
    return validate_records(batch, decompress=True, max_bytes=MOST_BYTES)


def deep_compacted(batch: Readable) -> Header:
    return validate_records(batch, decompress=True, max_bytes=MOST_BYTES, compacted=True)


def all_records(batch: Readable) -> object:
    return list(iterate(batch, max_bytes=MOST_BYTES))


READERS: list[Callable[[Readable], object]] = [
    read_header, locate, validate, validate_exact, deep, deep_compacted, all_records, read_marker,
]  # fmt: skip
SAMPLES: list[bytes] = [
    *(
        bytes(encode([(NOW_MS + i, b"key", b"value" * i, (("name", b"x"),) * (i % 3)) for i in range(9)], codec=codec))
        for codec in Codec
    ),
    bytes(encode([(NOW_MS, None, None, ())], lane=Lane.HIGH, append_ms=NOW_MS)),
    bytes(encode_marker(ControlMarker(True, 1), NOW_MS, 1, 1)),
    bytes(rebuild(PLAIN._replace(last_offset_delta=4), [], horizon_ms=NOW_MS)),
]

changes = st.lists(st.tuples(st.integers(0, 1 << 16), st.integers(0, 255)), min_size=1, max_size=6)


def changed(batch: bytes, at_and_byte: Iterable[tuple[int, int]], first: int = 0) -> bytearray:
    """`batch` with some bytes from `first` on replaced."""
    damaged = bytearray(batch)
    for at, byte in at_and_byte:
        damaged[first + at % max(1, len(batch) - first)] = byte
    return damaged


def read_in_every_way(batch: Readable) -> int:
    """How many readers found nothing wrong; any error but BatchError fails the test by itself."""
    return [refusal(partial(reader, batch)) for reader in READERS].count(None)


@given(st.binary(max_size=300))
def test_arbitrary_bytes(garbage: bytes) -> None:
    read_in_every_way(garbage)
    read_in_every_way(memoryview(garbage))


@given(st.sampled_from(SAMPLES), changes, st.integers(0, 1 << 16))
def test_a_batch_with_bytes_replaced_and_its_end_cut(batch: bytes, replaced: list[tuple[int, int]], cut: int) -> None:
    read_in_every_way(changed(batch, replaced))
    assert read_in_every_way(batch[: cut % len(batch)]) <= 1  # a header may be whole in what is left


@given(st.sampled_from(SAMPLES), changes)
def test_a_batch_with_bytes_replaced_and_the_sum_put_right(batch: bytes, replaced: list[tuple[int, int]]) -> None:
    read_in_every_way(summed(changed(batch, replaced)))


@given(st.sampled_from(SAMPLES), changes)
def test_a_batch_with_bytes_of_its_records_replaced(batch: bytes, replaced: list[tuple[int, int]]) -> None:
    if len(batch) > HEADER_BYTES:
        read_in_every_way(summed(changed(batch, replaced, HEADER_BYTES)))


@given(st.binary(max_size=120), st.integers(0, 9), st.integers(0, 9), st.sampled_from(Codec))
def test_arbitrary_bytes_for_records(records: bytes, count: int, last_delta: int, codec: Codec) -> None:
    header = PLAIN._replace(record_count=count, last_offset_delta=last_delta)
    assert read_in_every_way(framed(records, header)) >= 2
    if records:
        hidden = framed(compress(codec, records), header._replace(attributes=codec))
        assert read_in_every_way(hidden) >= 2


@given(
    st.sampled_from([sample for sample in SAMPLES if not read_header(sample).codec]),
    st.lists(st.tuples(st.integers(0, 1 << 16), st.integers(0, 255)), max_size=3),
)
def test_what_passes_is_written_again_as_the_same_bytes(batch: bytes, replaced: list[tuple[int, int]]) -> None:
    damaged = summed(changed(batch, replaced, 21))
    if refusal(lambda: validate_records(damaged, compacted=True)) is None:
        header = read_header(damaged)
        assume(not header.codec and not header.is_append_time)
        assert rebuild(header, iterate(damaged)) == damaged


@pytest.mark.parametrize("codec", [codec for codec in Codec if codec])
@given(garbage=st.binary(max_size=300))
def test_arbitrary_bytes_for_compressed_records(codec: Codec, garbage: bytes) -> None:
    assert read_in_every_way(framed(garbage, PLAIN._replace(attributes=codec | Lane.LOW << 8))) >= 3


def test_readers_find_nothing_wrong_with_what_is_right() -> None:
    """Without this the tests above could pass on readers that refuse everything."""
    entries: list[Entry] = [(NOW_MS, b"key", b"value", ())]
    for codec in Codec:
        assert read_in_every_way(encode(entries, codec=codec)) == len(READERS) - 1
    assert read_in_every_way(encode_marker(ControlMarker(False, 0), NOW_MS, 0, 0)) == len(READERS)
