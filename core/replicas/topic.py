"""A topic as a node knows it: the partitions that it has, led or followed, and which of them a message goes to.

A partition's other streams are opened as partitions of their own, of the same number; `side` tells them apart. Of a
partition that is elsewhere only its leader's name is known.
"""

from collections.abc import Iterator, Sequence

from goqueue.core.cluster.apply import Placement, Topic
from goqueue.core.cluster.topic_settings import Value, full_config, log_config, setting, side_config
from goqueue.core.log.config import LogConfig, Validation
from goqueue.core.log.thresholds import OF_BROKERS, Thresholds
from goqueue.core.partition.partition import Partition
from goqueue.core.partition.partitioners import Partitioner
from goqueue.core.replication.replica import Replica
from goqueue.core.requests.call import Call
from goqueue.core.requests.messages import NewRecord, Side
from goqueue.core.requests.refusals import Code, Refusal

Slot = tuple[Side, int]
Held = Partition | Replica


class HostedTopic:
    """The partitions of one topic, and why those that are not open are not."""

    def __init__(self, topic: Topic, node_id: str, is_alone: bool, thresholds: Thresholds = OF_BROKERS) -> None:
        self.topic = topic
        self._node_id = node_id
        self._is_alone = is_alone
        self._thresholds = thresholds
        # Whether this process may lead what is agreed to be led by this node; one that has just begun may not yet.
        self.may_lead = is_alone
        # Who made the topic, and who waits for streams of its partitions to be open.
        self.asked_by: list[Call] = []
        self.awaited_by: list[Call] = []
        # Partitions whose folders are being removed, for they are to be elsewhere.
        self.leaving: dict[int, None] = {}
        self._held: dict[Slot, Held] = {}
        # Why a stream is not open; None while that is being found out.
        self._closed: dict[Slot, str | None] = {}
        # What others were told: who leads, and of which streams that it is not this node.
        self._leaders: dict[int, str] = {}
        self._elsewhere: dict[Slot, str] = {}
        self._seen = _terms(topic)
        self._partitioner = self._make_partitioner()

    def _make_partitioner(self) -> Partitioner:
        config = self.topic.config
        keyed = int(str(setting(config, "key_partitions")))
        return Partitioner(str(setting(config, "partitioner")), self.topic.partitions, keyed)

    # --- where partitions are

    def placement(self, number: int) -> Placement | None:
        """Who has a partition; None where that is whoever is alone."""
        return self.topic.placements.get(number)

    def is_here(self, number: int) -> bool:
        """Whether this node is to have a partition."""
        placement = self.placement(number)
        return self._is_alone if placement is None else self._node_id in placement.replicas

    def is_led(self, number: int) -> bool:
        """Whether this node is to lead a partition."""
        return self.leader(number) == self._node_id

    def leader(self, number: int) -> str:
        """The node that leads a partition, as far as is known; empty while nobody does."""
        placement = self.placement(number)
        if placement is None:
            return self._node_id if self._is_alone else ""
        return placement.leader if self.may_lead or placement.leader != self._node_id else ""

    @property
    def min_isr(self) -> int:
        """How many replicas have to be in sync for what all of them are to confirm."""
        return int(str(setting(self.topic.config, "min_insync_replicas")))

    def take_moved(self) -> bool:
        """Whether partitions are led by others than at the last call."""
        leaders = {number: self.leader(number) for number in range(self.topic.partitions)}
        was, self._leaders = self._leaders, leaders
        return was != leaders

    def take_elsewhere(self) -> list[Slot]:
        """The streams that are led elsewhere, by others than at the last call, and are not open here as a leader's."""
        found: list[Slot] = []
        for side in self.sides():
            for number in range(self.topic.partitions):
                leader = self.leader(number)
                if leader == self._node_id:
                    self._elsewhere.pop((side, number), None)
                elif self._elsewhere.get((side, number)) != leader:
                    self._elsewhere[side, number] = leader
                    found.append((side, number))
        return found

    def sides(self) -> list[Side]:
        """What streams each partition has."""
        return [Side.DATA, *self.topic.sides]

    def config(self, side: Side) -> LogConfig:
        """The settings of the streams of one side."""
        if side is not Side.DATA:
            return side_config(self.topic.config, self._thresholds)
        config = log_config(self.topic.config, self._thresholds)
        if self.topic.sides:
            # Shared groups lease, and the broker itself moves, single records of what is published here.
            config.validation = Validation.FULL
        return config

    # --- streams that come and go

    def begin(self) -> list[Slot]:
        """The streams that are to be here and were not asked to be opened yet."""
        slots = [
            (side, number)
            for side in self.sides()
            for number in range(self.topic.partitions)
            if self.is_here(number) and number not in self.leaving and not self._knows((side, number))
        ]
        self._closed.update(dict.fromkeys(slots))
        return slots

    def _knows(self, slot: Slot) -> bool:
        return slot in self._held or slot in self._closed

    def strayed(self) -> list[int]:
        """The partitions that are here, at least in part, and are not to be."""
        numbers = dict.fromkeys(number for _, number in (*self._held, *self._closed))
        return [number for number in numbers if not self.is_here(number)]

    def hold(self, side: Side, number: int, held: Held) -> None:
        """A stream is open, or has another role from here on."""
        self._closed.pop((side, number), None)
        self._held[side, number] = held

    def held(self, side: Side, number: int) -> Held | None:
        """A stream that is open, led or followed."""
        return self._held.get((side, number))

    def drop(self, number: int) -> list[Held]:
        """A partition is to be here no more, and its folder is to go; those of its streams that were open."""
        self.leaving[number] = None
        for slot in [slot for slot in self._closed if slot[1] == number]:
            del self._closed[slot]
        return [self._held.pop(slot) for slot in [slot for slot in self._held if slot[1] == number]]

    def open_failed(self, number: int, why: str, side: Side) -> None:
        """A stream could not be recovered."""
        held = self._held.get((side, number))
        if held is None:
            self._closed[side, number] = why
        else:
            held.recovery_failed(why)

    def lacks(self, number: int, side: Side) -> bool:
        """Whether a stream of this topic is to be here, and is not open."""
        return (side, number) in self._closed

    def streams(self) -> list[str]:
        """All streams of all partitions that are here, open or not."""
        return [self.topic.stream(number, side) for side, number in (*self._held, *self._closed)]

    def streams_of(self, number: int) -> list[str]:
        """All streams of one partition that could be here."""
        return [self.topic.stream(number, side) for side in self.sides()]

    def is_settled(self) -> bool:
        """Whether it is known of every partition if it can be used."""
        return None not in self._closed.values()

    def all_held(self) -> list[Held]:
        """All streams that are open, side by side, in order of partitions."""
        return [*self._in_order()]

    def _in_order(self) -> Iterator[Held]:
        numbers = range(self.topic.partitions)
        for side in self.sides():
            for number in numbers:
                held = self._held.get((side, number))
                if held is not None:
                    yield held

    # --- for the node

    def turn(self) -> None:
        """The batches that messages without a key went to are written."""
        self._partitioner.turn()

    def partitions(self) -> list[Partition]:
        """All partitions that are open and led here, in order."""
        return [one for one in self._in_order() if isinstance(one, Partition) and one.side is Side.DATA]

    def partition(self, number: int, side: Side = Side.DATA) -> Partition | Refusal:
        """One partition that is led here, or why it cannot be had."""
        held = self._held.get((side, number))
        if isinstance(held, Partition):
            return held
        if not 0 <= number < self.topic.partitions:
            message = f"topic {self.topic.name} has partitions 0 to {self.topic.partitions - 1}, not {number}"
            return Refusal(Code.PARTITION_NOT_FOUND, message, "partition")
        if side not in self.sides():
            return Refusal(
                Code.PARTITION_NOT_FOUND, f"partition {number} of {self.topic.name} has no {side}", "partition"
            )
        if not self.is_led(number):
            return self._led_elsewhere(number)
        why = self._closed.get((side, number)) or "it is being opened"
        message = f"partition {number} of {self.topic.name} cannot be used: {why}"
        return Refusal(Code.UNAVAILABLE, message, "partition", retry_after_ms=1000)

    def _led_elsewhere(self, number: int) -> Refusal:
        leader = self.leader(number)
        message = f"partition {number} of {self.topic.name} is led by {leader or 'nobody at the moment'}"
        return Refusal(Code.NOT_LEADER, message, "partition", retry_after_ms=100, leader=leader)

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

    def is_changed_by(self, topic: Topic) -> bool:
        """Whether a topic has other settings, partitions or sides than were taken over last."""
        return self._seen != _terms(topic)

    def alter(self, topic: Topic) -> None:
        """Take over changed settings."""
        self.topic = topic
        self._seen = _terms(topic)
        self._partitioner = self._make_partitioner()
        for held in self._held.values():
            held.log.configure(self.config(held.side))

    def full_config(self) -> dict[str, object]:
        """The topic's settings, defaults included."""
        return full_config(self.topic.config)


def _terms(topic: Topic) -> tuple[dict[str, Value], int, list[Side]]:
    return dict(topic.config), topic.partitions, [*topic.sides]
