"""The endpoints of the cluster: what its nodes are, and what operators do with them.

A move of a partition has no id in the cluster: there is one a partition at most. Here `{topic}-{partition}` stands for
it, and several with commas between for several, so that whoever began moves can ask about them and take them back.
"""

from collections.abc import Callable

from goqueue.core.requests.cluster import (
    CatchingUp,
    ClusterNode,
    ClusterReply,
    DescribeCluster,
    DescribeReassignments,
    Drain,
    DrainReply,
    ElectLeaders,
    ElectReply,
    ForgetNode,
    PartitionName,
    ReadmitNode,
    Reassign,
    Reassignment,
    ReassignmentsReply,
    ReplicaMove,
)
from goqueue.core.requests.standing import Standing
from goqueue.core.requests.topics import AddPartitions, DescribePartitions, DescribeTopic, TopicReply
from goqueue.transports.rest.call import PARTITION_MAX, Call, answer
from goqueue.transports.rest.cluster_bodies import (
    MOVES_MAX,
    ClusterHealthView,
    ClusterView,
    DrainedView,
    ElectedView,
    ElectionDraft,
    ForgottenView,
    MoveDraft,
    MovesEnded,
    MovesView,
    MoveView,
    NodeView,
    OfflineView,
    PartitionsDraft,
    PlaceView,
    ReadmittedView,
    ReassignDraft,
    ReplicaView,
    ScaledView,
    ScalingView,
)
from goqueue.transports.rest.decoding import whole_number
from goqueue.transports.rest.errors import RestError, invalid
from goqueue.transports.rest.exchange import Answer

# Of how many partitions without a leader is said why.
_EXPLAINED_MAX = 5


async def describe_cluster(call: Call) -> Answer:
    """GET /admin/cluster and /cluster."""
    found = await call.ask(DescribeCluster(), ClusterReply)
    return answer(
        ClusterView(
            found.cluster_id, found.controller, found.term, found.voters, [node_view(node) for node in found.nodes],
            found.topics, found.partitions, found.moving, found.under_replicated_count, found.offline_count,
            _places(found.under_replicated),
            [OfflineView(each.topic, each.partition, each.eligible, each.why) for each in found.offline],
        )
    )  # fmt: skip


async def describe_health(call: Call) -> Answer:
    """GET /admin/health: 503 while nothing can be decided, a partition has no leader, or the node is not let in."""
    found = await call.ask(DescribeCluster(), ClusterReply)
    problems = cluster_problems(found)
    has_failed = not found.controller or found.offline_count or found.absence
    status = "fail" if has_failed else "degraded" if problems else "ok"
    healthy = sum(is_healthy(node) for node in found.nodes)
    view = ClusterHealthView(
        status, found.controller, len(found.nodes), healthy, found.under_replicated_count, found.offline_count,
        found.moving, problems,
    )  # fmt: skip
    return answer(view, 503 if status == "fail" else 200)


def is_healthy(node: ClusterNode) -> bool:
    """Whether a node is there, as far as is known."""
    return node.standing in (Standing.LIVE, Standing.DRAINING) and not node.is_suspect


def cluster_problems(found: ClusterReply) -> list[str]:
    """What is not as it should be, in sentences."""
    problems = [found.absence] if found.absence else []
    if not (found.controller or found.absence):
        problems.append("there is no controller: a majority of the voters is not connected")
    problems += [f"node {node.node_id} is {node.standing}" for node in found.nodes if node.standing is Standing.DEAD]
    problems += [f"node {node.node_id} is late with its heartbeats" for node in found.nodes if node.is_suspect]
    problems += [f"voter {one} is missing, with the data folder that it votes with" for one in found.missing_voters]
    if len(found.voters) % 2 == 0 and any(is_healthy(node) and not node.is_voter for node in found.nodes):
        problems.append(f"{len(found.voters)} nodes vote, an even number: another one is yet to become a voter")
    if found.offline_count:
        problems.append(f"partitions without a leader: {found.offline_count}")
        problems += [each.why for each in found.offline[:_EXPLAINED_MAX]]
    if found.under_replicated_count:
        listed = _for_instance(found.under_replicated)
        problems.append(f"partitions that lack a replica: {found.under_replicated_count}{listed}")
    return problems


def _for_instance(places: list[PartitionName]) -> str:
    return f", {places[0].topic}-{places[0].partition} for one" if places else ""


def node_view(node: ClusterNode) -> NodeView:
    """A node as JSON says it."""
    view = NodeView(
        node.node_id, node.standing.value, is_healthy(node), node.is_controller, node.is_voter, node.rack,
        node.internal, node.http, node.grpc, node.version, node.leaders, node.replicas, node.in_sync,
    )  # fmt: skip
    if node.seen_ago_ms >= 0:
        view.last_seen_ms = node.seen_ago_ms
    return view


def _places(partitions: list[PartitionName]) -> list[PlaceView]:
    return [PlaceView(each.topic, each.partition) for each in partitions]


# --- nodes


async def drain_node(call: Call) -> Answer:
    """POST /admin/nodes/{node}/drain."""
    return await _drain(call, is_on=True)


async def undrain_node(call: Call) -> Answer:
    """DELETE /admin/nodes/{node}/drain."""
    return await _drain(call, is_on=False)


async def _drain(call: Call, *, is_on: bool) -> Answer:
    node_id = call.names["node"]
    reply = await call.ask(Drain(node_id, is_on), DrainReply)
    return answer(DrainedView(node_id, is_on, reply.leads))


async def forget_node(call: Call) -> Answer:
    """DELETE /admin/nodes/{node}."""
    node_id = call.names["node"]
    await call.ask(ForgetNode(node_id, call.query.get("accept_loss", False)), type(None))
    return answer(ForgottenView(node_id))


async def readmit_node(call: Call) -> Answer:
    """POST /admin/nodes/{node}/readmit."""
    node_id = call.names["node"]
    accepts_loss: bool = call.query.get("accept_loss", False)
    await call.ask(ReadmitNode(node_id, accepts_loss), type(None))
    return answer(ReadmittedView(node_id))


async def elect_leaders(call: Call) -> Answer:
    """POST /admin/elections."""
    draft = call.optional_body(ElectionDraft)
    if draft.partition is not None and not draft.topic:
        raise invalid("a partition is one of a topic, which is missing", "topic")
    partition = -1 if draft.partition is None else draft.partition
    if draft.node and not draft.unclean:
        raise invalid("a node is named only where the election is unclean", "node")
    reply = await call.ask(ElectLeaders(draft.topic, partition, draft.unclean, draft.node), ElectReply)
    return answer(ElectedView(reply.left, reply.leader))


# --- more partitions


async def add_partitions(call: Call) -> Answer:
    """POST /admin/topics/{topic}/partitions."""
    draft = call.body(PartitionsDraft)
    if draft.replica_assignments:
        raise invalid("new partitions are placed by the cluster; move them afterwards", "replica_assignments")
    before = await call.ask(DescribeTopic(call.topic), TopicReply)
    await call.ask(AddPartitions(call.topic, draft.count), type(None))
    added = [*range(before.partitions, draft.count)]
    return answer(ScaledView(call.topic, before.partitions, draft.count, added))


async def describe_scaling(call: Call) -> Answer:
    """GET /admin/topics/{topic}/scaling-status."""
    partitions = await call.ask(DescribePartitions(call.topic), list)
    moves = await _moves(call, lambda move: move.topic == call.topic)
    leaderless = [each.partition for each in partitions if not each.leader]
    lacking = [each.partition for each in partitions if len(each.isr) < len(each.replicas)]
    moving = [move.partition for move in moves]
    is_complete = not (leaderless or lacking or moving)
    return answer(ScalingView(call.topic, len(partitions), leaderless, lacking, moving, is_complete))


# --- moves


async def reassign(call: Call) -> Answer:
    """POST /admin/reassignment."""
    draft = call.body(ReassignDraft)
    if draft.throttle_bytes_per_sec:
        said = "what copies replicas is bounded by the setting cluster.catchUpRate of the nodes"
        raise invalid(said, "throttle_bytes_per_sec")
    for number, move in enumerate(draft.partitions):
        await _check_old_replicas(call, move, f"partitions[{number}]")
    moves = [ReplicaMove(move.topic, move.partition, move.new_replicas) for move in draft.partitions]
    await call.ask(Reassign(moves), type(None))
    wanted = {(move.topic, move.partition) for move in moves}
    return answer(await _moves_view(call, wanted, _id(moves)), 202)


async def _check_old_replicas(call: Call, move: MoveDraft, field: str) -> None:
    if move.old_replicas is None:
        return
    partitions = await call.ask(DescribePartitions(move.topic), list)
    replicas = next((each.replicas for each in partitions if each.partition == move.partition), None)
    if replicas is not None and sorted(replicas) != sorted(move.old_replicas):
        said = f"{field}.old_replicas: the partition's replicas are {', '.join(replicas)}"
        raise RestError(409, "conflict", said, f"{field}.old_replicas")


async def list_moves(call: Call) -> Answer:
    """GET /admin/reassignment."""
    moves = await _moves(call, lambda _: True)
    return answer(MovesView(_id(moves), [_move_view(move) for move in moves]))


async def describe_moves(call: Call) -> Answer:
    """GET /admin/reassignment/{id}: what is not under way has been done."""
    return answer(await _moves_view(call, _meant(call), call.names["id"]))


async def cancel_moves(call: Call) -> Answer:
    """DELETE /admin/reassignment/{id}."""
    await call.ask(Reassign([ReplicaMove(topic, partition) for topic, partition in sorted(_meant(call))]), type(None))
    return answer(MovesEnded(call.names["id"]))


async def _moves_view(call: Call, wanted: set[tuple[str, int]], moves_id: str) -> MovesView:
    moves = await _moves(call, lambda move: (move.topic, move.partition) in wanted)
    return MovesView(moves_id, [_move_view(move) for move in moves])


async def _moves(call: Call, is_wanted: Callable[[Reassignment], bool]) -> list[Reassignment]:
    found = await call.ask(DescribeReassignments(), ReassignmentsReply)
    return [move for move in found.moves if is_wanted(move)]


def _id(moves: list[Reassignment] | list[ReplicaMove]) -> str:
    return ",".join(f"{move.topic}-{move.partition}" for move in moves)


def _meant(call: Call) -> set[tuple[str, int]]:
    """The partitions that an id stands for."""
    parts = call.names["id"].split(",")
    if len(parts) > MOVES_MAX:
        raise invalid(f"an id stands for at most {MOVES_MAX} partitions", "id")
    meant = set()
    for part in parts:
        topic, dash, number = part.rpartition("-")
        if not dash or not topic:
            raise invalid(f"{part[:100]!r} stands for no partition; write it like orders-0", "id")
        meant.add((topic, whole_number(number, "id", most=PARTITION_MAX)))
    return meant


def _move_view(move: Reassignment) -> MoveView:
    return MoveView(
        f"{move.topic}-{move.partition}", move.topic, move.partition, move.leader, move.replicas, move.isr,
        move.adding, move.removing, _progress(move),
        [ReplicaView(each.node_id, each.offset, each.end_offset) for each in move.progress],
    )  # fmt: skip


def _progress(move: Reassignment) -> float:
    """The share of what is to be copied that was copied, each new replica counting alike."""
    if not move.adding:
        return 1.0
    told = {each.node_id: each for each in move.progress}
    return round(sum(_share(node_id in move.isr, told.get(node_id)) for node_id in move.adding) / len(move.adding), 3)


def _share(is_in_sync: bool, told: CatchingUp | None) -> float:
    if is_in_sync:
        return 1.0
    return min(1.0, told.offset / told.end_offset) if told is not None and told.end_offset else 0.0
