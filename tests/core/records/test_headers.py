"""Record headers keep order, repetition and the difference between empty and none; other bytes are refused."""

import pytest
from hypothesis import given

from goqueue.core.records.headers import Headers, decode_headers, encode_headers
from tests.core.records.samples import record_headers, refused


@given(record_headers)
def test_headers_come_back_as_they_went(headers: Headers) -> None:
    spelled = encode_headers(headers)
    assert decode_headers(spelled, 0, len(spelled)) == headers
    assert decode_headers(memoryview(b"xx" + spelled + b"x"), 2, 2 + len(spelled)) == headers


def test_the_bytes_are_a_count_and_each_field_behind_its_length() -> None:
    assert encode_headers((("ä", b"1"), ("ä", b""), ("", None))).hex() == "06" + "04c3a40231" + "04c3a400" + "0001"


def test_a_key_without_utf8_is_not_written() -> None:
    with refused("header"):
        encode_headers([("\ud800", b"")])


@pytest.mark.parametrize(
    ("reason", "spelled"),
    [
        ("header", "01"),  # a count of -1
        ("header", "7e0000"),  # 63 headers in two bytes
        ("header", "feffffff0f"),  # 2^31 - 1 headers
        ("header", "020101"),  # a key of no bytes at all, null
        ("header", "0205ff00"),  # a key of -3 bytes
        ("header", "02066100"),  # a key of three bytes, and two are left
        ("header", "0202ff00"),  # a key that is not UTF-8
        ("header", "02000400"),  # a value of two bytes, and one is left
        ("header", "020005"),  # a value of -3 bytes
        ("record", "02000000"),  # a byte too many
        ("record", "0000"),  # no headers, and a byte too many
        ("varint", "800000"),  # a padded count
        ("truncated", ""),
        ("truncated", "0400000080"),  # the second header's value ends inside its length
    ],
)
def test_other_bytes_are_refused_by_name(reason: str, spelled: str) -> None:
    with refused(reason):
        decode_headers(bytes.fromhex(spelled), 0, len(spelled) // 2)


def test_an_end_beyond_the_bytes_is_refused() -> None:
    with refused("truncated"):
        decode_headers(b"\x02\x00\x00", 0, 4)


def test_an_end_within_the_bytes_binds() -> None:
    with refused("header"):
        decode_headers(b"\x02\x00\x04ab", 0, 4)
