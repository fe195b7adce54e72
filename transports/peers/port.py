"""The port at which peers call, as its listener has it: limits, and the connections that were greeted."""

import socket
from collections.abc import Awaitable, Callable

from attrs import define

from goqueue.transports.listening.limits import SMALL_WRITES, UNBOUNDED, ListenerLimits, SocketOptions
from goqueue.transports.peers.addresses import PeerAddress
from goqueue.transports.peers.connection import Connection, PeerLimits


def socket_options(limits: PeerLimits) -> SocketOptions:
    """Small writes go at once, and a connection breaks when what was sent is not taken for too long."""
    return (*SMALL_WRITES, (socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(limits.silence_s * 1000)))


def listener_limits(limits: PeerLimits) -> ListenerLimits:
    """Nodes are counted once they are known; until then they are newcomers."""
    return ListenerLimits(
        connections_max=UNBOUNDED,
        connections_per_address_max=UNBOUNDED,
        newcomers_max=limits.strangers_max,
        handshake_ns=int(limits.hello_s * 1e9),
        socket_options=socket_options(limits),
    )


def place_of(remote: str) -> str:
    """Whoever is at the other end, as it is written of peers."""
    host, _, port = remote.rpartition(":")
    return str(PeerAddress("", host, int(port))) if remote else "somewhere"


@define(eq=False)
class CalledConversation:
    """See Conversation; a connection that a peer has made."""

    _connection: Connection
    _serve: Callable[[], Awaitable[None]]

    async def run(self) -> None:
        """See Conversation."""
        await self._serve()

    def drain(self) -> None:
        """See Conversation; letters may be lost."""
        self._connection.close()

    def cut(self) -> None:
        """See Conversation."""
        self._connection.close()
