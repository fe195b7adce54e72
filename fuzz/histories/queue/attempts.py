"""A message is tried as often as its group says, and no more."""

from collections.abc import Iterator

from goqueue.fuzz.histories.operation import Terms
from goqueue.fuzz.histories.queue.deliveries import Deliveries
from goqueue.fuzz.histories.verdict import Finding


def attempts_beyond(deliveries: Deliveries, terms: Terms) -> Iterator[Finding]:
    """Messages that were given too often, by the attempt that the broker counts."""
    for (group, topic, partition, offset), given in deliveries.given.items():
        known = terms.groups.get(group)
        most = known.max_attempts if known is not None else 0
        for delivery in given:
            if (most and delivery.attempt > most) or delivery.attempt < 1:
                said = f"{delivery.value} at {topic}/{partition}@{offset} was given as attempt {delivery.attempt}"
                yield Finding("attempt-beyond-maximum", f"{said} of {most} in {group}", [delivery.operation])
                break
