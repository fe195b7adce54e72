"""What was acknowledged is read by whoever comes by.

lost-write   acknowledged; readers went past its offset, and nobody ever saw it
skip         known to be at its offset, and passed over by one reading while another one saw it
unseen       acknowledged, and not seen by a reader that says it has read everything there is
"""

from bisect import bisect_left
from collections.abc import Iterator

from goqueue.fuzz.histories.log.sightings import Sighting, Sightings, Slot, Span
from goqueue.fuzz.histories.operation import Operation, Verb
from goqueue.fuzz.histories.verdict import Finding


def passed_over(found: Sightings) -> Iterator[Finding]:
    """Lost writes and skips."""
    known = {
        slot: sorted(offset for offset in held if offset >= 0)
        for slot, held in found.held.items()
        if found.keeps_all(slot[0])
    }
    told: set[tuple[Slot, int]] = set()
    for span in found.spans:
        offsets = known.get(span.slot, [])
        for at in range(bisect_left(offsets, span.begin), bisect_left(offsets, span.position)):
            offset = offsets[at]
            if offset not in span.offsets and (span.slot, offset) not in told:
                told.add((span.slot, offset))
                yield _passed(found, span, offset)


def _passed(found: Sightings, span: Span, offset: int) -> Finding:
    (topic, partition), place = span.slot, f"{span.slot[0]}/{span.slot[1]}@{offset}"
    read = found.read.get(span.slot, {}).get(offset)
    if read is not None:
        said = f"{span.operation.process} read {topic}/{partition} past {place}, where {read.value} is"
        return Finding("skip", said, [read.operation, span.operation])
    value, acknowledged = found.acknowledged[span.slot][offset]
    said = f"{value} was acknowledged at {place}, {span.operation.process} read past it, and nobody ever saw it"
    return Finding("lost-write", said, [acknowledged, span.operation])


def unseen(found: Sightings) -> Iterator[Finding]:
    """What a reader that has read everything never saw."""
    told: set[tuple[str, str, str]] = set()
    for drained in found.history.of(Verb.DRAINED):
        topic, group = drained.asked["topic"], drained.asked["group"]
        if not found.keeps_all(topic) or group in found.history.terms.groups:
            continue
        reader = group or drained.process
        seen = _seen_by(found, drained, topic, group)
        for value, acknowledged in acknowledged_before(found, drained, topic):
            if value not in seen and (reader, topic, value) not in told:
                told.add((reader, topic, value))
                said = f"{value} was acknowledged, and {reader} never saw it, though it has read all of {topic}"
                yield Finding("unseen", said, [acknowledged, drained])


def _seen_by(found: Sightings, drained: Operation, topic: str, group: str) -> set[str]:
    seen: set[str] = set()
    for one in found.history.of(Verb.POLL):
        if one.is_ok and (one.asked["group"] == group if group else one.process == drained.process):
            parts = (part for part in one.told["parts"] if part["topic"] == topic)
            seen.update(value for part in parts for _, value in part["messages"])
    return seen


def acknowledged_before(found: Sightings, drained: Operation, topic: str) -> Iterator[Sighting]:
    """What was acknowledged in a topic before somebody had read all of it; what came later is due by then."""
    for (name, _), acknowledged in found.acknowledged.items():
        if name == topic:
            yield from (one for one in acknowledged.values() if one.operation.ended_ns < drained.asked_ns)
    if found.history.terms.clock_error_ms is None:
        return
    doubtful = {one.asked["value"] for one in found.history.of(Verb.CANCEL) if not one.is_failed}
    for later in found.history.of(Verb.PUBLISH_LATER):
        is_due = later.is_ok and later.told["due_ms"] < drained.wall_ms and later.ended_ns < drained.asked_ns
        if is_due and later.asked["topic"] == topic:
            yield from (Sighting(value, later) for value in later.asked["values"] if value not in doubtful)
