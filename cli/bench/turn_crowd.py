"""A crowd for a node to hold: partitions, groups with a member each, producers that have published, leased messages.

Everything is asked for as clients ask for it, many requests a turn. Partitions are of topics with a hundred each. A
group has a member that reads one of these topics and has committed an offset. A producer has an id of the node's and
has published one numbered batch; producers go round the partitions. The leases are of one work queue, a hundred a poll,
held for an hour by as many members as it takes.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from goqueue.cli.bench.driven_node import DrivenNode
from goqueue.cli.bench.sizes import CrowdSize
from goqueue.core.records.build import encode
from goqueue.core.requests.call import Caller
from goqueue.core.requests.groups import (
    CommitOffsets,
    CommittedOffsets,
    GroupMode,
    Joined,
    JoinGroup,
    PartitionOffset,
)
from goqueue.core.requests.messages import InitProducer, ProducerReply, PublishBatch, PublishReply
from goqueue.core.requests.queues import PolledWork, PollWork
from goqueue.core.requests.row import Request
from goqueue.core.requests.topics import CreateTopic, TopicReply

_TOPIC_PARTITIONS = 100
_TURN_REQUESTS = 500
_TURN_PRODUCERS = 1_000
_SESSION_MS = 1_800_000
_LEASE_MS = 3_600_000
_WAIT_NS = 1_000_000_000
_WORK_PARTITIONS = 10
_MEMBER_LEASES = 1_000
_BATCH_RECORDS = 100
_VALUE = b"x" * 100

T = TypeVar("T")
Progress = Callable[[float], None]


def gather(node: DrivenNode, size: CrowdSize, advanced: Progress) -> None:
    """Make a crowd; `advanced` hears which part of it is there."""
    topics = _make_topics(node, size.partitions, lambda part: advanced(0.4 * part))
    _make_groups(node, size.groups, topics, lambda part: advanced(0.4 + 0.1 * part))
    _make_producers(node, size.producers, topics, lambda part: advanced(0.5 + 0.4 * part))
    _make_leases(node, size.leases, lambda part: advanced(0.9 + 0.1 * part))
    node.settle()


def _make_topics(node: DrivenNode, partitions: int, advanced: Progress) -> dict[str, int]:
    """Topics with so many partitions in all, each by the number of its own."""
    topics: dict[str, int] = {}
    for first in range(0, partitions, _TOPIC_PARTITIONS):
        name, count = f"crowd-{len(topics)}", min(_TOPIC_PARTITIONS, partitions - first)
        node.demand(CreateTopic(name, count, config={"fsync": "none"}), TopicReply)
        node.demand_all([(Caller(), _plain(name, number)) for number in range(count)], PublishReply)
        topics[name] = count
        advanced((first + count) / partitions)
    return topics


def _make_groups(node: DrivenNode, count: int, topics: dict[str, int], advanced: Progress) -> None:
    names = list(topics)
    for numbers in _slices(count, _TURN_REQUESTS):
        joins = [
            JoinGroup(f"group-{number}", [names[number % len(names)]], session_timeout_ms=_SESSION_MS)
            for number in numbers
        ]
        joined = _asked(node, joins, Joined)
        commits = [
            CommitOffsets(join.group, each.member_id, each.generation, [PartitionOffset(join.topics[0], 0, 1)])
            for join, each in zip(joins, joined, strict=True)
        ]
        _asked(node, commits, CommittedOffsets)
        advanced(numbers.stop / count)


def _make_producers(node: DrivenNode, count: int, topics: dict[str, int], advanced: Progress) -> None:
    places = [(topic, number) for topic, partitions in topics.items() for number in range(partitions)]
    for numbers in _slices(count, _TURN_PRODUCERS):
        # An address is given so many ids and no more.
        caller = Caller(address=f"crowd-{numbers.start}:1")
        given = node.demand_all([(caller, InitProducer()) for _ in numbers], ProducerReply)
        batches = [
            _plain(*places[number % len(places)], producer=each) for number, each in zip(numbers, given, strict=True)
        ]
        _asked(node, batches, PublishReply)
        advanced(numbers.stop / count)


def _make_leases(node: DrivenNode, count: int, advanced: Progress) -> None:
    partitions = min(_WORK_PARTITIONS, -(-count // _BATCH_RECORDS))
    node.demand(CreateTopic("work", partitions, config={"fsync": "none"}), TopicReply)
    batch_count = -(-count // _BATCH_RECORDS)
    for numbers in _slices(batch_count, _TURN_REQUESTS):
        _asked(node, [_plain("work", number % partitions, _BATCH_RECORDS) for number in numbers], PublishReply)
    leased = 0
    while leased < count:
        join = JoinGroup(
            "workers", ["work"], session_timeout_ms=_SESSION_MS, mode=GroupMode.SHARED, config={"start": "earliest"}
        )
        member = node.demand(join, Joined).member_id
        until = min(count, leased + _MEMBER_LEASES)
        while leased < until:
            wanted = min(until - leased, _BATCH_RECORDS)
            poll = PollWork("workers", member, wanted, wait_ns=_WAIT_NS, visibility_ms=_LEASE_MS)
            polled = node.demand(poll, PolledWork)
            leased += sum(run.count for part in polled.parts for run in part.leases)
            advanced(leased / count)


def _asked(node: DrivenNode, requests: Sequence[Request], kind: type[T]) -> list[T]:
    return node.demand_all([(Caller(), request) for request in requests], kind)


def _plain(topic: str, partition: int, records: int = 1, producer: ProducerReply | None = None) -> PublishBatch:
    """A batch for a partition, the first one of its producer where there is one."""
    entries = [(time.time_ns() // 1_000_000, None, _VALUE, ())] * records
    if producer is None:
        return PublishBatch(topic, partition, encode(entries))
    numbered = encode(entries, producer_id=producer.producer_id, producer_epoch=producer.epoch, base_sequence=0)
    return PublishBatch(topic, partition, numbered)


def _slices(count: int, length: int) -> Iterator[range]:
    for first in range(0, count, length):
        yield range(first, min(first + length, count))
