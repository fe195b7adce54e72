"""Messages that are delivered later: published, looked at, called off and put off, as a user sees it."""

from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest

from goqueue import errors
from goqueue.transports.client.connection import Connection
from goqueue.transports.client.loops import Loop
from goqueue.transports.client.messages import Message
from goqueue.transports.client.producer import Pending
from tests.transports.client.connected import connected, on_every_loop
from tests.transports.client.working import PATIENT, one
from tests.transports.client_loops.on_loops import until

LATER, SOON, NOW = timedelta(hours=1), timedelta(milliseconds=150), timedelta(0)


async def ready(gq: Connection) -> None:
    await gq.topics.create("jobs", partitions=2)


@on_every_loop
def test_a_message_with_a_delay_comes_when_it_is_due_and_no_sooner(kind: str) -> None:
    async def test(gq: Connection, _loop: Loop) -> None:
        await ready(gq)
        async with gq.work_consumer("crew", "jobs") as consumer, gq.producer() as producer:
            begun = datetime.now(UTC)
            published = await producer.publish(
                "jobs", b"later", key="k", headers={"a": "b"}, delay=SOON, priority="high", partition=1
            )
            assert published.deliver_at is not None
            assert published.deliver_at - begun >= timedelta(milliseconds=149)
            assert published.partition == 1
            message = await one(consumer)
            assert datetime.now(UTC) >= published.deliver_at
            assert (message.key, message.value, message.headers["a"]) == (b"k", b"later", b"b")
            assert (message.priority, message.partition) == ("high", 1)
            message.ack()

    connected(kind, test)


@on_every_loop
def test_those_that_are_due_already_come_at_once(kind: str) -> None:
    async def test(gq: Connection, _loop: Loop) -> None:
        await ready(gq)
        async with gq.producer() as producer:
            past = datetime(2001, 1, 1, tzinfo=UTC)
            published = await producer.publish("jobs", b"1", deliver_at=past, partition=0)
            assert (published.deliver_at, published.timestamp) == (past, past)
            await producer.publish("jobs", b"2", delay=NOW, partition=0)
        async with gq.consumer("jobs", start="earliest", partitions=0) as consumer:
            found: list[Message] = [await anext(consumer), await anext(consumer)]
            assert [message.value for message in found] == [b"1", b"2"]

    connected(kind, test)


@on_every_loop
def test_many_travel_together_and_leaving_waits_for_them(kind: str) -> None:
    async def test(gq: Connection, _loop: Loop) -> None:
        await ready(gq)
        async with gq.producer(linger=timedelta(seconds=5)) as producer:
            pendings = [await producer.send("jobs", b"%d" % number, delay=LATER) for number in range(1200)]
            assert not pendings[-1].done
            assert producer.buffered_bytes > 1200
        assert producer.buffered_bytes == 0
        assert len({(each.result().partition, each.result().offset) for each in pendings}) == 1200
        assert (await gq.delayed.list("jobs", limit=1)).count == 1200

    connected(kind, test)


@on_every_loop
def test_they_are_listed_shown_put_off_and_called_off(kind: str) -> None:
    async def test(gq: Connection, _loop: Loop) -> None:
        await ready(gq)
        async with gq.producer() as producer:
            first = await producer.publish("jobs", b"first", key="k", headers={"h": b"v"}, delay=LATER)
            second = await producer.publish("jobs", b"second", delay=2 * LATER)
        page = await gq.delayed.list("jobs", limit=1)
        assert (page.count, len(page.messages)) == (2, 1)
        assert (page.messages[0].partition, page.messages[0].offset) == (first.partition, first.offset)
        assert page.messages[0].value is None
        found = [message.offset async for message in gq.delayed.all("jobs")]
        assert found == [first.offset, second.offset]
        shown = await gq.delayed.get("jobs", first.partition, first.offset)
        assert (shown.key, shown.value, shown.headers, shown.priority) == (b"k", b"first", {"h": b"v"}, "normal")
        assert shown.deliver_at == first.deliver_at
        moved = await gq.delayed.reschedule("jobs", first.partition, first.offset, delay=3 * LATER)
        assert moved.deliver_at > shown.deliver_at
        assert [message.deliver_at for message in (await gq.delayed.list("jobs")).messages] == [
            second.deliver_at,
            moved.deliver_at,
        ]
        await gq.delayed.cancel("jobs", moved.partition, moved.offset)
        with pytest.raises(errors.DelayedNotFound):
            await gq.delayed.get("jobs", moved.partition, moved.offset)
        with pytest.raises(errors.DelayedNotFound):
            await gq.delayed.cancel("jobs", moved.partition, moved.offset)
        assert (await gq.delayed.list("jobs")).count == 1

    connected(kind, test)


def test_one_that_is_put_forward_comes_at_once() -> None:
    async def test(gq: Connection, _loop: Loop) -> None:
        await ready(gq)
        async with gq.producer() as producer, gq.work_consumer("crew", "jobs") as consumer:
            published = await producer.publish("jobs", b"x", delay=LATER)
            await gq.delayed.reschedule("jobs", published.partition, published.offset, deliver_at=datetime.now(UTC))
            message = await consumer.next(PATIENT)
            assert message is not None
            await message.ack()

    connected("trio", test)


def test_failures_are_told_to_whoever_asks_and_else_at_the_end() -> None:
    async def test(gq: Connection, _loop: Loop) -> None:
        await ready(gq)
        async with gq.producer() as producer:
            with pytest.raises(errors.TopicNotFound):
                await producer.publish("nothing", b"x", delay=LATER)
            with pytest.raises(errors.PartitionNotFound):
                await producer.publish("jobs", b"x", delay=LATER, partition=7)
        async with gq.producer() as producer:
            await producer.publish("jobs", b"x", delay=LATER)
            await gq.topics.alter("jobs", {"max_message_bytes": 2000})
            await producer.send("jobs", bytes(4000), delay=LATER)
            await producer.send("jobs", b"x", delay=LATER)
            with pytest.raises(errors.Unpublished) as raised:
                await producer.flush()
            assert (raised.value.count, raised.value.is_outcome_unknown) == (1, False)

    connected("trio", test)


def test_what_makes_no_sense_is_refused_at_once() -> None:
    async def test(gq: Connection, _loop: Loop) -> None:
        await ready(gq)
        async with gq.producer() as producer:
            for options in (
                {"delay": timedelta(seconds=-1)},
                {"delay": LATER, "deliver_at": datetime.now(UTC)},
                {"deliver_at": datetime(2030, 1, 1)},  # noqa: DTZ001 - a time without a zone is the point
                {"deliver_at": datetime(1969, 1, 1, tzinfo=UTC)},
                {"ttl": NOW},
                {"ttl": timedelta(seconds=-1)},
                {"delay": LATER, "ttl": NOW},
            ):
                with pytest.raises(ValueError, match=r".+"):
                    await producer.send("jobs", b"x", **options)
            with pytest.raises(TypeError):
                await producer.send("jobs", b"x", delay=5)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="delivered"):
            await gq.delayed.reschedule("jobs", 0, 0)
        with pytest.raises(ValueError, match="known by"):
            await gq.delayed.get("jobs", -1, 0)
        with pytest.raises(ValueError, match="limit"):
            await gq.delayed.list("jobs", limit=0)

    connected("trio", test)


def test_a_producer_that_is_left_by_an_error_drops_what_was_not_sent() -> None:
    async def test(gq: Connection, loop: Loop) -> None:
        await ready(gq)
        pendings: list[Pending] = []
        with suppress(ZeroDivisionError):
            async with gq.producer(linger=LATER) as producer:
                pendings.append(await producer.send("jobs", b"x", delay=LATER))
                _ = 1 / 0
        (pending,) = pendings
        await until(loop, lambda: pending.done)
        with pytest.raises(errors.Dropped):
            pending.result()

    connected("trio", test)


def test_a_full_buffer_is_waited_for() -> None:
    async def test(gq: Connection, _loop: Loop) -> None:
        await ready(gq)
        async with gq.producer(buffer_bytes=20_000, batch_bytes=1000) as producer:
            for _ in range(100):
                await producer.send("jobs", bytes(1000), delay=LATER)
                assert producer.buffered_bytes < 22_000
        assert (await gq.delayed.list("jobs", limit=1)).count == 100

    connected("trio", test)
