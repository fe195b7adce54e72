"""What a node says of itself, of its topics, and of the nodes that lead them."""

from collections.abc import Callable

from attrs import define

from goqueue.core.agreement import Agreement
from goqueue.core.calls import Reply, Request
from goqueue.core.cluster import alone
from goqueue.core.led import Led
from goqueue.core.node_options import NodeOptions
from goqueue.core.verbs import (
    DescribeNode,
    DescribePartitions,
    DescribeTopic,
    ListTopics,
    NodeReply,
    PartitionReply,
)


@define(eq=False)
class Descriptions:
    """Answers to all who look, and change nothing."""

    _options: NodeOptions
    _led: Led
    _agreement: Agreement
    _answer: Callable[[int | None, Reply], None]
    # Since when there is the node.
    _started: int

    def topics(self, _now: int, to: int, request: ListTopics | DescribeTopic | DescribePartitions) -> None:
        """Say which topics there are, or what one is like."""
        reply = self._led.describe(request)
        if isinstance(request, DescribePartitions) and isinstance(reply, list):
            nodes = self._agreement.state.nodes
            for part in reply:
                if isinstance(part, PartitionReply) and part.leader in nodes and part.leader != self._options.node_id:
                    part.leader_address = nodes[part.leader].grpc
        self._answer(to, reply)

    def node(self, now: int, to: int, _request: DescribeNode) -> None:
        """Say what this node is."""
        topics, size_bytes = [*self._led.public()], self._led.size_bytes()
        name, version = self._options.node_id, self._options.version
        self._answer(to, NodeReply(name, version, now - self._started, len(topics), size_bytes, topics))

    def alone(self, _now: int, to: int, request: Request) -> None:
        """Say of a node that is alone what others say of a cluster."""
        options = self._options
        self._answer(to, alone.answer(options.node_id, options.version, self._agreement.state, request))
