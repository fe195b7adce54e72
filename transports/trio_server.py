"""One port on trio: accepts connections, finds out what each of them speaks, and serves it behind a barrier.

What is decided here: how many connections there may be, in all and from one address, how long a TLS handshake and the
first bytes may take, and how the server goes: it stops accepting, warns every connection, and gives what is in flight
some time.

A port with an edge for plain HTTP speaks HTTP/1.1 and HTTP/2. A client of HTTP/2 says so in its first 24 bytes, with
TLS or without; whatever differs from them is HTTP/1.1, unless TLS has agreed on HTTP/2.
"""

import logging
import socket
import ssl
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import trio
from attrs import define, field
from trio.abc import Stream as ByteStream

from goqueue.storage.buffers import BufferPool
from goqueue.transports.buffer_budget import BufferBudget, BufferShare
from goqueue.transports.exchange import Application, by_content_type, not_found
from goqueue.transports.http1.limits import Http1Limits, Room
from goqueue.transports.http2.frames import PREFACE, READ_BUFFER_BYTES
from goqueue.transports.http2.limits import SECOND_NS, Limits
from goqueue.transports.offenders import Offenders
from goqueue.transports.rest.application import RestApplication
from goqueue.transports.rest.edge import Edge
from goqueue.transports.rest.guarded import GuardedEdge
from goqueue.transports.rest.web_access import WebAccess
from goqueue.transports.spare_memory import give_back
from goqueue.transports.trio_buffer_room import SWEEP_S
from goqueue.transports.trio_http1 import ConnectionDriver as Http1Driver
from goqueue.transports.trio_http2 import ConnectionDriver as Http2Driver
from goqueue.transports.trio_parking import Parking, now_ns

# Connections that are being read from share these; beyond, each buffer is made afresh.
BUFFERS_MAX = 64
# The system takes no more for a client than this beyond what is on its way: otherwise megabytes of answers are made for
# one that reads none, before a write has to wait.
UNSENT_BYTES_MAX = 256 << 10
_TCP_NOTSENT_LOWAT = getattr(socket, "TCP_NOTSENT_LOWAT", 25 if sys.platform == "linux" else None)

log = logging.getLogger(__name__)


@define(frozen=True)
class ServerLimits:
    """What all connections together may take; `connection` is for each that speaks HTTP/2, `http1` for the others.

    Bodies and answers of plain HTTP have the bounds of `http1` by either protocol; the bodies on their way in from one
    address may take half of `bytes_in_flight_max`.
    """

    connections_max: int = 10_000
    connections_per_address_max: int = 2000
    bytes_in_flight_max: int = 128 << 20
    # What all connections, and each of them, may have of answers that are being made or not taken yet.
    buffer_bytes_max: int = 64 << 20
    connection_buffer_bytes_max: int = 16 << 20
    handshake_ns: int = 10 * SECOND_NS
    connection: Limits = field(factory=Limits)
    http1: Http1Limits = field(factory=Http1Limits)


@define
class _Address:
    """What one address has here."""

    room: Room
    connections: int = 0


class Server:
    """Serves applications on any number of listeners: gRPC over HTTP/2, and with an edge plain HTTP by both protocols.

    `access` says which web pages may use the edge; without it none but the broker's own. `tls` may be replaced at any
    time; connections that are there keep what they have.
    """

    def __init__(
        self,
        application: Application | None = None,
        edge: Edge | None = None,
        *,
        limits: ServerLimits | None = None,
        tls: ssl.SSLContext | None = None,
        access: WebAccess | None = None,
    ) -> None:
        self._limits = limits or ServerLimits()
        self._edge = None if edge is None else GuardedEdge(edge, access or WebAccess())
        self._application = application or not_found
        if self._edge is not None:
            plain = RestApplication(self._edge, self._limits.http1, self._room_of, self._host_of)
            self._application = plain if application is None else by_content_type(application, plain)
        self._tls = tls
        if tls is not None:
            self.renew_tls(tls)
        self._room = Room(self._limits.bytes_in_flight_max)
        self._pressed = Parking()
        self.buffer_budget = BufferBudget(self._limits.buffer_bytes_max, self._pressed.wake)
        self._buffers = BufferPool(READ_BUFFER_BYTES, BUFFERS_MAX)
        self._addresses: dict[str, _Address] = {}
        self._offenders = Offenders()
        # Which of this machine's addresses each connection arrived at, by the peer's address.
        self._arrived_at: dict[str, str] = {}
        self._connection_count = 0
        # In the order in which they came, so that a simulated server ends them in the same order every time.
        self._drivers: dict[Http1Driver | Http2Driver, None] = {}
        self._undecided: dict[trio.CancelScope, None] = {}
        self._accepting = trio.CancelScope()
        self._draining = False
        self._emptied = trio.Event()

    @property
    def connection_count(self) -> int:
        """How many connections there are."""
        return self._connection_count

    @property
    def bytes_in_flight(self) -> int:
        """Bytes of plain HTTP on their way in."""
        return self._room.used

    @property
    def held_bytes(self) -> int:
        """What connections of HTTP/2 keep in memory for their peers, in and out."""
        return sum(driver.held_bytes for driver in self._drivers if isinstance(driver, Http2Driver))

    def renew_tls(self, tls: ssl.SSLContext) -> None:
        """Welcome whoever comes from here on with this key and these certificates."""
        tls.set_alpn_protocols(["h2"] if self._edge is None else ["h2", "http/1.1"])
        self._tls = tls

    async def serve(
        self,
        listeners: Sequence[trio.SocketListener],
        *,
        task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        """Serve until `drain` has ended, or until cancelled."""
        async with trio.open_nursery() as sweeping:
            sweeping.start_soon(self._sweep)
            async with trio.open_nursery() as nursery:
                with self._accepting:
                    task_status.started()
                    await trio.serve_listeners(self._welcome, list(listeners), handler_nursery=nursery)
            sweeping.cancel_scope.cancel()

    async def _sweep(self) -> None:
        """While there is too little room for answers, take it from clients that read nothing; then tidy up."""
        while True:
            await self._pressed.wait()
            while self.buffer_budget.is_pressed:
                self.buffer_budget.sweep()
                await trio.sleep(SWEEP_S)
            await trio.to_thread.run_sync(give_back)

    async def drain(self, grace_ns: int) -> None:
        """Accept no more; warn every connection; return when all are gone, or when the time is up and they are cut."""
        self._draining = True
        if self._edge is not None:
            self._edge.leave()
        self._accepting.cancel()
        for scope in self._undecided:
            scope.cancel()
        for driver in list(self._drivers):
            driver.drain()
        with trio.move_on_after(grace_ns / SECOND_NS):
            while self._connection_count:
                self._emptied = trio.Event()
                await self._emptied.wait()
        self.cut()

    def cut(self) -> None:
        """End every connection now."""
        for driver in list(self._drivers):
            driver.cut()

    async def _welcome(self, stream: trio.SocketStream) -> None:
        """Serve a connection and let nothing of it out: neither its errors nor its socket."""
        address = peer_address(stream)
        try:
            with self._entered(_host(address)) as admitted:
                if admitted:
                    stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    stream.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
                    if _TCP_NOTSENT_LOWAT is not None:
                        stream.setsockopt(socket.IPPROTO_TCP, _TCP_NOTSENT_LOWAT, UNSENT_BYTES_MAX)
                    await self._converse(stream, address)
        except Exception:
            log.exception("a connection from %s failed", address)
        finally:
            await trio.aclose_forcefully(stream)

    @contextmanager
    def _entered(self, host: str) -> Iterator[bool]:
        """Count a connection while it is there; whether it may stay."""
        limits = self._limits
        visitor = self._addresses.get(host)
        if visitor is None:
            visitor = self._addresses[host] = _Address(Room(limits.bytes_in_flight_max // 2, self._room))
        visitor.connections += 1
        self._connection_count += 1
        try:
            within = self._connection_count <= limits.connections_max
            yield within and visitor.connections <= limits.connections_per_address_max and not self._draining
        finally:
            self._connection_count -= 1
            visitor.connections -= 1
            if not visitor.connections:
                assert not visitor.room.used, "what an address had in flight goes with its last connection"
                del self._addresses[host]
            self._emptied.set()

    def _room_of(self, address: str) -> Room:
        return self._addresses[_host(address)].room

    def _host_of(self, address: str) -> str:
        return self._arrived_at.get(address, "")

    async def _converse(self, stream: trio.SocketStream, address: str) -> None:
        secured = stream if self._tls is None else await self._secure(stream, self._tls)
        if secured is None:
            return
        is_http2 = self._edge is None or _agreed_on_http2(secured)
        received = b"" if is_http2 else await self._first_bytes(secured)
        if received is None:
            return
        driver: Http1Driver | Http2Driver
        self._arrived_at[address] = host = local_host(stream)
        share = BufferShare(self.buffer_budget, self._limits.connection_buffer_bytes_max)
        peer_host = _host(address)
        if self._edge is None or is_http2 or received.startswith(PREFACE):
            limits = self._limits.connection
            if self._offenders.has(now_ns(), peer_host):
                limits = limits.suspicious()
            driver = Http2Driver(secured, self._application, limits, address, self._buffers, share)
        else:
            room = self._room_of(address)
            driver = Http1Driver(secured, self._edge, self._limits.http1, room, share, address, host)
        self._drivers[driver] = None
        if self._draining:
            driver.drain()
        try:
            await driver.run(received)
        finally:
            self._drivers.pop(driver, None)
            self._arrived_at.pop(address, None)
            if isinstance(driver, Http2Driver) and driver.has_flooded:
                self._offenders.note(now_ns(), peer_host)

    async def _first_bytes(self, stream: ByteStream) -> bytes | None:
        """As many bytes as tell what is spoken; None when none come in time, or nobody asks for anything."""
        limits = self._limits.http1
        received = b""
        with trio.move_on_after(limits.idle_ns / SECOND_NS) as scope:
            self._undecided[scope] = None
            try:
                while len(received) < len(PREFACE) and PREFACE.startswith(received):
                    more = await stream.receive_some(limits.read_bytes)
                    if not more:
                        return None
                    if not received:
                        scope.deadline = trio.current_time() + limits.head_ns / SECOND_NS
                    received += more
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                return None
            finally:
                self._undecided.pop(scope, None)
        return None if scope.cancelled_caught else received

    async def _secure(self, stream: trio.SocketStream, tls: ssl.SSLContext) -> ByteStream | None:
        """The stream under TLS; None for a peer that does not manage it in time, or speaks nothing we do."""
        secured = trio.SSLStream(stream, tls, server_side=True, https_compatible=True)
        try:
            with trio.fail_after(self._limits.handshake_ns / SECOND_NS):
                await secured.do_handshake()
        except (trio.BrokenResourceError, trio.TooSlowError):
            return None
        return None if self._edge is None and not _agreed_on_http2(secured) else secured


def _agreed_on_http2(stream: ByteStream) -> bool:
    return isinstance(stream, trio.SSLStream) and stream.selected_alpn_protocol() == "h2"


def _host(address: str) -> str:
    return address.rpartition(":")[0]


def peer_address(stream: trio.SocketStream) -> str:
    """Who is at the other end, as `host:port`; empty for what has no name, or has gone."""
    try:
        name = stream.socket.getpeername()
    except OSError:
        return ""
    return f"{name[0]}:{name[1]}" if isinstance(name, tuple) else ""


def local_host(stream: trio.SocketStream) -> str:
    """The address of this machine that a connection arrived at; empty for one that has gone."""
    try:
        name = stream.socket.getsockname()
    except OSError:
        return ""
    return str(name[0]) if isinstance(name, tuple) else ""
