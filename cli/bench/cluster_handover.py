"""Figures of leaders that hand over in order: how long a partition is silent when a broker is stopped on purpose."""

import time

import trio

from goqueue.cli.bench.cluster_history import violations
from goqueue.cli.bench.cluster_load import Load, Pace, loaded
from goqueue.cli.bench.figures import Bar, Entry, Figure
from goqueue.cli.bench.local_cluster import LocalBroker, LocalCluster, running_cluster
from goqueue.cli.bench.sizes import Sizes
from goqueue.cli.bench.workbench import BenchError, Workbench

_NODES = 3
_PARTITIONS = 6
_PACE = Pace(streams=6, interval_s=0.005)
_BEFORE_S, _AFTER_S = 0.5, 1.5


def entries(_sizes: Sizes) -> list[Entry]:
    """The figures of this file."""
    return [
        Entry(
            "handover_pause", "brokers are stopped in order and started again, one by one: the longest silence", pause,
            [Bar("value", below=0.3)],
        ),
    ]  # fmt: skip


def pause(workbench: Workbench) -> Figure:
    """The longest time in which a partition acknowledged nothing, from before the stop until after its end."""
    with workbench.folder() as folder, running_cluster(folder, _NODES) as cluster:
        cluster.create("orders", _PARTITIONS, _NODES)
        silences, load = trio.run(_rolling, workbench, cluster)
    if load.errors or load.history.refused:
        raise BenchError(f"clients noticed: {[*load.errors, *load.history.refused.values()][:5]}")
    if found := violations(load.history):
        raise BenchError("what clients saw should not be:\n" + "\n".join(found))
    ordered = sorted(silences)
    note = f"{len(ordered)} times a partition changed its leader; no client was told of an error"
    return Figure(ordered[-1], "s", p50_ms=ordered[len(ordered) // 2] * 1e3, p99_ms=ordered[-1] * 1e3, note=note)


async def _rolling(workbench: Workbench, cluster: LocalCluster) -> tuple[list[float], Load]:
    silences: list[float] = []
    brokers = [*cluster.brokers.values()]
    async with loaded(cluster.addresses, "orders", _PACE) as load:
        for done, broker in enumerate(brokers):
            silences += await _restarted(cluster, load, broker)
            workbench.advanced((done + 1) / len(brokers))
    return silences, load


async def _restarted(cluster: LocalCluster, load: Load, broker: LocalBroker) -> list[float]:
    """Stop a broker, start it again; the silences of all partitions that it led."""
    described = await trio.to_thread.run_sync(cluster.partitions, "orders")
    led = [each["id"] for each in described if each["leader"] == broker.node_id]
    await trio.sleep(_BEFORE_S)
    # Keys do not go to all partitions; one to which nothing is published is silent all the time.
    busy = {one.partition for one in load.history.acknowledged.values()}
    led = [partition for partition in led if partition in busy]
    begun = time.monotonic_ns()
    status = await trio.to_thread.run_sync(broker.stop)
    if status:
        raise BenchError(f"{broker.node_id} stopped with status {status}: {broker.said}")
    await trio.sleep(_AFTER_S)
    ended = time.monotonic_ns()
    broker.start()
    await trio.to_thread.run_sync(broker.await_ready)
    await trio.to_thread.run_sync(cluster.await_in_sync, "orders", _NODES)
    return [load.history.longest_silence(begun, ended, partition) / 1e9 for partition in led]
