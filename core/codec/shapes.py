"""How a value is written and read, found out once from the annotation of the field that holds it.

Integers are zigzag varints, floats eight bytes, text and bytes stand behind their length, lists and dictionaries behind
their count, an optional behind a byte. An attrs class is its fields, one behind the other. Where several classes are
possible, the number of the class comes first; there 0 stands for None and 1 for a list of such values. A field of type
`object` holds what JSON can say, each value behind a byte for its kind.

What is read as `Readable` is a view into what it is read from: nothing is copied, so that must stay as it is. In the
other direction bytes from `LARGE_BYTES` on are passed on as they are, and everything between them is joined.

Not here: numbers and versions of messages (`codec.py`). Whatever the bytes are, reading ends in a value or in
ProtocolError: a count is believed only as far as there are bytes for it, and nesting has an end.
"""

import struct
import types
from collections.abc import Callable
from enum import IntEnum, StrEnum
from operator import attrgetter
from typing import Any, Union, get_args, get_origin, get_type_hints

import attrs

from goqueue.core.errors import ProtocolError
from goqueue.core.records.varint import INT64_MAX, MEANT, Readable, decode_varlong, encode_varlong

# Shorter ones are cheaper to copy than to pass on one by one.
LARGE_BYTES = 16 << 10
_SINCE = "since"
_NONE, _LIST = 0, 1
# The first number that a class may have where several are possible.
FIRST_NUMBER = 2
_DEPTH_MAX = 16
# In all lists of one message together: an item may take one byte on its way, and a hundred times as much in memory.
ITEMS_MAX = 1 << 22
_left = [ITEMS_MAX]
_DOUBLE = struct.Struct("<d")


class Parts(list[Readable]):
    """What was written so far; `large` are the places of what is not to be copied."""

    __slots__ = ("large",)

    def __init__(self) -> None:
        self.large: list[int] = []

    def hold(self, content: Readable) -> None:
        """Append bytes behind their length."""
        size = len(content)
        self.append(encode_varlong(size))
        if size >= LARGE_BYTES:
            self.large.append(len(self))
        self.append(content)

    def joined(self) -> list[Readable]:
        """All of it in as few pieces as copying nothing large allows."""
        pieces: list[Readable] = []
        begin = 0
        for at in self.large:
            pieces += (b"".join(self[begin:at]), self[at])
            begin = at + 1
        if begin < len(self):
            pieces.append(b"".join(self[begin:]))
        return pieces


Write = Callable[[Any, Parts], None]
Read = Callable[[Readable, int], tuple[Any, int]]
Shape = tuple[Write, Read]
# How classes that are written in a way of their own are, given the shapes of all others.
Special = dict[type, Callable[["Shapes"], Shape]]


def since(version: int) -> dict[str, int]:
    """Metadata of a field that messages have from a version on; it stands at the end and has a default."""
    assert version > 1
    return {_SINCE: version}


class Shapes:
    """How annotations are written and read in one version; `numbers` tells classes apart."""

    def __init__(self, version: int, numbers: dict[type, int], special: Special) -> None:
        self._version = version
        self._numbers = numbers
        self._special = special
        self._by_hint: dict[Any, Shape] = {
            int: (_write_integer, read_integer),
            bool: (_write_flag, _read_flag),
            float: (_write_double, _read_double),
            str: _text(str),
            bytes: (_write_content, read_content),
            bytearray: (_write_content, _read_own),
            object: (_write_open, read_open),
        }

    def of(self, hint: Any) -> Shape:
        """The shape of what is annotated so."""
        shape = self._by_hint.get(hint)
        if shape is None:
            shape = self._by_hint[hint] = self._find(hint)
        return shape

    def fields(self, cls: type) -> list[tuple[str, Shape]]:
        """The fields that a class has in this version, in order."""
        hints = get_type_hints(cls)
        known = [each for each in attrs.fields(cls) if each.metadata.get(_SINCE, 1) <= self._version]
        return [(each.name, self.of(hints[each.name])) for each in known]

    def one_of(self, classes: list[type]) -> Shape:
        """A value of one of some classes that have numbers, None, or a list of such values."""
        writes: dict[type, tuple[bytes, Write]] = {}
        reads: dict[int, Read] = {}
        for cls in classes:
            number = self._numbers.get(cls)
            assert number is not None, f"{cls.__name__} has no number"
            assert number >= FIRST_NUMBER
            write, reads[number] = self.of(cls)
            writes[cls] = encode_varlong(number), write
        return _one_of(writes, reads)

    def _find(self, hint: Any) -> Shape:
        origin, arguments = get_origin(hint), get_args(hint)
        if origin in (Union, types.UnionType):
            return self._union(arguments)
        if origin is list:
            return _many(self.of(arguments[0]), list)
        if origin is dict:
            return _mapping(self.of(arguments[0]), self.of(arguments[1]))
        if origin is tuple and arguments[1:] == (...,):
            return _many(self.of(arguments[0]), tuple)
        if origin is tuple:
            return _tuple([self.of(argument) for argument in arguments])
        assert isinstance(hint, type), f"{hint} cannot be encoded"
        if issubclass(hint, StrEnum):
            return _text(hint)
        if issubclass(hint, IntEnum):
            return _write_integer, _enum_reader(hint)
        if hint in self._special:
            return self._special[hint](self)
        assert attrs.has(hint), f"{hint} cannot be encoded"
        return _instance(hint, self.fields(hint))

    def _union(self, arguments: tuple[Any, ...]) -> Shape:
        inner = [argument for argument in arguments if argument is not type(None)]
        if all(argument in (bytes, bytearray, memoryview) for argument in inner):
            shape: Shape = _write_content, (read_view if bytes in inner else _read_own)
        elif len(inner) > 1:
            classes = [cls for argument in inner for cls in _classes(argument)]
            return self.one_of([*dict.fromkeys(classes)])  # which tells None by itself
        else:
            shape = self.of(inner[0])
        return _optional(shape) if len(inner) < len(arguments) else shape


def _classes(hint: Any) -> list[type]:
    """The classes in a union, in lists of it too."""
    if isinstance(hint, type) and get_origin(hint) is None:
        return [] if hint is type(None) else [hint]
    return [cls for argument in get_args(hint) for cls in _classes(argument)]


# --- numbers


def _write_integer(value: int, parts: Parts) -> None:
    parts.append(encode_varlong(value))


def read_integer(content: Readable, at: int) -> tuple[int, int]:
    """An integer of 64 bits."""
    if at < len(content) and (byte := content[at]) < 0x80:
        return MEANT[byte], at + 1
    return decode_varlong(content, at)


def _enum_reader(cls: type[IntEnum]) -> Read:
    members = {int(member): member for member in cls}

    def read(content: Readable, at: int) -> tuple[IntEnum, int]:
        value, at = read_integer(content, at)
        member = members.get(value)
        if member is None:
            raise ProtocolError(f"{value} is no {cls.__name__}")
        return member, at

    return read


def _write_flag(value: bool, parts: Parts) -> None:
    parts.append(encode_varlong(int(value)))


def _read_flag(content: Readable, at: int) -> tuple[bool, int]:
    value, at = read_integer(content, at)
    if value not in (0, 1):
        raise ProtocolError(f"expected 0 or 1, found {value}")
    return value == 1, at


def _write_double(value: float, parts: Parts) -> None:
    parts.append(_DOUBLE.pack(value))


def _read_double(content: Readable, at: int) -> tuple[float, int]:
    if len(content) - at < _DOUBLE.size:
        raise ProtocolError(f"expected {_DOUBLE.size} bytes of a number, found {len(content) - at}")
    value: float = _DOUBLE.unpack_from(content, at)[0]
    return value, at + _DOUBLE.size


# --- text and bytes


def _write_content(value: Readable, parts: Parts) -> None:
    parts.hold(value)


def _extent(content: Readable, at: int) -> tuple[int, int]:
    size, at = read_integer(content, at)
    if not 0 <= size <= len(content) - at:
        raise ProtocolError(f"expected {size} bytes, found {len(content) - at}")
    return at, at + size


def read_content(content: Readable, at: int) -> tuple[bytes, int]:
    """Bytes behind their length."""
    begin, end = _extent(content, at)
    return bytes(content[begin:end]), end


def _read_own(content: Readable, at: int) -> tuple[bytearray, int]:
    begin, end = _extent(content, at)
    return bytearray(content[begin:end]), end


def read_view(content: Readable, at: int) -> tuple[Readable, int]:
    """Bytes behind their length, as a view."""
    begin, end = _extent(content, at)
    view = content if isinstance(content, memoryview) else memoryview(content)
    return view[begin:end], end


def _text(cls: type[str]) -> Shape:
    def write(value: str, parts: Parts) -> None:
        parts.hold(value.encode())

    def read(content: Readable, at: int) -> tuple[str, int]:
        begin, end = _extent(content, at)
        try:
            return cls(str(content[begin:end], "utf-8")), end
        except ValueError:
            raise ProtocolError(f"{bytes(content[begin:end][:40])!r} is no {cls.__name__}") from None

    return write, read


# --- what is made of others


def _optional(shape: Shape) -> Shape:
    inner_write, inner_read = shape

    def write(value: Any, parts: Parts) -> None:
        parts.append(encode_varlong(int(value is not None)))
        if value is not None:
            inner_write(value, parts)

    def read(content: Readable, at: int) -> tuple[Any, int]:
        present, at = _read_flag(content, at)
        return inner_read(content, at) if present else (None, at)

    return write, read


def begin_message() -> None:
    """What is read from here on is another message, with items of its own."""
    _left[0] = ITEMS_MAX


def items_read() -> int:
    """How many items the message has that was read last."""
    return ITEMS_MAX - _left[0]


def take_items(count: int) -> None:
    """The message has so many items more. Raises ProtocolError where these are too many."""
    _left[0] -= count
    if _left[0] < 0:
        raise ProtocolError(f"a message has more than {ITEMS_MAX} items")


def read_count(content: Readable, at: int) -> tuple[int, int]:
    """How many items follow, each of which takes a byte at least."""
    count, at = read_integer(content, at)
    if not 0 <= count <= min(len(content) - at, INT64_MAX):
        raise ProtocolError(f"{count} items do not fit into {len(content) - at} bytes")
    take_items(count)
    return count, at


def _many(shape: Shape, collect: Callable[[list[Any]], Any]) -> Shape:
    inner_write, inner_read = shape

    def write(values: Any, parts: Parts) -> None:
        parts.append(encode_varlong(len(values)))
        for value in values:
            inner_write(value, parts)

    def read(content: Readable, at: int) -> tuple[Any, int]:
        count, at = read_count(content, at)
        values = []
        for _ in range(count):
            value, at = inner_read(content, at)
            values.append(value)
        return collect(values), at

    return write, read


def _mapping(key: Shape, value: Shape) -> Shape:
    def collect(items: list[Any]) -> dict[Any, Any]:
        collected = dict(items)
        if len(collected) != len(items):
            raise ProtocolError("a key stands twice in a mapping")
        return collected

    write_all, read_all = _many(_tuple([key, value]), collect)
    return lambda values, parts: write_all(values.items(), parts), read_all


def _tuple(shapes: list[Shape]) -> Shape:
    writes = [shape[0] for shape in shapes]
    reads = [shape[1] for shape in shapes]

    def write(values: Any, parts: Parts) -> None:
        for inner, value in zip(writes, values, strict=True):
            inner(value, parts)

    def read(content: Readable, at: int) -> tuple[Any, int]:
        values = []
        for inner in reads:
            value, at = inner(content, at)
            values.append(value)
        return tuple(values), at

    return write, read


def _instance(cls: type, fields: list[tuple[str, Shape]]) -> Shape:
    if len(fields) < 2:
        return _small_instance(cls, fields)
    write_all, read_all = _tuple([shape for _, shape in fields])
    values_of = attrgetter(*(name for name, _ in fields))

    def write(value: Any, parts: Parts) -> None:
        write_all(values_of(value), parts)

    def read(content: Readable, at: int) -> tuple[Any, int]:
        values, at = read_all(content, at)
        return cls(*values), at

    return write, read


def _small_instance(cls: type, fields: list[tuple[str, Shape]]) -> Shape:
    if not fields:
        return (lambda _value, _parts: None), (lambda _content, at: (cls(), at))
    [(name, (inner_write, inner_read))] = fields

    def read(content: Readable, at: int) -> tuple[Any, int]:
        value, at = inner_read(content, at)
        return cls(value), at

    return (lambda value, parts: inner_write(getattr(value, name), parts)), read


def _one_of(writes: dict[type, tuple[bytes, Write]], reads: dict[int, Read]) -> Shape:
    def write(value: Any, parts: Parts) -> None:
        if value is None:
            parts.append(encode_varlong(_NONE))
        elif type(value) is list:
            parts += (encode_varlong(_LIST), encode_varlong(len(value)))
            for one in value:
                write(one, parts)
        else:
            known = writes.get(type(value))
            if known is None:
                raise ProtocolError(f"a {type(value).__name__} cannot be sent here")
            parts.append(known[0])
            known[1](value, parts)

    def read(content: Readable, at: int, depth: int = 0) -> tuple[Any, int]:
        number, at = read_integer(content, at)
        if number == _NONE:
            return None, at
        if number == _LIST:
            if depth:
                raise ProtocolError("a list of lists is expected nowhere")
            return _many((write, lambda content, at: read(content, at, 1)), list)[1](content, at)
        inner = reads.get(number)
        if inner is None:
            raise ProtocolError(f"kind {number} is unknown here")
        return inner(content, at)

    return write, read


# --- what JSON can say

_OPEN_FALSE, _OPEN_TRUE, _OPEN_INT, _OPEN_FLOAT, _OPEN_TEXT, _OPEN_LIST, _OPEN_MAP, _OPEN_LONG = range(1, 9)
_write_text, _read_text = _text(str)


def _write_open(value: Any, parts: Parts) -> None:
    if value is None or isinstance(value, bool):
        parts.append(encode_varlong(_NONE if value is None else _OPEN_TRUE if value else _OPEN_FALSE))
    elif isinstance(value, int):
        is_short = -INT64_MAX <= value <= INT64_MAX
        parts.append(encode_varlong(_OPEN_INT if is_short else _OPEN_LONG))
        (_write_integer if is_short else _write_long)(value, parts)
    elif isinstance(value, float):
        parts.append(encode_varlong(_OPEN_FLOAT))
        _write_double(value, parts)
    elif isinstance(value, str):
        parts.append(encode_varlong(_OPEN_TEXT))
        _write_text(value, parts)
    elif isinstance(value, list | tuple):
        parts += (encode_varlong(_OPEN_LIST), encode_varlong(len(value)))
        for one in value:
            _write_open(one, parts)
    elif isinstance(value, dict):
        parts += (encode_varlong(_OPEN_MAP), encode_varlong(len(value)))
        for key, one in value.items():
            _write_text(str(key), parts)
            _write_open(one, parts)
    else:
        raise ProtocolError(f"a {type(value).__name__} cannot be sent here")


def _write_long(value: int, parts: Parts) -> None:
    _write_text(str(value), parts)


def read_open(content: Readable, at: int, depth: int = 0) -> tuple[Any, int]:
    """Any value that JSON can say."""
    kind, at = read_integer(content, at)
    if kind in (_NONE, _OPEN_FALSE, _OPEN_TRUE):
        return None if kind == _NONE else kind == _OPEN_TRUE, at
    if kind in (_OPEN_LIST, _OPEN_MAP):
        return _read_open_many(content, at, depth, is_map=kind == _OPEN_MAP)
    reads: dict[int, Read] = {_OPEN_INT: read_integer, _OPEN_FLOAT: _read_double, _OPEN_TEXT: _read_text}
    if kind == _OPEN_LONG:
        spelled, at = _read_text(content, at)
        try:
            return int(spelled), at
        except ValueError:
            raise ProtocolError(f"{spelled[:40]!r} is no number") from None
    if kind not in reads:
        raise ProtocolError(f"a value of kind {kind} is unknown here")
    return reads[kind](content, at)


def _read_open_many(content: Readable, at: int, depth: int, *, is_map: bool) -> tuple[Any, int]:
    if depth >= _DEPTH_MAX:
        raise ProtocolError("values are nested too deeply")
    count, at = read_count(content, at)
    names: list[str] = []
    values: list[Any] = []
    for _ in range(count):
        if is_map:
            name, at = _read_text(content, at)
            names.append(name)
        value, at = read_open(content, at, depth + 1)
        values.append(value)
    return dict(zip(names, values, strict=True)) if is_map else values, at
