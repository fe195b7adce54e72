"""One call on the server: messages in and out over an exchange, in the shape that generated code expects.

The generated methods call `recv_message`, `send_message` and iterate; everything else is for those who serve. A method
that betterproto generated gets no context, so `current_call` has it: metadata, deadline, peer, trailers of its own.
"""

from contextvars import ContextVar
from typing import Any

from attrs import define
from grpclib.const import Status
from grpclib.exceptions import GRPCError

from goqueue.transports.exchange import Exchange
from goqueue.transports.grpc.codec import Codec
from goqueue.transports.grpc.compression import ACCEPTED, WORTHWHILE_BYTES, deflate, inflate
from goqueue.transports.grpc.framing import Assembly, MessageReader, frame_message
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

current_call: ContextVar["ServerCall"] = ContextVar("current_call")


@define(frozen=True)
class CallTerms:
    """What holds for all calls of a service."""

    codec: Codec
    message_bytes_max: int
    compress_replies: bool


class ServerCall:
    """A call that is being served."""

    __slots__ = (
        "_exchange", "_headers_sent", "_initial", "_reader", "_received", "_replied", "_squeeze", "_terms", "_trailing",
        "deadline", "route",
    )  # fmt: skip

    def __init__(
        self, exchange: Exchange, route: Route, terms: CallTerms, assembly: Assembly, deadline: int | None
    ) -> None:
        self.route = route
        self.deadline = deadline  # on the exchange's clock, in nanoseconds
        self._exchange = exchange
        self._terms = terms
        self._reader = MessageReader(terms.message_bytes_max, assembly)
        self._received = 0
        self._replied = 0
        self._headers_sent = False
        self._initial: list[tuple[bytes, bytes]] = []
        self._trailing: list[tuple[bytes, bytes]] = []
        self._squeeze = terms.compress_replies and b"gzip" in (
            exchange.request.header(b"grpc-accept-encoding") or b""
        ).replace(b" ", b"").split(b",")

    @property
    def peer(self) -> str:
        """Who calls, as `host:port`."""
        return self._exchange.request.peer

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
        ready = self._reader.ready
        while not ready:
            data = await self._exchange.receive()
            if not data:
                self._check_end()
                return None
            self._reader.feed(data)
        compressed, message = ready.popleft()
        self._received += 1
        if compressed:
            message = self._inflate(message)
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

    async def send_message(self, message: Any) -> None:  # noqa: ANN401 - of the route's class
        """Send a reply; waits while the client takes none."""
        if not self._headers_sent:
            self.send_headers()
        self._replied += 1
        data = self._terms.codec.encode(message)
        if self._squeeze and len(data) >= WORTHWHILE_BYTES:
            await self._exchange.send(frame_message(deflate(data), compressed=True))
        else:
            await self._exchange.send(frame_message(data))

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

    def _check_end(self) -> None:
        if self._reader.partial:
            raise GRPCError(Status.INVALID_ARGUMENT, "the request ends in the middle of a message")
        if not self._received and not self.route.client_streaming:
            raise GRPCError(Status.INVALID_ARGUMENT, "the request has no message")

    def _inflate(self, message: bytes) -> bytes:
        encoding = self._exchange.request.header(b"grpc-encoding") or b"identity"
        if encoding != b"gzip":
            raise GRPCError(Status.INTERNAL, "a compressed message, but no grpc-encoding")
        return inflate(message, self._terms.message_bytes_max)
