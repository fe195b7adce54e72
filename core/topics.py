"""A topic as the node leads it: its partitions once they are open, and which of them a message goes to.

A partition's other streams are opened as partitions of their own, of the same number; `side` tells them apart.
"""

from collections.abc import Sequence

from goqueue.core.cluster.apply import Topic
from goqueue.core.cluster.topic_settings import full_config, log_config, setting, side_config
from goqueue.core.log.config import LogConfig
from goqueue.core.log.log import Log
from goqueue.core.partition.partition import Partition
from goqueue.core.partition.partitioners import Partitioner
from goqueue.core.partition.recent import RecentBatches
from goqueue.core.verbs import Code, NewRecord, PartitionReply, Refusal, Side, TopicReply

Slot = tuple[Side, int]


class TopicLeader:
    """The partitions of one topic, and why those that are not open are not."""

    def __init__(self, topic: Topic, recent: RecentBatches, asked_by: int | None = None) -> None:
        self.topic = topic
        self._recent = recent
        # Who made the topic, and who waits for streams of its partitions to be open.
        self.asked_by = asked_by
        self.awaited_by: list[int] = []
        self._open: dict[Slot, Partition] = {}
        # Why a stream is not open; None while that is being found out.
        self._closed: dict[Slot, str | None] = {}
        for side in self.sides():
            self.begin_side(side)
        self._partitioner = self._make_partitioner()

    def _make_partitioner(self) -> Partitioner:
        return Partitioner(str(setting(self.topic.config, "partitioner")), self.topic.partitions)

    def sides(self) -> list[Side]:
        """What streams each partition has."""
        return [Side.DATA, *self.topic.sides]

    def config(self, side: Side) -> LogConfig:
        """The settings of the streams of one side."""
        return log_config(self.topic.config) if side is Side.DATA else side_config(self.topic.config)

    def has_begun(self, side: Side) -> bool:
        """Whether the streams of a side were asked to be opened."""
        return (side, 0) in self._open or (side, 0) in self._closed

    def begin_side(self, side: Side) -> None:
        """Each partition has this stream, which is yet to be opened."""
        for number in range(self.topic.partitions):
            self._closed[side, number] = None

    def opened(self, number: int, log: Log, side: Side) -> Partition:
        """A stream was recovered."""
        self._closed.pop((side, number), None)
        partition = self._open[side, number] = Partition(self.topic.name, number, log, self._recent, side)
        return partition

    def open_failed(self, number: int, why: str, side: Side) -> None:
        """A stream could not be recovered."""
        partition = self._open.get((side, number))
        if partition is None:
            self._closed[side, number] = why
        else:
            partition.recovery_failed(why)

    def lacks(self, number: int, side: Side) -> bool:
        """Whether a stream of this topic is not open."""
        return (side, number) in self._closed

    def streams(self) -> list[str]:
        """All streams of all partitions, open or not."""
        numbers = range(self.topic.partitions)
        return [self.topic.stream(number, side) for side in self.sides() for number in numbers]

    def turn(self) -> None:
        """The batches that messages without a key went to are written."""
        self._partitioner.turn()

    def is_settled(self) -> bool:
        """Whether it is known of every partition if it can be used."""
        return None not in self._closed.values()

    def partitions(self, side: Side = Side.DATA) -> list[Partition]:
        """All partitions that are open, in order."""
        numbers = range(self.topic.partitions)
        return [self._open[side, number] for number in numbers if (side, number) in self._open]

    def opened_streams(self) -> list[Partition]:
        """All streams that are open."""
        return [partition for side in self.sides() for partition in self.partitions(side)]

    def partition(self, number: int, side: Side = Side.DATA) -> Partition | Refusal:
        """One partition, or why it cannot be had."""
        partition = self._open.get((side, number))
        if partition is not None:
            return partition
        if (side, number) in self._closed:
            why = self._closed[side, number] or "it is being opened"
            message = f"partition {number} of {self.topic.name} cannot be used: {why}"
            return Refusal(Code.UNAVAILABLE, message, "partition", retry_after_ms=1000)
        message = f"topic {self.topic.name} has partitions 0 to {self.topic.partitions - 1}, not {number}"
        if side is not Side.DATA and 0 <= number < self.topic.partitions:
            message = f"partition {number} of {self.topic.name} has no {side}"
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
        for partition in self._open.values():
            partition.log.configure(self.config(partition.side))

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
