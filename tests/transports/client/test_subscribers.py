"""Functions that are called with messages, on loops: policies, workers, and how it ends."""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest
import trio

import goqueue
from goqueue import errors
from goqueue.testing import Broker
from goqueue.transports.client.connection import Connection
from goqueue.transports.client.leased_message import LeasedMessage
from goqueue.transports.client.loops import SECOND_NS, Loop
from tests.transports.client.connected import connected, on_every_loop
from tests.transports.client.working import COUNT, fill, left, one, settled
from tests.transports.client_loops.on_loops import SECONDS_MAX, until


@on_every_loop
def test_all_messages_are_worked_on_by_as_many_workers_as_there_are(kind: str) -> None:
    async def test(gq: Connection, loop: Loop) -> None:
        await fill(gq)
        found: list[int] = []
        busy, most = 0, 0

        @gq.subscriber("jobs", group="crew", workers=5)
        async def work(message: LeasedMessage) -> None:
            nonlocal busy, most
            busy += 1
            most = max(most, busy)
            await loop.pause(SECOND_NS // 500)
            busy -= 1
            found.append(int(message.value or b""))
            if len(found) == COUNT:
                gq.stop()

        await gq.run()
        assert sorted(found) == [*range(COUNT)]
        assert most == 5
        assert await left(gq) == 0

    connected(kind, test)


POLICIES = {
    "ack": (1, 0),
    "ack_first": (1, 0),
    "nack_on_error": (3, 0),
    "reject_on_error": (1, 0),
}


@pytest.mark.parametrize("policy", POLICIES)
def test_what_becomes_of_a_message_whose_function_fails(policy: str) -> None:
    async def test(gq: Connection, loop: Loop) -> None:
        await fill(gq, 1, 1, retry_backoff="10ms")
        attempts: list[int] = []

        @gq.subscriber("jobs", group="crew", ack=policy)
        async def work(message: LeasedMessage) -> None:
            attempts.append(message.attempt)
            if message.attempt < 3:
                raise ValueError("no")

        running = loop.start(gq.run)
        calls, rest = POLICIES[policy]
        await until(loop, lambda: len(attempts) == calls)
        await settled(gq, rest)
        gq.stop()
        await running.wait()
        assert attempts == [*range(1, calls + 1)]

    connected("trio", test)


def test_a_policy_that_says_nothing_leaves_it_to_the_function() -> None:
    async def test(gq: Connection, loop: Loop) -> None:
        await fill(gq, 1, 2)
        seen: list[int] = []

        @gq.subscriber("jobs", group="crew", ack=goqueue.AckPolicy.MANUAL)
        async def work(message: LeasedMessage) -> None:
            seen.append(message.offset)
            if message.offset == 0:
                await message.ack()

        running = loop.start(gq.run)
        await until(loop, lambda: len(seen) == 2)
        gq.stop()
        await running.wait()
        assert await left(gq) == 1

    connected("trio", test)


@on_every_loop
def test_what_was_begun_is_finished_and_what_was_not_is_handed_back(kind: str) -> None:
    async def test(gq: Connection, loop: Loop) -> None:
        await fill(gq)
        begun: list[int] = []
        finished: list[int] = []

        @gq.subscriber("jobs", group="crew", workers=3)
        async def work(message: LeasedMessage) -> None:
            begun.append(message.offset)
            await loop.pause(SECOND_NS // 5)
            finished.append(message.offset)

        running = loop.start(gq.run)
        await until(loop, lambda: len(begun) == 3)
        running.cancel()
        await running.wait()
        assert len(finished) == 3
        assert await left(gq) == COUNT - 3
        async with gq.work_consumer("crew", "jobs") as consumer:
            assert (await one(consumer)).attempt == 1

    connected(kind, test)


@on_every_loop
def test_what_is_not_finished_in_time_is_interrupted_and_handed_back(kind: str) -> None:
    async def test(gq: Connection, loop: Loop) -> None:
        await fill(gq, 1, 1)
        begun: list[int] = []
        finished: list[int] = []

        @gq.subscriber("jobs", group="crew")
        async def work(message: LeasedMessage) -> None:
            begun.append(message.attempt)
            await loop.pause(SECONDS_MAX * SECOND_NS)
            finished.append(message.offset)

        async def run() -> None:
            await gq.run(grace=timedelta(milliseconds=20))

        running = loop.start(run)
        await until(loop, lambda: len(begun) == 1)
        gq.stop()
        await running.wait()
        assert not finished
        async with gq.work_consumer("crew", "jobs") as consumer:
            assert (await one(consumer)).attempt == 1

    connected(kind, test)


def on_trio(test: Callable[[Connection], Awaitable[None]]) -> None:
    with Broker() as broker:

        async def run() -> None:
            with trio.fail_after(SECONDS_MAX):
                async with goqueue.connect(broker.address) as gq:
                    await test(gq)

        trio.run(run)


def on_asyncio(test: Callable[[Connection], Awaitable[None]]) -> None:
    with Broker() as broker:

        async def run() -> None:
            async with asyncio.timeout(SECONDS_MAX), goqueue.connect(broker.address) as gq:
                await test(gq)

        asyncio.run(run())


@pytest.mark.parametrize("runner", [on_trio, on_asyncio])
def test_sigterm_stops_it_in_order(runner: Callable[[Callable[[Connection], Awaitable[None]]], None]) -> None:
    async def test(gq: Connection) -> None:
        await fill(gq)
        finished: list[int] = []

        @gq.subscriber("jobs", group="crew")
        async def work(message: LeasedMessage) -> None:
            if not finished:
                os.kill(os.getpid(), signal.SIGTERM)
                await gq._brokers.loop.pause(SECOND_NS // 10)
            finished.append(message.offset)

        await gq.run()
        assert len(finished) == 1
        assert await left(gq) == COUNT - 1

    runner(test)


@on_every_loop
def test_a_group_that_cannot_be_joined_ends_it(kind: str) -> None:
    async def test(gq: Connection, _loop: Loop) -> None:
        await fill(gq)

        @gq.subscriber("jobs", group="crew")
        async def work(_message: LeasedMessage) -> None: ...

        async with gq.group_consumer("crew", "jobs"):
            with pytest.raises(errors.WrongMode):
                await gq.run()

    connected(kind, test)


def test_what_cannot_be_registered() -> None:
    async def test(gq: Connection, _loop: Loop) -> None:
        def plain(_message: LeasedMessage) -> None: ...

        with pytest.raises(TypeError, match="async function"):
            gq.subscriber("jobs", group="crew")(plain)
        with pytest.raises(ValueError, match="workers"):
            gq.subscriber("jobs", group="crew", workers=0)
        with pytest.raises(ValueError, match="prefetch"):
            gq.subscriber("jobs", group="crew", prefetch=0)
        with pytest.raises(ValueError, match="perhaps"):
            gq.subscriber("jobs", group="crew", ack="perhaps")
        with pytest.raises(RuntimeError, match="registered"):
            await gq.run()

    connected("trio", test)
