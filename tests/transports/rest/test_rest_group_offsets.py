"""How far a group has come, over REST, against a running broker: commits, lag, resets."""

from pathlib import Path
from typing import Any

import httpx
import pytest
import trio

from tests.transports.rest.group_client import GROUP, Body, get, identity, join, post, refused, rejoin_until, topic
from tests.transports.rest.rest_client import Served, run


async def filled(client: httpx.AsyncClient) -> None:
    """Make the topic `orders` with two partitions of three messages each."""
    await topic(client, partitions=2)
    messages = [{"value": str(number), "partition": number % 2} for number in range(6)]
    assert (await client.post("/topics/orders/messages", json={"messages": messages})).status_code == 200


def offsets(first: int, second: int) -> Body:
    """Offsets of the two partitions as JSON says them."""
    return {"orders": {"0": first, "1": second}}


@pytest.mark.parametrize("call", ["commit", "offsets"])
def test_what_is_committed_is_there_and_lag_is_what_is_left(tmp_path: Path, call: str) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await filled(client)
            member = await join(client)
            assert await get(client, "/offsets") == {"offsets": offsets(-1, -1), "lag": offsets(3, 3)}
            assert await post(client, call, {**identity(member), "offsets": offsets(2, 3)}) == {"committed": True}
            assert await get(client, "/offsets") == {"offsets": offsets(2, 3), "lag": offsets(1, 0)}
            assert await get(client, "/offsets?topic=orders") == await get(client, "/offsets")
            assert await get(client, "/offsets?topic=none") == {"offsets": {}, "lag": {}}
            # One that was overtaken changes nothing, and is no error.
            assert await post(client, call, {**identity(member), "offsets": offsets(1, 1)}) == {"committed": True}
            assert (await get(client, "/offsets"))["offsets"] == offsets(2, 3)
            assert await post(client, call, {**identity(member), "offsets": {}}) == {"committed": True}

    run(scenario, tmp_path)


def test_a_commit_without_generation_is_for_what_the_member_has(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await filled(client)
            first = await join(client)
            second = await join(client)
            first = await rejoin_until(client, first, lambda said: len(said["partitions"]) == 1)
            mine = {"orders": {str(first["partitions"][0]): 1}}
            assert await post(client, "commit", {"member_id": first["member_id"], "offsets": mine}) == {
                "committed": True
            }
            second = await rejoin_until(client, second, lambda said: len(said["partitions"]) == 1)
            body = {"member_id": second["member_id"], "offsets": mine}
            answered = await refused(client.post(f"{GROUP}/commit", json=body))
            assert answered == (409, "fenced_generation", "generation")

    run(scenario, tmp_path)


def test_of_several_offsets_those_that_can_be_taken_are(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await filled(client)
            member = await join(client)
            said = await post(client, "commit", {**identity(member), "offsets": offsets(3, 4)})
            (one,) = said.pop("refused")
            assert said == {"committed": False}
            assert one.pop("error")
            refused = {"topic": "orders", "partition": 1, "code": "offset_out_of_range", "field": "offsets"}
            assert one == {**refused, "outcome": "none"}
            assert (await get(client, "/offsets"))["offsets"] == offsets(3, -1)

    run(scenario, tmp_path)


def test_who_is_no_member_commits_only_where_there_is_none(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await filled(client)
            assert await post(client, "commit", {"offsets": offsets(1, 1)}) == {"committed": True}
            assert (await get(client))["state"] == "empty"
            member = await join(client)
            body = {"offsets": offsets(2, 2)}
            assert await refused(client.post(f"{GROUP}/commit", json=body)) == (404, "unknown_member", "member_id")
            await post(client, "leave", identity(member))
            assert await post(client, "commit", body) == {"committed": True}

    run(scenario, tmp_path)


def test_a_reset_goes_anywhere_and_says_before_what_it_would_do(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await filled(client)
            await post(client, "commit", {"offsets": offsets(2, 1)})
            cases: list[tuple[Body, dict[str, tuple[int, int]]]] = [
                ({"to": "earliest", "dry_run": True}, {"0": (2, 0), "1": (1, 0)}),
                ({"to": "latest"}, {"0": (2, 3), "1": (1, 3)}),
                ({"to": "offset", "offset": 1, "partitions": [1]}, {"1": (3, 1)}),
                ({"offset": 2, "partitions": [0, 1], "dry_run": False}, {"0": (3, 2), "1": (1, 2)}),
                ({"to": "time", "time": "1971-01-01T00:00:00Z"}, {"0": (2, 0), "1": (2, 0)}),
                ({"time": "2999-01-01T00:00:00+01:00"}, {"0": (0, 3), "1": (0, 3)}),
                ({"to": "earliest", "offset": None, "time": None, "partitions": []}, {"0": (3, 0), "1": (3, 0)}),
            ]
            for body, moves in cases:
                said = await post(client, "offsets/reset", {"topic": "orders", **body})
                assert said == {
                    "topic": "orders",
                    "dry_run": body.get("dry_run", False),
                    "offsets": {key: {"before": before, "after": after} for key, (before, after) in moves.items()},
                }

    run(scenario, tmp_path)


def test_a_reset_to_a_time_finds_the_first_message_of_then(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await filled(client)
            await post(client, "commit", {"offsets": offsets(0, 0)})
            page = "/topics/orders/partitions/0/messages"
            last = (await client.get(page)).json()["messages"][-1]["timestamp"]
            latest = last
            while latest == last:
                await trio.sleep(0.002)
                await client.post("/topics/orders/publish", json={"value": "later", "partition": 0})
                latest = (await client.get(page)).json()["messages"][-1]["timestamp"]
            said = await post(client, "offsets/reset", {"topic": "orders", "time": latest, "partitions": [0]})
            found = (await client.get(page, params={"from_time": latest})).json()["messages"][0]["offset"]
            assert said["offsets"] == {"0": {"before": 0, "after": found}}

    run(scenario, tmp_path)


@pytest.mark.parametrize(
    ("body", "status", "code", "field"),
    [
        ({}, 400, "invalid_request", "topic"),
        ({"topic": 1, "to": "latest"}, 400, "invalid_request", "topic"),
        ({"topic": "none", "to": "latest"}, 404, "topic_not_found", "topic"),
        ({"topic": "orders"}, 400, "invalid_request", "to"),
        ({"topic": "orders", "to": "end"}, 400, "invalid_request", "to"),
        ({"topic": "orders", "to": "offset"}, 400, "invalid_request", "offset"),
        ({"topic": "orders", "to": "time"}, 400, "invalid_request", "time"),
        ({"topic": "orders", "to": "latest", "offset": 1}, 400, "invalid_request", "offset"),
        ({"topic": "orders", "to": "offset", "offset": 1, "time": "1971"}, 400, "invalid_request", "time"),
        ({"topic": "orders", "offset": -1}, 400, "invalid_request", "offset"),
        ({"topic": "orders", "offset": "1"}, 400, "invalid_request", "offset"),
        ({"topic": "orders", "offset": 4}, 404, "offset_out_of_range", "offset"),
        ({"topic": "orders", "time": "yesterday"}, 400, "invalid_request", "time"),
        ({"topic": "orders", "to": "latest", "partitions": [2]}, 404, "partition_not_found", "partitions"),
        ({"topic": "orders", "to": "latest", "partitions": [-1]}, 400, "invalid_request", "partitions[0]"),
        ({"topic": "orders", "to": "latest", "partitions": 0}, 400, "invalid_request", "partitions"),
        ({"topic": "orders", "to": "latest", "dry_run": "yes"}, 400, "invalid_request", "dry_run"),
    ],
)  # fmt: skip
def test_a_reset_that_cannot_be_is_refused_with_the_field_and_changes_nothing(
    tmp_path: Path, body: dict[str, Any], status: int, code: str, field: str
) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await filled(client)
            await post(client, "commit", {"offsets": offsets(1, 1)})
            assert await refused(client.post(f"{GROUP}/offsets/reset", json=body)) == (status, code, field)
            assert (await get(client, "/offsets"))["offsets"] == offsets(1, 1)

    run(scenario, tmp_path)


def test_what_somebody_reads_is_not_reset(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await filled(client)
            await join(client)
            body = {"topic": "orders", "to": "latest", "dry_run": True}
            answered = await refused(client.post(f"{GROUP}/offsets/reset", json=body))
            assert answered == (409, "group_not_empty", "partitions")

    run(scenario, tmp_path)
