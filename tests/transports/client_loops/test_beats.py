"""Turns that a thread gives to a loop without one, between the calls of another."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from goqueue.transports.client.blocking_loop import BlockingLoop
from tests.transports.client_loops.on_loops import SECONDS_MAX


async def nothing() -> str:
    return "done"


async def leave(loop: BlockingLoop) -> None:
    await loop.__aexit__(None, None, None)


@contextmanager
def beside(work: object) -> Iterator[threading.Thread]:
    """A thread, for as long as the block lasts."""
    thread = threading.Thread(target=work)  # type: ignore[arg-type]
    thread.start()
    try:
        yield thread
    finally:
        thread.join(SECONDS_MAX)
    assert not thread.is_alive()


def test_a_beat_lets_go_on_what_no_call_is_about() -> None:
    loop, steps = BlockingLoop(), 0

    async def work() -> None:
        nonlocal steps
        parking = loop.parking()
        for _ in range(3):
            parking.wake()
            await parking.wait()
            steps += 1
        await loop.pause(0)
        steps += 1

    async def start() -> None:
        loop.start(work)

    loop.run(start())
    while steps < 4:
        loop.beat()
    assert loop.run(nothing()) == "done"
    loop.run(leave(loop))


def test_a_call_waits_for_a_beat_and_a_beat_passes_a_call_by() -> None:
    loop, began, go_on, order = BlockingLoop(), threading.Event(), threading.Event(), list[str]()

    async def hold_up() -> None:
        await loop.pause(1)
        began.set()
        go_on.wait(SECONDS_MAX)
        order.append("beat")

    async def look() -> None:
        order.append("call")
        loop.beat()

    loop._fibers.start(hold_up())

    def beat() -> None:
        while not began.is_set():
            loop.beat()

    with beside(beat):
        began.wait(SECONDS_MAX)
        with beside(lambda: loop.run(look())):
            go_on.set()
    assert order == ["beat", "call"]
    loop.run(leave(loop))


def test_a_call_in_the_middle_of_a_beat_is_refused_and_leaves_nothing_held() -> None:
    loop, said = BlockingLoop(), list[str]()

    async def call() -> None:
        try:
            loop.run(nothing())
        except RuntimeError as error:
            said.append(str(error))

    loop._fibers.start(call())
    loop.beat()
    assert "under way" in said[0]
    assert loop.run(nothing()) == "done"
    loop.run(leave(loop))


def test_what_fails_in_a_beat_is_raised_by_the_next_call_that_takes_a_turn() -> None:
    loop = BlockingLoop()

    async def fail() -> None:
        raise LookupError("in a beat")

    loop._fibers.start(fail())
    loop.beat()
    with pytest.raises(LookupError, match="in a beat"):
        loop.run(loop.pause(0))
    assert loop.run(nothing()) == "done"
    loop.run(leave(loop))
