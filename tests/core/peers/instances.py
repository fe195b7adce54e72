"""Any instance of any class, made from the annotations of its fields."""

import types
from enum import Enum
from typing import Any, Union, get_args, get_origin, get_type_hints

import attrs
from hypothesis import strategies as st

from goqueue.core.requests.row import Request
from goqueue.core.requests.table import SENT

int64 = st.integers(-(1 << 63), (1 << 63) - 1)
json_values: st.SearchStrategy[object] = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 70), 1 << 70) | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)
_PLAIN: dict[Any, st.SearchStrategy[Any]] = {
    int: int64,
    bool: st.booleans(),
    float: st.floats(allow_nan=False),
    str: st.text(max_size=12),
    bytes: st.binary(max_size=20),
    bytearray: st.builds(bytearray, st.binary(max_size=20)),
    memoryview: st.builds(bytearray, st.binary(max_size=20)),
    object: json_values,
    type(None): st.none(),
}


def values(hint: Any) -> st.SearchStrategy[Any]:  # noqa: ANN401 - whatever an annotation may be
    """Values of what is annotated so."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return st.one_of([values(argument) for argument in arguments])
    if origin is list:
        return st.lists(values(arguments[0]), max_size=3)
    if origin is dict:
        return st.dictionaries(values(arguments[0]), values(arguments[1]), max_size=3)
    if origin is tuple and arguments[1:] == (...,):
        return st.lists(values(arguments[0]), max_size=3).map(tuple)
    if origin is tuple:
        return st.tuples(*(values(argument) for argument in arguments))
    if hint in _PLAIN:
        return _PLAIN[hint]
    if hint is Request:
        return st.one_of([instances(cls) for cls in SENT])
    if issubclass(hint, Enum):
        return st.sampled_from(hint)
    return instances(hint)


def instances(cls: type) -> st.SearchStrategy[Any]:
    """Instances of an attrs class."""
    hints = get_type_hints(cls)
    return st.builds(cls, *(values(hints[each.name]) for each in attrs.fields(cls)))
