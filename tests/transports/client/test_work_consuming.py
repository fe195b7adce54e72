"""Working through a topic as a member of a shared group, as a user sees it, on every loop."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest
import trio

import goqueue
from goqueue import errors
from goqueue.testing import Broker
from goqueue.transports.client.connection import Connection
from goqueue.transports.client.leased_message import LeasedMessage
from goqueue.transports.client.loops import SECOND_NS, Loop
from tests.transports.client.connected import connected, on_every_loop
from tests.transports.client.working import COUNT, NOW, SOON, fill, held, left, numbers, one, publish, settled, take
from tests.transports.client_loops.on_loops import until

# Short enough to be waited for, and long enough for a machine that is busy with other things.
SHORT = timedelta(milliseconds=1200)


@on_every_loop
def test_each_message_comes_once_and_is_settled(kind: str) -> None:
    async def test(gq: Connection, _loop: Loop) -> None:
        await fill(gq)
        async with gq.work_consumer("crew", "jobs") as consumer:
            messages = await take(consumer, COUNT)
            assert numbers(messages) == [*range(COUNT)]
            for message in messages:
                message.ack()
            assert consumer.held == 0
            await consumer.flush()
            assert await left(gq) == 0
        async with gq.work_consumer("crew", "jobs") as consumer:
            assert await consumer.next(SOON) is None

    connected(kind, test)


@on_every_loop
def test_two_members_share_and_two_groups_do_not(kind: str) -> None:
    async def test(gq: Connection, _loop: Loop) -> None:
        await fill(gq)
        crew = gq.work_consumer("crew", "jobs", prefetch=10)
        async with (
            crew,
            gq.work_consumer("crew", "jobs", prefetch=10) as mate,
            gq.work_consumer("audit", "jobs") as audit,
        ):
            found = [*await take(crew, 10), *await take(mate, 10)]
            for message in found:
                message.ack()
            assert len({*numbers(found)}) == 20
            assert numbers(await take(audit, COUNT)) == [*range(COUNT)]
        assert await left(gq, "audit") == COUNT
        assert await left(gq) == 10

    connected(kind, test)


@on_every_loop
def test_to_await_an_acknowledgement_is_to_know_that_it_was_taken(kind: str) -> None:
    async def test(gq: Connection, _loop: Loop) -> None:
        await fill(gq)
        async with gq.work_consumer("crew", "jobs") as consumer:
            for count in range(1, 4):
                settlement = (await one(consumer)).ack()
                await settlement
                assert settlement.done
                assert await left(gq) == COUNT - count

    connected(kind, test)


@on_every_loop
def test_messages_say_what_they_are(kind: str) -> None:
    async def test(gq: Connection, _loop: Loop) -> None:
        await gq.topics.create("jobs", partitions=1)
        begun = datetime.now(UTC)
        async with gq.producer() as producer:
            await producer.publish(
                "jobs", "wash", key="k", headers={"who": "me"}, priority="high", ttl=timedelta(hours=1)
            )
        async with gq.work_consumer("crew", "jobs", visibility_timeout=timedelta(minutes=2)) as consumer:
            message = await one(consumer)
            assert (message.topic, message.partition, message.offset) == ("jobs", 0, 0)
            assert (message.key, message.value, message.headers["who"]) == (b"k", b"wash", b"me")
            assert (message.priority, message.attempt) == ("high", 1)
            assert message.expires is not None
            assert timedelta(minutes=59) < message.expires - begun < timedelta(minutes=61)
            assert timedelta(minutes=1) < message.leased_until - begun < timedelta(minutes=3)

    connected(kind, test)


# --- what becomes of messages


@on_every_loop
def test_what_is_given_back_comes_again_with_its_attempts_counted(kind: str) -> None:
    async def test(gq: Connection, _loop: Loop) -> None:
        await fill(gq, 1, 1)
        async with gq.work_consumer("crew", "jobs") as consumer:
            for attempt in (1, 2, 3):
                message = await one(consumer)
                assert message.attempt == attempt
                await message.nack(delay=NOW, reason="not today")
            last = await one(consumer)
            last.ack()

    connected(kind, test)


@on_every_loop
def test_what_is_released_comes_again_and_was_not_tried(kind: str) -> None:
    async def test(gq: Connection, _loop: Loop) -> None:
        await fill(gq, 1, 1)
        async with gq.work_consumer("crew", "jobs") as consumer:
            await (await one(consumer)).release()
            again = await one(consumer)
            assert again.attempt == 1
            again.ack()

    connected(kind, test)


@on_every_loop
def test_what_is_rejected_does_not_come_again(kind: str) -> None:
    async def test(gq: Connection, _loop: Loop) -> None:
        await fill(gq, 1, 2)
        async with gq.work_consumer("crew", "jobs") as consumer:
            first, second = await take(consumer, 2)
            await first.reject("no use")
            second.ack()
            await consumer.flush()
            assert await consumer.next(SOON) is None

    connected(kind, test)


@on_every_loop
def test_a_lease_that_is_over_is_told_of_when_the_message_is_settled(kind: str) -> None:
    async def test(gq: Connection, _loop: Loop) -> None:
        await fill(gq, 1, 1)
        async with gq.work_consumer("crew", "jobs", visibility_timeout=SHORT) as consumer:
            first = await one(consumer)
            again = await one(consumer)
            assert (first.offset, again.attempt) == (again.offset, 2)
            with pytest.raises(errors.ReceiptExpired):
                await first.ack()
            await again.ack()

    connected(kind, test)


@on_every_loop
def test_refusals_that_nobody_looked_at_are_raised_at_the_end(kind: str) -> None:
    async def test(gq: Connection, _loop: Loop) -> None:
        await fill(gq, 1, 1)

        async def work() -> None:
            async with gq.work_consumer("crew", "jobs", visibility_timeout=SHORT) as consumer:
                first = await one(consumer)
                (await one(consumer)).ack()
                first.ack()
                with pytest.raises(errors.Unsettled):
                    await consumer.flush()
                first.nack()

        with pytest.raises(errors.Unsettled) as raised:
            await work()
        assert raised.value.count == 1
        assert isinstance(raised.value.first, errors.ReceiptExpired | errors.AlreadySettled)

    connected(kind, test)


@on_every_loop
def test_a_second_word_about_a_message_is_the_brokers_to_refuse(kind: str) -> None:
    async def test(gq: Connection, _loop: Loop) -> None:
        await fill(gq, 1, 1)
        async with gq.work_consumer("crew", "jobs") as consumer:
            message = await one(consumer)
            await message.ack()
            await message.ack()
            with pytest.raises(errors.AlreadySettled):
                await message.nack()
            assert consumer.held == 0

    connected(kind, test)


@on_every_loop
def test_to_extend_a_lease_by_hand(kind: str) -> None:
    async def test(gq: Connection, loop: Loop) -> None:
        await fill(gq, 1, 1)
        async with gq.work_consumer("crew", "jobs", visibility_timeout=SHORT) as consumer:
            message = await one(consumer)
            await message.extend(timedelta(minutes=1))
            await loop.pause(SECOND_NS * 3 // 2)
            await message.ack()
            assert await left(gq) == 0

    connected(kind, test)


# --- processing


@on_every_loop
def test_a_block_acknowledges_or_gives_back_and_lets_the_error_pass(kind: str) -> None:
    async def test(gq: Connection, _loop: Loop) -> None:
        await fill(gq, 1, 2, retry_backoff="10ms")
        async with gq.work_consumer("crew", "jobs") as consumer:
            first = await one(consumer)
            with pytest.raises(ZeroDivisionError):
                async with first.processing():
                    raise ZeroDivisionError("\ud800" * 2000)
            async with (await one(consumer)).processing():
                pass
            again = await one(consumer)
            assert (again.offset, again.attempt) == (first.offset, 2)
            async with again.processing():
                pass
            await consumer.flush()
            assert await left(gq) == 0

    connected(kind, test)


@on_every_loop
def test_a_block_prolongs_the_lease_for_as_long_as_it_lasts(kind: str) -> None:
    async def test(gq: Connection, loop: Loop) -> None:
        await fill(gq, 1, 1)
        async with gq.work_consumer("crew", "jobs", visibility_timeout=SHORT) as consumer:
            message = await one(consumer)
            async with message.processing() as work:
                await loop.pause(3 * SECOND_NS)
            assert not work.lost
            await consumer.flush()
            assert await left(gq) == 0
            assert await consumer.next(SOON) is None

    connected(kind, test)


@on_every_loop
def test_what_is_settled_in_a_block_stays_so(kind: str) -> None:
    async def test(gq: Connection, _loop: Loop) -> None:
        await fill(gq, 1, 2)
        async with gq.work_consumer("crew", "jobs") as consumer:
            async with (await one(consumer)).processing() as work:
                assert not work.lost
            message = await one(consumer)
            async with message.processing():
                await message.nack(delay=NOW)
            await consumer.flush()
            assert await left(gq) == 1
            again = await one(consumer)
            assert (again.offset, again.attempt) == (message.offset, 2)
            again.ack()

    connected(kind, test)


# --- by itself


@on_every_loop
def test_a_consumer_that_acknowledges_by_itself_does_so_when_the_next_one_is_asked_for(kind: str) -> None:
    async def test(gq: Connection, _loop: Loop) -> None:
        await fill(gq, 1, 4)
        async with gq.work_consumer("crew", "jobs", ack="nack_on_error") as consumer:
            await take(consumer, 3)
            await settled(gq, 2)
        assert await left(gq) == 1
        with suppress(ZeroDivisionError):
            async with gq.work_consumer("crew", "jobs", ack="nack_on_error") as consumer:
                assert (await one(consumer)).attempt == 1
                _ = 1 / 0
        async with gq.work_consumer("crew", "jobs", ack="ack_first") as consumer:
            assert (await one(consumer)).attempt == 2
            await settled(gq, 0)

    connected(kind, test)


# --- leaving


@on_every_loop
def test_leaving_hands_back_what_was_not_begun_and_attempts_do_not_count(kind: str) -> None:
    async def test(gq: Connection, loop: Loop) -> None:
        await fill(gq)
        async with gq.work_consumer("crew", "jobs") as consumer:
            for message in await take(consumer, 7):
                message.ack()
            await held(loop, consumer, COUNT - 7)
        async with gq.work_consumer("crew", "jobs") as consumer:
            rest = await take(consumer, COUNT - 7)
            assert {message.attempt for message in rest} == {1}
            assert len({(message.partition, message.offset) for message in rest}) == COUNT - 7

    connected(kind, test)


@on_every_loop
def test_leaving_by_an_error_counts_what_was_begun_as_failed(kind: str) -> None:
    async def test(gq: Connection, _loop: Loop) -> None:
        await fill(gq, 1, 3, retry_backoff="10ms")
        with suppress(ZeroDivisionError):
            async with gq.work_consumer("crew", "jobs") as consumer:
                await one(consumer)
                _ = 1 / 0
        async with gq.work_consumer("crew", "jobs") as consumer:
            found = await take(consumer, 3)
            assert sorted((message.offset, message.attempt) for message in found) == [(0, 2), (1, 1), (2, 1)]

    connected(kind, test)


@on_every_loop
def test_whoever_is_cancelled_hands_back_without_waiting(kind: str) -> None:
    async def test(gq: Connection, loop: Loop) -> None:
        await fill(gq, 1, 5)
        begun: list[LeasedMessage] = []

        async def work() -> None:
            async with gq.work_consumer("crew", "jobs") as consumer:
                (await one(consumer)).ack()
                message = await one(consumer)
                async with message.processing():
                    begun.append(message)
                    await loop.parking().wait()

        working = loop.start(work)
        await until(loop, lambda: bool(begun))
        working.cancel()
        await working.wait()
        async with gq.work_consumer("crew", "jobs") as consumer:
            found = await take(consumer, 4)
            assert [(message.offset, message.attempt) for message in found] == [(1, 1), (2, 1), (3, 1), (4, 1)]

    connected(kind, test)


@pytest.mark.parametrize("runner", [trio.run, lambda work: asyncio.run(work())])
def test_a_program_that_is_interrupted_hands_back_what_it_had(runner: Callable[..., None]) -> None:
    async def work(address: str) -> None:
        async with goqueue.connect(address) as gq, gq.work_consumer("crew", "jobs") as consumer:
            (await one(consumer)).ack()
            raise KeyboardInterrupt

    async def look(address: str) -> None:
        async with goqueue.connect(address) as gq, gq.work_consumer("crew", "jobs") as consumer:
            found = await take(consumer, 4)
            assert [(message.offset, message.attempt) for message in found] == [(1, 1), (2, 1), (3, 1), (4, 1)]

    async def prepare(address: str) -> None:
        async with goqueue.connect(address) as gq:
            await fill(gq, 1, 5)

    with Broker() as broker:
        runner(partial(prepare, broker.address))
        with pytest.raises(KeyboardInterrupt):
            runner(partial(work, broker.address))
        runner(partial(look, broker.address))


@on_every_loop
def test_what_waits_for_too_long_is_handed_back_to_whoever_has_time(kind: str) -> None:
    async def test(gq: Connection, loop: Loop) -> None:
        await fill(gq, 1, 5)
        async with gq.work_consumer("slow", "jobs", visibility_timeout=timedelta(seconds=3), prefetch=5) as slow:
            first = await one(slow)
            async with first.processing():
                await until(loop, lambda: slow._session.handed_back >= 4)
            await slow.flush()
            rest = await take(slow, 4)
            assert {message.attempt for message in rest} == {1}

    connected(kind, test)


@on_every_loop
def test_memory_is_bounded_by_bytes_as_well(kind: str) -> None:
    async def test(gq: Connection, loop: Loop) -> None:
        await gq.topics.create("jobs")
        async with gq.producer(batch_bytes=1, linger=NOW) as producer:
            for _ in range(20):
                await producer.publish("jobs", bytes(10_000))
        async with gq.work_consumer("crew", "jobs", prefetch_bytes=30_000) as consumer:
            await until(loop, lambda: consumer.held > 0)
            await loop.pause(SECOND_NS // 20)
            assert consumer.held <= 4
            found: list[LeasedMessage] = []
            while len(found) < 20:
                found.append(await one(consumer))
                found[-1].ack()

    connected(kind, test)


@on_every_loop
def test_new_messages_come_to_whoever_waits(kind: str) -> None:
    async def test(gq: Connection, loop: Loop) -> None:
        await fill(gq, 1, 0)
        async with gq.work_consumer("crew", "jobs") as consumer:
            found: list[LeasedMessage] = []

            async def read() -> None:
                async for message in consumer:
                    found.append(message)
                    message.ack()

            tasks = [loop.start(read) for _ in range(3)]
            await publish(gq, 1, 0, 10)
            await until(loop, lambda: len(found) == 10)
            consumer.stop()
            for task in tasks:
                await task.wait()
        assert await left(gq) == 0

    connected(kind, test)


# --- what makes no sense


@on_every_loop
def test_a_group_that_is_exclusive_cannot_be_shared(kind: str) -> None:
    async def test(gq: Connection, _loop: Loop) -> None:
        await fill(gq)
        async with gq.group_consumer("crew", "jobs"):
            with pytest.raises(errors.WrongMode):
                async with gq.work_consumer("crew", "jobs"):
                    pass

    connected(kind, test)


def test_options_that_make_no_sense_are_refused_at_once() -> None:
    async def test(gq: Connection, _loop: Loop) -> None:
        for options in (
            {"prefetch": 0},
            {"prefetch_bytes": 0},
            {"visibility_timeout": timedelta(0)},
            {"visibility_timeout": timedelta(days=1)},
            {"session_timeout": timedelta(0)},
            {"start": "yesterday"},
            {"ack": "perhaps"},
        ):
            with pytest.raises(ValueError, match=r".+"):
                gq.work_consumer("crew", "jobs", **options)
        with pytest.raises(ValueError, match="at least one"):
            gq.work_consumer("crew")
        for wrong in ({"visibility_timeout": 30}, {"prefetch": 1.5}, {"client_id": b"me"}, {"max_attempts": object()}):
            with pytest.raises(TypeError):
                gq.work_consumer("crew", "jobs", **wrong)
        with pytest.raises(TypeError):
            gq.work_consumer(7, "jobs")  # type: ignore[arg-type]

    connected("trio", test)


def test_delays_and_reasons_that_make_no_sense_are_refused_at_once() -> None:
    async def test(gq: Connection, _loop: Loop) -> None:
        await fill(gq, 1, 1)
        async with gq.work_consumer("crew", "jobs") as consumer:
            message = await one(consumer)
            for delay in (timedelta(seconds=-1), timedelta(days=400)):
                with pytest.raises(ValueError, match="delay"):
                    message.nack(delay)
            with pytest.raises(TypeError):
                message.nack(5)  # type: ignore[arg-type]
            with pytest.raises(ValueError, match="1000 characters"):
                message.reject("x" * 1001)
            with pytest.raises(UnicodeEncodeError):
                message.nack(reason="\ud800")
            for span in (0, -1, timedelta(days=1)):
                with pytest.raises(ValueError, match="span"):
                    message.extend(span)
            assert not message.is_settled
            message.ack()

    connected("trio", test)
