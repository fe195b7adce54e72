"""The cluster for people: nodes with what hangs on them, and partitions that are not as they should be."""

from attrs import define

from goqueue.core.cluster.apply import ClusterState, NodeState, Placement
from goqueue.core.cluster.liveness import Liveness
from goqueue.core.quorum.voter_id import node_of
from goqueue.core.requests.cluster import ClusterNode, ClusterReply, OfflinePartition, PartitionName
from goqueue.core.requests.standing import Standing

_LISTED_MAX = 1000
_MS = 1_000_000


@define
class Health:
    """What is counted over all places."""

    partitions: int
    moving: int
    in_sync: int
    under_replicated: list[PartitionName]
    offline: list[OfflinePartition]
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
                why = why_offline(state, name, number, placed) if len(seen.offline) < _LISTED_MAX else ""
                seen.offline.append(OfflinePartition(name, number, placed.eligible, why))
            elif any(one not in placed.isr and one not in placed.adding for one in placed.replicas):
                seen.under_replicated.append(PartitionName(name, number))
            _count(seen.leaders, [placed.leader])
            _count(seen.replicas, placed.replicas)
            _count(seen.synced, placed.isr)
    return seen


def why_offline(state: ClusterState, name: str, number: int, placed: Placement) -> str:
    """Why nobody leads a partition, and what to do, in a sentence."""
    where, force = f"{name}/{number}", f"goqueue cluster elect --unclean {name}/{number}"
    if any(_lives(state, one) for one in placed.eligible):
        return f"{_listed(placed.eligible, 'or')} is about to lead {where}"
    if placed.eligible:
        start = f"start {placed.eligible[0]}" if len(placed.eligible) == 1 else "start one of them"
        none = "does not live" if len(placed.eligible) == 1 else "none of them lives"
        return (
            f"only {_listed(placed.eligible, 'and')} {_has(placed.eligible)} all of {where}, and {none}: {start}, "
            f"or give up what only {_listed(placed.eligible, 'or')} may have: {force}"
        )
    missing = [one for one in placed.replicas if not _lives(state, one)]
    cause = f"{placed.last or 'the last of them'} lost unsynced messages in a crash"
    begin = f"no replica is known to have all of {where} since {cause}"
    if missing:
        start = f"start {_listed(missing, 'and')}, and the longest log of all replicas leads"
        return f"{begin}: {start}; to force it: {force}"
    return f"{begin}: {_listed(placed.replicas, 'and')} compare their logs, and the longest leads; to force it: {force}"


def _lives(state: ClusterState, node_id: str) -> bool:
    node = state.nodes.get(node_id)
    return node is not None and node.standing in (Standing.LIVE, Standing.DRAINING)


def _has(nodes: list[str]) -> str:
    return "has" if len(nodes) == 1 else "have"


def _listed(nodes: list[str], word: str) -> str:
    """Names in a sentence."""
    return nodes[0] if len(nodes) == 1 else f"{', '.join(nodes[:-1])} {word} {nodes[-1]}"


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
