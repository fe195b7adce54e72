"""Objects of the core as bytes and back: numbers, text, containers, and instances by their fields.

It is what a snapshot of a node is made of, and what an event's arguments are that have no shorter form of their own.
`core/codec` writes messages, trees whose classes declare what is in them. A node is a graph: components hold each other
and hand out bound methods, so an object that is met again is written as a reference to the first time.

    value   tag 1 | what the tag says
    number  zigzag varint of 64 bits, as in a record; one that does not fit is written in decimal
    text    the number of a text met before in this table, or the text itself, which then gets the next number
    object  the number of its class, or the class by name with its field names, then the value of each field
    batch   its size | how much of it is kept | that much: all of it, or its header alone (`skeleton`)
    run     the tag of what the batches are in | how many they are | each batch

Text and classes are numbered as they come, separately for each writer, so reader and writer keep the same tables; both
stop adding to them at the same size. What cannot be written (a closure, a file, a class of nobody's) is refused when
it is met, with its type in the sentence: a state that could not come back whole is not written at all.

Invariants: what is read is written again as the same bytes; two objects are one after reading if they were one before.
"""

import struct
from array import array
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from enum import Enum
from operator import attrgetter
from random import Random
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

from attrs import define

from goqueue.core.capture.errors import CaptureError
from goqueue.core.capture.skeleton import can_stand_for
from goqueue.core.capture.vocabulary import Vocabulary
from goqueue.core.records.batch import HEADER_BYTES
from goqueue.core.records.record import Recordless
from goqueue.core.records.varint import INT64_MAX, SPELLED, Readable, encode_varlong

TEXTS_MAX = 4096
TEXT_BYTES_MAX = 255
_FLOAT = struct.Struct("<d")
_SPELLED_END = len(SPELLED) // 2

(
    NONE, TRUE, FALSE, INTEGER, DECIMAL, FLOAT, TEXT, BYTES, BYTEARRAY, VIEW, LIST, TUPLE, DICT, DEQUE, SET, ARRAY,
    OBJECT, SAME, ENUM, NAMED, METHOD, NAMED_TUPLE, RANDOM, ORDERED_DICT, DEFAULT_DICT, BUILT_IN, RANGE, RUN,
) = range(28)  # fmt: skip

_TAGS: dict[type, int] = {bytes: BYTES, bytearray: BYTEARRAY, Recordless: BYTEARRAY, memoryview: VIEW}
# What a defaultdict is made to hold.
MADE_OF: tuple[type, ...] = (int, list, dict, set, deque, bytearray)


@define(eq=False)
class Run:
    """Batches one behind the other, to be written in the place of `content`, and which of them to keep whole."""

    content: Readable
    batches: list[tuple[Readable, bool]]


class Identity:
    """An object as a key by which it is found again: itself and no equal one."""

    __slots__ = ("_it",)

    def __init__(self, it: object) -> None:
        self._it = it

    def __hash__(self) -> int:
        # Only ever looked up, never put in order by: the numbers that come out are those of the first meeting.
        return object.__hash__(self._it)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Identity) and self._it is other._it


def number_bytes(value: int) -> bytes:
    """A number of at most 64 bits."""
    return SPELLED[value + value] if 0 <= value < _SPELLED_END else encode_varlong(value)


class ValueWriter:
    """Appends values to `out`."""

    def __init__(self, vocabulary: Vocabulary, out: bytearray, *, shares: bool = True) -> None:
        self.out = out
        # Whether an object may be met twice: arguments of a verb are trees, and finding out costs time.
        self._shares = shares
        self._vocabulary = vocabulary
        self._texts: dict[str, int] = {}
        self._classes: dict[tuple[type, tuple[str, ...]], int] = {}
        self._met: dict[Identity, int] = {}
        self._members: dict[tuple[type, Any], bytes] = {}
        self._writes: dict[type, Callable[[Any], None]] = {
            type(None): lambda _: self.out.append(NONE),
            bool: lambda value: self.out.append(TRUE if value else FALSE),
            int: self._integer,
            float: self._float,
            str: self._text,
            bytes: lambda value: self._content(BYTES, value),
            tuple: self._tuple,
            list: self._list,
            dict: lambda value: self._dict(DICT, value),
            OrderedDict: lambda value: self._dict(ORDERED_DICT, value),
            defaultdict: lambda value: self._dict(DEFAULT_DICT, value),
            bytearray: self._bytearray,
            Recordless: self._bytearray,
            memoryview: lambda value: self._content(VIEW, value),
            deque: self._deque,
            set: self._set,
            frozenset: self._set,
            array: self._array,
            range: self._range,
            Random: self._random,
            Run: self._run,
            MethodType: self._method,
            BuiltinFunctionType: self._method,
            FunctionType: self._named,
            type: self._type,
        }

    def write(self, value: Any) -> None:
        """Append one value."""
        write = self._writes.get(type(value))
        if write is None:
            write = self._learn(type(value))
        write(value)

    def number(self, value: int) -> None:
        """Append a number without a tag."""
        self.out += SPELLED[value + value] if 0 <= value < _SPELLED_END else encode_varlong(value)

    def text(self, value: str) -> None:
        """Append a text without a tag."""
        known = self._texts.get(value)
        if known is not None:
            self.out += SPELLED[known + known + 2]
            return
        spelled = value.encode("utf-8", "surrogatepass")
        self.out.append(0)
        self.number(len(spelled))
        self.out += spelled
        if len(spelled) <= TEXT_BYTES_MAX and len(self._texts) < TEXTS_MAX:
            self._texts[value] = len(self._texts)

    def batch(self, batch: Readable, *, whole: bool) -> None:
        """Append a batch without a tag; its header alone unless it must be whole, or nothing can stand for it."""
        if not whole and can_stand_for(batch):
            self.header(batch[:HEADER_BYTES], len(batch))
        else:
            self.number(len(batch))
            self.number(len(batch))
            self.out += batch

    def header(self, header: Readable, size: int) -> None:
        """Append the header of a batch for which it can stand."""
        self.number(size)
        self.number(HEADER_BYTES)
        self.out += header

    def _learn(self, cls: type) -> Callable[[Any], None]:
        write: Callable[[Any], None]
        if issubclass(cls, Enum):
            write = self._enum
        elif issubclass(cls, type):
            write = self._type
        elif issubclass(cls, tuple) and hasattr(cls, "_fields"):
            write = self._named_tuple
        else:
            self._vocabulary.name(cls)
            write = self._object_writer(cls)
        self._writes[cls] = write
        return write

    # --- plain values

    def _integer(self, value: int) -> None:
        if 0 <= value < _SPELLED_END:
            self.out.append(INTEGER)
            self.out += SPELLED[value + value]
        elif -INT64_MAX - 1 <= value <= INT64_MAX:
            self.out.append(INTEGER)
            self.out += encode_varlong(value)
        else:
            self._content(DECIMAL, str(value).encode())

    def _float(self, value: float) -> None:
        self.out.append(FLOAT)
        self.out += _FLOAT.pack(value)

    def _text(self, value: str) -> None:
        self.out.append(TEXT)
        self.text(value)

    def _content(self, tag: int, value: bytes | bytearray | memoryview) -> None:
        self.out.append(tag)
        self.number(len(value))
        self.out += value

    def _run(self, run: Run) -> None:
        self.out.append(RUN)
        self.out.append(_TAGS[type(run.content)])
        self.number(len(run.batches))
        for batch, whole in run.batches:
            self.batch(batch, whole=whole)

    # --- containers

    def _tuple(self, value: tuple[Any, ...]) -> None:
        self.out.append(TUPLE)
        self._items(value)

    def _items(self, values: Any) -> None:
        self.number(len(values))
        for value in values:
            self.write(value)

    def _is_met(self, value: object) -> bool:
        if not self._shares:
            return False
        key = Identity(value)
        number = self._met.get(key)
        if number is None:
            self._met[key] = len(self._met)
            return False
        self.out.append(SAME)
        self.number(number)
        return True

    def _list(self, value: list[Any]) -> None:
        if not self._is_met(value):
            self.out.append(LIST)
            self._items(value)

    def _dict(self, tag: int, value: dict[Any, Any]) -> None:
        if not self._is_met(value):
            self.out.append(tag)
            if isinstance(value, defaultdict):
                self.write(value.default_factory)
            self.number(len(value))
            for key, held in value.items():
                self.write(key)
                self.write(held)

    def _deque(self, value: deque[Any]) -> None:
        if not self._is_met(value):
            self.out.append(DEQUE)
            self.write(value.maxlen)
            self._items(value)

    def _set(self, value: set[Any] | frozenset[Any]) -> None:
        if not self._is_met(value):
            self.out.append(SET)
            self.write(isinstance(value, frozenset))
            self._items(sorted(value))

    def _bytearray(self, value: bytearray) -> None:
        if not self._is_met(value):
            self._content(BYTEARRAY, value)

    def _array(self, value: "array[Any]") -> None:
        if not self._is_met(value):
            self.out.append(ARRAY)
            self.out += value.typecode.encode()
            self.number(len(value))
            self.out += value.tobytes()

    def _range(self, value: range) -> None:
        self.out.append(RANGE)
        self._items((value.start, value.stop, value.step))

    def _random(self, value: Random) -> None:
        if not self._is_met(value):
            self.out.append(RANDOM)
            self.write(value.getstate())

    # --- what has a name

    def _named(self, value: Any) -> None:
        name = self._vocabulary.name(value)
        self.out.append(NAMED)
        self.text(name)

    def _type(self, value: type) -> None:
        if value in MADE_OF:
            self.out.append(BUILT_IN)
            self.number(MADE_OF.index(value))
        else:
            self._named(value)

    def _method(self, value: Any) -> None:
        if not hasattr(type(value.__self__), value.__name__):
            raise CaptureError(f"{value!r} cannot be captured")
        self.out.append(METHOD)
        self.text(value.__name__)
        self.write(value.__self__)

    def _enum(self, value: Enum) -> None:
        # Members of two classes may be equal, as texts and numbers are.
        key = type(value), value.value
        spelled = self._members.get(key)
        if spelled is not None:
            self.out += spelled
            return
        for _ in range(2):
            # Only the second spelling speaks of the class and of a text as known ones, and is the same from then on.
            begun = len(self.out)
            self.out.append(ENUM)
            self._class(type(value), ())
            self.write(value.value)
        self._members[key] = bytes(self.out[begun:])
        del self.out[begun:]

    def _named_tuple(self, value: Any) -> None:
        self.out.append(NAMED_TUPLE)
        self._class(type(value), value._fields)
        for field in value:
            self.write(field)

    def _class(self, cls: type, fields: tuple[str, ...]) -> None:
        key = cls, fields
        known = self._classes.get(key)
        if known is not None:
            self.number(known)
            return
        name = self._vocabulary.name(cls)
        self.number(len(self._classes))
        self._classes[key] = len(self._classes)
        self.text(name)
        self.number(len(fields))
        for field in fields:
            self.text(field)

    def _object_writer(self, cls: type) -> Callable[[Any], None]:
        slots = slot_names(cls)
        if "__dict__" in dir(cls) or not slots:
            return lambda value: self._object(value, (*slots, *held_names(value)))
        read = attrgetter(*slots) if len(slots) > 1 else (lambda value: (getattr(value, slots[0]),))

        def write(value: Any) -> None:
            if not self._is_met(value):
                self.out.append(OBJECT)
                self._class(cls, slots)
                for field in read(value):
                    self.write(field)

        return write

    def _object(self, value: Any, fields: tuple[str, ...]) -> None:
        if not self._is_met(value):
            self.out.append(OBJECT)
            self._class(type(value), fields)
            for field in fields:
                self.write(getattr(value, field))


def slot_names(cls: type) -> tuple[str, ...]:
    """The fields that a class and those above it declare as slots."""
    names: list[str] = []
    for one in reversed(cls.__mro__):
        declared = one.__dict__.get("__slots__", ())
        names += [declared] if isinstance(declared, str) else declared
    return tuple(name for name in names if name not in ("__weakref__", "__dict__"))


def held_names(value: object) -> tuple[str, ...]:
    """The fields of an instance that are no slots, without what its class or `typing` has there for itself."""
    held = getattr(value, "__dict__", None)
    left_out = ("__orig_class__", *getattr(type(value), "UNCAPTURED", ()))
    return tuple(name for name in held if name not in left_out) if held else ()
