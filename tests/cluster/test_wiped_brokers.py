"""Real brokers that lose their data folders: nothing that was agreed or acknowledged is lost, and they come back."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio

from goqueue.cli.bench.cluster_load import Load, Pace, loaded
from goqueue.cli.bench.local_cluster import HTTP_PORT, LocalBroker, LocalCluster, running_cluster
from tests.cluster.test_three_brokers import clean

NODES = 3
PACE = Pace(streams=2, interval_s=0.02)


@pytest.fixture
def three(tmp_path: Path) -> Iterator[LocalCluster]:
    """Three brokers that are ready."""
    with running_cluster(tmp_path, NODES) as cluster:
        yield cluster


def wipe(broker: LocalBroker) -> None:
    """End a broker, and remove its data folder."""
    broker.kill()
    shutil.rmtree(broker.folder / "data")


def operate(broker: LocalBroker, *words: str) -> str:
    """What `goqueue cluster` says to an operator who asks a broker."""
    command = [sys.executable, "-m", "goqueue", "cluster", *words, "--server", f"http://{broker.host}:{HTTP_PORT}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def until_said(cluster: LocalCluster, broker: LocalBroker, said: str, *words: str) -> None:
    """Let an operator ask until the answer holds something."""
    cluster.until(f"{broker.node_id}: {said}", lambda: True if said in operate(broker, *words) else None)


def voters(broker: LocalBroker) -> list[str]:
    """Who votes, with the disk that it has, as a broker knows it."""
    return [each["node_id"] for each in broker.ask("GET", "/cluster")[1]["nodes"] if each["is_voter"]]


def topics(broker: LocalBroker) -> set[str]:
    """The topics that a broker knows."""
    status, answer = broker.ask("GET", "/topics")
    assert status == 200, answer
    return set(answer["topics"])


def test_a_voter_that_lost_its_folder_elects_nobody_who_lacks_what_was_agreed(three: LocalCluster) -> None:
    one, two, three_ = three.brokers.values()
    three_.kill()
    until_said(three, one, "node n3 is dead", "health")
    for number in range(3):
        three.create(f"agreed-{number}", 4, 2)
    wipe(two)
    one.kill()
    three_.start()
    two.start()
    # With n3 it would be a majority, if it were the voter that it was.
    until_said(three, two, "waits until all founders are there", "health")
    assert two.ask("GET", "/readyz")[0] == 503
    one.start()
    until_said(three, two, "goqueue cluster readmit n2", "health")
    assert two.ask("GET", "/readyz")[0] == 503
    wanted = {f"agreed-{number}" for number in range(3)}
    three.until("n3 knows the topics", lambda: three_.ask("GET", "/topics")[0] == 200 or None)
    assert topics(three_) >= wanted
    # Where n2 was the last in sync, which it is when n1 registered before n2 was known to be dead, n1 leads again.
    until_said(three, one, "may come back", "readmit", "n2", "--yes", "--accept-loss")
    two.await_ready()
    for name in wanted:
        three.await_in_sync(name, 2)
    three.until("three vote", lambda: voters(one) == ["n1", "n2", "n3"] or None)
    until_said(three, two, "ok: 3 of 3", "health")
    assert topics(two) >= wanted


def test_a_broker_that_lost_its_folder_is_readmitted_and_no_client_is_told(three: LocalCluster) -> None:
    async def scene() -> Load:
        async with loaded(three.addresses, "wiped", PACE) as load:
            victim = await trio.to_thread.run_sync(three.leader, "wiped")
            other = three.others(victim.node_id)[0]
            wipe(victim)
            victim.start()
            await trio.to_thread.run_sync(until_said, three, victim, "cluster readmit", "health")
            await trio.to_thread.run_sync(until_said, three, other, "may come", "readmit", victim.node_id, "--yes")
            await trio.to_thread.run_sync(victim.await_ready)
            await trio.to_thread.run_sync(three.await_in_sync, "wiped", NODES)
        return load

    three.create("wiped", 2, NODES)
    clean(trio.run(scene))


def test_a_broker_that_lost_its_folder_may_be_forgotten_and_join_under_its_id(three: LocalCluster) -> None:
    three.create("kept", 2, NODES)
    controller = three.controller()
    victim, other = three.others(controller.node_id)
    wipe(victim)
    until_said(three, other, "no part of the cluster any more", "forget", victim.node_id, "--yes")
    three.until("two vote", lambda: len(voters(other)) == 2 or None)
    victim.start()
    victim.await_ready()
    three.until("three vote", lambda: voters(other) == ["n1", "n2", "n3"] or None)
    assert "kept" in topics(victim)
