"""Very many messages due at one instant, and what others notice of it."""

import time
from functools import partial

import trio

from goqueue.cli.bench.cores import cpu_seconds
from goqueue.cli.bench.figures import Bar, Entry, Figure
from goqueue.cli.bench.queue_load import publish_kept, receive
from goqueue.cli.bench.queue_traffic import others
from goqueue.cli.bench.served_broker import ServedBroker, served
from goqueue.cli.bench.sizes import Sizes
from goqueue.cli.bench.workbench import BenchError, Workbench, quantile

_NS = 1_000_000_000
# Between the last message that is published and the instant.
_QUIET_MS = 1_000
_ATTEMPTS = 4


def entries(sizes: Sizes) -> list[Entry]:
    """The figure of this file."""
    bars = [Bar("value", below=2), Bar("p99_ms", below=50)]
    what = "100,000 messages due at one instant, until all are read; quantiles: other traffic meanwhile"
    return [Entry("burst_100k", what, burst, bars, disk_bytes=sizes.burst * 3300)]


def burst(workbench: Workbench) -> Figure:
    """Seconds from the instant to the last message; other traffic is timed from publish to the consumer's code."""
    count = workbench.sizes.burst
    with workbench.folder() as folder, served(folder) as broker:
        broker.create("others", fsync="interval")
        with others(broker.grpc_address, "others") as traffic:
            topic, due_ms = _published(broker, workbench)
            workbench.advanced(0.5)
            begun = cpu_seconds(broker.pid)
            came = trio.run(partial(receive, broker.grpc_address, topic, count))
            used = cpu_seconds(broker.pid) - begun
            samples = traffic.end()
    due = due_ms * 1_000_000
    if came.first < due:
        raise BenchError(f"messages came {(due - came.first) / 1e6:.3f} ms early")
    meanwhile = sorted(taken for sent, taken in samples if due <= sent + taken and sent <= came.last)
    before = sorted(taken for sent, taken in samples if due - _QUIET_MS * 1_000_000 <= sent and sent + taken < due)
    p50, p99 = quantile(meanwhile, 0.5) / 1e6, quantile(meanwhile, 0.99) / 1e6
    first_ms, quiet_ms = (came.first - due) / 1e6, quantile(before, 0.99) / 1e6
    note = (
        f"the first after {first_ms:.0f} ms; {used:.1f} s of the broker's CPU with the second before; "
        f"other traffic's p99 before: {quiet_ms:.1f} ms"
    )
    return Figure((came.last - due) / _NS, "s", p50_ms=p50, p99_ms=p99, note=note)


def _published(broker: ServedBroker, workbench: Workbench) -> tuple[str, int]:
    """A topic whose messages are all there well before the instant, and when that is; a slow machine gets more time."""
    sizes = workbench.sizes
    ahead_ms = sizes.burst_ahead_ms
    for attempt in range(_ATTEMPTS):
        topic = f"burst-{attempt}"
        broker.create(topic, fsync="interval")
        due_ms = time.time_ns() // 1_000_000 + ahead_ms
        trio.run(partial(publish_kept, broker.grpc_address, topic, [due_ms] * sizes.burst))
        if time.time_ns() // 1_000_000 + _QUIET_MS < due_ms:
            return topic, due_ms
        broker.delete(topic)
        ahead_ms *= 2
    raise BenchError(f"{sizes.burst:,} messages could not be published in {ahead_ms / 2e3:.0f} s")
