"""The strict codec against Google's implementation: the same bytes for a message, the same verdict on any bytes."""

from typing import Any

import betterproto
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from goqueue.proto import v1
from goqueue.proto.codec import StrictCodec
from goqueue.proto.generating.fields import classes_in, fields_of
from goqueue.proto.wire import WireError
from tests.proto.google_messages import google_classes, written
from tests.proto.messages import Kind, contents, copy_to_google, message_of

CODEC = StrictCodec()
GOOGLE = google_classes()
CLASSES = classes_in(v1)
STRICTER = ("a field has the number 0", "an entry of a map has more than a key and a value")
RELAXED = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def plain(message: betterproto.Message) -> dict[str, Any]:
    """What a message holds, unknown fields included."""
    held: dict[str, Any] = {"": vars(message)["_unknown_fields"]}
    for field in fields_of(type(message)):
        if field.group is None:
            held[field.name] = getattr(message, field.name)
    for group in vars(message)["_group_current"]:
        held[group] = betterproto.which_one_of(message, group)
    return held


def taken(cls: Kind, content: bytes | memoryview) -> betterproto.Message | None:
    """What the codec makes of bytes that Google takes: None in the two points where it is the stricter one."""
    try:
        message: betterproto.Message = CODEC.decode(cls, content)
    except WireError as error:
        if not str(error).endswith(STRICTER):
            raise
        return None
    return message


def agree(cls: Kind, content: bytes) -> None:
    """Both take the bytes for the same message, or both refuse them."""
    expected = written(GOOGLE[cls.__name__], content)
    for given_bytes in (content, memoryview(content)):
        if expected is None:
            with pytest.raises(WireError):
                CODEC.decode(cls, given_bytes)
            continue
        message = taken(cls, given_bytes)
        assert message is None or CODEC.encode(message) == expected


def test_every_message_of_the_file_has_a_codec() -> None:
    assert {cls.__name__ for cls in CLASSES} == set(GOOGLE)
    assert len(CLASSES) > 70


SAMPLES = st.sampled_from(CLASSES).flatmap(lambda cls: st.tuples(st.just(cls), contents(cls)))


@RELAXED
@given(SAMPLES)
def test_a_message_has_googles_bytes_and_comes_back(sample: tuple[Kind, dict[str, Any]]) -> None:
    message = message_of(*sample)
    twin = GOOGLE[type(message).__name__]()
    copy_to_google(message, twin)
    content = CODEC.encode(message)
    assert content == twin.SerializeToString(deterministic=True)
    again = CODEC.decode(type(message), content)
    assert again == message
    assert plain(again) == plain(message)
    agree(type(message), content)


@RELAXED
@given(st.sampled_from(CLASSES), st.binary(max_size=40))
def test_any_bytes_get_the_verdict_that_google_gives(cls: Kind, content: bytes) -> None:
    agree(cls, content)


@st.composite
def fields(draw: st.DrawFn, depth: int = 3) -> bytes:
    """Well-formed and nearly well-formed fields, of small numbers and any wire type."""
    found = b""
    for _ in range(draw(st.integers(0, 4))):
        kind = draw(st.sampled_from([0, 0, 0, 1, 2, 2, 2, 2, 3, 5, 7]))
        number = draw(st.integers(1, 14) | st.integers(0, 1 << 29))
        found += _varint(number << 3 | kind, draw(st.integers(0, 5)) == 0)
        if kind == 0:
            found += draw(st.binary(min_size=1, max_size=1).filter(lambda one: one[0] < 128) | _varints())
        elif kind == 2:
            inner = draw(st.binary(max_size=6) | (fields(depth - 1) if depth else st.just(b"")))
            found += _varint(len(inner)) + inner
        elif kind == 3:
            inner = draw(fields(depth - 1)) if depth else b""
            closing = number if draw(st.integers(0, 9)) else draw(st.integers(1, 14))
            found += inner + _varint(closing << 3 | 4)
        else:
            found += draw(st.binary(min_size=8, max_size=8) if kind == 1 else st.binary(min_size=4, max_size=4))
    return found


def _varint(value: int, overlong: bool = False) -> bytes:
    found = bytearray()
    while value >= 0x80:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value | 0x80, 0]) if overlong else bytes([*found, value])


def _varints() -> st.SearchStrategy[bytes]:
    long = st.integers(0, 10).flatmap(lambda size: st.lists(st.integers(128, 255), min_size=size, max_size=size))
    return st.tuples(long, st.integers(0, 127)).map(lambda parts: bytes([*parts[0], parts[1]]))


@settings(RELAXED, max_examples=500)
@given(st.sampled_from(CLASSES), fields())
def test_fields_of_any_kind_get_the_verdict_that_google_gives(cls: Kind, content: bytes) -> None:
    agree(cls, content)


@RELAXED
@given(st.data())
def test_a_damaged_message_gets_the_verdict_that_google_gives(data: st.DataObject) -> None:
    message = message_of(*data.draw(SAMPLES))
    content = bytearray(CODEC.encode(message))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(content)))
        content[at : at + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=2))
    agree(type(message), bytes(content))


@RELAXED
@given(st.data())
def test_parts_of_one_message_are_merged_as_google_merges_them(data: st.DataObject) -> None:
    cls = data.draw(st.sampled_from(CLASSES))
    parts = data.draw(st.lists(contents(cls), min_size=2, max_size=3))
    agree(cls, b"".join(CODEC.encode(message_of(cls, part)) for part in parts))
