"""A batch that is published as one is there as a whole or not at all, its messages one behind the other (G1b)."""

from collections.abc import Iterator

from goqueue.fuzz.histories.log.sightings import Sightings, Slot, coverage, is_covered
from goqueue.fuzz.histories.operation import Operation, Verb
from goqueue.fuzz.histories.verdict import Finding


def partial_batches(found: Sightings) -> Iterator[Finding]:
    """Batches of which a part is there."""
    covered = coverage(found)
    for batch in found.history.of(Verb.PUBLISH):
        values = batch.asked["values"]
        if not batch.asked["atomic"] or len(values) < 2 or not found.keeps_all(batch.asked["topic"]):
            continue
        if any(found.may_repeat(value) or len(found.publishers[value]) > 1 for value in values):
            continue
        finding = _partial(found, batch, values, covered)
        if finding is not None:
            yield finding


def _partial(
    found: Sightings, batch: Operation, values: list[str], covered: dict[Slot, list[tuple[int, int]]]
) -> Finding | None:
    for at, value in enumerate(values):
        for (topic, partition, offset), sighting in found.places.get(value, {}).items():
            if topic != batch.asked["topic"]:
                # A dead letter is a copy of one message, and not of its batch.
                continue
            slot = topic, partition
            for other, missing in enumerate(values):
                place = offset - at + other
                there = found.held[slot].get(place, [])
                is_passed = not there and is_covered(covered.get(slot, []), place)
                if is_passed or (there and all(one.value != missing for one in there)):
                    said = f"{value} is at {topic}/{partition}@{offset}, and {missing} of the same batch not at {place}"
                    return Finding("partial-batch", said, [batch, sighting, *(one.operation for one in there)])
    return None
