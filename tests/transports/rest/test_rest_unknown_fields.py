"""What a broker does with fields that it does not know, and with fields that are null."""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from goqueue.transports.rest.openapi import document
from goqueue.transports.rest.routes import ROUTES
from goqueue.transports.rest.shapes import relaxed
from tests.transports.rest.rest_client import Served, orders, publish, run
from tests.transports.rest.test_rest_bounds import LEAST, NAMES

SCHEMAS: dict[str, Any] = msgspec.json.decode(document())["components"]["schemas"]
LENIENT = {"x-lenient": "1"}


@pytest.mark.parametrize(
    ("method", "path", "body", "field", "hint"),
    [
        ("POST", "/topics", {"name": "a", "num_partition": 3}, "num_partition", "did you mean num_partitions?"),
        ("POST", "/topics/orders/publish", {"valu": "a"}, "valu", "did you mean value?"),
        ("POST", "/topics/orders/publish", {"value": "a", "colour": "red"}, "colour", "known are value, key,"),
        ("POST", "/topics/orders/messages", {"messages": [{"value": "a"}, {"value": "b", "deliver_at": "x"}]},
         "messages[1].deliver_at", "did you mean deliverAt?"),
        ("POST", "/groups/g/join", {"client_id": "a", "topic": ["orders"]}, "topic", "did you mean topics?"),
        ("POST", "/admin/reassignment", {"partitions": [{"topic": "a", "partition": 0, "newReplicas": ["n"]}]},
         "partitions[0].newReplicas", "did you mean new_replicas?"),
        ("GET", "/topics?detail=true", None, "detail", "did you mean details?"),
        ("GET", "/topics/orders/partitions/0/messages?ofset=1", None, "ofset", "did you mean offset?"),
        ("GET", "/version?x=1", None, "x", "there are none here"),
        ("DELETE", "/topics/orders?force=true", None, "force", "there are none here"),
    ],
)  # fmt: skip
def test_an_unknown_field_is_refused_by_name_with_the_nearest_known_one(
    tmp_path: Path, method: str, path: str, body: dict[str, Any] | None, field: str, hint: str
) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await orders(client)
            refused = await client.request(method, path, json=body)
            said = refused.json()
            assert (refused.status_code, said["code"], said["field"]) == (400, "unknown_field", field)
            assert hint in said["error"]
            lenient = await client.request(method, path, json=body, headers=LENIENT)
            assert "unknown_field" not in lenient.text

    run(scenario, tmp_path)


def test_a_lenient_request_does_what_the_fields_say_that_are_known(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await orders(client)
            messages = [{"value": "a", "x": {"y": [1]}}, {"value": "b", "headers": {"x": "kept"}, "z": None}]
            sent = await client.post("/topics/orders/messages", json={"messages": messages, "v": 1}, headers=LENIENT)
            assert sent.status_code == 200
            read = (await client.get("/topics/orders/partitions/0/messages?limit=5&colour=red", headers=LENIENT)).json()
            assert [(each["value"], each["headers"]) for each in read["messages"]] == [("a", {}), ("b", {"x": "kept"})]
            # What is wrong with a field that is known is wrong all the same.
            refused = await client.post("/topics/orders/publish", json={"value": 1, "x": 2}, headers=LENIENT)
            assert (refused.status_code, refused.json()["field"]) == (400, "value")

    run(scenario, tmp_path)


def optional_fields() -> Iterator[tuple[type[Any], str]]:
    """Each optional field of each kind of body."""
    for kind in dict.fromkeys(route.body for route in ROUTES if route.body is not None):
        schema = SCHEMAS[kind.__name__]
        yield from ((kind, name) for name in schema["properties"] if name not in schema.get("required", ()))


def test_null_means_absent_in_every_optional_field_and_the_document_says_so(tmp_path: Path) -> None:
    routes = {route.body: route for route in ROUTES if route.body is not None}
    count = itertools.count()

    async def scenario(served: Served) -> None:
        async with served.client() as client:
            for kind, name in optional_fields():
                await client.post("/topics", json={"name": "orders", "num_partitions": 1})
                route = routes[kind]
                body = dict(LEAST[kind.__name__])
                if kind.__name__ == "TopicDraft":
                    body["name"] = f"t{next(count)}"
                body.pop(name, None)
                # Partitions are added once, so that asking for them again is another matter.
                names = {**NAMES, "topic": "none"} if kind.__name__ == "PartitionsDraft" else NAMES
                path = route.path.format(**names)
                left_out = await client.request(route.method, path, json=body)
                if kind.__name__ == "TopicDraft":
                    body["name"] = f"t{next(count)}"
                as_null = await client.request(route.method, path, json={**body, name: None})
                said = left_out.json(), as_null.json()
                assert (left_out.status_code, said[0].get("field")) == (as_null.status_code, said[1].get("field")), name
                assert {"type": "null"} in SCHEMAS[kind.__name__]["properties"][name]["anyOf"], name

    run(scenario, tmp_path)


def test_null_in_a_message_of_many_is_absent_too(tmp_path: Path) -> None:
    nulls = {"key": None, "partition": None, "headers": None, "priority": None, "encoding": None, "delay": None}

    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await orders(client)
            sent = await client.post(
                "/topics/orders/messages", json={"messages": [{"value": "a", **nulls}], "acks": None}
            )
            assert [result["priority"] for result in sent.json()["results"]] == ["normal"]
            refused = await client.post("/topics/orders/publish", json={"priority": None, "value": "a", "hedaers": {}})
            assert refused.json()["field"] == "hedaers"

    run(scenario, tmp_path)


def test_settings_and_headers_keep_their_nulls() -> None:
    (kind,) = {route.body for route in ROUTES if route.body is not None and route.body.__name__ == "OneMessageDraft"}
    said = {"value": None, "headers": {"a": None}, "key": None, "encoding": None}
    assert relaxed(said, kind, is_lenient=False) == {"value": None, "headers": {"a": None}, "key": None}


def test_partitions_is_another_name_of_num_partitions(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            for at, body in enumerate(
                [{"partitions": 3}, {"num_partitions": 3}, {"partitions": 3, "num_partitions": 3}]
            ):
                made = await client.post("/topics", json={"name": f"t{at}", **body})
                assert made.json() == {"name": f"t{at}", "partitions": 3, "created": True}
            refused = await client.post("/topics", json={"name": "t", "partitions": 3, "num_partitions": 4})
            assert (refused.status_code, refused.json()["field"]) == (400, "partitions")

    run(scenario, tmp_path)


def test_a_topic_that_is_there_is_a_conflict_unless_the_request_says_that_it_may_be(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await orders(client)
            await publish(client, "a")
            again = {"name": "orders", "num_partitions": 5, "config": {"retention_hours": 1}}
            assert (await client.post("/topics", json=again)).status_code == 409
            assert (await client.post("/topics", json={**again, "if_not_exists": False})).status_code == 409
            there = await client.post("/topics", json={**again, "if_not_exists": True})
            assert (there.status_code, there.json()) == (200, {"name": "orders", "partitions": 1, "created": False})
            made = await client.post("/topics", json={"name": "new", "num_partitions": 2, "if_not_exists": True})
            assert (made.status_code, made.json()["created"]) == (201, True)
            wrong = await client.post("/topics", json={"name": "orders", "num_partitions": 0, "if_not_exists": True})
            assert wrong.status_code == 400
            assert (await client.get("/topics/orders")).json()["total_messages"] == 1

    run(scenario, tmp_path)


def test_a_join_says_its_mode_and_messages_of_a_shared_group_have_receipts(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await orders(client)
            await publish(client, "a")
            asked = {"client_id": "a", "topics": ["orders"]}
            for group, more, mode in (("g", {}, "exclusive"), ("h", {"mode": "shared"}, "shared")):
                joined = (await client.post(f"/groups/{group}/join", json={**asked, **more})).json()
                assert joined["mode"] == mode
                query = {"member_id": joined["member_id"], "timeout": "5s"}
                (message,) = (await client.get(f"/groups/{group}/poll", params=query)).json()["messages"]
                assert ("receipt_handle" in message) is (mode == "shared")
            # Who joins a shared group without a word about it is told that it is one.
            joined = (await client.post("/groups/h/join", json=asked)).json()
            assert joined["mode"] == "shared"

    run(scenario, tmp_path)
