"""One broker without its I/O: composition and verbs, no decisions of its own.

Requests come in by `ask`, answers and effects go out by `take`. In between, topics are changed through the metadata log
(`cluster/`), batches go to partitions (`partition/`), and what the driver found out about disks is handed on. `to` is a
number by which the driver knows whom an answer is for; the node only repeats it.

A turn of the driver: `ask` for all that came in, `take`, perform the writes, report failures, `written`, `take` again.
"""

from collections.abc import Callable, Iterable
from random import Random
from typing import Any

from attrs import define, evolve, field

from goqueue.core.calls import Reply, Request
from goqueue.core.clock import Clock
from goqueue.core.cluster.apply import ClusterState, Topic
from goqueue.core.cluster.topic_settings import Value, log_config
from goqueue.core.groups.journal import JOURNAL_STREAM, JOURNAL_TOPIC
from goqueue.core.groups.leader import GroupLeader
from goqueue.core.groups.plan import SESSION_MS_DEFAULT
from goqueue.core.groups.verbs import GroupRequest, JoinGroup
from goqueue.core.led import Led
from goqueue.core.log.compaction import CompactionOutput
from goqueue.core.log.config import LogConfig
from goqueue.core.log.effects import ReadResult, SyncToken, TimeResult
from goqueue.core.log.log import Log, LogState
from goqueue.core.metadata import METADATA_STREAM, FinishDelete, MakeOwnTopic, Metadata
from goqueue.core.partition.partition import Partition, Publishing
from goqueue.core.partition.recent import RecentBatches
from goqueue.core.reads import Reads, deleted
from goqueue.core.ready import Open, Ready, Remove, Send
from goqueue.core.topics import TopicLeader
from goqueue.core.upkeep import Upkeep
from goqueue.core.verbs import (
    Acks,
    AlterTopic,
    Caller,
    Code,
    CreateTopic,
    DeleteTopic,
    DescribeNode,
    DescribePartitions,
    DescribeTopic,
    Fetch,
    FindOffset,
    InitProducer,
    ListTopics,
    NodeReply,
    Publish,
    PublishBatch,
    PublishReply,
    Refusal,
)

# The wall clock as it is read strays by a little all the time; alarms need not follow that.
_CLOCK_STEP_MS = 1000


@define
class NodeOptions:
    """What an operator chooses for a node."""

    node_id: str = "node-1"
    version: str = ""
    partitions_default: int = 6
    # How much of what was appended last is kept in memory for those who follow, of all partitions together.
    recent_bytes: int = 16 << 20
    # Where the ids of members begin to be drawn; another number at every start.
    seed: int = 0
    # What a topic gets besides what its maker says of it, and how long a member may be silent that does not say.
    topic_config: dict[str, Value] = field(factory=dict)
    session_timeout_ms: int = SESSION_MS_DEFAULT


class Node:
    """The state machine of one broker."""

    def __init__(self, options: NodeOptions, clock: Clock, now: int) -> None:
        self.options = options
        self.clock = clock
        self._started = now
        self._ready = Ready()
        self.led = Led(options.node_id)
        self._touched: dict[str, Partition] = {}
        self._published: dict[str, TopicLeader] = {}
        # Deleted topics whose folders the driver is removing, and who asked for it.
        self._removals: dict[str, int | None] = {}
        self._recent = RecentBatches(options.recent_bytes)
        self._reads = Reads(self._send, self.led.is_led)
        self._upkeep = Upkeep(self.led.stream)
        random = Random(options.seed)  # noqa: S311 - no secret
        self._groups = GroupLeader(clock, random, self.led.ends, self.led.age_ms, self._send)
        # Answers to what the groups asked for, and whether they are to hear of other topics.
        self._own: list[tuple[int, Reply]] = []
        self._topics_differ = False
        self._armed_at_ms = clock.wall_ms(0)
        self._metadata: Metadata | None = None
        self._verbs: dict[type, Callable[[int, int, Any], None]] = {
            CreateTopic: self._create_topic,
            MakeOwnTopic: self._change,
            AlterTopic: self._change,
            DeleteTopic: self._change,
            ListTopics: self._describe,
            DescribeTopic: self._describe,
            DescribePartitions: self._describe,
            DescribeNode: self._describe_node,
            Publish: self._publish,
            PublishBatch: self._publish_batch,
            InitProducer: self._change,
            Fetch: self._fetch,
            FindOffset: self._find_offset,
        }
        self._ready.opens.append(Open(METADATA_STREAM, LogConfig(retention_ms=-1)))

    # --- requests

    def ask(self, now: int, to: int, caller: Caller, request: Request) -> None:
        """Take one request; its answer, once there is one, is a `Send` to `to`."""
        verb = self._verbs.get(type(request))
        if self._metadata is None:
            self._send(to, Refusal(Code.UNAVAILABLE, "the node is starting", retry_after_ms=200))
        elif verb is not None:
            verb(now, to, request)
        else:
            assert isinstance(request, GroupRequest)
            if isinstance(request, JoinGroup) and not request.session_timeout_ms:
                request = evolve(request, session_timeout_ms=self.options.session_timeout_ms)
            self._groups.ask(now, to, caller, request)

    def is_started(self) -> bool:
        """Whether it is known of every partition that was there at the start if it can be used."""
        return self._metadata is not None and self.led.is_settled()

    def forget(self, to: int) -> None:
        """Nobody waits for the answer to `to` any more."""
        self._reads.forget(to)
        self._groups.forget(to)

    def _send(self, to: int | None, reply: Reply) -> None:
        if to is not None and to < 0:
            self._own.append((to, reply))
        elif to is not None:
            self._ready.sends.append(Send(to, reply))

    # --- topics

    def _create_topic(self, now: int, to: int, request: CreateTopic) -> None:
        self._change(now, to, evolve(request, config={**self.options.topic_config, **request.config}))

    def _change(
        self, now: int, to: int, request: CreateTopic | AlterTopic | DeleteTopic | MakeOwnTopic | InitProducer
    ) -> None:
        assert self._metadata is not None
        self._metadata.ask(now, to, request)
        self._proceed(now)

    def _proceed(self, now: int) -> None:
        """Let the metadata go as far as it can without the disk."""
        assert self._metadata is not None
        for to, answer in self._metadata.plan_next(now):
            self._send(to, answer)

    def _describe(self, now: int, to: int, request: ListTopics | DescribeTopic | DescribePartitions) -> None:
        self._send(to, self.led.describe(request))

    def _describe_node(self, now: int, to: int, request: DescribeNode) -> None:
        topics, size_bytes = [*self.led.public()], self.led.size_bytes()
        name, version = self.options.node_id, self.options.version
        self._send(to, NodeReply(name, version, now - self._started, len(topics), size_bytes, topics))

    # --- messages

    def _publish(self, now: int, to: int, request: Publish) -> None:
        leader = self.led.topic(request.topic, to_write=to >= 0)
        if isinstance(leader, Refusal):
            self._send(to, leader)
            return
        count, awaits = len(request.records), request.acks is not Acks.NONE
        publishing = Publishing(to, [None] * count, count, awaits)
        if not request.records:
            self._send(to, PublishReply([]))
        self._published[request.topic] = leader
        wall_ms = self.clock.wall_ms(now)
        for number, places in leader.spread(request.records).items():
            partition = leader.partition(number)
            if not isinstance(partition, Refusal):
                partition.gather(now, wall_ms, publishing, request.records, places)
                self._touch(partition)
            elif [publishing.answer(at, partition) for at in places][-1]:
                self._finish(publishing)

    def _publish_batch(self, now: int, to: int, request: PublishBatch) -> None:
        partition = self.led.partition(request.topic, request.partition, to_write=to >= 0)
        if isinstance(partition, Refusal):
            self._send(to, partition)
        else:
            publishing = Publishing(to, [None], 1, request.acks is not Acks.NONE)
            partition.publish_batch(now, request.batch, publishing)
            self._touch(partition)

    def _fetch(self, now: int, to: int, request: Fetch) -> None:
        partition = self.led.partition(request.topic, request.partition)
        if isinstance(partition, Refusal):
            self._send(to, partition)
        else:
            self._reads.fetch(now, to, partition, request)

    def _find_offset(self, now: int, to: int, request: FindOffset) -> None:
        partition = self.led.partition(request.topic, request.partition)
        if isinstance(partition, Refusal):
            self._send(to, partition)
        else:
            self._reads.find(to, partition, request)

    # --- what the driver reports

    def opened(self, now: int, stream: str, state: LogState, records: Iterable[bytes] = ()) -> None:
        """A stream was recovered, at first or after a failure; for the metadata, `records` are all values in it."""
        if stream == METADATA_STREAM:
            self._metadata_opened(now, state, records)
            return
        known = self.led.streams.get(stream)
        if known is not None:
            known.reopened(now, state)
            self._touch(known)
            self._settle(now, known)
            if stream == JOURNAL_STREAM:
                self._groups.opened()
            return
        name, number = stream.split("/")[1:]
        leader = self.led.topics.get(name)
        if leader is not None and leader.lacks(int(number)):
            partition = leader.opened(int(number), Log(stream, log_config(leader.topic.config), self.clock, state))
            partition.history.recall(now, self.clock.wall_ms(now), state)
            self.led.streams[stream] = partition
            self._upkeep.watch(now, partition)
            self._answer_opened(leader)
            if stream == JOURNAL_STREAM:
                self._groups.opened()

    def _metadata_opened(self, now: int, state: LogState, records: Iterable[bytes]) -> None:
        if self._metadata is not None:
            self._metadata.reopened(now, state, records)
        else:
            log = Log(METADATA_STREAM, LogConfig(retention_ms=-1), self.clock, state)
            self._metadata = Metadata(log, self.clock, self.options.partitions_default)
            self._metadata.replay(records)
        self._follow(self._metadata.state)
        self._proceed(now)

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
            elif known.topic != topic:
                self._alter(known, topic)
        for name in state.removing:
            if name not in self._removals:
                self._remove(name, None, streams.get(name, []))

    def open_failed(self, now: int, stream: str, why: str) -> None:
        """A stream cannot be recovered: its partition answers with the reason, all others go on."""
        if stream == METADATA_STREAM:
            return
        name, number = stream.split("/")[1:]
        leader = self.led.topics.get(name)
        if leader is not None:
            leader.open_failed(int(number), why)
            self._answer_opened(leader)
            if stream == JOURNAL_STREAM:
                self._groups.failed(why)

    def removed(self, now: int, folder: str) -> None:
        """A topic's folder is gone."""
        assert self._metadata is not None
        name = folder.split("/")[1]
        self._metadata.ask(now, self._removals.pop(name), FinishDelete(name))
        self._proceed(now)

    def written(self, now: int) -> None:
        """All writes taken so far are in the hands of the operating system, save where `disk_failed` was said."""
        for partition in self._touched.values():
            partition.written()
            self._settle(now, partition)
        self._touched.clear()

    def synced(self, now: int, stream: str, token: SyncToken) -> None:
        """The disk kept a promise."""
        if stream == METADATA_STREAM:
            assert self._metadata is not None
            self._metadata.log.synced(now, token)
            self._apply_agreed(now)
        elif stream in self.led.streams:
            partition = self.led.streams[stream]
            partition.synced(now, token)
            self._settle(now, partition)

    def disk_failed(self, now: int, stream: str, why: str) -> None:
        """A stream's disk refused or lost something; the driver is asked to recover it."""
        if stream == METADATA_STREAM:
            assert self._metadata is not None
            for to, refusal in self._metadata.disk_failed(now, why):
                self._send(to, refusal)
        elif stream in self.led.streams:
            partition = self.led.streams[stream]
            partition.disk_failed(now, why)
            self._settle(now, partition)
            if stream == JOURNAL_STREAM:
                self._groups.failed(why)

    def read_done(self, now: int, token: int, result: ReadResult | TimeResult | None) -> None:
        """The answer to a `Fetching`."""
        self._reads.done(now, token, result)

    def looks_into(self, token: int) -> bool:
        """Whether what a `Fetching` brings changes the node itself, and is not passed on unseen."""
        return self._reads.stream(token) == JOURNAL_STREAM

    def read_failed(self, now: int, token: int, why: str, *, damaged: bool) -> None:
        """The disk could not answer a `Fetching`: what it holds is damaged, or it may work another time."""
        self._reads.failed(now, token, why, damaged=damaged)

    def compacted(self, now: int, stream: str, end_offset: int, outputs: list[CompactionOutput]) -> bool:
        """A `Compact` was carried out; False when its files are of no use any more and should go."""
        is_taken = self._upkeep.compacted(now, end_offset, outputs)
        if is_taken:
            self._touch(self.led.streams[stream])
        return is_taken

    def compaction_failed(self, now: int) -> None:
        """A `Compact` was not carried out, and nothing has changed."""
        self._upkeep.compaction_failed(now)

    # --- time and output

    def deadline(self) -> int | None:
        """When `wake` wants to be called; None while nothing depends on time."""
        if self._own:
            return 0
        times = self._reads.deadline(), self._upkeep.deadline(), self._groups.deadline()
        return min((due for due in times if due is not None), default=None)

    def wake(self, now: int) -> None:
        """Do what time alone brings about."""
        self._reads.wake(now)
        self._groups.wake(now)
        for partition in self._upkeep.wake(now):
            self._touch(partition)
            self._settle(now, partition)

    def clock_moved(self, now: int, wall_ms: int) -> None:
        """A new reading of the wall clock."""
        self.clock.moved(now, wall_ms)
        origin_ms = self.clock.wall_ms(0)
        if abs(origin_ms - self._armed_at_ms) >= _CLOCK_STEP_MS:
            self._armed_at_ms = origin_ms
            self._upkeep.watch_all(now, self.led.streams.values())

    def forget_recent(self, now: int) -> None:
        """Let go of the batches in memory that are on the disk as well."""
        self._recent.clear()
        self._groups.forget_found()

    def close(self, now: int) -> None:
        """Leave every log so that the next start has nothing to read back."""
        for partition in self.led.streams.values():
            self._touch(partition)
            partition.close(now)
        if self._metadata is not None:
            self._metadata.log.close(now)

    def take(self, now: int) -> Ready:
        """Everything to be done since the last call."""
        self._attend(now)
        if self._metadata is not None:
            self._ready.writes.extend(self._metadata.log.take(now))
        for leader in self._published.values():
            leader.turn()
        self._published.clear()
        for partition in self._touched.values():
            self._ready.writes.extend(partition.take(now))
            self._settle(now, partition)
            self._upkeep.watch(now, partition)
        self._ready.reads = self._reads.take()
        self._ready.compactions, self._upkeep.wanted = self._upkeep.wanted, []
        ready, self._ready = self._ready, Ready()
        return ready

    def _attend(self, now: int) -> None:
        """Ask what the groups want asked, and give them the answers, until nothing more comes at once."""
        groups = self._groups
        if self._topics_differ:
            self._topics_differ = False
            groups.topics_changed(now, self.led.partition_counts())
        groups.settle(now)
        while self._own or groups.wishes.asked:
            own, self._own = self._own, []
            for to, reply in own:
                groups.answered(now, to, reply)
            for to, wish in groups.wishes.take():
                self._verbs[type(wish)](now, to, wish)
            groups.settle(now)

    def _touch(self, partition: Partition) -> None:
        self._touched[partition.log.stream] = partition

    def _settle(self, now: int, partition: Partition) -> None:
        """Send what a partition has finished, and try again what waited for it."""
        if partition.done:
            done, partition.done = partition.done, []
            for publishing in done:
                self._finish(publishing)
        self._reads.news(now, partition)
        self._groups.news(partition.topic, partition.number)

    def _finish(self, publishing: Publishing) -> None:
        results = [result for result in publishing.results if result is not None]
        assert len(results) == len(publishing.results)
        self._send(publishing.to, PublishReply(results))

    def _lead(self, leader: TopicLeader) -> None:
        self.led.topics[leader.topic.name] = leader
        self._topics_differ = True
        if leader.topic.name == JOURNAL_TOPIC:
            self._groups.expected()
        config = log_config(leader.topic.config)
        for number in range(leader.topic.partitions):
            self._ready.opens.append(Open(leader.topic.stream(number), config))

    def _alter(self, leader: TopicLeader, topic: Topic) -> None:
        leader.alter(topic)
        for partition in leader.partitions():
            # What was gathered, asked for or due under the old settings is looked at again under these.
            self._touch(partition)

    def _apply_agreed(self, now: int) -> None:
        assert self._metadata is not None
        agreed = self._metadata.agreed(now)
        if agreed is None:
            return
        if isinstance(agreed.request, CreateTopic | MakeOwnTopic):
            self._lead(TopicLeader(self._metadata.state.topics[agreed.request.name], self._recent, agreed.to))
        elif isinstance(agreed.request, AlterTopic):
            leader = self.led.topics[agreed.request.name]
            self._alter(leader, self._metadata.state.topics[agreed.request.name])
            self._send(agreed.to, leader.describe())
        elif isinstance(agreed.request, DeleteTopic):
            self._remove(agreed.request.name, agreed.to, self._give_up(agreed.request.name))
        else:
            self._send(agreed.to, None)
        self._proceed(now)

    def _remove(self, name: str, to: int | None, streams: list[str]) -> None:
        assert name not in self._removals
        self._removals[name] = to
        self._ready.removes.append(Remove(f"logs/{name}", streams))

    def _give_up(self, name: str) -> list[str]:
        """Stop leading a topic that is gone; whoever waits for it is told. Answers its streams."""
        leader = self.led.topics.pop(name)
        self._topics_differ = True
        self._published.pop(name, None)
        refusal = deleted(name)
        self._send(leader.asked_by, refusal)
        for partition in leader.partitions():
            self.led.streams.pop(partition.log.stream, None)
            self._touched.pop(partition.log.stream, None)
            self._upkeep.forget(partition)
            self._reads.abandon(partition, refusal)
            for publishing in partition.abandon(refusal):
                self._finish(publishing)
        return leader.streams()

    def _answer_opened(self, leader: TopicLeader) -> None:
        if leader.asked_by is not None and leader.is_settled():
            self._send(leader.asked_by, leader.describe())
            leader.asked_by = None

    def check(self) -> None:
        """Assert every component's invariants."""
        for partition in self.led.streams.values():
            partition.check()
        self._reads.check()
        self._upkeep.check()
        self._groups.check()
        if self._metadata is not None:
            self._metadata.check()
