"""A group whose members come and go while its broker is restarted or killed: nothing is missed, and all ends well."""

from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from random import Random

import pytest

from goqueue.testing import Broker
from goqueue.transports.client.connection import Connection, connect
from goqueue.transports.client.group_consumer import GroupConsumer
from goqueue.transports.client.loops import SECOND_NS, Loop, Task
from tests.transports.client.broker_process import broker_process
from tests.transports.client.connected import connected, on_every_loop
from tests.transports.client.grouped import (
    COUNT,
    QUICK,
    assigned,
    committed,
    crash,
    every,
    fill,
    places,
    publish,
    take,
)
from tests.transports.client_loops.on_loops import drive, until


@on_every_loop
def test_a_broker_that_comes_back_finds_its_members_where_they_were(kind: str) -> None:
    broker = Broker()

    async def test(loop: Loop) -> None:
        gq = connect(broker.address).connection(loop)
        await gq.open()
        await fill(gq, partitions=2)
        told: list[str] = []
        consumer = gq.group_consumer(
            "billing",
            "orders",
            commit_interval=QUICK,
            on_assigned=lambda _slots: told.append("assigned"),
            on_lost=lambda _slots: told.append("lost"),
        )
        async with consumer:
            found = await take(consumer, 13)
            member_id = consumer.member_id
            broker.__exit__()
            broker.__enter__()
            found += await take(consumer, 2 * COUNT - 13)
            await publish(gq, range(2), COUNT, COUNT + 5)
            found += await take(consumer, 10)
            assert consumer.member_id == member_id
        assert places(found) == every(range(2), 0, COUNT + 5)
        assert told == ["assigned"]
        await gq.close()

    broker.__enter__()
    try:
        drive(kind, test)
    finally:
        broker.__exit__()


def test_a_broker_that_is_killed_loses_no_offset_and_no_member(tmp_path: Path) -> None:
    with broker_process(tmp_path) as process:

        async def test(loop: Loop) -> None:
            gq = connect(process.address).connection(loop)
            await gq.open()
            await fill(gq, partitions=2)
            async with gq.group_consumer("billing", "orders", commit="manual") as consumer:
                found = await take(consumer, 9)
                await consumer.commit()
                before = (consumer.member_id, await committed(gq))
                process.kill()
                process.start()
                found += await take(consumer, 2 * COUNT - 9)
                assert places(found) == every(range(2))
                assert (consumer.member_id, await committed(gq)) == before
                await consumer.commit()
                assert await committed(gq) == [COUNT, COUNT]
            await gq.close()

        drive("trio", test)


def test_a_commit_that_finds_no_broker_is_made_when_there_is_one(tmp_path: Path) -> None:
    with broker_process(tmp_path) as process:

        async def test(loop: Loop) -> None:
            gq = connect(process.address).connection(loop)
            await gq.open()
            await fill(gq, partitions=1)
            async with gq.group_consumer("billing", "orders", commit="manual") as consumer:
                found = await take(consumer, 9)
                process.kill()
                committing = loop.start(lambda: consumer.commit(found[-1]))
                await until(loop, lambda: bool(consumer._commits._parkings))
                process.start()
                await committing.wait()
                assert await committed(gq) == [9]
            await gq.close()

        drive("asyncio", test)


def test_without_word_from_the_broker_nothing_is_handed_out_until_it_is_certain_whose_it_is(tmp_path: Path) -> None:
    with broker_process(tmp_path) as process:

        async def test(loop: Loop) -> None:
            gq = connect(process.address).connection(loop)
            await gq.open()
            await fill(gq, partitions=1)
            async with gq.group_consumer("billing", "orders", session_timeout=timedelta(seconds=2)) as consumer:
                found = await take(consumer, 5)
                process.kill()
                await until(loop, lambda: not consumer._membership.is_certain(loop.now()))
                assert consumer._fetching._arrived
                assert not await loop.within(loop.now() + SECOND_NS // 10, lambda: anext(consumer))
                process.start()
                found += await take(consumer, COUNT - 5)
                assert places(found) == every(range(1))
            await gq.close()

        drive("trio", test)


@on_every_loop
def test_who_fails_leaves_its_group_in_order(kind: str) -> None:
    async def work(gq: Connection) -> None:
        async with gq.group_consumer("billing", "orders", commit_interval=timedelta(hours=1)) as consumer:
            message = (await take(consumer, 9))[-1]
            raise LookupError(f"no customer for {message.offset}")

    async def test(gq: Connection, _loop: Loop) -> None:
        await fill(gq, partitions=1)
        with pytest.raises(LookupError, match="no customer for 8"):
            await work(gq)
        assert (await gq.groups.describe("billing")).members == []
        # The message that it failed at is not done.
        assert await committed(gq) == [8]

    connected(kind, test)


class Shop:
    """Members that come, read, work for a while, die and go, at random; what they read, by partition."""

    def __init__(self, gq: Connection, loop: Loop, seed: int) -> None:
        self.gq = gq
        self.loop = loop
        self.random = Random(seed)
        self.found: list[list[int]] = []
        self.is_over = False

    def hire(self) -> Task:
        """A member begins."""
        return self.loop.start(self._work)

    async def _work(self) -> None:
        consumer = self.gq.group_consumer(
            "billing", "orders", session_timeout=timedelta(seconds=1), commit_interval=QUICK
        )
        dies = self.random.random() < 0.3
        async with consumer:
            for _ in range(self.random.randrange(1, 40)):
                if not await self.loop.within(self.loop.now() + SECOND_NS // 10, lambda: self._read(consumer)):
                    await self.loop.pause(SECOND_NS // 100)
            if dies:
                crash(consumer)

    async def _read(self, consumer: GroupConsumer) -> None:
        with suppress(StopAsyncIteration):
            batch = await consumer.next_batch()
            self.found.append([batch[0].partition, *(message.offset for message in batch)])
            if self.random.random() < 0.5:
                await self.loop.pause(self.random.randrange(20) * SECOND_NS // 1000)


@pytest.mark.parametrize(("kind", "seed"), [("trio", 1), ("asyncio", 2)])
def test_members_that_come_and_go_and_die_miss_nothing(kind: str, seed: int) -> None:
    async def test(gq: Connection, loop: Loop) -> None:
        partitions, count = range(6), 150
        await gq.topics.create("orders", partitions=6)
        shop = Shop(gq, loop, seed)
        publishing = loop.start(lambda: publish(gq, partitions, 0, count))
        for _ in range(4):
            members = [shop.hire() for _ in range(3)]
            for member in members:
                await member.wait()
        await publishing.wait()
        async with gq.group_consumer("billing", "orders", commit_interval=QUICK) as last:
            await assigned(loop, last, 6)
            while sum(offset or 0 for offset in await committed(gq)) < 6 * count:
                await loop.within(loop.now() + SECOND_NS // 10, lambda: shop._read(last))
        read = {(partition, offset) for partition, *offsets in shop.found for offset in offsets}
        assert read == {*every(partitions, 0, count)}

    connected(kind, test)
