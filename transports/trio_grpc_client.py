"""gRPC channels on trio: one connection, on which betterproto's stubs make their calls.

A channel takes the place of grpclib's in a generated stub. `TrioStub` goes before the stub's class where a method
streams replies, because what betterproto does there needs asyncio: `class EchoClient(TrioStub, EchoStub)`.
Reconnecting, leaders and retries are not here; whoever holds channels decides on them, and `available` says when.
"""

import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeAlias

import trio
from betterproto import ServiceStub
from grpclib.const import Cardinality, Status
from grpclib.exceptions import GRPCError
from trio.abc import Stream as ByteStream

from goqueue.transports.grpc.client_call import ClientCall, ReplyTerms, call_request
from goqueue.transports.grpc.codec import BetterprotoCodec, Codec
from goqueue.transports.http2.errors import ConnectionUnavailable
from goqueue.transports.http2.limits import MIB, Limits
from goqueue.transports.http2.request import Headers
from goqueue.transports.trio_http2 import ConnectionDriver
from goqueue.transports.trio_parking import now_ns
from goqueue.transports.trio_streams import ClientStream

MESSAGE_BYTES_MAX = 64 * MIB
# Messages, their classes, streams of them: whatever betterproto generates calls of.
Generated: TypeAlias = Any


class Channel:
    """Calls over one connection."""

    def __init__(self, driver: ConnectionDriver, nursery: trio.Nursery, authority: str, *, tls: bool) -> None:
        self._driver = driver
        self._nursery = nursery
        self._authority = authority.encode()
        self._scheme = b"https" if tls else b"http"
        self.token = trio.lowlevel.current_trio_token()
        self.codec: Codec = BetterprotoCodec()
        self.message_bytes_max = MESSAGE_BYTES_MAX

    @property
    def available(self) -> bool:
        """Whether a call can begin here and now."""
        return self._driver.available

    def request(
        self,
        path: str,
        cardinality: Cardinality,
        _request_type: object,
        reply_type: object,
        *,
        timeout: float | None = None,
        deadline: Generated = None,  # grpclib's Deadline
        metadata: Generated = None,  # a mapping or pairs, of str or bytes
    ) -> "PendingCall":
        """A call that begins when it is entered."""
        if deadline is not None:
            timeout = min(deadline.time_remaining(), timeout if timeout is not None else float("inf"))
        timeout_ns = None if timeout is None else int(timeout * 1e9)
        request = call_request(path, self._scheme, self._authority, timeout_ns, _metadata(metadata))
        terms = ReplyTerms(self.codec, reply_type, cardinality.server_streaming, self.message_bytes_max)

        def begin() -> ClientCall:
            due = None if timeout_ns is None else now_ns() + timeout_ns
            try:
                stream: ClientStream = self._driver.open(request)
            except ConnectionUnavailable as error:
                raise GRPCError(Status.UNAVAILABLE, str(error)) from error
            return ClientCall(stream, terms, due)

        return PendingCall(begin)

    def start(self, work: Callable[[], Awaitable[None]]) -> trio.CancelScope:
        """Run something beside a call; the scope that ends it."""
        scope = trio.CancelScope()

        async def run() -> None:
            with scope:
                await work()

        self._nursery.start_soon(run)
        return scope


class PendingCall:
    """A call as a block: begun on entering, broken off on leaving if it is not over by then."""

    __slots__ = ("_begin", "_call")

    def __init__(self, begin: Callable[[], ClientCall]) -> None:
        self._begin = begin
        self._call: ClientCall | None = None

    async def __aenter__(self) -> ClientCall:
        self._call = self._begin()
        return self._call

    async def __aexit__(self, *_error: object) -> None:
        assert self._call is not None
        self._call.leave()


class Replies:
    """The replies of a call, which begins with the first that is asked for and ends when nobody wants any more.

    No generator: generated code wraps it in one and leaves it to its fate, and a generator's fate is the collector's.
    """

    def __init__(self, channel: Channel, pending: "PendingCall", requests: Generated) -> None:
        self._channel = channel
        self._pending = pending
        self._requests = requests
        self._call: ClientCall | None = None
        self._sending: trio.CancelScope | None = None
        self._over = False

    def __aiter__(self) -> "Replies":
        return self

    async def __anext__(self) -> Generated:
        if self._over:
            raise StopAsyncIteration
        try:
            if self._call is None:
                call, requests = await self._pending.__aenter__(), self._requests
                self._call = call
                self._sending = self._channel.start(lambda: _send(call, requests))
            reply = await self._call.recv_message()
        except BaseException:
            self._leave()
            raise
        if reply is None:
            self._leave()
            raise StopAsyncIteration
        return reply

    def __del__(self) -> None:
        # The collector may come by while the connection's state is being changed, so this is left to the loop.
        if self._call is not None:
            with suppress(trio.RunFinishedError):
                self._channel.token.run_sync_soon(_break_off, self._call, self._sending)

    def _leave(self) -> None:
        self._over = True
        call, self._call = self._call, None
        if call is not None:
            _break_off(call, self._sending)


class TrioStub(ServiceStub):
    """Streams of replies without asyncio, and with the errors of whoever makes the requests."""

    # What betterproto has here are generators, hence the overrides that are none.
    def _unary_stream(  # type: ignore[override]
        self, route: str, request: Generated, reply_type: Generated, **terms: Generated
    ) -> Replies:
        return self._replies(Cardinality.UNARY_STREAM, route, (request,), reply_type, terms)

    def _stream_stream(  # type: ignore[override]
        self, route: str, requests: Generated, _request_type: Generated, reply_type: Generated, **terms: Generated
    ) -> Replies:
        return self._replies(Cardinality.STREAM_STREAM, route, requests, reply_type, terms)

    def _replies(
        self, cardinality: Cardinality, route: str, requests: Generated, reply_type: Generated, terms: dict[str, Any]
    ) -> Replies:
        channel: Channel = self.channel  # type: ignore[assignment]
        for name in ("timeout", "deadline", "metadata"):
            if terms.get(name) is None:
                terms[name] = getattr(self, name)
        return Replies(channel, channel.request(route, cardinality, None, reply_type, **terms), requests)


async def _send(call: ClientCall, requests: Generated) -> None:
    try:
        await call.send_all(requests)
    except Exception as error:  # noqa: BLE001 - whatever it is, the caller hears of it
        call.fail(error)


def _break_off(call: ClientCall, sending: trio.CancelScope | None) -> None:
    if sending is not None:
        sending.cancel()
    call.leave()


@asynccontextmanager
async def open_channel(
    host: str, port: int, *, tls: ssl.SSLContext | None = None, limits: Limits | None = None
) -> AsyncIterator[Channel]:
    """A channel over a connection of its own; raises OSError if there is nobody to connect to."""
    stream: ByteStream = await trio.open_tcp_stream(host, port)
    if tls is not None:
        tls.set_alpn_protocols(["h2"])
        stream = trio.SSLStream(stream, tls, server_hostname=host, https_compatible=True)
    authority = f"{host}:{port}"
    try:
        driver = ConnectionDriver(stream, None, limits or Limits(), authority)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(driver.run)
            yield Channel(driver, nursery, authority, tls=tls is not None)
            nursery.cancel_scope.cancel()
    finally:
        await trio.aclose_forcefully(stream)


def _metadata(metadata: Generated) -> Headers:
    pairs = metadata.items() if hasattr(metadata, "items") else metadata or ()
    return [(_bytes(name), _bytes(value)) for name, value in pairs]


def _bytes(text: str | bytes) -> bytes:
    return text.encode() if isinstance(text, str) else text
