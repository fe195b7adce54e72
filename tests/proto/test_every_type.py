"""Codecs are written right for every type of field in every position, compared with Google's implementation."""

import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from goqueue.proto.codec import StrictCodec
from goqueue.proto.generate import compile_protos, loaded
from goqueue.proto.generating.codecs import codec_source
from goqueue.proto.generating.fields import classes_in
from goqueue.proto.wire import WireError
from tests.proto.google_messages import google_classes, written
from tests.proto.messages import Kind, contents, copy_to_google, message_of

RELAXED = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
NAMES = ("Single", "Perhaps", "Many", "OneOf", "Maps")
STRICTER = ("a field has the number 0", "an entry of a map has more than a key and a value")
STRICT = b"refused by a rule that Google's implementation does not have"


@cache
def generated() -> tuple[StrictCodec, dict[str, Kind], dict[str, Any]]:
    """A codec for every_type.proto, betterproto's classes for it, and Google's."""
    with tempfile.TemporaryDirectory() as made:
        descriptors = compile_protos(Path(__file__).parent, ["every_type.proto"], Path(made))
        module = loaded(Path(made, "goqueue/testing/types/__init__.py"), "every_type_as_generated")
        codec = Path(made, "codec.py")
        codec.write_text(codec_source(module, module.__name__))
        codes = loaded(codec, "every_type_codec").CODES
    return StrictCodec(codes), {cls.__name__: cls for cls in classes_in(module)}, google_classes(descriptors)


def sample(data: st.DataObject) -> tuple[Any, Any]:
    """A message, and Google's twin of it, empty."""
    _, classes, google = generated()
    name = data.draw(st.sampled_from(NAMES))
    return message_of(classes[name], data.draw(contents(classes[name]))), google[name]()


def read_again(name: str, content: bytes) -> bytes | None:
    """What the codec makes of some bytes, written by it again; None if it refuses them."""
    codec, classes, _ = generated()
    try:
        return codec.encode(codec.decode(classes[name], content))
    except WireError as error:
        return STRICT if str(error).endswith(STRICTER) else None


def agree(name: str, content: bytes) -> None:
    """Both take the bytes for the same message, or both refuse them; but for the points where ours is stricter."""
    assert read_again(name, content) in (STRICT, written(generated()[2][name], content))


@RELAXED
@given(st.data())
def test_every_type_has_googles_bytes_and_comes_back(data: st.DataObject) -> None:
    message, twin = sample(data)
    codec = generated()[0]
    copy_to_google(message, twin)
    content = codec.encode(message)
    assert content == twin.SerializeToString(deterministic=True)
    assert codec.decode(type(message), content) == message


@RELAXED
@given(st.data())
def test_every_type_is_refused_as_google_refuses_it(data: st.DataObject) -> None:
    message, _ = sample(data)
    content = bytearray(generated()[0].encode(message))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(content)))
        content[at : at + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=2))
    agree(type(message).__name__, bytes(content))


@RELAXED
@given(st.data())
def test_every_type_is_merged_as_google_merges_it(data: st.DataObject) -> None:
    codec, classes, _ = generated()
    name = data.draw(st.sampled_from(NAMES))
    parts = data.draw(st.lists(contents(classes[name]), min_size=2, max_size=3))
    agree(name, b"".join(codec.encode(message_of(classes[name], part)) for part in parts))


@RELAXED
@given(st.sampled_from(NAMES), st.binary(max_size=30))
def test_any_bytes_get_googles_verdict_for_every_type(name: str, content: bytes) -> None:
    agree(name, content)


def test_lists_of_numbers_are_read_packed_or_not() -> None:
    codec, classes, _ = generated()
    many = classes["Many"]
    for content in (b"\x28\x01\x28\x02\x28\x03", b"\x2a\x03\x01\x02\x03", b"\x28\x01\x2a\x02\x02\x03"):
        assert codec.decode(many, content).e == [1, 2, 3]
        agree("Many", content)
