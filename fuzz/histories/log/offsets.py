"""An offset holds one message, whoever says so and whenever."""

from collections.abc import Iterator

from goqueue.fuzz.histories.log.sightings import Sightings, judged_slots
from goqueue.fuzz.histories.verdict import Finding


def inconsistent_offsets(found: Sightings) -> Iterator[Finding]:
    """Offsets that were said to hold two values."""
    for (topic, partition), held in judged_slots(found):
        for offset, sightings in held.items():
            if len(sightings) > 1:
                values = " and ".join(one.value for one in sightings)
                yield Finding(
                    "inconsistent-offset", f"offset {offset} of {topic}/{partition} was said to hold {values}",
                    [one.operation for one in sightings],
                )  # fmt: skip
