"""Figures of publishing to a broker over gRPC: batches as they are, and records one at a time through the client."""

import time
from functools import partial

import trio

from goqueue.cli.bench.bare_link import send_batches
from goqueue.cli.bench.client_load import publish_records
from goqueue.cli.bench.cores import cpu_seconds
from goqueue.cli.bench.figures import Bar, Entry, Figure
from goqueue.cli.bench.grpc_load import codec, publish_stream
from goqueue.cli.bench.served_broker import ServedBroker, served
from goqueue.cli.bench.sizes import Sizes
from goqueue.cli.bench.workbench import Workbench
from goqueue.core.records.build import encode
from goqueue.proto import v1

_RECORDS = 100
_VALUE_BYTES = 1024
_WINDOW = 16
# More than a core's own caches hold.
_RING = 40


def entries(sizes: Sizes) -> list[Entry]:
    """The figures of this file."""
    room = sizes.publish_batches * _RECORDS * _VALUE_BYTES * 3
    bars = [Bar("value", least=600_000), Bar("ratio", least=0.35)]
    return [
        Entry("publish_batches", "batches of 100 on one stream, fsync none", batches, bars, disk_bytes=room),
        Entry(
            "publish_records", "the client's producer, given one record at a time", records,
            [Bar("value", least=380_000)], disk_bytes=room,
        ),
    ]  # fmt: skip


def ring() -> list[bytes]:
    """Batches of a hundred records of 1 KB, made by a producer just now."""
    stamp = time.time_ns() // 1_000_000
    values = [bytes([number % 256]) * _VALUE_BYTES for number in range(_RECORDS)]
    return [bytes(encode([(stamp + number, None, value, ()) for value in values])) for number in range(_RING)]


def batches(workbench: Workbench) -> Figure:
    """One connection that pipelines batches, beside a bare loop that receives, sums and writes the same bytes."""
    content, count = ring(), workbench.sizes.publish_batches
    best = best_bare = cpu = float("inf")
    with workbench.folder() as folder, served(folder) as broker:
        for done in range(workbench.sizes.broker_rounds):
            wall, used = publish_all(broker, f"publish-{done}", content, count)
            best, cpu = min(best, wall), min(cpu, used)
            best_bare = min(best_bare, send_batches(folder / "bare", content, count, _WINDOW))
            workbench.advanced((done + 1) / workbench.sizes.broker_rounds)
    total = count * _RECORDS
    note = f"{cpu / count * 1e6:.0f} us of the broker's CPU a batch; {_WINDOW} batches in flight"
    return Figure(total / best, "msg/s", total / best_bare, best_bare / best, note=note)


def records(workbench: Workbench) -> Figure:
    """A producer as it comes, idempotent and with all its defaults, on a core of its own."""
    count, best, cpu = workbench.sizes.publish_batches * _RECORDS, float("inf"), float("inf")
    with workbench.folder() as folder, served(folder) as broker:
        for done in range(workbench.sizes.broker_rounds):
            topic = f"records-{done}"
            broker.create(topic, fsync="none")
            begun = cpu_seconds(broker.pid)
            best = min(best, trio.run(publish_records, broker.grpc_address, topic, bytes(_VALUE_BYTES), count))
            cpu = min(cpu, cpu_seconds(broker.pid) - begun)
            broker.delete(topic)
            workbench.advanced((done + 1) / workbench.sizes.broker_rounds)
    note = f"{cpu / count * 1e6:.2f} us of the broker's CPU a record; idempotent, batches of 16 KB, linger 5 ms"
    return Figure(count / best, "msg/s", note=note)


def publish_all(broker: ServedBroker, topic: str, content: list[bytes], count: int) -> tuple[float, float]:
    """Publish so many batches to a topic that is made for it: what that took, by the wall and of the broker's CPU."""
    broker.create(topic, fsync="none")
    messages = [codec.encode(v1.PublishBatchRequest(topic=topic, batch=batch)) for batch in content]
    begun = cpu_seconds(broker.pid)
    wall = trio.run(partial(publish_stream, broker.grpc_address, messages, count, _WINDOW))
    used = cpu_seconds(broker.pid) - begun
    broker.delete(topic)
    return wall, used
