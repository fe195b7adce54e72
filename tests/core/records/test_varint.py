"""Varints: one spelling for each integer of 32 or 64 bits, and no other bytes are taken for one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goqueue.core.errors import BatchError
from goqueue.core.records.varint import (
    LENGTHS,
    LENGTHS_END,
    MEANT,
    SPELLED,
    decode_varint,
    decode_varlong,
    encode_varint,
    encode_varlong,
)
from tests.core.records.oracles import kafka_varint
from tests.core.records.samples import refused

int32s = st.integers(-(1 << 31), (1 << 31) - 1)
int64s = st.integers(-(1 << 63), (1 << 63) - 1)


@pytest.mark.parametrize(
    ("value", "spelled"),
    [
        (0, "00"),
        (-1, "01"),
        (1, "02"),
        (63, "7e"),
        (-64, "7f"),
        (64, "8001"),
        (-65, "8101"),
        (8_191, "fe7f"),
        (-8_192, "ff7f"),
        (8_192, "808001"),
        ((1 << 31) - 1, "feffffff0f"),
        (-(1 << 31), "ffffffff0f"),
    ],
)
def test_known_integers_have_their_known_spelling_in_both_widths(value: int, spelled: str) -> None:
    assert encode_varint(value).hex() == encode_varlong(value).hex() == spelled
    assert decode_varint(bytes.fromhex(spelled), 0) == decode_varlong(bytes.fromhex(spelled), 0)
    assert decode_varint(bytes.fromhex(spelled), 0) == (value, len(spelled) // 2)


@pytest.mark.parametrize(
    ("value", "spelled"), [((1 << 63) - 1, "feffffffffffffffff01"), (-(1 << 63), "ffffffffffffffffff01")]
)
def test_the_ends_of_64_bits_take_ten_bytes(value: int, spelled: str) -> None:
    assert encode_varlong(value).hex() == spelled
    assert decode_varlong(bytes.fromhex(spelled), 0) == (value, 10)


@given(int32s, st.binary(max_size=3), st.binary(max_size=3))
def test_what_is_encoded_is_decoded_wherever_it_stands(value: int, before: bytes, after: bytes) -> None:
    spelled = encode_varint(value)
    for buffer in (before + spelled + after, bytearray(before + spelled + after), memoryview(before + spelled + after)):
        assert decode_varint(buffer, len(before)) == (value, len(before) + len(spelled))
        assert decode_varlong(buffer, len(before)) == (value, len(before) + len(spelled))


@given(int64s)
def test_a_varlong_is_what_kafka_python_writes(value: int) -> None:
    theirs = kafka_varint(value)
    assert encode_varlong(value) == theirs
    assert decode_varlong(theirs, 0) == (value, len(theirs))


def test_the_tables_agree_with_the_functions() -> None:
    assert len(SPELLED) == len(MEANT) == 1 << 14
    assert LENGTHS_END == len(LENGTHS) == 8_192
    for spelled, value in zip(SPELLED, MEANT, strict=True):
        assert decode_varint(spelled, 0) == (value, len(spelled))
    for length in range(LENGTHS_END):
        assert decode_varint(LENGTHS[length], 0)[0] == length


@pytest.mark.parametrize("spelled", ["ffffffffff00", "ffffffff8f01", "8080808080808080808000"])
def test_a_sixth_byte_is_refused(spelled: str) -> None:
    with refused("varint"):
        decode_varint(bytes.fromhex(spelled), 0)


def test_an_eleventh_byte_is_refused() -> None:
    with refused("varint"):
        decode_varlong(b"\xff" * 10 + b"\x01", 0)


@pytest.mark.parametrize("spelled", ["ffffffff10", "ffffffff7f"])
def test_bits_beyond_32_are_refused(spelled: str) -> None:
    with refused("varint"):
        decode_varint(bytes.fromhex(spelled), 0)


def test_bits_beyond_64_are_refused() -> None:
    with refused("varint"):
        decode_varlong(b"\xff" * 9 + b"\x02", 0)


@pytest.mark.parametrize("spelled", ["8000", "ff00", "808000", "8080808000"])
def test_padding_is_refused(spelled: str) -> None:
    for decode in (decode_varint, decode_varlong):
        with refused("varint"):
            decode(bytes.fromhex(spelled), 0)


@pytest.mark.parametrize("cut", ["", "80", "ffffffff"])
def test_bytes_that_end_inside_are_refused(cut: str) -> None:
    for decode in (decode_varint, decode_varlong):
        with refused("truncated"):
            decode(bytes.fromhex(cut), 0)


@pytest.mark.parametrize("value", [1 << 31, -(1 << 31) - 1, 1 << 64, -(1 << 200)])
def test_what_does_not_fit_32_bits_is_not_written(value: int) -> None:
    with refused("varint"):
        encode_varint(value)


@pytest.mark.parametrize("value", [1 << 63, -(1 << 63) - 1, 1 << 200])
def test_what_does_not_fit_64_bits_is_not_written(value: int) -> None:
    with refused("varint"):
        encode_varlong(value)


@given(st.binary(max_size=12))
def test_whatever_is_decoded_is_spelled_the_same_again(spelled: bytes) -> None:
    for decode, encode in ((decode_varint, encode_varint), (decode_varlong, encode_varlong)):
        try:
            value, end = decode(spelled, 0)
        except BatchError:
            continue
        assert encode(value) == spelled[:end]
