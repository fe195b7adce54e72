"""Requests from JSON, path and query into what they mean; the field that is wrong is named.

Invariant: whatever the bytes, a `RestError` is all that comes out besides the meaning.
"""

import re
from typing import Any, TypeVar

import msgspec

from goqueue.core.cluster.durations import format_duration, parse_duration_ms
from goqueue.core.verbs import Code
from goqueue.transports.rest.errors import RestError, invalid

T = TypeVar("T")

# Longer numbers are no offsets, and Python refuses to read very long ones at all.
DIGITS_MAX = 19
INT64_MAX = (1 << 63) - 1
_PLACE = re.compile(r" - at `\$\.?(?P<path>[^`]*)`$")
_MISSING = re.compile(r"Object missing required field `(?P<name>[^`]+)`")
_DECODERS: dict[type[Any], msgspec.json.Decoder[Any]] = {}
_TYPES = str.maketrans("", "", "`")


def _decoder(kind: type[T]) -> msgspec.json.Decoder[T]:
    known: msgspec.json.Decoder[T] | None = _DECODERS.get(kind)
    if known is None:
        known = _DECODERS[kind] = msgspec.json.Decoder(kind)
    return known


def decode_body(body: bytes | bytearray, kind: type[T]) -> T:
    """The body as `kind`."""
    try:
        return _decoder(kind).decode(body)
    except msgspec.ValidationError as error:
        raise _wrong_field(str(error)) from None
    except msgspec.DecodeError as error:
        raise RestError(400, "malformed_json", f"the body is no JSON: {error}", "body") from None
    except UnicodeDecodeError:
        raise RestError(400, "malformed_json", "the body is not UTF-8", "body") from None
    except RecursionError:
        raise RestError(400, "malformed_json", "the body is nested too deeply", "body") from None


def _wrong_field(said: str) -> RestError:
    place = _PLACE.search(said)
    path = place["path"] if place else ""
    sentence = said[: place.start()] if place else said
    missing = _MISSING.match(sentence)
    if missing:
        field = f"{path}.{missing['name']}" if path else missing["name"]
        return RestError(400, Code.INVALID, f"{field} is required", field)
    sentence = sentence.translate(_TYPES)
    return invalid(f"{path or 'the body'}: {sentence[:1].lower()}{sentence[1:]}", path or "body")


def whole_number(text: str, field: str, least: int = 0, most: int = INT64_MAX) -> int:
    """A number within bounds, written in digits."""
    if not (text.isascii() and text.isdigit() and len(text) <= DIGITS_MAX and least <= int(text) <= most):
        bounds = f"from {least} to {most}" if most < INT64_MAX else f"of at least {least}"
        raise invalid(f"{field} must be a whole number {bounds}", field)
    return int(text)


def flag(text: str, field: str) -> bool:
    """Whether something is wanted; a bare name says yes."""
    if text in ("", "true", "1"):
        return True
    if text in ("false", "0"):
        return False
    raise invalid(f"{field} must be true or false, not {text!r}", field)


def one_of(text: str, field: str, *words: str) -> str:
    """One of some words."""
    if text not in words:
        raise invalid(f"{field} must be one of {', '.join(words)}, not {text!r}", field)
    return text


def span_ns(text: str, field: str, most_ns: int) -> int:
    """A span of time, in nanoseconds."""
    return span_ms(text, field, most_ns // 1_000_000) * 1_000_000


def span_ms(text: str, field: str, most_ms: int, least_ms: int = 0) -> int:
    """A span of time, in milliseconds."""
    try:
        spanned = parse_duration_ms(text[:40])
    except ValueError as error:
        raise invalid(f"{field}: {error}", field) from None
    if spanned > most_ms:
        raise invalid(f"{field} may be at most {format_duration(most_ms)}", field)
    if spanned < least_ms:
        raise invalid(f"{field} must be at least {format_duration(least_ms)}", field)
    return spanned
