"""What one consumer of the client library does with a work queue: a lease and an acknowledgement for every message."""

import time
from functools import partial

import trio

import goqueue
from goqueue.cli.bench.broker_fetch import fill
from goqueue.cli.bench.cores import cpu_seconds
from goqueue.cli.bench.figures import Bar, Entry, Figure
from goqueue.cli.bench.served_broker import served
from goqueue.cli.bench.sizes import Sizes
from goqueue.cli.bench.workbench import BenchError, Workbench

_BATCH = 100
_PREFETCH = 200


def entries(sizes: Sizes) -> list[Entry]:
    """The figure of this file."""
    room = sizes.worked_batches * _BATCH * 1100
    return [
        Entry(
            "work_queue", "the client's consumer of a shared group, one ack() a message, prefetch 200, fsync interval",
            work, [Bar("value", least=100_000)], disk_bytes=room,
        ),
    ]  # fmt: skip


def work(workbench: Workbench) -> Figure:
    """Messages of 1 KB from a full topic, each round by a group of its own, until the last is acknowledged for good."""
    count, best, cpu = workbench.sizes.worked_batches * _BATCH, float("inf"), float("inf")
    with workbench.folder() as folder, served(folder) as broker:
        fill(broker, "work", workbench.sizes.worked_batches, "interval")
        for done in range(workbench.sizes.broker_rounds):
            begun = cpu_seconds(broker.pid)
            best = min(best, trio.run(partial(_settle, broker.grpc_address, f"round-{done}", count)))
            cpu = min(cpu, cpu_seconds(broker.pid) - begun)
            workbench.advanced((done + 1) / workbench.sizes.broker_rounds)
    return Figure(count / best, "msg/s", note=f"{cpu / count * 1e6:.2f} us of the broker's CPU a message")


async def _settle(address: str, group: str, count: int) -> float:
    async with goqueue.connect(address) as gq, gq.work_consumer(group, "work", prefetch=_PREFETCH) as consumer:
        begun, left = time.perf_counter(), count
        async for message in consumer:
            if message.value is None:
                raise BenchError(f"offset {message.offset} has no value")
            message.ack()
            left -= 1
            if not left:
                break
        await consumer.flush()
        return time.perf_counter() - begun
