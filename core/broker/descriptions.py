"""What a node says of itself, of its topics, and of the nodes that lead them."""

from collections.abc import Callable

from attrs import define

from goqueue.core.broker.lifecycle import BrokerLifecycle
from goqueue.core.broker.node_options import NodeOptions
from goqueue.core.cluster import alone
from goqueue.core.cluster.agreement import Agreement
from goqueue.core.cluster.describe import why_offline
from goqueue.core.gate.gate import Gate
from goqueue.core.replicas.replica_set import ReplicaSet
from goqueue.core.requests.call import Call
from goqueue.core.requests.nodes import Check, DescribeNode, NodeReply
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request
from goqueue.core.requests.topics import DescribePartitions, DescribeTopic, ListTopics, PartitionReply


@define(eq=False)
class Descriptions:
    """Answers to all who look, and change nothing."""

    _options: NodeOptions
    _led: ReplicaSet
    _agreement: Agreement
    _answer: Callable[[Call | None, Reply], None]
    _gate: Gate
    # Since when there is the node.
    _started: int
    # None in a node that is alone.
    _attendance: BrokerLifecycle | None = None
    # Every partition that was there at the start has been looked at.
    _was_started: bool = False

    def topics(self, _now: int, call: Call, request: ListTopics | DescribeTopic | DescribePartitions) -> None:
        """Say which topics there are, or what one is like."""
        reply = self._led.describe(request)
        if isinstance(request, DescribePartitions) and isinstance(reply, list):
            state = self._agreement.state
            nodes, topic = state.nodes, state.topics.get(request.name)
            placements = topic.placements if topic is not None else {}
            for part in reply:
                placed = placements.get(part.partition) if isinstance(part, PartitionReply) else None
                if isinstance(part, PartitionReply) and placed is not None:
                    part.elr = [*placed.elr]
                    part.why_offline = "" if placed.leader else why_offline(state, request.name, part.partition, placed)
                if isinstance(part, PartitionReply) and part.leader in nodes and part.leader != self._options.node_id:
                    part.leader_address = nodes[part.leader].grpc
        self._answer(call, reply)

    def node(self, now: int, call: Call, _request: DescribeNode) -> None:
        """Say what this node is, and whether clients should be sent to it."""
        topics, size_bytes = [*self._led.public()], self._led.size_bytes()
        name, version = self._options.node_id, self._options.version
        uptime_ns = now - self._started
        checks, replaced = self._checks(now), self._led.timestamps_replaced
        self._answer(
            call,
            NodeReply(
                name, version, uptime_ns, len(topics), size_bytes, topics, checks, replaced, *self._gate.counted()
            ),
        )

    def _checks(self, now: int) -> list[Check]:
        led, attendance = self._led, self._attendance
        self._was_started = self._was_started or led.is_settled()
        checks = [
            Check("disk", "the disk has no room for messages" if led.is_disk_full else ""),
            Check("logs", "" if self._was_started else "partitions are being opened"),
        ]
        if attendance is not None:
            checks.append(Check("cluster", attendance.absence(now)))
        return checks

    def alone(self, _now: int, call: Call, request: Request) -> None:
        """Say of a node that is alone what others say of a cluster."""
        options = self._options
        self._answer(call, alone.answer(options.node_id, options.version, self._agreement.state, request))
