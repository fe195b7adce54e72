"""The cluster for people: nodes with what hangs on them, and partitions that are not as they should be."""

from attrs import define

from goqueue.core.cluster.apply import ClusterState, NodeState
from goqueue.core.cluster.liveness import Liveness
from goqueue.core.cluster.verbs import ClusterNode, ClusterReply, PartitionName
from goqueue.core.quorum.voter_id import node_of

_LISTED_MAX = 1000
_MS = 1_000_000


@define
class Health:
    """What is counted over all places."""

    partitions: int
    moving: int
    in_sync: int
    under_replicated: list[PartitionName]
    offline: list[PartitionName]
    leaders: dict[str, int]
    replicas: dict[str, int]
    synced: dict[str, int]


def health(state: ClusterState) -> Health:
    """Count over all places; those that lack a replica are no concern of those that lack a leader."""
    none = dict.fromkeys(sorted(state.nodes), 0)
    seen = Health(0, 0, 0, [], [], {**none}, {**none}, {**none})
    for name in sorted(state.topics):
        topic = state.topics[name]
        seen.partitions += topic.partitions
        for number, placed in sorted(topic.placements.items()):
            seen.in_sync += len(placed.isr)
            seen.moving += bool(placed.adding or placed.removing)
            if not placed.leader:
                seen.offline.append(PartitionName(name, number))
            elif any(one not in placed.isr and one not in placed.adding for one in placed.replicas):
                seen.under_replicated.append(PartitionName(name, number))
            _count(seen.leaders, [placed.leader])
            _count(seen.replicas, placed.replicas)
            _count(seen.synced, placed.isr)
    return seen


def _count(counts: dict[str, int], nodes: list[str]) -> None:
    for node_id in nodes:
        if node_id in counts:
            counts[node_id] += 1


def describe_cluster(
    now: int,
    state: ClusterState,
    controller: str,
    term: int,
    voters: list[str],
    liveness: Liveness | None,
    absence: str = "",
) -> ClusterReply:
    """The cluster as a node knows it; `liveness` is the controller's, if it is the one that is asked.

    `voters` are voter ids, and `absence` is why the node itself is no part of the cluster.
    """
    seen = health(state)
    registered = [state.voter(node_id) for node_id in state.nodes]

    def node_reply(node: NodeState) -> ClusterNode:
        node_id = node.node_id
        silent_ns = liveness.silent_ns(now, node_id) if liveness is not None else None
        return ClusterNode(
            node_id,
            node.standing,
            node.rack,
            node.internal,
            node.http,
            node.grpc,
            node.version,
            node.incarnation,
            is_controller=node_id == controller,
            is_voter=state.voter(node_id) in voters,
            is_suspect=liveness is not None and liveness.is_suspect(now, node_id),
            seen_ago_ms=-1 if silent_ns is None else silent_ns // _MS,
            leaders=seen.leaders[node_id],
            replicas=seen.replicas[node_id],
            in_sync=seen.synced[node_id],
        )

    return ClusterReply(
        state.cluster_id,
        controller,
        term,
        sorted(node_of(one) for one in voters),
        [node_reply(state.nodes[node_id]) for node_id in sorted(state.nodes)],
        len(state.topics),
        seen.partitions,
        seen.moving,
        len(seen.under_replicated),
        len(seen.offline),
        seen.under_replicated[:_LISTED_MAX],
        seen.offline[:_LISTED_MAX],
        sorted(node_of(one) for one in voters if one not in registered),
        absence,
    )
