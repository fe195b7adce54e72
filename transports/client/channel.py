"""Calls over one connection to a broker: message bytes out, message bytes in, whatever the loop.

A call of one message either way is `call`, any other `stream`. Messages are bytes: who calls, encodes and decodes.
How a call ends: as it should; with the GRPCError that the broker said, or that a broken-off stream comes down to; with
DEADLINE_EXCEEDED once its deadline has passed, which is told to the broker and kept here as well; or with
ConnectionLost, when there is no connection any more. Leaving a call that is not over breaks it off.

`send` puts messages into a queue, from which they leave together; it waits while the queue is full because the broker
takes nothing. What the broker sends, and nobody receives, fills the stream's window and no more: that bounds memory.
"""

import os
import socket
import ssl
from collections import deque
from typing import cast

from grpclib.const import Status
from grpclib.exceptions import GRPCError

from goqueue.core.records.varint import Readable
from goqueue.transports.client.link import Exchange, Link
from goqueue.transports.client.loops import SECOND_NS, Loop, Parking, Task
from goqueue.transports.client.lost import ConnectionLost
from goqueue.transports.grpc.client_call import HTTP_STATUS, RESET_STATUS, call_request
from goqueue.transports.grpc.compression import inflate
from goqueue.transports.grpc.framing import Assembly, MessageReader, frame_prefix
from goqueue.transports.grpc.status import error_of
from goqueue.transports.http2.errors import ConnectionUnavailable, StreamGone
from goqueue.transports.http2.limits import KIB, MIB, Limits
from goqueue.transports.http2.request import Request

MESSAGE_BYTES_MAX = 64 * MIB
CONNECT_NS = 10 * SECOND_NS
# From this size a message is queued beside its prefix: one more frame costs less than one more copy.
APART_BYTES = 64 * KIB
REQUESTS_KEPT_MAX = 256
# A broker that has stopped without a word is left for another one before its clients give up.
LIMITS = Limits(stream_window_bytes=4 * MIB, probe_ns=SECOND_NS * 3 // 4, answer_ns=5 * SECOND_NS)


class CallStream:
    """A call that is under way; one task may send while another receives."""

    __slots__ = ("_deadline", "_ended", "_exchange", "_link", "_reader", "_ready", "_stays", "_stream")

    def __init__(self, link: Link, exchange: Exchange, deadline: int | None, *, stays: bool) -> None:
        self._link = link
        self._exchange = exchange
        self._stream = exchange.stream
        self._deadline = deadline
        # Whether to wait on for a broker that is mute.
        self._stays = stays
        self._reader = MessageReader(MESSAGE_BYTES_MAX, Assembly(MESSAGE_BYTES_MAX))
        # What is fed with bytes gives bytes.
        self._ready = cast("deque[tuple[bool, bytes]]", self._reader.ready)
        self._ended = False

    async def send(self, message: bytes) -> None:
        """Queue a message; waits while the queue is full.

        Once the broker has ended the call this sends nothing and says nothing: `receive` tells how it ended.
        """
        await self.send_parts(b"", message)

    async def send_parts(self, front: bytes, content: Readable) -> None:
        """`send` a message that consists of these two, which must not change any more."""
        stream = self._stream
        if stream.gone is not None or stream.ended:
            return
        prefix = frame_prefix(len(front) + len(content))
        if len(content) < APART_BYTES:
            free = stream.send(b"".join((prefix, front, content)))
        else:
            stream.send(prefix + front)
            free = stream.send(content)
        self._link.kick()
        while not free:
            if not self._stays and self._link.is_mute:
                raise self._link.mute()
            await self._wait(self._exchange.writing)
            free = not self._crowded()

    def put(self, message: bytes) -> None:
        """Queue a message whether the queue is full or not: look at `crowded` first, and `flush` after the last."""
        stream = self._stream
        if stream.gone is None and not stream.ended:
            stream.send(frame_prefix(len(message)) + message)

    @property
    def crowded(self) -> bool:
        """Whether the queue is full."""
        return self._stream.gone is None and self._crowded()

    async def finish(self) -> None:
        """Say that no more messages come."""
        self.close_side()

    def close_side(self) -> None:
        """`finish`, which never waits, for whoever cannot await."""
        stream = self._stream
        if stream.gone is None and not stream.finishing:
            stream.end()
            self._link.kick()

    def flush(self) -> None:
        """Have what was queued sent at once, for whoever waits for an answer to it."""
        self._link.flush()

    async def receive(self) -> list[bytes]:
        """All messages at hand, at least one; none at the end of the call, if that is a good one."""
        while (messages := self.take()) is None:
            await self._wait(self._exchange.reading)
        return messages

    def take(self) -> list[bytes] | None:
        """The same for whoever does not wait: None while nothing has come."""
        stream, ready = self._stream, self._ready
        while not ready and not self._ended:
            if stream.gone is not None:
                raise self._broken(stream.gone)
            if stream.unread_bytes:
                self._reader.feed(stream.read())
                self._link.kick()
            elif stream.ended:
                self._conclude()
            elif not self._stays and self._link.is_mute:
                raise self._link.mute()
            else:
                return None
        messages = [inflate(message, MESSAGE_BYTES_MAX) if squeezed else message for squeezed, message in ready]
        ready.clear()
        return messages

    @property
    def at_hand(self) -> bool:
        """Whether something has come that was not received."""
        return bool(self._ready) or self._stream.readable

    def leave(self) -> None:
        """Nobody is interested any more: break the call off unless it is over."""
        self._link.leave(self._stream)

    async def __aenter__(self) -> "CallStream":
        return self

    async def __aexit__(self, *_error: object) -> None:
        self.leave()

    def _crowded(self) -> bool:
        return not self._stream.ended and self._stream.crowded

    async def _wait(self, parking: Parking) -> None:
        deadline = self._deadline
        if deadline is None:
            await parking.wait()
        elif not await self._link.loop.within(deadline, parking.wait):
            raise GRPCError(Status.DEADLINE_EXCEEDED, "the deadline has passed")

    def _broken(self, gone: StreamGone) -> Exception:
        if not self._link.alive:
            return self._link.lost(unseen=gone.unseen)
        return GRPCError(RESET_STATUS.get(gone.code, Status.UNAVAILABLE), str(gone))

    def _conclude(self) -> None:
        """The response has ended: well, or with what is raised here."""
        self._ended = True
        headers = self._stream.headers or []
        trailers = self._stream.trailers
        if trailers is None and any(name == b"grpc-status" for name, _ in headers):
            trailers = headers
        if trailers is None:
            http_status = dict(headers).get(b":status", b"none")
            status = HTTP_STATUS.get(http_status, Status.UNKNOWN)
            raise GRPCError(status, f"HTTP status {http_status.decode('latin-1')}, and no grpc-status")
        error = error_of(trailers)
        if error is not None:
            raise error
        if self._reader.partial:
            raise GRPCError(Status.INTERNAL, "the response ends in the middle of a message")


class Channel:
    """One connection, and the calls on it."""

    def __init__(self, link: Link, *, tls: bool) -> None:
        self._link = link
        self._scheme = b"https" if tls else b"http"
        host = f"[{link.host}]" if ":" in link.host else link.host
        self._authority = f"{host}:{link.port}".encode()
        self._requests: dict[tuple[str, int | None], Request] = {}
        self.address = f"{host}:{link.port}"
        self._watch: Task = link.loop.start(link.keep_time)

    @property
    def available(self) -> bool:
        """Whether a call can begin here and now."""
        return self._link.available

    @property
    def is_mute(self) -> bool:
        """Whether the broker answers no probe at the moment."""
        return self._link.is_mute

    @property
    def alive(self) -> bool:
        """Whether calls can begin, now or once others have ended; a channel that is not stays so, and wants closing."""
        return self._link.alive

    @property
    def held_bytes(self) -> int:
        """What the connection keeps in memory, in and out."""
        return self._link.held_bytes

    def stream(
        self,
        path: str,
        deadline: int | None = None,
        reading: Parking | None = None,
        writing: Parking | None = None,
        *,
        stays: bool = True,
    ) -> CallStream:
        """Begin a call of any kind, as a block; raises ConnectionLost, or GRPCError where there is no room.

        Whoever waits for several things at once brings the places where it waits. A call that does not stay ends with
        ConnectionLost once the broker is mute; it is for what may be done a second time.
        """
        request = self._request(path, deadline)
        try:
            exchange = self._link.open(request, reading, writing)
        except ConnectionUnavailable:
            raise GRPCError(Status.UNAVAILABLE, "as many calls are under way as the broker allows") from None
        self._link.kick()
        return CallStream(self._link, exchange, deadline, stays=stays)

    async def call(self, path: str, request: bytes, deadline: int | None = None, *, stays: bool = True) -> bytes:
        """Make a call of one message either way."""
        call = self.stream(path, deadline, stays=stays)
        try:
            await call.send(request)
            await call.finish()
            call.flush()
            replies = await call.receive()
            if replies:
                replies += await call.receive()
        finally:
            call.leave()
        if len(replies) != 1:
            raise GRPCError(Status.INTERNAL, f"the broker made {len(replies)} replies where one was due")
        return replies[0]

    async def close(self) -> None:
        """Close the connection; calls under way end with ConnectionLost."""
        self._watch.cancel()
        await self._link.close()

    def drop(self) -> None:
        """`close`, which never waits; the socket is closed beside."""
        self._watch.cancel()
        self._link.lose("it was closed here")

    def _request(self, path: str, deadline: int | None) -> Request:
        timeout_ns = None
        if deadline is not None:
            timeout_ns = deadline - self._link.loop.now()
            if timeout_ns <= 0:
                raise GRPCError(Status.DEADLINE_EXCEEDED, "the deadline had passed before the call")
            timeout_ns = _round_up(timeout_ns)
        request = self._requests.get((path, timeout_ns))
        if request is None:
            request = call_request(path, self._scheme, self._authority, timeout_ns, ())
            if len(self._requests) < REQUESTS_KEPT_MAX:
                self._requests[path, timeout_ns] = request
        return request


async def open_channel(
    loop: Loop, address: str, *, tls: ssl.SSLContext | None = None, timeout_ns: int = CONNECT_NS
) -> Channel:
    """A channel to `host:port`; raises ConnectionLost if there is nobody, or nobody who greets in time.

    A process that is stopped has its connections taken by the system, so a connection alone says nothing.
    """
    host, port = split_address(address)
    if tls is not None:
        tls.set_alpn_protocols(["h2"])
    link = Link(loop, host, port, LIMITS)

    async def dial() -> None:
        link.carrier = await loop.dial(host, port, tls, link)
        await link.until_greeted()

    try:
        in_time = await loop.within(loop.now() + timeout_ns, dial)
    except OSError as error:
        raise ConnectionLost(host, port, _why(error), unseen=True) from error
    except BaseException:
        link.lose("nobody waits for it any more")
        raise
    if not in_time:
        await link.close()
        raise ConnectionLost(host, port, f"no connection within {timeout_ns / SECOND_NS:g} seconds", unseen=True)
    return Channel(link, tls=tls is not None)


def split_address(address: str) -> tuple[str, int]:
    """The host and the port in `host:port` or `[host]:port`; raises ValueError."""
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535 or not host:
        raise ValueError(f"an address is host:port, not {address!r}")
    if host.startswith("[") and host.endswith("]"):
        return host[1:-1], int(port)
    if ":" in host:
        raise ValueError(f"an address with colons in its host is written [host]:port, not {address!r}")
    return host, int(port)


def _why(error: OSError) -> str:
    """The system's own words where there are any: what goes between, asyncio for one, has others."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not to be trusted: {error.verify_message}"
    if error.errno is None or isinstance(error, ssl.SSLError | socket.gaierror):
        return error.strerror or str(error)
    return os.strerror(error.errno)


def _round_up(timeout_ns: int) -> int:
    """Two digits of a timeout: equal ones have equal headers, which cost nothing to encode again."""
    unit: int = 10 ** max(len(str(timeout_ns)) - 2, 0)
    return -(-timeout_ns // unit) * unit
