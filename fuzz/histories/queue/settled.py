"""What was acknowledged or rejected is not given to the group again."""

from collections.abc import Iterator

from goqueue.fuzz.histories.operation import End
from goqueue.fuzz.histories.queue.deliveries import Deliveries
from goqueue.fuzz.histories.verdict import Finding


def delivered_again(deliveries: Deliveries) -> Iterator[Finding]:
    """Messages that somebody was leased after their settlement was taken."""
    for spot, given in deliveries.given.items():
        taken = [one.operation for one in deliveries.settled(spot) if one.end is End.OK]
        if not taken:
            continue
        first = min(taken, key=lambda one: one.ended_ns)
        for delivery in given:
            if delivery.since_ns > first.ended_ns:
                group, topic, partition, offset = spot
                said = f"{delivery.value} at {topic}/{partition}@{offset} was given to {group} after its {first.verb}"
                yield Finding("delivered-after-settled", said, [first, delivery.operation])
                break
