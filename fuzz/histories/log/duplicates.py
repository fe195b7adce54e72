"""A message is in the log once, unless its sender sent it again without numbers."""

from collections.abc import Iterator

from goqueue.fuzz.histories.log.sightings import Sightings
from goqueue.fuzz.histories.verdict import Finding


def duplicates(found: Sightings) -> Iterator[Finding]:
    """Values that are at two offsets."""
    for value, places in found.places.items():
        judged = {place: one for place, one in places.items() if found.is_judged(place[0])}
        if len(judged) > 1 and value in found.publishers and not found.may_repeat(value):
            where = " and ".join(f"{topic}/{partition}@{offset}" for topic, partition, offset in judged)
            yield Finding("duplicate", f"{value} is at {where}", [*found.publishers[value], *judged.values()])
