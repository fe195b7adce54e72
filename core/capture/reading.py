"""The other half of `values`: bytes back into objects, for content that its block's CRC has vouched for.

The bytes may still come from another release, or from somebody who means harm: whatever they are, CaptureError is all
that is raised, no code runs but that which puts fields into the core's own classes, and no count is believed that the
bytes left could not hold.
"""

import struct
from array import array
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from functools import partial
from random import Random
from types import MethodType
from typing import Any

from attrs import define

from goqueue.core.capture import values
from goqueue.core.capture.errors import CaptureError, OtherRelease
from goqueue.core.capture.skeleton import WORTH_BYTES, stand_in
from goqueue.core.capture.values import TEXT_BYTES_MAX, TEXTS_MAX, slot_names
from goqueue.core.capture.vocabulary import Vocabulary
from goqueue.core.errors import ProtocolError
from goqueue.core.records.batch import HEADER_BYTES
from goqueue.core.records.varint import decode_varlong

_FLOAT = struct.Struct("<d")
_TYPECODES = "bBhHiIlLqQfd"
# What a batch or a fetch may come to at most: a length is 32 bits with a sign.
_CONTENT_BYTES_MAX = 1 << 31

# What wrong bytes lead to while they are read; a wrong program would, too, but not in bytes that it wrote itself.
READ_ERRORS = (
    IndexError, KeyError, ValueError, TypeError, AttributeError, OverflowError, RecursionError, struct.error,
    ProtocolError,
)  # fmt: skip


@define
class _Class:
    cls: Any
    fields: list[str]


class ValueReader:
    """Takes values from a content, one after another; its tables last as long as it does."""

    def __init__(self, vocabulary: Vocabulary, content: bytes = b"") -> None:
        self._vocabulary = vocabulary
        self._content = content
        self.at = 0
        self._texts: list[str] = []
        self._classes: list[_Class] = []
        self._met: list[Any] = []
        self._reads: dict[int, Callable[[], Any]] = {
            values.NONE: lambda: None,
            values.TRUE: lambda: True,
            values.FALSE: lambda: False,
            values.INTEGER: self.number,
            values.DECIMAL: lambda: int(self.content()),
            values.FLOAT: self._float,
            values.TEXT: self.text,
            values.BYTES: self.content,
            values.BYTEARRAY: lambda: self._meet(bytearray(self.content())),
            values.VIEW: lambda: memoryview(bytearray(self.content())),
            values.LIST: self._list,
            values.TUPLE: lambda: tuple([self.read() for _ in range(self.count())]),
            values.DICT: lambda: self._dict({}),
            values.ORDERED_DICT: lambda: self._dict(OrderedDict()),
            values.DEFAULT_DICT: self._default_dict,
            values.BUILT_IN: lambda: values.MADE_OF[self.count()],
            values.DEQUE: self._deque,
            values.SET: self._set,
            values.ARRAY: self._array,
            values.RANGE: lambda: range(*[self.read() for _ in range(self.count())]),
            values.OBJECT: self._object,
            values.SAME: lambda: self._met[self.count()],
            values.ENUM: self._enum,
            values.NAMED: lambda: self._vocabulary.thing(self.text()),
            values.METHOD: self._method,
            values.NAMED_TUPLE: self._named_tuple,
            values.RANDOM: self._random,
            values.RUN: self._run,
        }

    def feed(self, content: bytes) -> None:
        """Go on in another content."""
        assert self.is_done()
        self._content = content
        self.at = 0

    def is_done(self) -> bool:
        """Whether all of the content was taken."""
        return self.at == len(self._content)

    def read(self) -> Any:
        """The next value; objects met in it are remembered until `forget`."""
        tag = self._content[self.at]
        self.at += 1
        return self._reads[tag]()

    def forget(self) -> None:
        """Objects met from here on are not those met before."""
        self._met.clear()

    def byte(self) -> int:
        """The next byte."""
        self.at += 1
        return self._content[self.at - 1]

    def number(self) -> int:
        """A number without a tag."""
        first = self._content[self.at]
        if first < 0x80:
            self.at += 1
            return (first >> 1) ^ -(first & 1)
        value, self.at = decode_varlong(self._content, self.at)
        return value

    def count(self) -> int:
        """A number of things that are still to come, each of at least one byte."""
        count = self.number()
        if not 0 <= count <= len(self._content):
            raise CaptureError(f"{count} things do not fit into {len(self._content)} bytes")
        return count

    def text(self) -> str:
        """A text without a tag."""
        known = self.number()
        if known > 0:
            return self._texts[known - 1]
        spelled = self.content()
        text = spelled.decode("utf-8", "surrogatepass")
        if len(spelled) <= TEXT_BYTES_MAX and len(self._texts) < TEXTS_MAX:
            self._texts.append(text)
        return text

    def content(self) -> bytes:
        """Bytes behind their length."""
        return self.exactly(self.number())

    def exactly(self, size: int) -> bytes:
        """That many bytes."""
        if not 0 <= size <= len(self._content) - self.at:
            raise CaptureError(f"{size} bytes are claimed where {len(self._content) - self.at} are left")
        self.at += size
        return self._content[self.at - size : self.at]

    def extent(self) -> tuple[int, bytes]:
        """How long a batch or what a read brought is, and what is kept of that: all of it, or its head."""
        size, kept = self.number(), self.number()
        if not kept <= size <= _CONTENT_BYTES_MAX or (kept < size and kept != HEADER_BYTES):
            raise CaptureError(f"{kept} bytes are kept of {size}")
        return size, self.exactly(kept)

    def batch(self) -> bytearray:
        """A batch without a tag, or what stands for it."""
        size, kept = self.extent()
        if len(kept) == size:
            return bytearray(kept)
        if size < WORTH_BYTES:
            raise CaptureError(f"nothing stands for a batch of {size} bytes")
        return stand_in(kept, size)

    def _run(self) -> bytes | bytearray | memoryview:
        tag = self.byte()
        content, count = bytearray(), self.count()
        if count == 1:
            # What it is known to have passed is known of it alone.
            content, count = self.batch(), 0
        for _ in range(count):
            content += self.batch()
            if len(content) > _CONTENT_BYTES_MAX:
                raise CaptureError(f"batches of more than {_CONTENT_BYTES_MAX} bytes cannot have come at once")
        if tag == values.BYTEARRAY:
            return content
        return bytes(content) if tag == values.BYTES else memoryview(content)

    def _float(self) -> float:
        (value,) = _FLOAT.unpack(self.exactly(8))
        return float(value)

    def _meet(self, thing: Any) -> Any:
        self._met.append(thing)
        return thing

    # --- containers

    def _list(self) -> list[Any]:
        filled: list[Any] = self._meet([])
        for _ in range(self.count()):
            filled.append(self.read())  # noqa: PERF401 - an item may speak of the list that holds it
        return filled

    def _default_dict(self) -> dict[Any, Any]:
        number = len(self._met)
        self._met.append(None)
        filled: dict[Any, Any] = defaultdict(self.read())
        self._met[number] = filled
        return self._fill(filled)

    def _dict(self, filled: dict[Any, Any]) -> dict[Any, Any]:
        return self._fill(self._meet(filled))

    def _fill(self, filled: dict[Any, Any]) -> dict[Any, Any]:
        for _ in range(self.count()):
            key = self.read()
            filled[key] = self.read()
        return filled

    def _deque(self) -> deque[Any]:
        number = len(self._met)
        self._met.append(None)
        filled: deque[Any] = deque(maxlen=self.read())
        self._met[number] = filled
        for _ in range(self.count()):
            filled.append(self.read())
        return filled

    def _set(self) -> set[Any] | frozenset[Any]:
        number = len(self._met)
        self._met.append(None)
        is_frozen = self.read()
        members = [self.read() for _ in range(self.count())]
        self._met[number] = frozenset(members) if is_frozen else set(members)
        found: set[Any] | frozenset[Any] = self._met[number]
        return found

    def _array(self) -> "array[Any]":
        typecode = chr(self.byte())
        if typecode not in _TYPECODES:
            raise CaptureError(f"{typecode!r} is no kind of array")
        filled: array[Any] = array(typecode)
        count = self.number()
        filled.frombytes(self.exactly(count * filled.itemsize))
        self._meet(filled)
        return filled

    def _random(self) -> Random:
        generator: Random = self._meet(Random(0))
        generator.setstate(self.read())
        return generator

    # --- what has a name

    def _method(self) -> Any:
        name = self.text()
        owner = self.read()
        return MethodType(getattr(type(owner), name), owner) if _is_of_core(owner) else getattr(owner, name)

    def _enum(self) -> Any:
        return self._class().cls(self.read())

    def _named_tuple(self) -> Any:
        known = self._class()
        return known.cls._make([self.read() for _ in known.fields])

    def _class(self) -> _Class:
        number = self.number()
        if 0 <= number < len(self._classes):
            return self._classes[number]
        if number != len(self._classes):
            raise CaptureError(f"class {number} was not introduced")
        cls = self._vocabulary.thing(self.text())
        fields = [self.text() for _ in range(self.count())]
        known = _Class(cls, fields)
        slots = slot_names(cls)
        if slots and tuple(fields[: len(slots)]) != slots:
            raise OtherRelease(f"{cls.__qualname__} had other fields in the release that wrote this: {fields}")
        self._classes.append(known)
        return known

    def _object(self) -> Any:
        number = len(self._met)
        self._met.append(None)
        known = self._class()
        thing = self._met[number] = known.cls.__new__(known.cls)
        put = partial(object.__setattr__, thing)
        for field in known.fields:
            put(field, self.read())
        return thing


def _is_of_core(owner: object) -> bool:
    return type(owner).__module__ != "builtins"
