"""The same test on trio, on asyncio and on no loop; what it talks to runs on trio in a thread of its own."""

import asyncio
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial

import pytest
import trio
from attrs import define

from goqueue.transports.client.blocking_loop import BlockingLoop
from goqueue.transports.client.loops import SECOND_NS, Loop, running_loop
from goqueue.transports.grpc.service import GrpcService
from tests.transports.grpc.echo_messages import Parcel
from tests.transports.grpc.echo_service import Echo
from tests.transports.serving import Served, serving

Test = Callable[[Loop], Awaitable[None]]

UNARY, SPREAD, GATHER, CHAT = (f"/goqueue.testing.v1.Echo/{name}" for name in ("Unary", "Spread", "Gather", "Chat"))
SECONDS_MAX = 60
LOOPS = ("trio", "asyncio", "blocking")
on_every_loop = pytest.mark.parametrize("kind", LOOPS)


def drive(kind: str, test: Test) -> None:
    """Run a test in a loop's block; one that hangs fails."""

    async def bounded(loop: Loop) -> None:
        async with loop:
            assert await loop.within(loop.now() + SECONDS_MAX * SECOND_NS, lambda: test(loop)), "it hangs"

    async def running() -> None:
        await bounded(running_loop())

    if kind == "trio":
        trio.run(running)
    elif kind == "asyncio":
        asyncio.run(running())
    else:
        blocking = BlockingLoop()
        blocking.run(bounded_by(blocking, bounded))


async def bounded_by(loop: Loop, work: Callable[[Loop], Awaitable[None]]) -> None:
    """A coroutine, which is what `run` takes."""
    await work(loop)


@define
class EchoServer:
    """The echo service, where it is, and how to end it."""

    echo: Echo
    served: Served
    _token: trio.lowlevel.TrioToken

    @property
    def address(self) -> str:
        """Its address."""
        return self.served.target

    def drain(self, grace_s: float) -> threading.Thread:
        """Let it go, in so much time; without any, calls under way are cut off, and that is over on return."""
        grace_ns = int(grace_s * 1e9)
        drain = partial(trio.from_thread.run, self.served.server.drain, grace_ns, trio_token=self._token)
        thread = threading.Thread(target=drain)
        thread.start()
        if not grace_ns:
            thread.join(SECONDS_MAX)
        return thread


@contextmanager
def echo_server(**settings: object) -> Iterator[EchoServer]:
    """A server in a thread, for as long as the block lasts."""
    begun: list[EchoServer] = []
    ready = threading.Event()
    over = trio.Event()

    async def serve() -> None:
        echo = Echo()
        async with serving(GrpcService([echo]), **settings) as served:
            begun.append(EchoServer(echo, served, trio.lowlevel.current_trio_token()))
            ready.set()
            await over.wait()

    thread = threading.Thread(target=trio.run, args=(serve,))
    thread.start()
    assert ready.wait(SECONDS_MAX)
    try:
        yield begun[0]
    finally:
        begun[0]._token.run_sync_soon(over.set)
        thread.join(SECONDS_MAX)


@contextmanager
def raw_server(converse: Callable[[socket.socket], None]) -> Iterator[str]:
    """A server that does something to the one connection it takes, in a thread, and closes it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            accepted, _ = listener.accept()
            accepted.settimeout(SECONDS_MAX)
            # A client that has had enough resets the connection, which is no failure of the test.
            with accepted, suppress(OSError):
                converse(accepted)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"127.0.0.1:{listener.getsockname()[1]}"
        finally:
            thread.join(SECONDS_MAX)


class Cable:
    """A connection between a client and a server that can be cut, so that neither hears a word of goodbye."""

    def __init__(self, target: str) -> None:
        self._target = target
        self._ends: list[socket.socket] = []

    def converse(self, near: socket.socket) -> None:
        """Carry bytes both ways until one side ends, or until it is cut."""
        host, _, port = self._target.rpartition(":")
        with socket.create_connection((host, int(port)), timeout=SECONDS_MAX) as far:
            self._ends = [near, far]
            back = threading.Thread(target=self._carry, args=(far, near))
            back.start()
            self._carry(near, far)
            back.join(SECONDS_MAX)

    def cut(self) -> None:
        """End both sides."""
        for end in self._ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def _carry(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while received := source.recv(65536):
                target.sendall(received)
        self.cut()


def unused_address() -> str:
    """An address that nobody listens at."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return f"127.0.0.1:{listener.getsockname()[1]}"


def parcel(message: bytes) -> Parcel:
    """A message as the echo service means it."""
    return Parcel().parse(message)


async def until(loop: Loop, condition: Callable[[], bool]) -> None:
    """Wait for what happens in another thread."""
    while not condition():
        await loop.pause(SECOND_NS // 500)
