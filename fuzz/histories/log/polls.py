"""A reader is given each partition in order, and goes on where it was.

    disordered-poll   within a reading, an offset is not above the one before
    backwards-poll    a reading begins before where the same reader had come to, and nothing was assigned meanwhile
    gap-between-polls a reading begins beyond where the reader had come to, and something lies between

An `assign` says that its process reads these partitions anew, from wherever that is.
"""

from collections.abc import Iterator
from itertools import pairwise

from goqueue.fuzz.histories.log.sightings import Sightings, Slot
from goqueue.fuzz.histories.operation import Operation, Verb
from goqueue.fuzz.histories.verdict import Finding

_Place = tuple[int, Operation]


def disordered_polls(found: Sightings) -> Iterator[Finding]:
    """All three kinds."""
    reached: dict[tuple[str, Slot], _Place] = {}
    ordered = sorted(found.history.of(Verb.POLL, Verb.ASSIGN), key=lambda one: (one.ended_ns, one.ended_serial))
    for operation in ordered:
        if not operation.is_ok:
            continue
        if operation.verb is Verb.ASSIGN:
            for topic, partition in operation.asked["partitions"]:
                reached.pop((operation.process, (topic, partition)), None)
            continue
        for part in operation.told["parts"]:
            slot = part["topic"], part["partition"]
            if not found.is_judged(slot[0]):
                continue
            yield from _within(operation, part["messages"], slot)
            key = operation.process, slot
            before = reached.get(key)
            begin = part["begin"]
            if begin is None and part["messages"]:
                begin = part["messages"][0][0]
            if before is not None and begin is not None:
                yield from _between(found, operation, slot, before, begin)
            reached[key] = part["position"], operation


def _within(operation: Operation, messages: list[tuple[int, str]], slot: Slot) -> Iterator[Finding]:
    for (before, _), (after, _) in pairwise(messages):
        if after <= before:
            said = f"{operation.process} was given offset {after} of {slot[0]}/{slot[1]} behind {before}"
            yield Finding("disordered-poll", said, [operation])


def _between(found: Sightings, operation: Operation, slot: Slot, before: _Place, begin: int) -> Iterator[Finding]:
    position, earlier = before
    who, place = operation.process, f"{slot[0]}/{slot[1]}"
    if begin < position:
        said = f"{who} had read {place} up to {position}, and then went on at {begin}"
        yield Finding("backwards-poll", said, [earlier, operation])
    elif begin > position and found.keeps_all(slot[0]):
        held = found.held.get(slot, {})
        passed = next((offset for offset in range(position, begin) if offset in held), None)
        if passed is not None:
            said = f"{who} had read {place} up to {position}, went on at {begin}, and passed over {passed}"
            yield Finding("gap-between-polls", said, [earlier, held[passed][0].operation, operation])
