"""The rules that code above the seam leans on, the same on every loop."""

import asyncio

import pytest

from goqueue.transports.client.loops import SECOND_NS, Loop, running_loop
from tests.transports.client_loops.on_loops import drive, on_every_loop, until

LONG_NS = 3600 * SECOND_NS
SHORT_NS = SECOND_NS // 100


@on_every_loop
def test_a_wake_up_wakes_all_who_wait(kind: str) -> None:
    async def test(loop: Loop) -> None:
        parking = loop.parking()
        woken: list[int] = []
        waiting = 0

        async def wait(number: int) -> None:
            nonlocal waiting
            waiting += 1
            await parking.wait()
            woken.append(number)

        tasks = [loop.start(lambda number=number: wait(number)) for number in range(5)]  # type: ignore[misc]
        await until(loop, lambda: waiting == 5)
        assert woken == []
        parking.wake()
        for task in tasks:
            await task.wait()
        assert sorted(woken) == [0, 1, 2, 3, 4]
        assert not await loop.within(loop.now() + SHORT_NS, parking.wait), "nothing is left over"

    drive(kind, test)


@on_every_loop
def test_a_wake_up_that_nobody_waited_for_is_kept_once(kind: str) -> None:
    async def test(loop: Loop) -> None:
        parking = loop.parking()
        parking.wake()
        parking.wake()
        assert await loop.within(loop.now() + LONG_NS, parking.wait)
        assert not await loop.within(loop.now() + SHORT_NS, parking.wait)

    drive(kind, test)


@on_every_loop
def test_who_gave_up_waiting_is_woken_no_more(kind: str) -> None:
    async def test(loop: Loop) -> None:
        parking = loop.parking()
        assert not await loop.within(loop.now() + SHORT_NS, parking.wait)
        parking.wake()
        assert await loop.within(loop.now() + LONG_NS, parking.wait), "the wake-up was for whoever came next"

    drive(kind, test)


@on_every_loop
def test_a_deadline_cuts_work_short_and_lets_it_tidy_up(kind: str) -> None:
    async def test(loop: Loop) -> None:
        tidied: list[str] = []

        async def work() -> None:
            try:
                await loop.pause(LONG_NS)
            finally:
                tidied.append("yes")

        begun = loop.now()
        assert not await loop.within(begun + SHORT_NS, work)
        assert loop.now() >= begun + SHORT_NS
        assert tidied == ["yes"]

    drive(kind, test)


@on_every_loop
def test_work_that_is_done_in_time_is_done(kind: str) -> None:
    async def test(loop: Loop) -> None:
        async def work() -> None:
            await loop.pause(SHORT_NS)

        assert await loop.within(loop.now() + LONG_NS, work)

    drive(kind, test)


@on_every_loop
def test_the_nearer_of_two_deadlines_decides(kind: str) -> None:
    async def test(loop: Loop) -> None:
        inner: list[bool] = []

        async def outer_is_nearer() -> None:
            inner.append(await loop.within(loop.now() + LONG_NS, lambda: loop.pause(LONG_NS)))

        async def inner_is_nearer() -> None:
            inner.append(await loop.within(loop.now() + SHORT_NS, lambda: loop.pause(LONG_NS)))

        assert not await loop.within(loop.now() + SHORT_NS, outer_is_nearer)
        assert inner == []
        assert await loop.within(loop.now() + LONG_NS, inner_is_nearer)
        assert inner == [False]

    drive(kind, test)


@on_every_loop
def test_an_error_comes_out_of_what_has_a_deadline(kind: str) -> None:
    async def test(loop: Loop) -> None:
        async def work() -> None:
            raise TimeoutError("one of its own")

        with pytest.raises(TimeoutError, match="one of its own"):
            await loop.within(loop.now() + LONG_NS, work)

    drive(kind, test)


@on_every_loop
def test_many_deadlines_that_were_not_needed_leave_nothing_behind(kind: str) -> None:
    async def test(loop: Loop) -> None:
        async def work() -> None:
            await loop.pause(0)

        for _ in range(500):
            assert await loop.within(loop.now() + LONG_NS, work)

    drive(kind, test)


@on_every_loop
def test_a_cancelled_task_ends_where_it_waits(kind: str) -> None:
    async def test(loop: Loop) -> None:
        diary: list[str] = []

        async def work() -> None:
            diary.append("begun")
            try:
                await loop.pause(LONG_NS)
            finally:
                diary.append("tidied")
            diary.append("went on")

        task = loop.start(work)
        await until(loop, lambda: diary == ["begun"])
        task.cancel()
        task.cancel()
        await task.wait()
        await task.wait()
        assert diary == ["begun", "tidied"]
        task.cancel()

    drive(kind, test)


@on_every_loop
def test_a_deadline_inside_a_cancelled_task_is_no_deadline_passed(kind: str) -> None:
    async def test(loop: Loop) -> None:
        outcome: list[bool] = []
        begun: list[bool] = []

        async def work() -> None:
            begun.append(True)
            outcome.append(await loop.within(loop.now() + LONG_NS, lambda: loop.pause(LONG_NS)))

        task = loop.start(work)
        await until(loop, lambda: bool(begun))
        task.cancel()
        await task.wait()
        assert outcome == []

    drive(kind, test)


@on_every_loop
def test_leaving_the_block_cancels_the_tasks(kind: str) -> None:
    diary: list[str] = []

    async def test(loop: Loop) -> None:
        async def work() -> None:
            try:
                diary.append("begun")
                await loop.pause(LONG_NS)
            finally:
                diary.append("tidied")

        for _ in range(3):
            loop.start(work)
        await until(loop, lambda: len(diary) == 3)

    drive(kind, test)
    assert diary == ["begun"] * 3 + ["tidied"] * 3


@on_every_loop
def test_a_task_that_fails_ends_the_block_with_its_error(kind: str) -> None:
    diary: list[str] = []

    async def test(loop: Loop) -> None:
        async def work() -> None:
            raise LookupError("a fault of ours")

        loop.start(work)
        try:
            await loop.pause(LONG_NS)
        finally:
            diary.append("tidied")

    with pytest.raises(LookupError, match="a fault of ours"):
        drive(kind, test)
    assert diary == ["tidied"]


@on_every_loop
def test_an_error_of_the_block_comes_out_in_no_group(kind: str) -> None:
    async def test(loop: Loop) -> None:
        loop.start(lambda: loop.pause(LONG_NS))
        await loop.pause(SHORT_NS)
        raise LookupError("the caller's")

    with pytest.raises(LookupError, match="the caller's"):
        drive(kind, test)


def test_on_asyncio_one_task_may_enter_and_another_leave() -> None:
    """As fixtures of tests do it."""
    diary: list[str] = []

    async def work(loop: Loop) -> None:
        diary.append("begun")
        try:
            await loop.pause(LONG_NS)
        finally:
            diary.append("tidied")

    async def enter() -> Loop:
        loop = await running_loop().__aenter__()
        loop.start(lambda: work(loop))
        await until(loop, lambda: diary == ["begun"])
        return loop

    with asyncio.Runner() as runner:
        loop = runner.run(enter())
        runner.run(loop.__aexit__(None, None, None))
    assert diary == ["begun", "tidied"]


def test_outside_of_any_loop_an_error_says_what_to_do() -> None:
    with pytest.raises(RuntimeError, match="use `with`"):
        running_loop()
