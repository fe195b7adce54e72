"""Messages as users write them, a line each: a value, a key and a value, or a JSON object, made into drafts."""

import base64
import binascii
import json
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from difflib import get_close_matches
from typing import Any

from attrs import astuple, define, evolve

from goqueue.cli.moments import as_timedelta
from goqueue.core.cluster.durations import parse_duration_ms

PRIORITIES = ("critical", "high", "normal", "low", "background")
# The fields of a line, and those that `goqueue consume -o json` prints beside them, which say nothing here.
READ = (
    "value", "key", "headers", "partition", "timestamp", "priority", "delay", "deliverAt", "ttl",
    "encoding", "headers_encoding",
)  # fmt: skip
PRINTED = ("topic", "offset", "attempt")
Headers = dict[str, bytes | None]


class WrongLine(Exception):
    """A line that is no message; says why."""


@define
class Draft:
    """A message that is to be published, at once unless it is due later."""

    value: bytes | None
    key: bytes | None = None
    headers: Headers | None = None
    partition: int | None = None
    timestamp: datetime | None = None
    priority: str = "normal"
    delay: timedelta | None = None
    due: datetime | None = None
    ttl: timedelta | None = None


Reader = Callable[[bytes], Draft]


def parse_headers(pairs: Iterable[str]) -> Headers:
    """Headers out of `name=value`; ValueError with a sentence."""
    headers: Headers = {}
    for pair in pairs:
        name, separator, value = pair.partition("=")
        if not separator or not name:
            raise ValueError(f"{pair!r} is no header; write it like name=value")
        headers[name] = value.encode("utf-8", "surrogateescape")
    return headers


def plain(common: Draft) -> Reader:
    """A line is a value."""
    rest = _rest(common)
    return lambda line: Draft(line, common.key, *rest)


def keyed(common: Draft, separator: bytes) -> Reader:
    """A line is a key and a value, with a separator between."""
    rest = _rest(common)

    def read(line: bytes) -> Draft:
        key, found, value = line.partition(separator)
        if not found:
            raise WrongLine(f"there is no {separator.decode(errors='replace')!r} after the key")
        return Draft(value, key, *rest)

    return read


def _rest(common: Draft) -> tuple[Any, ...]:
    """All but value and key, in the order in which a draft takes them: a draft a line costs little this way."""
    return astuple(common, recurse=False)[2:]


def structured(common: Draft) -> Reader:
    """A line is a JSON object; what it does not say is as for all."""

    def read(line: bytes) -> Draft:
        try:
            found = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise WrongLine(f"it is no JSON: {error}") from None
        if not isinstance(found, dict):
            raise WrongLine("it is no JSON object")
        for name in found:
            if name not in READ and name not in PRINTED:
                raise WrongLine(_unknown(name))
        if "value" not in found:
            raise WrongLine("it has no value; null is one as well")
        return _overlaid(common, found)

    return read


def _unknown(name: str) -> str:
    close = get_close_matches(name, READ, n=1)
    hint = f"did you mean {close[0]}?" if close else f"known are {', '.join(READ)}"
    return f"there is no field {name[:100]!r} in a message; {hint}"


def _overlaid(common: Draft, found: dict[str, object]) -> Draft:
    encoding = found.get("encoding")
    if encoding not in {None, "utf-8", "base64"}:
        raise WrongLine(f"encoding is base64 or left out, not {encoding!r}")
    is_base64 = encoding == "base64"
    draft = evolve(common, value=_bytes(found["value"], "value", is_base64))
    if found.get("key") is not None:
        draft.key = _bytes(found["key"], "key", is_base64)
    if found.get("headers") is not None:
        draft.headers = {**(common.headers or {}), **_headers(found["headers"], found.get("headers_encoding"))}
    if found.get("partition") is not None:
        partition = found["partition"]
        if isinstance(partition, bool) or not isinstance(partition, int) or partition < 0:
            raise WrongLine(f"partition is a number from 0 on, not {partition!r}")
        draft.partition = partition
    if found.get("timestamp") is not None:
        draft.timestamp = _moment(found["timestamp"], "timestamp")
    if found.get("priority") is not None:
        priority = found["priority"]
        if not isinstance(priority, str) or priority not in PRIORITIES:
            raise WrongLine(f"priority is one of {', '.join(PRIORITIES)}, not {priority!r}")
        draft.priority = priority
    _postpone(draft, found)
    return draft


def _postpone(draft: Draft, found: dict[str, object]) -> None:
    """Take over what a line says of when it is due, in place of what holds for all, and how long it is good for."""
    delay, due = found.get("delay"), found.get("deliverAt")
    if delay is not None and due is not None:
        raise WrongLine("a message has a delay or deliverAt, not both")
    if delay is not None:
        draft.delay, draft.due = _span(delay, "delay"), None
    if due is not None:
        draft.delay, draft.due = None, _moment(due, "deliverAt")
    if found.get("ttl") is not None:
        draft.ttl = _span(found["ttl"], "ttl")


def _bytes(found: object, name: str, is_base64: bool) -> bytes | None:
    if found is None:
        return None
    if not isinstance(found, str):
        raise WrongLine(f"{name} is text or null, not {type(found).__name__}")
    try:
        return base64.b64decode(found, validate=True) if is_base64 else found.encode()
    except (binascii.Error, ValueError):
        raise WrongLine(f"{name} is no {'base64' if is_base64 else 'UTF-8'}") from None


def _headers(found: object, encoding: object) -> Headers:
    if not isinstance(found, dict):
        raise WrongLine("headers are an object, of names and text")
    return {name: _bytes(value, f"header {name}", encoding == "base64") for name, value in found.items()}


def _span(found: object, name: str) -> timedelta:
    try:
        return as_timedelta(parse_duration_ms(found if isinstance(found, str) else ""))
    except ValueError:
        raise WrongLine(f"{name} is a span such as 30s, 5m or 1h30m, not {found!r}") from None


def _moment(found: object, name: str) -> datetime:
    try:
        moment = datetime.fromisoformat(found) if isinstance(found, str) else None
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise WrongLine(f"{name} is a time with its zone, as in 2026-03-01T12:00:00Z, not {found!r}")
    return moment
