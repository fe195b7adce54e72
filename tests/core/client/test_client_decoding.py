"""Whatever a batch holds, the shorter way of decoding it gives what the parser of records gives, errors included."""

from typing import TypeAlias

from hypothesis import example, given
from hypothesis import strategies as st

from goqueue.core.client.decoding import decode, made_of
from goqueue.core.errors import BatchError
from goqueue.core.records.batch import Codec, Header, read_header
from goqueue.core.records.build import Entry, encode, rebuild
from goqueue.core.records.headers import Headers
from goqueue.core.records.record import iterate

Made: TypeAlias = tuple[object, int, int, bytes | None, bytes | None, Headers]
CURSOR = object()
CONTENTS = st.none() | st.binary(max_size=3) | st.sampled_from([b"v" * 63, b"v" * 64, b"w" * 64, b"v" * 9000])
ENTRIES = st.lists(
    st.tuples(st.integers(0, 70) | st.sampled_from([8191, 8192, 1 << 40]), st.none() | CONTENTS, CONTENTS, st.just(())),
    min_size=1,
    max_size=9,
)


def make(cursor: object, offset: int, timestamp: int, key: bytes | None, value: bytes | None, headers: Headers) -> Made:
    return cursor, offset, timestamp, key, value, headers


def plainly(source: bytes, at: int, header: Header) -> list[Made] | str:
    """What the parser of records gives, or what it finds wrong."""
    try:
        return [made_of(record, CURSOR, make) for record in iterate(source[at : at + header.size])]
    except BatchError as error:
        return str(error)


def shortly(source: bytes, at: int, header: Header) -> list[Made] | str:
    """What the shorter way gives, or what it finds wrong."""
    try:
        return decode(source, at, header, CURSOR, make)
    except BatchError as error:
        return str(error)


@given(ENTRIES, st.sampled_from([1, 7, 70]), st.sampled_from([Codec.NONE, Codec.LZ4]), st.booleans())
@example([(5, None, b"v" * 1024, ())], 9000, Codec.NONE, False)
def test_any_batch_is_decoded_as_the_parser_does(
    entries: list[Entry], times: int, codec: Codec, has_headers: bool
) -> None:
    if has_headers:
        entries = [*entries[:-1], (*entries[-1][:3], (("a", b"1"),))]
    batch = b"before" + encode(entries * times, codec=codec) + b"after"
    header = read_header(batch, 6)
    found = shortly(batch, 6, header)
    assert found == plainly(batch, 6, header)
    assert [made[2:] for made in found] == [tuple(entry) for entry in entries * times]


@given(st.lists(st.booleans(), min_size=1, max_size=9))
def test_what_a_compaction_left_keeps_its_offsets(kept: list[bool]) -> None:
    batch = bytes(encode([(7, None, b"v", ())] * len(kept)))
    records = [record for record, stays in zip(iterate(batch), kept, strict=True) if stays]
    left = bytes(rebuild(read_header(batch), records))
    found = shortly(left, 0, read_header(left))
    assert [made[1] for made in found] == [place for place, stays in enumerate(kept) if stays]


@given(ENTRIES, st.integers(1, 40), st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255)), max_size=4))
def test_damaged_records_are_found_damaged_as_the_parser_does(
    entries: list[Entry], times: int, changes: list[tuple[int, int]]
) -> None:
    batch = encode(entries * times)
    for at, byte in changes:
        if 61 + at < len(batch):
            batch[61 + at] = byte
    source = bytes(batch)
    header = read_header(source)
    assert shortly(source, 0, header) == plainly(source, 0, header)
