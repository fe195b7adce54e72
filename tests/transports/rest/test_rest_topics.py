"""Topics over REST, against a running broker."""

from pathlib import Path
from typing import Any

import pytest

from tests.transports.rest.rest_client import Served, orders, publish, run


def test_a_topic_is_made_listed_described_changed_and_removed(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            made = await client.post("/topics", json={"name": "orders", "num_partitions": 2, "retention_hours": 5})
            assert (made.status_code, made.json()) == (201, {"name": "orders", "partitions": 2, "created": True})
            assert (await client.get("/topics")).json() == {"topics": ["orders"]}
            listed = (await client.get("/topics?details=true")).json()["topics"]
            assert [topic["name"] for topic in listed] == ["orders"]
            topic = (await client.get("/topics/orders")).json()
            assert topic == listed[0]
            assert topic["partition_offsets"] == {"0": {"earliest": 0, "latest": 0}, "1": {"earliest": 0, "latest": 0}}
            assert (topic["partitions"], topic["total_messages"], topic["config"]["retention_hours"]) == (2, 0, 5)
            changed = await client.patch("/topics/orders", json={"config": {"retention_hours": 9}})
            assert changed.json()["config"]["retention_hours"] == 9
            reset = await client.patch("/topics/orders", json={"config": {"retention_hours": None}})
            assert reset.json()["config"]["retention_hours"] == 168
            assert changed.json()["id"] == topic["id"] != ""
            gone = await client.delete("/topics/orders")
            assert (gone.status_code, gone.json()) == (200, {"name": "orders", "deleted": True})
            assert (await client.get("/topics/orders")).status_code == 404
            assert (await client.post("/topics", json={"name": "orders"})).status_code == 201
            assert (await client.get("/topics/orders")).json()["id"] not in ("", topic["id"])

    run(scenario, tmp_path)


def test_every_path_is_also_served_under_v1(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            assert (await client.post("/v1/topics", json={"name": "orders"})).status_code == 201
            assert (await client.get("/v1/topics/orders")).json() == (await client.get("/topics/orders")).json()

    run(scenario, tmp_path)


def test_partitions_say_where_they_live_and_how_far_they_reach(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await orders(client)
            await publish(client, "a", "b")
            (partition,) = (await client.get("/topics/orders/partitions")).json()["partitions"]
            assert (partition["id"], partition["earliest"], partition["latest"], partition["high_watermark"]) == (
                0,
                0,
                2,
                2,
            )
            assert partition["replicas"] == partition["isr"] == [partition["leader"]]

    run(scenario, tmp_path)


@pytest.mark.parametrize(
    ("body", "status", "code", "field"),
    [
        ({}, 400, "invalid_request", "name"),
        ({"name": 5}, 400, "invalid_request", "name"),
        ({"name": "a/b"}, 400, "invalid_request", "name"),
        ({"name": "taken"}, 409, "topic_exists", "name"),
        ({"name": "t", "num_partitions": "3"}, 400, "invalid_request", "num_partitions"),
        ({"name": "t", "num_partitions": 0}, 400, "invalid_request", "num_partitions"),
        ({"name": "t", "num_partitions": -1}, 400, "invalid_request", "num_partitions"),
        ({"name": "t", "num_partitions": 1 << 80}, 400, "invalid_request", "num_partitions"),
        ({"name": "t", "retention_hours": 0}, 400, "invalid_request", "retention_hours"),
        ({"name": "t", "config": {"retention_hours": 0}}, 400, "invalid_request", "config.retention_hours"),
        ({"name": "t", "config": {"colour": "red"}}, 400, "invalid_request", "config.colour"),
        ({"name": "t", "config": {"fsync": "often"}}, 400, "invalid_request", "config.fsync"),
        ({"name": "t", "config": []}, 400, "invalid_request", "config"),
    ],
)
def test_a_topic_that_cannot_be_made_is_refused_with_the_field(
    tmp_path: Path, body: dict[str, Any], status: int, code: str, field: str
) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await client.post("/topics", json={"name": "taken"})
            refused = await client.post("/topics", json=body)
            said = refused.json()
            assert set(said) == {"error", "code", "field", "outcome"}
            assert (refused.status_code, said["code"], said["field"]) == (status, code, field)
            assert (await client.get("/topics")).json() == {"topics": ["taken"]}

    run(scenario, tmp_path)


def test_what_is_not_there_is_404_and_a_wrong_method_405_with_the_right_ones(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            for method, path in [
                ("GET", "/topics/none"), ("DELETE", "/topics/none"), ("GET", "/topics/none/partitions"),
                ("GET", "/nothing"), ("GET", "/v1/v1"), ("GET", "/topics/"), ("GET", "/topics//partitions"),
            ]:  # fmt: skip
                assert (await client.request(method, path)).status_code == 404, path
            wrong = await client.put("/topics")
            assert (wrong.status_code, wrong.headers["allow"]) == (405, "POST, GET, HEAD, OPTIONS")
            options = await client.options("/topics")
            assert (options.status_code, options.headers["allow"]) == (204, "POST, GET, HEAD, OPTIONS")

    run(scenario, tmp_path)


def test_health_says_that_all_is_well(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await orders(client)
            await publish(client, "a")
            assert (await client.get("/health")).json()["status"] == "ok"
            for path in ("/healthz", "/livez"):
                assert (await client.get(path)).json()["status"] == "pass"
            ready = (await client.get("/readyz?verbose")).json()
            assert ready["status"] == "pass"
            assert ready["broker"]["topic_count"] == 1
            assert (await client.get("/version")).json()["version"]
            stats = (await client.get("/stats")).json()
            assert (stats["topics"], stats["topic_stats"]["orders"]["messages"]) == (1, 1)
            head = await client.head("/health")
            assert (head.status_code, head.content) == (200, b"")

    run(scenario, tmp_path)


def test_a_topic_of_the_path_is_no_field_called_name(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            gone = await client.delete("/topics/none")
            changed = await client.patch("/topics/none", json={"config": {}})
            described = await client.get("/topics/none")
            assert [answer.json()["field"] for answer in (gone, changed, described)] == ["topic"] * 3

    run(scenario, tmp_path)
