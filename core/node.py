"""One broker without its I/O: composition and verbs, no decisions of its own.

Requests come in by `ask`, answers and effects go out by `take`. In between, topics are changed through the metadata log
(`cluster/`), batches go to partitions (`partition/`), and what the driver found out about disks is handed on. `to` is a
number by which the driver knows whom an answer is for; the node only repeats it.

A turn of the driver: `ask` for all that came in, `take`, perform the writes, report failures, `written`, `take` again.
"""

from collections.abc import Callable, Iterable
from random import Random
from typing import Any

from attrs import define, field

from goqueue.core.calls import Reply, Request
from goqueue.core.clock import Clock
from goqueue.core.cluster.topic_settings import Value
from goqueue.core.dead.leader import DeadLeader
from goqueue.core.delay.leader import DelayLeader
from goqueue.core.delay.publishing import Delayed, delayed
from goqueue.core.groups.leader import GroupLeader
from goqueue.core.groups.plan import SESSION_MS_DEFAULT
from goqueue.core.leading import Changing, Follower, Leading
from goqueue.core.led import Led
from goqueue.core.log.compaction import CompactionOutput
from goqueue.core.log.effects import ReadResult, SyncToken, TimeResult
from goqueue.core.log.log import LogState
from goqueue.core.metadata import METADATA_STREAM, AddSide, MakeOwnTopic
from goqueue.core.partition.partition import Partition, Publishing
from goqueue.core.partition.recent import RecentBatches
from goqueue.core.reads import Reads
from goqueue.core.ready import Ready, Send
from goqueue.core.room import Rooms, Site
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
    NewRecord,
    NodeReply,
    Publish,
    PublishBatch,
    PublishReply,
    Refusal,
    Side,
)
from goqueue.core.wishes import RollSide, TrimSide, Wish
from goqueue.core.work.leader import WorkLeader

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
        self._recent = RecentBatches(options.recent_bytes)
        follower = Follower(self._answer, self._arrived, self._closed, self._altered, self._left, self._topics_changed)
        self._leading = Leading(
            clock, self.led, follower, self._recent, options.partitions_default, options.topic_config
        )
        self._reads = Reads(self._answer, self.led.is_led)
        self._upkeep = Upkeep(self.led.stream)
        site = Site(clock, Random(options.seed), self.led, self._answer)  # noqa: S311 - no secret
        groups = GroupLeader(site, options.session_timeout_ms)
        self._delays = DelayLeader(site)
        work = WorkLeader(site, groups)
        self._rooms = Rooms([groups, work, DeadLeader(site, work), self._delays])
        self._armed_at_ms = clock.wall_ms(0)
        self._verbs: dict[type, Callable[[int, int, Any], None]] = {
            CreateTopic: self._change,
            MakeOwnTopic: self._change,
            AddSide: self._change,
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
            RollSide: self._roll_side,
            TrimSide: self._trim_side,
        }

    # --- requests

    def ask(self, now: int, to: int, caller: Caller, request: Request) -> None:
        """Take one request; its answer, once there is one, is a `Send` to `to`."""
        verb = self._verbs.get(type(request))
        if self._leading.metadata is None:
            self._answer(to, Refusal(Code.UNAVAILABLE, "the node is starting", retry_after_ms=200))
        elif verb is not None:
            verb(now, to, request)
        else:
            self._rooms.ask(now, to, caller, request)

    @property
    def has_metadata(self) -> bool:
        """Whether it is known which topics there are."""
        return self._leading.metadata is not None

    def is_started(self) -> bool:
        """Whether it is known of every partition that was there at the start if it can be used."""
        return self._leading.is_settled

    def forget(self, to: int) -> None:
        """Nobody waits for the answer to `to` any more."""
        self._reads.forget(to)
        self._rooms.forget(to)

    def _answer(self, to: int | None, reply: Reply) -> None:
        """Tell whoever asked: a client by way of the driver, or a room of this node."""
        if to is not None and to < 0:
            self._rooms.answered(to, reply)
        elif to is not None:
            self._ready.sends.append(Send(to, reply))

    # --- topics

    def _change(self, now: int, to: int, request: Changing) -> None:
        self._leading.change(now, to, request)

    def _describe(self, now: int, to: int, request: ListTopics | DescribeTopic | DescribePartitions) -> None:
        self._answer(to, self.led.describe(request))

    def _describe_node(self, now: int, to: int, request: DescribeNode) -> None:
        topics, size_bytes = [*self.led.public()], self.led.size_bytes()
        name, version = self.options.node_id, self.options.version
        self._answer(to, NodeReply(name, version, now - self._started, len(topics), size_bytes, topics))

    # --- messages

    def _publish(self, now: int, to: int, request: Publish) -> None:
        leader = self.led.topic(request.topic, to_write=to >= 0)
        if isinstance(leader, Refusal):
            self._answer(to, leader)
            return
        count, awaits = len(request.records), request.acks is not Acks.NONE
        publishing = Publishing(to, [None] * count, count, awaits)
        if not request.records:
            self._answer(to, PublishReply([]))
        self._published[request.topic] = leader
        wall_ms = self.clock.wall_ms(now)
        later = delayed(wall_ms, request.records, leader.config(Side.DATA).batch_bytes_max)
        if later is not None:
            self._publish_later(now, wall_ms, publishing, request, leader, later)
            return
        for number, places in leader.spread(request.records).items():
            self._gather(now, wall_ms, publishing, request.records, places, leader.partition(number))

    def _gather(
        self,
        now: int,
        wall_ms: int,
        publishing: Publishing,
        records: list[NewRecord],
        places: list[int],
        partition: Partition | Refusal,
    ) -> None:
        if not isinstance(partition, Refusal):
            partition.gather(now, wall_ms, publishing, records, places)
            self._touch(partition)
        elif [publishing.answer(at, partition) for at in places][-1]:
            self._finish(publishing)

    def _publish_later(
        self, now: int, wall_ms: int, publishing: Publishing, request: Publish, leader: TopicLeader, later: Delayed
    ) -> None:
        """Messages of which some are to be kept back."""
        for at, refusal in later.refused.items():
            if publishing.answer(at, refusal):
                self._finish(publishing)
        spread = leader.spread(request.records)
        for number, places in spread.items():
            if some := later.now(places):
                self._gather(now, wall_ms, publishing, later.records, some, leader.partition(number))
        if not later.dues:
            return
        if Side.SCHEDULE not in leader.topic.sides or self._delays.is_making(request.topic):
            self._delays.publish(request.topic, later.hold(publishing, spread))
            return
        publishing.dues = later.dues
        for number, places in spread.items():
            if some := later.later(places):
                schedule = leader.partition(number, Side.SCHEDULE)
                self._gather(now, wall_ms, publishing, later.records, some, schedule)

    def _publish_batch(self, now: int, to: int, request: PublishBatch) -> None:
        partition = self.led.partition(request.topic, request.partition, request.side, to_write=to >= 0)
        if isinstance(partition, Refusal):
            self._answer(to, partition)
        else:
            publishing = Publishing(to, [None], 1, request.acks is not Acks.NONE)
            partition.publish_batch(now, request.batch, publishing)
            self._touch(partition)

    def _fetch(self, now: int, to: int, request: Fetch) -> None:
        partition = self.led.partition(request.topic, request.partition, request.side)
        if isinstance(partition, Refusal):
            self._answer(to, partition)
        else:
            self._reads.fetch(now, to, partition, request)

    def _find_offset(self, now: int, to: int, request: FindOffset) -> None:
        partition = self.led.partition(request.topic, request.partition)
        if isinstance(partition, Refusal):
            self._answer(to, partition)
        else:
            self._reads.find(to, partition, request)

    # --- what the driver reports

    def opened(self, now: int, stream: str, state: LogState, records: Iterable[bytes] = ()) -> None:
        """A stream was recovered, at first or after a failure; for the metadata, `records` are all values in it."""
        if stream == METADATA_STREAM:
            self._leading.metadata_opened(now, state, records)
        else:
            self._leading.opened(now, stream, state)

    def open_failed(self, now: int, stream: str, why: str) -> None:
        """A stream cannot be recovered: its partition answers with the reason, all others go on."""
        if stream != METADATA_STREAM:
            self._leading.open_failed(now, stream, why)

    def removed(self, now: int, folder: str) -> None:
        """A topic's folder is gone."""
        self._leading.removed(now, folder)

    def written(self, now: int) -> None:
        """All writes taken so far are in the hands of the operating system, save where `disk_failed` was said."""
        for partition in self._touched.values():
            partition.written()
            self._settle(now, partition)
        self._touched.clear()

    def synced(self, now: int, stream: str, token: SyncToken) -> None:
        """The disk kept a promise."""
        if stream == METADATA_STREAM:
            self._leading.metadata_synced(now, token)
        elif stream in self.led.streams:
            partition = self.led.streams[stream]
            partition.synced(now, token)
            self._settle(now, partition)

    def disk_failed(self, now: int, stream: str, why: str) -> None:
        """A stream's disk refused or lost something; the driver is asked to recover it."""
        if stream == METADATA_STREAM:
            self._leading.metadata_failed(now, why)
        elif stream in self.led.streams:
            partition = self.led.streams[stream]
            partition.disk_failed(now, why)
            self._settle(now, partition)
            self._rooms.failed(now, stream, why)

    def read_done(self, now: int, token: int, result: ReadResult | TimeResult | None) -> None:
        """The answer to a `Fetching`."""
        self._reads.done(now, token, result)

    def looks_into(self, token: int) -> bool:
        """Whether what a `Fetching` brings changes the node itself, and is not passed on unseen."""
        return self._reads.looks_into(token)

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

    # --- what is led

    def _arrived(self, now: int, partition: Partition, is_new: bool) -> None:
        """A stream can be used: for the first time, or again after its disk failed."""
        if is_new:
            self._upkeep.watch(now, partition)
        else:
            self._touch(partition)
            self._settle(now, partition)
        self._rooms.opened(now, partition)

    def _closed(self, now: int, stream: str, why: str) -> None:
        """A stream cannot be used for now."""
        self._rooms.failed(now, stream, why)

    def _altered(self, partition: Partition) -> None:
        """What was gathered, asked for or due under the old settings is looked at again under these."""
        self._touch(partition)

    def _left(self, partition: Partition, refusal: Refusal) -> None:
        """A stream is gone; whoever waits for it is told."""
        self._published.pop(partition.topic, None)
        self._touched.pop(partition.log.stream, None)
        self._upkeep.forget(partition)
        self._reads.abandon(partition, refusal)
        for publishing in partition.abandon(refusal):
            self._finish(publishing)

    def _topics_changed(self) -> None:
        """There are other topics."""
        self._rooms.topics_changed()

    # --- time and output

    def deadline(self) -> int | None:
        """When `wake` wants to be called; None while nothing depends on time."""
        times = self._reads.deadline(), self._upkeep.deadline(), self._rooms.deadline()
        return min((due for due in times if due is not None), default=None)

    def wake(self, now: int) -> None:
        """Do what time alone brings about."""
        self._reads.wake(now)
        self._rooms.wake(now)
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
            self._rooms.clock_jumped(now)

    def forget_recent(self, now: int) -> None:
        """Let go of the batches in memory that are on the disk as well."""
        self._recent.clear()
        self._rooms.forget_found()

    def close(self, now: int) -> None:
        """Leave every log so that the next start has nothing to read back."""
        for partition in self.led.streams.values():
            self._touch(partition)
            partition.close(now)
        if self._leading.metadata is not None:
            self._leading.metadata.log.close(now)

    def take(self, now: int) -> Ready:
        """Everything to be done since the last call."""
        self._rooms.attend(now, self._perform)
        ready, leading = self._ready, self._leading
        if leading.metadata is not None:
            ready.writes.extend(leading.metadata.log.take(now))
        for leader in self._published.values():
            leader.turn()
        self._published.clear()
        for partition in self._touched.values():
            ready.writes.extend(partition.take(now))
            self._settle(now, partition)
            self._upkeep.watch(now, partition)
        ready.reads = self._reads.take()
        ready.compactions, self._upkeep.wanted = self._upkeep.wanted, []
        ready.opens, leading.opens = leading.opens, []
        ready.removes, leading.removes = leading.removes, []
        self._ready = Ready()
        return ready

    def _perform(self, now: int, number: int, wish: Wish) -> None:
        """Do what a room asks for; the answer comes under the number."""
        self._verbs[type(wish)](now, number, wish)

    def _roll_side(self, now: int, to: int, request: RollSide) -> None:
        partition = self.led.partition(request.topic, request.partition, request.side)
        if isinstance(partition, Partition) and partition.log.unsound is None:
            partition.roll(now)
            self._touch(partition)
        self._answer(to, partition if isinstance(partition, Refusal) else None)

    def _trim_side(self, now: int, to: int, request: TrimSide) -> None:
        partition = self.led.partition(request.topic, request.partition, request.side)
        if isinstance(partition, Partition) and partition.log.unsound is None:
            partition.log.delete_before(now, request.offset)
            self._touch(partition)
        self._answer(to, partition if isinstance(partition, Refusal) else None)

    def _touch(self, partition: Partition) -> None:
        self._touched[partition.log.stream] = partition

    def _settle(self, now: int, partition: Partition) -> None:
        """Send what a partition has finished, and try again what waited for it."""
        if partition.done:
            done, partition.done = partition.done, []
            for publishing in done:
                self._finish(publishing)
        self._reads.news(now, partition)
        self._rooms.news(now, partition)

    def _finish(self, publishing: Publishing) -> None:
        self._answer(publishing.to, publishing.reply())

    def check(self) -> None:
        """Assert every component's invariants."""
        for partition in self.led.streams.values():
            partition.check()
        self._reads.check()
        self._upkeep.check()
        self._rooms.check()
        if self._leading.metadata is not None:
            self._leading.metadata.check()
