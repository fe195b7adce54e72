"""Protocol Buffers on the wire, as far as generated code does not spell it out: long varints, and what is skipped.

`v1_codec.py` and its like are generated and hold the common cases inline: a tag of one byte, a number or a length of
one or two. What is rarer comes here. It is not a codec by itself: it knows no messages and no fields.

What is refused is what Google's own implementation refuses, `tests/proto` compares the two: bytes that end too early,
tags of more than 32 bits, field number 0, wire types 6 and 7, varints of more than ten bytes, lengths of 2^31 and more,
groups that are not closed by their own number or lie more than a hundred deep. An overlong varint is no fault, and of
a tenth byte only one bit counts; so they do it, and so does this. Stricter it is in two points. They take the number 0
inside groups and in messages without fields. And entries of a map that hold more than key and value are refused here,
since implementations take them for different things: some for an entry, some for an unknown field.

Reading past the end of the buffer is left to raise IndexError, whereas the end of an inner message lies before the end
of the buffer: whoever calls compares positions with it.
"""

import struct
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias, TypeVar

Readable: TypeAlias = bytes | bytearray | memoryview
# Where the parts of a message lie, the last one first: the ones before it, begin and end.
Places: TypeAlias = tuple[Any, int, int]
Message = TypeVar("Message")

SHORT_MAX = 1 << 14
GROUPS_MAX = 100
# How many items all lists and maps of a message may hold together, unless its reader says otherwise.
ITEMS_MAX = 1 << 17
_LENGTH_MAX = (1 << 31) - 1
_UINT32_MAX = (1 << 32) - 1
_UINT64_MAX = (1 << 64) - 1
_LOW = SHORT_MAX - 1

_VARINT, _FIXED_64, _BYTES, _GROUP, _GROUP_END, _FIXED_32 = range(6)

DOUBLE = struct.Struct("<d")
FIXED32 = struct.Struct("<I")
FIXED64 = struct.Struct("<Q")
SFIXED32 = struct.Struct("<i")
SFIXED64 = struct.Struct("<q")


class WireError(ValueError):
    """Bytes that are no message of the class asked for, or a message that has no bytes; it says why in a sentence."""


class Flaw(Exception):
    """What is wrong with some bytes, before it is known of which message and field they are."""


def _short_varints() -> tuple[bytes, ...]:
    one = [bytes((low,)) for low in range(0x80)]
    return (*one, *(bytes((low | 0x80, high)) for high in range(1, 0x80) for low in range(0x80)))


# The varints of one and two bytes, and the same fourteen bits as the beginning of something longer.
SHORT = _short_varints()
_BEGUN = tuple(bytes((low | 0x80, high | 0x80)) for high in range(0x80) for low in range(0x80))


def unsigned(value: int) -> bytes:
    """A number of up to 64 bits as a varint."""
    if value < SHORT_MAX:
        return SHORT[value]
    if value < 1 << 28:
        return _BEGUN[value & _LOW] + SHORT[value >> 14]
    written = _BEGUN[value & _LOW] + _BEGUN[value >> 14 & _LOW]
    value >>= 28
    while value >= SHORT_MAX:
        written += _BEGUN[value & _LOW]
        value >>= 14
    return written + SHORT[value]


def uint32(value: int, field: str) -> bytes:
    """A uint32, by the name of its field."""
    if not 0 <= value <= _UINT32_MAX:
        raise _out_of_range(field, value, "0 to 2^32 - 1")
    return unsigned(value)


def uint64(value: int, field: str) -> bytes:
    """A uint64, by the name of its field."""
    if not 0 <= value <= _UINT64_MAX:
        raise _out_of_range(field, value, "0 to 2^64 - 1")
    return unsigned(value)


def int32(value: int, field: str) -> bytes:
    """An int32 or the number of an enum, by the name of its field: a negative one takes ten bytes."""
    if not -(1 << 31) <= value < 1 << 31:
        raise _out_of_range(field, value, "-2^31 to 2^31 - 1")
    return unsigned(value & _UINT64_MAX)


def int64(value: int, field: str) -> bytes:
    """An int64, by the name of its field: a negative one takes ten bytes."""
    if not -(1 << 63) <= value < 1 << 63:
        raise _out_of_range(field, value, "-2^63 to 2^63 - 1")
    return unsigned(value & _UINT64_MAX)


def sint32(value: int, field: str) -> bytes:
    """A sint32, by the name of its field."""
    if not -(1 << 31) <= value < 1 << 31:
        raise _out_of_range(field, value, "-2^31 to 2^31 - 1")
    return unsigned(value << 1 if value >= 0 else ~(value << 1))


def sint64(value: int, field: str) -> bytes:
    """A sint64, by the name of its field."""
    if not -(1 << 63) <= value < 1 << 63:
        raise _out_of_range(field, value, "-2^63 to 2^63 - 1")
    return unsigned(value << 1 if value >= 0 else ~(value << 1))


def texts_in_order(keys: Iterable[str]) -> list[str]:
    """The keys of a map in the order in which Google writes them when asked for the same bytes every time.

    By their bytes, and of two that begin alike the longer one first: as if they ended in a byte above all others.
    """
    return sorted(keys, key=lambda key: key.encode() + b"\xff")


def numbers_in_order(keys: Iterable[int]) -> list[int]:
    """The same of keys that are numbers: the largest first, negative ones being the largest of all."""
    return sorted(keys, key=lambda key: key & _UINT64_MAX, reverse=True)


def fixed(layout: struct.Struct, value: float, field: str) -> bytes:
    """A number of four or eight bytes, by the name of its field."""
    try:
        return layout.pack(value)
    except (OverflowError, struct.error) as error:
        raise WireError(f"{field} cannot be {value!r}: {error}") from None


def _out_of_range(field: str, value: int, bounds: str) -> WireError:
    return WireError(f"{field} cannot be {value}; it takes numbers from {bounds}")


def varint(data: Readable, at: int) -> tuple[int, int]:
    """A number of up to 64 bits, and where it ends."""
    value = data[at]
    if value < 0x80:
        return value, at + 1
    # Each byte takes back the bit by which the one before it said that more follows.
    byte = data[at + 1]
    value += (byte << 7) - 0x80
    if byte < 0x80:
        return value, at + 2
    byte = data[at + 2]
    value += (byte << 14) - 0x4000
    if byte < 0x80:
        return value, at + 3
    byte = data[at + 3]
    value += (byte << 21) - 0x200000
    if byte < 0x80:
        return value, at + 4
    byte = data[at + 4]
    value += (byte << 28) - 0x10000000
    if byte < 0x80:
        return value, at + 5
    # Six bytes are a time in milliseconds.
    byte = data[at + 5]
    value += (byte << 35) - 0x800000000
    if byte < 0x80:
        return value, at + 6
    return _long_varint(data, at + 6, value & (1 << 42) - 1)


def _long_varint(data: Readable, at: int, value: int) -> tuple[int, int]:
    """The rest of a varint of seven bytes and more, from `at` on, six having been read."""
    shift = 42
    for place in range(at, at + 4):
        byte = data[place]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & _UINT64_MAX, place + 1
        shift += 7
    raise Flaw("a varint is longer than ten bytes")


def _varint_32(data: Readable, at: int, what: str) -> tuple[int, int]:
    """Lengths and tags: never more than five bytes."""
    value = shift = 0
    for place in range(at, at + 5):
        byte = data[place]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place + 1
        shift += 7
    raise Flaw(f"{what} is longer than five bytes")


def length(data: Readable, at: int) -> tuple[int, int]:
    """The length of what follows, and where that begins."""
    size, at = _varint_32(data, at, "a length")
    if size > _LENGTH_MAX:
        raise Flaw(f"a length of {size} bytes is beyond 2^31 - 1")
    return size, at


def long_tag(data: Readable, at: int) -> tuple[int, int]:
    """A tag of more than one byte, and where it ends."""
    tag, at = _varint_32(data, at, "a tag")
    if tag > _UINT32_MAX:
        raise Flaw("a tag has more than 32 bits")
    return tag, at


def skip(data: Readable, at: int, end: int, tag: int) -> int:
    """Where the field ends whose tag was read up to `at`: one that nobody knows, or that is of another wire type."""
    at = _skip_one(data, at, end, tag)
    if tag & 7 != _GROUP:
        return at
    # Groups inside groups are counted and not recursed into: how deep they lie is the sender's choice.
    open_groups = [tag >> 3]
    while open_groups:
        tag, at = long_tag(data, at)
        if at > end:
            raise Flaw("it ends inside a group")
        if tag & 7 == _GROUP_END:
            if open_groups.pop() != tag >> 3:
                raise Flaw(f"a group is closed by the number {tag >> 3}, which did not open it")
            continue
        at = _skip_one(data, at, end, tag)
        if tag & 7 == _GROUP:
            open_groups.append(tag >> 3)
            if len(open_groups) > GROUPS_MAX:
                raise Flaw(f"groups lie more than {GROUPS_MAX} deep in one another")
    return at


def _skip_one(data: Readable, at: int, end: int, tag: int) -> int:
    """Where one value ends; of a group, where it begins."""
    kind = tag & 7
    if not tag >> 3:
        raise Flaw("a field has the number 0")
    if kind == _VARINT:
        at = varint(data, at)[1]
    elif kind == _BYTES:
        size, at = length(data, at)
        at += size
    elif kind == _FIXED_64:
        at += 8
    elif kind == _FIXED_32:
        at += 4
    elif kind == _GROUP_END:
        raise Flaw(f"a group of the number {tag >> 3} is closed, and none is open")
    elif kind != _GROUP:
        raise Flaw(f"there is no wire type {kind}")
    if at > end:
        raise Flaw("it ends inside a field")
    return at


def refused(message: str, fields: dict[int, str], tag: int, error: Exception) -> WireError:
    """The error that says which message and which of its fields could not be read, and why."""
    name = fields.get(tag >> 3)
    place = f"{message}.{name}" if name else message
    if isinstance(error, UnicodeDecodeError):
        return WireError(f"{place}: text that is not UTF-8")
    if isinstance(error, IndexError):
        return WireError(f"{place}: the bytes end too early")
    return WireError(f"{place}: {error}")


def merged(decode: Callable[..., Message], data: Readable, places: Places, room: list[int]) -> Message:
    """A message that came in several parts, `places` being the last of them behind those before it.

    What all the parts mean together is what their bytes mean one after another: that is how the format defines it.
    """
    parts: list[Readable] = []
    rest: Places | None = places
    while rest is not None:
        rest, at, end = rest
        parts.append(data[at:end])
    joined = b"".join(reversed(parts))
    return decode(memoryview(joined) if isinstance(data, memoryview) else joined, 0, len(joined), room)
