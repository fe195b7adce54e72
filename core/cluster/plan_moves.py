"""Moves of partitions from node to node, and of leaders to where they belong: records, or a refusal.

A move goes in three steps, of which only the first is asked for: the goal's replicas are added to those there are; they
catch up and join the ISR, as their leader reports; with the last of them the old ones leave, in the same record. Until
then the old replicas serve as before, and the move can be taken back.
"""

from goqueue.core.cluster.apply import ClusterState, Topic
from goqueue.core.cluster.draft import Draft, draft, standings
from goqueue.core.cluster.plan import Plan, no_such_topic
from goqueue.core.cluster.plan_nodes import altered, drafts, no_such_node
from goqueue.core.cluster.records import MetadataRecord
from goqueue.core.requests.cluster import ElectLeaders, Reassign, ReplicaMove
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.standing import Standing

_MOVES_MAX = 1000
_HOSTING = (Standing.LIVE, Standing.DRAINING)


def plan_reassign(state: ClusterState, request: Reassign) -> Plan:
    """The records that begin, turn or take back moves: all of them, or none."""
    if not 1 <= len(request.moves) <= _MOVES_MAX:
        return Refusal(Code.INVALID, f"a request has 1 to {_MOVES_MAX} moves, not {len(request.moves)}", "moves")
    standing = standings(state)
    records: list[MetadataRecord] = []
    seen: dict[tuple[str, int], None] = {}
    for move in request.moves:
        if (move.topic, move.partition) in seen:
            return _refused(move, "it is to be moved twice", "moves")
        seen[move.topic, move.partition] = None
        topic = state.topics.get(move.topic)
        if topic is None:
            return no_such_topic(move.topic)
        planned = _plan_move(state, topic, move, standing)
        if isinstance(planned, Refusal):
            return planned
        records += altered(state, planned)
    return records


def _plan_move(state: ClusterState, topic: Topic, move: ReplicaMove, standing: dict[str, Standing]) -> Draft | Refusal:
    if move.partition not in topic.placements:
        message = f"topic {topic.name} has partitions 0 to {topic.partitions - 1}, not {move.partition}"
        if 0 <= move.partition < topic.partitions:
            message = f"topic {topic.name} was made by a node that is alone, and has no places"
        return Refusal(Code.PARTITION_NOT_FOUND, message, "partition")
    changed = draft(topic, move.partition)
    if not move.replicas and not changed.is_moving:
        return _refused(move, "no move is under way that could be taken back", "replicas")
    target = move.replicas or changed.origin
    for node_id in move.replicas:
        if node_id not in state.nodes:
            return no_such_node(node_id)
        if standing[node_id] not in _HOSTING and node_id not in changed.replicas:
            return _refused(move, f"node {node_id} is {standing[node_id]}", "replicas")
    if len(set(target)) != len(target):
        return _refused(move, "a node is named twice", "replicas")
    changed.aim(target)
    if not changed.narrow(standing):
        return _refused(move, "only nodes that it is being moved to have all of it", "replicas")
    changed.finish_move(standing)
    return changed


def _refused(move: ReplicaMove, why: str, field: str) -> Refusal:
    return Refusal(Code.INVALID, f"partition {move.partition} of {move.topic}: {why}", field)


def plan_elect(state: ClusterState, request: ElectLeaders) -> Plan:
    """The records that let first replicas lead where they can."""
    topic = state.topics.get(request.topic)
    if topic is None and (request.topic or request.partition >= 0):
        return no_such_topic(request.topic)
    if topic is not None and request.partition >= topic.partitions:
        message = f"topic {request.topic} has no partition {request.partition}"
        return Refusal(Code.PARTITION_NOT_FOUND, message, "partition")
    standing = standings(state)
    if request.unclean:
        return _elect_unclean(topic, request, standing)
    records: list[MetadataRecord] = []
    for changed in drafts(state):
        is_meant = request.topic in ("", changed.topic) and request.partition in (-1, changed.partition)
        if is_meant and prefer(changed, standing):
            records.append(changed.record())
    return records


def _elect_unclean(topic: Topic | None, request: ElectLeaders, standing: dict[str, Standing]) -> Plan:
    """The record that lets a replica lead that may lack what was acknowledged; only where nobody leads."""
    if topic is None or request.partition not in topic.placements:
        message = "a leader that may lack messages is elected for one partition: name its topic and its number"
        return Refusal(Code.INVALID, message, "partition")
    changed = draft(topic, request.partition)
    where = f"partition {request.partition} of {request.topic}"
    if changed.leader:
        message = f"{where} is led by {changed.leader}, which has everything: nothing has to be given up"
        return Refusal(Code.INVALID, message, "unclean")
    if request.node_id and request.node_id not in changed.replicas:
        message = f"{where} has its replicas on {', '.join(changed.replicas)}, not on {request.node_id}"
        return Refusal(Code.INVALID, message, "node")
    if request.node_id and standing.get(request.node_id) not in _HOSTING:
        return Refusal(Code.INVALID, f"node {request.node_id} is {standing.get(request.node_id)}", "node")
    chosen = request.node_id or changed.unclean_heir(standing)
    if not chosen:
        message = f"no replica of {where} lives: start one of {', '.join(changed.replicas)}"
        return Refusal(Code.NOT_ENOUGH_REPLICAS, message, "partition", retry_after_ms=1000)
    changed.seat(chosen)
    return [changed.record()]


def prefer(changed: Draft, standing: dict[str, Standing]) -> bool:
    """Let the first replica lead, if it does not and can."""
    first = changed.target[0]
    if changed.leader == first or first not in changed.isr or standing.get(first) is not Standing.LIVE:
        return False
    changed.appoint(first)
    return True
