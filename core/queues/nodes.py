"""Which nodes lead the partitions of topics, as far as is known here."""

from attrs import define, field

from goqueue.core.queues.errands import Slot
from goqueue.core.replicas.replica_set import ReplicaSet


@define(eq=False)
class Nodes:
    """The leaders by topic, looked up once until something changes."""

    _led: ReplicaSet
    # Whether a topic may be led by several nodes; where one is alone, nobody needs to be asked.
    are_several: bool = False
    _by_topic: dict[str, list[str]] = field(factory=dict)

    @property
    def own(self) -> str:
        """This node."""
        return self._led.node_id

    def topics_changed(self) -> None:
        """There are other topics or leaders."""
        self._by_topic.clear()
        self.are_several = any(leader.topic.placements for leader in self._led.topics.values())

    def of(self, topics: list[str]) -> list[str]:
        """All nodes that lead a partition of some topics."""
        if len(topics) == 1:
            return self._of(topics[0])
        return sorted({*(node for topic in topics for node in self._of(topic))})

    def _of(self, topic: str) -> list[str]:
        nodes = self._by_topic.get(topic)
        if nodes is None:
            leader = self._led.topics.get(topic)
            numbers = range(0 if leader is None else leader.topic.partitions)
            leaders = [leader.leader(number) for number in numbers] if leader is not None else []
            nodes = self._by_topic[topic] = sorted({*leaders} - {""})
        return nodes

    def leader(self, slot: Slot) -> str:
        """The node that leads a partition; empty where nobody does, or there is none."""
        leader = self._led.topics.get(slot[0])
        if leader is None or not 0 <= slot[1] < leader.topic.partitions:
            return ""
        return leader.leader(slot[1])
