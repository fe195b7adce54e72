"""attrs classes as bytes and back: one codec for whatever the core persists or sends to a peer.

A message is the number of its class, a version, and the fields in the order in which the class declares them, each as
its annotation says (`shapes.py`). A newer version than known is refused; fields may only be added at the end, with a
default, together with a higher version, so that an older writer's bytes still decode.

Records on the disk are flat, and of an older one the last fields are just not there. A message for a peer has others
in it, so there each field that was added says since when (`shapes.since`), and is neither written for a peer of an
older version nor expected of it.
"""

from typing import Any

import attrs
from attrs import define

from goqueue.core.codec.shapes import Parts, Read, Shapes, Special, Write, begin_message
from goqueue.core.errors import ProtocolError
from goqueue.core.records.varint import Readable, decode_varlong, encode_varlong

__all__ = ["Codec"]


@define
class _Kind:
    """How a class is written and read in one version."""

    number: int
    cls: type
    begins: bytes
    names: list[str]
    writes: list[Write]
    reads: list[Read]
    required: int


class _Edition:
    """All classes as they are in one version."""

    def __init__(self, version: int, classes: dict[int, type], inner: dict[type, int], special: Special) -> None:
        shapes = Shapes(version, inner, special)
        self.by_number = {number: _kind(shapes, number, version, cls) for number, cls in classes.items()}
        self.by_class = {kind.cls: kind for kind in self.by_number.values()}


class Codec:
    """A set of classes that can be told apart by their numbers."""

    def __init__(
        self,
        classes: dict[int, type],
        version: int = 1,
        special: Special | None = None,
        oldest: int = 1,
        inner: dict[type, int] | None = None,
    ) -> None:
        assert 0 < oldest <= version
        self.version = version
        self.oldest = oldest
        self._classes = classes
        self._special = special or {}
        # The numbers of classes within messages, where a field may hold one of several.
        self._inner = inner or {}
        self._editions = {version: self._make_edition(version)}

    def encode(self, message: object) -> bytes:
        """The bytes of a message of a known class."""
        return b"".join(self._written(message, self.version))

    def pieces(self, message: object, version: int) -> list[Readable]:
        """The bytes of a message for whoever reads a version; what is large in it is not copied."""
        return self._written(message, version).joined()

    def _written(self, message: object, version: int) -> Parts:
        kind = self._edition(version).by_class.get(type(message))
        if kind is None:
            raise ProtocolError(f"a {type(message).__name__} cannot be sent")
        parts = Parts()
        parts.append(kind.begins)
        try:
            for name, write in zip(kind.names, kind.writes, strict=True):
                write(getattr(message, name), parts)
        except UnicodeEncodeError as error:
            raise ProtocolError(f"a text in a {type(message).__name__} has no UTF-8: {error.reason}") from None
        return parts

    def _edition(self, version: int) -> _Edition:
        edition = self._editions.get(version)
        if edition is None:
            assert self.oldest <= version <= self.version, f"version {version} is not written"
            edition = self._editions[version] = self._make_edition(version)
        return edition

    def _make_edition(self, version: int) -> _Edition:
        return _Edition(version, self._classes, self._inner, self._special)

    def decode(self, content: Readable) -> Any:
        """The message in `content`, or ProtocolError."""
        begin_message()
        number, at = decode_varlong(content, 0)
        version, at = decode_varlong(content, at)
        newest = self._editions[self.version].by_number.get(number)
        if newest is None:
            raise ProtocolError(f"message kind {number} is unknown to this release")
        name = newest.cls.__name__
        if not self.oldest <= version <= self.version:
            raise ProtocolError(f"{name} has version {version}, this release reads up to {self.version}")
        kind = self._edition(version).by_number[number]
        values: list[Any] = []
        for read in kind.reads:
            if version < self.version and at == len(content) and len(values) >= kind.required:
                break
            value, at = read(content, at)
            values.append(value)
        if at != len(content):
            raise ProtocolError(f"{len(content) - at} bytes follow a {name}")
        return kind.cls(*values)


def _kind(shapes: Shapes, number: int, version: int, cls: type) -> _Kind:
    fields = shapes.fields(cls)
    required = sum(each.default is attrs.NOTHING for each in attrs.fields(cls))
    names = [name for name, _ in fields]
    begins = encode_varlong(number) + encode_varlong(version)
    return _Kind(
        number, cls, begins, names, [shape[0] for _, shape in fields], [shape[1] for _, shape in fields], required
    )
