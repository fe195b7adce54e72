"""The fields of queries: how each is read, and the bounds that its reading and the OpenAPI document have in common.

A query is read as a whole before its endpoint is called. A name that the route does not know is refused with the
nearest one that it does, since a misspelt `limit` would be a page of the default size; X-Lenient lets it pass.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

from attrs import define

from goqueue.core.cluster.durations import LENGTH_MAX, PATTERN
from goqueue.transports.rest.decoding import (
    INT64_MAX,
    flag,
    one_of,
    span_ms,
    unknown,
    whole_number,
)
from goqueue.transports.rest.errors import RestError, invalid
from goqueue.transports.rest.exchange import Question
from goqueue.transports.rest.times import read_time

TEXT_LENGTH_MAX = 8_192


@define(frozen=True)
class Kind:
    """What a parameter holds: its name for people, its JSON schema, and how its text is read; the field is named."""

    name: str
    schema: dict[str, Any]
    read: Callable[[str, str], Any]


@define(frozen=True)
class Parameter:
    """A field of the query. One that may be repeated is read as a list."""

    name: str
    kind: Kind
    meaning: str
    is_required: bool = False
    is_repeated: bool = False


def whole(least: int = 0, most: int = INT64_MAX) -> Kind:
    """A whole number within bounds."""
    schema = {"type": "integer", "minimum": least, "maximum": most}
    return Kind("integer", schema, lambda text, field: whole_number(text, field, least, most))


def truth() -> Kind:
    """True or false; the bare name is true."""
    return Kind("boolean", {"type": "boolean"}, flag)


def word(*words: str) -> Kind:
    """One of some words."""
    return Kind("string", {"type": "string", "enum": [*words]}, lambda text, field: one_of(text, field, *words))


def span(least_ms: int, most_ms: int) -> Kind:
    """A span of time, in milliseconds; its bounds can be told in words alone."""
    schema = {"type": "string", "pattern": PATTERN, "maxLength": LENGTH_MAX}
    return Kind("duration", schema, lambda text, field: span_ms(text, field, most_ms, least_ms))


def moment() -> Kind:
    """A time, as its text, which has been found to be one; `read_time` says what it means."""

    def read(text: str, field: str) -> str:
        read_time(text, field)
        return text

    return Kind("date-time", {"type": "string", "format": "date-time"}, read)


def text(most: int = TEXT_LENGTH_MAX) -> Kind:
    """Any text up to a length."""

    def read(written: str, field: str) -> str:
        if len(written) > most:
            raise invalid(f"{field} has at most {most} characters, not {len(written)}", field)
        return written

    return Kind("string", {"type": "string", "maxLength": most}, read)


def token(pattern: str) -> Kind:
    """Where a page begins: what the answer with the page before said of it, or nothing for the first."""
    form = re.compile(pattern)

    def read(written: str, field: str) -> str:
        if not form.fullmatch(written):
            raise invalid(f"{field} must be what next was in the page before", field)
        return written

    return Kind("string", {"type": "string", "pattern": f"^({pattern})$"}, read)


def read_query(parameters: Sequence[Parameter], question: Question) -> dict[str, Any]:
    """The fields of a query by name, each as its kind reads it; of one that comes twice and may not, the last."""
    found: dict[str, Any] = {}
    known = {parameter.name: parameter for parameter in parameters}
    for name, written in question.fields():
        parameter = known.get(name)
        if parameter is None:
            if not question.is_lenient:
                raise unknown("query parameter", name[:100], [*known])
        elif parameter.is_repeated:
            found.setdefault(name, []).append(parameter.kind.read(written, name))
        else:
            found[name] = parameter.kind.read(written, name)
    for parameter in parameters:
        if parameter.is_required and parameter.name not in found:
            raise RestError(400, "invalid_request", f"{parameter.name} is required", parameter.name)
    return found
