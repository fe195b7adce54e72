"""The cluster over REST: of a broker alone, of three, and what is refused."""

from pathlib import Path

import httpx
import pytest

from tests.transports.clustered import Cluster, clustered
from tests.transports.rest.rest_client import Served, orders
from tests.transports.rest.rest_client import run as run_alone
from tests.transports.serving import run


async def made(cluster: Cluster, partitions: int = 1, replicas: int = 2) -> None:
    """A topic with all replicas in sync."""
    async with cluster["a"].client() as client:
        body = {"name": "orders", "num_partitions": partitions, "replication_factor": replicas}
        answered = await client.post("/topics", json=body)
        assert answered.status_code == 201, answered.text
    await cluster.until(
        "a",
        "/admin/topics/orders/scaling-status",
        lambda found: found["is_complete"] and found["partition_count"] == partitions,
    )


def test_a_broker_alone_is_a_cluster_of_one(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await orders(client)
            found = (await client.get("/admin/cluster")).json()
            [node] = found["nodes"]
            assert found["controller"] == node["node_id"] == "node-1"
            assert (found["voters"], node["is_controller"], node["healthy"]) == (["node-1"], True, True)
            assert (found["topics"], found["under_replicated_count"], found["offline_count"]) == (1, 0, 0)
            assert (await client.get("/cluster")).json() == found
            health = await client.get("/admin/health")
            assert (health.status_code, health.json()["status"], health.json()["problems"]) == (200, "ok", [])

    run_alone(scenario, tmp_path)


def test_a_topic_of_a_broker_alone_gets_partitions(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await orders(client)
            added = await client.post("/admin/topics/orders/partitions", json={"count": 3})
            assert added.status_code == 200, added.text
            assert added.json() == {
                "success": True, "topic_name": "orders", "old_partition_count": 1, "new_partition_count": 3,
                "partitions_added": [1, 2],
            }  # fmt: skip
            assert (await client.get("/topics/orders")).json()["partitions"] == 3
            fewer = await client.post("/admin/topics/orders/partitions", json={"count": 2})
            assert (fewer.status_code, fewer.json()["code"]) == (400, "invalid_request")

    run_alone(scenario, tmp_path)


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/admin/nodes/node-2/drain", None),
        ("DELETE", "/admin/nodes/node-2/drain", None),
        ("DELETE", "/admin/nodes/node-2", None),
        ("POST", "/admin/nodes/node-2/readmit", None),
        ("POST", "/admin/elections", {}),
        ("POST", "/admin/reassignment", {"partitions": [{"topic": "t", "partition": 0, "new_replicas": ["b"]}]}),
        ("DELETE", "/admin/reassignment/orders-0", None),
    ],
)
def test_a_broker_alone_says_that_there_is_nobody_else(method: str, path: str, body: object, tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            refused = await client.request(method, path, json=body)
            assert refused.status_code in (400, 404, 409), refused.text
            assert refused.json()["error"]

    run_alone(scenario, tmp_path)


@pytest.mark.parametrize(
    ("method", "path", "body", "field"),
    [
        ("POST", "/admin/topics/orders/partitions", {}, "count"),
        ("POST", "/admin/topics/orders/partitions", {"count": 2, "replica_assignments": {"1": ["a"]}},
         "replica_assignments"),
        ("POST", "/admin/reassignment", {"partitions": []}, "partitions"),
        ("POST", "/admin/reassignment", {"partitions": [{"topic": "orders", "partition": 0, "new_replicas": []}]},
         "partitions[0].new_replicas"),
        ("POST", "/admin/reassignment",
         {"partitions": [{"topic": "orders", "partition": 0, "new_replicas": ["a"]}], "throttle_bytes_per_sec": 5},
         "throttle_bytes_per_sec"),
        ("GET", "/admin/reassignment/orders", None, "id"),
        ("DELETE", "/admin/reassignment/orders-x", None, "id"),
        ("POST", "/admin/elections", {"partition": 3}, "topic"),
        ("POST", "/admin/elections", {"topic": "orders", "partition": 0, "node": "a"}, "node"),
        ("DELETE", "/admin/nodes/a?accept_loss=maybe", None, "accept_loss"),
        ("POST", "/admin/nodes/a/readmit?accept_loss=maybe", None, "accept_loss"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(method: str, path: str, body: object, field: str, tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await orders(client)
            refused = await client.request(method, path, json=body)
            assert (refused.status_code, refused.json()["field"]) == (400, field), refused.text

    run_alone(scenario, tmp_path)


def test_nodes_say_what_hangs_on_them_whichever_is_asked(tmp_path: Path) -> None:
    async def test() -> None:
        async with clustered(tmp_path, "a", "b") as cluster:
            await made(cluster, partitions=2)
            for asked in "ab":
                found = await cluster.until(asked, "/cluster", lambda found: found["partitions"] >= 2)
                nodes = {node["node_id"]: node for node in found["nodes"]}
                assert set(nodes) == {"a", "b"}
                assert [node["replicas"] for node in nodes.values()] == [2, 2]
                assert sum(node["leaders"] for node in nodes.values()) == 2
                assert nodes["a"]["internal"] == cluster["a"].place.place
                assert found["controller"] in nodes
                async with cluster[asked].client() as client:
                    assert (await client.get("/admin/health")).json()["status"] == "ok"

    run(test)


def test_a_drained_node_leads_nothing_until_it_may_again(tmp_path: Path) -> None:
    async def test() -> None:
        async with clustered(tmp_path, "a", "b") as cluster:
            await made(cluster, partitions=4)
            async with cluster["a"].client() as client:
                drained = await client.post("/admin/nodes/b/drain")
                assert (drained.status_code, drained.json()) == (
                    200, {"node_id": "b", "draining": True, "leaders_left": 0},
                )  # fmt: skip
                found = (await client.get("/topics/orders/partitions")).json()["partitions"]
                assert {each["leader"] for each in found} == {"a"}
                assert {len(each["replicas"]) for each in found} == {2}
                assert (await client.delete("/admin/nodes/b/drain")).json()["draining"] is False
                elected = await client.post("/admin/elections", json={"topic": "orders"})
                assert (elected.status_code, elected.json()) == (200, {"left": 0, "leader": ""})
            await cluster.until(
                "a",
                "/topics/orders/partitions",
                lambda found: {each["leader"] for each in found["partitions"]} == {"a", "b"},
            )

    run(test)


def test_a_partition_moves_to_another_node_and_is_seen_on_its_way(tmp_path: Path) -> None:
    async def test() -> None:
        async with clustered(tmp_path, "a", "b", "c") as cluster:
            await made(cluster)
            async with cluster["b"].client() as client:
                [before] = (await client.get("/topics/orders/partitions")).json()["partitions"]
                [spare] = {"a", "b", "c"} - set(before["replicas"])
                move = {"topic": "orders", "partition": 0, "new_replicas": [spare, before["replicas"][0]]}
                wrong = {**move, "old_replicas": [spare]}
                refused = await client.post("/admin/reassignment", json={"partitions": [wrong]})
                assert (refused.status_code, refused.json()["field"]) == (409, "partitions[0].old_replicas")
                begun = await client.post("/admin/reassignment", json={"partitions": [move]})
                assert (begun.status_code, begun.json()["id"]) == (202, "orders-0")
            await cluster.until("a", "/admin/reassignment/orders-0", lambda found: not found["reassignments"])
            # Whoever leads goes on leading as long as it is one of them; the first leads when that is asked for.
            async with cluster["b"].client() as client:
                asked = await client.post("/admin/elections", json={})
                assert asked.status_code == 200
            found = await cluster.until(
                "c", "/topics/orders/partitions", lambda found: found["partitions"][0]["leader"] == spare
            )
            assert found["partitions"][0]["replicas"] == move["new_replicas"]

    run(test)


def test_partitions_are_added_through_any_node(tmp_path: Path) -> None:
    async def test() -> None:
        async with clustered(tmp_path, "a", "b") as cluster:
            await made(cluster)
            async with cluster["b"].client() as client:
                added = await client.post("/admin/topics/orders/partitions", json={"count": 3})
                assert added.json()["partitions_added"] == [1, 2]
            found = await cluster.until(
                "a", "/admin/topics/orders/scaling-status", lambda found: found["partition_count"] == 3
            )
            assert found["topic_name"] == "orders"

    run(test)


def test_a_node_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    async def test() -> None:
        async with clustered(tmp_path, "a", "b") as cluster:
            async with cluster["b"].client() as client:
                asked: list[httpx.Response] = [
                    await client.post("/admin/nodes/nobody/drain"),
                    await client.delete("/admin/nodes/nobody"),
                ]
            assert [(each.status_code, each.json()["code"]) for each in asked] == [(404, "node_not_found")] * 2

    run(test)
