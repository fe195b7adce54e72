"""What becomes of partitions when nodes come, go, are drained or forgotten: records, or a refusal.

A process that has begun anew has to catch up before anybody waits for it. So its registration takes it out of every
ISR in which another node is, and where it is alone in the ISR it leads under another epoch.

It may also have lost what the process before it had acknowledged. A registration says of which earlier processes
nothing is lost, and of which at most what was not synced; the process that is known to the cluster is looked up among
these. Who has lost what a topic acknowledges is taken out of the ISR and the ELR of its partitions. All of that is
agreed on in one step with the registration, so there is no moment at which a node may lead with what it lacks.

A node that comes with another data folder than it is known by has lost all that it had, or is another node of the same
name. It is refused until an operator says which (`plan_readmit.py`, `plan_forget`).
"""

from collections.abc import Iterator

from goqueue.core.cluster.apply import ClusterState, NodeState
from goqueue.core.cluster.draft import Draft, draft, standings
from goqueue.core.cluster.duties import DeclareDead
from goqueue.core.cluster.placement import Loads, begun, loads
from goqueue.core.cluster.plan import Plan
from goqueue.core.cluster.records import MetadataRecord, NodeRegistered, NodeRemoved, NodeStanding, TopicRemoved
from goqueue.core.quorum.voter_id import node_name_problem
from goqueue.core.requests.cluster import Drain, ForgetNode, LeaveNode, RegisterNode
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.standing import Standing

NODES_MAX = 1000
_NAMED_MAX = 5
# A registration that comes late is one of the last few processes.
_BEFORE_MAX = 8


def drafts(state: ClusterState, node_id: str = "") -> Iterator[Draft]:
    """Every place, or those that a node has a replica of, in order of the topics' names."""
    for name in sorted(state.topics):
        topic = state.topics[name]
        for number, placed in sorted(topic.placements.items()):
            if not node_id or node_id in placed.replicas:
                yield draft(topic, number)


def altered(state: ClusterState, changed: Draft) -> list[MetadataRecord]:
    """The record of a place that has become another; none where it has not."""
    placed = state.topics[changed.topic].placements[changed.partition]
    return [changed.record()] if changed.differs(placed) else []


# --- coming


def plan_register(state: ClusterState, request: RegisterNode, controller: str, wall_ms: int) -> Plan:
    """The records that make a node known, and that keep it from leading with what it may have lost."""
    refusal = _stranger(state, request, controller)
    if refusal is not None:
        return refusal
    registered = NodeRegistered(
        request.node_id,
        request.incarnation,
        request.disk_id,
        request.rack,
        request.internal,
        request.http,
        request.grpc,
        request.version,
        wall_ms,
        request.synced[-_BEFORE_MAX:],
    )
    known = state.nodes.get(request.node_id)
    if known is None:
        return [registered, *(_settle_alone(state, request.node_id) if not state.nodes else [])]
    if known.incarnation == request.incarnation and known.standing is not Standing.DEAD:
        return _moved_house(known, registered)
    return [registered, *_begun_anew(state, request, known)]


def _stranger(state: ClusterState, request: RegisterNode, controller: str) -> Refusal | None:
    problem = node_name_problem(request.node_id)
    if problem:
        return Refusal(Code.INVALID, problem, "node_id")
    if request.cluster_id and state.cluster_id and request.cluster_id != state.cluster_id:
        message = (
            f"the data folder of node {request.node_id} belongs to cluster {request.cluster_id}, not to "
            f"{state.cluster_id}: start the node with the peers of its own cluster, or with an empty folder"
        )
        return Refusal(Code.INVALID, message, "cluster_id")
    known = state.nodes.get(request.node_id)
    if known is not None and known.disk_id and request.disk_id != known.disk_id:
        message = (
            f"node {request.node_id} is known with another data folder: start it with that one, or under another id; "
            f"if that folder is lost, let the node in with this one (goqueue cluster readmit {request.node_id})"
        )
        return Refusal(Code.INVALID, message, "disk_id")
    if known is not None and request.incarnation in known.before:
        # A letter of a process that is gone: to believe it would be to take the one that lives for an older copy.
        return Refusal(Code.INVALID, f"node {request.node_id} has begun anew since", "incarnation")
    if known is None and len(state.nodes) >= NODES_MAX:
        return Refusal(Code.INVALID, f"a cluster has at most {NODES_MAX} nodes", "node_id")
    if not state.nodes and request.node_id != controller:
        # What there is from before there were nodes lies with the controller, and becomes its own.
        return Refusal(Code.UNAVAILABLE, "the controller is yet to begin", retry_after_ms=200)
    return None


def _settle_alone(state: ClusterState, node_id: str) -> list[MetadataRecord]:
    """Topics from when the node was alone are the node's."""
    return [
        begun(name, number, [node_id])
        for name in sorted(state.topics)
        if not state.topics[name].placements
        for number in range(state.topics[name].partitions)
    ]


def _moved_house(known: NodeState, registered: NodeRegistered) -> Plan:
    """The same process once more: nothing to do, unless it is reached elsewhere."""
    if _whereabouts(known) == _whereabouts(registered):
        return []
    # A registration makes a node live.
    return [registered, *([] if known.standing is Standing.LIVE else [NodeStanding(known.node_id, known.standing)])]


def _whereabouts(node: NodeState | NodeRegistered) -> tuple[str, ...]:
    return node.disk_id, node.rack, node.internal, node.http, node.grpc, node.version


def _begun_anew(state: ClusterState, request: RegisterNode, known: NodeState) -> Iterator[MetadataRecord]:
    standing = {**standings(state), request.node_id: Standing.LIVE}
    is_other = known.incarnation != request.incarnation
    for changed in drafts(state, request.node_id):
        if is_other:
            has_lost = not _keeps_acknowledged(request, known.incarnation, is_weak=changed.is_weak)
            _restart(changed, request.node_id, standing, has_lost=has_lost)
        if not changed.leader and (changed.is_unclean_allowed or changed.heir(standing)):
            changed.elect(standing)
        yield from altered(state, changed)


def _keeps_acknowledged(request: RegisterNode, incarnation: int, *, is_weak: bool) -> bool:
    """Whether a node has all that its process of an incarnation has acknowledged."""
    return incarnation in request.whole or (incarnation in request.synced and not is_weak)


def _restart(changed: Draft, node_id: str, standing: dict[str, Standing], *, has_lost: bool) -> None:
    """A replica is another process than it was."""
    if has_lost:
        changed.forfeit(node_id)
    changed.drop(node_id)
    if changed.leader != node_id:
        return
    if node_id in changed.isr:
        changed.appoint(node_id)
    else:
        changed.elect(standing)


# --- going


def plan_dead(state: ClusterState, request: DeclareDead) -> Plan:
    """The records of a node that was not heard of: it is in no ISR that can do without it, and leads nothing."""
    known = state.nodes.get(request.node_id)
    if known is None or known.incarnation != request.incarnation or known.standing is Standing.DEAD:
        return []
    standing = {**standings(state), request.node_id: Standing.DEAD}
    records: list[MetadataRecord] = [NodeStanding(request.node_id, Standing.DEAD)]
    for changed in drafts(state, request.node_id):
        changed.drop(request.node_id)
        if changed.leader == request.node_id:
            changed.elect(standing)
        records += altered(state, changed)
    return [*records, *given_up(state, request.node_id)]


def given_up(state: ClusterState, node_id: str) -> list[MetadataRecord]:
    """Nobody waits for a dead node to remove folders: it is told whose they are not when it opens them again."""
    names = [name for name in sorted(state.holders) if node_id in state.holders[name]]
    return [TopicRemoved(name, state.removing[name], node_id) for name in names]


def plan_drain(state: ClusterState, request: Drain) -> Plan:
    """The records that let a node lead nothing, as far as others can; or let it lead again."""
    known = state.nodes.get(request.node_id)
    if known is None:
        return no_such_node(request.node_id)
    if known.standing not in (Standing.LIVE, Standing.DRAINING):
        message = f"node {request.node_id} is {known.standing}: only one that lives is drained or brought back"
        return Refusal(Code.INVALID, message, "node_id")
    wanted = Standing.DRAINING if request.is_on else Standing.LIVE
    records: list[MetadataRecord] = [NodeStanding(request.node_id, wanted)] if known.standing is not wanted else []
    if request.is_on:
        standing = {**standings(state), request.node_id: wanted}
        for changed in drafts(state, request.node_id):
            hand_over(changed, request.node_id, standing)
            records += altered(state, changed)
    return records


def hand_over(changed: Draft, node_id: str, standing: dict[str, Standing]) -> None:
    """Let another node of the ISR lead what a node leads, if one can that is not drained itself."""
    heir = changed.successor(standing, node_id)
    if changed.leader == node_id and heir and (standing[heir] is Standing.LIVE or standing[node_id] not in _LASTING):
        changed.appoint(heir)


_LASTING = (Standing.LIVE, Standing.DRAINING)


def plan_leave(state: ClusterState, request: LeaveNode) -> Plan:
    """The records of a planned stop: nobody waits for the node, and nobody has to find out that it is gone."""
    known = state.nodes.get(request.node_id)
    if known is None or known.incarnation != request.incarnation:
        return no_such_node(request.node_id)
    standing = {**standings(state), request.node_id: Standing.STOPPING}
    records: list[MetadataRecord] = []
    if known.standing is not Standing.STOPPING:
        records.append(NodeStanding(request.node_id, Standing.STOPPING))
    for changed in drafts(state, request.node_id):
        hand_over(changed, request.node_id, standing)
        if changed.leader != request.node_id and any(
            standing.get(one) in _LASTING for one in changed.isr if one != request.node_id
        ):
            changed.drop(request.node_id)
        records += altered(state, changed)
    return records


def plan_forget(state: ClusterState, request: ForgetNode) -> Plan:
    """The records that remove a dead node, and begin to bring its replicas to others."""
    known = state.nodes.get(request.node_id)
    if known is None:
        return no_such_node(request.node_id)
    if known.standing is not Standing.DEAD:
        message = f"node {request.node_id} is {known.standing}: stop it first, and wait until it is known to be dead"
        return Refusal(Code.INVALID, message, "node_id")
    held = [*drafts(state, request.node_id)]
    alone = [one for one in held if not any(other != request.node_id for other in one.eligible)]
    if alone and not request.accept_loss:
        message = f"{only_there(request.node_id, alone)}: start it again, or accept the loss"
        return Refusal(Code.INVALID, message, "accept_loss")
    chosen = loads(state)
    if alone and not chosen.usable:
        return Refusal(Code.NOT_ENOUGH_REPLICAS, "no node lives that could take over", retry_after_ms=1000)
    standing = standings(state)
    del standing[request.node_id]
    records: list[MetadataRecord] = []
    for changed in held:
        _replace(changed, request.node_id, chosen, standing)
        records += altered(state, changed)
    return [*records, NodeRemoved(request.node_id)]


def only_there(node_id: str, alone: list[Draft]) -> str:
    """The sentence that names partitions of which only one node has everything."""
    named = ", ".join(f"{one.topic}/{one.partition}" for one in alone[:_NAMED_MAX])
    more = ", ..." if len(alone) > _NAMED_MAX else ""
    return f"nobody but {node_id} has all of {len(alone)} partitions ({named}{more})"


def _replace(changed: Draft, node_id: str, chosen: Loads, standing: dict[str, Standing]) -> None:
    """Give a forgotten node's replica to another, as a move that begins."""
    wanted, is_lost = len(changed.target), changed.eligible == [node_id] or changed.replicas == [node_id]
    wider = [one for one in chosen.widen(changed.replicas, len(changed.replicas) + 1) if one != node_id]
    if is_lost:
        heirs = [one for one in wider if standing.get(one) in _LASTING]
        changed.replicas = [*changed.replicas, *(one for one in heirs[:1] if one not in changed.replicas)]
        changed.isr = heirs[:1]
    changed.forget(node_id)
    if not changed.leader and changed.heir(standing):
        changed.elect(standing)
    if not changed.is_moving and len(changed.replicas) < wanted:
        changed.aim([*changed.replicas, *(one for one in wider if one not in changed.replicas)])
    changed.finish_move(standing)


def no_such_node(node_id: str) -> Refusal:
    """The answer to whoever speaks of a node that is not registered."""
    return Refusal(Code.NODE_NOT_FOUND, f"there is no node {node_id!r}", "node_id")
