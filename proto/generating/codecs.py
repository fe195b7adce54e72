"""Writes the source of a strict codec for betterproto's classes: for each an `encode_…` and a `decode_…` of its own.

What it writes does what betterproto does, for the same classes, without going through their attributes, which cost a
microsecond each to read: instances keep their fields in `__dict__`, unset ones as PLACEHOLDER, and beside them
`_serialized_on_wire`, `_unknown_fields` and `_group_current`. Fields without presence are filled with their defaults,
which spares their readers the making of them.

A class that contains itself is refused here: its decoder would recurse as deep as a sender likes.
"""

from types import ModuleType
from typing import Any

import betterproto

from goqueue.proto.generating.decoders import decoder
from goqueue.proto.generating.encoders import encoder
from goqueue.proto.generating.fields import classes_in, fields_of, snake

_HEAD = '''\
"""Encoders and decoders of the messages in `{module}`, strict and fast. `goqueue.proto.codec` is the way in."""

from collections.abc import Callable
from typing import Any

from betterproto import PLACEHOLDER as UNSET
from betterproto import Message

from {module} import {classes}
from goqueue.proto.wire import (
    DOUBLE, FIXED32, FIXED64, ITEMS_MAX, SFIXED32, SFIXED64, SHORT, SHORT_MAX, Flaw, fixed, int32, int64, length,
    long_tag, merged, numbers_in_order, refused, sint32, sint64, skip, texts_in_order, uint32, uint64, unsigned, varint,
)

new = object.__new__
fields_of = Message.__dict__["__dict__"].__get__
fill = Message.__dict__["__dict__"].__set__
CUT = "it ends inside a field"
CROWDED = "its lists hold too many items"
STRANGE = "an entry of a map has more than a key and a value"
'''


def codec_source(module: ModuleType, name: str) -> str:
    """The source of the codec for the messages of a module, which is imported there by `name`."""
    classes = classes_in(module)
    _refuse_cycles(classes)
    enums: dict[str, Any] = {}
    for cls in classes:
        for field in fields_of(cls):
            for each in (field, *(field.entry or ())):
                if each.kind == "enum":
                    enums[each.cls.__name__] = each.cls
    imported = ", ".join(sorted([cls.__name__ for cls in classes] + list(enums)))
    lines = [_HEAD.format(module=name, classes=f"(\n    {imported},\n)" if "," in imported else imported)]
    for enum in enums:
        lines += [f"{enum}_0 = {enum}.try_value(0)", f"{enum}_known = {{int(each): each for each in {enum}}}"]
    for cls in classes:
        lines += encoder(cls)
        lines += decoder(cls)
    lines += ["", "", "CODES: dict[Any, tuple[Callable[[Any], bytes], Callable[..., Any]]] = {"]
    lines += [f"    {cls.__name__}: (encode_{snake(cls.__name__)}, decode_{snake(cls.__name__)})," for cls in classes]
    return "\n".join([*lines, "}", ""])


def _refuse_cycles(classes: list[type[betterproto.Message]]) -> None:
    inner = {
        cls: [each.cls for field in fields_of(cls) for each in (field, *(field.entry or ())) if each.kind == "message"]
        for cls in classes
    }
    safe: set[Any] = set()
    while found := [cls for cls in classes if cls not in safe and safe.issuperset(inner[cls])]:
        safe.update(found)
    cyclic = [cls.__name__ for cls in classes if cls not in safe]
    assert not cyclic, f"messages that contain themselves, or others elsewhere, are not supported: {cyclic}"
