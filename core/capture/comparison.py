"""Where two states first differ: the path from the top, and what stands there on either side."""

from array import array
from collections import deque
from collections.abc import Iterable
from random import Random
from types import BuiltinFunctionType, FunctionType, MethodType

from attrs import define

from goqueue.core.capture.digest import HEAD_BYTES, readable
from goqueue.core.capture.values import Identity, held_names, slot_names
from goqueue.core.errors import BatchError
from goqueue.core.records.batch import split

_TEXT_MAX = 200
_BUFFERS = (bytes, bytearray, memoryview)
_PLAIN = (type(None), bool, int, float, str, set, frozenset, array, type, FunctionType)


@define
class Difference:
    """One place in two states."""

    path: str
    expected: str
    actual: str


def first_difference(expected: object, actual: object) -> Difference | None:
    """The place nearest to the top where two states differ; None when there is none."""
    waiting = deque([("node", expected, actual)])
    met: set[Identity] = set()
    while waiting:
        path, left, right = waiting.popleft()
        if isinstance(left, _BUFFERS) and isinstance(right, _BUFFERS):
            if left != right and _told_apart_by(left) != _told_apart_by(right):
                return Difference(path, _text(left), _text(right))
            continue
        if type(left) is not type(right):
            return Difference(path, _text(left), _text(right))
        if isinstance(left, _PLAIN):
            if left != right:
                return Difference(path, _text(left), _text(right))
            continue
        if (key := Identity(left)) in met:
            continue
        met.add(key)
        names, lefts, rights = [*_names(left)], [*_parts(left)], [*_parts(right)]
        if names != [*_names(right)]:
            return Difference(path, _text(names), _text([*_names(right)]))
        waiting.extend((path + name, one, other) for name, one, other in zip(names, lefts, rights, strict=True))
    return None


def _told_apart_by(buffer: bytes | bytearray | memoryview) -> tuple[int, list[bytes]]:
    """Batches on their way through a node have stand-ins in a replay, which are right in their heads and lengths."""
    try:
        heads = [bytes(batch[:HEAD_BYTES]) for batch in split(buffer)]
    except BatchError:
        heads = [bytes(buffer) if isinstance(buffer, bytes) else bytes(buffer[:HEAD_BYTES])]
    return len(buffer), heads


def _names(thing: object) -> Iterable[str]:
    """How the parts of a thing are spoken of."""
    if isinstance(thing, dict):
        return [f"[{key if isinstance(key, type) else readable(key)}]" for key in thing]
    if isinstance(thing, list | tuple | deque):
        return [f"[{at}]" for at in range(len(thing))]
    if isinstance(thing, MethodType | BuiltinFunctionType):
        return [f".{thing.__name__} of "]
    if isinstance(thing, Random):
        return [".state"]
    return [f".{name}" for name in _fields(thing)]


def _parts(thing: object) -> Iterable[object]:
    if isinstance(thing, dict):
        return thing.values()
    if isinstance(thing, list | tuple | deque):
        return thing
    if isinstance(thing, MethodType | BuiltinFunctionType):
        return [thing.__self__]
    if isinstance(thing, Random):
        return [thing.getstate()]
    return [getattr(thing, name) for name in _fields(thing)]


def _fields(thing: object) -> tuple[str, ...]:
    return (*slot_names(type(thing)), *held_names(thing))


def _text(value: object) -> str:
    return readable(value)[:_TEXT_MAX]
