"""How each request that changes the agreed state is planned, and what it is answered once that is agreed on."""

from collections.abc import Callable
from typing import Any

from attrs import define

from goqueue.core.cluster.apply import ClusterState
from goqueue.core.cluster.duties import DeclareDead, EndStandstill, NameCluster, Tidy
from goqueue.core.cluster.plan import (
    Plan,
    plan_alter,
    plan_create,
    plan_delete,
    plan_own,
    plan_partitions,
    plan_removed,
    plan_side,
)
from goqueue.core.cluster.plan_isr import plan_isr
from goqueue.core.cluster.plan_moves import plan_elect, plan_reassign
from goqueue.core.cluster.plan_nodes import plan_dead, plan_drain, plan_forget, plan_leave, plan_register
from goqueue.core.cluster.plan_readmit import plan_readmit
from goqueue.core.cluster.plan_tidy import plan_name, plan_tidy
from goqueue.core.cluster.standstill import plan_standstill
from goqueue.core.requests.cluster import (
    AlterIsr,
    Drain,
    DrainReply,
    ElectLeaders,
    ElectReply,
    ForgetNode,
    LeaveNode,
    LeaveReply,
    ReadmitNode,
    Reassign,
    RegisteredReply,
    RegisterNode,
)
from goqueue.core.requests.metadata import AddSide, FinishDelete, MakeOwnTopic
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.topics import AddPartitions, AlterTopic, CreateTopic, DeleteTopic

PlanOf = Callable[[ClusterState, Any, int], Plan]


@define
class Plans:
    """How to plan each request at a node, which is the controller when it does."""

    _node_id: str
    _partitions_default: int
    _replicas_default: int = 1
    # How many nodes found the cluster; none for a node that is alone.
    _founders: int = 0

    def table(self) -> dict[type, PlanOf]:
        """What plans each class of requests."""
        at_a_time: dict[type, PlanOf] = {
            CreateTopic: self._create,
            MakeOwnTopic: self._make_own,
            RegisterNode: self._register,
        }
        return {**dict.fromkeys(_TIMELESS, self._timeless), **at_a_time}

    def _create(self, state: ClusterState, request: CreateTopic, wall_ms: int) -> Plan:
        return plan_create(state, request, self._partitions_default, wall_ms, self._replicas_default, self._founders)

    def _make_own(self, state: ClusterState, request: MakeOwnTopic, wall_ms: int) -> Plan:
        return plan_own(state, request.name, request.partitions, request.config, wall_ms, self._founders)

    def _register(self, state: ClusterState, request: RegisterNode, wall_ms: int) -> Plan:
        return plan_register(state, request, self._node_id, wall_ms)

    def _timeless(self, state: ClusterState, request: object, _: int) -> Plan:
        return _TIMELESS[type(request)](state, request)


def _add_side(state: ClusterState, request: AddSide) -> Plan:
    return plan_side(state, request.name, request.side)


def _finish_delete(state: ClusterState, request: FinishDelete) -> Plan:
    return plan_removed(state, request.name, request.node_id)


# Whose plans are the same at any time and node.
_TIMELESS: dict[type, Callable[[ClusterState, Any], Plan]] = {
    AlterTopic: plan_alter,
    DeleteTopic: plan_delete,
    AddSide: _add_side,
    FinishDelete: _finish_delete,
    AddPartitions: plan_partitions,
    LeaveNode: plan_leave,
    AlterIsr: plan_isr,
    Reassign: plan_reassign,
    Drain: plan_drain,
    ElectLeaders: plan_elect,
    ForgetNode: plan_forget,
    ReadmitNode: plan_readmit,
    NameCluster: plan_name,
    DeclareDead: plan_dead,
    Tidy: plan_tidy,
    EndStandstill: plan_standstill,
}


def answer(state: ClusterState, request: object) -> Reply:
    """What a request of the cluster's is answered when `state` has come of it; None where there is nothing to say."""
    if isinstance(request, RegisterNode):
        known = state.nodes.get(request.node_id)
        if known is None:
            return Refusal(Code.UNAVAILABLE, f"node {request.node_id} was forgotten at once", retry_after_ms=1000)
        return RegisteredReply(state.cluster_id, known.standing)
    if isinstance(request, LeaveNode):
        return LeaveReply(_led_by(state, request.node_id))
    if isinstance(request, Drain):
        return DrainReply(_led_by(state, request.node_id))
    if isinstance(request, ElectLeaders):
        topic = state.topics.get(request.topic)
        placed = topic.placements.get(request.partition) if topic is not None else None
        return ElectReply(_led_by_others(state, request), placed.leader if placed is not None else "")
    return None


def _led_by(state: ClusterState, node_id: str) -> int:
    topics = state.topics.values()
    return sum(placed.leader == node_id for topic in topics for placed in topic.placements.values())


def _led_by_others(state: ClusterState, request: ElectLeaders) -> int:
    return sum(
        placed.leader != placed.replicas[0]
        for topic in state.topics.values()
        if request.topic in ("", topic.name)
        for number, placed in topic.placements.items()
        if request.partition in (-1, number)
    )
