"""What was published, and what each offset was said to hold: gathered once, for all checkers of logs and queues.

An offset is known by acknowledgements and by readings. A reading covers the offsets from where it began up to where it
goes on: whoever reads so says that nothing else is there.

What a topic has been told to forget is not missed: one that was deleted may be another one of its name since, and with
retention or compaction messages go. Where machines may have lost their power, a topic that does not sync each message
promises nothing. `exempt` says so.
"""

from bisect import bisect_right
from collections.abc import Iterator
from typing import Any, NamedTuple

from attrs import define, field

from goqueue.fuzz.histories.operation import NEVER, End, History, Operation, Verb

Slot = tuple[str, int]
"""A topic and a partition."""

LETTERS_ENDING = ".dlq"
_KEEPS_ALL = (None, -1, "-1", "none", "unlimited", "delete")
_FORGETS = ("retention_hours", "retention_bytes", "cleanup")


class Sighting(NamedTuple):
    """An offset that was said to hold a value, by an operation."""

    value: str
    operation: Operation


class Span(NamedTuple):
    """What a reading covers: the offsets from `begin` on and below `position`, and which of them it brought."""

    slot: Slot
    begin: int
    position: int
    offsets: frozenset[int]
    operation: Operation


@define
class Sightings:
    """See the module."""

    history: History
    # Who published a value, in order.
    publishers: dict[str, list[Operation]] = field(factory=dict)
    # What each offset of a partition was said to hold; more than one value at an offset is an anomaly.
    held: dict[Slot, dict[int, list[Sighting]]] = field(factory=dict)
    # Where a value was said to be: the first sighting of each place.
    places: dict[str, dict[tuple[str, int, int], Operation]] = field(factory=dict)
    # What was acknowledged, by place.
    acknowledged: dict[Slot, dict[int, Sighting]] = field(factory=dict)
    # What was read, polled or received, by place.
    read: dict[Slot, dict[int, Sighting]] = field(factory=dict)
    spans: list[Span] = field(factory=list)
    # Topics of which nothing is said, and topics of which nothing is missed; with the reason.
    unjudged: dict[str, str] = field(factory=dict)
    forgetful: dict[str, str] = field(factory=dict)

    @property
    def exempt(self) -> list[str]:
        """What is not asked for, and why."""
        return [f"topic {topic}: {why}" for topic, why in {**self.forgetful, **self.unjudged}.items()]

    def is_judged(self, topic: str) -> bool:
        """Whether anything is said of a topic."""
        return topic not in self.unjudged and not topic.endswith(LETTERS_ENDING)

    def keeps_all(self, topic: str) -> bool:
        """Whether nothing that was acknowledged may ever be missing in a topic."""
        return self.is_judged(topic) and topic not in self.forgetful

    def may_repeat(self, value: str) -> bool:
        """Whether the sender's own rules allow a value to be there twice."""
        senders = self.publishers.get(value, [])
        return self.history.terms.redrives or not all(one.asked["numbered"] for one in senders)


def gather(history: History) -> Sightings:
    """Go through a history once."""
    found = Sightings(history)
    for operation in history.operations:
        _TAKERS.get(operation.verb, _nothing)(found, operation)
    return found


def _nothing(_found: Sightings, _operation: Operation) -> None:
    """Operations that say nothing of what offsets hold."""


def _published(found: Sightings, operation: Operation) -> None:
    asked = operation.asked
    for value in asked["values"]:
        found.publishers.setdefault(value, []).append(operation)
    if operation.verb is Verb.PUBLISH_LATER or not operation.is_ok or asked["acks"] != "all":
        return
    slot = asked["topic"], operation.told["partition"]
    for value, offset in zip(asked["values"], operation.told["offsets"], strict=False):
        if offset >= 0:
            found.acknowledged.setdefault(slot, {}).setdefault(offset, Sighting(value, operation))
            _see(found, slot, offset, value, operation)


def _polled(found: Sightings, operation: Operation) -> None:
    if not operation.is_ok:
        return
    for part in operation.told["parts"]:
        slot, messages = (part["topic"], part["partition"]), part["messages"]
        for offset, value in messages:
            _read(found, slot, offset, value, operation)
        begin = part["begin"]
        if begin is None:
            begin = messages[0][0] if messages else part["position"]
        offsets = frozenset(offset for offset, _ in messages)
        found.spans.append(Span(slot, begin, part["position"], offsets, operation))


def _received(found: Sightings, operation: Operation) -> None:
    if operation.is_ok:
        for one in operation.told["messages"]:
            _read(found, (one["topic"], one["partition"]), one["offset"], one["value"], operation)


def _read(found: Sightings, slot: Slot, offset: int, value: str, operation: Operation) -> None:
    found.read.setdefault(slot, {}).setdefault(offset, Sighting(value, operation))
    _see(found, slot, offset, value, operation)


def _see(found: Sightings, slot: Slot, offset: int, value: str, operation: Operation) -> None:
    sightings = found.held.setdefault(slot, {}).setdefault(offset, [])
    if not any(one.value == value for one in sightings):
        sightings.append(Sighting(value, operation))
    found.places.setdefault(value, {}).setdefault((*slot, offset), operation)


def _configured(found: Sightings, operation: Operation) -> None:
    if operation.end is End.FAIL:
        return
    topic, config = operation.asked["topic"], operation.asked["config"]
    if any(not _keeps(name, config[name]) for name in _FORGETS if name in config):
        found.forgetful[topic] = "it was told to remove messages, so none is missed"
    if found.history.terms.power_cuts and config.get("fsync", "every") != "every":
        found.unjudged[topic] = "it does not sync each message, and machines may have lost their power"


def _keeps(name: str, given: Any) -> bool:  # noqa: ANN401 - whatever settings may be
    return given in _KEEPS_ALL and not (name == "cleanup" and "compact" in str(given))


def _deleted(found: Sightings, operation: Operation) -> None:
    if operation.end is not End.FAIL:
        topic = operation.asked["topic"]
        found.unjudged[topic] = "it was deleted, so its name may stand for several topics"


_TAKERS = {
    Verb.PUBLISH: _published,
    Verb.PUBLISH_LATER: _published,
    Verb.POLL: _polled,
    Verb.RECEIVE: _received,
    Verb.CREATE: _configured,
    Verb.ALTER: _configured,
    Verb.DELETE: _deleted,
}


def coverage(found: Sightings) -> dict[Slot, list[tuple[int, int]]]:
    """The offsets of each partition that anybody has read, as spans that do not touch."""
    covered: dict[Slot, list[tuple[int, int]]] = {}
    for span in sorted(found.spans, key=lambda one: (one.begin, one.position)):
        merged = covered.setdefault(span.slot, [])
        if merged and span.begin <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(merged[-1][1], span.position)
        else:
            merged.append((span.begin, span.position))
    return covered


def is_covered(spans: list[tuple[int, int]], offset: int) -> bool:
    """Whether an offset lies in one of some spans."""
    at = bisect_right(spans, (offset, NEVER))
    return at > 0 and offset < spans[at - 1][1]


def judged_slots(found: Sightings) -> Iterator[tuple[Slot, dict[int, list[Sighting]]]]:
    """The partitions of topics that are judged, and what their offsets were said to hold."""
    for slot, held in found.held.items():
        if found.is_judged(slot[0]):
            yield slot, held
