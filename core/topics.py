"""A topic as the node leads it: its partitions once they are open, and which of them a message goes to."""

from collections.abc import Sequence

from goqueue.core.cluster.apply import Topic
from goqueue.core.cluster.topic_settings import full_config, log_config, setting
from goqueue.core.log.log import Log
from goqueue.core.partition.partition import Partition
from goqueue.core.partition.partitioners import Partitioner
from goqueue.core.partition.recent import RecentBatches
from goqueue.core.verbs import Code, NewRecord, PartitionReply, Refusal, TopicReply


class TopicLeader:
    """The partitions of one topic, and why those that are not open are not."""

    def __init__(self, topic: Topic, recent: RecentBatches, asked_by: int | None = None) -> None:
        self.topic = topic
        self._recent = recent
        self.asked_by = asked_by
        self._open: dict[int, Partition] = {}
        # Why a partition is not open; None while that is being found out.
        self._closed: dict[int, str | None] = dict.fromkeys(range(topic.partitions))
        self._partitioner = self._make_partitioner()

    def _make_partitioner(self) -> Partitioner:
        return Partitioner(str(setting(self.topic.config, "partitioner")), self.topic.partitions)

    def opened(self, number: int, log: Log) -> Partition:
        """A partition's log was recovered."""
        self._closed.pop(number, None)
        self._open[number] = Partition(self.topic.name, number, log, self._recent)
        return self._open[number]

    def open_failed(self, number: int, why: str) -> None:
        """A partition's log could not be recovered."""
        partition = self._open.get(number)
        if partition is None:
            self._closed[number] = why
        else:
            partition.recovery_failed(why)

    def lacks(self, number: int) -> bool:
        """Whether a partition of this topic is not open."""
        return number in self._closed

    def streams(self) -> list[str]:
        """The streams of all partitions, open or not."""
        return [self.topic.stream(number) for number in range(self.topic.partitions)]

    def turn(self) -> None:
        """The batches that messages without a key went to are written."""
        self._partitioner.turn()

    def is_settled(self) -> bool:
        """Whether it is known of every partition if it can be used."""
        return None not in self._closed.values()

    def partitions(self) -> list[Partition]:
        """All open partitions, in order."""
        return [self._open[number] for number in sorted(self._open)]

    def partition(self, number: int) -> Partition | Refusal:
        """One partition, or why it cannot be had."""
        partition = self._open.get(number)
        if partition is not None:
            return partition
        if number in self._closed:
            why = self._closed[number] or "it is being opened"
            message = f"partition {number} of {self.topic.name} cannot be used: {why}"
            return Refusal(Code.UNAVAILABLE, message, "partition", retry_after_ms=1000)
        message = f"topic {self.topic.name} has partitions 0 to {self.topic.partitions - 1}, not {number}"
        return Refusal(Code.PARTITION_NOT_FOUND, message, "partition")

    def spread(self, records: Sequence[NewRecord]) -> dict[int, list[int]]:
        """Which partitions messages go to, and the places of those that go to each."""
        places: dict[int, list[int]] = {}
        choose = self._partitioner.choose
        for at, record in enumerate(records):
            number = record.partition
            if number is None:
                number = choose(record.key)
            known = places.get(number)
            if known is None:
                places[number] = [at]
            else:
                known.append(at)
        return places

    def alter(self, topic: Topic) -> None:
        """Take over changed settings."""
        self.topic = topic
        self._partitioner = self._make_partitioner()
        config = log_config(topic.config)
        for partition in self._open.values():
            partition.log.configure(config)

    def describe(self) -> TopicReply:
        """The topic for whoever asks."""
        topic = self.topic
        offsets = {part.number: (part.log.start_offset, part.high_watermark) for part in self.partitions()}
        size_bytes = sum(part.log.size_bytes for part in self.partitions())
        segments = sum(len(part.log.segments) for part in self.partitions())
        return TopicReply(
            topic.name, topic.partitions, full_config(topic.config), topic.created_ms, offsets, size_bytes, segments
        )

    def describe_partitions(self, node_id: str) -> list[PartitionReply]:
        """Its partitions for whoever asks."""
        return [
            PartitionReply(
                part.number,
                node_id,
                [node_id],
                [node_id],
                part.log.start_offset,
                part.log.next_offset,
                part.high_watermark,
                part.log.size_bytes,
            )
            for part in self.partitions()
        ]
