"""What a node lends to forwarding, by what each is to be called for."""

from collections.abc import Callable, Sequence
from typing import Any

from attrs import define

from goqueue.core.cluster.apply import ClusterState
from goqueue.core.cluster.options import ClusterOptions
from goqueue.core.requests.call import Call
from goqueue.core.requests.messages import NewRecord
from goqueue.core.requests.replies import Reply


@define(eq=False)
class RoutingContext:
    """What the node lends to forwarding."""

    node_id: str
    options: ClusterOptions
    state: Callable[[], ClusterState]
    # Who decides for the cluster; empty while nobody knows.
    controller: Callable[[], str]
    # Which partitions of a topic messages go to: their places by partition.
    spread: Callable[[str, Sequence[NewRecord]], dict[int, list[int]]]
    # Carry a request out here, or refuse it.
    take: Callable[[int, Call, Any], None]
    # Tell a client or a room of this node.
    answer: Callable[[Call, Reply], None]
    # Nobody waits any more for the answer to a call that is carried out here.
    forget: Callable[[Call], None]
