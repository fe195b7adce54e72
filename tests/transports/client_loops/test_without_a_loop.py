"""What only the loop without a loop has: calls from the outside, and background work that waits for them."""

import signal
import threading
import time

import pytest

from goqueue.transports.client.blocking_loop import BlockingLoop
from goqueue.transports.client.channel import Channel, open_channel
from goqueue.transports.client.loops import SECOND_NS
from tests.transports.client_loops.on_loops import SECONDS_MAX, SPREAD, UNARY, Cable, echo_server, parcel, raw_server
from tests.transports.grpc.echo_messages import Parcel

LONG_NS = 3600 * SECOND_NS


def interrupt() -> None:
    """What Ctrl-C does to whoever runs the loop, which is the main thread."""
    ident = threading.main_thread().ident
    assert ident is not None
    signal.pthread_kill(ident, signal.SIGINT)


def test_a_call_is_made_and_then_another() -> None:
    with echo_server() as server:
        loop = BlockingLoop()
        channel = loop.run(open_channel(loop, server.address))
        for count in range(10):
            reply = loop.run(channel.call(UNARY, bytes(Parcel(count=count))))
            assert parcel(reply).count == count + 1
        loop.run(leave(loop))


async def leave(loop: BlockingLoop) -> None:
    await loop.__aexit__(None, None, None)


def test_an_error_comes_out_of_the_call_and_the_next_one_works() -> None:
    async def fail() -> None:
        await loop.pause(0)
        raise LookupError("no")

    async def succeed() -> int:
        await loop.pause(0)
        return 7

    loop = BlockingLoop()
    with pytest.raises(LookupError, match="no"):
        loop.run(fail())
    assert loop.run(succeed()) == 7
    loop.run(leave(loop))


def test_after_the_end_nothing_can_be_asked() -> None:
    loop = BlockingLoop()
    loop.run(leave(loop))
    with pytest.raises(RuntimeError, match="closed"):
        loop.run(leave(loop))


def test_a_second_thread_is_told_to_open_its_own() -> None:
    loop = BlockingLoop()
    begun, over = threading.Event(), threading.Event()

    async def work() -> None:
        begun.set()
        while not over.is_set():
            await loop.pause(SECOND_NS // 1000)

    thread = threading.Thread(target=lambda: loop.run(work()))
    thread.start()
    assert begun.wait(SECONDS_MAX)
    with pytest.raises(RuntimeError, match="one thread; open one in each"):
        loop.run(leave(loop))
    over.set()
    thread.join(SECONDS_MAX)
    loop.run(leave(loop))


def test_a_call_within_a_call_is_refused() -> None:
    loop = BlockingLoop()

    async def work() -> None:
        with pytest.raises(RuntimeError, match="under way"):
            loop.run(leave(loop))

    loop.run(work())
    loop.run(leave(loop))


def test_work_beside_goes_on_during_calls_that_need_not_wait() -> None:
    async def nothing() -> None:
        pass

    done: list[bool] = []

    async def beside() -> None:
        await loop.pause(SECOND_NS // 100)
        done.append(True)

    loop = BlockingLoop()
    loop.start(beside)
    begun = time.monotonic()
    while not done:
        assert time.monotonic() < begun + SECONDS_MAX
        loop.run(nothing())
    loop.run(leave(loop))


def test_what_was_queued_leaves_with_the_call_that_queued_it() -> None:
    with echo_server() as server:
        loop = BlockingLoop()
        channel = loop.run(open_channel(loop, server.address))
        call = channel.stream(SPREAD)

        async def ask() -> None:
            await call.send(bytes(Parcel(count=3)))
            await call.finish()

        loop.run(ask())
        # Nobody runs the loop here: the request is on its way all the same.
        begun = time.monotonic()
        while "spread ended" not in server.echo.diary:
            assert time.monotonic() < begun + SECONDS_MAX
        assert [parcel(message).count for message in loop.run(call.receive())] == [0, 1, 2]
        call.leave()
        loop.run(leave(loop))


def test_an_interrupt_ends_the_call_and_nothing_else() -> None:
    tidied: list[bool] = []

    async def sleep() -> None:
        threading.Timer(0.1, interrupt).start()
        try:
            await loop.pause(LONG_NS)
        finally:
            tidied.append(True)

    async def ask(channel: Channel) -> int:
        return parcel(await channel.call(UNARY, bytes(Parcel(count=1)))).count

    with echo_server() as server:
        loop = BlockingLoop()
        channel = loop.run(open_channel(loop, server.address))
        with pytest.raises(KeyboardInterrupt):
            loop.run(sleep())
        assert tidied == [True]
        assert loop.run(ask(channel)) == 2
        loop.run(leave(loop))


def test_an_interrupted_call_that_will_not_end_is_ended() -> None:
    async def stubborn() -> None:
        threading.Timer(0.1, interrupt).start()
        try:
            await loop.pause(LONG_NS)
        finally:
            await loop.pause(LONG_NS)

    loop = BlockingLoop()
    with pytest.raises(KeyboardInterrupt):
        loop.run(stubborn())
    loop.run(leave(loop))


def test_a_broker_that_went_away_between_calls_is_noticed_before_the_next_one_begins() -> None:
    async def look() -> bool:
        return channel.alive

    with echo_server() as server, raw_server((cable := Cable(server.address)).converse) as address:
        loop = BlockingLoop()
        channel = loop.run(open_channel(loop, address))
        loop.run(channel.call(UNARY, b""))
        assert loop.run(look())
        cable.cut()
        time.sleep(0.01)
        assert not loop.run(look())
        loop.run(leave(loop))
