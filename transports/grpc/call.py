"""One call on the server: messages in and out over an exchange, in the shape that generated code expects.

The generated methods call `recv_message`, `send_message` and iterate; everything else is for those who serve. A method
that betterproto generated gets no context, so `current_call` has it: metadata, deadline, peer, trailers of its own.

A method that serves a stream of many requests or large replies takes the call itself: `divert` hands out every message
within the read that brought it, `put` queues a reply without a task that waits, and both leave the coding of messages
to the method.
"""

from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from functools import partial
from typing import Any

from attrs import define
from grpclib.const import Status
from grpclib.exceptions import GRPCError

from goqueue.core.records.varint import Readable
from goqueue.core.requests.call import Caller
from goqueue.transports.exchange import Exchange, Parking
from goqueue.transports.grpc.codec import Codec
from goqueue.transports.grpc.compression import ACCEPTED, ASIDE_BYTES, WORTHWHILE_BYTES, deflate, inflate
from goqueue.transports.grpc.framing import Assembly, MessageReader, frame_message, frame_prefix
from goqueue.transports.grpc.metadata import metadata_headers, parse_metadata
from goqueue.transports.grpc.routes import Route
from goqueue.transports.grpc.status import OK_TRAILERS, error_trailers
from goqueue.transports.http2.request import Headers

RESPONSE: Headers = (
    (b":status", b"200"),
    (b"content-type", b"application/grpc"),
    (b"grpc-accept-encoding", ACCEPTED),
)
GZIP_RESPONSE: Headers = (*RESPONSE, (b"grpc-encoding", b"gzip"))

# What is smaller was cheap to make, and says what has been done.
LARGE_REPLY_BYTES = 64 << 10
OVERLOADED = "the broker holds as many answers as it can; try again in a moment"

current_call: ContextVar["ServerCall"] = ContextVar("current_call")


def _no_rest() -> None:
    pass


@define(frozen=True)
class CallTerms:
    """What holds for all calls of a service."""

    codec: Codec
    message_bytes_max: int
    compress_replies: bool


class ServerCall:
    """A call that is being served."""

    __slots__ = (
        "_exchange", "_flaw", "_headers_sent", "_initial", "_reader", "_received", "_replied", "_reserved_bytes",
        "_squeeze", "_terms", "_trailing", "deadline", "route",
    )  # fmt: skip

    def __init__(
        self, exchange: Exchange, route: Route, terms: CallTerms, assembly: Assembly, deadline: int | None
    ) -> None:
        self.route = route
        self.deadline = deadline  # on the exchange's clock, in nanoseconds
        self._exchange = exchange
        self._terms = terms
        self._reader = MessageReader(terms.message_bytes_max, assembly)
        self._flaw: GRPCError | None = None
        self._received = 0
        self._replied = 0
        self._reserved_bytes = 0
        self._headers_sent = False
        self._initial: list[tuple[bytes, bytes]] = []
        self._trailing: list[tuple[bytes, bytes]] = []
        self._squeeze = terms.compress_replies and b"gzip" in (
            exchange.request.header(b"grpc-accept-encoding") or b""
        ).replace(b" ", b"").split(b",")

    @property
    def codec(self) -> Codec:
        """How messages of this service travel."""
        return self._terms.codec

    @property
    def caller(self) -> Caller:
        """On whose behalf the call is."""
        return self._exchange.callers.grpc(self._exchange.request.named)

    def asked(self, names: frozenset[bytes]) -> Mapping[bytes, bytes]:
        """Return those headers of the call that have one of these names, which are in lower case, as they came."""
        return self._exchange.request.asked(names)

    @property
    def metadata(self) -> list[tuple[bytes, bytes]]:
        """What the client sent along, binary values decoded; raises MetadataError if they cannot be."""
        return parse_metadata(self._exchange.request.headers)

    def add_metadata(self, metadata: Headers) -> None:
        """Send metadata ahead of the first reply; only before it."""
        assert not self._headers_sent, "the headers have left"
        self._initial += metadata_headers(metadata)

    def add_trailers(self, metadata: Headers) -> None:
        """Send metadata along with the status."""
        self._trailing += metadata_headers(metadata)

    async def recv_message(self) -> Any:  # noqa: ANN401 - of the route's class
        """The next message; None at the end. Raises GRPCError for what is no message, and for a missing one."""
        if not await self._receive():
            return None
        compressed, body = self._reader.ready.popleft()
        message = await self._inflate(body) if compressed else bytes(body)
        try:
            return self._terms.codec.decode(self.route.request_type, message)
        except ValueError as error:
            raise GRPCError(Status.INVALID_ARGUMENT, str(error)) from error

    def __aiter__(self) -> "ServerCall":
        return self

    async def __anext__(self) -> Any:  # noqa: ANN401 - of the route's class
        message = await self.recv_message()
        if message is None:
            raise StopAsyncIteration
        return message

    async def divert(self, take: Callable[[Readable], bool], rest: Callable[[], None] = _no_rest) -> bool:
        """Give the bytes of each message to `take`, within the read that brought it, until it answers False.

        Answers whether the request has ended instead. What `take` is given it may write into, and keep until the turn
        is over: it is a view of what was read, or else a copy. `rest` is called once all messages of a read have been
        taken. Neither must raise. Raises as `recv_message` does, after all messages before the flaw have been taken.
        """
        reader = self._reader
        reader.writable = True
        goes_on = self._hand_out(take)
        rest()

        def sink(part: Readable) -> bool:
            nonlocal goes_on
            try:
                reader.feed(part)
            except GRPCError as flaw:
                self._flaw = flaw
            goes_on = self._hand_out(take)
            rest()
            return goes_on and not reader.ready and self._flaw is None

        while goes_on:
            if reader.ready:
                # Compressed, so that it is not for the loop to open.
                message = bytearray(await self._inflate(reader.ready.popleft()[1]))
                self._received += 1
                goes_on = take(message) and self._hand_out(take)
                rest()
            elif self._flaw is not None:
                raise self._flaw
            elif await self._exchange.divert(sink):
                self._check_end()
                return True
        return False

    def _hand_out(self, take: Callable[[Readable], bool]) -> bool:
        """Give messages to `take` up to a compressed one; False if it wants no more."""
        ready = self._reader.ready
        while ready and not ready[0][0]:
            self._received += 1
            if not take(ready.popleft()[1]):
                return False
        return True

    async def send_message(self, message: Any) -> None:  # noqa: ANN401 - of the route's class
        """Send a reply; waits while the client takes none."""
        if not self._headers_sent:
            self.send_headers()
        self._replied += 1
        data = self._terms.codec.encode(message)
        if len(data) > LARGE_REPLY_BYTES and not self._exchange.hold(0):
            raise GRPCError(Status.RESOURCE_EXHAUSTED, OVERLOADED)
        if self._squeeze and len(data) >= WORTHWHILE_BYTES:
            squeezed = deflate(data) if len(data) < ASIDE_BYTES else await self._exchange.aside(partial(deflate, data))
            await self._exchange.send(frame_message(squeezed, compressed=True))
        else:
            await self._exchange.send(frame_message(data))

    def put(self, body: bytes, rest: Readable = b"") -> bool:
        """Queue a reply made of these bytes, the headers being sent; False asks to wait until `relieved`.

        Of `rest` no copy is made: it must stay as it is until it has left.
        """
        assert self._headers_sent
        self._replied += 1
        size = len(rest)
        roomy = self._exchange.put(frame_prefix(len(body) + size) + body)
        return self._exchange.put(rest) if size else roomy

    async def until_leaving(self, work: Callable[[], Awaitable[None]]) -> bool:
        """Run `work` until it is done, or until the server is about to go: False."""
        return await self._exchange.until_leaving(work)

    def parking(self) -> Parking:
        """Return a place at which a task of this call can wait until it is woken."""
        return self._exchange.parking()

    async def beside(self, work: Callable[[], Awaitable[None]], *others: Callable[[], Awaitable[None]]) -> None:
        """Run `work` to its end, and the others as long; what any of them raises comes from here, maybe in a group."""
        await self._exchange.beside(work, *others)

    async def reserve(self, size: int, least: int) -> int:
        """Wait for room for a reply of `size` bytes, or of `least`; how much was granted, 0 if there was none in time.

        The room is kept until the call ends, or until `unreserve`.
        """
        granted = await self._exchange.reserve(size, least)
        self._reserved_bytes += granted
        return granted

    def unreserve(self) -> None:
        """Give back what was reserved."""
        reserved, self._reserved_bytes = self._reserved_bytes, 0
        if reserved:
            self._exchange.unreserve(reserved)

    async def room(self, size: int, least: int) -> int:
        """Wait until the stream has room for a reply. Return the bytes taken, which `give_room` gives back."""
        granted = 0
        while not granted:
            granted = await self._exchange.reserve(size, least)
        return granted

    def take_room(self, size: int, least: int) -> int:
        """Room for a reply of a stream if there is some at once, to be given back by `give_room`; else 0."""
        return self._exchange.take_room(size, least)

    def give_room(self, size: int) -> None:
        """Give back what `take_room` or `room` granted: the reply is here."""
        self._exchange.unreserve(size)

    async def relieved(self) -> None:
        """Wait until the client has taken enough of what was put."""
        await self._exchange.relieved()

    def send_headers(self) -> None:
        """Tell the client, ahead of any reply, that the call is being served."""
        self._headers_sent = True
        headers = GZIP_RESPONSE if self._squeeze else RESPONSE
        self._exchange.start([*headers, *self._initial] if self._initial else headers)

    async def within(self, deadline: int) -> bool:
        """Serve the call until `deadline`, if that is not past; whether it was done by then."""
        return self._exchange.now() < deadline and await self._exchange.within(deadline, self._serve)

    async def _serve(self) -> None:
        await self.route.serve(self)

    def close(self, error: GRPCError | None) -> None:
        """End the call, well or with an error."""
        self._reader.abandon()
        self.unreserve()
        if error is None and not self._replied and not self.route.server_streaming:
            error = GRPCError(Status.INTERNAL, f"{self.route.path} made no reply")
        trailers = OK_TRAILERS if error is None else error_trailers(error)
        if self._trailing:
            trailers = [*trailers, *self._trailing]
        if self._headers_sent:
            self._exchange.finish(trailers)
        elif error is None:
            self.send_headers()
            self._exchange.finish(trailers)
        else:
            self._exchange.start([*RESPONSE, *self._initial, *trailers], end=True)

    def abandon(self) -> None:
        """The client is gone: give back what the call held."""
        self._reader.abandon()
        self.unreserve()

    def _check_end(self) -> None:
        if self._reader.partial:
            raise GRPCError(Status.INVALID_ARGUMENT, "the request ends in the middle of a message")
        if not self._received and not self.route.client_streaming:
            raise GRPCError(Status.INVALID_ARGUMENT, "the request has no message")

    async def _receive(self) -> bool:
        """Wait until a message is at hand; False at the end of the request."""
        ready = self._reader.ready
        while not ready:
            data = await self._exchange.receive()
            if not data:
                self._check_end()
                return False
            self._reader.feed(data)
        self._received += 1
        if not self.route.client_streaming:
            await self._expect_end()
        return True

    async def _expect_end(self) -> None:
        """Wait for the end of a request that has one message: another one makes it no call of this method."""
        reader = self._reader
        while len(reader.ready) < 2 and (data := await self._exchange.receive()):
            reader.feed(data)
        if len(reader.ready) > 1:
            raise GRPCError(Status.INTERNAL, f"{self.route.path} takes one message, and the request has more")
        self._check_end()

    async def _inflate(self, message: Readable) -> bytes:
        encoding = self._exchange.request.header(b"grpc-encoding") or b"identity"
        if encoding != b"gzip":
            raise GRPCError(Status.INTERNAL, "a compressed message, but no grpc-encoding")
        most = self._terms.message_bytes_max
        if len(message) < ASIDE_BYTES:
            return inflate(message, most)
        return await self._exchange.aside(partial(inflate, message, most))
