"""Requests from JSON, path and query into what they mean; the field that is wrong is named.

Invariant: whatever the bytes, a `RestError` is all that comes out besides the meaning.
"""

import re
from difflib import get_close_matches
from typing import Any, TypeVar

import msgspec

from goqueue.core.cluster.durations import format_duration, parse_duration_ms
from goqueue.core.requests.refusals import Code
from goqueue.transports.rest.errors import RestError, invalid
from goqueue.transports.rest.shapes import names_at, relaxed, words_at

T = TypeVar("T")

# Longer numbers are no offsets, and Python refuses to read very long ones at all.
DIGITS_MAX = 19
INT64_MAX = (1 << 63) - 1
_PLACE = re.compile(r" - at `\$\.?(?P<path>[^`]*)`$")
NULL_FOUND, UNKNOWN_FOUND = "got `null`", "unknown field"
_UNKNOWN = re.compile(r"Object contains unknown field `(?P<name>.*)`", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(?P<name>[^`]+)`")
_DECODERS: dict[type[Any], msgspec.json.Decoder[Any]] = {}
_NO_WORD = re.compile(r"Invalid enum value (?P<found>.*)", re.DOTALL)
_BOUND = re.compile(r"Expected `(int|str|array|object)` (?:of length )?([<>]=) (-?[0-9]+)")
_UNITS = {"str": " characters", "array": " items", "object": " fields"}
_COMPARED = {">=": "at least", "<=": "at most"}
_TYPES = str.maketrans("", "", "`")


def _decoder(kind: type[T]) -> msgspec.json.Decoder[T]:
    known: msgspec.json.Decoder[T] | None = _DECODERS.get(kind)
    if known is None:
        known = _DECODERS[kind] = msgspec.json.Decoder(kind)
    return known


def decode_body(body: bytes | bytearray, kind: type[T], *, is_lenient: bool = False) -> T:
    """The body as `kind`; a lenient one may have fields that `kind` does not have."""
    try:
        return _decoded(body, kind, is_lenient=is_lenient)
    except msgspec.ValidationError as error:
        raise _wrong_field(str(error), kind) from None
    except msgspec.DecodeError as error:
        raise RestError(400, "malformed_json", f"the body is no JSON: {error}", "body") from None
    except UnicodeDecodeError:
        raise RestError(400, "malformed_json", "the body is not UTF-8", "body") from None
    except RecursionError:
        raise RestError(400, "malformed_json", "the body is nested too deeply", "body") from None


def _decoded(body: bytes | bytearray, kind: type[T], *, is_lenient: bool) -> T:
    try:
        return _decoder(kind).decode(body)
    except msgspec.ValidationError as error:
        said = str(error)
        if NULL_FOUND not in said and not (is_lenient and UNKNOWN_FOUND in said):
            raise
    return msgspec.convert(relaxed(msgspec.json.decode(body), kind, is_lenient=is_lenient), kind)


def _wrong_field(said: str, kind: type[Any]) -> RestError:
    place = _PLACE.search(said)
    path = place["path"] if place else ""
    sentence = said[: place.start()] if place else said
    missing = _MISSING.match(sentence)
    if missing:
        field = f"{path}.{missing['name']}" if path else missing["name"]
        return RestError(400, Code.INVALID, f"{field} is required", field)
    stranger = _UNKNOWN.match(sentence)
    if stranger:
        return unknown("field", stranger["name"], names_at(kind, path), f"{path}." if path else "")
    misspelt = _NO_WORD.match(sentence)
    if misspelt:
        words = ", ".join(each or "nothing" for each in words_at(kind, path))
        return invalid(f"{path} must be one of {words}, not {misspelt['found']}", path)
    bound = _BOUND.match(sentence)
    if bound:
        what, comparison, count = bound.groups()
        verb, unit = ("be", "") if what == "int" else ("have", _UNITS[what])
        return invalid(f"{path} must {verb} {_COMPARED[comparison]} {count}{unit}", path)
    sentence = sentence.translate(_TYPES)
    return invalid(f"{path or 'the body'}: {sentence[:1].lower()}{sentence[1:]}", path or "body")


def unknown(what: str, name: str, known: list[str], place: str = "") -> RestError:
    """The error for a name that is none of those known at a place, such as `messages[3].`."""
    close = get_close_matches(name, known, n=1)
    hint = f"did you mean {close[0]}?" if close else f"known are {', '.join(known)}" if known else "there are none here"
    return RestError(400, "unknown_field", f"there is no {what} {place}{name}; {hint}", f"{place}{name}")


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
        spanned = parse_duration_ms(text)
    except ValueError as error:
        raise invalid(f"{field}: {error}", field) from None
    if spanned > most_ms:
        raise invalid(f"{field} may be at most {format_duration(most_ms)}", field)
    if spanned < least_ms:
        raise invalid(f"{field} must be at least {format_duration(least_ms)}", field)
    return spanned
