"""Figures of a broker over REST: one message a request, and a hundred."""

import json

from goqueue.cli.bench.figures import Bar, Entry, Figure
from goqueue.cli.bench.http_load import load, request
from goqueue.cli.bench.served_broker import served
from goqueue.cli.bench.sizes import Sizes
from goqueue.cli.bench.workbench import Workbench, quantile

_CONNECTIONS = 32
_BATCH = 100
_VALUE = "x" * 1024


def entries(_sizes: Sizes) -> list[Entry]:
    """The figures of this file."""
    return [
        Entry("rest_single", "one message a request, 32 connections", single, [Bar("value", least=6_000)]),
        Entry("rest_batch_100", "100 messages a request, 32 connections", batch, [Bar("value", least=100_000)]),
    ]


def single(workbench: Workbench) -> Figure:
    """One message of 1 KB a request."""
    body = json.dumps({"value": _VALUE, "key": "some key"}).encode()
    return _measure(workbench, request("/topics/rest/publish", body), 1)


def batch(workbench: Workbench) -> Figure:
    """A hundred messages of 1 KB a request."""
    messages = [{"value": _VALUE, "key": f"key {number}"} for number in range(_BATCH)]
    body = json.dumps({"messages": messages}).encode()
    return _measure(workbench, request("/topics/rest/messages", body), _BATCH)


def _measure(workbench: Workbench, content: bytes, messages: int) -> Figure:
    seconds, best = workbench.sizes.load_seconds, 0.0
    latencies: list[int] = []
    with workbench.folder() as folder, served(folder) as broker:
        broker.create("rest", partitions=6, fsync="none")
        load(broker.http_port, content, _CONNECTIONS, seconds / 4)
        for done in range(workbench.sizes.broker_rounds):
            taken, wall = load(broker.http_port, content, _CONNECTIONS, seconds)
            if len(taken) * messages / wall > best:
                best, latencies = len(taken) * messages / wall, taken
            workbench.advanced((done + 1) / workbench.sizes.broker_rounds)
    p50, p99 = (quantile(latencies, part) / 1e6 for part in (0.5, 0.99))
    return Figure(best, "msg/s", p50_ms=p50, p99_ms=p99, note=f"{_CONNECTIONS} connections, six partitions, fsync none")
