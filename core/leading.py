"""Which topics a node leads: it follows the metadata, has streams opened and folders removed, and says what has come.

The metadata log decides; nothing here does. A stream that was recovered arrives as a partition, one of a topic that is
gone leaves, and whoever asked for either is answered when it is so. What the node makes of that is its own affair
(`Follower`): reads, alarms and rooms are not known here.

Invariants: a topic is led, being removed, or neither; each stream of a topic that is led was asked to be opened once.
"""

from collections.abc import Callable, Iterable

from attrs import define, evolve, field

from goqueue.core.calls import Reply
from goqueue.core.clock import Clock
from goqueue.core.cluster.apply import ClusterState, Topic
from goqueue.core.cluster.topic_settings import Value
from goqueue.core.led import Led
from goqueue.core.log.config import LogConfig
from goqueue.core.log.effects import SyncToken
from goqueue.core.log.log import Log, LogState
from goqueue.core.metadata import METADATA_STREAM, AddSide, FinishDelete, MakeOwnTopic, Metadata
from goqueue.core.partition.partition import Partition
from goqueue.core.partition.recent import RecentBatches
from goqueue.core.reads import deleted
from goqueue.core.ready import Open, Remove
from goqueue.core.topics import TopicLeader
from goqueue.core.verbs import AlterTopic, CreateTopic, DeleteTopic, InitProducer, Refusal, Side

Changing = CreateTopic | MakeOwnTopic | AddSide | AlterTopic | DeleteTopic | InitProducer


@define(eq=False)
class Follower:
    """Who makes something of what is led, by what it is to be called for."""

    # Tell whoever asked.
    answer: Callable[[int | None, Reply], None]
    # A stream can be used: for the first time, or again after its disk failed.
    arrived: Callable[[int, Partition, bool], None]
    # A stream cannot be used for now.
    closed: Callable[[int, str, str], None]
    # The settings of a stream are others.
    altered: Callable[[Partition], None]
    # A stream is gone, and this is why.
    left: Callable[[Partition, Refusal], None]
    # There are other topics.
    topics_changed: Callable[[], None]


@define(eq=False)
class Leading:
    """The topics of a node; `opens` and `removes` are what the driver is asked for."""

    clock: Clock
    led: Led
    _follower: Follower
    _recent: RecentBatches
    _partitions_default: int
    # What a topic gets besides what its maker says of it.
    _topic_config: dict[str, Value]
    metadata: Metadata | None = None
    opens: list[Open] = field(factory=list)
    removes: list[Remove] = field(factory=list)
    # Deleted topics whose folders the driver is removing, and who asked for it.
    _removals: dict[str, int | None] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        self.opens.append(Open(METADATA_STREAM, LogConfig(retention_ms=-1)))

    @property
    def is_settled(self) -> bool:
        """Whether it is known of every partition that was there at the start if it can be used."""
        return self.metadata is not None and self.led.is_settled()

    # --- requests

    def change(self, now: int, to: int, request: Changing) -> None:
        """Take a request that changes what is agreed on; it is answered when it has come to be."""
        assert self.metadata is not None
        if isinstance(request, CreateTopic):
            request = evolve(request, config={**self._topic_config, **request.config})
        leader = self.led.topics.get(request.name) if isinstance(request, AddSide) else None
        if isinstance(request, AddSide) and leader is not None and request.side in leader.topic.sides:
            leader.awaited_by.append(to)
            self._answer_opened(leader)
            return
        self.metadata.ask(now, to, request)
        self._proceed(now)

    def _proceed(self, now: int) -> None:
        """Let the metadata go as far as it can without the disk."""
        assert self.metadata is not None
        for to, answer in self.metadata.plan_next(now):
            self._follower.answer(to, answer)

    # --- what the driver reports of the metadata

    def metadata_opened(self, now: int, state: LogState, records: Iterable[bytes]) -> None:
        """The metadata was recovered, at first or after a failure; `records` are all values in it."""
        if self.metadata is not None:
            self.metadata.reopened(now, state, records)
        else:
            log = Log(METADATA_STREAM, LogConfig(retention_ms=-1), self.clock, state)
            self.metadata = Metadata(log, self.clock, self._partitions_default)
            self.metadata.replay(records)
        self._follow(self.metadata.state)
        self._proceed(now)

    def metadata_synced(self, now: int, token: SyncToken) -> None:
        """The disk kept a promise about the metadata."""
        assert self.metadata is not None
        self.metadata.log.synced(now, token)
        agreed = self.metadata.agreed(now)
        if agreed is None:
            return
        topics, request = self.metadata.state.topics, agreed.request
        if isinstance(request, CreateTopic | MakeOwnTopic):
            self._lead(TopicLeader(topics[request.name], self._recent, agreed.to))
        elif isinstance(request, AddSide):
            leader = self.led.topics[request.name]
            # The state may have been read anew since, and what was known of the topic be another object.
            leader.topic = topics[request.name]
            if agreed.to is not None:
                leader.awaited_by.append(agreed.to)
            self._widen(leader)
        elif isinstance(request, AlterTopic):
            leader = self.led.topics[request.name]
            self._alter(leader, topics[request.name])
            self._follower.answer(agreed.to, leader.describe())
        elif isinstance(request, DeleteTopic):
            self._remove(request.name, agreed.to, self._give_up(request.name))
        else:
            self._follower.answer(agreed.to, None)
        self._proceed(now)

    def metadata_failed(self, now: int, why: str) -> None:
        """The metadata's disk refused or lost something."""
        assert self.metadata is not None
        for to, refusal in self.metadata.disk_failed(now, why):
            self._follower.answer(to, refusal)

    def _follow(self, state: ClusterState) -> None:
        """Lead what a whole state says: nothing is known of how it differs from what is led."""
        streams: dict[str, list[str]] = {}
        for name, leader in list(self.led.topics.items()):
            if name not in state.topics or state.topics[name].topic_id != leader.topic.topic_id:
                streams[name] = self._give_up(name)
        for name, topic in state.topics.items():
            known = self.led.topics.get(name)
            if known is None:
                self._lead(TopicLeader(topic, self._recent))
                continue
            if known.topic != topic:
                self._alter(known, topic)
        for name in state.removing:
            if name not in self._removals:
                self._remove(name, None, streams.get(name, []))

    # --- topics

    def _lead(self, leader: TopicLeader) -> None:
        self.led.topics[leader.topic.name] = leader
        self._follower.topics_changed()
        for side in leader.sides():
            self._open(leader, side)

    def _open(self, leader: TopicLeader, side: Side) -> None:
        config = leader.config(side)
        self.opens.extend(Open(leader.topic.stream(number, side), config) for number in range(leader.topic.partitions))

    def _widen(self, leader: TopicLeader) -> None:
        """Open the streams that a topic has and had not."""
        for side in leader.sides():
            if not leader.has_begun(side):
                leader.begin_side(side)
                self._open(leader, side)
        self._answer_opened(leader)

    def _alter(self, leader: TopicLeader, topic: Topic) -> None:
        leader.alter(topic)
        self._widen(leader)
        self._follower.topics_changed()
        for partition in leader.opened_streams():
            self._follower.altered(partition)

    def _remove(self, name: str, to: int | None, streams: list[str]) -> None:
        assert name not in self._removals
        self._removals[name] = to
        self.removes.append(Remove(f"logs/{name}", streams))

    def removed(self, now: int, folder: str) -> None:
        """A topic's folder is gone."""
        assert self.metadata is not None
        name = folder.split("/")[1]
        self.metadata.ask(now, self._removals.pop(name), FinishDelete(name))
        self._proceed(now)

    def _give_up(self, name: str) -> list[str]:
        """Stop leading a topic that is gone; whoever waits for it is told. Answers its streams."""
        leader = self.led.topics.pop(name)
        self._follower.topics_changed()
        refusal = deleted(name)
        for to in [leader.asked_by, *leader.awaited_by]:
            self._follower.answer(to, refusal)
        for partition in leader.opened_streams():
            self.led.streams.pop(partition.log.stream, None)
            self._follower.left(partition, refusal)
        return leader.streams()

    # --- streams

    def opened(self, now: int, stream: str, state: LogState) -> None:
        """A stream was recovered, at first or after a failure."""
        known = self.led.streams.get(stream)
        if known is not None:
            known.reopened(now, state)
            self._follower.arrived(now, known, False)
            return
        leader, number, side = self._place(stream)
        if leader is not None and leader.lacks(number, side):
            partition = leader.opened(number, Log(stream, leader.config(side), self.clock, state), side)
            partition.history.recall(now, self.clock.wall_ms(now), state)
            self.led.streams[stream] = partition
            self._follower.arrived(now, partition, True)
            self._answer_opened(leader)

    def open_failed(self, now: int, stream: str, why: str) -> None:
        """A stream cannot be recovered: its partition answers with the reason, all others go on."""
        leader, number, side = self._place(stream)
        if leader is None:
            return
        leader.open_failed(number, why, side)
        self._answer_opened(leader)
        self._follower.closed(now, stream, why)

    def _place(self, stream: str) -> tuple[TopicLeader | None, int, Side]:
        """The topic that is led, the partition and the side that a stream is of."""
        _, name, number, *side = stream.split("/")
        return self.led.topics.get(name), int(number), Side(side[0]) if side else Side.DATA

    def _answer_opened(self, leader: TopicLeader) -> None:
        if not leader.is_settled():
            return
        if leader.asked_by is not None:
            self._follower.answer(leader.asked_by, leader.describe())
            leader.asked_by = None
        awaited_by, leader.awaited_by = leader.awaited_by, []
        for to in awaited_by:
            self._follower.answer(to, None)
