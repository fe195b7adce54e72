"""Where a group goes by keys, a message is given only when those of its key that lie before it are done with.

Of a message that lies before, somebody must have had it under a certain lease when the later one was given, or have
been leased it after that, and nobody may have asked to settle it before: only then was it certainly neither settled nor
a dead letter at that moment. That an acknowledgement was taken later shows nothing: it is taken of what is settled.
"""

from collections.abc import Iterator

from goqueue.fuzz.histories.operation import NEVER, Operation, Terms
from goqueue.fuzz.histories.queue.deliveries import Deliveries, Delivery, Spot
from goqueue.fuzz.histories.verdict import Finding

_Open = tuple[int, Operation]


def disordered_keys(deliveries: Deliveries, terms: Terms) -> Iterator[Finding]:
    """Messages that were given while an earlier one of their key was under way."""
    of_key: dict[tuple[str, str, int, str], dict[int, list[Delivery]]] = {}
    for spot, given in deliveries.given.items():
        group, topic, partition, offset = spot
        known, key = terms.groups.get(group), given[0].key
        if known is not None and known.key_ordered and key is not None:
            of_key.setdefault((group, topic, partition, key), {})[offset] = given
    for (group, topic, partition, key), by_offset in of_key.items():
        longest: tuple[int, int, Operation] | None = None
        for offset in sorted(by_offset):
            if longest is not None:
                for delivery in by_offset[offset]:
                    if delivery.operation.ended_ns < longest[0]:
                        said = (
                            f"{delivery.value} of key {key} at {topic}/{partition}@{offset} was given to {group} while"
                            f" the message at {longest[1]}, of the same key, was not done with"
                        )
                        yield Finding("key-out-of-order", said, [delivery.operation, longest[2]])
                        break
            until, proof = _open_until(deliveries, (group, topic, partition, offset), by_offset[offset])
            if longest is None or until > longest[0]:
                longest = until, offset, proof


def _open_until(deliveries: Deliveries, spot: Spot, given: list[Delivery]) -> _Open:
    """Until when a message was certainly not done with, and the operation that shows it."""
    settled = min((one.operation.asked_ns for one in deliveries.settled(spot)), default=NEVER)
    lives = [(max(one.since_ns, deliveries.certain_until(one)), one.operation) for one in given]
    last_ns, last = max(lives, key=lambda one: one[0])
    return min(settled, last_ns), last
