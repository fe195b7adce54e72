"""The CPU time of a broker for one publish over gRPC that comes alone: transport and loop, service and node.

The broker is a process of its own; the client sends the next message of 1 KB when the last one is answered. The
reading is all CPU time of the broker's process, its threads and the system's work for it included, which comes in steps
of 10 ms.
"""

import statistics
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import trio

from goqueue.cli.bench.cores import cpu_seconds
from goqueue.cli.bench.figures import Bar, Entry, Figure
from goqueue.cli.bench.grpc_load import publish_one_by_one
from goqueue.cli.bench.served_broker import ServedBroker, served
from goqueue.cli.bench.sizes import Sizes
from goqueue.cli.bench.turn_one import TOPIC, VALUE_BYTES
from goqueue.cli.bench.workbench import Workbench, quantile


def entries(_sizes: Sizes) -> list[Entry]:
    """The figures of this module."""
    title = "CPU of a broker for a publish over gRPC, one at a time"
    return [Entry("serve_one", title, serve_one, (Bar("value", below=120),))]


def serve_one(bench: Workbench) -> Figure:
    """The median of rounds, and how long a publish takes."""
    spans: list[float] = []
    taken: list[int] = []
    rounds, count = bench.sizes.broker_rounds, bench.sizes.singles
    with bench.folder() as folder, served_topic(bench, folder) as (broker, publish):
        for done in range(rounds):
            begun = cpu_seconds(broker.pid)
            taken += publish(count)
            spans.append(cpu_seconds(broker.pid) - begun)
            bench.advanced((done + 1) / rounds)
    taken.sort()
    p50, p99 = quantile(taken, 0.5) / 1e6, quantile(taken, 0.99) / 1e6
    return Figure(1e6 * statistics.median(spans) / count, "us", p50_ms=p50, p99_ms=p99)


@contextmanager
def served_topic(
    bench: Workbench, folder: Path, profile: Path | None = None
) -> Iterator[tuple[ServedBroker, Callable[[int], list[int]]]]:
    """A broker with a topic that has been published to a little, and what publishes to it, one message at a time."""
    value = b"x" * VALUE_BYTES
    with served(folder, profile=profile) as broker:

        def publish(count: int) -> list[int]:
            return trio.run(publish_one_by_one, broker.grpc_address, TOPIC, value, count)

        broker.create(TOPIC, fsync="none")
        publish(bench.sizes.singles // 4)
        yield broker, publish
