"""What happened to one message, step by step, on one node or on several.

Steps of a node are in the order of its events. Those of several nodes are put together by what each node's wall said,
save that nobody receives what was not sent: clocks differ, and are known to a millisecond. So a step may bear an
earlier time than the one that it follows from, and shows by how much the clocks are apart.
"""

from collections import Counter, deque
from collections.abc import Iterable
from enum import StrEnum

from attrs import define


@define
class Place:
    """Where a message is; `topic_id` is what the node that is looked at knows the topic by, -1 without it."""

    topic: str
    partition: int
    offset: int
    topic_id: int = -1

    def __str__(self) -> str:
        return f"{self.topic}/{self.partition}/{self.offset}"


class Kind(StrEnum):
    """What a step is, in the order in which one follows from another."""

    # A client's publish came; another node leads; that node took it over.
    ASKED = "asked"
    FORWARDED = "forwarded"
    ACCEPTED = "accepted"
    # In the leader's log, in letters to followers, in their logs, on a disk.
    APPENDED = "appended"
    SENT = "sent"
    RECEIVED = "received"
    COPIED = "copied"
    DURABLE = "durable"
    # A follower said that it is on its disk; the leader heard that; readers may see it.
    CONFIRMED = "confirmed"
    HEARD = "heard"
    VISIBLE = "visible"
    # The answer went to the node that had forwarded the request; it came there; a client got it.
    RETURNED = "returned"
    LEARNED = "learned"
    ANSWERED = "answered"
    DELIVERED = "delivered"
    LEASED = "leased"
    COMMITTED = "committed"
    EXTENDED = "extended"
    RELEASED = "released"
    ACKED = "acked"
    NACKED = "nacked"
    REJECTED = "rejected"
    # It is in a topic of dead letters; it was taken back, for the leader has another in its place.
    BURIED = "buried"
    CUT = "cut"


# What one node sees of a letter, by what the other one saw.
_CAUSES = {
    Kind.ACCEPTED: Kind.FORWARDED,
    Kind.RECEIVED: Kind.SENT,
    Kind.HEARD: Kind.CONFIRMED,
    Kind.LEARNED: Kind.RETURNED,
}
_RANKS = {kind: rank for rank, kind in enumerate(Kind)}


@define
class Step:
    """One thing that happened, at which event of a node's capture, with what is known of it; `peer` is who else."""

    wall_ns: int
    node: str
    kind: Kind
    detail: str
    peer: str
    event: int


def in_order(steps: Iterable[Step]) -> list[Step]:
    """The steps of one node, those of one event by what follows from what."""
    return sorted(steps, key=lambda step: (step.wall_ns, step.event, _RANKS[step.kind]))


def merged(nodes: Iterable[Iterable[Step]]) -> list[Step]:
    """The steps of several nodes, each in its order."""
    waiting = [deque(steps) for steps in nodes]
    # Letters by what was done with them, where, and who else it was: how many there are, and how many came so far.
    total = Counter((step.kind, step.node, step.peer) for steps in waiting for step in steps)
    came: Counter[tuple[Kind, str, str]] = Counter()
    found: list[Step] = []

    def is_early(step: Step) -> bool:
        cause = _CAUSES.get(step.kind)
        if cause is None:
            return False
        sent = cause, step.peer, step.node
        return total[sent] > came[sent] <= came[step.kind, step.node, step.peer]

    while any(waiting):
        heads = [steps for steps in waiting if steps]
        steps = min(heads, key=lambda one: (is_early(one[0]), one[0].wall_ns, _RANKS[one[0].kind]))
        found.append(steps.popleft())
        came[found[-1].kind, found[-1].node, found[-1].peer] += 1
    return found
