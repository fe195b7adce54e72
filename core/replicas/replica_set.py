"""What a node has and knows: topics by name, streams that it leads or follows, and how far those of others reach.

Topics of the broker's own are read by everybody, written by the node alone, and in no list.
"""

from collections.abc import Iterable, Iterator

from attrs import define, field

from goqueue.core.cluster.plan import is_own, not_yours
from goqueue.core.cluster.remote_offsets import RemoteOffsets
from goqueue.core.log.config import Validation
from goqueue.core.log.thresholds import Thresholds
from goqueue.core.partition.partition import Partition
from goqueue.core.replicas.topic import Held, HostedTopic
from goqueue.core.replication.replica import Replica
from goqueue.core.requests.messages import Side
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.topics import DescribePartitions, DescribeTopic, ListTopics, PartitionReply, TopicReply


@define(eq=False)
class ReplicaSet:
    """All topics; a stream is in `streams` while it is open and led here, in `replicas` while it is followed."""

    node_id: str
    thresholds: Thresholds = field(factory=Thresholds)
    topics: dict[str, HostedTopic] = field(factory=dict)
    streams: dict[str, Partition] = field(factory=dict)
    replicas: dict[str, Replica] = field(factory=dict)
    horizon: RemoteOffsets = field(factory=RemoteOffsets)
    # False while others may have taken this node for dead, and lead what it believes to lead.
    is_in_office: bool = True
    # True while the disk has no room for messages of clients; the node still writes commits, ledgers and metadata.
    is_disk_full: bool = False
    # How many messages have got another timestamp than their producers gave them, since the start.
    timestamps_replaced: int = 0

    def topic(self, name: str, *, to_write: bool = False) -> HostedTopic | Refusal:
        """A topic, or why it cannot be had; `to_write` by somebody who is not the node."""
        leader = self.topics.get(name)
        if leader is None:
            return Refusal(Code.TOPIC_NOT_FOUND, f"there is no topic {name!r}", "topic")
        return not_yours(name) if to_write and is_own(name) else leader

    def partition(
        self, topic: str, number: int, side: Side = Side.DATA, *, to_write: bool = False
    ) -> Partition | Refusal:
        """A partition that is led here, or why it cannot be had."""
        leader = self.topic(topic, to_write=to_write)
        if isinstance(leader, Refusal):
            return leader
        return self.out_of_office() or leader.partition(number, side)

    def replaced(self, topic: str, identity: str) -> Refusal | None:
        """Why what is asked of one topic is not told of another that has its name; None where it is that one."""
        leader = self.topics.get(topic)
        if leader is None or leader.topic.identity == identity:
            return None
        message = (
            f"topic {topic} is another one since: what was asked for had the id {identity}, this one has"
            f" {leader.topic.identity}"
        )
        return Refusal(Code.TOPIC_REPLACED, message, "topic_id")

    def out_of_office(self) -> Refusal | None:
        """Why nothing can be had of what this node believes to lead; None where it may."""
        if self.is_in_office:
            return None
        message = "this node has lost touch with the cluster, and others may lead what it leads"
        return Refusal(Code.UNAVAILABLE, message, retry_after_ms=200)

    def is_led(self, partition: Partition) -> bool:
        """Whether a partition is still the one that is led under its name."""
        return self.streams.get(partition.log.stream) is partition

    def stream(self, stream: str) -> Partition | None:
        """The partition that is led under a stream's name."""
        return self.streams.get(stream)

    def held(self, stream: str) -> Held | None:
        """What is open under a stream's name, led or followed."""
        return self.streams.get(stream) or self.replicas.get(stream)

    def ends(self, topic: str, number: int) -> tuple[int, int] | None:
        """Start and end of what can be read of a partition, as its leader told lately if that is another node.

        None while that is not known.
        """
        leader = self.topics.get(topic)
        if leader is None:
            return None
        partition = leader.partition(number)
        if isinstance(partition, Partition) and partition.is_settled:
            return partition.log.start_offset, partition.high_watermark
        end = None if leader.is_led(number) else self.horizon.end(leader.topic.topic_id, number)
        return None if end is None else (end.start_offset, end.high_watermark)

    def checks_records(self, topic: str, number: int) -> bool:
        """Whether every record is looked at of a batch that a client publishes to a partition that is here."""
        leader = self.topics.get(topic)
        held = None if leader is None else leader.held(Side.DATA, number)
        return held is not None and held.log.config.validation is Validation.FULL

    def noted(self, now: int, partition: Partition) -> None:
        """Have all other nodes told how far a partition that is led here reaches."""
        leader = self.topics.get(partition.topic)
        if leader is not None:
            self.horizon.touch(now, leader.topic.topic_id, partition)

    def age_ms(self, now: int, topic: str, number: int, offset: int) -> int:
        """How long ago a message was appended, as a bound; 0 while its partition cannot be used here."""
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
        if isinstance(request, DescribeTopic):
            return self.described(leader)
        # Who asks for leaders goes to them: a node that does not know any more sends nobody to those of old.
        return self.out_of_office() or [*self._partitions(leader)]

    def public(self) -> Iterator[TopicReply]:
        """All topics but the broker's own, by name."""
        return (self.described(self.topics[name]) for name in sorted(self.topics) if not is_own(name))

    def described(self, leader: HostedTopic) -> TopicReply:
        """A topic for whoever asks; partitions that nobody has told of are left out."""
        topic = leader.topic
        here = leader.partitions()
        offsets = {part.number: (part.log.start_offset, part.high_watermark) for part in here}
        size_bytes = sum(part.log.size_bytes for part in here)
        segments = sum(len(part.log.segments) for part in here)
        for number in range(topic.partitions if topic.placements else 0):
            end = None if number in offsets else self.horizon.end(topic.topic_id, number)
            if end is not None:
                offsets[number] = end.start_offset, end.high_watermark
                size_bytes += end.size_bytes
        ordered = {number: offsets[number] for number in sorted(offsets)}
        return TopicReply(
            topic.name,
            topic.partitions,
            leader.full_config(),
            topic.created_ms,
            ordered,
            size_bytes,
            segments,
            topic.identity,
        )

    def _partitions(self, leader: HostedTopic) -> Iterator[PartitionReply]:
        """The partitions of a topic; of those led elsewhere as much as is known, without it -1."""
        for number in range(leader.topic.partitions):
            placement = leader.placement(number)
            part = leader.partition(number)
            if placement is None and isinstance(part, Refusal):
                continue
            who = self.node_id, [self.node_id], [self.node_id]
            if placement is not None:
                who = placement.leader, [*placement.replicas], [*placement.isr]
            if isinstance(part, Partition):
                log = part.log
                yield PartitionReply(
                    number, *who, log.start_offset, log.next_offset, part.high_watermark, log.size_bytes
                )
                continue
            end = self.horizon.end(leader.topic.topic_id, number)
            ends = (-1, -1, -1, -1)
            if end is not None:
                ends = end.start_offset, end.end_offset, end.high_watermark, end.size_bytes
            yield PartitionReply(number, *who, *ends)

    def size_bytes(self) -> int:
        """What all partitions that are here take on the disk."""
        held: Iterable[Held] = (*self.streams.values(), *self.replicas.values())
        return sum(one.log.size_bytes for one in held)
