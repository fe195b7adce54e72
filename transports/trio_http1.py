"""Drives connections of HTTP/1.1 on trio: reads, asks the REST edge, writes; nothing is decided here.

One task a connection. What a client sends ahead is served in turn, and the answers of one read leave in one send. While
a request is served nothing is read, except below a stream without an end: there the reading tells that the client left.
Every wait for a client has a deadline, the connection's own; there is one cancel scope a connection and not one a wait.
"""

import logging
import math
import socket
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from email.utils import formatdate
from functools import lru_cache

import trio
from attrs import define, field
from trio.abc import Stream as ByteStream

from goqueue.core.verbs import Caller
from goqueue.transports.http1.connection import Connection, Incoming, Rejection
from goqueue.transports.http1.limits import SECOND_NS, Http1Limits, Room
from goqueue.transports.rest.edge import Rest
from goqueue.transports.rest.errors import RETRY_AFTER_S, error_body
from goqueue.transports.rest.exchange import Answer, Question

log = logging.getLogger(__name__)

# After the last answer: for so long, and so much, is read on, because closing at once could destroy what was sent.
LINGER_S = 1.0
LINGER_BYTES = 4 << 20
UNREAD_BYTES_MAX = 64 << 10
GONE = (trio.BrokenResourceError, trio.ClosedResourceError)


class ConnectionDriver:
    """One connection from its first byte to its last."""

    def __init__(self, stream: ByteStream, rest: Rest, limits: Http1Limits, room: Room, address: str) -> None:
        self._stream = stream
        self._rest = rest
        self._limits = limits
        self._room = room
        self._caller = Caller(client_id=address, protocol="http/1.1")
        self._connection = Connection(_now(), limits, room)
        self._scope = trio.CancelScope()
        self._streaming: trio.CancelScope | None = None
        self._idle = False
        self._output: list[bytes] = []
        self._output_bytes = 0

    async def run(self, received: bytes = b"") -> None:
        """Serve until either side has had enough; `received` was read by whoever looked what is spoken here."""
        connection = self._connection
        try:
            with self._scope:
                if received:
                    connection.receive(received)
                await self._converse()
                await self._linger()
            if self._scope.cancelled_caught:
                await self._say_late()
        except GONE:
            pass
        finally:
            connection.close()
            self._room.give(self._output_bytes)

    def drain(self) -> None:
        """Serve what is in flight, and then close."""
        self._connection.draining = True
        if self._idle:
            self._scope.cancel()
        if self._streaming is not None:
            self._streaming.cancel()

    def cut(self) -> None:
        """Close at once."""
        self._connection.close()
        self._scope.cancel()

    async def _converse(self) -> None:
        connection = self._connection
        while True:
            event = connection.next_event(_now())
            if isinstance(event, Incoming):
                if self._output and event.head.query:
                    # It may ask to wait, which the answers before it shall not.
                    await self._flush()
                answer = await self._rest.answer(self._question(event))
                if answer.parts is not None:
                    await self._stream_parts(answer, answer.parts)
                else:
                    self._put(answer)
                    if self._output_bytes >= self._limits.output_bytes:
                        await self._flush()
            elif isinstance(event, Rejection):
                self._put(_rejected(event))
            elif not await self._listen():
                return

    async def _listen(self) -> bool:
        """Send what is there and read more; whether the connection goes on."""
        connection = self._connection
        interim = connection.take_interim()
        if interim:
            self._queue(interim)
        if self._output:
            await self._flush()
        if connection.is_closed or (connection.draining and connection.is_idle):
            return False
        self._scope.deadline = connection.deadline() / SECOND_NS
        self._idle = connection.is_idle
        received = await self._stream.receive_some(self._limits.read_bytes)
        self._idle = False
        self._scope.deadline = math.inf
        connection.receive(received)
        return True

    def _question(self, incoming: Incoming) -> Question:
        head = incoming.head
        return Question(
            head.method, head.path, head.query, incoming.body,
            head.header(b"accept"), head.header(b"last-event-id"), self._caller,
        )  # fmt: skip

    def _put(self, answer: Answer) -> None:
        written = self._connection.respond(
            _now(), answer.status, answer.content_type, answer.headers, answer.body, _date(int(time.time()))
        )
        self._queue(written)

    def _queue(self, written: bytes) -> None:
        self._room.add(len(written))
        self._output_bytes += len(written)
        self._output.append(written)

    async def _flush(self) -> None:
        output, size = self._output, self._output_bytes
        self._output = []
        limits = self._limits
        self._scope.deadline = (_now() + limits.body_ns + size * SECOND_NS // limits.rate_min) / SECOND_NS
        await self._stream.send_all(output[0] if len(output) == 1 else b"".join(output))
        self._scope.deadline = math.inf
        self._room.give(size)
        self._output_bytes -= size

    async def _stream_parts(self, answer: Answer, parts: AsyncGenerator[bytes, None]) -> None:
        connection = self._connection
        self._queue(
            connection.respond_in_parts(answer.status, answer.content_type, answer.headers, _date(int(time.time())))
        )
        async with aclosing(parts), trio.open_nursery() as nursery:
            nursery.start_soon(self._watch)
            if connection.wants_body:
                await self._send_parts(parts)
            nursery.cancel_scope.cancel()
        last = connection.last_part(_now())
        if last:
            self._queue(last)

    async def _send_parts(self, parts: AsyncGenerator[bytes, None]) -> None:
        """Send parts until there are no more, the client has left, or the server goes."""
        try:
            await self._flush()
            while not self._connection.draining:
                content = b""
                # Only the waiting may be broken off: half a part would spoil what comes after it.
                with trio.CancelScope() as self._streaming:
                    content = await anext(parts, b"")
                self._streaming = None
                if not content:
                    return
                self._queue(self._connection.part(content))
                await self._flush()
        except GONE:
            self.cut()
        except Exception:
            log.exception("a stream to %s failed", self._caller.client_id)
            self.cut()

    async def _watch(self) -> None:
        """Read below a stream, to see the client leave."""
        while self._connection.unread_bytes < UNREAD_BYTES_MAX:
            try:
                received = await self._stream.receive_some(UNREAD_BYTES_MAX)
            except GONE:
                received = b""
            if not received:
                self.cut()
                return
            self._connection.receive(received)

    async def _say_late(self) -> None:
        late = self._connection.late()
        if late is None:
            return
        with trio.move_on_after(LINGER_S):
            self._put(_rejected(late))
            await self._flush()
            await self._linger()

    async def _linger(self) -> None:
        """Let the client read the last answer: closing with bytes unread would destroy it on its way."""
        if self._connection.has_ended:
            return
        self._scope.deadline = trio.current_time() + LINGER_S
        if isinstance(self._stream, trio.SocketStream):
            await self._stream.send_eof()
        left = LINGER_BYTES
        while left > 0:
            received = await self._stream.receive_some(self._limits.read_bytes)
            if not received:
                return
            left -= len(received)


@define(frozen=True)
class Http1ServerLimits:
    """What all connections together may take; `connection` is for each of them."""

    connections_max: int = 10_000
    bytes_in_flight_max: int = 256 << 20
    connection: Http1Limits = field(factory=Http1Limits)


class Http1Server:
    """Serves a REST edge on any number of listeners."""

    def __init__(self, rest: Rest, limits: Http1ServerLimits | None = None) -> None:
        self._rest = rest
        self._limits = limits or Http1ServerLimits()
        self._room = Room(self._limits.bytes_in_flight_max)
        self._drivers: set[ConnectionDriver] = set()
        self._accepting = trio.CancelScope()
        self._emptied = trio.Event()

    @property
    def connection_count(self) -> int:
        """How many connections there are."""
        return len(self._drivers)

    @property
    def bytes_in_flight(self) -> int:
        """Bytes of bodies on their way in and of answers on their way out."""
        return self._room.used

    async def serve(
        self,
        listeners: Sequence[trio.SocketListener],
        *,
        task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        """Serve until `drain` has ended, or until cancelled."""
        async with trio.open_nursery() as nursery:
            with self._accepting:
                task_status.started()
                await trio.serve_listeners(self._welcome, list(listeners), handler_nursery=nursery)

    async def drain(self, grace_ns: int) -> None:
        """Accept no more, finish what is in flight, and return when all are gone; after the grace the rest is cut."""
        self._rest.draining = True
        self._accepting.cancel()
        for driver in list(self._drivers):
            driver.drain()
        with trio.move_on_after(grace_ns / SECOND_NS):
            while self._drivers:
                self._emptied = trio.Event()
                await self._emptied.wait()
        for driver in list(self._drivers):
            driver.cut()

    async def _welcome(self, stream: trio.SocketStream) -> None:
        """Serve a connection and let nothing of it out: neither its errors nor its socket."""
        address = _peer(stream)
        driver = ConnectionDriver(stream, self._rest, self._limits.connection, self._room, address)
        try:
            if len(self._drivers) < self._limits.connections_max:
                self._drivers.add(driver)
                stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                stream.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
                await driver.run()
        except Exception:
            log.exception("a connection from %s failed", address)
        finally:
            self._drivers.discard(driver)
            self._emptied.set()
            await trio.aclose_forcefully(stream)


def _rejected(rejection: Rejection) -> Answer:
    headers = (("Retry-After", str(RETRY_AFTER_S)),) if rejection.status == 503 else ()
    return Answer(rejection.status, error_body(rejection.code, rejection.message, rejection.field), headers=headers)


def _now() -> int:
    return int(trio.current_time() * SECOND_NS)


@lru_cache(4)
def _date(second: int) -> bytes:
    return formatdate(second, usegmt=True).encode()


def _peer(stream: trio.SocketStream) -> str:
    try:
        name = stream.socket.getpeername()
    except OSError:
        return ""
    return f"{name[0]}:{name[1]}" if isinstance(name, tuple) else ""
