"""The endpoints that say how the node is, and what it has counted."""

from goqueue.core.requests.cluster import ClusterFigures, ClusterReply, DescribeCluster, MeasureCluster
from goqueue.core.requests.delays import DelaysMeasured, MeasureDelays
from goqueue.core.requests.groups import GroupsMeasured, MeasureGroups
from goqueue.core.requests.nodes import DescribeNode, NodeReply
from goqueue.core.requests.queues import MeasureWork, WorkMeasured
from goqueue.transports.metrics.page import CONTENT_TYPE
from goqueue.transports.rest.bodies import (
    AliveView,
    BrokerView,
    CheckView,
    HealthView,
    ReadyView,
    StatsView,
    TopicStats,
    VersionView,
)
from goqueue.transports.rest.call import Call, answer
from goqueue.transports.rest.cluster import cluster_problems
from goqueue.transports.rest.exchange import Answer
from goqueue.transports.rest.times import written_span, written_time
from goqueue.transports.rest.topics import message_count


async def health(call: Call) -> Answer:
    """GET /health."""
    node, found = await call.ask_reply(DescribeNode()), await call.ask_reply(DescribeCluster())
    timestamp = written_time(call.wall_ms()) or ""
    if not (isinstance(node, NodeReply) and isinstance(found, ClusterReply)):
        return answer(HealthView("fail", timestamp), 503)
    return answer(HealthView("degraded" if cluster_problems(found) else "ok", timestamp))


async def alive(call: Call) -> Answer:
    """GET /healthz and /livez."""
    node = await call.ask(DescribeNode(), NodeReply)
    return answer(AliveView("pass", written_span(node.uptime_ns), "alive"))


async def ready(call: Call) -> Answer:
    """GET /readyz: 503 while the node starts or goes, has lost its cluster, or has no room for messages."""
    reply, found = await call.ask_reply(DescribeNode()), await call.ask_reply(DescribeCluster())
    node = reply if isinstance(reply, NodeReply) else None
    checks = {
        "broker": _check("" if node else getattr(reply, "message", "no answer"), "answers"),
        "accepting": _check("going away" if call.draining() else "", "takes requests"),
    }
    if node:
        checks |= {check.name: _check(check.problem, _FINE[check.name]) for check in node.checks}
    elif isinstance(found, ClusterReply) and found.absence:
        # A node that is not let in knows why, and not much besides.
        checks["cluster"] = _check(found.absence, "")
    passed = all(check.status == "pass" for check in checks.values())
    view = ReadyView("pass" if passed else "fail", checks)
    if node:
        view.broker = BrokerView(node.node_id, node.topics, node.size_bytes)
    return answer(view, 200 if passed else 503)


async def version(call: Call) -> Answer:
    """GET /version."""
    node = await call.ask(DescribeNode(), NodeReply)
    return answer(VersionView(node.version, node.node_id))


async def stats(call: Call) -> Answer:
    """GET /stats."""
    node = await call.ask(DescribeNode(), NodeReply)
    topics = {
        topic.name: TopicStats(topic.partitions, message_count(topic), topic.size_bytes) for topic in node.streams
    }
    return answer(StatsView(node.node_id, written_span(node.uptime_ns), node.topics, node.size_bytes, topics))


async def metrics(call: Call) -> Answer:
    """GET /metrics and /admin/metrics."""
    node = await call.ask(DescribeNode(), NodeReply)
    groups = await call.ask(MeasureGroups(), GroupsMeasured)
    work = await call.ask(MeasureWork(), WorkMeasured)
    delays = await call.ask(MeasureDelays(), DelaysMeasured)
    cluster = await call.ask(MeasureCluster(), ClusterFigures)
    return Answer(200, call.metrics.written(node, groups, work, delays, cluster), CONTENT_TYPE)


# What is said of the node's own checks where they hold.
_FINE = {"disk": "has room", "logs": "are open", "cluster": "is in touch with the controller"}


def _check(problem: str, fine: str) -> CheckView:
    return CheckView("fail", problem, "0ms") if problem else CheckView("pass", fine, "0ms")
