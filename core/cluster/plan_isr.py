"""What leaders report of who is in sync, as records: each change by itself, and only if nothing has come between.

A change is fenced three times: by the leader epoch and the version of the place that the leader saw, by the leader's
own incarnation, and by the incarnations of those that join. The last is for a follower that caught up, began anew with
its tail lost, and would be counted as one that has everything.

A leader also says who has less than what is acknowledged, because a disk lost it: such a replica is not eligible.
"""

from goqueue.core.cluster.apply import ClusterState, NodeState
from goqueue.core.cluster.draft import Draft, draft, standings
from goqueue.core.cluster.plan import Plan
from goqueue.core.cluster.plan_nodes import hand_over, no_such_node
from goqueue.core.cluster.records import MetadataRecord
from goqueue.core.requests.cluster import AlterIsr, IsrChange
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.standing import Standing

_JOINING = (Standing.LIVE, Standing.DRAINING)


def plan_isr(state: ClusterState, request: AlterIsr) -> Plan:
    """The records of those changes that hold; a refusal that names the first problem where none does."""
    node = state.nodes.get(request.node_id)
    if node is None:
        return no_such_node(request.node_id)
    if node.incarnation != request.incarnation:
        return Refusal(Code.INVALID, f"node {request.node_id} has begun anew since", "incarnation")
    standing = standings(state)
    records: dict[tuple[str, int], MetadataRecord] = {}
    problems: list[str] = []
    for change in request.changes:
        problem = _problem(state, request.node_id, change)
        if problem:
            problems.append(f"partition {change.partition} of {change.topic}: {problem}")
        else:
            changed = draft(state.topics[change.topic], change.partition)
            _take(changed, change, standing)
            records[change.topic, change.partition] = changed.record()
    if problems and not records:
        return Refusal(Code.INVALID, problems[0], "changes")
    return [*records.values()]


def _problem(state: ClusterState, node_id: str, change: IsrChange) -> str:
    """Why a change is not made; empty when it is."""
    topic = state.topics.get(change.topic)
    placed = topic.placements.get(change.partition) if topic is not None else None
    if placed is None:
        return "there is no such partition"
    if placed.leader != node_id:
        return f"it is led by {placed.leader or 'nobody'}"
    if placed.leader_epoch != change.leader_epoch or placed.version != change.version:
        return (
            f"its place is at epoch {placed.leader_epoch} and version {placed.version}, "
            f"not {change.leader_epoch} and {change.version}"
        )
    if (node_id not in change.isr and not change.resigns) or not change.isr:
        return "the leader itself is missing in the ISR"
    if any(one not in placed.replicas for one in change.isr):
        return "the ISR has others than replicas"
    if any(one in change.isr and one != node_id for one in change.lost):
        return "the ISR has a replica that lacks what is acknowledged"
    if change.resigns and node_id not in change.lost and placed.eligible != [node_id]:
        if not draft(state.topics[change.topic], change.partition).heir(standings(state), node_id):
            # Its disk may come back with everything, and nobody else can lead meanwhile.
            return "no other replica that could lead lives"
    for one in change.isr:
        if one not in placed.isr and not _may_join(state.nodes.get(one), change):
            return f"{one} does not live, or has begun anew since it caught up"
    return ""


def _may_join(node: NodeState | None, change: IsrChange) -> bool:
    if node is None or node.standing not in _JOINING:
        return False
    return change.incarnations.get(node.node_id) == node.incarnation


def _take(changed: Draft, change: IsrChange, standing: dict[str, Standing]) -> None:
    leader = changed.leader
    for node_id in change.lost:
        if node_id != leader:
            changed.forfeit(node_id)
    changed.keep_in_sync(change.isr)
    if change.resigns:
        _succeed(changed, standing, has_lost=leader in change.lost)
    elif standing[changed.leader] is not Standing.LIVE:
        # Somebody has come into the ISR who can lead instead of a node that is to lead nothing.
        hand_over(changed, changed.leader, standing)
    changed.finish_move(standing)


def _succeed(changed: Draft, standing: dict[str, Standing], *, has_lost: bool) -> None:
    """The leader's disk has failed: another replica that has everything leads, or it itself under another epoch.

    What the disk has lost of a topic with `fsync: every` was not acknowledged. Otherwise it may have been, also before
    that is known; where nobody else has everything the disk is waited for.
    """
    leader = changed.leader
    heir = changed.heir(standing, leader)
    if changed.is_weak and (has_lost or heir):
        changed.forfeit(leader)
    changed.drop(leader)
    if changed.isr == [leader] and not heir:
        changed.appoint(leader)
    else:
        changed.elect(standing, but=leader)
