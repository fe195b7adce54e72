"""Remembered header blocks are the bytes that HPACK would have made, whatever happened to the table between."""

import pytest
from hpack import Decoder, Encoder, NeverIndexedHeaderTuple
from hpack.exceptions import HPACKDecodingError
from hypothesis import given
from hypothesis import strategies as st

from goqueue.transports.http2.header_blocks import REMEMBERED_MAX, RememberingDecoder, RememberingEncoder

BLOCKS = [
    ((b":status", b"200"), (b"content-type", b"application/grpc")),
    ((b"grpc-status", b"0"),),
    ((b"x-long", b"y" * 2000), (b"grpc-status", b"0")),
    tuple((b"n%d" % number, b"v" * 100) for number in range(12)),
]
steps = st.lists(
    st.tuples(st.sampled_from(BLOCKS), st.booleans(), st.sampled_from([None, None, None, 0, 100, 4096])), max_size=40
)


@given(steps)
def test_both_directions_agree_with_hpack(said: list[tuple[tuple[tuple[bytes, bytes], ...], bool, int | None]]) -> None:
    plain, encoder = Encoder(), RememberingEncoder()
    reference, decoder = Decoder(), RememberingDecoder()
    for headers, constant, table_size in said:
        if table_size is not None:
            plain.header_table_size = table_size
            encoder.header_table_size = table_size
        block = encoder.encode(headers if constant else list(headers))
        assert block == plain.encode(list(headers))
        assert list(decoder.decode(block, raw=True)) == list(reference.decode(block, raw=True)) == list(headers)


def test_a_constant_block_is_made_once_its_entries_are_in_the_table() -> None:
    encoder = RememberingEncoder()
    first, second, third = (encoder.encode(BLOCKS[0]) for _ in range(3))
    assert len(first) > len(second)
    assert third is second


def test_a_change_of_the_table_forgets_everything() -> None:
    encoder = RememberingEncoder()
    encoder.encode(BLOCKS[0])
    before = encoder.encode(BLOCKS[0])
    encoder.encode([(b"another", b"one")])
    assert encoder.encode(BLOCKS[0]) != before


def test_the_same_block_means_something_else_after_the_table_changed() -> None:
    encoder, decoder = Encoder(), RememberingDecoder()
    decoder.decode(encoder.encode([(b"a", b"1")]), raw=True)
    index = encoder.encode([(b"a", b"1")])
    assert list(decoder.decode(index, raw=True)) == [(b"a", b"1")]
    decoder.decode(encoder.encode([(b"b", b"2")]), raw=True)
    assert list(decoder.decode(index, raw=True)) == [(b"b", b"2")]


def test_what_must_not_be_indexed_is_not_mistaken_for_what_may() -> None:
    encoder = RememberingEncoder()
    secret = NeverIndexedHeaderTuple(b"token", b"secret")
    block = encoder.encode([secret])
    assert block[0] & 0xF0 == 0x10
    assert encoder.encode([secret]) == block


def test_what_is_remembered_is_bounded() -> None:
    decoder, encoder = RememberingDecoder(), Encoder()
    for number in range(1000):
        decoder.decode(encoder.encode([NeverIndexedHeaderTuple(b"n", b"%d" % number)]), raw=True)
        assert len(decoder._known) <= REMEMBERED_MAX
    remembering = RememberingEncoder()
    for number in range(1000):
        remembering.encode(((b":status", b"200"),) * (number + 1))
        assert len(remembering._known) <= REMEMBERED_MAX


def test_a_block_opens_with_at_most_two_table_sizes() -> None:
    RememberingDecoder().decode(b"\x20\x3f\xe1\x1f", raw=True)
    with pytest.raises(HPACKDecodingError):
        RememberingDecoder().decode(b"\x20\x20\x20", raw=True)
