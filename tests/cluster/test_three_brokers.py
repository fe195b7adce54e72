"""Three real brokers as processes: one is killed, paused, stopped, cut off or without room, and clients go on."""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import trio

from goqueue.cli.bench import namespaces
from goqueue.cli.bench.cluster_history import violations
from goqueue.cli.bench.cluster_load import Load, Pace, loaded
from goqueue.cli.bench.local_cluster import LocalBroker, LocalCluster, cluster_of, loopback, running_cluster
from tests.cluster import small_disks

NODES = 3
PACE = Pace(streams=3, interval_s=0.02)
WITHIN_S = 60.0
# Long enough for the others to have another leader.
CUT_S = 6.0


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    """Three brokers that are ready, for one test after another; each leaves them so."""
    with running_cluster(tmp_path_factory.mktemp("three"), NODES) as cluster:
        yield cluster


def clean(load: Load) -> None:
    """Nobody noticed but by waiting."""
    assert load.errors == []
    assert violations(load.history) == []
    assert load.history.refused == {}


async def leader(cluster: LocalCluster, topic: str) -> LocalBroker:
    """Who leads the first partition."""
    return await trio.to_thread.run_sync(cluster.leader, topic)


async def back(cluster: LocalCluster, broker: LocalBroker, topic: str) -> None:
    """Wait until a broker is in sync again."""
    await trio.to_thread.run_sync(broker.await_ready)
    await trio.to_thread.run_sync(cluster.await_in_sync, topic, NODES)


def test_when_the_leader_is_killed_another_goes_on_with_all_that_was_acknowledged(three: LocalCluster) -> None:
    async def scene() -> Load:
        async with loaded(three.addresses, "killed", PACE) as load:
            victim = await leader(three, "killed")
            killed_ns = time.monotonic_ns()
            victim.kill()
            await load.until_acknowledged(killed_ns, 0, within_s=WITHIN_S)
            victim.start()
            await back(three, victim, "killed")
        return load

    three.create("killed", 2, NODES)
    clean(trio.run(scene))


def test_a_leader_that_was_paused_wakes_up_as_none_and_harms_nothing(three: LocalCluster) -> None:
    async def scene() -> Load:
        async with loaded(three.addresses, "paused", PACE) as load:
            victim = await leader(three, "paused")
            paused_ns = time.monotonic_ns()
            victim.pause()
            try:
                await load.until_acknowledged(paused_ns, 0, within_s=WITHIN_S)
            finally:
                victim.resume()
            await back(three, victim, "paused")
        return load

    three.create("paused", 2, NODES)
    clean(trio.run(scene))


def test_all_are_stopped_and_started_again_one_by_one_and_no_client_is_told(three: LocalCluster) -> None:
    async def scene() -> Load:
        async with loaded(three.addresses, "rolling", PACE) as load:
            for broker in three.brokers.values():
                assert await trio.to_thread.run_sync(broker.stop) == 0
                broker.start()
                await back(three, broker, "rolling")
            await load.until_acknowledged(time.monotonic_ns(), 0, within_s=WITHIN_S)
        return load

    three.create("rolling", 2, NODES)
    clean(trio.run(scene))


def test_a_leader_without_room_is_no_obstacle(tmp_path: Path) -> None:
    if reason := small_disks.why_impossible(tmp_path):
        pytest.skip(reason)

    async def scene(cluster: LocalCluster, disks: dict[str, small_disks.SmallDisk]) -> Load:
        async with loaded(cluster.addresses, "full", PACE) as load:
            victim = await leader(cluster, "full")
            disks[victim.node_id].fill()
            filled_ns = time.monotonic_ns()
            await trio.sleep(1.0)
            await load.until_acknowledged(filled_ns + 1_000_000_000, 0, within_s=WITHIN_S)
            disks[victim.node_id].free()
            await back(cluster, victim, "full")
        return load

    with ExitStack() as stack:
        names = [f"n{at}" for at in range(1, NODES + 1)]
        disks = {name: stack.enter_context(small_disks.small_disk(tmp_path / name / "data", 24)) for name in names}
        # The load is to meet the disk's own refusal, not the broker's.
        cluster = cluster_of(tmp_path, loopback(NODES), {name: ["--disk-reserve", "0"] for name in names})
        stack.callback(cluster.clear)
        cluster.start()
        cluster.create("full", 1, NODES, segment_bytes=1 << 20)
        load = trio.run(scene, cluster, disks)
        assert load.errors == []
        assert violations(load.history) == []


def test_a_leader_that_is_cut_off_from_its_peers_acknowledges_nothing_that_is_lost(tmp_path: Path) -> None:
    if reason := namespaces.why_impossible():
        pytest.skip(reason)

    async def scene(cluster: LocalCluster, net: namespaces.Network) -> Load:
        async with loaded(cluster.addresses, "cut", PACE) as load:
            victim = await leader(cluster, "cut")
            place = [*cluster.brokers].index(victim.node_id)
            peers = [number for number in range(NODES) if number != place]
            # What it sends is lost, what they send arrives; clients reach all of them.
            for peer in peers:
                net.cut(place, peer)
            await trio.sleep(CUT_S)
            for peer in peers:
                net.mend(place, peer)
            await load.until_acknowledged(time.monotonic_ns(), 0, within_s=WITHIN_S)
            await back(cluster, victim, "cut")
        return load

    with namespaces.network(NODES) as net, ExitStack() as stack:
        cluster = cluster_of(tmp_path, net.places)
        stack.callback(cluster.clear)
        cluster.start()
        cluster.create("cut", 1, NODES)
        clean(trio.run(scene, cluster, net))
