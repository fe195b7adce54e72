"""What a node leads: topics by name, partitions by stream, and what is known of them.

Topics of the broker's own are read by everybody, written by the node alone, and in no list.
"""

from collections.abc import Iterator

from attrs import define, field

from goqueue.core.cluster.plan import is_own, not_yours
from goqueue.core.partition.partition import Partition
from goqueue.core.topics import TopicLeader
from goqueue.core.verbs import (
    Code,
    DescribePartitions,
    DescribeTopic,
    ListTopics,
    PartitionReply,
    Refusal,
    Side,
    TopicReply,
)


@define(eq=False)
class Led:
    """All topics that are led; a partition is in `streams` once it is open."""

    node_id: str
    topics: dict[str, TopicLeader] = field(factory=dict)
    streams: dict[str, Partition] = field(factory=dict)

    def topic(self, name: str, *, to_write: bool = False) -> TopicLeader | Refusal:
        """A topic, or why it cannot be had; `to_write` by somebody who is not the node."""
        leader = self.topics.get(name)
        if leader is None:
            return Refusal(Code.TOPIC_NOT_FOUND, f"there is no topic {name!r}", "topic")
        return not_yours(name) if to_write and is_own(name) else leader

    def partition(
        self, topic: str, number: int, side: Side = Side.DATA, *, to_write: bool = False
    ) -> Partition | Refusal:
        """A partition, or why it cannot be had."""
        leader = self.topic(topic, to_write=to_write)
        return leader if isinstance(leader, Refusal) else leader.partition(number, side)

    def is_led(self, partition: Partition) -> bool:
        """Whether a partition is still the one that is led under its name."""
        return self.streams.get(partition.log.stream) is partition

    def stream(self, stream: str) -> Partition | None:
        """The partition that is led under a stream's name."""
        return self.streams.get(stream)

    def ends(self, topic: str, number: int) -> tuple[int, int] | None:
        """Start and end of what can be read of a partition; None while it cannot be used."""
        leader = self.topics.get(topic)
        partition = None if leader is None else leader.partition(number)
        return (partition.log.start_offset, partition.high_watermark) if isinstance(partition, Partition) else None

    def age_ms(self, now: int, topic: str, number: int, offset: int) -> int:
        """How long ago a message was appended, as a bound; 0 while its partition cannot be used."""
        partition = self.partition(topic, number)
        return partition.history.age_ns(now, offset) // 1_000_000 if isinstance(partition, Partition) else 0

    def partition_counts(self) -> dict[str, int]:
        """How many partitions each topic has."""
        return {name: leader.topic.partitions for name, leader in self.topics.items()}

    def is_settled(self) -> bool:
        """Whether it is known of every partition if it can be used."""
        return all(leader.is_settled() for leader in self.topics.values())

    # --- for whoever asks

    def describe(
        self, request: ListTopics | DescribeTopic | DescribePartitions
    ) -> list[TopicReply] | TopicReply | list[PartitionReply] | Refusal:
        """The answer to a question about topics."""
        if isinstance(request, ListTopics):
            return [*self.public()]
        leader = self.topic(request.name)
        if isinstance(leader, Refusal):
            return leader
        return leader.describe() if isinstance(request, DescribeTopic) else leader.describe_partitions(self.node_id)

    def public(self) -> Iterator[TopicReply]:
        """All topics but the broker's own, by name."""
        return (self.topics[name].describe() for name in sorted(self.topics) if not is_own(name))

    def size_bytes(self) -> int:
        """What all partitions take on the disk."""
        return sum(partition.log.size_bytes for partition in self.streams.values())
