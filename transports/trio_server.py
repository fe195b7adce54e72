"""The port of clients on trio: HTTP/1.1 and HTTP/2 behind one listener, and what all their connections share.

A port with an edge for plain HTTP speaks both. A client of HTTP/2 says so in its first 24 bytes, with TLS or without;
whatever differs from them is HTTP/1.1, unless TLS has agreed on HTTP/2. How connections come to be and end is the
listener's (`listening`); decided here is how much memory they may take together, and who is served with suspicion.
"""

import ssl
from collections.abc import Callable, Sequence
from functools import partial

import trio
from attrs import define, field

from goqueue.storage.buffers import BufferPool
from goqueue.transports.buffer_budget import BufferBudget, BufferShare
from goqueue.transports.exchange import Application, by_content_type, not_found
from goqueue.transports.http1.limits import Http1Limits, Room
from goqueue.transports.http2.frames import PREFACE, READ_BUFFER_BYTES
from goqueue.transports.http2.limits import SECOND_NS, Limits
from goqueue.transports.listening.limits import ListenerLimits
from goqueue.transports.listening.listener import Listener
from goqueue.transports.listening.names import host_in
from goqueue.transports.listening.protocols import Accepted, Conversation, WireProtocol
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

    @property
    def listener(self) -> ListenerLimits:
        """What concerns connections before they speak."""
        return ListenerLimits(
            connections_max=self.connections_max,
            connections_per_address_max=self.connections_per_address_max,
            handshake_ns=self.handshake_ns,
            silence_ns=self.http1.idle_ns,
            opening_ns=self.http1.head_ns,
            read_bytes=self.http1.read_bytes,
        )


class _Rooms:
    """Rooms for what the connections of each address have on its way in, within the room of all."""

    def __init__(self, bytes_max: int) -> None:
        self.whole = Room(bytes_max)
        self._by_host: dict[str, tuple[Room, int]] = {}

    def of(self, host: str) -> Room:
        """The room of an address that has connections."""
        return self._by_host[host][0]

    def enter(self, host: str) -> Room:
        """The room for one more connection from an address."""
        room, count = self._by_host.get(host) or (Room(self.whole.bytes_max // 2, self.whole), 0)
        self._by_host[host] = room, count + 1
        return room

    def leave(self, host: str) -> None:
        """One of an address's connections has ended."""
        room, count = self._by_host.pop(host)
        if count > 1:
            self._by_host[host] = room, count - 1
        else:
            assert not room.used, "what an address had in flight goes with its last connection"


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
        protocols = [WireProtocol(self._begin_http2, "h2", PREFACE)]
        if self._edge is not None:
            protocols.append(WireProtocol(self._begin_http1, "http/1.1"))
        self._listener = Listener(protocols, self._limits.listener, tls=tls)
        self._rooms = _Rooms(self._limits.bytes_in_flight_max)
        self._pressed = Parking()
        self.buffer_budget = BufferBudget(self._limits.buffer_bytes_max, self._pressed.wake)
        self._buffers = BufferPool(READ_BUFFER_BYTES, BUFFERS_MAX)
        self._offenders = Offenders()
        # Which of this machine's addresses each connection arrived at, by the peer's address.
        self._arrived_at: dict[str, str] = {}
        self._http2_drivers: dict[Http2Driver, None] = {}

    @property
    def connection_count(self) -> int:
        """How many connections there are."""
        return self._listener.connection_count

    @property
    def bytes_in_flight(self) -> int:
        """Bytes of plain HTTP on their way in."""
        return self._rooms.whole.used

    @property
    def held_bytes(self) -> int:
        """What connections of HTTP/2 keep in memory for their peers, in and out."""
        return sum(driver.held_bytes for driver in self._http2_drivers)

    def renew_tls(self, tls: ssl.SSLContext) -> None:
        """Welcome whoever comes from here on with this key and these certificates."""
        self._listener.renew_tls(tls)

    async def serve(
        self,
        sockets: Sequence[trio.SocketListener],
        *,
        task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        """Serve until `drain` has ended, or until cancelled."""
        async with trio.open_nursery() as sweeping:
            sweeping.start_soon(self._sweep)
            await self._listener.serve(sockets, task_status=task_status)
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
        if self._edge is not None:
            self._edge.leave()
        await self._listener.drain(grace_ns)

    def cut(self) -> None:
        """End every connection now."""
        self._listener.cut()

    def _room_of(self, address: str) -> Room:
        return self._rooms.of(host_in(address))

    def _host_of(self, address: str) -> str:
        return self._arrived_at.get(address, "")

    def _share(self) -> BufferShare:
        return BufferShare(self.buffer_budget, self._limits.connection_buffer_bytes_max)

    async def _begin_http1(self, accepted: Accepted) -> Conversation:
        assert self._edge is not None
        room = self._rooms.enter(accepted.host)
        driver = Http1Driver(
            accepted.stream, self._edge, self._limits.http1, room, self._share(), accepted.remote, accepted.local_host
        )
        return _Conversation(driver, accepted.received, partial(self._rooms.leave, accepted.host))

    async def _begin_http2(self, accepted: Accepted) -> Conversation:
        limits = self._limits.connection
        if self._offenders.has(now_ns(), accepted.host):
            limits = limits.suspicious()
        driver = Http2Driver(accepted.stream, self._application, limits, accepted.remote, self._buffers, self._share())
        self._rooms.enter(accepted.host)
        self._arrived_at[accepted.remote] = accepted.local_host
        self._http2_drivers[driver] = None
        return _Conversation(driver, accepted.received, partial(self._ended_http2, driver, accepted))

    def _ended_http2(self, driver: Http2Driver, accepted: Accepted) -> None:
        del self._http2_drivers[driver]
        self._arrived_at.pop(accepted.remote, None)
        self._rooms.leave(accepted.host)
        if driver.has_flooded:
            self._offenders.note(now_ns(), accepted.host)


@define(eq=False)
class _Conversation:
    """See Conversation; a connection of either protocol."""

    _driver: Http1Driver | Http2Driver
    _received: bytes
    _ended: Callable[[], None]

    async def run(self) -> None:
        try:
            await self._driver.run(self._received)
        finally:
            self._ended()

    def drain(self) -> None:
        self._driver.drain()

    def cut(self) -> None:
        self._driver.cut()
