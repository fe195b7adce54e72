"""HTTP/2 connections on trio: the thin layer between sockets and `http2.Connection`.

A connection is three tasks: one reads, only one writes, and one watches the clock; every exchange has a task of its
own. The writer starts first, so that our SETTINGS go out before anything else. A turn: whatever one read brought is
handled, then the exchanges run, then one send carries what all of them said.

Nothing that goes wrong in an exchange ends its connection, and nothing that goes wrong in a connection ends the server.
"""

import logging
from collections.abc import Awaitable, Callable

import trio
from trio.abc import Stream as ByteStream

from goqueue.core.records.varint import Readable
from goqueue.storage.buffers import BufferPool
from goqueue.transports.exchange import Application, Outcome
from goqueue.transports.http2.closing import NEVER_NS
from goqueue.transports.http2.connection import Connection
from goqueue.transports.http2.errors import StreamGone
from goqueue.transports.http2.limits import SECOND_NS, Limits
from goqueue.transports.http2.request import Headers, Request
from goqueue.transports.http2.stream import Stream
from goqueue.transports.trio_carrier import carrier_of
from goqueue.transports.trio_parking import Parking, now_ns

H2_INTERNAL_ERROR = 2
H2_CANCEL = 8
# Clients built on h2 lose what is in flight when they are warned, and what the same read brought. So answers that are
# nearly there go first, and are given a moment to be read.
WARNING_NS = SECOND_NS
READING_NS = SECOND_NS // 20

log = logging.getLogger(__name__)


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

    __slots__ = ("_patience", "scope")

    def __init__(self, driver: "ConnectionDriver", stream: Stream) -> None:
        super().__init__(driver, stream)
        self.scope = trio.CancelScope()
        self._patience: trio.CancelScope | None = None

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


class ConnectionDriver:
    """Runs one connection over a byte stream: a server's with an application, a client's without."""

    def __init__(
        self,
        stream: ByteStream,
        application: Application | None,
        limits: Limits,
        peer: str,
        pool: BufferPool | None = None,
    ) -> None:
        self._carrier = carrier_of(stream)
        self._application = application
        self._limits = limits
        self._peer = peer
        self._connection = Connection(now_ns(), limits, client=application is None, peer=peer, pool=pool)
        self.leaving = False
        self._warning_ns = NEVER_NS
        self._exchanges: dict[int, TrioStream] = {}
        self._kicked = Parking()
        self._flushed = Parking()
        self._watch = trio.CancelScope()
        self._sending_since: int | None = None
        # Taken from the connection and not sent yet.
        self._unsent: list[Readable] = []
        self._life = trio.CancelScope()

    async def run(self, received: bytes = b"") -> None:
        """Serve until the connection ends; `received` was read by whoever looked what is spoken here."""
        with self._life:
            await self._live(received)

    def cut(self) -> None:
        """End it now, whatever is in flight."""
        self._life.cancel()

    async def _live(self, received: bytes) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._write, nursery)
            nursery.start_soon(self._keep_time, nursery)
            if received:
                self._connection.receive(now_ns(), received)
                await self._work_off(nursery)
            await self._read(nursery)

    def drain(self) -> None:
        """Let what is in flight finish, and take no more."""
        self.leaving = True
        self._warning_ns = now_ns() + (WARNING_NS if self._connection.streams else 0)
        for exchange in self._exchanges.values():
            if isinstance(exchange, TrioExchange):
                exchange.hurry()
        self._watch.cancel()
        self._kicked.wake()

    def _warn(self) -> None:
        """Tell the peer that the end is near."""
        self._warning_ns = NEVER_NS
        self._connection.drain(now_ns())

    @property
    def held_bytes(self) -> int:
        """What is kept in memory for the peer, in and out."""
        return self._connection.held_bytes

    @property
    def available(self) -> bool:
        """Whether a client may open one more stream."""
        return self._connection.available

    def open(self, request: Request) -> ClientStream:
        """Send a request's headers; raises ConnectionUnavailable."""
        stream = self._connection.open(request)
        self._exchanges[stream.id] = opened = ClientStream(self, stream)
        self._kicked.wake()
        return opened

    def forget(self, stream: Stream) -> None:
        """Wake nobody for this stream any more."""
        self._exchanges.pop(stream.id, None)

    def kick(self) -> None:
        """Make the writer look, if there is anything to write."""
        if not self._connection.idle:
            self._kicked.wake()

    async def _read(self, nursery: trio.Nursery) -> None:
        connection = self._connection
        while not connection.finished:
            while connection.clogged and connection.failed is None:
                await self._flushed.wait()
            if not await self._carrier.read(connection):
                connection.lose("The peer closed the connection.")
                self._spread(nursery)
                nursery.cancel_scope.cancel()
                return
            await self._work_off(nursery)

    async def _work_off(self, nursery: trio.Nursery) -> None:
        """Work on what came, in turns, so that others have theirs."""
        connection = self._connection
        self._spread(nursery)
        while connection.backlog:
            await trio.lowlevel.checkpoint()
            while connection.clogged and connection.failed is None:
                await self._flushed.wait()
            connection.work(now_ns())
            self._spread(nursery)

    async def _write(self, nursery: trio.Nursery) -> None:
        connection = self._connection
        while True:
            now = now_ns()
            pieces = self._unsent or connection.take_pieces(now)
            if pieces:
                self._unsent = []
                self._sending_since = now
                if not await self._carrier.write(pieces):
                    connection.lose("The peer closed the connection.")
                self._sending_since = None
                self._spread(nursery)
                self._flushed.wake()
            elif connection.finished:
                nursery.cancel_scope.cancel()
                return
            else:
                self._hasten_warning()
                await self._kicked.wait()

    def _hasten_warning(self) -> None:
        """Where a warning is due, and nothing is in flight any more, give it soon.

        A stream may be ended by the peer's last word as well as by ours, so both sides look.
        """
        if self._warning_ns < NEVER_NS and not self._connection.streams and not self._unsent:
            soon = now_ns() + READING_NS
            if soon < self._warning_ns:
                self._warning_ns = soon
                self._watch.cancel()

    def _finish(self) -> None:
        """An exchange is over: send what it said, at once when it was the only one.

        With several under way, one send for all of them is cheaper. Alone, waiting for the writer's turn would only
        make a client wait that has nothing else to do.
        """
        connection = self._connection
        is_alone = not self._exchanges and self._sending_since is None and not self._unsent
        # What a connection that is cut would say in its last moment is not what its peer should hear.
        lives = connection.failed is None and not self._life.cancel_called
        if is_alone and lives and (pieces := connection.take_pieces(now_ns())):
            self._unsent = self._carrier.write_now(pieces)
        if self._unsent or not connection.idle or connection.finished:
            self._kicked.wake()

    def _spread(self, nursery: trio.Nursery) -> None:
        """Start and wake whom the news concerns."""
        news = self._connection.take_news()
        if news is not None:
            exchanges = self._exchanges
            for stream in news.arrived:
                exchanges[stream.id] = exchange = TrioExchange(self, stream)
                nursery.start_soon(self._serve, exchange, stream)
            for stream_id in news.readable:
                if (found := exchanges.get(stream_id)) is not None:
                    found.wake_reader()
            for stream_id in news.writable:
                if (found := exchanges.get(stream_id)) is not None:
                    found.wake_writer()
        self._hasten_warning()
        if not self._connection.idle or self._connection.finished:
            self._kicked.wake()

    async def _serve(self, exchange: TrioExchange, stream: Stream) -> None:
        assert self._application is not None
        try:
            with exchange.scope:
                await self._application(exchange)
        except StreamGone:
            pass
        except Exception:
            log.exception("serving %s from %s failed", stream.request.path.decode("latin-1"), self._peer)
            stream.reset(H2_INTERNAL_ERROR)
        finally:
            self._exchanges.pop(stream.id, None)
            self._connection.release(stream)
            self._finish()

    async def _keep_time(self, nursery: trio.Nursery) -> None:
        connection, stall_ns = self._connection, self._limits.stall_ns
        while True:
            now = now_ns()
            connection.wake(now)
            if now >= self._warning_ns:
                self._warn()
            self._spread(nursery)
            since = self._sending_since
            if since is not None and now - since > stall_ns:
                connection.lose("The peer takes nothing.")
                nursery.cancel_scope.cancel()
                return
            # A stalled send is noticed within twice its bound; a deadline is never slept past.
            due = min(connection.deadline(), self._warning_ns)
            pause_ns = min(max(due - now, SECOND_NS // 100), stall_ns)
            with trio.CancelScope(deadline=(now + pause_ns) / 1e9) as self._watch:
                await trio.sleep_forever()
