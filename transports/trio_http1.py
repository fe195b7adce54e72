"""Drives connections of HTTP/1.1 on trio: reads, asks the REST edge, writes; nothing is decided here.

One task a connection. What a client sends ahead is served in turn, and the answers of one read leave in one send. While
a request is served nothing is read, except below a stream without an end: there the reading tells that the client left.
Every wait for a client has a deadline, the connection's own; there is one cancel scope a connection and not one a wait.
"""

import logging
import math
import time

import trio
from trio.abc import Stream as ByteStream

from goqueue.transports.answer_room import AnswerRoom, current_room
from goqueue.transports.buffer_budget import ANSWER_BYTES, BufferShare
from goqueue.transports.callers import Callers
from goqueue.transports.http1.connection import Connection, Incoming, Rejection
from goqueue.transports.http1.gate import overloaded
from goqueue.transports.http1.limits import SECOND_NS, Http1Limits, Room
from goqueue.transports.rest.edge import Edge, rejection
from goqueue.transports.rest.exchange import Answer, Parts, Question
from goqueue.transports.rest.operations import is_operation
from goqueue.transports.rest.times import http_date
from goqueue.transports.trio_buffer_room import granted

log = logging.getLogger(__name__)

# After the last answer: for so long, and so much, is read on, because closing at once could destroy what was sent.
LINGER_S = 1.0
LINGER_BYTES = 4 << 20
UNREAD_BYTES_MAX = 64 << 10
# As much is handed to the system at once; what a client has taken is known as exactly.
WRITE_BYTES = 128 << 10
GONE = (trio.BrokenResourceError, trio.ClosedResourceError)


class ConnectionDriver:
    """One connection from its first byte to its last."""

    def __init__(
        self,
        stream: ByteStream,
        edge: Edge,
        limits: Http1Limits,
        room: Room,
        share: BufferShare,
        address: str,
        local_host: str,
    ) -> None:
        self._stream = stream
        self._edge = edge
        self._limits = limits
        self._share = share
        share.cut_stalled = self._cut_stalled
        self._answer_room = AnswerRoom(share.give, self._reserve)
        self._address = address
        self._callers = Callers(address)
        self._local_host = local_host
        self._connection = Connection(_now(), limits, room)
        self._scope = trio.CancelScope()
        self._streaming: trio.CancelScope | None = None
        self._idle = False
        self._output: list[bytes] = []
        self._output_bytes = 0
        # How much the client has been handed, and how much that was when somebody last looked whether it stalls.
        self._written_bytes = 0
        self._sweep_mark = -1

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
            self._share.close()

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

    async def _reserve(self, size: int, least: int) -> int:
        return await granted(self._share, size, least)

    def _cut_stalled(self) -> int:
        """End the connection if the client has taken nothing since this was last called, though there is something."""
        mark, self._sweep_mark = self._sweep_mark, self._written_bytes if self._output_bytes else -1
        if mark < 0 or mark != self._sweep_mark:
            return 0
        self.cut()
        return 1

    async def _converse(self) -> None:
        connection = self._connection
        current_room.set(self._answer_room)
        while True:
            event = connection.next_event(_now())
            if isinstance(event, Incoming):
                if self._output and event.head.query:
                    # It may ask to wait, which the answers before it shall not.
                    await self._flush()
                answer = await self._answer(event)
                if answer.parts is not None:
                    await self._stream_parts(answer, answer.parts)
                else:
                    self._put(answer)
                    if self._output_bytes >= self._limits.output_bytes:
                        await self._flush()
            elif isinstance(event, Rejection):
                self._put(rejection(event.error))
            elif not await self._listen():
                return

    async def _answer(self, incoming: Incoming) -> Answer:
        room = self._answer_room
        room.is_stream = False
        if not is_operation(incoming.head.path) and not await room.enter(ANSWER_BYTES):
            return rejection(overloaded())
        try:
            answer = await self._edge.answer(self._question(incoming))
        finally:
            room.leave()
        room.is_stream = answer.parts is not None
        return answer

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
            head.headers, head.headers.get(b"host", b""), self._local_host, self._callers.http1(head.headers),
        )  # fmt: skip

    def _put(self, answer: Answer) -> None:
        written = self._connection.respond(
            _now(), answer.status, answer.content_type, answer.headers, answer.body, http_date(int(time.time()))
        )
        self._queue(written)

    def _queue(self, written: bytes) -> None:
        self._share.add(len(written))
        self._output_bytes += len(written)
        self._output.append(written)

    async def _flush(self) -> None:
        output, size = self._output, self._output_bytes
        self._output = []
        self._sweep_mark = -1
        limits = self._limits
        self._scope.deadline = (_now() + limits.body_ns + size * SECOND_NS // limits.rate_min) / SECOND_NS
        # What was sent ahead is held as long as the answers before it are not taken.
        ahead = self._connection.unread_bytes
        self._share.add(ahead)
        written = output[0] if len(output) == 1 else b"".join(output)
        del output
        if size <= WRITE_BYTES:
            await self._stream.send_all(written)
        else:
            view = memoryview(written)
            for at in range(0, size, WRITE_BYTES):
                await self._stream.send_all(view[at : at + WRITE_BYTES])
                self._written_bytes += WRITE_BYTES
        self._scope.deadline = math.inf
        self._share.taken(size)
        self._share.give(ahead)
        self._output_bytes -= size

    async def _stream_parts(self, answer: Answer, parts: Parts) -> None:
        connection = self._connection
        date = http_date(int(time.time()))
        self._queue(connection.respond_in_parts(answer.status, answer.content_type, answer.headers, date))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._watch)
            if connection.wants_body:
                await self._send_parts(parts)
            nursery.cancel_scope.cancel()
        last = connection.last_part(_now())
        if last:
            self._queue(last)

    async def _send_parts(self, parts: Parts) -> None:
        """Send parts until there are no more, the client has left, or the server goes."""
        try:
            await self._flush()
            while not self._connection.draining:
                content = b""
                # Only the waiting may be broken off: half a part would spoil what comes after it.
                with trio.CancelScope() as self._streaming:
                    content = await parts.next()
                if self._streaming.cancelled_caught:
                    break
                if not content:
                    return
                self._queue(self._connection.part(content))
                await self._flush()
            self._queue(self._connection.part(parts.farewell()))
            await self._flush()
        except GONE:
            self.cut()
        except Exception:
            log.exception("a stream to %s failed", self._address)
            self.cut()
        finally:
            self._streaming = None

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
            self._put(rejection(late.error))
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


def _now() -> int:
    return int(trio.current_time() * SECOND_NS)
