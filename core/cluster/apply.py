"""The agreed state, and the only code that changes it: one method a record, live and at a start alike."""

import json
from collections.abc import Callable
from typing import Any

from attrs import define, field

from goqueue.core.cluster.records import (
    METADATA_CODEC,
    MetadataRecord,
    MetadataSnapshot,
    ProducerIds,
    SideAdded,
    TopicAltered,
    TopicCreated,
    TopicDeleted,
    TopicRemoved,
)
from goqueue.core.cluster.topic_settings import Value
from goqueue.core.verbs import Side

# Those below are kept for what the broker itself writes.
FIRST_PRODUCER_ID = 1000


@define
class Topic:
    """One topic as all nodes know it; a topic that is made again under the same name has another `topic_id`."""

    name: str
    topic_id: int
    partitions: int
    config: dict[str, Value]
    created_ms: int
    sides: list[Side] = field(factory=list)

    def stream(self, partition: int, side: Side = Side.DATA) -> str:
        """The folder of a stream of a partition."""
        folder = f"logs/{self.name}/{partition}"
        return folder if side is Side.DATA else f"{folder}/{side}"


@define
class ClusterState:
    """What the records applied so far add up to; `removing` are deleted topics whose folders may still be there."""

    topics: dict[str, Topic] = field(factory=dict)
    removing: dict[str, int] = field(factory=dict)
    next_topic_id: int = 1
    next_producer_id: int = FIRST_PRODUCER_ID

    def apply(self, record: MetadataRecord) -> None:
        """Take one agreed record into the state."""
        _APPLY[type(record)](self, record)

    def snapshot(self) -> MetadataSnapshot:
        """One record that stands for all so far."""
        topics = [METADATA_CODEC.encode(_created(self.topics[name])) for name in sorted(self.topics)]
        removing = dict(sorted(self.removing.items()))
        return MetadataSnapshot(self.next_topic_id, topics, removing, self.next_producer_id)

    def check(self) -> None:
        """Assert that ids are unique and below the next, and that no name is both used and being removed."""
        ids = [*(topic.topic_id for topic in self.topics.values()), *self.removing.values()]
        assert not self.topics.keys() & self.removing.keys()
        assert len(set(ids)) == len(ids)
        assert all(0 < topic_id < self.next_topic_id for topic_id in ids)
        assert self.next_producer_id >= FIRST_PRODUCER_ID


def _created(topic: Topic) -> TopicCreated:
    config = json.dumps(topic.config, sort_keys=True)
    return TopicCreated(topic.name, topic.topic_id, topic.partitions, config, topic.created_ms, topic.sides)


def _topic_created(state: ClusterState, record: TopicCreated) -> None:
    config = json.loads(record.config)
    state.topics[record.name] = Topic(
        record.name, record.topic_id, record.partitions, config, record.created_ms, [*record.sides]
    )
    state.next_topic_id = max(state.next_topic_id, record.topic_id + 1)


def _topic_altered(state: ClusterState, record: TopicAltered) -> None:
    state.topics[record.name].config = json.loads(record.config)


def _side_added(state: ClusterState, record: SideAdded) -> None:
    topic = state.topics[record.name]
    if record.side not in topic.sides:
        topic.sides = [*topic.sides, record.side]


def _topic_deleted(state: ClusterState, record: TopicDeleted) -> None:
    del state.topics[record.name]
    state.removing[record.name] = record.topic_id


def _topic_removed(state: ClusterState, record: TopicRemoved) -> None:
    del state.removing[record.name]


def _producer_ids(state: ClusterState, record: ProducerIds) -> None:
    state.next_producer_id = max(state.next_producer_id, record.next)


def _snapshot(state: ClusterState, record: MetadataSnapshot) -> None:
    state.topics.clear()
    for content in record.topics:
        state.apply(METADATA_CODEC.decode(content))
    state.next_topic_id = record.next_topic_id
    state.removing = dict(record.removing)
    state.next_producer_id = max(FIRST_PRODUCER_ID, record.next_producer_id)


_APPLY: dict[type, Callable[[ClusterState, Any], None]] = {
    TopicCreated: _topic_created,
    TopicAltered: _topic_altered,
    TopicDeleted: _topic_deleted,
    TopicRemoved: _topic_removed,
    MetadataSnapshot: _snapshot,
    ProducerIds: _producer_ids,
    SideAdded: _side_added,
}
