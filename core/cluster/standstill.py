"""Partitions of which no replica is known to have everything: their replicas say how far their logs reach.

A partition comes to that when the last replica that had everything has lost something. Others may have what it lost: a
follower that fell out of sync a moment before, or one that lost less in the same power cut. So the controller waits
until every replica has told the end of its log, and lets the longest one lead: the one whose last batch has the latest
leader epoch, and among these the one that reaches furthest.

Why that one has everything that any replica still has: all batches of one epoch were written by one leader, and a log
holds a beginning of what its leader had. So of two logs whose last batches have the same epoch, the longer one holds
the shorter one. And a leader of a later epoch had, when its epoch began, everything that was acknowledged before; a log
that holds one of its batches holds what lies before that batch.

One order has to do for all streams of a partition: the messages decide. Of the others the leader may have less than
another replica.

What was told is nobody's but this controller's; nodes tell it again with each heartbeat.
"""

from collections.abc import Iterator

from attrs import define, field

from goqueue.core.cluster.apply import ClusterState, Placement
from goqueue.core.cluster.draft import draft
from goqueue.core.cluster.duties import EndStandstill
from goqueue.core.cluster.plan import Plan
from goqueue.core.requests.cluster import LogEnd
from goqueue.core.requests.standing import Standing

_LIVING = (Standing.LIVE, Standing.DRAINING)
_Slot = tuple[str, int]


def stands_still(placed: Placement) -> bool:
    """Whether nobody is known to have everything that was acknowledged."""
    return not placed.leader and not placed.eligible


@define
class _Told:
    """What replicas have told under one epoch: as which process, and the epoch and the end of the log."""

    leader_epoch: int
    ends: dict[str, tuple[int, tuple[int, int]]] = field(factory=dict)


@define
class Standstills:
    """What one controller has been told."""

    _told: dict[_Slot, _Told] = field(factory=dict)

    def note(self, state: ClusterState, node_id: str, incarnation: int, logs: list[LogEnd]) -> None:
        """A node says how far its logs reach."""
        for log in logs:
            topic = state.topics.get(log.topic)
            placed = topic.placements.get(log.partition) if topic is not None else None
            is_meant = placed is not None and stands_still(placed) and placed.leader_epoch == log.leader_epoch
            if placed is None or not is_meant or node_id not in placed.replicas:
                continue
            slot = log.topic, log.partition
            told = self._told.get(slot)
            if told is None or told.leader_epoch != log.leader_epoch:
                told = self._told[slot] = _Told(log.leader_epoch)
            told.ends[node_id] = incarnation, (log.epoch, log.offset)

    def ended(self, state: ClusterState) -> Iterator[EndStandstill]:
        """Who is to lead, of the partitions of which all replicas have told."""
        for slot, told in [*self._told.items()]:
            topic = state.topics.get(slot[0])
            placed = topic.placements.get(slot[1]) if topic is not None else None
            if placed is None or not stands_still(placed) or placed.leader_epoch != told.leader_epoch:
                del self._told[slot]
                continue
            incarnations = {one: told.ends[one][0] for one in placed.replicas if one in told.ends}
            if _is_complete(state, placed, incarnations):
                best = max(incarnations, key=lambda one: (told.ends[one][1], -placed.replicas.index(one)))
                yield EndStandstill(*slot, told.leader_epoch, best, incarnations)


def _is_complete(state: ClusterState, placed: Placement, incarnations: dict[str, int]) -> bool:
    """Whether every replica has told, as the process that is known and lives."""
    nodes = (state.nodes.get(one) for one in placed.replicas)
    return all(
        node is not None and node.standing in _LIVING and incarnations.get(node.node_id) == node.incarnation
        for node in nodes
    )


def plan_standstill(state: ClusterState, request: EndStandstill) -> Plan:
    """The record that lets the longest log lead, unless something has come between."""
    topic = state.topics.get(request.topic)
    placed = topic.placements.get(request.partition) if topic is not None else None
    if topic is None or placed is None or not stands_still(placed) or placed.leader_epoch != request.leader_epoch:
        return []
    if request.node_id not in placed.replicas or not _is_complete(state, placed, request.incarnations):
        return []
    changed = draft(topic, request.partition)
    changed.seat(request.node_id)
    return [changed.record()]
