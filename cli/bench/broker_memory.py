"""The broker's memory while a lot passes through it."""

from functools import partial

import trio

from goqueue.cli.bench.broker_publish import ring
from goqueue.cli.bench.cores import resident_mb
from goqueue.cli.bench.figures import Bar, Entry, Figure
from goqueue.cli.bench.grpc_load import codec, publish_stream
from goqueue.cli.bench.served_broker import served
from goqueue.cli.bench.sizes import Sizes
from goqueue.cli.bench.workbench import Workbench
from goqueue.proto import v1

_STEPS = 4


def entries(sizes: Sizes) -> list[Entry]:
    """The figure of this file."""
    room = 2 * sizes.passed_batches * 105_000
    bars = [Bar("value", below=150)]
    return [Entry("rss_after_1gb", "the broker's memory after 1 GB", memory, bars, disk_bytes=room)]


def memory(workbench: Workbench) -> Figure:
    """Publish 1 GB, and as much again; memory at the start, in between and at the end."""
    count = workbench.sizes.passed_batches
    sizes: list[float] = []
    with workbench.folder() as folder, served(folder) as broker:
        broker.create("memory", fsync="interval")
        messages = [codec.encode(v1.PublishBatchRequest(topic="memory", batch=batch)) for batch in ring()]
        sizes.append(resident_mb(broker.pid))
        for step in range(2 * _STEPS):
            trio.run(partial(publish_stream, broker.grpc_address, messages, count // _STEPS, 16))
            sizes.append(resident_mb(broker.pid))
            workbench.advanced((step + 1) / (2 * _STEPS))
    half, end = sizes[_STEPS], sizes[-1]
    return Figure(half, "MB", note=f"{sizes[0]:.0f} MB when empty, {end:.0f} MB after twice as much")
