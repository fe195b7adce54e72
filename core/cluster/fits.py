"""What an entry of the metadata cannot say of the state that it is applied to, whoever proposed it.

Controllers plan against the state that their records will meet, so their entries fit. One that does not comes from a
node that only poses as the controller, or from damage that nothing else has noticed. It is passed over as a whole:
every node that applies it has the same state, and finds the same.

Here is only what `apply.py` relies on, and its invariants.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from attrs import evolve

from goqueue.core.cluster.apply import ClusterState, Topic
from goqueue.core.cluster.plan import NAME_BYTES_MAX, PARTITIONS_MAX, is_own, name_problem
from goqueue.core.cluster.records import (
    METADATA_CODEC,
    ClusterNamed,
    DiskLost,
    MetadataRecord,
    MetadataSnapshot,
    NodeRegistered,
    NodeRemoved,
    NodeStanding,
    PartitionPlaced,
    PartitionsAdded,
    ProducerIds,
    SideAdded,
    TopicAltered,
    TopicCreated,
    TopicDeleted,
    TopicRemoved,
)
from goqueue.core.cluster.topic_settings import settings_problems
from goqueue.core.errors import ProtocolError
from goqueue.core.quorum.voter_id import NODE_NAME_MAX, node_name_problem
from goqueue.core.requests.messages import Side

_ID_MAX = 1 << 62
_EPOCH_MAX = (1 << 31) - 1


def misfit(state: ClusterState, records: Sequence[MetadataRecord]) -> str:
    """Why records that belong together cannot be applied to a state; empty where they can."""
    if len(records) == 1 and isinstance(records[0], MetadataSnapshot):
        return snapshot_misfit(records[0])
    if len(records) == 1 and not isinstance(records[0], TopicCreated | PartitionsAdded | PartitionPlaced):
        return _CHECKS[type(records[0])](state, records[0])
    trial = _part_of(state, records)
    for record in records:
        why = _CHECKS[type(record)](trial, record)
        if why:
            return why
        trial.apply(record)
    return next((why for topic in trial.topics.values() if (why := _incomplete(topic))), "")


def _part_of(state: ClusterState, records: Iterable[MetadataRecord]) -> ClusterState:
    """A copy of the state, of topics only those that are named."""
    names = {getattr(record, "topic", getattr(record, "name", "")) for record in records}
    topics = {
        name: evolve(state.topics[name], placements=dict(state.topics[name].placements))
        for name in sorted(names & state.topics.keys())
    }
    nodes = {node_id: evolve(node) for node_id, node in state.nodes.items()}
    return evolve(state, topics=topics, removing=dict(state.removing), nodes=nodes, holders=dict(state.holders))


def _incomplete(topic: Topic) -> str:
    if topic.placements and len(topic.placements) != topic.partitions:
        return f"{len(topic.placements)} of {topic.partitions} partitions of {topic.name} have a place"
    return ""


def snapshot_misfit(record: MetadataSnapshot) -> str:
    """Why a record cannot stand for everything; empty where it can."""
    state = ClusterState(next_topic_id=0)
    for content in [*record.topics, *record.others]:
        try:
            inner = METADATA_CODEC.decode(content)
        except ProtocolError as error:
            return str(error)
        if isinstance(inner, MetadataSnapshot):
            return "a record that stands for everything holds another"
        why = _CHECKS[type(inner)](state, inner) if not isinstance(inner, TopicCreated) else _topic(state, inner)
        if why:
            return why
        state.apply(inner)
    ids = [*(topic.topic_id for topic in state.topics.values()), *record.removing.values()]
    if len(set(ids)) != len(ids) or not all(0 < one < record.next_topic_id <= _ID_MAX for one in ids):
        return "topics have ids that cannot be"
    if state.topics.keys() & record.removing.keys() or any(map(_folder_problem, record.removing)):
        return "a topic is being removed that cannot be"
    if any(held.partition("/")[0] not in record.removing for held in record.holders):
        return "nodes hold a topic that is not being removed"
    if record.next_producer_id > _ID_MAX or not 0 <= record.next_topic_id <= _ID_MAX:
        return "ids are beyond all that can be"
    return next((why for topic in state.topics.values() if (why := _incomplete(topic))), "")


def _folder_problem(name: str) -> str:
    """Why a topic cannot have a folder of this name, be it the broker's own."""
    return name_problem(name.removeprefix("__") if is_own(name) else name) if len(name) <= NAME_BYTES_MAX else "long"


def _config(text: str) -> str:
    try:
        config = json.loads(text)
    except (ValueError, RecursionError):
        config = None
    if not isinstance(config, dict):
        return "the settings of a topic are no JSON object"
    problems = settings_problems(config)
    return "".join(f"config.{key}: {problem}" for key, problem in list(problems.items())[:1])


def _topic(state: ClusterState, record: TopicCreated) -> str:
    if _folder_problem(record.name) or record.name in state.topics or record.name in state.removing:
        return f"a topic cannot be made under the name {record.name[:NAME_BYTES_MAX]!r}"
    if not 0 < record.topic_id < _ID_MAX or not 0 < record.partitions <= PARTITIONS_MAX:
        return f"topic {record.name} has the id {record.topic_id} and {record.partitions} partitions"
    if Side.DATA in record.sides or len({*record.sides}) != len(record.sides):
        return f"topic {record.name} has streams that cannot be"
    return _config(record.config)


def _topic_created(state: ClusterState, record: TopicCreated) -> str:
    if record.topic_id < state.next_topic_id:
        return f"topic {record.name} has the id {record.topic_id}, which another has or had"
    return _topic(state, record)


def _topic_altered(state: ClusterState, record: TopicAltered) -> str:
    return _config(record.config) if record.name in state.topics else _unknown_topic(record.name)


def _side_added(state: ClusterState, record: SideAdded) -> str:
    return _unknown_topic(record.name) if record.name not in state.topics or record.side is Side.DATA else ""


def _topic_deleted(state: ClusterState, record: TopicDeleted) -> str:
    topic = state.topics.get(record.name)
    return "" if topic is not None and topic.topic_id == record.topic_id else _unknown_topic(record.name)


def _topic_removed(state: ClusterState, record: TopicRemoved) -> str:
    return "" if record.name in state.removing else _unknown_topic(record.name)


def _producer_ids(_state: ClusterState, record: ProducerIds) -> str:
    return "" if 0 <= record.first <= record.next <= _ID_MAX else "producer ids are beyond all that can be"


def _cluster_named(_state: ClusterState, _record: ClusterNamed) -> str:
    return ""


def _node_registered(_state: ClusterState, record: NodeRegistered) -> str:
    return node_name_problem(record.node_id)


def _node(state: ClusterState, record: NodeStanding | NodeRemoved | DiskLost) -> str:
    return "" if record.node_id in state.nodes else f"there is no node {record.node_id[:NODE_NAME_MAX]!r}"


def _placed(state: ClusterState, record: PartitionPlaced) -> str:
    topic = state.topics.get(record.topic)
    if topic is None or not 0 <= record.partition < topic.partitions:
        return f"there is no partition {record.partition} of {record.topic[:NAME_BYTES_MAX]!r}"
    replicas, isr, elr = {*record.replicas}, {*record.isr}, {*record.elr}
    is_sound = (
        len(replicas) == len(record.replicas) > 0
        and len(isr) == len(record.isr)
        and isr <= replicas
        and elr <= replicas - isr
        and (not record.leader or record.leader in isr)
        and 0 <= record.leader_epoch <= _EPOCH_MAX
        and 0 <= record.version < _ID_MAX
    )
    known = topic.placements.get(record.partition)
    if is_sound and known is not None:
        has_new_epoch = record.leader_epoch > known.leader_epoch
        is_same = record.leader_epoch == known.leader_epoch and record.leader == known.leader
        is_sound = (has_new_epoch or is_same) and record.version >= known.version
    return "" if is_sound else f"the place of {record.topic}/{record.partition} cannot be"


def _partitions_added(state: ClusterState, record: PartitionsAdded) -> str:
    topic = state.topics.get(record.topic)
    if topic is None or not topic.partitions <= record.partitions <= PARTITIONS_MAX:
        return f"topic {record.topic[:NAME_BYTES_MAX]!r} cannot have {record.partitions} partitions"
    return ""


def _snapshot(_state: ClusterState, record: MetadataSnapshot) -> str:
    return f"a record that stands for {len(record.topics)} topics is one of several"


def _unknown_topic(name: str) -> str:
    return f"there is no topic {name[:NAME_BYTES_MAX]!r} of which this could be said"


_CHECKS: dict[type, Callable[[ClusterState, Any], str]] = {
    TopicCreated: _topic_created,
    TopicAltered: _topic_altered,
    TopicDeleted: _topic_deleted,
    TopicRemoved: _topic_removed,
    MetadataSnapshot: _snapshot,
    ProducerIds: _producer_ids,
    SideAdded: _side_added,
    ClusterNamed: _cluster_named,
    NodeRegistered: _node_registered,
    NodeStanding: _node,
    NodeRemoved: _node,
    DiskLost: _node,
    PartitionPlaced: _placed,
    PartitionsAdded: _partitions_added,
}
