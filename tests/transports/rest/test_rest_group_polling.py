"""Polls of groups over REST: what a member gets, against a running broker, and how batches become its messages."""

from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
import trio

from goqueue.core.records.batch import Codec, Lane, stamp
from goqueue.core.records.build import encode
from goqueue.core.requests.groups import PolledBatches
from goqueue.transports.rest.polling import Harvest
from goqueue.transports.rest.reading import CONTENT_BYTES_MAX
from tests.transports.rest.group_client import (
    GROUP,
    Body,
    beat_until,
    get,
    identity,
    join,
    post,
    refused,
    rejoin_until,
    topic,
)
from tests.transports.rest.rest_client import Served, run, until

MESSAGES = "/topics/orders/messages"
SECOND_NS = 1_000_000_000


async def publish(client: httpx.AsyncClient, *messages: Body) -> None:
    """Publish messages to `orders`."""
    sent = await client.post(MESSAGES, json={"messages": list(messages)})
    assert sent.status_code == 200, sent.text
    assert all("error" not in result for result in sent.json()["results"]), sent.text


def numbered(*numbers: int, partition: int = 0) -> list[Body]:
    """Messages of which each has its number."""
    return [{"value": str(number), "partition": partition} for number in numbers]


async def poll(client: httpx.AsyncClient, member: Body, **more: str | int) -> list[Body]:
    """The messages of a poll that leaves nothing out, by a member that need not join again."""
    said = await client.get(f"{GROUP}/poll", params={"member_id": member["member_id"], **more})
    assert said.status_code == 200, said.text
    messages: list[Body] = said.json()["messages"]
    assert said.json() == {"messages": messages, "rebalance_required": False}
    return messages


async def polled_values(client: httpx.AsyncClient, member: Body, count: int) -> list[str]:
    """The values of the next so many messages."""
    values: list[str] = []
    while len(values) < count:
        values += [message["value"] for message in await poll(client, member, timeout="5s")]
    return values


def test_a_poll_goes_on_where_the_last_one_ended(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await topic(client, partitions=2)
            await publish(client, *numbered(0, 1, 2), *numbered(10, 11, partition=1))
            member = await join(client)
            assert sorted(await polled_values(client, member, 5)) == ["0", "1", "10", "11", "2"]
            assert await poll(client, member) == []
            await publish(client, *numbered(3))
            assert await polled_values(client, member, 1) == ["3"]

    run(scenario, tmp_path)


def test_a_polled_message_is_as_it_was_published(tmp_path: Path) -> None:
    sent: list[Body] = [
        {"value": "hello", "key": "k", "headers": {"a": "b", "none": None}, "priority": "high"},
        {"value": None, "key": "gone", "headers": {}, "priority": "normal"},
        {"value": "//4=", "key": "AAE=", "headers": {}, "priority": "low", "encoding": "base64"},
        {"value": "é", "key": None, "headers": {"x": "/w=="}, "priority": "critical", "headers_encoding": "base64"},
    ]

    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await topic(client, partitions=1)
            await publish(client, *sent)
            read = (await client.get("/topics/orders/partitions/0/messages")).json()["messages"]
            member = await join(client)
            messages: list[Body] = []
            while len(messages) < len(sent):
                messages += await poll(client, member)
            assert messages == [{"topic": "orders", "partition": 0, **message} for message in read]

    run(scenario, tmp_path)


def test_a_poll_is_cut_within_a_batch(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await topic(client, partitions=1)
            await publish(client, *numbered(*range(10)))
            member = await join(client)
            for first, last in ((0, 4), (4, 8), (8, 10)):
                offsets = [message["offset"] for message in await poll(client, member, max_messages=4)]
                assert offsets == [*range(first, last)]

    run(scenario, tmp_path)


def test_a_poll_waits_for_a_message(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await topic(client, partitions=1)
            member = await join(client)
            found: list[Body] = []

            async def wait() -> None:
                found.extend(await poll(client, member, timeout="10s"))

            async with trio.open_nursery() as nursery:
                nursery.start_soon(wait)
                await trio.sleep(0.05)
                await publish(client, *numbered(7))
            assert [message["value"] for message in found] == ["7"]
            assert await poll(client, member, timeout="20ms", isolation="read_committed") == []

    run(scenario, tmp_path)


def test_a_poll_that_waits_is_answered_when_the_server_goes(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await topic(client, partitions=1)
            member = await join(client, session_timeout="30m")
            found: list[list[Body]] = []

            async def wait() -> None:
                found.append(await poll(client, member, timeout="60s"))

            async with trio.open_nursery() as nursery:
                nursery.start_soon(wait)
                await until(lambda: served.server.connection_count > 0)
                await trio.sleep(0.05)
                await served.server.drain(10 * SECOND_NS)
            assert found == [[]]

    run(scenario, tmp_path)


def test_a_poll_says_when_to_join_again(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await topic(client, partitions=2)
            await publish(client, *numbered(0), *numbered(1, partition=1))
            first = await join(client)
            second = await join(client)
            said = {"rebalance_required": False}
            while not said["rebalance_required"]:
                said = await get(client, f"/poll?member_id={first['member_id']}&timeout=20ms")
            first = await join(client, member_id=first["member_id"])
            said = {"rebalance_required": False}
            while not said["rebalance_required"]:
                said = await get(client, f"/poll?member_id={second['member_id']}&timeout=20ms")
            second = await join(client, member_id=second["member_id"])
            assert sorted(first["partitions"] + second["partitions"]) == [0, 1]

    run(scenario, tmp_path)


def test_a_group_begins_at_a_moment_that_is_a_time_or_a_number(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await topic(client, partitions=1)
            page = "/topics/orders/partitions/0/messages"
            written: list[str] = []
            while len({*written}) < 3:
                await trio.sleep(0.002)
                await publish(client, *numbered(len(written)))
                written = [each["timestamp"] for each in (await client.get(page)).json()["messages"]]
            moment = sorted({*written})[1]
            number = round(datetime.fromisoformat(moment).timestamp() * 1000)
            first = written.index(moment)
            for name, start in (("timed", moment), ("numbered", number)):
                wanted = {"client_id": "app", "topics": ["orders"], "start": start}
                joined = await post(client, "join", wanted, group=f"/groups/{name}")
                assert (await get(client, "/offsets", group=f"/groups/{name}"))["lag"] == {"orders": {"0": -1}}
                polled = await get(client, f"/poll?member_id={joined['member_id']}", group=f"/groups/{name}")
                assert [each["offset"] for each in polled["messages"]] == [*range(first, len(written))]
                assert (await get(client, group=f"/groups/{name}"))["config"]["start"] == start

    run(scenario, tmp_path)


def test_who_joins_begins_at_what_is_committed(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await topic(client, partitions=1)
            await publish(client, *numbered(0, 1, 2))
            former = await join(client)
            assert await polled_values(client, former, 3) == ["0", "1", "2"]
            await post(client, "commit", {**identity(former), "offsets": {"orders": {"0": 1}}})
            await post(client, "leave", identity(former))
            member = await join(client)
            assert await polled_values(client, member, 2) == ["1", "2"]
            await post(client, "commit", {**identity(member), "offsets": {"orders": {"0": 3}}})
            assert (await get(client, "/offsets"))["lag"] == {"orders": {"0": 0}}

    run(scenario, tmp_path)


def test_nobody_gets_twice_what_was_committed_before_its_partition_moved(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await topic(client, partitions=2)
            await publish(client, *numbered(0, 1), *numbered(10, 11, partition=1))
            eager = await join(client)
            before = await polled_values(client, eager, 4)
            await post(client, "commit", {**identity(eager), "offsets": {"orders": {"0": 2, "1": 2}}})
            cooperative = await join(client, "join/cooperative")
            eager = await rejoin_until(client, eager, lambda said: len(said["partitions"]) == 1)
            await beat_until(
                client, cooperative, lambda said: len(said["partitions_assigned"]) == 1, "heartbeat/cooperative"
            )
            await publish(client, *numbered(2), *numbered(12, partition=1))
            after = await polled_values(client, eager, 1) + await polled_values(client, cooperative, 1)
            assert sorted(before + after) == ["0", "1", "10", "11", "12", "2"]

    run(scenario, tmp_path)


@pytest.mark.parametrize(
    ("query", "status", "code", "field"),
    [
        ({}, 400, "invalid_request", "member_id"),
        ({"member_id": "app-0000000000000000"}, 404, "unknown_member", "member_id"),
        ({"member_id": "me", "max_messages": "0"}, 400, "invalid_request", "max_messages"),
        ({"member_id": "me", "max_messages": "10001"}, 400, "invalid_request", "max_messages"),
        ({"member_id": "me", "max_messages": "many"}, 400, "invalid_request", "max_messages"),
        ({"member_id": "me", "timeout": "5"}, 400, "invalid_request", "timeout"),
        ({"member_id": "me", "timeout": "61s"}, 400, "invalid_request", "timeout"),
        ({"member_id": "me", "isolation": "none"}, 400, "invalid_request", "isolation"),
    ],
)
def test_a_poll_that_cannot_be_is_refused_with_the_field(
    tmp_path: Path, query: dict[str, Any], status: int, code: str, field: str
) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            assert await refused(client.get(f"{GROUP}/poll", params=query)) == (status, code, field)

    run(scenario, tmp_path)


def test_a_poll_is_neither_kept_by_caches_nor_lost_by_a_head(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await topic(client, partitions=1)
            await publish(client, *numbered(0))
            member = await join(client)
            query = {"member_id": member["member_id"]}
            assert (await client.head(f"{GROUP}/poll", params=query)).status_code == 400
            polled = await client.get(f"{GROUP}/poll", params=query)
            assert polled.headers["cache-control"] == "no-store"
            assert [message["value"] for message in polled.json()["messages"]] == ["0"]

    run(scenario, tmp_path)


def batch(base_offset: int, *values: bytes, lane: Lane = Lane.NORMAL, control: bool = False) -> bytearray:
    written = encode([(1, None, value, ()) for value in values], lane=lane, control=control, codec=Codec.ZSTD)
    stamp(written, base_offset, 0)
    return written


def harvested(batches: bytearray, first: int, end: int) -> Harvest:
    harvest = Harvest()
    harvest.take(PolledBatches("orders", 3, batches, first, end))
    return harvest


@pytest.mark.parametrize(("first", "end"), [(first, end) for first in range(6) for end in range(first, 6)])
def test_the_messages_from_first_to_end_are_taken_and_markers_are_none(first: int, end: int) -> None:
    stored = batch(0, b"a", b"b", b"c") + batch(3, b"marker", control=True) + batch(4, b"d", lane=Lane.HIGH)
    harvest = harvested(stored, first, end)
    taken = [(message.offset, message.value, message.priority) for message in harvest.messages]
    everything = [(0, "a", "normal"), (1, "b", "normal"), (2, "c", "normal"), (4, "d", "high")]
    assert taken == [each for each in everything if first <= each[0] < end]
    assert harvest.left_out == []


def test_an_unreadable_batch_is_left_out_by_name_and_what_is_around_it_is_taken() -> None:
    spoilt = batch(1, b"b", b"c", b"d")
    spoilt[61:] = b"\xff" * (len(spoilt) - 61)
    harvest = harvested(batch(0, b"a") + spoilt + batch(4, b"e"), 0, 5)
    assert [message.offset for message in harvest.messages] == [0, 4]
    (left,) = harvest.left_out
    assert (left.topic, left.partition, left.offset, left.next_offset, left.code) == (
        "orders",
        3,
        1,
        4,
        "corrupt_batch",
    )
    (left,) = harvested(spoilt, 2, 3).left_out
    assert (left.offset, left.next_offset) == (2, 3)


def test_what_an_answer_cannot_hold_is_left_out_by_name() -> None:
    part = CONTENT_BYTES_MAX // 4 + 1
    harvest = harvested(batch(0, b"a" * part, b"b" * part) + batch(2, b"c" * part, b"d" * part, b"e"), 0, 5)
    assert [message.offset for message in harvest.messages] == [0, 1, 2]
    (left,) = harvest.left_out
    assert (left.offset, left.next_offset, left.code) == (3, 5, "too_large")
    # One message alone always fits, or it could never be read.
    alone = harvested(batch(0, b"a" * (CONTENT_BYTES_MAX + 1), b"b"), 0, 2)
    assert [message.offset for message in alone.messages] == [0]
    assert [(left.offset, left.next_offset) for left in alone.left_out] == [(1, 2)]
