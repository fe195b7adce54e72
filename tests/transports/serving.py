"""Servers for tests, on real sockets in this process; their clients run in threads, as clients of other makes want."""

import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TypeVar

import trio
from attrs import define

from goqueue.transports.exchange import Application
from goqueue.transports.trio_server import Server, ServerLimits

Outcome = TypeVar("Outcome")
SECONDS_MAX = 60


@define
class Served:
    """A server that runs, and where."""

    server: Server
    port: int

    @property
    def target(self) -> str:
        """Its address, as gRPC writes it."""
        return f"127.0.0.1:{self.port}"

    def connect(self) -> socket.socket:
        """A plain connection to it."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=SECONDS_MAX)


@asynccontextmanager
async def serving(application: Application, **settings: object) -> AsyncIterator[Served]:
    """A server on a free port, for as long as the block lasts."""
    listeners: Sequence[trio.SocketListener] = await trio.open_tcp_listeners(0, host="127.0.0.1")
    server = Server(application, **settings)  # type: ignore[arg-type]
    async with trio.open_nursery() as nursery:
        await nursery.start(server.serve, listeners)
        yield Served(server, listeners[0].socket.getsockname()[1])
        nursery.cancel_scope.cancel()
    for listener in listeners:
        await listener.aclose()


async def in_thread(work: Callable[[], Outcome]) -> Outcome:
    """What a client in a thread of its own comes to."""
    return await trio.to_thread.run_sync(work)


def run(test: Callable[[], Awaitable[None]]) -> None:
    """Run an asynchronous test; one that hangs fails."""

    async def bounded() -> None:
        with trio.fail_after(SECONDS_MAX):
            await test()

    trio.run(bounded)


async def until(condition: Callable[[], bool]) -> None:
    """Wait until something has become true."""
    while not condition():  # noqa: ASYNC110 - what is waited for happens in other threads
        await trio.sleep(0.005)


__all__ = ["SECONDS_MAX", "Served", "ServerLimits", "in_thread", "run", "serving", "until"]
