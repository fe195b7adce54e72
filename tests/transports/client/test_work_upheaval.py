"""Work queues while connections break and brokers are restarted or killed: every job is done, and nothing is silent."""

from contextlib import AsyncExitStack, suppress
from datetime import timedelta
from pathlib import Path

import pytest

from goqueue import errors
from goqueue.proto import v1
from goqueue.testing import Broker
from goqueue.transports.client.connection import Connection, connect
from goqueue.transports.client.loops import SECOND_NS, Loop
from goqueue.transports.client.work_consumer import WorkConsumer
from tests.transports.client.broker_process import broker_process
from tests.transports.client.connected import on_every_loop
from tests.transports.client.working import COUNT, PATIENT, SOON, fill, held, left, numbers, one, take
from tests.transports.client_loops.on_loops import Cable, drive, raw_server, until


@on_every_loop
def test_a_broker_that_comes_back_finds_its_members_and_their_leases(kind: str) -> None:
    broker = Broker()

    async def test(loop: Loop) -> None:
        gq = connect(broker.address).connection(loop)
        await gq.open()
        await fill(gq)
        async with gq.work_consumer("crew", "jobs", prefetch=10) as consumer:
            found = await take(consumer, 7)
            member_id = consumer.member_id
            broker.__exit__()
            settlements = [message.ack() for message in found]
            broker.__enter__()
            for settlement in settlements:
                await settlement
            while len(found) < COUNT:
                found.append(await one(consumer))
                found[-1].ack()
            await consumer.flush()
            assert consumer.member_id == member_id
        assert numbers(found) == [*range(COUNT)]
        assert {message.attempt for message in found} == {1}
        assert await left(gq) == 0
        await gq.close()

    broker.__enter__()
    try:
        drive(kind, test)
    finally:
        broker.__exit__()


def test_a_broker_that_is_killed_delivers_nothing_again_that_was_acknowledged(tmp_path: Path) -> None:
    with broker_process(tmp_path) as process:

        async def test(loop: Loop) -> None:
            gq = connect(process.address).connection(loop)
            await gq.open()
            await fill(gq)
            done: set[int] = set()
            # What was on its way to a member when the broker was killed comes again once its lease is over.
            spell = timedelta(seconds=8)
            async with gq.work_consumer("crew", "jobs", prefetch=10, visibility_timeout=spell) as consumer:
                begun = 0
                while len(done) < COUNT:
                    message = await one(consumer)
                    number = int(message.value or b"")
                    assert number not in done
                    begun += 1
                    with suppress(errors.ReceiptExpired):
                        await message.ack()
                        done.add(number)
                    if begun in (4, 17):
                        process.kill()
                        process.start()
            assert done == {*range(COUNT)}
            assert await left(gq) == 0
            await gq.close()

        drive("trio", test)


def test_a_connection_that_is_cut_costs_nothing() -> None:
    async def test(loop: Loop) -> None:
        direct = connect(broker.address).connection(loop)
        await direct.open()
        await fill(direct)
        cable = Cable(broker.address)
        async with AsyncExitStack() as stack:
            with raw_server(cable.converse) as address:
                gq = connect(f"{address},{broker.address}").connection(loop)
                await gq.open()
                consumer = await stack.enter_async_context(gq.work_consumer("crew", "jobs", prefetch=10))
                await held(loop, consumer, 10)
                found = await take(consumer, 3)
                cable.cut()
            while len(found) < COUNT:
                found.append(await one(consumer))
                found[-1].ack()
            for message in found[:3]:
                message.ack()
            await consumer.flush()
        assert numbers(found) == [*range(COUNT)]
        assert await left(direct) == 0
        await gq.close()
        await direct.close()

    with Broker() as broker:
        drive("asyncio", test)


@on_every_loop
def test_a_member_that_the_group_forgot_is_told_so_by_what_it_settles(kind: str) -> None:
    async def work(gq: Connection, loop: Loop, consumer: WorkConsumer) -> None:
        first = await one(consumer)
        member_id = consumer.member_id
        # The session ends as if the broker had heard nothing: its group is left in the member's name.
        await leave(gq, member_id)
        await until(loop, lambda: consumer.member_id != member_id)
        with pytest.raises(errors.ReceiptExpired):
            await first.ack()
        rest = await take(consumer, COUNT)
        for message in rest:
            message.ack()
        assert numbers(rest) == [*range(COUNT)]

    async def test(loop: Loop) -> None:
        with Broker() as broker:
            gq = connect(broker.address).connection(loop)
            await gq.open()
            await fill(gq)
            async with gq.work_consumer("crew", "jobs") as consumer:
                await work(gq, loop, consumer)
            await gq.close()

    drive(kind, test)


async def leave(gq: Connection, member_id: str) -> None:
    """Take a member out of the group, as an operator might."""
    await gq._brokers.call("Groups/Leave", v1.LeaveRequest("crew", member_id), v1.LeaveReply)


def test_a_consumer_whose_topic_goes_says_so_or_waits() -> None:
    async def test(loop: Loop) -> None:
        with Broker() as broker:
            gq = connect(broker.address).connection(loop)
            await gq.open()
            await fill(gq, 1, 2)
            async with gq.work_consumer("crew", "jobs") as consumer:
                message = await one(consumer)
                await gq.topics.delete("jobs")
                with pytest.raises((errors.ReceiptExpired, errors.TopicNotFound, errors.ReceiptInvalid)):
                    await message.ack()
                rest = await consumer.next(SOON)
                assert rest is None or rest.offset == 1
            await gq.close()

    drive("trio", test)


def test_leaving_while_nobody_answers_ends_in_time(tmp_path: Path) -> None:
    with broker_process(tmp_path) as process:

        async def test(loop: Loop) -> None:
            gq = connect(process.address, timeout=timedelta(seconds=1)).connection(loop)
            await gq.open()
            await fill(gq)
            begun = 0

            async def work() -> None:
                nonlocal begun
                async with gq.work_consumer("crew", "jobs") as consumer:
                    message = await one(consumer)
                    process.kill()
                    message.ack()
                    begun = loop.now()

            with pytest.raises(errors.Unsettled):
                await work()
            assert loop.now() - begun < 20 * SECOND_NS
            await gq.close()

        drive("trio", test)


def test_an_address_where_nobody_is_ends_the_wait_for_messages_only_when_asked() -> None:
    async def test(loop: Loop) -> None:
        broker = Broker()
        broker.__enter__()
        gq = connect(broker.address).connection(loop)
        await gq.open()
        await fill(gq, 1, 1)
        async with gq.work_consumer("crew", "jobs") as consumer:
            (await one(consumer)).ack()
            await consumer.flush()
            broker.__exit__()
            assert await consumer.next(SOON) is None
            broker.__enter__()
            async with gq.producer() as producer:
                await producer.publish("jobs", b"7")
            message = await consumer.next(PATIENT)
            assert message is not None
            await message.ack()
        await gq.close()
        broker.__exit__()

    drive("trio", test)
