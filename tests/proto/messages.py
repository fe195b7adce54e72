"""Random messages of betterproto's classes, and the same content in Google's: what the tests of codecs feed on."""

from typing import Any, TypeAlias

import betterproto
from hypothesis import strategies as st

from goqueue.proto.generating.fields import Field, fields_of

# A class of betterproto's, and a message of Google's, whose classes are made at run time.
Kind: TypeAlias = type[betterproto.Message]
Twin: TypeAlias = Any
Content: TypeAlias = Any

SCALARS: dict[str, st.SearchStrategy[Any]] = {
    "bool": st.booleans(),
    "int32": st.integers(-(1 << 31), (1 << 31) - 1),
    "sint32": st.integers(-(1 << 31), (1 << 31) - 1),
    "sfixed32": st.integers(-(1 << 31), (1 << 31) - 1),
    "uint32": st.integers(0, (1 << 32) - 1),
    "fixed32": st.integers(0, (1 << 32) - 1),
    "int64": st.integers(-(1 << 63), (1 << 63) - 1),
    "sint64": st.integers(-(1 << 63), (1 << 63) - 1),
    "sfixed64": st.integers(-(1 << 63), (1 << 63) - 1),
    "uint64": st.integers(0, (1 << 64) - 1),
    "fixed64": st.integers(0, (1 << 64) - 1),
    "double": st.floats(allow_nan=False),
    "string": st.text(st.characters(codec="utf-8"), max_size=20) | st.text("x", min_size=100, max_size=300),
    "bytes": st.binary(max_size=20) | st.binary(min_size=100, max_size=300) | st.just(bytes(20_000)),
}
# Where the default must come up often, to be told from nothing.
ZEROS: dict[str, Any] = {"string": "", "bytes": b"", "bool": False, "double": -0.0}


def contents(cls: Kind) -> st.SearchStrategy[dict[str, Any]]:
    """What messages of a class may hold, any of the fields set; hypothesis cannot print messages with a oneof."""
    return st.fixed_dictionaries({}, optional={field.name: _content(field) for field in fields_of(cls)})


def _content(field: Field) -> st.SearchStrategy[Any]:
    if field.entry is not None:
        key, value = field.entry
        return st.dictionaries(_values(key), _values(value), max_size=3)
    return st.lists(_values(field), max_size=3) if field.repeated else _values(field)


def _values(field: Field) -> st.SearchStrategy[Any]:
    if field.kind == "message":
        return contents(field.cls)
    if field.kind == "enum":
        return st.sampled_from([int(each) for each in field.cls]) | st.integers(-(1 << 31), (1 << 31) - 1)
    return SCALARS[field.kind] | st.just(ZEROS.get(field.kind, 0))


def message_of(cls: Kind, content: dict[str, Any]) -> betterproto.Message:
    """The message of a class that holds this; of a oneof, the last."""
    message = cls()
    for field in fields_of(cls):
        if field.name in content:
            setattr(message, field.name, _made(field, content[field.name]))
    return message


def _made(field: Field, content: Content) -> Content:
    if field.entry is not None:
        return {key: _made(field.entry[1], item) for key, item in content.items()}
    if field.kind != "message":
        return content
    if field.repeated:
        return [message_of(field.cls, item) for item in content]
    message = message_of(field.cls, content)
    # betterproto leaves out an empty message unless it is told that it was put there on purpose.
    vars(message)["_serialized_on_wire"] = True
    return message


def copy_to_google(message: betterproto.Message, twin: Twin) -> None:
    """Put the content of a message into an empty one of Google's."""
    for field in fields_of(type(message)):
        value = vars(message)[field.name]
        chosen = field.group is None or betterproto.which_one_of(message, field.group)[0] == field.name
        if value is betterproto.PLACEHOLDER or value is None or not chosen:
            continue
        name = field.name
        if field.entry is not None:
            for key, item in value.items():
                _put(getattr(twin, name), key, item)
        elif field.repeated and field.kind == "message":
            for item in value:
                copy_to_google(item, getattr(twin, name).add())
        elif field.repeated:
            getattr(twin, name).extend(value)
        elif field.kind == "message":
            getattr(twin, name).SetInParent()
            copy_to_google(value, getattr(twin, name))
        else:
            setattr(twin, name, value)


def _put(target: Twin, key: Content, item: Content) -> None:
    if isinstance(item, betterproto.Message):
        copy_to_google(item, target[key])
    else:
        target[key] = item
