"""Clients that stall, flood, drip or come in thousands, beside honest ones on the same port, which notice nothing."""

import contextlib
import resource
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio

from goqueue.transports.http1.limits import SECOND_NS, Http1Limits
from goqueue.transports.http2.frames import PREFACE
from goqueue.transports.trio_server import ServerLimits
from tests.transports.http2.wire import Peer, ping, rst, settings
from tests.transports.port.port_client import PROTOCOLS, client_of
from tests.transports.rest.rest_client import Served, orders, publish, run, until

SHORT = SECOND_NS // 10
PAGE = "/topics/orders/partitions/0/messages"
# Where rude clients come from in these tests: all of 127.0.0.0/8 is this machine, and each is an address of its own.
ELSEWHERE = "127.0.0.9"
GREETING = PREFACE + settings({})
POST = b"POST /topics/orders/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: "


def from_elsewhere(served: Served) -> socket.socket:
    """A connection from another address, which does not block."""
    rude = socket.socket()
    rude.setblocking(False)
    rude.bind((ELSEWHERE, 0))
    with contextlib.suppress(BlockingIOError):
        rude.connect(("127.0.0.1", served.port))
    return rude


async def said(rude: socket.socket, content: bytes) -> None:
    """Say something as far as anybody listens."""
    connection = trio.socket.from_stdlib_socket(rude)
    with contextlib.suppress(OSError):
        while content:
            content = content[await connection.send(content) :]


@asynccontextmanager
async def honest_clients(served: Served) -> AsyncIterator[None]:
    """One client of each protocol, on a connection from before, that is served before the block and after it."""
    async with contextlib.AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(client_of(served, protocol)) for protocol in PROTOCOLS]
        await orders(clients[0])
        for client in clients:
            await publish(client, "before")
        yield
        for client in clients:
            await publish(client, "after")
        found = (await clients[0].get(PAGE)).json()["messages"]
        assert [message["value"] for message in found] == ["before", "before", "after", "after"]


def pings() -> bytes:
    return GREETING + ping() * 100_000


def resets() -> bytes:
    peer = Peer()
    return GREETING + b"".join(peer.headers(number) + rst(number) for number in range(1, 40_000, 2))


def requests_unread() -> bytes:
    return b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 5000


def streams_unread() -> bytes:
    peer = Peer()
    head = [(b":method", b"GET"), (b":scheme", b"http"), (b":path", b"/openapi.json"), (b":authority", b"localhost")]
    return GREETING + b"".join(peer.headers(number, head) for number in range(1, 3000, 2))


@pytest.mark.parametrize("attack", [pings, resets, requests_unread, streams_unread])
def test_a_flood_costs_nobody_else_anything(tmp_path: Path, attack: Callable[[], bytes]) -> None:
    async def scenario(served: Served) -> None:
        async with honest_clients(served), trio.open_nursery() as nursery:
            rude = [from_elsewhere(served) for _ in range(3)]
            for each in rude:
                nursery.start_soon(said, each, attack())
            async with served.client() as other:
                for _ in range(20):
                    assert (await other.get("/version")).status_code == 200
            nursery.cancel_scope.cancel()
        for each in rude:
            each.close()
        await until(lambda: served.server.bytes_in_flight == 0)

    run(scenario, tmp_path)


def test_whoever_was_ended_for_a_flood_is_ended_sooner_when_it_comes_again(tmp_path: Path) -> None:
    async def answered(served: Served) -> int:
        """How many pings are answered before the end."""
        with from_elsewhere(served) as rude:
            await said(rude, GREETING + ping() * 5000)
            connection, content = trio.socket.from_stdlib_socket(rude), b""
            with contextlib.suppress(OSError):
                while more := await connection.recv(1 << 20):
                    content += more
        return content.count(ping(ack=True))

    async def scenario(served: Served) -> None:
        limits = served.server._limits.connection
        await answered(served)
        assert await answered(served) <= limits.demands_burst // 2
        async with honest_clients(served):
            pass

    run(scenario, tmp_path)


@pytest.mark.parametrize(
    "begun",
    [b"", b"P", b"GET /topics HT", PREFACE[:20], POST + b"5000\r\n\r\n{", POST + b"%d\r\n\r\n" % (32 << 20)],
)
def test_who_begins_and_stalls_is_let_go_and_holds_up_nobody(tmp_path: Path, begun: bytes) -> None:
    limits = ServerLimits(
        bytes_in_flight_max=1 << 20, http1=Http1Limits(head_ns=SHORT, idle_ns=2 * SHORT, body_ns=SHORT)
    )

    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await orders(client)
        rude = [from_elsewhere(served) for _ in range(50)]
        async with trio.open_nursery() as nursery:
            for each in rude:
                nursery.start_soon(said, each, begun)
        async with served.client() as client:
            await publish(client, "x" * 100_000)
        await until(lambda: served.server.connection_count == 0)
        for each in rude:
            each.close()

    run(scenario, tmp_path, limits)


def test_one_address_cannot_take_the_room_of_the_others(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await orders(client)
        rude = [from_elsewhere(served) for _ in range(4)]
        async with trio.open_nursery() as nursery:
            for each in rude:
                nursery.start_soon(said, each, POST + b"900000\r\n\r\n" + b" " * 800_000)
            await until(lambda: served.server.bytes_in_flight == 800_000)
            async with served.client() as client:
                await publish(client, "x" * 100_000)
            nursery.cancel_scope.cancel()
        for each in rude:
            each.close()

    run(scenario, tmp_path, ServerLimits(bytes_in_flight_max=2 << 20))


def test_answers_that_nobody_takes_stay_within_the_budget_and_make_room_for_others(tmp_path: Path) -> None:
    page = b"GET " + PAGE.encode() + b"?limit=10000 HTTP/1.1\r\nHost: localhost\r\n\r\n"
    bound, most = 32 << 20, 0

    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await orders(client)
            for _ in range(4):
                await publish(client, *["x" * 10_000] * 100)
        budget = served.server.buffer_budget

        def is_over() -> bool:
            nonlocal most
            most = max(most, budget.held_bytes)
            return budget.cut_count > 0 and not budget.waiting_count

        rude = [from_elsewhere(served) for _ in range(12)]
        async with trio.open_nursery() as nursery:
            for each in rude:
                nursery.start_soon(said, each, page * 20)
            await until(lambda: budget.waiting_count > 0)
            async with served.client() as client:
                assert (await client.get(PAGE, params={"limit": 10})).status_code == 200
            await until(is_over)
            nursery.cancel_scope.cancel()
        for each in rude:
            each.close()
        await until(lambda: budget.held_bytes == 0)
        assert most <= bound

    run(scenario, tmp_path, ServerLimits(buffer_bytes_max=bound))


def test_five_thousand_connections_from_one_address_leave_room_for_others(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # Both ends are in this process.
    count = min(5000, (hard - 1000) // 2)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))

    async def scenario(served: Served) -> None:
        async with honest_clients(served):
            rude: list[socket.socket] = []
            for number in range(count):
                rude.append(from_elsewhere(served))
                if number % 50 == 0:
                    await trio.lowlevel.checkpoint()
            at_most = ServerLimits().connections_per_address_max
            await until(lambda: served.server.connection_count >= min(at_most, count))
            async with served.client() as other:
                assert (await other.get("/version")).status_code == 200
            assert served.server.connection_count <= at_most + 10
            for each in rude:
                each.close()
            await until(lambda: served.server.connection_count < 10)

    try:
        run(scenario, tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
