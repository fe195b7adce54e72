"""What a user puts into a message, as the bytes that travel; text is taken as UTF-8."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

Content: TypeAlias = bytes | str | bytearray | memoryview
HeadersGiven: TypeAlias = Mapping[str, Content | None] | Sequence[tuple[str, Content | None]]


def bytes_of(content: Content, name: str) -> bytes:
    """The bytes of a value, a key or a header; what may change later is copied."""
    if isinstance(content, str):
        return content.encode()
    if isinstance(content, bytes | bytearray | memoryview):
        return bytes(content)
    raise TypeError(f"a {name} is bytes or str, not {type(content).__name__}; encode it first, as JSON for example")


def headers_of(headers: HeadersGiven) -> tuple[tuple[str, bytes | None], ...]:
    """Headers as pairs, in their order."""
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    return tuple((_name(name), None if value is None else bytes_of(value, "header")) for name, value in pairs)


def _name(name: object) -> str:
    if not isinstance(name, str):
        raise TypeError(f"a header's name is str, not {type(name).__name__}")
    name.encode()
    return name
