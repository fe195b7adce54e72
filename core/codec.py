"""attrs classes as bytes and back: one codec for whatever the core persists or sends to a peer.

A message is the number of its class, a version, and the fields in the order in which the class declares them:
integers as zigzag varints, text and bytes behind their length, lists behind their count, an optional behind a byte.
What to do with a field is read once from its annotation. A newer version than known is refused; fields may only be
added at the end, with a default, together with a higher version, so that an older writer's bytes still decode.
"""

import types
from collections.abc import Callable
from enum import StrEnum
from typing import Any, Union, get_args, get_origin, get_type_hints

import attrs

from goqueue.core.errors import ProtocolError
from goqueue.core.records.varint import INT64_MAX, decode_varlong, encode_varlong

_Write = Callable[[Any, list[bytes]], None]
_Read = Callable[[bytes, int], tuple[Any, int]]


@attrs.define
class _Kind:
    """How a class is written and read."""

    number: int
    version: int
    cls: type
    names: list[str]
    writes: list[_Write]
    reads: list[_Read]
    required: int


class Codec:
    """A set of classes that can be told apart by their numbers."""

    def __init__(self, classes: dict[int, type], version: int = 1) -> None:
        self._by_number = {number: _kind(number, version, cls) for number, cls in classes.items()}
        self._by_class = {kind.cls: kind for kind in self._by_number.values()}

    def encode(self, message: object) -> bytes:
        """The bytes of a message of a known class."""
        kind = self._by_class[type(message)]
        parts = [encode_varlong(kind.number), encode_varlong(kind.version)]
        for name, write in zip(kind.names, kind.writes, strict=True):
            write(getattr(message, name), parts)
        return b"".join(parts)

    def decode(self, content: bytes) -> Any:
        """The message in `content`, or ProtocolError."""
        number, at = decode_varlong(content, 0)
        version, at = decode_varlong(content, at)
        kind = self._by_number.get(number)
        if kind is None:
            raise ProtocolError(f"message kind {number} is unknown to this release")
        if not 0 < version <= kind.version:
            raise ProtocolError(f"{kind.cls.__name__} has version {version}, this release reads up to {kind.version}")
        values: list[Any] = []
        for read in kind.reads:
            if version < kind.version and at == len(content) and len(values) >= kind.required:
                break
            value, at = read(content, at)
            values.append(value)
        if at != len(content):
            raise ProtocolError(f"{len(content) - at} bytes follow a {kind.cls.__name__}")
        return kind.cls(*values)


def _kind(number: int, version: int, cls: type) -> _Kind:
    hints = get_type_hints(cls)
    fields = attrs.fields(cls)
    pairs = [_pair(hints[each.name]) for each in fields]
    required = sum(each.default is attrs.NOTHING for each in fields)
    names = [each.name for each in fields]
    return _Kind(number, version, cls, names, [pair[0] for pair in pairs], [pair[1] for pair in pairs], required)


def _pair(hint: Any) -> tuple[_Write, _Read]:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        [inner] = [argument for argument in arguments if argument is not type(None)]
        return _optional(*_pair(inner))
    if origin is list:
        return _many(*_pair(arguments[0]), list)
    if origin is dict:
        return _mapping(_pair(arguments[0]), _pair(arguments[1]))
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return _text(hint)
    pairs = {int: _integer(), bool: _flag(), str: _text(str), bytes: _bytes()}
    assert hint in pairs, f"{hint} cannot be encoded"
    return pairs[hint]


def _integer() -> tuple[_Write, _Read]:
    return lambda value, parts: parts.append(encode_varlong(value)), decode_varlong


def _flag() -> tuple[_Write, _Read]:
    def read(content: bytes, at: int) -> tuple[bool, int]:
        value, at = decode_varlong(content, at)
        if value not in (0, 1):
            raise ProtocolError(f"expected 0 or 1, found {value}")
        return value == 1, at

    return lambda value, parts: parts.append(encode_varlong(int(value))), read


def _bytes() -> tuple[_Write, _Read]:
    def write(value: bytes, parts: list[bytes]) -> None:
        parts += (encode_varlong(len(value)), value)

    return write, _read_bytes


def _read_bytes(content: bytes, at: int) -> tuple[bytes, int]:
    size, at = decode_varlong(content, at)
    if not 0 <= size <= len(content) - at:
        raise ProtocolError(f"expected {size} bytes, found {len(content) - at}")
    return content[at : at + size], at + size


def _text(cls: type[str]) -> tuple[_Write, _Read]:
    def write(value: str, parts: list[bytes]) -> None:
        spelled = value.encode()
        parts += (encode_varlong(len(spelled)), spelled)

    def read(content: bytes, at: int) -> tuple[str, int]:
        spelled, at = _read_bytes(content, at)
        try:
            return cls(spelled.decode()), at
        except ValueError:
            raise ProtocolError(f"{spelled[:40]!r} is no {cls.__name__}") from None

    return write, read


def _optional(inner_write: _Write, inner_read: _Read) -> tuple[_Write, _Read]:
    read_flag = _flag()[1]

    def write(value: Any, parts: list[bytes]) -> None:
        parts.append(encode_varlong(int(value is not None)))
        if value is not None:
            inner_write(value, parts)

    def read(content: bytes, at: int) -> tuple[Any, int]:
        present, at = read_flag(content, at)
        return inner_read(content, at) if present else (None, at)

    return write, read


def _many(inner_write: _Write, inner_read: _Read, collect: Callable[[list[Any]], Any]) -> tuple[_Write, _Read]:
    def write(values: Any, parts: list[bytes]) -> None:
        parts.append(encode_varlong(len(values)))
        for value in values:
            inner_write(value, parts)

    def read(content: bytes, at: int) -> tuple[Any, int]:
        count, at = decode_varlong(content, at)
        if not 0 <= count <= min(len(content) - at, INT64_MAX):
            raise ProtocolError(f"{count} items do not fit into {len(content) - at} bytes")
        values = []
        for _ in range(count):
            value, at = inner_read(content, at)
            values.append(value)
        return collect(values), at

    return write, read


def _mapping(key: tuple[_Write, _Read], value: tuple[_Write, _Read]) -> tuple[_Write, _Read]:
    def write_item(item: Any, parts: list[bytes]) -> None:
        key[0](item[0], parts)
        value[0](item[1], parts)

    def read_item(content: bytes, at: int) -> tuple[Any, int]:
        name, at = key[1](content, at)
        held, at = value[1](content, at)
        return (name, held), at

    def collect(items: list[Any]) -> dict[Any, Any]:
        collected = dict(items)
        if len(collected) != len(items):
            raise ProtocolError("a key stands twice in a mapping")
        return collected

    write_all, read_all = _many(write_item, read_item, collect)
    return lambda values, parts: write_all(values.items(), parts), read_all
