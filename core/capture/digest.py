"""What came out of a node in one `take`, as a number that tells it from anything else, and as text for people.

The number is a CRC-32C over a canonical form: a flat list of 64-bit numbers, little-endian. A text and the name of a
class enter by their own CRC-32C. Objects of the core enter by the name of their class and their fields in order, so a
field that is added is part of it without a line here. Bytes enter by their length and a CRC of their first
`HEAD_BYTES`: a batch, an index page and a checkpoint prove themselves there, by a CRC of all the rest, and a batch of
a megabyte costs no more than an empty one.

A number says that something differs, not what. So each output has a shape as well, the kinds of things in each lane
and how many: few enough shapes come up that a capture writes each of them once.

Invariants: equal outputs have equal numbers in every process, under every hash seed.
"""

import struct
from collections.abc import Callable
from enum import Enum
from operator import attrgetter
from typing import Any

import attrs
from crc32c import crc32c

from goqueue.core.ready import Ready, Send
from goqueue.core.records.batch import HEADER_BYTES
from goqueue.core.records.record import Recordless
from goqueue.core.requests.messages import Published, PublishReply

HEAD_BYTES = HEADER_BYTES
_SHAPES_MAX = 4096
_TEXTS_MAX = 4096
_MASK = (1 << 64) - 1
_FLOAT = struct.Struct("<d")
_NUMBER = struct.Struct("<q")

_LANES = tuple(lane.name for lane in attrs.fields(Ready) if lane.eq)
_read_lanes = attrgetter(*_LANES)

_Flatten = Callable[[Any, list[int]], None]


def digest(value: object) -> int:
    """32 bits of an output."""
    out: list[int] = []
    flatten(value, out)
    try:
        packed = struct.pack(f"<{len(out)}q", *out)
    except struct.error:
        packed = struct.pack(f"<{len(out)}Q", *[number & _MASK for number in out])
    return crc32c(packed)


def flatten(value: Any, out: list[int]) -> None:
    """Append the canonical form of a value."""
    (_FLAT.get(type(value)) or _learned(type(value)))(value, out)


def _integer(value: int, out: list[int]) -> None:
    out.append(value)


def _real(value: float, out: list[int]) -> None:
    out += _NUMBER.unpack(_FLOAT.pack(value))


def _nothing(_: None, out: list[int]) -> None:
    out.append(_NONE)


def _text(value: str, out: list[int]) -> None:
    number = _texts.get(value)
    if number is None:
        if len(_texts) >= _TEXTS_MAX:
            _texts.clear()
        number = _texts[value] = _number_of(value)
    out.append(number)


def _number_of(text: str) -> int:
    return crc32c(text.encode("utf-8", "surrogatepass"))


def _items(values: Any, out: list[int]) -> None:
    out.append(len(values))
    known = _FLAT
    for value in values:
        (known.get(type(value)) or _learned(type(value)))(value, out)


def _mapping(values: Any, out: list[int]) -> None:
    out.append(len(values))
    for key, value in values.items():
        flatten(key, out)
        flatten(value, out)


def _content(value: Any, out: list[int]) -> None:
    out += (len(value), crc32c(memoryview(value)[:HEAD_BYTES]))


def _learn(cls: type) -> _Flatten:
    if issubclass(cls, Enum):
        return lambda value, out: flatten(value.value, out)
    if issubclass(cls, tuple):
        return _items
    assert attrs.has(cls), f"{cls} has no canonical form"
    name, read, known = _number_of(cls.__name__), reader_of(cls), _FLAT

    def flat(value: Any, out: list[int]) -> None:
        out.append(name)
        for field in read(value):
            kind = type(field)
            if kind is int:
                out.append(field)
            else:
                (known.get(kind) or _learned(kind))(field, out)

    return flat


def _learned(cls: type) -> _Flatten:
    flat = _FLAT[cls] = _learn(cls)
    return flat


def reader_of(cls: type, leave_out: str = "") -> Callable[[Any], tuple[Any, ...]]:
    """What reads all fields of an attrs class at once, in order."""
    names = [field.name for field in attrs.fields(cls) if field.name != leave_out]
    if len(names) > 1:
        return attrgetter(*names)
    return (lambda value: (getattr(value, names[0]),)) if names else (lambda _: ())


def _ready(ready: Ready, out: list[int]) -> None:
    """The lanes in which there is something, by their numbers."""
    for number, lane in enumerate(_read_lanes(ready)):
        if lane:
            out.append(number)
            _items(lane, out)


def _send(send: Send, out: list[int]) -> None:
    """What `_learn` would do, for the one thing that comes out once a batch."""
    reply = send.reply
    if type(reply) is not PublishReply:
        _any_send(send, out)
        return
    out += (_SEND, send.to, _PUBLISH_REPLY, len(reply.results))
    for result in reply.results:
        if type(result) is Published:
            out.append(_PUBLISHED)
            out += _read_published(result)
        else:
            flatten(result, out)


_FLAT: dict[type, _Flatten] = {
    **dict.fromkeys((int, bool), _integer),
    **dict.fromkeys((list, tuple), _items),
    **dict.fromkeys((bytes, bytearray, Recordless, memoryview), _content),
    float: _real,
    type(None): _nothing,
    str: _text,
    dict: _mapping,
}
_texts: dict[str, int] = {}
_NONE = _number_of("None")
_SEND, _PUBLISH_REPLY, _PUBLISHED = map(_number_of, ("Send", "PublishReply", "Published"))
_read_published = reader_of(Published)
_any_send = _learn(Send)
_FLAT |= {Ready: _ready, Send: _send}


class Shapes:
    """Spells the shape of an output: `writes: 1 Append, 1 Sync; sends: 16 PublishReply`."""

    def __init__(self) -> None:
        self._spelled: dict[tuple[object, ...], str] = {}

    def of(self, ready: Ready) -> str:
        """The shape of an output."""
        key = self._key(ready)
        spelled = self._spelled.get(key)
        if spelled is None:
            if len(self._spelled) >= _SHAPES_MAX:
                self._spelled.clear()
            spelled = self._spelled[key] = _spell(ready)
        return spelled

    def _key(self, ready: Ready) -> tuple[object, ...]:
        sends = ready.sends
        return tuple(
            [
                (tuple(map(type, lane)) if lane is not sends else _replies(ready)) if lane else None
                for lane in _read_lanes(ready)
            ]
        )


def _replies(ready: Ready) -> tuple[type, ...]:
    return tuple([type(send.reply) for send in ready.sends])


def _spell(ready: Ready) -> str:
    lanes = []
    for name, lane in zip(_LANES, _read_lanes(ready), strict=True):
        kinds = _replies(ready) if lane is ready.sends else tuple(map(type, lane))
        if kinds:
            counts = {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)}
            lanes.append(f"{name}: " + ", ".join(f"{count} {kind.__name__}" for kind, count in counts.items()))
    return "; ".join(lanes)


def readable(value: Any) -> str:
    """A value for a person: fields by name, bytes by length and CRC."""
    if isinstance(value, bytes | bytearray | memoryview):
        if len(value) <= HEAD_BYTES // 2:
            return repr(bytes(value))
        return f"<{len(value)} bytes, head {crc32c(memoryview(value)[:HEAD_BYTES]):08x}>"
    if isinstance(value, list | tuple):
        inner = ", ".join(map(readable, value))
        return f"[{inner}]" if isinstance(value, list) else f"({inner})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{readable(key)}: {readable(held)}" for key, held in value.items()) + "}"
    if isinstance(value, Enum):
        return str(value.value)
    if attrs.has(type(value)):
        fields = ", ".join(f"{one.name}={readable(getattr(value, one.name))}" for one in attrs.fields(type(value)))
        return f"{type(value).__name__}({fields})"
    return repr(value)
