"""Where reading begins and where it ends, as options say it: for all partitions, or for some by name.

An edge is an offset, `earliest`, `latest`, or a moment, which stands for the first record at or after it. Ends are
exclusive. What an edge comes to in a partition is found out by whoever plans, once, so that a task that is run again
reads the same.
"""

import json
import logging
from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeAlias

from attrs import define, field

from goqueue.core.errors import GoQueueError
from goqueue.core.records.varint import INT64_MAX

EARLIEST: Final = "earliest"
LATEST: Final = "latest"
_logger = logging.getLogger("goqueue.spark")
_DIGITS_MAX: Final = 19
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class UnreadableError(GoQueueError):
    """What was asked for cannot be read, and why."""


@define
class Moment:
    """A point in time, in milliseconds since 1970."""

    ms: int


Edge: TypeAlias = int | str | Moment


@define
class Edges:
    """The edge of each partition: what was said for it by name, or else what was said for all."""

    default: Edge
    named: dict[tuple[str, int], Edge] = field(factory=dict)

    def of(self, topic: str, partition: int) -> Edge:
        """The edge of one partition."""
        return self.named.get((topic, partition), self.default)


def check_named(topic: str, found: Collection[int], partitions: Sequence[int], *edges: Edges) -> None:
    """Raise UnreadableError where a partition is named that a topic does not have, in a list or with an edge."""
    named = {*partitions, *(number for each in edges for name, number in each.named if name == topic)}
    missing = sorted(named.difference(found))
    if missing:
        known = f"it has {len(found)}, from 0 on" if found else "it has none"
        raise UnreadableError(f"{topic} has no partition {missing[0]}; {known}")


def check_start(topic: str, partition: int, edge: Edge, end: int, *, is_named: bool) -> None:
    """Raise UnreadableError where reading was to begin behind the end of a partition, said of it by name."""
    if is_named and isinstance(edge, int) and edge > end:
        raise UnreadableError(f"{topic}/{partition} ends at offset {end}, before {edge}, where reading was to begin")


def note_missing(topic: str, partition: int, first: int, end: int, *, skip: bool) -> None:
    """Say that records are gone, in the log or as an error. Raises UnreadableError."""
    said = f"{topic}/{partition}: the records from offset {first} up to {end} are not there any more"
    if not skip:
        raise UnreadableError(f"{said}; the option missing=skip goes on behind them")
    _logger.warning("%s; left out", said)


def offset_edges(name: str, text: str, words: Sequence[str], topics: Sequence[str], default: str) -> Edges:
    """What an option says of offsets: a number, one of `words`, or JSON by partition. Raises UnreadableError.

    JSON is `{"topic": {"0": 17, "1": "earliest"}}`, or `{"0": 17}` where one topic is read; partitions that it does not
    name have the default.
    """
    if not text.lstrip().startswith("{"):
        return Edges(_offset(name, text.strip(), words))
    try:
        given = json.loads(text)
    except ValueError as error:
        raise UnreadableError(f"the option {name!r} is no JSON: {error}") from None
    if given and not any(isinstance(each, dict) for each in given.values()):
        if len(topics) != 1:
            raise UnreadableError(f'the option {name!r} names partitions and no topic; say {{"topic": {{"0": 17}}}}')
        given = {topics[0]: given}
    edges = Edges(default)
    for topic, partitions in given.items():
        if topics and topic not in topics:
            raise UnreadableError(f"the option {name!r} names the topic {topic!r}, which is not read")
        if not isinstance(partitions, dict):
            raise UnreadableError(f"the option {name!r} has no partitions for {topic!r}")
        for number, value in partitions.items():
            if not _is_number(number):
                raise UnreadableError(f"the option {name!r} names a partition {number!r}; they are numbers from 0 on")
            edges.named[topic, int(number)] = _offset(name, value, words)
    return edges


def time_edges(name: str, text: str) -> Edges:
    """What an option says of time: ISO 8601 with its zone, or milliseconds since 1970. Raises UnreadableError."""
    return Edges(Moment(_milliseconds(name, text.strip())))


def _offset(name: str, value: Any, words: Sequence[str]) -> Edge:  # noqa: ANN401 - whatever JSON holds
    if isinstance(value, str) and value.lower() in words:
        return value.lower()
    if isinstance(value, str) and _is_number(value):
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= INT64_MAX:
        return value
    raise UnreadableError(f"the option {name!r} says {value!r}; it may be an offset from 0 on or {' or '.join(words)}")


def _milliseconds(name: str, text: str) -> int:
    if _is_number(text) and int(text) <= INT64_MAX:
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None or moment < _EPOCH:
        raise UnreadableError(
            f"the option {name!r} is {text!r}; it may be milliseconds since 1970, or a time with its zone such as"
            " 2026-03-01T12:00:00Z"
        )
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= _DIGITS_MAX
