"""Three real brokers in a storm: one or another is killed, paused, stopped or cut off, again and again, under load.

A short storm is part of every run; `--long` has three long ones.
"""

import time
from pathlib import Path
from random import Random

import pytest
import trio

from goqueue.cli.bench import namespaces
from goqueue.cli.bench.cluster_history import violations
from goqueue.cli.bench.cluster_load import Load, Pace, loaded
from goqueue.cli.bench.local_cluster import LocalBroker, LocalCluster, cluster_of

NODES, PARTITIONS = 3, 4
SHORT, LONG = 3, 12
PACE = Pace(streams=6, interval_s=0.02)
WITHIN_S = 90.0


async def trouble(net: namespaces.Network, place: int, broker: LocalBroker, random: Random) -> None:
    """One thing that goes wrong, and is over when this returns; the broker runs again."""
    kind = random.choice(("killed", "paused", "stopped", "isolated", "deaf"))
    print(f"{broker.node_id} is {kind}")
    if kind in ("killed", "stopped"):
        await trio.to_thread.run_sync(broker.kill if kind == "killed" else broker.stop)
        await trio.sleep(random.uniform(0.0, 5.0))
        broker.start()
    elif kind == "paused":
        broker.pause()
        await trio.sleep(random.uniform(0.1, 6.0))
        broker.resume()
    elif kind == "isolated":
        net.isolate(place)
        await trio.sleep(random.uniform(0.5, 8.0))
        net.rejoin(place)
    else:
        # It hears nothing from its peers, who hear it.
        peers = [number for number in range(NODES) if number != place]
        for peer in peers:
            net.cut(peer, place)
        await trio.sleep(random.uniform(0.5, 8.0))
        for peer in peers:
            net.mend(peer, place)


async def storm(cluster: LocalCluster, net: namespaces.Network, random: Random, rounds: int) -> Load:
    names = [*cluster.brokers]
    async with loaded(cluster.addresses, "storm", PACE) as load:
        for _ in range(rounds):
            name = random.choice(names)
            broker = cluster.brokers[name]
            await trouble(net, names.index(name), broker, random)
            for partition in range(PARTITIONS):
                if load.uses(partition):
                    await load.until_acknowledged(time.monotonic_ns(), partition, within_s=WITHIN_S)
            await trio.to_thread.run_sync(broker.await_ready)
            await trio.to_thread.run_sync(cluster.await_in_sync, "storm", NODES)
    return load


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """How many storms there are, and how long each is."""
    storms = [(seed, LONG) for seed in range(3)] if metafunc.config.getoption("--long") else [(0, SHORT)]
    metafunc.parametrize(("seed", "rounds"), storms)


def test_nothing_is_lost_twice_or_out_of_order(tmp_path: Path, seed: int, rounds: int) -> None:
    if reason := namespaces.why_impossible():
        pytest.skip(reason)
    with namespaces.network(NODES) as net:
        cluster = cluster_of(tmp_path, net.places)
        try:
            cluster.start()
            cluster.create("storm", PARTITIONS, NODES, min_insync_replicas=2)
            load = trio.run(storm, cluster, net, Random(seed), rounds)
        finally:
            cluster.clear()
    assert load.errors == []
    assert len(load.history.acknowledged) > rounds * PARTITIONS
    assert violations(load.history) == []
