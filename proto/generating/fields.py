"""What generated code must know of a message: its fields as betterproto's classes describe them, and their kinds."""

import re
from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import Any

import betterproto
from attrs import define

FIXED = {
    "double": ("DOUBLE", 1, 8), "fixed32": ("FIXED32", 5, 4),
    "fixed64": ("FIXED64", 1, 8), "sfixed32": ("SFIXED32", 5, 4), "sfixed64": ("SFIXED64", 1, 8),
}  # fmt: skip
DELIMITED = frozenset(("string", "bytes", "message", "map"))
_ZEROS = {"string": '""', "bytes": 'b""', "bool": "False", "double": "0.0"}


@define
class Field:
    """One field of a message as generated code needs it; `owner` is the class, or the map, that it belongs to."""

    owner: str
    name: str
    number: int
    kind: str
    repeated: bool = False
    optional: bool = False
    group: str | None = None
    # The class of a message or an enum.
    cls: Any = None
    entry: "tuple[Field, Field] | None" = None

    @property
    def place(self) -> str:
        """Its name for people."""
        return f"{self.owner}.{self.name}"

    @property
    def tag(self) -> int:
        """Its tag when it is written; packed for numbers in a list."""
        return self.number << 3 | (2 if self.repeated else self.item_wire_type)

    @property
    def item_wire_type(self) -> int:
        """The wire type of one item."""
        if self.kind in DELIMITED:
            return 2
        return FIXED[self.kind][1] if self.kind in FIXED else 0

    @property
    def has_presence(self) -> bool:
        """Whether it can be there with its default."""
        return self.optional or self.group is not None or self.kind == "message"

    @property
    def blank(self) -> str:
        """What a message holds that came without it."""
        if self.repeated:
            return "[]"
        if self.kind == "map":
            return "{}"
        if self.optional:
            return "None"
        if self.group is not None or self.kind == "message":
            return "UNSET"
        return f"{self.cls.__name__}_0" if self.kind == "enum" else _ZEROS.get(self.kind, "0")


def snake(name: str) -> str:
    """A class's name as part of a function's."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def fields_of(cls: Any) -> list[Field]:  # noqa: ANN401 - a class whose metaclass mypy does not see through
    """The fields of one of betterproto's classes, by number."""
    described = cls._betterproto
    fields = []
    for name, meta in described.meta_by_field_name.items():
        assert not meta.wraps, f"{cls.__name__}.{name} is one of Google's wrappers, which no message here needs"
        assert meta.proto_type != "float", f"{cls.__name__}.{name} is a float, whose NaNs do not survive: use a double"
        kind = described.cls_by_field[name] if meta.proto_type in ("message", "enum") else None
        field = Field(cls.__name__, name, meta.number, meta.proto_type, optional=bool(meta.optional), cls=kind)
        field.repeated = described.default_gen[name] is list
        # An optional field is a group of one in the file, and no group at all to a reader.
        field.group = None if field.optional else meta.group
        if meta.map_types:
            value = described.cls_by_field[f"{name}.value"] if meta.map_types[1] in ("message", "enum") else None
            field.entry = (
                Field(field.place, "key", 1, meta.map_types[0]),
                Field(field.place, "value", 2, meta.map_types[1], cls=value),
            )
        fields.append(field)
    return sorted(fields, key=lambda field: field.number)


def classes_in(module: ModuleType) -> list[type[betterproto.Message]]:
    """The messages of a generated module, in its order."""
    return [
        cls
        for cls in vars(module).values()
        if isinstance(cls, type) and issubclass(cls, betterproto.Message) and cls.__module__ == module.__name__
    ]


def indented(lines: Iterable[str], depth: int = 1) -> Iterator[str]:
    """Lines of code, further in."""
    for line in lines:
        yield "    " * depth + line
