"""Messages as lines: their values, keys and values, JSON objects, or whatever a format says."""

import base64
import json
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Protocol

FORMS = ("value", "keyed", "json")
_ESCAPES = {"n": b"\n", "t": b"\t", "0": b"\0", "\\": b"\\"}
_ENCODE = json.JSONEncoder(ensure_ascii=False).encode
_PIECE = re.compile(r"%(.?)|\\([nt0\\])", re.DOTALL)


class Printable(Protocol):
    """What is printed of a message."""

    @property
    def topic(self) -> str:
        """The topic it came from."""

    @property
    def partition(self) -> int:
        """The partition it came from."""

    @property
    def priority(self) -> str:
        """Its lane."""

    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None

    @property
    def header_pairs(self) -> tuple[tuple[str, bytes | None], ...]:
        """All its headers, in their order."""


Rendering = Callable[[Sequence[Printable]], list[bytes]]


def values(messages: Sequence[Printable]) -> list[bytes]:
    """Their values."""
    return [message.value or b"" for message in messages]


def keyed(separator: bytes) -> Rendering:
    """Their keys and values."""

    def render(messages: Sequence[Printable]) -> list[bytes]:
        return [b"%b%b%b" % (message.key or b"", separator, message.value or b"") for message in messages]

    return render


def objects(messages: Sequence[Printable]) -> list[bytes]:
    """JSON objects, one each, as `goqueue produce --json` reads them."""
    return [_ENCODE(_object(message)).encode() for message in messages]


def formatted(template: str) -> Rendering:
    """What a format says; ValueError with a sentence if it says what there is not."""
    pieces: list[bytes | Callable[[Printable], bytes]] = []
    end = 0
    for found in _PIECE.finditer(template):
        pieces.append(template[end : found.start()].encode("utf-8", "surrogateescape"))
        end = found.end()
        letter, escape = found.groups()
        if escape is not None:
            pieces.append(_ESCAPES[escape])
        elif letter in FIELDS:
            pieces.append(FIELDS[letter][1])
        else:
            known = ", ".join(f"%{each} {what}" for each, (what, _) in FIELDS.items())
            raise ValueError(f"'%{letter}' means nothing in a format; there are {known}")
    pieces.append(template[end:].encode("utf-8", "surrogateescape"))

    def render(messages: Sequence[Printable]) -> list[bytes]:
        return [
            b"".join([piece if isinstance(piece, bytes) else piece(message) for piece in pieces])
            for message in messages
        ]

    return render


def rfc3339(timestamp_ms: int) -> str | None:
    """A point in time as JSON has it; None where a message bears none, or one that no calendar knows."""
    seconds, milliseconds = divmod(timestamp_ms, 1000)
    second = _second(seconds)
    return None if second is None else f"{second}.{milliseconds:03d}Z"


@lru_cache(1024)
def _second(seconds: int) -> str | None:
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat()[:19] if seconds >= 0 else None
    except (ValueError, OverflowError, OSError):
        return None


def _object(message: Printable) -> dict[str, object]:
    found: dict[str, object] = {
        "topic": message.topic,
        "partition": message.partition,
        "offset": message.offset,
        "timestamp": rfc3339(message.timestamp_ms),
    }
    try:
        found["key"], found["value"] = _text(message.key), _text(message.value)
    except UnicodeDecodeError:
        found["key"], found["value"] = _armoured(message.key), _armoured(message.value)
        found["encoding"] = "base64"
    if message.priority != "normal":
        found["priority"] = message.priority
    if hasattr(message, "attempt"):
        found["attempt"] = message.attempt
    pairs = message.header_pairs
    try:
        found["headers"] = {name: _text(content) for name, content in pairs}
    except UnicodeDecodeError:
        found["headers"] = {name: _armoured(content) for name, content in pairs}
        found["headers_encoding"] = "base64"
    return found


def _text(content: bytes | None) -> str | None:
    return None if content is None else content.decode()


def _armoured(content: bytes | None) -> str | None:
    return None if content is None else base64.b64encode(content).decode()


def _attempt(message: Printable) -> bytes:
    """Which attempt it is; a message that nobody leases is read for the first time."""
    return b"%d" % getattr(message, "attempt", 1)


def _headers(message: Printable) -> bytes:
    return b",".join(name.encode() + b"=" + (content or b"") for name, content in message.header_pairs)


FIELDS: dict[str, tuple[str, Callable[[Printable], bytes]]] = {
    "t": ("topic", lambda message: message.topic.encode()),
    "p": ("partition", lambda message: b"%d" % message.partition),
    "o": ("offset", lambda message: b"%d" % message.offset),
    "P": ("priority", lambda message: message.priority.encode()),
    "k": ("key", lambda message: message.key or b""),
    "v": ("value", lambda message: message.value or b""),
    "T": ("time", lambda message: (rfc3339(message.timestamp_ms) or "-").encode()),
    "h": ("headers", _headers),
    "a": ("attempt", _attempt),
    "%": ("a per cent sign", lambda _message: b"%"),
}
