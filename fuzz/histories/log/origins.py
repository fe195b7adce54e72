"""What is read was published, and not refused.

unexpected     read, and published by nobody
aborted-read   read, and every publish of it failed for certain (G1a)
misplaced      read in another topic than it was published to
cancelled      read, although its delivery was cancelled before it was due
"""

from collections.abc import Iterator

from goqueue.fuzz.histories.log.sightings import Sightings
from goqueue.fuzz.histories.operation import Operation, Verb
from goqueue.fuzz.histories.verdict import Finding


def unfounded(found: Sightings) -> Iterator[Finding]:
    """Values that should never have been read."""
    cancelled = {one.asked["value"]: one for one in found.history.of(Verb.CANCEL) if one.is_ok}
    for (topic, partition), read in found.read.items():
        if not found.is_judged(topic):
            continue
        for offset, (value, reading) in read.items():
            place, senders = f"{topic}/{partition}@{offset}", found.publishers.get(value, [])
            if not senders:
                yield Finding("unexpected", f"{value} was read at {place}, and nobody published it", [reading])
            elif all(one.is_failed for one in senders):
                said = f"{value} was read at {place}, and its publish certainly failed"
                yield Finding("aborted-read", said, [*senders, reading])
            elif all(one.asked["topic"] != topic for one in senders) and not found.history.terms.redrives:
                said = f"{value} was read at {place}, and published to another topic"
                yield Finding("misplaced", said, [*senders, reading])
            elif value in cancelled and _is_one_delivery(senders):
                said = f"{value} was read at {place}, though its delivery was cancelled"
                yield Finding("cancelled", said, [*senders, cancelled[value], reading])


def _is_one_delivery(senders: list[Operation]) -> bool:
    """Whether a value was published once: of several, one may be delivered and another cancelled."""
    return len(senders) == 1
