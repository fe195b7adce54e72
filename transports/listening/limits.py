"""What a listener lets clients take before a protocol speaks with them."""

import socket
import sys

from attrs import define

SECOND_NS = 1_000_000_000
UNBOUNDED = 1 << 62
# The system takes no more for a client than this beyond what is on its way: otherwise megabytes of answers are made for
# one that reads none, before a write has to wait.
UNSENT_BYTES_MAX = 256 << 10
_TCP_NOTSENT_LOWAT = getattr(socket, "TCP_NOTSENT_LOWAT", 25 if sys.platform == "linux" else None)

# As `setsockopt` takes them.
SocketOptions = tuple[tuple[int, int, int], ...]
SMALL_WRITES: SocketOptions = ((socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),)
OF_CLIENTS: SocketOptions = (
    *SMALL_WRITES,
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    *([] if _TCP_NOTSENT_LOWAT is None else [(socket.IPPROTO_TCP, _TCP_NOTSENT_LOWAT, UNSENT_BYTES_MAX)]),
)


@define(frozen=True)
class ListenerLimits:
    """How many connections there may be, and how long each may take to begin."""

    connections_max: int = 10_000
    connections_per_address_max: int = 2000
    # Connections that have not begun. Where there are more, the oldest of the address that has most gives way.
    newcomers_max: int = UNBOUNDED
    # For TLS; for a first byte; and from there on for as many as tell what is spoken.
    handshake_ns: int = 10 * SECOND_NS
    silence_ns: int = 60 * SECOND_NS
    opening_ns: int = 10 * SECOND_NS
    read_bytes: int = 64 << 10
    socket_options: SocketOptions = OF_CLIENTS
