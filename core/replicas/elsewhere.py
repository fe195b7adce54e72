"""Whether a partition is led by another node, and by which: what rooms ask before they look for it here.

It is read from what is agreed on, so it is as late as this node is with that. Whoever acts on it must bear to be told
by the other node that it is no leader either.
"""

from collections.abc import Iterable
from typing import NamedTuple

from goqueue.core.replicas.replica_set import ReplicaSet


class Elsewhere(NamedTuple):
    """Another node's tenure of a partition; `leader` is empty while nobody has it."""

    leader: str
    topic_id: int
    leader_epoch: int


def elsewhere(led: ReplicaSet, topic: str, number: int) -> Elsewhere | None:
    """Who else leads a partition; None where this node does, and where there is no such partition."""
    known = led.topics.get(topic)
    if known is None or not 0 <= number < known.topic.partitions:
        return None
    leader, placement = known.leader(number), known.placement(number)
    if leader == led.node_id:
        return None
    return Elsewhere(leader, known.topic.topic_id, 0 if placement is None else placement.leader_epoch)


def leaders_elsewhere(led: ReplicaSet, slots: Iterable[tuple[str, int]]) -> list[str]:
    """The other nodes that lead any of some partitions; "" among them where nobody does."""
    found: dict[str, None] = {}
    for slot in slots:
        away = elsewhere(led, *slot)
        if away is not None:
            found[away.leader] = None
    return sorted(found)
