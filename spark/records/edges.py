"""Where reading begins and where it ends, as options say it: for all partitions, or for some by name.

An edge is an offset, `earliest`, `latest`, or a moment, which stands for the first record at or after it. Ends are
exclusive. What an edge comes to in a partition is found out by whoever plans, once, so that a task that is run again
reads the same.
"""

import json
import logging
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeAlias

from attrs import define, evolve, field

from goqueue.core.errors import GoQueueError
from goqueue.core.records.varint import INT64_MAX

EARLIEST: Final = "earliest"
LATEST: Final = "latest"
# Among the partitions of a topic: which topic of that name is meant.
ID: Final = "id"
_logger = logging.getLogger("goqueue.spark")
_DIGITS_MAX: Final = 19
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class UnreadableError(GoQueueError):
    """What was asked for cannot be read, and why."""


class TopicReplacedError(UnreadableError):
    """Under the name of a topic that was read is another one, which was made after the first was deleted."""

    def __init__(self, topic: str, was: str, found: str, advice: str) -> None:
        super().__init__(
            f"{topic} was deleted and made again: its positions are of the topic with the id {was}, and the one there"
            f" has the id {found}. {advice}, or say option('replaced', 'restart') to go on at the beginning of the one"
            " there"
        )
        self.topic, self.was, self.found = topic, was, found


@define
class Moment:
    """A point in time, in milliseconds since 1970."""

    ms: int


Edge: TypeAlias = int | str | Moment


@define
class Edges:
    """The edge of each partition: what was said for it by name, or else what was said for all.

    `ids` say which topic of a name is meant. Of those that are `restarted` all is read.
    """

    default: Edge
    named: dict[tuple[str, int], Edge] = field(factory=dict)
    ids: dict[str, str] = field(factory=dict)
    restarted: frozenset[str] = frozenset()

    def of(self, topic: str, partition: int) -> Edge:
        """The edge of one partition."""
        return EARLIEST if topic in self.restarted else self.named.get((topic, partition), self.default)

    def met_by(self, ids: Mapping[str, str], *, restart: bool) -> "Edges":
        """What they come to where topics have these ids; another topic is read from its beginning, or is an error.

        Raises TopicReplacedError.
        """
        others = [topic for topic, each in sorted(self.ids.items()) if ids.get(topic, each) != each]
        for topic in others if not restart else ():
            advice = "Read it without the old positions"
            raise TopicReplacedError(topic, self.ids[topic], ids[topic], advice)
        for topic in others:
            _logger.warning("%s was deleted and made again: it is read from its beginning", topic)
        named = {place: edge for place, edge in self.named.items() if place[0] not in others}
        return evolve(self, named=named, restarted=frozenset(others)) if others else self


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

    JSON is `{"topic": {"id": "19a7-1", "0": 17, "1": "earliest"}}`, or `{"0": 17}` where one topic is read; partitions
    that it does not name have the default, and without an id it is of whichever topic there is.
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
            if number == ID:
                edges.ids[topic] = _id(name, value)
                continue
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


def _id(name: str, value: Any) -> str:  # noqa: ANN401 - whatever JSON holds
    if isinstance(value, str) and value:
        return value
    raise UnreadableError(f"the option {name!r} has {value!r} for the id of a topic; goqueue topic describe shows it")


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
