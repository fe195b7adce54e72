"""Which node a request belongs to, read from the agreed state.

The row of a request says how it is routed. Of a service's internal requests those that write what only a leader may
write are never passed on: two nodes that both believe to lead must not both write through the one that does.

A topic without placements was made by a node that was alone, and is that node's.
"""

from collections.abc import Callable
from typing import Any

from attrs import define, field

from goqueue.core.cluster.apply import ClusterState
from goqueue.core.requests.call import Call, Origin
from goqueue.core.requests.messages import Fetch, PublishBatch, Side
from goqueue.core.requests.metadata import AddSide, MakeOwnTopic
from goqueue.core.requests.row import Route, ServiceName
from goqueue.core.requests.table import TABLE
from goqueue.core.requests.topics import CreateTopic, DeleteTopic

_GROUPS = "__groups"


@define(eq=False)
class Routes:
    """The routes as one node sees them; an empty name stands for a node that nobody knows."""

    node_id: str
    _state: Callable[[], ClusterState]
    _controller: Callable[[], str]
    # Of topics: whether all partitions are led here, until that changes.
    _all_here: dict[str, bool] = field(factory=dict)

    def changed(self) -> None:
        """The state or the controller is another one."""
        self._all_here.clear()

    def node(self, call: Call, request: Any) -> str | None:
        """The node that a request belongs to; None where it is carried out here, whoever leads."""
        route = TABLE[type(request)].route
        if route is Route.PARTITION:
            is_bound = call.origin is Origin.SERVICE and _is_bound(call, request)
            return None if is_bound else self.leader(request.topic, request.partition)
        if route is Route.CONTROLLER:
            return self._controller()
        if route is Route.COORDINATOR:
            return self.leader(_GROUPS, 0) or None
        return request.node if route is Route.NODE else None

    def leader(self, topic: str, partition: int) -> str | None:
        """Who leads a partition; None for one that is not known, or is not placed."""
        known = self._state().topics.get(topic)
        placement = None if known is None else known.placements.get(partition)
        return None if placement is None else placement.leader

    def knows(self, topic: str) -> bool:
        """Whether there is such a topic."""
        return topic in self._state().topics

    def is_all_here(self, topic: str) -> bool:
        """Whether all partitions of a topic that is known are led by this node, or it is alone with them."""
        is_here = self._all_here.get(topic)
        if is_here is None:
            placements = self._state().topics[topic].placements.values()
            is_here = self._all_here[topic] = all(one.leader == self.node_id for one in placements)
        return is_here

    def has_come(self, request: object) -> bool:
        """Whether this node knows of what a request has changed, as far as whoever asked will look for it here."""
        topics = self._state().topics
        if isinstance(request, CreateTopic | MakeOwnTopic):
            return request.name in topics
        if isinstance(request, DeleteTopic):
            return request.name not in topics
        if isinstance(request, AddSide):
            return request.name not in topics or request.side in topics[request.name].sides
        return True


def _is_bound(call: Call, request: Any) -> bool:
    """Whether what a service asks may only be done by a leader that is here."""
    if isinstance(request, PublishBatch):
        # A move of what is due belongs to one tenure of the partition.
        is_mover = call.service is ServiceName.DELAYS
        return request.side is not Side.DATA or request.topic == _GROUPS or is_mover
    return isinstance(request, Fetch) and request.side is not Side.DATA
