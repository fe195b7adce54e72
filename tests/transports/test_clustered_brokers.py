"""Brokers that form a cluster over real sockets: what one takes all have, and what stops is taken over."""

from pathlib import Path

import pytest
import trio
from attrs import evolve

from goqueue.core.broker.node_options import NodeOptions
from goqueue.storage.files import FileDisk
from goqueue.storage.identity import Identity, read_identity
from goqueue.storage.layout import FormatError
from goqueue.transports.runtime import Runtime
from tests.transports.clustered import Cluster, Member, clustered
from tests.transports.serving import run, until


async def publish(cluster: Cluster, node_id: str, *values: str) -> None:
    """Publish by way of a broker, which has to take it."""
    async with cluster[node_id].client() as client:
        body = {"messages": [{"value": value, "key": "k"} for value in values]}
        answered = await client.post("/topics/orders/messages", json=body)
        assert answered.status_code == 200, answered.text
        assert all("error" not in each for each in answered.json()["results"]), answered.text


async def values(cluster: Cluster, node_id: str) -> list[str]:
    """What a broker reads of the topic."""
    async with cluster[node_id].client() as client:
        found = await client.get("/topics/orders/partitions/0/messages", params={"limit": 1000})
        assert found.status_code == 200, found.text
        return [message["value"] for message in found.json()["messages"]]


async def create(cluster: Cluster, node_id: str, replicas: int) -> None:
    """Make the topic of a test, with all replicas in sync."""
    async with cluster[node_id].client() as client:
        body = {"name": "orders", "num_partitions": 1, "replication_factor": replicas}
        assert (await client.post("/topics", json=body)).status_code == 201
    await in_sync(cluster, node_id, replicas)


async def in_sync(cluster: Cluster, node_id: str, replicas: int) -> str:
    """Wait until so many replicas are; who leads."""

    def is_so(found: dict[str, list[dict[str, list[str]]]]) -> bool:
        [partition] = found["partitions"]
        return bool(partition["leader"]) and len(partition["isr"]) == replicas

    found = await cluster.until(node_id, "/topics/orders/partitions", is_so)
    return str(found["partitions"][0]["leader"])


def test_what_one_broker_takes_any_other_gives(tmp_path: Path) -> None:
    async def test() -> None:
        async with clustered(tmp_path, "a", "b", "c") as cluster:
            await create(cluster, "a", 3)
            for node_id in "abc":
                await publish(cluster, node_id, node_id)
            for node_id in "abc":
                assert await values(cluster, node_id) == ["a", "b", "c"]

    run(test)


def test_a_broker_that_stops_hands_over_and_comes_back_into_sync(tmp_path: Path) -> None:
    async def test() -> None:
        async with clustered(tmp_path, "a", "b", "c") as cluster:
            await create(cluster, "a", 3)
            await publish(cluster, "a", "one")
            leader = await in_sync(cluster, "a", 3)
            other = next(node_id for node_id in "abc" if node_id != leader)
            await cluster[leader].stop()
            assert await in_sync(cluster, other, 2) != leader
            await publish(cluster, other, "two")
            await cluster.start(cluster[leader])
            await in_sync(cluster, other, 3)
            assert await values(cluster, leader) == ["one", "two"]

    run(test)


def test_one_broker_grows_into_three_and_keeps_what_it_has(tmp_path: Path) -> None:
    async def test() -> None:
        async with clustered(tmp_path, "a") as cluster:
            await create(cluster, "a", 1)
            await publish(cluster, "a", "alone")
            for node_id in "bc":
                # By an address alone: its name comes with its hello.
                known = [evolve(cluster["a"].place, node_id="")]
                await cluster.start(Member(node_id, tmp_path / node_id, [], known))
            await cluster.until("c", "/admin/cluster", lambda found: len(found["voters"]) == 3)
            async with cluster["b"].client() as client:
                moves = {"partitions": [{"topic": "orders", "partition": 0, "new_replicas": ["b", "a", "c"]}]}
                began = await client.post("/admin/reassignment", json=moves)
                assert began.status_code == 202, began.text
            await cluster.until(
                "b", f"/admin/reassignment/{began.json()['id']}", lambda left: not left["reassignments"]
            )
            await in_sync(cluster, "c", 3)
            await publish(cluster, "c", "together")
            assert await values(cluster, "b") == ["alone", "together"]

    run(test)


def test_the_folder_of_a_member_says_which_node_and_cluster_it_is_of(tmp_path: Path) -> None:
    async def test() -> None:
        async with clustered(tmp_path, "a", "b") as cluster:
            found = await cluster.until("a", "/cluster", lambda found: found["cluster_id"])

            def identities() -> list[Identity | None]:
                return [read_identity(FileDisk(str(tmp_path / node_id))) for node_id in "ab"]

            await until(lambda: all(each is not None and each.cluster_id for each in identities()))
            assert [each.node_id for each in identities() if each] == ["a", "b"]
            assert {each.cluster_id for each in identities() if each} == {found["cluster_id"]}

    run(test)


def test_a_node_of_another_cluster_is_turned_away(tmp_path: Path) -> None:
    async def test() -> None:
        async with clustered(tmp_path / "one", "a") as one, clustered(tmp_path / "other", "b") as other:
            for cluster, node_id in ((one, "a"), (other, "b")):
                await cluster.until(node_id, "/cluster", lambda found: found["cluster_id"])
            await other["b"].stop()
            other["b"].known = [one["a"].place]
            await other.start(other["b"])
            await until(lambda: bool(one["a"].said and other["b"].said))
            for member in (one["a"], other["b"]):
                assert any("belongs to cluster" in sentence for sentence in member.said), member.said

    run(test)


def test_a_folder_of_another_node_or_of_a_cluster_is_refused(tmp_path: Path) -> None:
    async def test() -> None:
        async with clustered(tmp_path, "a") as cluster:
            await cluster.until("a", "/cluster", lambda found: found["cluster_id"])
            await cluster["a"].stop()
            stranger = Member("x", tmp_path / "a", ["x"], [])
            with pytest.raises(ExceptionGroup) as other_node:
                await cluster.start(stranger)
            assert other_node.group_contains(FormatError, match="belongs to node a, and this node is x")
            alone = Runtime(FileDisk(str(tmp_path / "a")), NodeOptions("a"))
            with pytest.raises(FormatError, match="and a was told of no cluster"):
                await alone.run()

    run(test)


def test_a_broker_whose_peers_are_not_there_serves_and_says_so(tmp_path: Path) -> None:
    async def test() -> None:
        async with trio.open_nursery() as nursery:
            lonely = Member("a", tmp_path, ["a", "b", "c"], [])
            cluster = Cluster({}, nursery)
            await cluster.start(lonely)
            async with lonely.client() as client:
                assert (await client.post("/topics", json={"name": "orders"})).status_code == 503
            nursery.cancel_scope.cancel()

    run(test)
