"""A node that is alone, asked about the cluster: it is one of one, and there is nothing to bring elsewhere."""

from goqueue.core.cluster.apply import ClusterState
from goqueue.core.requests.cluster import (
    ClusterFigures,
    ClusterNode,
    ClusterReply,
    DescribeCluster,
    MeasureCluster,
)
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.standing import Standing


def answer(node_id: str, version: str, state: ClusterState, request: object) -> ClusterReply | ClusterFigures | Refusal:
    """What a node that is alone says to one of the requests that are answered here."""
    topics = state.topics.values()
    count = sum(topic.partitions for topic in topics)
    if isinstance(request, DescribeCluster):
        node = ClusterNode(
            node_id,
            Standing.LIVE,
            rack="",
            internal="",
            http="",
            grpc="",
            version=version,
            incarnation=0,
            is_controller=True,
            is_voter=True,
            is_suspect=False,
            seen_ago_ms=0,
            leaders=count,
            replicas=count,
            in_sync=count,
        )
        return ClusterReply("", node_id, 0, [node_id], [node], len(topics), count, 0, 0, 0)
    if isinstance(request, MeasureCluster):
        return ClusterFigures(1, 1, True, count, 0, 0, count, {node_id: count}, 0, 0, 0, 0, 0, 0, 0)
    message = "this node is alone: start it with --internal, and others with --join, to have a cluster"
    return Refusal(Code.INVALID, message)
