"""Figures of reading from a broker over gRPC: a partition from its start, as batches and record by record."""

from functools import partial

import trio

from goqueue.cli.bench.broker_publish import ring
from goqueue.cli.bench.client_load import fetch_records
from goqueue.cli.bench.cores import cpu_seconds
from goqueue.cli.bench.figures import Bar, Entry, Figure
from goqueue.cli.bench.grpc_load import codec, publish_stream, subscribe
from goqueue.cli.bench.served_broker import ServedBroker, served
from goqueue.cli.bench.sizes import Sizes
from goqueue.cli.bench.workbench import Workbench
from goqueue.proto import v1

_RECORDS = 100
_BYTES_MAX = 1 << 20


def entries(sizes: Sizes) -> list[Entry]:
    """The figures of this file."""
    room = sizes.publish_batches * _RECORDS * 1100
    return [
        Entry(
            "fetch_batches", "a partition from its start, as batches", batches, [Bar("value", least=1_000_000)],
            disk_bytes=room,
        ),
        Entry(
            "fetch_records", "the same record by record, through the client", records, [Bar("value", least=350_000)],
            disk_bytes=room,
        ),
    ]  # fmt: skip


def fill(broker: ServedBroker, topic: str, count: int, fsync: str = "none") -> None:
    """So many batches of a hundred records in a new topic of one partition."""
    broker.create(topic, fsync=fsync)
    messages = [codec.encode(v1.PublishBatchRequest(topic=topic, batch=batch)) for batch in ring()]
    trio.run(partial(publish_stream, broker.grpc_address, messages, count, 16))


def batches(workbench: Workbench) -> Figure:
    """One subscription, whose batches are counted by their headers."""
    count, best, cpu = workbench.sizes.publish_batches, float("inf"), float("inf")
    with workbench.folder() as folder, served(folder) as broker:
        fill(broker, "fetch", count)
        for done in range(workbench.sizes.broker_rounds):
            begun = cpu_seconds(broker.pid)
            wall = trio.run(partial(subscribe, broker.grpc_address, "fetch", count * _RECORDS, _BYTES_MAX))
            best, cpu = min(best, wall), min(cpu, cpu_seconds(broker.pid) - begun)
            workbench.advanced((done + 1) / workbench.sizes.broker_rounds)
    note = f"{cpu / count * 1e6:.0f} us of the broker's CPU for 100 KB; replies of up to 1 MiB"
    return Figure(count * _RECORDS / best, "msg/s", note=note)


def records(workbench: Workbench) -> Figure:
    """A consumer of the client library that is iterated over."""
    count, best = workbench.sizes.publish_batches, float("inf")
    with workbench.folder() as folder, served(folder) as broker:
        fill(broker, "fetch", count)
        for done in range(workbench.sizes.broker_rounds):
            best = min(best, trio.run(fetch_records, broker.grpc_address, "fetch", count * _RECORDS))
            workbench.advanced((done + 1) / workbench.sizes.broker_rounds)
    return Figure(count * _RECORDS / best, "msg/s")
