"""Groups as an operator sees and changes them through the client library."""

from datetime import UTC, datetime, timedelta

import pytest

from goqueue import errors
from goqueue.proto import v1
from goqueue.testing import Broker
from goqueue.transports.client.connection import Connection, connect
from goqueue.transports.client.groups import OffsetChange, reset_request
from goqueue.transports.client.loops import Loop
from tests.transports.client.connected import connected, on_every_loop


async def joined(gq: Connection, group: str, *topics: str) -> v1.JoinReply:
    """A member of a group."""
    request = v1.JoinRequest(group=group, client_id="till", topics=[*topics], session_timeout_ms=60_000)
    return await gq._brokers.call("Groups/Join", request, v1.JoinReply)


async def left(gq: Connection, group: str, member: v1.JoinReply) -> None:
    """The group without that member."""
    await gq._brokers.call("Groups/Leave", v1.LeaveRequest(group, member.member_id), v1.LeaveReply)


async def publish(gq: Connection, topic: str, partition: int, count: int) -> None:
    """So many messages, the first of which is an hour old."""
    async with gq.producer() as producer:
        for number in range(count):
            moment = datetime.now(UTC) - timedelta(hours=number == 0)
            await producer.send(topic, b"%d" % number, partition=partition, timestamp=moment)


@on_every_loop
def test_a_group_is_seen_from_its_first_member_to_its_end(kind: str) -> None:
    async def test(gq: Connection, _loop: Loop) -> None:
        await gq.topics.create("orders", partitions=2)
        assert await gq.groups.list() == []
        member = await joined(gq, "billing", "orders")
        group = await gq.groups.describe("billing")
        assert (group.name, group.state, group.mode, group.assignor) == ("billing", "stable", "exclusive", "sticky")
        assert (group.generation, group.config["start"]) == (member.generation, "earliest")
        (found,) = group.members
        assert (found.member_id, found.client_id, found.topics) == (member.member_id, "till", ["orders"])
        assert (found.assigned, found.to_revoke) == ([("orders", 0), ("orders", 1)], [])
        assert (found.session_timeout, found.is_eager) == (timedelta(minutes=1), False)
        assert abs(datetime.now(UTC) - found.last_heartbeat) < timedelta(hours=1)
        assert await gq.groups.list() == [group]
        rebalances = await gq.groups.rebalances("billing")
        assert (rebalances.total, rebalances.failed, rebalances.by_reason["member_joined"]) == (1, 0, 1)
        assert rebalances == await gq.groups.rebalances()
        with pytest.raises(errors.GroupNotEmpty, match="billing"):
            await gq.groups.delete("billing")
        await left(gq, "billing", member)
        await gq.groups.delete("billing")
        assert await gq.groups.list() == []

    connected(kind, test)


def test_offsets_are_committed_looked_at_and_reset() -> None:
    async def test(gq: Connection, _loop: Loop) -> None:
        await gq.topics.create("orders", partitions=2)
        await gq.topics.create("items", partitions=1)
        await publish(gq, "orders", 0, 5)
        await gq.groups.commit("billing", {("orders", 0): 3, ("items", 0): 0})
        found = await gq.groups.offsets("billing")
        known = {(each.topic, each.partition): (each.offset, each.lag) for each in found}
        assert known[("orders", 0)] == (3, 2)
        assert known[("items", 0)] == (0, 0)
        (only,) = await gq.groups.offsets("billing", "items")
        assert (only.topic, only.offset) == ("items", 0)

        would = await gq.groups.reset("billing", "orders", to="earliest", partitions=0, dry_run=True)
        assert would == [OffsetChange("orders", 0, 3, 0)]
        for to, offset in (
            ("earliest", 0), ("latest", 5), (2, 2), (timedelta(minutes=30), 1),
            (datetime.now(UTC) - timedelta(hours=2), 0),
        ):  # fmt: skip
            (change,) = await gq.groups.reset("billing", "orders", to=to, partitions=[0])
            assert change.after == offset, to
        everywhere = await gq.groups.reset("billing", "orders", to="latest")
        assert everywhere == [OffsetChange("orders", 0, 0, 5), OffsetChange("orders", 1, None, 0)]

    connected("trio", test)


def test_settings_are_altered_and_taken_back() -> None:
    async def test(gq: Connection, _loop: Loop) -> None:
        await gq.topics.create("orders")
        await joined(gq, "billing", "orders")
        altered = await gq.groups.alter("billing", {"start": "latest", "visibility_timeout": timedelta(minutes=2)})
        assert (altered.config["start"], altered.config["visibility_timeout"]) == ("latest", "2m")
        assert (await gq.groups.alter("billing", {"start": None})).config["start"] == "earliest"
        with pytest.raises(errors.InvalidRequest, match=r"billing: .*colour") as caught:
            await gq.groups.alter("billing", {"colour": "red"})
        assert caught.value.field == "config.colour"

    connected("trio", test)


def test_what_the_broker_refuses_is_an_error_that_names_the_group_or_the_partition() -> None:
    async def test(gq: Connection, _loop: Loop) -> None:
        await gq.topics.create("orders", partitions=1)
        for refused in (gq.groups.describe("none"), gq.groups.delete("none"), gq.groups.alter("none", {})):
            with pytest.raises(errors.GroupNotFound, match="none"):
                await refused
        with pytest.raises(errors.CommitFailed, match="partition 0 of orders") as caught:
            await gq.groups.commit("billing", {("orders", 0): 99})
        assert isinstance(caught.value.failures["orders", 0], errors.OffsetOutOfRange)
        await joined(gq, "billing", "orders")
        with pytest.raises(errors.GroupNotEmpty, match="orders"):
            await gq.groups.reset("billing", "orders", to="earliest")

    connected("trio", test)


def test_without_a_loop_groups_have_the_same_names() -> None:
    with Broker() as broker, connect(broker.address) as gq:
        gq.topics.create("orders", partitions=1)
        with gq.producer() as producer:
            producer.publish("orders", b"x")
        gq.groups.commit("billing", {("orders", 0): 1})
        assert [group.name for group in gq.groups.list()] == ["billing"]
        assert gq.groups.alter("billing", {"start": "latest"}).config == gq.groups.describe("billing").config
        assert gq.groups.reset("billing", "orders", to=0, dry_run=True) == [OffsetChange("orders", 0, 1, 0)]
        assert [(each.offset, each.lag) for each in gq.groups.offsets("billing", "orders")] == [(1, 0)]
        assert gq.groups.rebalances("billing").total == 0
        gq.groups.delete("billing")
        assert gq.groups.list() == []


@pytest.mark.parametrize(
    ("to", "partitions", "error"),
    [
        (-1, None, ValueError), (True, None, TypeError), ("middle", None, TypeError), (None, None, TypeError),
        (datetime.now(UTC).replace(tzinfo=None), None, ValueError), (0, [], ValueError), (0, -1, ValueError),
    ],
)  # fmt: skip
def test_what_is_no_place_is_refused_before_anything_is_sent(
    to: object, partitions: int | list[int] | None, error: type[Exception]
) -> None:
    with pytest.raises(error):
        reset_request("billing", "orders", to, partitions, dry_run=False)  # type: ignore[arg-type]
