"""Places in a topic and points in time as people type them: `1234`, `2h`, `12:00`, `2026-03-01T12:00:00Z`.

A time without a zone is meant where the user is; one without a day is today's. What is only digits is an offset.
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TypeVar

import click

from goqueue.core.cluster.durations import parse_duration_ms

T = TypeVar("T")
OFFSET_MAX = (1 << 63) - 1
_CLOCK = re.compile(r"[0-9]{1,2}:[0-9]{2}(:[0-9]{2})?")
_EXAMPLES = "an offset such as 1234, a span such as 2h, or a time such as 12:00 or 2026-03-01T12:00:00Z"


def parse_time(text: str, now: datetime) -> datetime:
    """A point in time, aware; ValueError with a sentence."""
    clock = f"{now:%Y-%m-%d}T{text.zfill(5) if text.count(':') == 1 else text.zfill(8)}"
    try:
        moment = datetime.fromisoformat(clock if _CLOCK.fullmatch(text) else text)
        moment = moment if moment.tzinfo is not None else moment.astimezone()
        moment.astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError(f"{text!r} is no time; write it like 12:00, 2026-03-01 or 2026-03-01T12:00:00Z") from None
    return moment


def parse_place(text: str, now: datetime) -> int | datetime:
    """An offset, or a moment, spans being that long before `now`; ValueError with a sentence."""
    if text.isascii() and text.isdigit():
        if len(text) > 19 or int(text) > OFFSET_MAX:
            raise ValueError(f"{text[:40]} is larger than any offset")
        return int(text)
    try:
        return now - timedelta(milliseconds=parse_duration_ms(text))
    except (ValueError, OverflowError):
        pass
    try:
        return parse_time(text, now)
    except ValueError:
        raise ValueError(f"{text!r} is no place; write {_EXAMPLES}") from None


def time_given(text: str) -> datetime:
    """A point in time on the command line."""
    return _meant(lambda: parse_time(text, datetime.now().astimezone()))


def place_given(text: str) -> int | datetime:
    """A place in a topic on the command line."""
    return _meant(lambda: parse_place(text, datetime.now().astimezone()))


def past_given(text: str) -> datetime:
    """A point in time on the command line, which may be said as a span before this moment."""
    place = place_given(text)
    if isinstance(place, int):
        raise click.BadParameter(f"{text!r} is an offset; write a span such as 2h, or a time such as 12:00")
    return place


def span_given(text: str) -> int:
    """A span of time on the command line, in milliseconds."""
    return _meant(lambda: parse_duration_ms(text))


def timedelta_given(text: str) -> timedelta:
    """A span of time on the command line."""
    return _meant(lambda: as_timedelta(parse_duration_ms(text)))


def as_timedelta(span_ms: int) -> timedelta:
    """A span in milliseconds; ValueError with a sentence if there is none so long."""
    try:
        return timedelta(milliseconds=span_ms)
    except OverflowError:
        raise ValueError("that is longer than calendars reach") from None


def spelled(moment: datetime) -> str:
    """A point in time as the broker's REST interface reads it."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _meant(parse: Callable[[], T]) -> T:
    try:
        return parse()
    except ValueError as error:
        raise click.BadParameter(str(error)) from error
