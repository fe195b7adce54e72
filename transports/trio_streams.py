"""Streams of a connection as tasks on trio see them: those that a peer opened, and those that a client opens."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import trio

from goqueue.core.records.varint import Readable
from goqueue.transports.exchange import Outcome
from goqueue.transports.http2.request import Headers
from goqueue.transports.http2.stream import Stream
from goqueue.transports.trio_beside import beside
from goqueue.transports.trio_buffer_room import granted
from goqueue.transports.trio_parking import Parking, now_ns

if TYPE_CHECKING:
    from goqueue.transports.trio_http2 import ConnectionDriver

H2_CANCEL = 8
# How long an answer waits for a client that takes nothing, before it is not made at all.
WINDOW_S = 30.0


class TrioStream:
    """A stream of a connection whose other side is being waited for."""

    __slots__ = ("_driver", "_reading", "_stream", "_writing", "request")

    def __init__(self, driver: "ConnectionDriver", stream: Stream) -> None:
        self._driver = driver
        self._stream = stream
        self.request = stream.request
        self._reading = Parking()
        self._writing = Parking()

    def now(self) -> int:
        """The loop's clock."""
        return now_ns()

    async def receive(self) -> bytes:
        """See Exchange."""
        stream = self._stream
        while True:
            if stream.unread_bytes or stream.gone is not None:
                data = stream.read()
                self._driver.kick()
                return data
            if stream.ended:
                return b""
            await self._reading.wait()

    async def divert(self, sink: Callable[[Readable], bool]) -> bool:
        """See Exchange."""
        stream = self._stream
        while stream.unread_bytes or stream.gone is not None:
            goes_on = sink(stream.read())
            self._driver.kick()
            if not goes_on:
                return False
        if stream.ended:
            return True
        stream.sink = sink
        try:
            while stream.is_diverted:
                await self._reading.wait()
        finally:
            wants_more = stream.drop_sink()
        stream.check_there()
        return wants_more

    async def send(self, data: bytes) -> None:
        """See Exchange."""
        if not self.put(data):
            await self.relieved()

    def put(self, data: Readable) -> bool:
        """See Exchange."""
        roomy = self._stream.send(data)
        self._driver.kick()
        return roomy

    async def relieved(self) -> None:
        """See Exchange."""
        stream = self._stream
        while stream.crowded:
            await self._writing.wait()
        if stream.gone is not None:
            raise stream.gone

    async def aside(self, work: Callable[[], Outcome]) -> Outcome:
        """See Exchange."""
        return await trio.to_thread.run_sync(work)

    def finish(self, trailers: Headers | None = None) -> None:
        """See Exchange."""
        self._stream.end(trailers)
        self._driver.kick()

    def abort(self, code: int) -> None:
        """See Exchange."""
        self._stream.reset(code)
        self._driver.kick()

    def parking(self) -> Parking:
        """See Exchange."""
        return Parking()

    async def beside(self, work: Callable[[], Awaitable[None]], *others: Callable[[], Awaitable[None]]) -> None:
        """See Exchange."""
        await beside(work, *others)

    async def within(self, deadline: int, work: Callable[[], Awaitable[None]]) -> bool:
        """See Exchange."""
        with trio.CancelScope(deadline=deadline / 1e9) as scope:
            await work()
        return not scope.cancelled_caught

    def wake_reader(self) -> None:
        """The stream has something to read, or is gone."""
        self._reading.wake()

    def wake_writer(self) -> None:
        """The stream's queue has room again."""
        self._writing.wake()


class TrioExchange(TrioStream):
    """An exchange over a stream that a peer opened; `scope` is cancelled when the stream is gone."""

    __slots__ = ("_patience", "callers", "scope")

    def __init__(self, driver: "ConnectionDriver", stream: Stream) -> None:
        super().__init__(driver, stream)
        self.callers = driver.callers
        self.scope = trio.CancelScope()
        self._patience: trio.CancelScope | None = None

    async def reserve(self, size: int, least: int) -> int:
        """See Exchange."""
        if not self._stream.may_begin:
            with trio.move_on_after(WINDOW_S):
                while not self._stream.may_begin:
                    self._stream.check_there()
                    await self._writing.wait()
            if not self._stream.may_begin:
                self._stream.check_there()
                return 0
        return await granted(self._driver.share, size, least)

    def take_room(self, size: int, least: int) -> int:
        """See Exchange."""
        stream = self._stream
        return self._driver.share.take(size, least) if stream.queued_bytes or stream.may_begin else 0

    def unreserve(self, size: int) -> None:
        """See Exchange."""
        self._driver.share.give(size)

    def hold(self, size: int) -> bool:
        """See Exchange; the connection holds it, whichever of its exchanges is told."""
        return self._driver.hold(size)

    def start(self, headers: Headers, *, end: bool = False) -> None:
        """See Exchange."""
        self._stream.send_headers(headers, end=end)
        self._driver.kick()

    async def until_leaving(self, work: Callable[[], Awaitable[None]]) -> bool:
        """See Exchange."""
        with trio.CancelScope() as self._patience:
            if self._driver.leaving:
                self._patience.cancel()
            await work()
        broken_off = self._patience.cancelled_caught
        self._patience = None
        return not broken_off

    def hurry(self) -> None:
        """The server is about to go: break off what runs only until then."""
        if self._patience is not None:
            self._patience.cancel()

    def wake_reader(self) -> None:
        """The stream has something to read, or is gone and with it the exchange."""
        if self._stream.gone is not None:
            self.scope.cancel()
        self._reading.wake()


class ClientStream(TrioStream):
    """A request that is on its way, and its response."""

    __slots__ = ()

    async def headers(self) -> list[tuple[bytes, bytes]]:
        """The response's headers, once they are here; raises StreamGone if none come."""
        stream = self._stream
        while stream.headers is None:
            if stream.gone is not None:
                raise stream.gone
            await self._reading.wait()
        return stream.headers

    @property
    def trailers(self) -> list[tuple[bytes, bytes]] | None:
        """The response's trailers; None before its end, and if it has none."""
        return self._stream.trailers

    @property
    def over(self) -> bool:
        """Whether the response has ended, well or not."""
        return self._stream.ended or self._stream.gone is not None

    def leave(self) -> None:
        """Whoever waited has gone: nothing of this stream is of interest."""
        if not self.over or not self._stream.finishing:
            self.abort(H2_CANCEL)
        self._driver.forget(self._stream)
