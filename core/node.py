"""One broker without its I/O: composition and verbs, no decisions of its own.

Requests come in by `ask`, answers and effects go out by `take`. In between, topics are changed through the metadata log
(`cluster/`), batches go to partitions (`partition/`), and what the driver found out about disks is handed on. `to` is a
number by which the driver knows whom an answer is for; the node only repeats it.

A turn of the driver: `ask` for all that came in, `take`, perform the writes, report failures, `written`, `take` again.
"""

from collections.abc import Callable, Iterable
from typing import Any

from attrs import define

from goqueue.core.clock import Clock
from goqueue.core.cluster.apply import ClusterState
from goqueue.core.cluster.topic_settings import log_config
from goqueue.core.log.config import LogConfig
from goqueue.core.log.effects import FindTime, Read, ReadResult, SyncToken, TimeResult
from goqueue.core.log.log import Log, LogState
from goqueue.core.metadata import METADATA_STREAM, FinishDelete, Metadata
from goqueue.core.partition.partition import Partition, Publishing, WaitingFetch
from goqueue.core.ready import Fetching, Open, Ready, Remove, Send
from goqueue.core.topics import TopicLeader
from goqueue.core.verbs import (
    AlterTopic,
    Caller,
    Code,
    CreateTopic,
    DeleteTopic,
    DescribeNode,
    DescribePartitions,
    DescribeTopic,
    Fetch,
    Fetched,
    FindOffset,
    FoundOffset,
    ListTopics,
    NodeReply,
    Publish,
    PublishBatch,
    PublishReply,
    Refusal,
    Reply,
    Request,
    TopicReply,
)

_FETCH_BYTES_MAX = 64 << 20
_WAIT_NS_MAX = 300_000_000_000


@define
class NodeOptions:
    """What an operator chooses for a node."""

    node_id: str = "node-1"
    version: str = ""
    partitions_default: int = 6


@define
class _PendingRead:
    to: int
    partition: Partition
    request: Fetch | FindOffset
    read: Read | FindTime
    incarnation: int
    deadline: int


class Node:
    """The state machine of one broker."""

    def __init__(self, options: NodeOptions, clock: Clock, now: int) -> None:
        self.options = options
        self.clock = clock
        self._started = now
        self._ready = Ready()
        self._topics: dict[str, TopicLeader] = {}
        self._streams: dict[str, Partition] = {}
        self._touched: dict[str, Partition] = {}
        self._published: dict[str, TopicLeader] = {}
        # Deleted topics whose folders the driver is removing, and who asked for it.
        self._removals: dict[str, int | None] = {}
        self._reads: dict[int, _PendingRead] = {}
        self._next_token = 0
        self._metadata: Metadata | None = None
        self._verbs: dict[type, Callable[[int, int, Any], None]] = {
            CreateTopic: self._change,
            AlterTopic: self._change,
            DeleteTopic: self._change,
            ListTopics: self._list_topics,
            DescribeTopic: self._describe_topic,
            DescribePartitions: self._describe_partitions,
            DescribeNode: self._describe_node,
            Publish: self._publish,
            PublishBatch: self._publish_batch,
            Fetch: self._fetch,
            FindOffset: self._find_offset,
        }
        self._ready.opens.append(Open(METADATA_STREAM, LogConfig(retention_ms=-1)))

    # --- requests

    def ask(self, now: int, to: int, caller: Caller, request: Request) -> None:
        """Take one request; its answer, once there is one, is a `Send` to `to`."""
        if self._metadata is None:
            self._send(to, Refusal(Code.UNAVAILABLE, "the node is starting", retry_after_ms=200))
        else:
            self._verbs[type(request)](now, to, request)

    def is_started(self) -> bool:
        """Whether it is known of every partition that was there at the start if it can be used."""
        return self._metadata is not None and all(leader.is_settled() for leader in self._topics.values())

    def forget(self, to: int) -> None:
        """Nobody waits for the answer to `to` any more."""
        for partition in self._streams.values():
            partition.waiting = [one for one in partition.waiting if one.to != to]

    def _send(self, to: int | None, reply: Reply) -> None:
        if to is not None:
            self._ready.sends.append(Send(to, reply))

    # --- topics

    def _change(self, now: int, to: int, request: CreateTopic | AlterTopic | DeleteTopic) -> None:
        assert self._metadata is not None
        self._metadata.ask(now, to, request)
        self._proceed(now)

    def _proceed(self, now: int) -> None:
        """Let the metadata go as far as it can without the disk."""
        assert self._metadata is not None
        for to, refusal in self._metadata.plan_next(now):
            self._send(to, refusal)

    def _list_topics(self, now: int, to: int, request: ListTopics) -> None:
        self._send(to, [self._topics[name].describe() for name in sorted(self._topics)])

    def _describe_topic(self, now: int, to: int, request: DescribeTopic) -> None:
        leader = self._leader(to, request.name)
        if leader is not None:
            self._send(to, leader.describe())

    def _describe_partitions(self, now: int, to: int, request: DescribePartitions) -> None:
        leader = self._leader(to, request.name)
        if leader is not None:
            self._send(to, leader.describe_partitions(self.options.node_id))

    def _describe_node(self, now: int, to: int, request: DescribeNode) -> None:
        topics: list[TopicReply] = [self._topics[name].describe() for name in sorted(self._topics)]
        size_bytes = sum(topic.size_bytes for topic in topics)
        name, version = self.options.node_id, self.options.version
        self._send(to, NodeReply(name, version, now - self._started, len(topics), size_bytes, topics))

    def _leader(self, to: int, name: str) -> TopicLeader | None:
        leader = self._topics.get(name)
        if leader is None:
            self._send(to, Refusal(Code.TOPIC_NOT_FOUND, f"there is no topic {name!r}", "topic"))
        return leader

    # --- messages

    def _publish(self, now: int, to: int, request: Publish) -> None:
        leader = self._leader(to, request.topic)
        if leader is None:
            return
        publishing = Publishing(to, [None] * len(request.records), len(request.records))
        if not request.records:
            self._send(to, PublishReply([]))
        self._published[request.topic] = leader
        wall_ms = self.clock.wall_ms(now)
        for at, record in enumerate(request.records):
            partition = leader.choose(record)
            if isinstance(partition, Refusal):
                if publishing.answer(at, partition):
                    self._finish(publishing)
            else:
                partition.gather(now, wall_ms, record, publishing, at)
                self._touch(partition)

    def _publish_batch(self, now: int, to: int, request: PublishBatch) -> None:
        partition = self._partition(to, request.topic, request.partition)
        if partition is not None:
            partition.publish_batch(now, request.batch, Publishing(to, [None], 1))
            self._touch(partition)

    def _fetch(self, now: int, to: int, request: Fetch) -> None:
        partition = self._partition(to, request.topic, request.partition)
        if partition is None:
            return
        request.max_bytes = min(max(request.max_bytes, 1), _FETCH_BYTES_MAX)
        self._try_fetch(now, WaitingFetch(to, request, now + min(max(request.wait_ns, 0), _WAIT_NS_MAX)), partition)

    def _try_fetch(self, now: int, waiting: WaitingFetch, partition: Partition) -> None:
        read = partition.read(waiting.fetch)
        if isinstance(read, Refusal):
            self._send(waiting.to, read)
        elif read is not None:
            self._begin_read(waiting.to, partition, waiting.fetch, read, waiting.deadline)
        elif waiting.deadline > now:
            partition.waiting.append(waiting)
        else:
            self._send(waiting.to, _nothing(partition, waiting.fetch.offset))

    def _find_offset(self, now: int, to: int, request: FindOffset) -> None:
        partition = self._partition(to, request.topic, request.partition)
        if partition is not None:
            self._try_find(now, to, request, partition)

    def _try_find(self, now: int, to: int, request: FindOffset, partition: Partition) -> None:
        find = partition.log.find_time(request.timestamp)
        if find is None:
            self._send(to, FoundOffset(partition.high_watermark, -1))
        else:
            self._begin_read(to, partition, request, find, now)

    def _begin_read(
        self, to: int, partition: Partition, request: Fetch | FindOffset, read: Read | FindTime, deadline: int
    ) -> None:
        self._next_token += 1
        pending = _PendingRead(to, partition, request, read, partition.log.incarnation, deadline)
        self._reads[self._next_token] = pending
        self._ready.reads.append(Fetching(self._next_token, read))

    def _partition(self, to: int, topic: str, number: int) -> Partition | None:
        leader = self._leader(to, topic)
        if leader is None:
            return None
        partition = leader.partition(number)
        if isinstance(partition, Refusal):
            self._send(to, partition)
            return None
        return partition

    # --- what the driver reports

    def opened(self, now: int, stream: str, state: LogState, records: Iterable[bytes] = ()) -> None:
        """A stream was recovered, at first or after a failure; for the metadata, `records` are all values in it."""
        if stream == METADATA_STREAM:
            self._metadata_opened(now, state, records)
            return
        known = self._streams.get(stream)
        if known is not None:
            known.reopened(now, state)
            self._touch(known)
            self._settle(now, known)
            return
        name, number = stream.split("/")[1:]
        leader = self._topics.get(name)
        if leader is not None and leader.lacks(int(number)):
            partition = leader.opened(int(number), Log(stream, log_config(leader.topic.config), self.clock, state))
            self._streams[stream] = partition
            self._answer_opened(leader)

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
        for name, leader in list(self._topics.items()):
            if name not in state.topics or state.topics[name].topic_id != leader.topic.topic_id:
                streams[name] = self._give_up(name)
        for name, topic in state.topics.items():
            known = self._topics.get(name)
            if known is None:
                self._lead(TopicLeader(topic))
            elif known.topic != topic:
                known.alter(topic)
        for name in state.removing:
            if name not in self._removals:
                self._remove(name, None, streams.get(name, []))

    def open_failed(self, now: int, stream: str, why: str) -> None:
        """A stream cannot be recovered: its partition answers with the reason, all others go on."""
        if stream == METADATA_STREAM:
            return
        name, number = stream.split("/")[1:]
        leader = self._topics.get(name)
        if leader is not None:
            leader.open_failed(int(number), why)
            self._answer_opened(leader)

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
        elif stream in self._streams:
            partition = self._streams[stream]
            partition.synced(now, token)
            self._settle(now, partition)

    def disk_failed(self, now: int, stream: str, why: str) -> None:
        """A stream's disk refused or lost something; the driver is asked to recover it."""
        if stream == METADATA_STREAM:
            assert self._metadata is not None
            for to, refusal in self._metadata.disk_failed(now, why):
                self._send(to, refusal)
        elif stream in self._streams:
            partition = self._streams[stream]
            partition.disk_failed(now, why)
            self._settle(now, partition)

    def read_done(self, now: int, token: int, result: ReadResult | TimeResult | None) -> None:
        """The answer to a `Fetching`."""
        pending = self._reads.pop(token)
        if self._is_outdated(pending):
            self._read_again(now, pending)
            return
        partition, request, log = pending.partition, pending.request, pending.partition.log
        if isinstance(request, FindOffset):
            self._send(pending.to, _found(result, partition))
            return
        assert isinstance(result, ReadResult)
        assert isinstance(pending.read, Read)
        log.read_done(pending.read, result.next_offset, result.next_position)
        if not result.batches and result.next_offset > request.offset:
            # Compaction left nothing here; go on behind the gap.
            request.offset = result.next_offset
            self._try_fetch(now, WaitingFetch(pending.to, request, pending.deadline), partition)
            return
        fetched = Fetched(result.batches, result.next_offset, partition.high_watermark, log.start_offset)
        self._send(pending.to, fetched)

    def read_failed(self, now: int, token: int, why: str, *, damaged: bool) -> None:
        """The disk could not answer a `Fetching`: what it holds is damaged, or it may work another time."""
        pending = self._reads.pop(token)
        if self._is_outdated(pending):
            self._read_again(now, pending)
        elif damaged:
            self._send(pending.to, Refusal(Code.DAMAGED, why))
        else:
            self._send(pending.to, Refusal(Code.UNAVAILABLE, why, retry_after_ms=1000))

    def _is_outdated(self, pending: _PendingRead) -> bool:
        """Whether the log was recovered or left since: its files may hold other batches where the read looked."""
        log = pending.partition.log
        return log.incarnation != pending.incarnation or self._streams.get(log.stream) is not pending.partition

    def _read_again(self, now: int, pending: _PendingRead) -> None:
        partition, request = pending.partition, pending.request
        if self._streams.get(partition.log.stream) is not partition:
            self._send(pending.to, _deleted(partition.topic))
        elif isinstance(request, FindOffset):
            self._try_find(now, pending.to, request, partition)
        else:
            self._try_fetch(now, WaitingFetch(pending.to, request, pending.deadline), partition)

    # --- time and output

    def deadline(self) -> int | None:
        """When `wake` wants to be called; None while nothing depends on time."""
        times = [one.deadline for partition in self._streams.values() for one in partition.waiting]
        times.extend(due for partition in self._streams.values() if (due := partition.log.deadline()) is not None)
        return min(times, default=None)

    def wake(self, now: int) -> None:
        """Do what time alone brings about."""
        for partition in self._streams.values():
            due = partition.log.deadline()
            if due is not None and due <= now:
                partition.log.wake(now)
                self._touch(partition)
            self._settle(now, partition)

    def close(self, now: int) -> None:
        """Leave every log so that the next start has nothing to read back."""
        for partition in self._streams.values():
            self._touch(partition)
            partition.close(now)
        if self._metadata is not None:
            self._metadata.log.close(now)

    def take(self, now: int) -> Ready:
        """Everything to be done since the last call."""
        if self._metadata is not None:
            self._ready.writes.extend(self._metadata.log.take(now))
        for leader in self._published.values():
            leader.turn()
        self._published.clear()
        for partition in self._touched.values():
            self._ready.writes.extend(partition.take(now))
            self._settle(now, partition)
        ready, self._ready = self._ready, Ready()
        return ready

    def _touch(self, partition: Partition) -> None:
        self._touched[partition.log.stream] = partition

    def _settle(self, now: int, partition: Partition) -> None:
        """Send what a partition has finished, and try again what waited for it."""
        if partition.done:
            done, partition.done = partition.done, []
            for publishing in done:
                self._finish(publishing)
        if partition.waiting:
            for waiting in list(partition.due(now)):
                self._try_fetch(now, waiting, partition)

    def _finish(self, publishing: Publishing) -> None:
        results = [result for result in publishing.results if result is not None]
        assert len(results) == len(publishing.results)
        self._send(publishing.to, PublishReply(results))

    def _lead(self, leader: TopicLeader) -> None:
        self._topics[leader.topic.name] = leader
        config = log_config(leader.topic.config)
        for number in range(leader.topic.partitions):
            self._ready.opens.append(Open(leader.topic.stream(number), config))

    def _apply_agreed(self, now: int) -> None:
        assert self._metadata is not None
        agreed = self._metadata.agreed()
        if agreed is None:
            return
        if isinstance(agreed.request, CreateTopic):
            self._lead(TopicLeader(self._metadata.state.topics[agreed.request.name], agreed.to))
        elif isinstance(agreed.request, AlterTopic):
            leader = self._topics[agreed.request.name]
            leader.alter(self._metadata.state.topics[agreed.request.name])
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
        leader = self._topics.pop(name)
        self._published.pop(name, None)
        refusal = _deleted(name)
        self._send(leader.asked_by, refusal)
        for partition in leader.partitions():
            self._streams.pop(partition.log.stream, None)
            self._touched.pop(partition.log.stream, None)
            for waiting in partition.waiting:
                self._send(waiting.to, refusal)
            partition.waiting = []
            for publishing in partition.abandon(refusal):
                self._finish(publishing)
        return leader.streams()

    def _answer_opened(self, leader: TopicLeader) -> None:
        if leader.asked_by is not None and leader.is_settled():
            self._send(leader.asked_by, leader.describe())
            leader.asked_by = None

    def check(self) -> None:
        """Assert every component's invariants."""
        for partition in self._streams.values():
            partition.check()
        if self._metadata is not None:
            self._metadata.check()


def _deleted(topic: str) -> Refusal:
    return Refusal(Code.TOPIC_NOT_FOUND, f"topic {topic} was deleted", "topic")


def _nothing(partition: Partition, offset: int) -> Fetched:
    return Fetched(b"", offset, partition.high_watermark, partition.log.start_offset)


def _found(result: ReadResult | TimeResult | None, partition: Partition) -> FoundOffset:
    if isinstance(result, TimeResult) and result.offset < partition.high_watermark:
        return FoundOffset(result.offset, result.timestamp)
    return FoundOffset(partition.high_watermark, -1)
