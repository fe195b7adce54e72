"""REST as an application of exchanges: what HTTP/1.1 gets from its connection, requests of HTTP/2 get here.

A request's body is gathered under the same bounds, a follower's parts are sent as they come, and the words for what
goes wrong are the same. There is no Content-Length in an answer, since the frames say where it ends; so the headers of
most answers are constants and cost their encoding once.
"""

from collections.abc import Callable
from functools import lru_cache
from time import time

from goqueue.transports.answer_room import AnswerRoom, current_room
from goqueue.transports.buffer_budget import ANSWER_BYTES
from goqueue.transports.exchange import Exchange
from goqueue.transports.http1.gate import HttpError, bad, overloaded, too_large, too_slow
from goqueue.transports.http1.limits import SECOND_NS, Http1Limits, Room
from goqueue.transports.http2.request import Headers
from goqueue.transports.rest.edge import Edge, rejection
from goqueue.transports.rest.exchange import Answer, Parts, Question
from goqueue.transports.rest.operations import is_operation
from goqueue.transports.rest.times import http_date

# An answer up to this size goes into a queue, which is bounded; for a larger one the client must make room in time.
SMALL_BYTES = 16 << 10
H2_CANCEL = 8
NO_BODY = (204, 304)
NO_SNIFFING = (b"x-content-type-options", b"nosniff")


class RestApplication:
    """Serves an edge; `room_of` names the room for what a peer has in flight, `host_of` the address it arrived at."""

    def __init__(
        self, edge: Edge, limits: Http1Limits, room_of: Callable[[str], Room], host_of: Callable[[str], str]
    ) -> None:
        self._edge = edge
        self._limits = limits
        self._room_of = room_of
        self._host_of = host_of

    async def __call__(self, exchange: Exchange) -> None:
        """Serve one request."""
        body = Body(exchange, self._limits, self._room_of(exchange.request.peer))
        room = AnswerRoom(exchange.unreserve, exchange.reserve)
        try:
            content = await body.read()
            question = _question(exchange, content, self._host_of(exchange.request.peer))
            if not is_operation(question.path) and not await room.enter(ANSWER_BYTES):
                raise overloaded()
        except HttpError as error:
            answer = rejection(error)
        else:
            current_room.set(room)
            answer = await self._edge.answer(question)
        finally:
            body.close()
            room.leave()
        if answer.parts is not None:
            room.is_stream = True
            try:
                await self._send_parts(exchange, answer, answer.parts)
            finally:
                room.leave()
        else:
            await self._send(exchange, answer)

    async def _send(self, exchange: Exchange, answer: Answer) -> None:
        body = answer.body
        if exchange.request.method == b"HEAD":
            length = (b"content-length", b"%d" % len(body))
            exchange.start([*_headers(answer), length], end=True)
        elif not body:
            exchange.start(_headers(answer), end=True)
        else:
            exchange.start(_headers(answer))
            if await self._passes(exchange, body):
                exchange.finish()

    async def _send_parts(self, exchange: Exchange, answer: Answer, parts: Parts) -> None:
        if exchange.request.method == b"HEAD":
            exchange.start(_headers(answer), end=True)
            return
        exchange.start(_headers(answer))
        content = b""

        async def take() -> None:
            nonlocal content
            content = await parts.next()

        goes_on = True
        while goes_on:
            goes_on = await exchange.until_leaving(take)
            if not goes_on:
                content = parts.farewell()
            if not content:
                break
            if not await self._passes(exchange, content):
                return
        exchange.finish()

    async def _passes(self, exchange: Exchange, content: bytes) -> bool:
        """Send a part; False, and the stream is broken off, if the client does not take it in time."""
        size = len(content)
        if size <= SMALL_BYTES:
            await exchange.send(content)
            return True
        deadline = exchange.now() + self._limits.body_ns + size * SECOND_NS // self._limits.rate_min

        async def send() -> None:
            await exchange.send(content)

        taken = await exchange.within(deadline, send)
        if not taken:
            exchange.abort(H2_CANCEL)
        return taken


class Body:
    """A request's body on its way in; what it takes is given back by `close`."""

    def __init__(self, exchange: Exchange, limits: Http1Limits, room: Room) -> None:
        self._exchange = exchange
        self._limits = limits
        self._room = room
        self._parts: list[bytes] = []
        self._size = 0
        self._ended = False

    async def read(self) -> bytes:
        """The whole body. Raises HttpError for one that is too large, too slow, or one too many."""
        limits, exchange = self._limits, self._exchange
        announced = exchange.request.header(b"content-length")
        if announced is not None and announced.isdigit() and int(announced[:20]) > limits.body_bytes_max:
            raise too_large(limits.body_bytes_max)
        begun = exchange.now()
        while True:
            least = begun + self._size * SECOND_NS // limits.rate_min
            if not await exchange.within(min(least, exchange.now()) + limits.body_ns, self._receive):
                raise too_slow()
            if self._ended:
                return self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)

    async def _receive(self) -> None:
        part = await self._exchange.receive()
        if not part:
            self._ended = True
            return
        if self._size + len(part) > self._limits.body_bytes_max:
            raise too_large(self._limits.body_bytes_max)
        if not self._room.take(len(part)):
            raise overloaded()
        self._size += len(part)
        self._parts.append(part)

    def close(self) -> None:
        """The body is needed no more."""
        self._room.give(self._size)
        self._parts.clear()
        self._size = 0


def _question(exchange: Exchange, body: bytes, local_host: str) -> Question:
    request = exchange.request
    try:
        target, method = request.path.decode("ascii"), request.method.decode("ascii")
    except UnicodeDecodeError:
        raise bad("path and method are written in ASCII", "path") from None
    path, _, query = target.partition("#")[0].partition("?")
    if path[:1] != "/" and path != "*":
        raise bad("the path must begin with a slash", "path")
    headers = request.named
    host = request.authority or headers.get(b"host", b"")
    return Question(method, path, query, body, headers, host, local_host, exchange.callers.http2(headers))


def _headers(answer: Answer) -> Headers:
    content_type = "" if answer.status in NO_BODY else answer.content_type
    return _constant_headers(answer.status, content_type, answer.headers, http_date(int(time())))


@lru_cache(64)
def _constant_headers(status: int, content_type: str, more: tuple[tuple[str, str], ...], date: bytes) -> Headers:
    named = [(name.lower().encode("latin-1"), text.encode("latin-1")) for name, text in more]
    kind = [(b"content-type", content_type.encode("latin-1"))] if content_type else []
    return ((b":status", b"%d" % status), *kind, *named, NO_SNIFFING, (b"date", date))
