"""What happened to one message, step by step, on one node or on several.

Steps of a node are in the order of its events. Those of several nodes are put together by what each node's wall said;
where that is the same, by what follows from what: nobody receives what was not sent. Clocks that differ show as steps
that come too early, and by how much.
"""

from collections.abc import Iterable
from enum import StrEnum
from heapq import merge

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
    # Another node got the answer to what it had forwarded; a client did.
    RETURNED = "returned"
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
    return [*merge(*nodes, key=lambda step: (step.wall_ns, _RANKS[step.kind]))]
