"""The codec: what is written is read back, garbage meets one error, and a newer message is refused with a sentence."""

from enum import StrEnum

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goqueue.core.cluster.records import (
    METADATA_CODEC,
    MetadataSnapshot,
    TopicAltered,
    TopicCreated,
    TopicDeleted,
    TopicRemoved,
)
from goqueue.core.codec.codec import Codec
from goqueue.core.errors import ProtocolError
from goqueue.core.records.varint import encode_varlong


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


@attrs.define
class Everything:
    number: int
    flag: bool
    text: str
    content: bytes
    colour: Colour
    maybe: int | None
    many: list[str]
    named: dict[str, int]
    nested: list[list[int]] = attrs.field(factory=list)


CODEC = Codec({7: Everything})
int64 = st.integers(-(1 << 63), (1 << 63) - 1)
everything = st.builds(
    Everything,
    number=int64,
    flag=st.booleans(),
    text=st.text(),
    content=st.binary(),
    colour=st.sampled_from(Colour),
    maybe=st.none() | int64,
    many=st.lists(st.text()),
    named=st.dictionaries(st.text(), int64),
    nested=st.lists(st.lists(int64)),
)
records = st.one_of(
    st.builds(TopicCreated, st.text(), int64, int64, st.text(), int64),
    st.builds(TopicAltered, st.text(), st.text()),
    st.builds(TopicDeleted, st.text(), int64),
    st.builds(MetadataSnapshot, int64, st.lists(st.binary()), st.dictionaries(st.text(), int64)),
    st.builds(TopicRemoved, st.text(), int64),
)
PLAIN = Everything(1, True, "a", b"b", Colour.RED, None, [], {})


@given(everything)
def test_whatever_is_written_is_read_back(message: Everything) -> None:
    assert CODEC.decode(CODEC.encode(message)) == message


@given(records)
def test_every_metadata_record_is_read_back(record: object) -> None:
    assert METADATA_CODEC.decode(METADATA_CODEC.encode(record)) == record


@given(st.binary(max_size=200))
def test_garbage_is_a_protocol_error_or_a_message(content: bytes) -> None:
    for codec in (CODEC, METADATA_CODEC):
        try:
            message = codec.decode(content)
        except ProtocolError:
            continue
        assert codec.decode(codec.encode(message)) == message


@given(everything, st.data())
def test_a_changed_byte_is_a_protocol_error_or_another_message(message: Everything, data: st.DataObject) -> None:
    content = bytearray(CODEC.encode(message))
    content[data.draw(st.integers(0, len(content) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    try:
        changed = CODEC.decode(bytes(content))
    except ProtocolError:
        return
    assert CODEC.encode(changed) == content


@given(everything, st.data())
def test_a_message_cut_short_is_refused(message: Everything, data: st.DataObject) -> None:
    content = CODEC.encode(message)
    with pytest.raises(ProtocolError):
        CODEC.decode(content[: data.draw(st.integers(0, len(content) - 1))])


def test_bytes_that_follow_a_message_are_refused() -> None:
    with pytest.raises(ProtocolError, match="1 bytes follow a Everything"):
        CODEC.decode(CODEC.encode(PLAIN) + b"\x00")


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ProtocolError, match="message kind 8 is unknown"):
        CODEC.decode(Codec({8: Everything}).encode(PLAIN))


def test_a_newer_version_is_refused_with_a_sentence() -> None:
    with pytest.raises(ProtocolError, match="Everything has version 2, this release reads up to 1"):
        CODEC.decode(Codec({7: Everything}, version=2).encode(PLAIN))


@pytest.mark.parametrize("version", [0, -1])
def test_a_version_that_never_was_is_refused(version: int) -> None:
    content = CODEC.encode(PLAIN)
    with pytest.raises(ProtocolError, match="has version"):
        CODEC.decode(content[:1] + encode_varlong(version) + content[2:])


@attrs.define
class Older:
    name: str


@attrs.define
class Newer:
    name: str
    size: int = 5


def test_an_older_writer_leaves_out_what_it_did_not_know() -> None:
    content = Codec({1: Older}).encode(Older("a"))
    assert Codec({1: Newer}, version=2).decode(content) == Newer("a", 5)


def test_a_writer_of_this_version_may_leave_nothing_out() -> None:
    content = Codec({1: Older}).encode(Older("a"))
    with pytest.raises(ProtocolError):
        Codec({1: Newer}).decode(content)


def test_a_key_that_stands_twice_is_refused() -> None:
    @attrs.define
    class Pairs:
        named: dict[str, int]

    twice = encode_varlong(1) * 2 + encode_varlong(2) + (encode_varlong(1) + b"a" + encode_varlong(3)) * 2
    with pytest.raises(ProtocolError, match="stands twice"):
        Codec({1: Pairs}).decode(twice)


def test_a_class_that_cannot_be_encoded_is_found_when_it_is_registered() -> None:
    @attrs.define
    class Odd:
        number: complex

    with pytest.raises(AssertionError, match="cannot be encoded"):
        Codec({1: Odd})
