"""The client on asyncio: a task group for its tasks, a protocol for each connection."""

import asyncio
import ssl
import threading
import time
from collections.abc import Awaitable, Callable

from attrs import define

from goqueue.transports.client.link import Link
from goqueue.transports.client.loops import Task

# What the transport may hold before it asks us to stop; what a link has queued comes in turns of this size.
WRITE_BYTES = 256 * 1024


class AsyncioParking:
    """See Parking."""

    __slots__ = ("_loop", "_signal", "_waiting")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting: list[asyncio.Future[None]] = []
        self._signal = False

    async def wait(self) -> None:
        """See Parking."""
        if self._signal:
            self._signal = False
            return
        woken = self._loop.create_future()
        self._waiting.append(woken)
        try:
            await woken
        except asyncio.CancelledError:
            if woken in self._waiting:
                self._waiting.remove(woken)
            raise

    def wake(self) -> None:
        """See Parking."""
        waiting = self._waiting
        if not waiting:
            self._signal = True
            return
        self._waiting = []
        for woken in waiting:
            if not woken.done():
                woken.set_result(None)


@define(eq=False)
class AsyncioTask:
    """See Task."""

    _task: asyncio.Task[None]

    def cancel(self) -> None:
        """See Task."""
        self._task.cancel()

    async def wait(self) -> None:
        """See Task."""
        await asyncio.wait([self._task])


class AsyncioLoop:
    """See Loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._group = asyncio.TaskGroup()
        self._tasks: set[asyncio.Task[None]] = set()
        self._carriers: list[AsyncioCarrier] = []

    async def __aenter__(self) -> "AsyncioLoop":
        """See Loop."""
        await self._group.__aenter__()
        return self

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> bool | None:
        """See Loop; an error of the block comes out as it is, in no group."""
        for task in self._tasks:
            task.cancel()
        for carrier in self._carriers:
            carrier.cut()
        try:
            await self._group.__aexit__(type(error) if error else None, error, None)
        except BaseExceptionGroup as group:
            others = group.split(lambda each: each is error)[1]
            if others is None:
                return False
            if len(others.exceptions) == 1:
                raise others.exceptions[0] from None
            raise others from None
        finally:
            # A socket that is closed later, when nobody looks, is one that is reported as leaked.
            for carrier in list(self._carriers):
                await carrier.close()
        return None

    def now(self) -> int:
        """See Loop."""
        return time.monotonic_ns()

    def parking(self) -> AsyncioParking:
        """See Loop."""
        return AsyncioParking(self._loop)

    def start(self, work: Callable[[], Awaitable[object]]) -> Task:
        """See Loop."""

        async def run() -> None:
            await work()

        task = self._group.create_task(run())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return AsyncioTask(task)

    async def within(self, deadline: int, work: Callable[[], Awaitable[object]]) -> bool:
        """See Loop."""
        left_ns = deadline - time.monotonic_ns()
        scope = asyncio.timeout(left_ns / 1e9)
        try:
            async with scope:
                await work()
        except TimeoutError:
            if scope.expired():
                return False
            raise
        return True

    async def pause(self, duration_ns: int) -> None:
        """See Loop."""
        await asyncio.sleep(max(duration_ns, 0) / 1e9)

    async def sheltered(self, work: Callable[[], Awaitable[object]]) -> None:
        """See Loop: a task that was cancelled once waits like any other, until it is cancelled again."""
        await work()

    def on_signal(self, number: int, told: Callable[[], None]) -> Callable[[], None]:
        """See Loop."""
        if threading.current_thread() is not threading.main_thread():
            return lambda: None
        self._loop.add_signal_handler(number, told)
        return lambda: _not_listening(self._loop, number)

    async def dial(self, host: str, port: int, tls: ssl.SSLContext | None, link: Link) -> "AsyncioCarrier":
        """See Loop."""
        carrier = AsyncioCarrier(self._loop, link)
        name = host if tls is not None else None
        transport, _ = await self._loop.create_connection(lambda: carrier, host, port, ssl=tls, server_hostname=name)
        if tls is not None and transport.get_extra_info("ssl_object").selected_alpn_protocol() != "h2":
            transport.abort()
            raise OSError("it does not offer HTTP/2 (ALPN)")
        self._carriers.append(carrier)
        carrier.closed.add_done_callback(lambda _: self._carriers.remove(carrier))
        return carrier


def _not_listening(loop: asyncio.AbstractEventLoop, number: int) -> None:
    loop.remove_signal_handler(number)


class AsyncioCarrier(asyncio.Protocol):
    """See Carrier."""

    def __init__(self, loop: asyncio.AbstractEventLoop, link: Link) -> None:
        self._loop = loop
        self._link = link
        self._transport: asyncio.Transport | None = None
        self._full = False  # the transport's buffer
        self._flush_due = False
        self._held_back = False  # what comes, until the link has worked off what it has
        self.closed: asyncio.Future[None] = loop.create_future()

    def flush(self) -> None:
        """See Carrier: it leaves before the loop rests."""
        self.kick()

    def kick(self) -> None:
        """See Carrier."""
        if not self._flush_due:
            self._flush_due = True
            self._loop.call_soon(self._flush)

    def cut(self) -> None:
        """Let go of the socket, which is `closed` soon after."""
        if self._transport is not None:
            self._transport.abort()

    async def close(self) -> None:
        """See Carrier."""
        self.cut()
        if self._transport is not None:
            await asyncio.wait([self.closed])

    # asyncio's side.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See asyncio.Protocol."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.set_write_buffer_limits(high=WRITE_BYTES)
        self.kick()

    def data_received(self, data: bytes) -> None:
        """See asyncio.Protocol."""
        self._link.receive(data)
        if self._link.backlog or self._link.clogged:
            self._hold_back()

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio.Protocol."""
        self._link.lose(f"the connection broke: {exc}" if exc is not None else "the broker closed the connection")
        self._transport = None
        if not self.closed.done():
            self.closed.set_result(None)

    def pause_writing(self) -> None:
        """See asyncio.Protocol."""
        self._full = True

    def resume_writing(self) -> None:
        """See asyncio.Protocol."""
        self._full = False
        self.kick()

    def _flush(self) -> None:
        link, transport = self._link, self._transport
        while transport is not None and not self._full and not transport.is_closing():
            due = link.take()
            if due:
                transport.write(due)
            elif link.finished:
                transport.close()
            else:
                break
        self._flush_due = False

    def _hold_back(self) -> None:
        if not self._held_back and self._transport is not None:
            self._held_back = True
            self._transport.pause_reading()
            self._loop.call_soon(self._go_on)

    def _go_on(self) -> None:
        """Work off what the link has; then read on."""
        link, transport = self._link, self._transport
        if transport is None or transport.is_closing():
            return
        if link.backlog:
            link.work()
        if not link.backlog and not link.clogged:
            self._held_back = False
            transport.resume_reading()
        elif self._full:
            # Until something can be sent this would turn in circles.
            self._loop.call_later(0.001, self._go_on)
        else:
            self._loop.call_soon(self._go_on)
