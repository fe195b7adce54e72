"""Dead letters over REST, against a running broker: what there is, what is sent back and what is dropped."""

from pathlib import Path
from typing import Any

import httpx
import trio

from tests.transports.rest.group_client import Body, refused
from tests.transports.rest.rest_client import Served, run
from tests.transports.rest.work_client import got, publish, settle, take, topic, values, worker

DEAD = "/dlq/orders.dlq"


async def buried(client: httpx.AsyncClient, *drafts: Body, reason: str = "") -> str:
    """Publish messages to `orders` and reject them; the member that did."""
    await publish(client, *drafts)
    member = await worker(client)
    await settle(client, "reject", *await take(client, member, len(drafts)), reason=reason)
    await letters(client, len(drafts))
    return member


async def letters(client: httpx.AsyncClient, count: int, **more: Any) -> list[Body]:  # noqa: ANN401 - of a query
    """The dead letters of `orders`, once there are so many."""
    while True:
        answered = await client.get(f"{DEAD}/messages", params=more)
        if answered.status_code == 200 and len(answered.json()["messages"]) == count:
            found: list[Body] = answered.json()["messages"]
            return found
        # Not yet, while the topic is about to be made.
        assert answered.status_code in (200, 404, 503), answered.text
        await trio.sleep(0.01)


async def ended(client: httpx.AsyncClient, started: httpx.Response) -> Body:
    """What a redrive or a purge came to."""
    assert started.status_code == 202, started.text
    said: Body = started.json()
    while said["state"] == "running":
        await trio.sleep(0.01)
        said = await got(client, f"/redrives/{said['redrive_id']}")
    return said


def draft(value: str, **more: object) -> Body:
    """A message with a key and a header."""
    return {"value": value, "key": f"k-{value}", "headers": {"kind": value}, **more}


def test_a_dead_letter_says_what_it_was_and_how_it_came_here(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await topic(client)
            await buried(client, draft("a"), reason="no such customer")
            (letter,) = await letters(client, 1)
            assert (letter["value"], letter["key"], letter["headers"]["kind"]) == ("a", "k-a", "a")
            assert (letter["topic"], letter["partition"], letter["offset"]) == ("orders.dlq", 0, 0)
            assert (letter["reason"], letter["group"], letter["attempts"]) == ("rejected", "mail", 1)
            came_from = (letter["source_topic"], letter["source_partition"], letter["source_offset"])
            assert came_from == ("orders", 0, 0)
            assert letter["died_at"].endswith("Z")
            assert letter["headers"]["goqueue.dlq.detail"] == "no such customer"
            assert await got(client, "/dlq") == {"topics": [{"topic": "orders.dlq", "letters": 1}]}
            assert await got(client, "/topics/orders/dlq") == {"messages": [letter]}
            assert (await got(client, "/reliability/stats"))["dlq_messages"] == 1
            page = (await client.get("/metrics")).text.splitlines()
            assert 'goqueue_consumer_dlq_total{group="mail"} 1' in page

    run(scenario, tmp_path)


def test_dead_letters_are_looked_at_by_what_they_are_page_by_page(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await topic(client, partitions=2)
            drafts = [draft(value, partition=at % 2) for at, value in enumerate("abcde")]
            await buried(client, *drafts)
            whole = await got(client, f"{DEAD}/messages")
            page = await got(client, f"{DEAD}/messages", limit=2)
            found: list[Body] = page["messages"]
            while "next" in page:
                page = await got(client, f"{DEAD}/messages", limit=2, after=page["next"])
                found += page["messages"]
            assert sorted(values(found)) == sorted(values(whole["messages"])) == [*"abcde"]
            asked: list[tuple[dict[str, str], list[str]]] = [
                ({"key": "k-b"}, ["b"]), ({"header": "kind=c"}, ["c"]), ({"header": "kind=none"}, []),
                ({"reason": "max_attempts"}, []), ({"reason": "rejected", "group": "mail"}, [*"abcde"]),
                ({"group": "audit"}, []), ({"since": "2999-01-01T00:00:00Z"}, []),
                ({"until": "2999-01-01T00:00:00Z"}, [*"abcde"]),
            ]  # fmt: skip
            for query, expected in asked:
                fitting = await got(client, f"{DEAD}/messages", **query)
                assert sorted(values(fitting["messages"])) == expected, query

    run(scenario, tmp_path)


def test_dead_letters_are_sent_back_and_are_none_from_then_on(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await topic(client)
            member = await buried(client, draft("a"), draft("b"), draft("c"))
            trial = await ended(client, await client.post(f"{DEAD}/redrive", json={"dry_run": True, "key": "k-b"}))
            assert (trial["state"], trial["dry_run"], trial["matched"], trial["moved"]) == ("done", True, 1, 0)
            assert len(await letters(client, 3)) == 3
            said = await ended(client, await client.post(f"{DEAD}/redrive", json={"headers": {"kind": "b"}}))
            assert (said["state"], said["matched"], said["moved"], said["purge"]) == ("done", 1, 1, False)
            assert (said["topic"], said["looked"], said["total"]) == ("orders.dlq", 3, 3)
            (again,) = await take(client, member, 1)
            assert (again["value"], again["key"], again["attempt"]) == ("b", "k-b", 1)
            assert sorted(values(await letters(client, 2))) == ["a", "c"]
            rest = await ended(client, await client.post(f"{DEAD}/redrive"))
            assert rest["moved"] == 2
            assert sorted(values(await take(client, member, 2))) == ["a", "c"]
            listed = (await got(client, "/redrives"))["redrives"]
            assert [one["redrive_id"] for one in listed] == [
                rest["redrive_id"],
                said["redrive_id"],
                trial["redrive_id"],
            ]
            assert (await got(client, "/redrives", topic="orders.dlq"))["redrives"] == listed

    run(scenario, tmp_path)


def test_dead_letters_are_sent_to_another_topic(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await topic(client)
            await topic(client, "elsewhere")
            await buried(client, draft("a"))
            said = await ended(client, await client.post(f"{DEAD}/redrive", json={"to": "elsewhere"}))
            assert (said["to"], said["moved"]) == ("elsewhere", 1)
            read = await got(client, "/topics/elsewhere/partitions/0/messages", wait="20s")
            assert values(read["messages"]) == ["a"]

    run(scenario, tmp_path)


def test_a_redrive_can_be_stopped(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await topic(client)
            await buried(client, *(draft(str(at)) for at in range(20)))
            started = await client.post(f"{DEAD}/redrive", json={"rate": 1})
            path = f"/redrives/{started.json()['redrive_id']}"
            stopped = await client.delete(path)
            assert stopped.status_code == 200, stopped.text
            said = await ended(client, started)
            assert (said["state"], said["rate"]) == ("cancelled", 1)
            assert said["moved"] < 20
            assert said["ended_at"] >= said["started_at"]

    run(scenario, tmp_path)


def test_dead_letters_are_dropped(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await topic(client)
            await buried(client, draft("a"), draft("b"))
            said = await ended(client, await client.post(f"{DEAD}/purge", json={"key": "k-a"}))
            assert (said["purge"], said["matched"]) == (True, 1)
            assert values(await letters(client, 1)) == ["b"]
            await ended(client, await client.post(f"{DEAD}/purge"))
            assert await letters(client, 0) == []

    run(scenario, tmp_path)


def test_what_is_not_there_is_404_and_no_topic_is_sent_back_to_itself(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await topic(client)
            await buried(client, draft("a"))
            assert (await refused(client.post(f"{DEAD}/redrive", json={"to": "orders.dlq"}))) == (
                400, "invalid_request", "to",
            )  # fmt: skip
            span = {"since": "2026-01-02T00:00:00Z", "until": "2026-01-01T00:00:00Z"}
            for query, field in (({"reason": "age"}, "reason"), (span, "until"), ({"after": "9.0"}, "after")):
                said = await refused(client.get(f"{DEAD}/messages", params=query))
                assert said == (400, "invalid_request", field)
            for body, field in (({"reason": "age"}, "reason"), (span, "until"), ({"rate": 1_000_001}, "rate")):
                said = await refused(client.post(f"{DEAD}/redrive", json=body))
                assert said == (400, "invalid_request", field)
            assert (await refused(client.post(f"{DEAD}/redrive", json={"to": "none"}))) == (
                404,
                "topic_not_found",
                "to",
            )
            assert (await refused(client.get("/redrives/none")))[:2] == (404, "redrive_not_found")
            assert (await refused(client.delete("/redrives/none")))[:2] == (404, "redrive_not_found")
            for asked in (
                client.get("/dlq/none/messages"), client.post("/dlq/none/redrive"), client.post("/dlq/none/purge"),
                client.get("/topics/none/dlq"),
            ):  # fmt: skip
                assert (await refused(asked))[0] == 404

    run(scenario, tmp_path)
