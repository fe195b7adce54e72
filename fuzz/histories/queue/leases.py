"""A message is one member's at a time.

Two leases are an anomaly when there is a moment at which both were certain: both receivers had the message, neither
lease could be over, and nothing had been said that may have ended one.
"""

from collections.abc import Iterator

from goqueue.fuzz.histories.queue.deliveries import Deliveries, Delivery
from goqueue.fuzz.histories.verdict import Finding


def double_leases(deliveries: Deliveries) -> Iterator[Finding]:
    """Messages that two members had at one time."""
    for (group, topic, partition, offset), given in deliveries.given.items():
        if len(given) < 2:
            continue
        holder: tuple[Delivery, int] | None = None
        for delivery in sorted(given, key=lambda one: one.operation.ended_ns):
            begun, until = delivery.operation.ended_ns, deliveries.certain_until(delivery)
            if until <= begun:
                continue
            if holder is not None and holder[1] > begun and holder[0].lease != delivery.lease:
                said = (
                    f"{delivery.value} at {topic}/{partition}@{offset} was given to {delivery.operation.process} of"
                    f" {group} while {holder[0].operation.process} had it for {(holder[1] - begun) / 1e9:.3f} s more"
                )
                yield Finding("double-lease", said, [holder[0].operation, delivery.operation])
            if holder is None or until > holder[1]:
                holder = delivery, until
