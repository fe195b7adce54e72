"""The agreed state, and the only code that changes it: one method a record, live and at a start alike."""

import json
from collections.abc import Callable, Iterator
from typing import Any

from attrs import define, evolve, field

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
from goqueue.core.cluster.topic_settings import Value, setting
from goqueue.core.log.config import Fsync
from goqueue.core.quorum.voter_id import voter_id
from goqueue.core.requests.messages import Side
from goqueue.core.requests.standing import Standing

# Those below are kept for what the broker itself writes.
FIRST_PRODUCER_ID = 1000
_GIVEN_UP_MAX = 100


@define
class NodeState:
    """One node as all know it."""

    node_id: str
    incarnation: int
    # Of the data folder that it is known by; empty where that is lost, and whichever registers next is taken.
    disk_id: str
    rack: str
    internal: str
    http: str
    grpc: str
    version: str
    # When it registered.
    wall_ms: int
    standing: Standing = Standing.LIVE
    # The processes of the node just before this one, by their incarnations.
    before: list[int] = field(factory=list)


@define
class Placement:
    """Who has a partition, who of them is in sync, and who leads it; see `PartitionPlaced`."""

    replicas: list[str]
    isr: list[str]
    leader: str
    leader_epoch: int
    version: int
    adding: list[str] = field(factory=list)
    removing: list[str] = field(factory=list)
    elr: list[str] = field(factory=list)
    last: str = ""

    @property
    def eligible(self) -> list[str]:
        """Who has everything that was acknowledged, as far as is known."""
        return [*self.isr, *self.elr]


def identity(topic_id: int, created_ms: int) -> str:
    """What clients are told for the id of a topic.

    Its number alone would not do: a cluster whose folders were removed counts from 1 again.
    """
    return f"{created_ms:x}-{topic_id:x}"


@define
class Topic:
    """One topic as all nodes know it; a topic that is made again under the same name has another `topic_id`."""

    name: str
    topic_id: int
    partitions: int
    config: dict[str, Value]
    created_ms: int
    sides: list[Side] = field(factory=list)
    # By partition; a topic that a node made while it was alone has none, and is that node's.
    placements: dict[int, Placement] = field(factory=dict)
    # It acknowledges, or once did, what is not on the disk: a power cut may take that from a replica.
    is_weak: bool = False

    @property
    def identity(self) -> str:
        """What tells the topic from any other of its name, here and in other clusters; it never changes."""
        return identity(self.topic_id, self.created_ms)

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
    # Empty until the first controller has drawn one.
    cluster_id: str = ""
    nodes: dict[str, NodeState] = field(factory=dict)
    # Which nodes still have the folder of a topic that is being removed; none where a node was alone.
    holders: dict[str, list[str]] = field(factory=dict)
    # The voter ids of nodes that were forgotten and of data folders that are gone, as far as none has come back; the
    # latest of them, since each is of interest until it votes no more.
    given_up: list[str] = field(factory=list)

    def apply(self, record: MetadataRecord) -> None:
        """Take one agreed record into the state."""
        _APPLY[type(record)](self, record)

    def snapshot(self) -> MetadataSnapshot:
        """One record that stands for all so far."""
        topics = [METADATA_CODEC.encode(_created(self.topics[name])) for name in sorted(self.topics)]
        removing = dict(sorted(self.removing.items()))
        others = [METADATA_CODEC.encode(record) for record in self._others()]
        return MetadataSnapshot(
            self.next_topic_id,
            topics,
            removing,
            self.next_producer_id,
            self.cluster_id,
            others,
            self._holders(),
            self.given_up,
        )

    def copy(self) -> "ClusterState":
        """Another state that says the same; what is applied to one is not seen in the other."""
        topics = {name: evolve(topic, placements=dict(topic.placements)) for name, topic in self.topics.items()}
        nodes = {node_id: evolve(node) for node_id, node in self.nodes.items()}
        return evolve(self, topics=topics, removing=dict(self.removing), nodes=nodes, holders=dict(self.holders))

    def voter(self, node_id: str) -> str:
        """The voter id of a registered node."""
        return voter_id(node_id, self.nodes[node_id].disk_id)

    def give_up(self, voter: str) -> None:
        """Whoever had this voter id will not come back under it."""
        self.given_up = [*(one for one in self.given_up if one != voter), voter][-_GIVEN_UP_MAX:]

    def _holders(self) -> list[str]:
        """Topics that are being removed and the nodes that have them, as `name/node`."""
        return [f"{name}/{node_id}" for name in sorted(self.holders) for node_id in self.holders[name]]

    def _others(self) -> Iterator[MetadataRecord]:
        for node_id in sorted(self.nodes):
            node = self.nodes[node_id]
            yield NodeRegistered(
                node_id,
                node.incarnation,
                node.disk_id,
                node.rack,
                node.internal,
                node.http,
                node.grpc,
                node.version,
                node.wall_ms,
                node.before,
            )
            if node.standing is not Standing.LIVE:
                yield NodeStanding(node_id, node.standing)
        for name in sorted(self.topics):
            for partition, placed in sorted(self.topics[name].placements.items()):
                yield _placed(name, partition, placed)

    def check(self) -> None:
        """Assert that ids are unique and below the next, and that no name is both used and being removed."""
        ids = [*(topic.topic_id for topic in self.topics.values()), *self.removing.values()]
        assert not self.topics.keys() & self.removing.keys()
        assert len(set(ids)) == len(ids)
        assert all(0 < topic_id < self.next_topic_id for topic_id in ids)
        assert self.next_producer_id >= FIRST_PRODUCER_ID
        assert self.holders.keys() <= self.removing.keys()
        for topic in self.topics.values():
            assert not topic.placements or [*sorted(topic.placements)] == [*range(topic.partitions)]
            for placement in topic.placements.values():
                assert all(one in placement.replicas for one in placement.isr)
                assert not placement.leader or placement.leader in placement.isr
                assert all(one in placement.replicas and one not in placement.isr for one in placement.elr)


def _created(topic: Topic) -> TopicCreated:
    config = json.dumps(topic.config, sort_keys=True)
    return TopicCreated(
        topic.name, topic.topic_id, topic.partitions, config, topic.created_ms, topic.sides, topic.is_weak
    )


def _topic_created(state: ClusterState, record: TopicCreated) -> None:
    config = json.loads(record.config)
    state.topics[record.name] = Topic(
        record.name, record.topic_id, record.partitions, config, record.created_ms, [*record.sides]
    )
    state.topics[record.name].is_weak = record.was_weak or _acknowledges_unsynced(config)
    state.next_topic_id = max(state.next_topic_id, record.topic_id + 1)


def _topic_altered(state: ClusterState, record: TopicAltered) -> None:
    topic = state.topics[record.name]
    topic.config = json.loads(record.config)
    topic.is_weak = topic.is_weak or _acknowledges_unsynced(topic.config)


def _acknowledges_unsynced(config: dict[str, Value]) -> bool:
    return setting(config, "fsync") != Fsync.EVERY


def _side_added(state: ClusterState, record: SideAdded) -> None:
    topic = state.topics[record.name]
    if record.side not in topic.sides:
        topic.sides = [*topic.sides, record.side]


def _topic_deleted(state: ClusterState, record: TopicDeleted) -> None:
    topic = state.topics.pop(record.name)
    state.removing[record.name] = record.topic_id
    holders = {one for placement in topic.placements.values() for one in placement.replicas}
    if holders:
        state.holders[record.name] = sorted(holders)


def _topic_removed(state: ClusterState, record: TopicRemoved) -> None:
    left = [one for one in state.holders.pop(record.name, []) if record.node_id and one != record.node_id]
    if left:
        state.holders[record.name] = left
    else:
        del state.removing[record.name]


def _cluster_named(state: ClusterState, record: ClusterNamed) -> None:
    state.cluster_id = record.cluster_id


def _node_registered(state: ClusterState, record: NodeRegistered) -> None:
    state.given_up = [one for one in state.given_up if one != voter_id(record.node_id, record.disk_id)]
    state.nodes[record.node_id] = NodeState(
        record.node_id,
        record.incarnation,
        record.disk_id,
        record.rack,
        record.internal,
        record.http,
        record.grpc,
        record.version,
        record.wall_ms,
        before=[*record.before],
    )


def _node_standing(state: ClusterState, record: NodeStanding) -> None:
    state.nodes[record.node_id].standing = record.standing


def _disk_lost(state: ClusterState, record: DiskLost) -> None:
    state.give_up(state.voter(record.node_id))
    state.nodes[record.node_id].disk_id = ""


def _node_removed(state: ClusterState, record: NodeRemoved) -> None:
    state.give_up(state.voter(record.node_id))
    del state.nodes[record.node_id]
    for name in [name for name, holders in state.holders.items() if record.node_id in holders]:
        _topic_removed(state, TopicRemoved(name, state.removing[name], record.node_id))


def _partition_placed(state: ClusterState, record: PartitionPlaced) -> None:
    state.topics[record.topic].placements[record.partition] = Placement(
        [*record.replicas],
        [*record.isr],
        record.leader,
        record.leader_epoch,
        record.version,
        [*record.adding],
        [*record.removing],
        [*record.elr],
        record.last,
    )


def _placed(topic: str, partition: int, placed: Placement) -> PartitionPlaced:
    return PartitionPlaced(
        topic,
        partition,
        placed.replicas,
        placed.isr,
        placed.leader,
        placed.leader_epoch,
        placed.version,
        placed.adding,
        placed.removing,
        placed.elr,
        placed.last,
    )


def _partitions_added(state: ClusterState, record: PartitionsAdded) -> None:
    state.topics[record.topic].partitions = record.partitions


def _producer_ids(state: ClusterState, record: ProducerIds) -> None:
    state.next_producer_id = max(state.next_producer_id, record.next)


def _snapshot(state: ClusterState, record: MetadataSnapshot) -> None:
    state.topics.clear()
    for content in record.topics:
        state.apply(METADATA_CODEC.decode(content))
    state.next_topic_id = record.next_topic_id
    state.removing = dict(record.removing)
    state.next_producer_id = max(FIRST_PRODUCER_ID, record.next_producer_id)
    state.cluster_id = record.cluster_id
    state.nodes.clear()
    for content in record.others:
        state.apply(METADATA_CODEC.decode(content))
    state.holders.clear()
    for held in record.holders:
        name, _, node_id = held.partition("/")
        state.holders.setdefault(name, []).append(node_id)
    state.given_up = [*record.given_up]


_APPLY: dict[type, Callable[[ClusterState, Any], None]] = {
    TopicCreated: _topic_created,
    TopicAltered: _topic_altered,
    TopicDeleted: _topic_deleted,
    TopicRemoved: _topic_removed,
    MetadataSnapshot: _snapshot,
    ProducerIds: _producer_ids,
    SideAdded: _side_added,
    ClusterNamed: _cluster_named,
    NodeRegistered: _node_registered,
    NodeStanding: _node_standing,
    NodeRemoved: _node_removed,
    DiskLost: _disk_lost,
    PartitionPlaced: _partition_placed,
    PartitionsAdded: _partitions_added,
}
