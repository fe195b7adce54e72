"""Partitions that go and come back in the middle of everything: what is handed out is right, and what is told."""

from datetime import timedelta

import pytest

from goqueue.core.client.fetching import Cursor
from goqueue.proto import v1
from goqueue.transports.client.connection import Connection
from goqueue.transports.client.group_consumer import GroupConsumer
from goqueue.transports.client.handover import Holding
from goqueue.transports.client.loops import SECOND_NS, Loop
from goqueue.transports.client.messages import Message
from tests.transports.client.connected import connected, on_every_loop
from tests.transports.client.grouped import (
    COUNT,
    NEVER,
    Slots,
    assigned,
    beside,
    committed,
    every,
    fill,
    places,
    take,
)
from tests.transports.client_loops.on_loops import until


async def rival(gq: Connection) -> str:
    """A member that gets the only partition of orders before others do, and never says anything; its id."""
    request = v1.JoinRequest("billing", instance_id="a", topics=["orders"], assignor="range", session_timeout_ms=60_000)
    return (await gq._brokers.call("Groups/Join", request, v1.JoinReply)).member_id


async def leave(gq: Connection, member_id: str) -> None:
    """The rival goes."""
    await gq._brokers.call("Groups/Leave", v1.LeaveRequest("billing", member_id), v1.LeaveReply)


def second(gq: Connection, told: list[str], **options: object) -> GroupConsumer:
    """A member that is second to the rival."""
    return gq.group_consumer(
        "billing",
        "orders",
        instance_id="b",
        assignor="range",
        on_assigned=lambda _slots: told.append("assigned"),
        on_lost=lambda _slots: told.append("lost"),
        **{"on_revoked": lambda _slots: told.append("revoked"), **options},  # type: ignore[arg-type]
    )


@on_every_loop
def test_a_partition_that_is_to_stay_after_all_is_read_on_and_nobody_is_told(kind: str) -> None:
    async def test(gq: Connection, loop: Loop) -> None:
        await fill(gq, partitions=1)
        told: list[str] = []
        async with second(gq, told) as consumer:
            found = await take(consumer, 7)
            member_id = await rival(gq)
            await until(loop, lambda: not consumer.assignment)
            await leave(gq, member_id)
            await assigned(loop, consumer, 1)
            assert told == ["assigned"]
            found += await take(consumer, COUNT - 7)
            assert places(found) == every(range(1))

    connected(kind, test)


@on_every_loop
def test_a_partition_that_comes_back_while_it_is_let_go_of_goes_and_comes(kind: str) -> None:
    async def test(gq: Connection, loop: Loop) -> None:
        await fill(gq, partitions=1)
        told: list[str] = []

        async def revoked(_slots: Slots) -> None:
            if "revoked" not in told:
                told.append("revoked")
                await leave(gq, member_id)
                await until(loop, lambda: bool(consumer._membership.reading))

        async with second(gq, told, on_revoked=revoked) as consumer:
            found = await take(consumer, 7)
            member_id = await rival(gq)
            await until(loop, lambda: not consumer.assignment)
            found += await take(consumer, COUNT - 7)
            assert places(found) == every(range(1))
            assert told == ["assigned", "revoked", "assigned"]
            assert await committed(gq) == [7]

    connected(kind, test)


@on_every_loop
def test_a_partition_that_goes_before_it_was_placed_was_never_there(kind: str) -> None:
    async def test(gq: Connection, loop: Loop) -> None:
        await fill(gq, partitions=1)
        told: list[str] = []
        async with second(gq, told) as consumer:
            # Before anything of the assignment was done, it is over.
            member_id = await rival(gq)
            await until(loop, lambda: bool(consumer._membership._asked) or "revoked" in told)
            await until(loop, lambda: not consumer._membership.revoking)
            await leave(gq, member_id)
            found = await take(consumer, COUNT)
            assert places(found) == every(range(1))
            assert told in (["assigned"], ["assigned", "revoked", "assigned"])

    connected(kind, test)


@on_every_loop
def test_a_paused_partition_that_is_to_stay_after_all_is_still_paused(kind: str) -> None:
    async def test(gq: Connection, loop: Loop) -> None:
        await fill(gq, partitions=1)
        told: list[str] = []
        async with second(gq, told) as consumer:
            found = await take(consumer, 7)
            consumer.pause(("orders", 0))
            member_id = await rival(gq)
            await until(loop, lambda: not consumer.assignment)
            await leave(gq, member_id)
            await assigned(loop, consumer, 1)
            assert not await loop.within(loop.now() + SECOND_NS // 10, lambda: anext(consumer))
            assert consumer.position("orders", 0) == 7
            # The message in hand was handed back by asking; the partition is still there.
            consumer.resume(("orders", 0))
            found += await take(consumer, COUNT - 7)
            assert places(found) == every(range(1))

    connected(kind, test)


@pytest.mark.parametrize("kind", ["trio", "asyncio"])
def test_members_that_come_and_go_in_a_stream_of_messages_get_each_once(kind: str) -> None:
    """Who leaves commits what it has in hand; so nothing comes twice, and the other reads on all the time."""
    partitions, count = range(8), 400

    async def visit(gq: Connection, loop: Loop, found: list[Message]) -> None:
        async with gq.group_consumer("billing", "orders", commit_interval=NEVER) as guest:
            await until(loop, lambda: bool(guest.assignment))
            for _ in range(6):
                await loop.within(loop.now() + SECOND_NS // 20, lambda: grow(guest, found))
            await guest.commit()

    async def grow(consumer: GroupConsumer, found: list[Message]) -> None:
        found += await consumer.next_batch()

    async def test(gq: Connection, loop: Loop) -> None:
        await gq.topics.create("orders", partitions=len(partitions))
        found: list[Message] = []

        async def publish() -> None:
            async with gq.producer(linger=timedelta(milliseconds=1)) as producer:
                for number in range(count):
                    for partition in partitions:
                        await producer.send("orders", b"%d" % number + bytes(1000), partition=partition)
                    await loop.pause(SECOND_NS // 500)

        async with gq.group_consumer("billing", "orders", commit_interval=NEVER) as host:
            publishing = loop.start(publish)
            end = beside(loop, host, found)
            for _ in range(4):
                await visit(gq, loop, found)
            await publishing.wait()
            await until(loop, lambda: len(found) >= len(partitions) * count)
            end()
            assert len(host.assignment) == len(partitions)
        assert places(found) == every(partitions, 0, count)

    connected(kind, test)


def test_refusals_are_counted_in_a_row_that_messages_end() -> None:
    holding = Holding(("orders", 0), Cursor("orders", 0, 5, 5))
    assert [holding.count_refusal() for _ in range(3)] == [1, 2, 3]
    holding.cursor.fetched = 9
    assert [holding.count_refusal() for _ in range(2)] == [1, 2]
