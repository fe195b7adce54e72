"""One real broker as a process, and what its clients see when it is killed, paused, stopped, or has no room left."""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import trio

from goqueue.cli.bench import namespaces
from goqueue.cli.bench.cluster_history import violations
from goqueue.cli.bench.cluster_load import Load, Pace, loaded
from goqueue.cli.bench.local_cluster import LocalCluster, cluster_of, loopback, running_cluster
from tests.cluster import small_disks

PACE = Pace(streams=2)
WITHIN_S = 30.0


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    """A broker that is ready, for one test after another."""
    with running_cluster(tmp_path_factory.mktemp("alone"), 1) as cluster:
        yield cluster


def clean(load: Load) -> None:
    """Nobody noticed but by waiting."""
    assert load.errors == []
    assert violations(load.history) == []
    assert load.history.refused == {}


def test_killed_and_started_again_it_has_all_that_it_acknowledged(alone: LocalCluster) -> None:
    async def scene() -> Load:
        async with loaded(alone.addresses, "killed", PACE) as load:
            alone.brokers["n1"].kill()
            killed_ns = time.monotonic_ns()
            alone.brokers["n1"].start()
            await load.until_acknowledged(killed_ns, 0, within_s=WITHIN_S)
        return load

    alone.create("killed")
    clean(trio.run(scene))


def test_paused_for_a_while_it_goes_on(alone: LocalCluster) -> None:
    async def scene() -> Load:
        async with loaded(alone.addresses, "paused", PACE) as load:
            alone.brokers["n1"].pause()
            await trio.sleep(0.5)
            alone.brokers["n1"].resume()
            await load.until_acknowledged(time.monotonic_ns(), 0, within_s=WITHIN_S)
        return load

    alone.create("paused")
    clean(trio.run(scene))


def test_stopped_in_order_and_started_again_it_has_lost_nobody(alone: LocalCluster) -> None:
    async def scene() -> Load:
        async with loaded(alone.addresses, "stopped", PACE) as load:
            broker = alone.brokers["n1"]
            assert await trio.to_thread.run_sync(broker.stop) == 0
            broker.start()
            await load.until_acknowledged(time.monotonic_ns(), 0, within_s=WITHIN_S)
        return load

    alone.create("stopped")
    clean(trio.run(scene))


def test_without_room_it_acknowledges_nothing_and_goes_on_when_there_is_some(tmp_path: Path) -> None:
    if reason := small_disks.why_impossible(tmp_path):
        pytest.skip(reason)

    async def scene(cluster: LocalCluster, disk: small_disks.SmallDisk) -> Load:
        async with loaded(cluster.addresses, "full", PACE) as load:
            disk.fill()
            with trio.move_on_after(1.0):
                while True:
                    await load.until_acknowledged(time.monotonic_ns(), 0, within_s=WITHIN_S)
            disk.free()
            await load.until_acknowledged(time.monotonic_ns(), 0, within_s=WITHIN_S)
        return load

    with ExitStack() as stack:
        disk = stack.enter_context(small_disks.small_disk(tmp_path / "n1" / "data", 8))
        # The load is to meet the disk's own refusal, not the broker's.
        cluster = cluster_of(tmp_path, loopback(1), {"n1": ["--disk-reserve", "0"]})
        stack.callback(cluster.clear)
        cluster.start()
        cluster.create("full", segment_bytes=1 << 20)
        load = trio.run(scene, cluster, disk)
        assert load.errors == []
        assert violations(load.history) == []


def test_out_of_reach_for_a_while_it_is_found_again(tmp_path: Path) -> None:
    if reason := namespaces.why_impossible():
        pytest.skip(reason)

    async def scene(cluster: LocalCluster, net: namespaces.Network) -> Load:
        async with loaded(cluster.addresses, "far", PACE) as load:
            net.isolate(0)
            await trio.sleep(0.5)
            net.rejoin(0)
            await load.until_acknowledged(time.monotonic_ns(), 0, within_s=WITHIN_S)
        return load

    with namespaces.network(1) as net, ExitStack() as stack:
        cluster = cluster_of(tmp_path, net.places)
        stack.callback(cluster.clear)
        cluster.start()
        cluster.create("far")
        clean(trio.run(scene, cluster, net))
