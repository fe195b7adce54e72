"""What was given to whom, for how long, and what was said of it: gathered once, for all checkers of queues.

A message comes some time after it was leased. Whoever makes a history counts both spans on the safe side: the lease was
given at most `age_ms` before its receiver had it, and lasts at least `left_ms` from then on, whatever clocks show.
Anything that its holder asks for that may end it ends that certainty at once.
"""

from collections.abc import Iterator
from typing import NamedTuple

from attrs import define, field

from goqueue.fuzz.histories.log.commits import ended
from goqueue.fuzz.histories.log.sightings import Sightings
from goqueue.fuzz.histories.operation import NS_PER_MS, End, Operation, Verb

Spot = tuple[str, str, int, int]
"""A group, and a message by topic, partition and offset."""

SAYINGS = (Verb.ACK, Verb.NACK, Verb.REJECT, Verb.EXTEND, Verb.RELEASE)


class Delivery(NamedTuple):
    """A message that a member was given."""

    spot: Spot
    value: str
    key: str | None
    attempt: int
    lease: str
    # Not before when it was leased, and until when it is for certain, if nothing is said of it.
    since_ns: int
    until_ns: int
    operation: Operation


class Saying(NamedTuple):
    """What a member said of a message, under which lease, and what became of that."""

    operation: Operation
    lease: str
    end: End


@define
class Deliveries:
    """See the module; groups with which somebody meddled from outside are left out."""

    given: dict[Spot, list[Delivery]] = field(factory=dict)
    said: dict[Spot, list[Saying]] = field(factory=dict)
    # When a process said that it leaves a group, or was heard of last before it joined anew: from then on its session
    # may have ended at any time.
    left: dict[tuple[str, str], list[int]] = field(factory=dict)
    # Dead letters: the group that gave a message up, and its value.
    letters: set[tuple[str, str]] = field(factory=set)

    def certain_until(self, delivery: Delivery) -> int:
        """Until when a delivery's lease is certain, by all that was said under it."""
        until = delivery.until_ns
        for saying in self.said.get(delivery.spot, ()):
            if saying.lease != delivery.lease or saying.end is End.FAIL:
                continue
            asked_ns = saying.operation.asked_ns
            if saying.operation.verb is not Verb.EXTEND:
                until = min(until, asked_ns)
                continue
            prolonged = asked_ns + saying.operation.asked["span_ms"] * NS_PER_MS
            until = prolonged if saying.end is End.OK and asked_ns < until else min(until, prolonged)
        leaving = self.left.get((delivery.operation.process, delivery.spot[0]), ())
        later = [at for at in leaving if at >= delivery.operation.asked_ns]
        return min([until, *later])

    def settled(self, spot: Spot) -> Iterator[Saying]:
        """Acknowledgements and rejections of a message that may have been taken."""
        for saying in self.said.get(spot, ()):
            if saying.operation.verb in (Verb.ACK, Verb.REJECT) and saying.end is not End.FAIL:
                yield saying


def gather_deliveries(found: Sightings) -> Deliveries:
    """Go through a history once."""
    history, deliveries = found.history, Deliveries()
    meddled = {one.asked["group"] for one in history.of(Verb.RESET, Verb.DELETE_GROUP)}
    heard: dict[tuple[str, str], int] = {}
    for one in history.of(Verb.RECEIVE, Verb.ASSIGN, Verb.LEAVE, Verb.LETTERS, *SAYINGS):
        if one.verb is Verb.LETTERS:
            deliveries.letters.update((group, value) for value, group in one.told.get("messages", ()))
        elif one.asked["group"] in meddled:
            continue
        elif one.verb is Verb.LEAVE:
            deliveries.left.setdefault((one.process, one.asked["group"]), []).append(one.asked_ns)
        elif one.verb is Verb.ASSIGN:
            member = one.process, one.asked["group"]
            deliveries.left.setdefault(member, []).append(heard.get(member, 0))
        elif one.verb is Verb.RECEIVE:
            _take_received(found, deliveries, one)
        else:
            _take_said(found, deliveries, one)
        if one.end is End.OK and one.verb is not Verb.LETTERS:
            heard[one.process, one.asked["group"]] = one.asked_ns
    return deliveries


def _take_received(found: Sightings, deliveries: Deliveries, one: Operation) -> None:
    for given in one.told.get("messages", ()):
        if found.is_judged(given["topic"]):
            spot = one.asked["group"], given["topic"], given["partition"], given["offset"]
            since, until = one.ended_ns - given["age_ms"] * NS_PER_MS, one.ended_ns + given["left_ms"] * NS_PER_MS
            delivery = Delivery(spot, given["value"], given["key"], given["attempt"], given["lease"], since, until, one)
            deliveries.given.setdefault(spot, []).append(delivery)


def _take_said(found: Sightings, deliveries: Deliveries, one: Operation) -> None:
    refused = {(*spot, lease): code for *spot, lease, code in one.told.get("refused", ())}
    for topic, partition, offset, lease in one.asked["messages"]:
        if found.is_judged(topic):
            end = ended(one, refused.get((topic, partition, offset, lease)))
            spot = one.asked["group"], topic, partition, offset
            deliveries.said.setdefault(spot, []).append(Saying(one, lease, end))
