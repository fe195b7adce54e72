"""Three real brokers that end at the same moment, with a topic that never syncs: what they know of it afterwards."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio

from goqueue.cli.bench.cluster_history import violations
from goqueue.cli.bench.cluster_load import Load, Pace, loaded
from goqueue.cli.bench.local_cluster import LocalBroker, LocalCluster, running_cluster
from goqueue.storage.lives import LIVES_FILE

NODES = 3
PACE = Pace(streams=2, interval_s=0.02)
WITHIN_S = 90.0


@pytest.fixture
def three(tmp_path: Path) -> Iterator[LocalCluster]:
    """Three brokers that are ready."""
    with running_cluster(tmp_path, NODES) as cluster:
        yield cluster


def lives_of(broker: LocalBroker) -> Path:
    """Where a broker says what became of its processes."""
    return broker.folder / "data" / LIVES_FILE


def test_brokers_that_are_killed_at_once_lead_again_with_all_that_was_acknowledged(three: LocalCluster) -> None:
    async def scene() -> Load:
        async with loaded(three.addresses, "killed", PACE) as load:
            await load.until_acknowledged(time.monotonic_ns(), 0, within_s=WITHIN_S)
            for broker in three.brokers.values():
                broker.kill()
            for broker in three.brokers.values():
                broker.start()
            await load.until_acknowledged(time.monotonic_ns(), 0, within_s=WITHIN_S)
            await trio.to_thread.run_sync(three.await_in_sync, "killed", NODES)
        return load

    three.create("killed", 1, NODES, fsync="none")
    load = trio.run(scene)
    assert violations(load.history) == []
    for broker in three.brokers.values():
        found = json.loads(lives_of(broker).read_text())
        assert (len(found["lives"]), found["whole"]) == (2, found["lives"]), "the kernel has lived on"


def test_brokers_that_believe_to_have_lost_their_power_compare_their_logs_and_go_on(three: LocalCluster) -> None:
    async def scene() -> Load:
        async with loaded(three.addresses, "dark", PACE) as load:
            await load.until_acknowledged(time.monotonic_ns(), 0, within_s=WITHIN_S)
            for broker in three.brokers.values():
                broker.kill()
            for broker in three.brokers.values():
                path = lives_of(broker)
                path.write_text(json.dumps({**json.loads(path.read_text()), "boot_id": "another"}))
                broker.start()
            await load.until_acknowledged(time.monotonic_ns(), 0, within_s=WITHIN_S)
            await trio.to_thread.run_sync(three.await_in_sync, "dark", NODES)
        return load

    three.create("dark", 1, NODES, fsync="none")
    load = trio.run(scene)
    assert violations(load.history) == []
    for broker in three.brokers.values():
        assert len(json.loads(lives_of(broker).read_text())["whole"]) == 1


def test_a_broker_that_is_stopped_says_that_it_ended_in_order_until_it_begins_again(three: LocalCluster) -> None:
    broker = next(iter(three.brokers.values()))
    assert not json.loads(lives_of(broker).read_text())["has_ended_in_order"]
    assert broker.stop() == 0
    assert json.loads(lives_of(broker).read_text())["has_ended_in_order"]
    broker.start()
    broker.await_ready()
    assert not json.loads(lives_of(broker).read_text())["has_ended_in_order"]
