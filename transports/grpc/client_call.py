"""One call on a client: the shape that betterproto's stubs expect of a call, over a stream of any driver.

The status decides: a reply is handed out as it comes, and the end of the stream is where a failed call raises its
GRPCError. A deadline travels to the server and is kept here as well, at each place where the call waits: no scope of
the loop is open while a caller's code runs, so that a stream of replies may be an ordinary generator.
"""

from collections.abc import AsyncIterable, Awaitable, Callable, Iterable
from typing import Any, Protocol

from attrs import define
from grpclib.const import Status
from grpclib.exceptions import GRPCError

from goqueue.transports.grpc.codec import Codec
from goqueue.transports.grpc.compression import ACCEPTED, inflate
from goqueue.transports.grpc.framing import Assembly, MessageReader, frame_message
from goqueue.transports.grpc.metadata import format_timeout, metadata_headers
from goqueue.transports.grpc.status import error_of
from goqueue.transports.http2.errors import StreamGone
from goqueue.transports.http2.request import Headers, Request

CONSTANT: Headers = (
    (b"te", b"trailers"),
    (b"content-type", b"application/grpc"),
    (b"grpc-accept-encoding", ACCEPTED),
    (b"user-agent", b"goqueue"),
)
# What a response without a grpc-status means, by its HTTP status: gRPC's own table.
HTTP_STATUS = {
    b"400": Status.INTERNAL,
    b"401": Status.UNAUTHENTICATED,
    b"403": Status.PERMISSION_DENIED,
    b"404": Status.UNIMPLEMENTED,
    b"429": Status.UNAVAILABLE,
    b"502": Status.UNAVAILABLE,
    b"503": Status.UNAVAILABLE,
    b"504": Status.UNAVAILABLE,
}
# What a broken-off stream means, by the code of its RST_STREAM.
CANCEL = 8
# A broker that is short of memory resets streams that nobody reads with 11, and takes them again later.
RESET_STATUS = {7: Status.UNAVAILABLE, 8: Status.CANCELLED, 11: Status.UNAVAILABLE, 12: Status.PERMISSION_DENIED}


class ResponseStream(Protocol):
    """What a driver gives for a request that is on its way."""

    def now(self) -> int:
        """The driver's clock, in monotonic nanoseconds."""
        ...

    async def headers(self) -> list[tuple[bytes, bytes]]:
        """The response's headers."""
        ...

    async def receive(self) -> bytes:
        """The next part of the response's body; empty at its end."""
        ...

    async def send(self, data: bytes) -> None:
        """Send a part of the request's body."""
        ...

    def finish(self) -> None:
        """End the request's body."""
        ...

    def abort(self, code: int) -> None:
        """Break the stream off with this error code of HTTP/2."""
        ...

    async def within(self, deadline: int, work: Callable[[], Awaitable[None]]) -> bool:
        """Run `work` until it is done, or until `deadline` cancels it: False."""
        ...

    @property
    def trailers(self) -> list[tuple[bytes, bytes]] | None:
        """The response's trailers."""
        ...

    @property
    def over(self) -> bool:
        """Whether the response has ended."""
        ...

    def leave(self) -> None:
        """Nothing of this stream is of interest any more."""
        ...


@define(frozen=True)
class ReplyTerms:
    """What a call expects of its replies."""

    codec: Codec
    reply_type: Any
    streaming: bool
    message_bytes_max: int


def call_request(path: str, scheme: bytes, authority: bytes, timeout_ns: int | None, metadata: Headers) -> Request:
    """The request that begins a call."""
    headers = list(CONSTANT)
    if timeout_ns is not None:
        headers.append((b"grpc-timeout", format_timeout(timeout_ns)))
    return Request(b"POST", path.encode(), scheme, authority, headers + metadata_headers(metadata))


class ClientCall:
    """A call that was begun."""

    __slots__ = ("_deadline", "_ended", "_failure", "_headers", "_reader", "_replies", "_stream", "_terms")

    def __init__(self, stream: ResponseStream, terms: ReplyTerms, deadline: int | None) -> None:
        self._stream = stream
        self._terms = terms
        self._deadline = deadline
        self._reader = MessageReader(terms.message_bytes_max, Assembly(terms.message_bytes_max))
        self._headers: list[tuple[bytes, bytes]] | None = None
        self._replies = 0
        self._ended = False
        self._failure: Exception | None = None

    async def send_request(self) -> None:
        """The headers are on their way since the call began."""

    async def send_message(self, message: Any, *, end: bool = False) -> None:  # noqa: ANN401 - of the method's class
        """Send a message; waits while the server takes none."""
        data = frame_message(self._terms.codec.encode(message))
        try:
            await self._timely(lambda: self._stream.send(data))
            if end:
                self._stream.finish()
        except StreamGone:
            # Why it is gone is for `recv_message` to tell.
            if not self._stream.over:
                raise

    async def send_all(self, messages: AsyncIterable[Any] | Iterable[Any]) -> None:
        """Send all of these, and the end."""
        if isinstance(messages, AsyncIterable):
            async for message in messages:
                await self.send_message(message)
        else:
            for message in messages:
                await self.send_message(message)
        await self.end()

    async def end(self) -> None:
        """Nothing more will be sent."""
        try:
            self._stream.finish()
        except StreamGone:
            if not self._stream.over:
                raise

    async def recv_message(self) -> Any:  # noqa: ANN401 - of the method's class
        """The next reply; None after the last. Raises the GRPCError that the call ended with."""
        reader = self._reader
        try:
            while not reader.ready:
                if self._ended:
                    return None
                await self._timely(self._receive)
        except StreamGone as error:
            if self._failure is not None:
                raise self._failure from error
            raise GRPCError(RESET_STATUS.get(error.code, Status.UNAVAILABLE), str(error)) from error
        compressed, body = reader.ready.popleft()
        self._replies += 1
        message = inflate(body, self._terms.message_bytes_max) if compressed else bytes(body)
        try:
            return self._terms.codec.decode(self._terms.reply_type, message)
        except ValueError as error:
            raise GRPCError(Status.INTERNAL, f"a reply that cannot be read: {error}") from error

    def __aiter__(self) -> "ClientCall":
        return self

    async def __anext__(self) -> Any:  # noqa: ANN401 - of the method's class
        message = await self.recv_message()
        if message is None:
            raise StopAsyncIteration
        return message

    def fail(self, error: Exception) -> None:
        """The sending side gives up: break the call off, for the receiving side to raise this."""
        self._failure = error
        self._stream.abort(CANCEL)

    def leave(self) -> None:
        """The caller has gone: break the call off unless it is over."""
        self._stream.leave()

    async def _receive(self) -> None:
        if self._headers is None:
            self._headers = await self._stream.headers()
        data = await self._stream.receive()
        if data:
            self._reader.feed(data)
        else:
            self._end(dict(self._headers))

    def _end(self, headers: dict[bytes, bytes]) -> None:
        self._ended = True
        trailers = self._stream.trailers
        if trailers is None and b"grpc-status" in headers:
            trailers = self._headers
        if trailers is None:
            status = headers.get(b":status", b"")
            raise GRPCError(
                HTTP_STATUS.get(status, Status.UNKNOWN), f"HTTP status {status.decode()}, and no grpc-status"
            )
        error = error_of(trailers)
        if error is not None:
            raise error
        if self._reader.partial:
            raise GRPCError(Status.INTERNAL, "the response ends in the middle of a message")
        if not self._terms.streaming and not self._replies and not self._reader.ready:
            raise GRPCError(Status.INTERNAL, "the response has no message")

    async def _timely(self, work: Callable[[], Awaitable[None]]) -> None:
        if self._deadline is None:
            await work()
        elif self._deadline <= self._stream.now() or not await self._stream.within(self._deadline, work):
            raise GRPCError(Status.DEADLINE_EXCEEDED, "the deadline has passed")
