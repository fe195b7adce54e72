"""Topics as a client sees and changes them: creating, describing, altering, deleting."""

from collections.abc import Mapping
from datetime import datetime
from typing import TypeAlias

from attrs import define, field

from goqueue.core.client.routing import Layout
from goqueue.proto import v1
from goqueue.transports.client.brokers import Brokers
from goqueue.transports.client.settings import SettingFound, SettingGiven, settings_found, settings_given
from goqueue.transports.client.times import moment_of

MESSAGE_BYTES_MAX = 16 << 20


@define
class Topic:
    """A topic: its settings, defaults included, and the first and the next offset of each partition.

    `id` tells it from any other of its name: a topic that is deleted and made again has another.
    """

    name: str
    partitions: int
    created: datetime
    config: dict[str, SettingFound]
    size_bytes: int
    offsets: list[tuple[int, int]]
    id: str = ""


@define
class Partition:
    """Where a partition lives and how far it reaches; readers see what lies below the high watermark.

    Of a partition that another broker leads, the one that answered knows what that one told last, and -1 before.
    """

    topic: str
    partition: int
    leader: str
    leader_address: str
    replicas: list[str]
    isr: list[str]
    start_offset: int
    end_offset: int
    high_watermark: int
    size_bytes: int
    # Replicas that are not in sync and may lead all the same, and why nobody leads where that is so.
    elr: list[str] = field(factory=list)
    why_offline: str = ""

    @property
    def is_exact(self) -> bool:
        """Whether whoever leads the partition has told of it himself."""
        return not self.leader_address and min(self.start_offset, self.high_watermark) >= 0


# Within the class `list` is a method.
_TopicList: TypeAlias = list[Topic]
_PartitionList: TypeAlias = list[Partition]


class Topics:
    """The topics of a broker."""

    def __init__(self, brokers: Brokers) -> None:
        self._brokers = brokers

    async def create(
        self,
        name: str,
        partitions: int = 0,
        *,
        replication_factor: int = 0,
        config: Mapping[str, SettingGiven] | None = None,
    ) -> Topic:
        """Make a topic; zeros leave the number of partitions and replicas to the broker."""
        request = v1.CreateTopicRequest(name, partitions, replication_factor, settings_given(config or {}))
        reply = await self._brokers.call("Topics/CreateTopic", request, v1.Topic, name, once=True)
        return _topic(reply)

    async def list(self) -> _TopicList:
        """All topics, by name."""
        reply = await self._brokers.call("Topics/ListTopics", v1.ListTopicsRequest(), v1.ListTopicsReply)
        return [_topic(each) for each in reply.topics]

    async def describe(self, name: str) -> Topic:
        """One topic."""
        reply = await self._brokers.call("Topics/DescribeTopic", v1.DescribeTopicRequest(name), v1.Topic, name)
        return _topic(reply)

    async def alter(self, name: str, config: Mapping[str, SettingGiven]) -> Topic:
        """Change settings; None takes one back to its default."""
        request = v1.AlterTopicRequest(name, settings_given(config))
        return _topic(await self._brokers.call("Topics/AlterTopic", request, v1.Topic, name))

    async def delete(self, name: str) -> None:
        """Remove a topic with everything in it."""
        request = v1.DeleteTopicRequest(name)
        await self._brokers.call("Topics/DeleteTopic", request, v1.DeleteTopicReply, name, once=True)

    async def partitions(self, name: str) -> _PartitionList:
        """Where a topic's partitions live and how far they reach."""
        request = v1.DescribePartitionsRequest(name)
        reply = await self._brokers.call("Topics/DescribePartitions", request, v1.DescribePartitionsReply, name)
        return [_partition(name, each) for each in reply.partitions]


async def layout_of(brokers: Brokers, name: str) -> Layout:
    """What a producer needs to know of a topic."""
    topics = Topics(brokers)
    topic = await topics.describe(name)
    leaders = [""] * topic.partitions
    for partition in await topics.partitions(name):
        if partition.partition < topic.partitions:
            leaders[partition.partition] = brokers.direct(partition.leader_address)
    bytes_max = topic.config.get("max_message_bytes", MESSAGE_BYTES_MAX)
    keyed = int(topic.config.get("key_partitions", 0))
    return Layout(name, leaders, str(topic.config.get("partitioner", "")), int(bytes_max), keyed)


def _topic(found: v1.Topic) -> Topic:
    offsets = [(each.start_offset, each.end_offset) for each in found.offsets]
    config = settings_found(found.config)
    return Topic(found.name, found.partitions, moment_of(found.created_ms), config, found.size_bytes, offsets, found.id)


def _partition(topic: str, found: v1.Partition) -> Partition:
    return Partition(
        topic,
        found.partition,
        found.leader,
        found.leader_address,
        list(found.replicas),
        list(found.isr),
        found.start_offset,
        found.end_offset,
        found.high_watermark,
        found.size_bytes,
        list(found.elr),
        found.why_offline,
    )
