"""What nodes agree on, as one of them learns of it: topics, where partitions are, and how nodes stand.

Every node notes what is agreed when it applies it, so of several nodes the one that was first says when it was agreed.
A node that has just begun applies again what was agreed before; until it knows all of that, its topics are `known`, and
of a partition's places only versions that are later than those that it has noted count.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any

from goqueue.core.capture.events import Event
from goqueue.core.cluster.applied import records_in
from goqueue.core.cluster.apply import Topic
from goqueue.core.cluster.records import (
    METADATA_CODEC,
    DiskLost,
    MetadataRecord,
    MetadataSnapshot,
    NodeRegistered,
    NodeRemoved,
    NodeStanding,
    PartitionPlaced,
    PartitionsAdded,
    TopicAltered,
    TopicCreated,
    TopicDeleted,
)
from goqueue.core.node import Node
from goqueue.core.quorum.entries import SNAPSHOT
from goqueue.core.requests.standing import Standing
from goqueue.spark.facts.inside import agreed_entries, agreed_index, agreed_start, agreed_state, is_current
from goqueue.spark.facts.listening import Errand, Hears, Listener
from goqueue.spark.facts.notebook import Notebook


class Agreed(Listener):
    """Notes `topic`, `placed` and `standing`."""

    def __init__(self, notebook: Notebook) -> None:
        super().__init__(notebook)
        self._index = 0
        self._was_current = False
        self._versions: dict[tuple[str, int], int] = {}
        self._notes: dict[type, Callable[[Node, Any], None]] = {
            TopicCreated: self._created,
            TopicAltered: self._altered,
            TopicDeleted: self._deleted,
            PartitionsAdded: self._grown,
            PartitionPlaced: self._placed,
            NodeRegistered: self._registered,
            NodeStanding: self._stands,
            NodeRemoved: self._removed,
            DiskLost: self._readmitted,
        }

    def hears(self) -> Hears:
        """Whatever may have brought an agreement."""
        return Hears(after=self._look)

    def begin(self, node: Node) -> list[tuple[int, Errand]]:
        """What is agreed already."""
        self._index, self._was_current = agreed_index(node), is_current(node)
        for topic in agreed_state(node).topics.values():
            self._note_topic(topic, "known")
            for number, placement in topic.placements.items():
                self._versions[topic.name, number] = placement.version
        return []

    def _look(self, node: Node, event: Event) -> None:
        index = agreed_index(node)
        if index != self._index:
            first, self._index = self._index, index
            for record in _agreed(node, first):
                note = self._notes.get(type(record))
                if note is not None:
                    note(node, record)
        self._was_current = is_current(node)

    # --- topics

    def _created(self, node: Node, record: TopicCreated) -> None:
        config = json.loads(record.config)
        topic = Topic(record.name, record.topic_id, record.partitions, config, record.created_ms)
        for place in [place for place in self._versions if place[0] == record.name]:
            del self._versions[place]
        self._note_topic(topic, "created" if self._was_current else "known")

    def _altered(self, node: Node, record: TopicAltered) -> None:
        self._changed(node, record.name)

    def _grown(self, node: Node, record: PartitionsAdded) -> None:
        self._changed(node, record.topic)

    def _changed(self, node: Node, name: str) -> None:
        topic = agreed_state(node).topics.get(name)
        if topic is not None:
            self._note_topic(topic, "altered" if self._was_current else "known")

    def _note_topic(self, topic: Topic, cause: str) -> None:
        self.notebook.note(
            "topic", topic=topic.name, topic_id=topic.topic_id, count=topic.partitions, cause=cause,
            detail=json.dumps(topic.config, sort_keys=True),
        )  # fmt: skip

    def _deleted(self, node: Node, record: TopicDeleted) -> None:
        self.notebook.note("topic", topic=record.name, topic_id=record.topic_id, cause="deleted")

    # --- places and nodes

    def _placed(self, node: Node, record: PartitionPlaced) -> None:
        place = record.topic, record.partition
        if record.version <= self._versions.get(place, -1):
            return
        self._versions[place] = record.version
        said = [("replicas", record.replicas), ("isr", record.isr), ("adding", record.adding)]
        said.append(("removing", record.removing))
        topic = agreed_state(node).topics.get(record.topic)
        self.notebook.note(
            "placed", topic=record.topic, topic_id=None if topic is None else topic.topic_id,
            partition=record.partition, epoch=record.leader_epoch, peer=record.leader or None, value=record.version,
            detail=" ".join(f"{name} {','.join(nodes)}" for name, nodes in said if nodes or name == "isr"),
        )  # fmt: skip

    def _registered(self, node: Node, record: NodeRegistered) -> None:
        self._note_standing(record.node_id, Standing.LIVE.value, record.incarnation)

    def _stands(self, node: Node, record: NodeStanding) -> None:
        self._note_standing(record.node_id, record.standing.value)

    def _removed(self, node: Node, record: NodeRemoved) -> None:
        self._note_standing(record.node_id, "removed")

    def _readmitted(self, node: Node, record: DiskLost) -> None:
        self._note_standing(record.node_id, "readmitted")

    def _note_standing(self, node_id: str, cause: str, incarnation: int | None = None) -> None:
        self.notebook.note("standing", peer=node_id, cause=cause, value=incarnation)


def _agreed(node: Node, first: int) -> Iterator[MetadataRecord]:
    """The records that were agreed from an index on; where entries are missing, all that stands for them."""
    is_missing = first < agreed_start(node)
    for entry in agreed_entries(node, first):
        if entry.kind != SNAPSHOT:
            yield from records_in(entry)
        elif is_missing:
            yield from _stood_for(records_in(entry))
            is_missing = False


def _stood_for(records: list[MetadataRecord]) -> Iterator[MetadataRecord]:
    for record in records:
        if isinstance(record, MetadataSnapshot):
            yield from map(METADATA_CODEC.decode, [*record.topics, *record.others])
