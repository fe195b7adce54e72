"""Figures of one message at a time on one connection: how long until it is acknowledged."""

import json
import os
import time
from functools import partial
from pathlib import Path

import trio

from goqueue.cli.bench.figures import Bar, Entry, Figure
from goqueue.cli.bench.grpc_load import publish_one_by_one
from goqueue.cli.bench.http_load import load, request
from goqueue.cli.bench.served_broker import served
from goqueue.cli.bench.sizes import Sizes
from goqueue.cli.bench.workbench import Workbench, quantile

_VALUE = b"x" * 1024


def entries(_sizes: Sizes) -> list[Entry]:
    """The figures of this file."""
    quick = [Bar("p50_ms", below=0.5), Bar("p99_ms", below=5.0)]
    return [
        Entry("publish_one_rest", "one message at a time over REST, fsync none", rest, quick),
        Entry("publish_one_grpc", "one message at a time over gRPC, fsync none", grpc, quick),
        Entry("publish_one_durable", "one message at a time over gRPC, fsync every; limit: fdatasync's p50", durable),
    ]


def rest(workbench: Workbench) -> Figure:
    """One connection over HTTP/1.1."""
    body = json.dumps({"value": _VALUE.decode()}).encode()
    with workbench.folder() as folder, served(folder) as broker:
        broker.create("one", fsync="none")
        load(broker.http_port, request("/topics/one/publish", body), 1, workbench.sizes.load_seconds / 4)
        content = request("/topics/one/publish", body)
        return _figure(load(broker.http_port, content, 1, workbench.sizes.load_seconds)[0])


def grpc(workbench: Workbench) -> Figure:
    """One connection over gRPC, a call a message."""
    with workbench.folder() as folder, served(folder) as broker:
        broker.create("one", fsync="none")
        one_by_one = partial(publish_one_by_one, broker.grpc_address, "one", _VALUE)
        trio.run(one_by_one, workbench.sizes.singles // 4)
        return _figure(sorted(trio.run(one_by_one, workbench.sizes.singles)))


def durable(workbench: Workbench) -> Figure:
    """The same with a sync a message, in turns with a file that gets the same bytes and syncs."""
    ours: list[int] = []
    bare: list[int] = []
    rounds = workbench.sizes.broker_rounds
    count = max(workbench.sizes.singles // (10 * rounds), 10)
    with workbench.folder() as folder, served(folder) as broker:
        broker.create("one", fsync="every")
        for done in range(rounds):
            ours += trio.run(publish_one_by_one, broker.grpc_address, "one", _VALUE, count)
            bare += _sync_one_by_one(folder / "bare", count)
            workbench.advanced((done + 1) / rounds)
    figure, limit = _figure(sorted(ours)), _figure(sorted(bare))
    assert figure.p50_ms is not None
    assert figure.p99_ms is not None
    assert limit.p50_ms is not None
    assert limit.p99_ms is not None
    figure.limit = limit.value
    above = figure.p50_ms - limit.p50_ms, figure.p99_ms - limit.p99_ms
    figure.note = (
        f"fdatasync alone: p50 {limit.p50_ms:.2f} ms, p99 {limit.p99_ms:.2f} ms; "
        f"above it {above[0]:.2f} and {above[1]:.2f} ms (bar: 1 ms)"
    )
    return figure


def _sync_one_by_one(path: Path, count: int) -> list[int]:
    """How long a write of the same size and its fdatasync take, in a file with room reserved."""
    content = bytes(len(_VALUE) + 100)
    taken: list[int] = []
    file = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        os.posix_fallocate(file, 0, 4 << 20)
        os.fsync(file)
        for number in range(count):
            begun = time.perf_counter_ns()
            os.pwrite(file, content, number * len(content) % (4 << 20))
            os.fdatasync(file)
            taken.append(time.perf_counter_ns() - begun)
    finally:
        os.close(file)
    return taken


def _figure(taken: list[int]) -> Figure:
    """Messages a second, and the quantiles of how long each took."""
    p50, p99 = quantile(taken, 0.5) / 1e6, quantile(taken, 0.99) / 1e6
    return Figure(1e9 * len(taken) / sum(taken), "msg/s", p50_ms=p50, p99_ms=p99)
