"""Figures of a group at work: how fast its members read together, and how fast offsets are committed."""

import time
from datetime import timedelta
from functools import partial

import trio

import goqueue
from goqueue.cli.bench.broker_publish import ring
from goqueue.cli.bench.cores import CORES, kept_to, settle
from goqueue.cli.bench.figures import Bar, Entry, Figure
from goqueue.cli.bench.group_member import Plan
from goqueue.cli.bench.group_stage import Stage, staged
from goqueue.cli.bench.grpc_load import codec, publish_stream
from goqueue.cli.bench.served_broker import ServedBroker, served
from goqueue.cli.bench.sizes import Sizes
from goqueue.cli.bench.workbench import BenchError, Workbench
from goqueue.proto import v1

_MEMBERS, _PARTITIONS = 4, 16
_BATCH_RECORDS = 100
_WINDOW = 16
# So much that what members are sent before they begin, four megabytes each, is next to nothing.
_FILLS = 2
_LOOK_S = 0.5
_PATIENCE_S = 120.0


def entries(sizes: Sizes) -> list[Entry]:
    """The figures of this file."""
    room = _FILLS * sizes.publish_batches * _BATCH_RECORDS * 1100
    return [
        Entry(
            "group_consume", "four members read 16 partitions of 1 KB messages, commits every second", consume,
            [Bar("value", least=300_000)], disk_bytes=room,
        ),
        Entry("group_commit", "commits of one partition each, 64 at a time", commit, [Bar("value", least=5_000)]),
    ]  # fmt: skip


def consume(workbench: Workbench) -> Figure:
    """Messages a second of all members together, which begin when all of them are there."""
    with workbench.folder() as folder, served(folder) as broker:
        _fill(broker, _FILLS * workbench.sizes.publish_batches)
        plan = Plan(broker.grpc_address, "group", "shared", 1, 30.0, 1.0, waits=True)
        # Broker and members take what there is: who gets which core is the system's business.
        settle(set(CORES), broker.pid)
        with kept_to(set(CORES)), staged() as stage:
            for _ in range(_MEMBERS):
                stage.start(plan)
            stage.tell("join")
            stage.settled(_MEMBERS, _PARTITIONS)
            begun = stage.tell("mark")
            count, ended = _read(stage)
    return Figure(1e9 * count / (ended - begun), "msg/s", note=f"{count:,} messages; the whole machine for all of them")


def _fill(broker: ServedBroker, count: int) -> None:
    broker.create("shared", _PARTITIONS, fsync="none")
    content = ring()
    messages = [
        codec.encode(v1.PublishBatchRequest(topic="shared", partition=number, batch=content[number]))
        for number in range(_PARTITIONS)
    ]
    trio.run(partial(publish_stream, broker.grpc_address, messages, count, _WINDOW))


def _read(stage: Stage) -> tuple[int, int]:
    """Wait until nothing more comes; how many messages came since the mark, and when the last."""
    until, before = time.monotonic() + _PATIENCE_S, 0
    while time.monotonic() < until:
        time.sleep(_LOOK_S)
        reports = stage.reports().values()
        count = sum(report.count for report in reports)
        if 0 < count == before:
            return count, max(report.last_at for report in reports)
        before = count
    raise BenchError(f"members did not read all within {_PATIENCE_S:.0f} s")


def commit(workbench: Workbench) -> Figure:
    """Commits a second of one member, each waited for by whoever asked for it."""
    partitions, count = 64, max(workbench.sizes.singles // 10, 10)
    with workbench.folder() as folder, served(folder) as broker:
        broker.create("shared", partitions, fsync="none")
        seconds = trio.run(_commit, broker.grpc_address, partitions, count)
    return Figure(partitions * count / seconds, "commits/s", note=f"{count} of each of {partitions} partitions")


async def _commit(address: str, partitions: int, count: int) -> float:
    async def commit_on(number: int) -> None:
        for offset in range(1, count + 1):
            await consumer.commit({("shared", number): offset})

    async with goqueue.connect(address) as gq:
        async with gq.producer() as producer:
            for _ in range(count):
                for number in range(partitions):
                    await producer.send("shared", b"x", partition=number)
        waiting = trio.Event()
        member = gq.group_consumer(
            "group",
            "shared",
            commit="manual",
            session_timeout=timedelta(seconds=30),
            on_assigned=lambda _slots: waiting.set(),
        )
        async with member as consumer:
            await waiting.wait()
            begun = time.perf_counter()
            async with trio.open_nursery() as nursery:
                for number in range(partitions):
                    nursery.start_soon(commit_on, number)
            return time.perf_counter() - begun
