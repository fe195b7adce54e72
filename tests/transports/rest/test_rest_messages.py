"""Publishing and reading over REST, against a running broker."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
import trio

from tests.transports.rest.rest_client import JSON, Served, orders, publish, run, until

PAGE = "/topics/orders/partitions/0/messages"


def test_what_is_published_is_read_with_all_it_was_given(tmp_path: Path) -> None:
    sent: list[dict[str, Any]] = [
        {"value": "hello", "key": "k", "headers": {"a": "b", "none": None}, "priority": "high"},
        {"value": "", "key": None, "headers": {}, "priority": "background"},
        {"value": None, "key": "gone", "headers": {}, "priority": "normal"},
        {"value": "//4=", "key": "AAE=", "headers": {}, "priority": "low", "encoding": "base64"},
        {"value": "é", "key": None, "headers": {"x": "/w=="}, "priority": "critical", "headers_encoding": "base64"},
    ]

    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await orders(client)
            published = await client.post("/topics/orders/messages", json={"messages": sent})
            results = published.json()["results"]
            assert published.status_code == 200
            assert sorted(result["offset"] for result in results) == [0, 1, 2, 3, 4]
            assert [result["priority"] for result in results] == [message["priority"] for message in sent]
            read = (await client.get(PAGE)).json()
            by_offset = {message.pop("offset"): message for message in read["messages"]}
            assert read["next_offset"] == 5
            for result, message in zip(results, sent, strict=True):
                found = by_offset[result["offset"]]
                assert found.pop("timestamp").endswith("Z")
                assert found == message

    run(scenario, tmp_path)


def test_one_message_gets_one_result(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await orders(client)
            for acks in ("none", "leader", "all"):
                sent = await client.post("/topics/orders/publish", json={"value": "x", "acks": acks})
                assert (sent.status_code, sent.json()["partition"], sent.json()["delayed"]) == (200, 0, False)

    run(scenario, tmp_path)


def test_messages_of_one_request_are_refused_one_by_one(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await orders(client)
            messages = [{"value": "a"}, {"value": "b", "partition": 7}, {"value": "c", "partition": 0}]
            results = (await client.post("/topics/orders/batch", json={"messages": messages})).json()["results"]
            assert [result.get("code") for result in results] == [None, "partition_not_found", None]
            assert (results[1]["partition"], results[1]["offset"]) == (7, -1)
            assert results[1]["field"] == "messages[1].partition"
            assert results[1]["error"]
            alone = await client.post("/topics/orders/publish", json=messages[1])
            assert (alone.status_code, alone.json()["code"]) == (404, "partition_not_found")

    run(scenario, tmp_path)


@pytest.mark.parametrize(
    ("path", "body", "status", "field"),
    [
        ("publish", b"{}", 400, "value"),
        ("publish", b'{"value": 1}', 400, "value"),
        ("publish", b'{"value": "x", "delay": "-3s"}', 400, "delay"),
        ("publish", b'{"value": "x", "delay": 3}', 400, "delay"),
        ("publish", b'{"value": "x", "delay": ""}', 400, "delay"),
        ("publish", b'{"value": "x", "delay": "2900001d"}', 400, "delay"),
        ("publish", b'{"value": "x", "deliverAt": "tomorrow"}', 400, "deliverAt"),
        ("publish", b'{"value": "x", "deliverAt": "10000-01-01T00:00:00Z"}', 400, "deliverAt"),
        ("publish", b'{"value": "x", "delay": "3s", "deliverAt": "2030-01-01T00:00:00Z"}', 400, "deliverAt"),
        ("publish", b'{"value": "x", "ttl": "soon"}', 400, "ttl"),
        ("publish", b'{"value": "x", "ttl": "0s"}', 400, "ttl"),
        ("publish", b'{"value": "x", "priority": "urgent"}', 400, "priority"),
        ("publish", b'{"value": "x", "acks": "most"}', 400, "acks"),
        ("publish", b'{"value": "x", "headers": {"a": 1}}', 400, "headers[...]"),
        ("publish", b'{"value": "*", "encoding": "base64"}', 400, "value"),
        ("publish", b'{"value": "", "key": "a", "encoding": "base64"}', 400, "key"),
        ("publish", b'{"value": "", "headers": {"h": "?"}, "headers_encoding": "base64"}', 400, "headers.h"),
        ("publish", b'{"value": "\\ud800"}', 400, "body"),
        ("publish", b'{"value": "\xff"}', 400, "body"),
        ("publish", b"", 400, "body"),
        ("publish", b"[" * 100_000, 400, "body"),
        ("publish", b'{"x": ' + b"[" * 100_000, 400, "x"),
        ("publish", b'{"headers": ' + b'{"a": ' * 100_000, 400, "headers[...]"),
        ("publish", b'{"value": "a", "key": null, "headers": null', 400, "body"),
        ("messages", b"[]", 400, "body"),
        ("messages", b'{"messages": []}', 400, "messages"),
        ("messages", b'{"messages": [{"value": "a"}, {"key": "b"}]}', 400, "messages[1].value"),
        ("messages", b'{"messages": [{"value": "a"}, {"value": "b", "ttl": "1x"}]}', 400, "messages[1].ttl"),
        ("messages", b'{"messages": [{"value": "a"}, {"value": "b", "delay": "x"}]}', 400, "messages[1].delay"),
        ("messages", b'{"messages": [{"value": "a", "priority": "top"}]}', 400, "messages[0].priority"),
        ("messages", b'{"messages": [{"value": "a", "partition": -1}]}', 400, "messages[0].partition"),
        ("messages", b'{"messages": [{"value": "a", "partition": 1e300}]}', 400, "messages[0].partition"),
    ],
)
def test_a_message_that_cannot_be_meant_is_refused_whole_with_the_field(
    tmp_path: Path, path: str, body: bytes, status: int, field: str
) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await orders(client)
            refused = await client.post(f"/topics/orders/{path}", content=body, headers=JSON)
            assert set(refused.json()) == {"error", "code", "field", "outcome"}
            assert (refused.status_code, refused.json()["field"]) == (status, field)
            assert (await client.get("/topics/orders")).json()["total_messages"] == 0

    run(scenario, tmp_path)


def test_pages_follow_one_another_without_a_gap(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await orders(client)
            values = [f"v{at}" for at in range(25)]
            await publish(client, *values[:10])
            await publish(client, *values[10:])
            seen: list[str] = []
            offset = 0
            while True:
                page = (await client.get(PAGE, params={"offset": offset, "limit": 4})).json()
                if not page["messages"]:
                    break
                assert [message["offset"] for message in page["messages"]] == list(range(offset, page["next_offset"]))
                seen += [message["value"] for message in page["messages"]]
                offset = page["next_offset"]
            assert (seen, offset) == (values, 25)

    run(scenario, tmp_path)


def test_times_are_positions(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await orders(client)
            await publish(client, "a")
            await trio.sleep(0.01)
            await publish(client, "b")
            first, second = (await client.get(PAGE)).json()["messages"]
            assert first["timestamp"] < second["timestamp"]
            since = (await client.get(PAGE, params={"from_time": second["timestamp"]})).json()
            until = (await client.get(PAGE, params={"to_time": second["timestamp"]})).json()
            assert [message["value"] for message in since["messages"]] == ["b"]
            assert [message["value"] for message in until["messages"]] == ["a"]
            assert until["next_offset"] == 1

    run(scenario, tmp_path)


def test_a_read_waits_for_a_message(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client, trio.open_nursery() as nursery:
            await orders(client)
            pages: list[dict[str, Any]] = []

            async def read() -> None:
                pages.append((await client.get(PAGE, params={"wait": "20s"})).json())

            nursery.start_soon(read)
            await trio.sleep(0.05)
            assert not pages
            await publish(client, "late")
            await until(lambda: bool(pages))
            assert [message["value"] for message in pages[0]["messages"]] == ["late"]
            empty = (await client.get(PAGE, params={"offset": 1, "wait": "10ms"})).json()
            assert empty == {"messages": [], "next_offset": 1}
            ahead = {"offset": "1", "wait": "10ms", "to_time": "2999-01-01T00:00:00Z"}
            assert (await client.get(PAGE, params=ahead)).json() == empty

    run(scenario, tmp_path)


@pytest.mark.parametrize(
    ("query", "status", "field"),
    [
        ("offset=-1", 400, "offset"), ("offset=x", 400, "offset"), ("offset=%C2%B2", 400, "offset"),
        ("offset=", 400, "offset"),
        ("offset=" + "9" * 5000, 400, "offset"), ("limit=0", 400, "limit"), ("limit=10001", 400, "limit"),
        ("wait=5", 400, "wait"), ("wait=61s", 400, "wait"), ("wait=" + "9" * 5000 + "d", 400, "wait"),
        ("from_time=yesterday", 400, "from_time"), ("to_time=2026-02-30T00:00:00Z", 400, "to_time"),
        ("offset=0&from_time=2026-01-01T00:00:00Z", 400, "from_time"), ("isolation=loose", 400, "isolation"),
        ("follow=maybe", 400, "follow"), ("follow=true&to_time=2026-01-01T00:00:00Z", 400, "to_time"),
        ("x=%ff", 400, "query"), ("&".join("a=b" for _ in range(200)), 400, "query"),
    ],
)  # fmt: skip
def test_a_query_that_cannot_be_meant_is_refused_with_the_field(
    tmp_path: Path, query: str, status: int, field: str
) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await orders(client)
            refused = await client.get(f"{PAGE}?{query}")
            assert (refused.status_code, refused.json()["field"]) == (status, field)

    run(scenario, tmp_path)


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/topics/none/partitions/0/messages", "topic_not_found"),
        ("/topics/orders/partitions/9/messages", "partition_not_found"),
        ("/topics/orders/partitions/9/messages?follow=true", "partition_not_found"),
        ("/topics/orders/partitions/9/messages?offset=0", "partition_not_found"),
        ("/topics/orders/partitions/0/messages?offset=77", "offset_out_of_range"),
        ("/topics/orders/partitions/0/messages?offset=77&follow=true", "offset_out_of_range"),
        ("/topics/orders/partitions/9/messages?from_time=2026-01-01T00:00:00Z", "partition_not_found"),
    ],
)
def test_reading_what_is_not_there_is_404(tmp_path: Path, path: str, code: str) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await orders(client)
            refused = await client.get(path)
            assert (refused.status_code, refused.json()["code"]) == (404, code)

    run(scenario, tmp_path)


async def lines(response: httpx.Response) -> list[str]:
    """The lines of a stream that are not empty, to its end."""
    return [line async for line in response.aiter_lines() if line]


def test_messages_are_followed_as_lines_of_json(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client, served.client() as other:
            await orders(client)
            await publish(client, "old")
            async with client.stream("GET", PAGE, params={"follow": "true", "limit": "3"}) as response:
                assert response.headers["content-type"] == "application/x-ndjson"
                await publish(other, "new", "newer")
                seen = [json.loads(line) for line in await lines(response)]
            assert [(message["offset"], message["value"]) for message in seen] == [(0, "old"), (1, "new"), (2, "newer")]

    run(scenario, tmp_path)


def test_messages_are_followed_as_events_that_a_browser_can_resume(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await orders(client)
            await publish(client, "a", "b", "c")
            headers = {"Accept": "text/event-stream"}
            async with client.stream("GET", PAGE, params={"follow": "true", "limit": "1"}, headers=headers) as response:
                assert response.headers["content-type"] == "text/event-stream"
                first, event = await lines(response)
            assert first == "id: 0"
            assert json.loads(event.removeprefix("data: "))["value"] == "a"
            headers["Last-Event-ID"] = "1"
            async with client.stream("GET", PAGE, params={"follow": "true", "limit": "1"}, headers=headers) as response:
                assert (await lines(response))[0] == "id: 2"

    run(scenario, tmp_path)


def test_a_stream_ends_when_its_topic_goes_and_says_why(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client, served.client() as other:
            await orders(client)
            async with client.stream("GET", PAGE, params={"follow": "true"}) as response:
                await other.delete("/topics/orders")
                (said,) = await lines(response)
            assert set(json.loads(said)) == {"error", "code", "field", "next_offset"}

    run(scenario, tmp_path)


def test_a_message_too_large_for_its_topic_is_refused_by_its_value(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await orders(client, config={"max_message_bytes": 2000})
            large = {"value": "x" * 3000}
            alone = await client.post("/topics/orders/publish", json=large)
            assert (alone.status_code, alone.json()["code"], alone.json()["field"]) == (413, "too_large", "value")
            sent = await client.post("/topics/orders/messages", json={"messages": [{"value": "a"}, large]})
            (well, refused) = sent.json()["results"]
            assert (well["offset"], refused["code"], refused["field"]) == (0, "too_large", "messages[1].value")

    run(scenario, tmp_path)
