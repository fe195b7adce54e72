"""HTTP/2 connections on trio: the thin layer between sockets and `http2.Connection`.

A connection is three tasks: one reads, only one writes, and one watches the clock; every exchange has a task of its
own. The writer starts first, so that our SETTINGS go out before anything else. A turn: whatever one read brought is
handled, then the exchanges run, then one send carries what all of them said.

Nothing that goes wrong in an exchange ends its connection, and nothing that goes wrong in a connection ends the server.
"""

import logging

import trio
from trio.abc import Stream as ByteStream

from goqueue.core.records.varint import Readable
from goqueue.storage.buffers import BufferPool
from goqueue.transports.buffer_budget import BufferBudget, BufferShare
from goqueue.transports.callers import Callers
from goqueue.transports.exchange import Application
from goqueue.transports.http2.closing import NEVER_NS
from goqueue.transports.http2.connection import Connection
from goqueue.transports.http2.errors import StreamGone
from goqueue.transports.http2.limits import SECOND_NS, Limits
from goqueue.transports.http2.request import Request
from goqueue.transports.http2.stream import Stream
from goqueue.transports.trio_carrier import carrier_of
from goqueue.transports.trio_parking import Parking, now_ns
from goqueue.transports.trio_streams import ClientStream, TrioExchange, TrioStream

H2_INTERNAL_ERROR = 2
H2_REFUSED = 7
H2_CALM = 11
UNBOUNDED = 1 << 62
# What a connection may hold of unfinished frames and unread bodies without being counted, and how much of them has to
# come between two sweeps.
UNREAD_BYTES = 64 << 10
READ_BYTES_LEAST = 16 << 10
# Of streams that are served on all connections, beyond that many a connection may have so many.
STREAMS_LEAST = 100
# Clients built on h2 lose what is in flight when they are warned, and what the same read brought. So answers that are
# nearly there go first, and are given a moment to be read.
WARNING_NS = SECOND_NS
READING_NS = SECOND_NS // 20

log = logging.getLogger(__name__)


class ConnectionDriver:
    """Runs one connection over a byte stream: a server's with an application, a client's without."""

    def __init__(
        self,
        stream: ByteStream,
        application: Application | None,
        limits: Limits,
        peer: str,
        pool: BufferPool | None = None,
        share: BufferShare | None = None,
    ) -> None:
        self.share = share or BufferShare(BufferBudget(UNBOUNDED), UNBOUNDED)
        self.share.cut_stalled = self._cut_stalled
        self._carrier = carrier_of(stream)
        self._application = application
        self._limits = limits
        self._peer = peer
        self.callers = Callers(peer)
        self._connection = Connection(
            now_ns(), limits, client=application is None, peer=peer, pool=pool, share=self.share
        )
        self.leaving = False
        self._warning_ns = NEVER_NS
        self._exchanges: dict[int, TrioStream] = {}
        self._kicked = Parking()
        self._flushed = Parking()
        self._watch = trio.CancelScope()
        self._sending_since: int | None = None
        # How much had been written when somebody last looked whether this connection stalls.
        self._sweep_mark = -1
        # Of what came and was not taken, how much is counted; and how much had come when somebody last looked.
        self._unread_bytes = 0
        self._unread_mark = -1
        self._unread_messages_bytes = 0
        # Taken from the connection and not sent yet.
        self._unsent: list[Readable] = []
        self._life = trio.CancelScope()

    async def run(self, received: bytes = b"") -> None:
        """Serve until the connection ends; `received` was read by whoever looked what is spoken here."""
        try:
            with self._life:
                await self._live(received)
        finally:
            self.share.close()

    def hold(self, size: int) -> bool:
        """So many bytes of unfinished messages are kept, or no longer kept; False if it is too much."""
        self._unread_messages_bytes += size
        if size < 0:
            self.share.give(-size)
            return True
        self.share.add(size)
        return not self.share.budget.is_overfull

    def cut(self) -> None:
        """End it now, whatever is in flight."""
        self._life.cancel()

    def _cut_stalled(self) -> int:
        """Give up what the peer has not begun to take since this was last called; how many streams that cost."""
        if self._unread_bytes or self._unread_messages_bytes > UNREAD_BYTES:
            mark, self._unread_mark = self._unread_mark, self._carrier.read_bytes
            if mark >= 0 and self._unread_mark - mark < READ_BYTES_LEAST:
                self.cut()
                return 1
        if self._sending_since is not None:
            mark, self._sweep_mark = self._sweep_mark, self._carrier.written_bytes
            if mark != self._sweep_mark:
                return 0
            count = max(len(self._connection.streams), 1)
            self.cut()
        else:
            self._sweep_mark = -1
            count = self._connection.cut_stalled()
            self._spread(self._nursery)
        if count:
            self.share.doubt()
        return count

    async def _live(self, received: bytes) -> None:
        async with trio.open_nursery() as self._nursery:
            nursery = self._nursery
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
    def has_flooded(self) -> bool:
        """Whether the connection was ended because the peer sent too much of what costs it nothing."""
        failed = self._connection.failed
        return failed is not None and failed.code == H2_CALM

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
            if self._unread_bytes or connection.unread_bytes > UNREAD_BYTES:
                self._count_unread()

    def _count_unread(self) -> None:
        """Count what has come and waits to become whole, or to be read; when there is far too much, give it up."""
        before, self._unread_bytes = self._unread_bytes, self._connection.unread_bytes
        if self._unread_bytes <= UNREAD_BYTES:
            self._unread_bytes = 0
            self._unread_mark = -1
        if self._unread_bytes > before:
            self.share.add(self._unread_bytes - before)
            if self.share.budget.is_overfull:
                self.cut()
        else:
            self.share.give(before - self._unread_bytes)

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
                self._unsent = self._carrier.write_now(pieces)
                if self._unsent and not await self._write_on(now):
                    connection.lose("The peer closed the connection.")
                self._spread(nursery)
                self._flushed.wake()
            elif connection.finished:
                nursery.cancel_scope.cancel()
                return
            else:
                self._hasten_warning()
                await self._kicked.wait()

    async def _write_on(self, now: int) -> bool:
        """Write what could not be written at once, which is held until then; False when the peer has gone."""
        pieces, self._unsent = self._unsent, []
        self._sending_since = now
        size = sum(map(len, pieces))
        self.share.add(size)
        try:
            return await self._carrier.write(pieces)
        finally:
            self.share.give(size)
            self._sending_since = None

    def _hasten_warning(self) -> None:
        """Where a warning is due, and nothing is in flight any more, give it soon.

        A stream may be ended by the peer's last word as well as by ours, so both sides look.
        """
        is_sending = self._unsent or self._sending_since is not None
        if self._warning_ns < NEVER_NS and not self._connection.streams and not is_sending:
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
                if len(exchanges) >= STREAMS_LEAST and self.share.budget.is_crowded:
                    stream.reset(H2_REFUSED)
                    self._connection.release(stream)
                    continue
                self.share.budget.stream_count += 1
                exchanges[stream.id] = exchange = TrioExchange(self, stream)
                nursery.start_soon(self._serve, exchange, stream)
            for stream_id in news.readable:
                if (found := exchanges.get(stream_id)) is not None:
                    found.wake_reader()
            for stream_id in news.writable:
                if (found := exchanges.get(stream_id)) is not None:
                    found.wake_writer()
        if self._warning_ns < NEVER_NS:
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
        except BaseExceptionGroup as group:
            # Several tasks of an exchange may find at once that the stream is gone, and be cancelled for it.
            rest = group.split(StreamGone)[1]
            if isinstance(rest, ExceptionGroup):
                self._break_off(stream, rest)
            elif rest is not None:
                raise rest from None
        except Exception as error:  # noqa: BLE001 - whatever it is, it ends this exchange and no other
            self._break_off(stream, error)
        finally:
            self._exchanges.pop(stream.id, None)
            self.share.budget.stream_count -= 1
            self._connection.release(stream)
            self._finish()

    def _break_off(self, stream: Stream, error: Exception) -> None:
        """An exchange has failed: tell the log, and the peer that nothing more comes."""
        log.error("serving %s from %s failed", stream.request.path.decode("latin-1"), self._peer, exc_info=error)
        stream.reset(H2_INTERNAL_ERROR)

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
