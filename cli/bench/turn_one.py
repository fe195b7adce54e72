"""Figures of one publish at a time in a node, transport apart: what a turn costs of CPU, with and without a crowd.

A turn takes one batch of one record of 1 KB under fsync none, writes it and brings the answer; `driven_node.py` says
what is in it. The batches are made before. Readings are of the CPU time of the measuring thread; what the disk's
threads do meanwhile, as reserving room for the log, is not in them. The median of blocks counts, garbage collection
included.

The crowd is there when the second figure is taken (`turn_crowd.py`); its limit is the same node before.
"""

import os
import resource
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager

from goqueue.cli.bench.driven_node import DrivenNode
from goqueue.cli.bench.figures import Bar, Entry, Figure
from goqueue.cli.bench.sizes import CrowdSize, Sizes
from goqueue.cli.bench.turn_crowd import gather
from goqueue.cli.bench.workbench import BenchError, Stopwatch, Workbench
from goqueue.core.records.build import encode
from goqueue.core.requests.call import Caller
from goqueue.core.requests.messages import PublishBatch, Published, PublishReply
from goqueue.core.requests.topics import CreateTopic, TopicReply
from goqueue.core.services.secrets import Secrets

TOPIC = "one"
VALUE_BYTES = 1024
_BATCH_BYTES = 1200
_PARTITION_BYTES = 32 << 10
_FILES_SPARE = 500
# The part of the time that making the crowd takes.
_CROWD_PART = 0.95


def entries(sizes: Sizes) -> list[Entry]:
    """The figures of this module."""
    publishes_bytes = sizes.turns * (sizes.turn_blocks + 1) * _BATCH_BYTES
    crowd_bytes = sizes.crowd.partitions * _PARTITION_BYTES + (sizes.crowd.producers + sizes.crowd.leases) * 300
    return [
        Entry(
            "turn_one", "a turn with a publish of 1 KB", turn_one, (Bar("value", below=35),), disk_bytes=publishes_bytes
        ),
        Entry(
            "turn_one_crowded",
            f"the same beside {sizes.crowd}; limit: before these",
            turn_one_crowded,
            (Bar("ratio", below=1.3),),
            disk_bytes=crowd_bytes + 2 * publishes_bytes,
        ),
    ]


def turn_one(bench: Workbench) -> Figure:
    """A node with one topic."""
    with node_with_topic(bench) as node:
        return Figure(_median_us(node, bench), "us")


def turn_one_crowded(bench: Workbench) -> Figure:
    """A node that holds a crowd, and the same one before."""
    with node_with_topic(bench) as node:
        alone = _median_us(node, bench)
        crowd(node, bench)
        value = _median_us(node, bench)
    return Figure(value, "us", limit=alone, ratio=value / alone)


@contextmanager
def node_with_topic(bench: Workbench) -> Iterator[DrivenNode]:
    """A node with a topic of one partition that has been published to a little."""
    with bench.folder() as folder, DrivenNode(folder, Secrets(os.urandom)) as node:
        node.demand(CreateTopic(TOPIC, 1, config={"fsync": "none"}), TopicReply)
        node.demand(_publish(), PublishReply)
        publish(node, batches(bench.sizes.turns))
        yield node


def crowd(node: DrivenNode, bench: Workbench) -> None:
    """Have the node hold a crowd."""
    _demand_files(bench.sizes.crowd)
    gather(node, bench.sizes.crowd, lambda part: bench.advanced(_CROWD_PART * part))


def batches(count: int) -> list[PublishBatch]:
    """So many publishes; the node takes the bytes over, so each can be made once."""
    return [_publish() for _ in range(count)]


def publish(node: DrivenNode, requests: list[PublishBatch]) -> None:
    """A turn for each."""
    caller, answer = Caller(), node.answer
    for request in requests:
        reply = answer(caller, request)
    if not (isinstance(reply, PublishReply) and isinstance(reply.results[0], Published)):
        raise BenchError(f"the node answers a publish with {reply}")


def _publish() -> PublishBatch:
    return PublishBatch(TOPIC, 0, encode([(time.time_ns() // 1_000_000, None, os.urandom(VALUE_BYTES), ())]))


def _median_us(node: DrivenNode, bench: Workbench) -> float:
    """The CPU time of a publish in microseconds: the median of blocks."""
    spans: list[float] = []
    for _ in range(bench.sizes.turn_blocks):
        requests = batches(bench.sizes.turns)
        with Stopwatch() as watch:
            publish(node, requests)
        spans.append(watch.timing.cpu)
    return 1e6 * statistics.median(spans) / bench.sizes.turns


def _demand_files(size: CrowdSize) -> None:
    """Let this process have an open file for each partition."""
    wanted = size.partitions + _FILES_SPARE
    given, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most != resource.RLIM_INFINITY and most < wanted:
        raise BenchError(f"a process may have {most:,} open files here, and this takes {wanted:,}: raise ulimit -Hn")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(given, wanted), most))
