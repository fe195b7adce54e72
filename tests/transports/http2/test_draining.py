"""How soon a server that goes tells its clients, in virtual time."""

import trio
from trio.testing import MockClock, memory_stream_pair

from goqueue.transports.exchange import Exchange
from goqueue.transports.grpc.client_call import call_request
from goqueue.transports.http2.limits import SECOND_NS, Limits
from goqueue.transports.trio_http2 import READING_NS, WARNING_NS, ConnectionDriver
from goqueue.transports.trio_parking import now_ns

OK = [(b":status", b"200")]


async def until_told(*, ends_streams: bool) -> int:
    """For how long after the drain has begun a client with one stream is not told of it."""

    async def application(exchange: Exchange) -> None:
        async def listen() -> None:
            while await exchange.receive():
                pass

        exchange.start(OK)
        if not await exchange.until_leaving(listen):
            if not ends_streams:
                await trio.sleep_forever()
            exchange.finish([(b"grpc-status", b"14")])

    async with trio.open_nursery() as nursery:
        near, far = memory_stream_pair()
        server = ConnectionDriver(near, application, Limits(), "client")
        client = ConnectionDriver(far, None, Limits(), "server")
        nursery.start_soon(server.run)
        nursery.start_soon(client.run)
        stream = client.open(call_request("/service/method", b"http", b"server", None, ()))
        await stream.headers()
        begun = now_ns()
        server.drain()
        if ends_streams:
            while not stream.over:
                await stream.receive()
            # The client's side is open still: its reset is what ends the stream.
            stream.leave()
        while client.available:  # noqa: ASYNC110 - nothing tells of what is waited for
            await trio.sleep(READING_NS / SECOND_NS / 10)
        told_ns = now_ns() - begun
        nursery.cancel_scope.cancel()
    return told_ns


def run(*, ends_streams: bool) -> int:
    """The same in time that jumps where nothing happens."""

    async def test() -> int:
        return await until_told(ends_streams=ends_streams)

    return trio.run(test, clock=MockClock(autojump_threshold=0))


def test_a_client_whose_streams_have_all_ended_is_told_soon() -> None:
    assert run(ends_streams=True) < 2 * READING_NS


def test_a_client_with_a_stream_in_flight_is_given_time_for_it() -> None:
    assert WARNING_NS <= run(ends_streams=False) < WARNING_NS + 2 * READING_NS
