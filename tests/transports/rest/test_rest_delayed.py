"""Delayed messages over REST, against a running broker."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import trio

from goqueue.core.cluster.durations import parse_duration_ms
from tests.transports.rest.group_client import Body, refused, topic
from tests.transports.rest.rest_client import Served, run
from tests.transports.rest.work_client import got, got_until, publish, values

PAGE = "/topics/orders/partitions/0/messages"
LATER = "/topics/orders/delayed"


def place(message: Body) -> tuple[int, int]:
    """Where a delayed message is."""
    return message["partition"], message["offset"]


def test_a_message_is_delivered_when_it_is_due_and_no_earlier(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await topic(client, partitions=1)
            (result,) = await publish(
                client, {"value": "x", "key": "k", "headers": {"a": "b"}, "priority": "high", "delay": "2s"}
            )
            assert result["delayed"]
            assert (await got(client, PAGE))["messages"] == []
            assert (await got(client, LATER))["count"] == 1
            (message,) = (await got(client, PAGE, wait="20s"))["messages"]
            assert (message["value"], message["key"], message["headers"]) == ("x", "k", {"a": "b"})
            assert (message["priority"], message["timestamp"]) == ("high", result["deliverAt"])
            assert datetime.now(UTC) >= datetime.fromisoformat(result["deliverAt"])
            said = await got_until(client, "/delay/stats", "pending_count", 0)
            assert (said["delivered_count"], said["cancelled_count"]) == (1, 0)
            # Up to when it was stored, some of the span is over.
            assert 0 < parse_duration_ms(said["avg_delay"]) <= 2_000
            assert (await got(client, LATER)) == {"messages": [], "count": 0}
            gone = await refused(client.get(f"{LATER}/{result['offset']}"))
            assert gone[:2] == (404, "delayed_not_found")

    run(scenario, tmp_path)


def test_what_is_due_already_is_delivered_at_once(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await topic(client, partitions=1)
            past = (datetime.now(UTC) - timedelta(days=1)).isoformat()
            results = await publish(
                client,
                {"value": "now", "delay": "0s"}, {"value": "past", "deliverAt": past},
                {"value": "long ago", "deliverAt": "1960-01-01T00:00:00Z"},
            )  # fmt: skip
            assert [(result["delayed"], "deliverAt" in result) for result in results] == [(False, False)] * 3
            assert sorted(values((await got(client, PAGE))["messages"])) == ["long ago", "now", "past"]

    run(scenario, tmp_path)


def test_delayed_messages_are_listed_by_when_they_are_due_page_by_page(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await topic(client, partitions=2)
            drafts: list[Body] = [
                {"value": str(at), "delay": f"{at}h", "partition": at % 2, "priority": "low"} for at in (5, 2, 4, 1, 3)
            ]
            results = await publish(client, *drafts)
            by_due = [place(result) for result in sorted(results, key=lambda result: str(result["deliverAt"]))]
            page = await got(client, LATER, limit=2)
            found: list[Body] = page["messages"]
            while "next" in page:
                assert page["count"] == 5
                page = await got(client, LATER, limit=2, after=page["next"])
                found += page["messages"]
            assert [place(message) for message in found] == by_due
            assert found[0] == {
                "topic": "orders", "partition": 1, "offset": found[0]["offset"], "deliver_at": results[3]["deliverAt"],
                "priority": "low",
            }  # fmt: skip
            said = await got(client, "/delay/stats")
            assert (said["pending_count"], said["pending_by_topic"]) == (5, {"orders": 5})

    run(scenario, tmp_path)


def test_a_delayed_message_is_looked_at_with_what_is_in_it(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await topic(client, partitions=2)
            draft = {"value": "//4=", "key": "AAE=", "encoding": "base64", "headers": {"a": "b"}, "partition": 1}
            far = "2999-01-01T00:00:00.000Z"
            (result,) = await publish(client, {**draft, "deliverAt": far})
            assert result["deliverAt"] == far
            expected = {
                "topic": "orders", "partition": 1, "offset": result["offset"], "deliver_at": far, "priority": "normal",
                "value": "//4=", "key": "AAE=", "encoding": "base64", "headers": {"a": "b"},
            }  # fmt: skip
            assert await got(client, f"{LATER}/{result['offset']}", partition=1) == expected
            assert await got(client, f"{LATER}/1/{result['offset']}") == expected
            for path in (f"{LATER}/0/{result['offset']}", f"{LATER}/1/99", "/topics/none/delayed/0/0"):
                assert (await client.get(path)).status_code == 404, path

    run(scenario, tmp_path)


def test_a_delayed_message_is_cancelled_once(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await topic(client, partitions=1)
            (result,) = await publish(client, {"value": "x", "delay": "1h"})
            path = f"{LATER}/0/{result['offset']}"
            cancelled = await client.delete(path)
            assert cancelled.json() == {
                "topic": "orders", "partition": 0, "offset": result["offset"], "cancelled": True,
            }  # fmt: skip
            for again in (client.delete(path), client.get(path), client.patch(path, json={"delay": "1s"})):
                assert (await refused(again))[:2] == (404, "delayed_not_found")
            said = await got(client, "/delay/stats")
            assert (said["pending_count"], said["cancelled_count"]) == (0, 1)

    run(scenario, tmp_path)


def test_a_delayed_message_is_delivered_at_another_time(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await topic(client, partitions=1)
            one, two = await publish(client, {"value": "x", "delay": "1h"}, {"value": "y", "delay": "1h"})
            later = await client.post(f"{LATER}/0/{one['offset']}", json={"deliverAt": "2999-01-01T00:00:00Z"})
            assert (later.status_code, later.json()["deliver_at"]) == (200, "2999-01-01T00:00:00.000Z")
            await client.patch(f"{LATER}/0/{two['offset']}", json={"delay": "10ms"})
            assert values((await got(client, PAGE, wait="20s"))["messages"]) == ["y"]
            said = await got_until(client, "/delay/stats", "pending_count", 1)
            assert said["rescheduled_count"] == 2

    run(scenario, tmp_path)


def test_delayed_messages_outlive_the_broker(tmp_path: Path) -> None:
    due: list[str] = []

    async def before(served: Served) -> None:
        async with served.client() as client:
            await topic(client, partitions=1)
            results = await publish(client, {"value": "soon", "delay": "400ms"}, {"value": "late", "delay": "1h"})
            due.extend(result["deliverAt"] for result in results)

    async def after(served: Served) -> None:
        async with served.client() as client:
            (message,) = (await got(client, PAGE, wait="20s"))["messages"]
            assert (message["value"], message["timestamp"]) == ("soon", due[0])
            said = await got(client, LATER)
            assert [message["deliver_at"] for message in said["messages"]] == due[1:]

    run(before, tmp_path)
    run(after, tmp_path)


def test_delayed_messages_are_counted(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await topic(client, partitions=1)
            await publish(client, {"value": "x", "delay": "1h"})
            await publish(client, {"value": "y", "delay": "200ms"})
            await got(client, PAGE, wait="20s")
            await got_until(client, "/delay/stats", "pending_count", 1)
            page = (await client.get("/metrics")).text.splitlines()
            assert 'goqueue_broker_delayed_messages_pending{topic="orders"} 1' in page
            assert "goqueue_broker_delayed_messages_fired_total 1" in page
            assert "goqueue_broker_delayed_messages_lateness_seconds_count 1" in page

    run(scenario, tmp_path)


def test_messages_are_delayed_one_by_one_among_others(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await topic(client, partitions=1)
            drafts: list[Body] = [
                {"value": "a"}, {"value": "b", "delay": "1h"}, {"value": "c", "partition": 9, "delay": "1h"},
                {"value": "d"},
            ]  # fmt: skip
            sent = await client.post("/topics/orders/messages", json={"messages": drafts})
            results = sent.json()["results"]
            assert [result["delayed"] for result in results] == [False, True, False, False]
            assert results[2]["field"] == "messages[2].partition"
            with trio.fail_after(20):
                assert values((await got(client, PAGE))["messages"]) == ["a", "d"]

    run(scenario, tmp_path)
