"""What the types of bodies know of their fields, for bodies that do not fit at once.

The decoder of a type is strict and fast. Where it refuses a body, this module finds out what the body may still mean: a
field that is null where it may be left out is taken for left out, and with X-Lenient a field that the type does not
have is dropped. It also tells the names that a type has at some place, for whoever misspelt one.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import inspect

_STEP = re.compile(r"\[(?P<index>[^\]]*)\]|(?P<field>[^.\[\]]+)")


def relaxed(content: Any, kind: type[Any], *, is_lenient: bool) -> Any:  # noqa: ANN401 - JSON
    """Decoded JSON without what may be left out of a body of this type."""
    return _relaxed(content, [_type_of(kind)], is_lenient=is_lenient)


def names_at(kind: type[Any], path: str) -> list[str]:
    """The names of the fields of the object at a path such as `messages[3]`; none if there is no such object."""
    types = _types_at(kind, path)
    return [field.encode_name for each in types if isinstance(each, inspect.StructType) for field in each.fields]


def words_at(kind: type[Any], path: str) -> list[str]:
    """The words that a field at a path may hold; none if it may hold others."""
    return [
        str(word) for each in _types_at(kind, path) if isinstance(each, inspect.LiteralType) for word in each.values
    ]


_TYPES: dict[type[Any], inspect.Type] = {}


def _type_of(kind: type[Any]) -> inspect.Type:
    found = _TYPES.get(kind)
    if found is None:
        found = _TYPES[kind] = inspect.type_info(kind)
    return found


def _types_at(kind: type[Any], path: str) -> list[inspect.Type]:
    types = [_type_of(kind)]
    for step in _STEP.finditer(path):
        types = [below for each in types for below in _below(each, step["field"])]
    return types


def _below(found: inspect.Type, field: str | None) -> Iterator[inspect.Type]:
    """The types of what is in a field, or without one in an item."""
    if isinstance(found, inspect.StructType):
        yield from (_each for one in found.fields if one.encode_name == field for _each in _alternatives(one.type))
    elif field is None and isinstance(found, inspect.ListType):
        yield from _alternatives(found.item_type)
    elif field is None and isinstance(found, inspect.DictType):
        yield from _alternatives(found.value_type)


def _alternatives(found: inspect.Type) -> Iterable[inspect.Type]:
    if isinstance(found, inspect.Metadata):
        return _alternatives(found.type)
    if isinstance(found, inspect.UnionType):
        return [below for each in found.types for below in _alternatives(each)]
    return [found]


def _relaxed(content: Any, types: Iterable[inspect.Type], *, is_lenient: bool) -> Any:  # noqa: ANN401 - JSON
    for found in types:
        if isinstance(content, list) and isinstance(found, inspect.ListType):
            below = _alternatives(found.item_type)
            return [_relaxed(each, below, is_lenient=is_lenient) for each in content]
        if isinstance(content, dict) and isinstance(found, inspect.DictType):
            below = _alternatives(found.value_type)
            return {name: _relaxed(each, below, is_lenient=is_lenient) for name, each in content.items()}
        if isinstance(content, dict) and isinstance(found, inspect.StructType):
            return _relaxed_fields(content, found, is_lenient=is_lenient)
    return content


def _relaxed_fields(content: dict[str, Any], found: inspect.StructType, *, is_lenient: bool) -> dict[str, Any]:
    fields = {field.encode_name: field for field in found.fields}
    kept: dict[str, Any] = {}
    for name, each in content.items():
        field = fields.get(name)
        if field is None:
            if not is_lenient:
                kept[name] = each
            continue
        below = _alternatives(field.type)
        takes_null = any(isinstance(one, inspect.NoneType | inspect.AnyType) for one in below)
        if each is not None or field.required or takes_null:
            kept[name] = _relaxed(each, below, is_lenient=is_lenient)
    return kept
