"""Peers that nobody listed: those that a name stands for, and those that call out in the neighbourhood.

Either gives addresses, and no more: whether there is a node, and which, its hello says. A name is looked up again and
again, since those behind it come and go. Calling out is for one network segment: each node says by UDP multicast where
it listens, to a group that clusters who share a segment must not share.
"""

import json
import logging
import socket
import struct
from collections.abc import Callable

import trio

from goqueue.transports.peers.addresses import PeerAddress, parse_peer

log = logging.getLogger("goqueue")

LOOKUP_S = 5.0
CALL_OUT_S = 2.0
# The interface that the system takes for multicast.
_ANY = "0.0.0.0"  # noqa: S104 - no port is bound to it
_MAGIC = b"GoQhere\n"
_BYTES_MAX = 1024
_MEMBERSHIP = struct.Struct("4s4s")

Find = Callable[[PeerAddress], None]


async def look_up(host: str, port: int, find: Find, pause_s: float = LOOKUP_S) -> None:
    """Find whoever a name stands for, until cancelled."""
    failure = ""
    while True:
        try:
            found = await trio.socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, ValueError) as error:
            # Once a sentence: a name that is not there yet is not there for a while.
            if str(error) != failure:
                failure = str(error)
                why = getattr(error, "strerror", None) or error
                log.warning("peers are looked for at %s, which cannot be looked up: %s", host, why)
        else:
            failure = ""
            for *_, address in found:
                find(PeerAddress("", str(address[0]), port))
        await trio.sleep(pause_s)


async def call_out(
    own: PeerAddress, group: tuple[str, int], find: Find, interface: str = _ANY, pause_s: float = CALL_OUT_S
) -> None:
    """Say where this node is, and find whoever says the same, until cancelled. Raises OSError without multicast."""
    with trio.socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as heard:
        heard.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        heard.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        await heard.bind(group)
        near = _MEMBERSHIP.pack(socket.inet_aton(group[0]), socket.inet_aton(interface))
        heard.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, near)
        heard.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 1)
        heard.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(interface))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_hear, heard, own, find)
            while True:
                await heard.sendto(calling(own), group)
                await trio.sleep(pause_s)


async def _hear(heard: trio.socket.SocketType, own: PeerAddress, find: Find) -> None:
    while True:
        content, _ = await heard.recvfrom(_BYTES_MAX)
        place = called(content)
        if place is not None and place.node_id != own.node_id:
            find(place)


def calling(own: PeerAddress) -> bytes:
    """What a node calls out."""
    return _MAGIC + json.dumps({"node": own.node_id, "internal": own.place}).encode()


def called(content: bytes) -> PeerAddress | None:
    """Who has called out, and from where; None for anything else that came to the group."""
    if not content.startswith(_MAGIC):
        return None
    try:
        found = json.loads(content.removeprefix(_MAGIC))
        return parse_peer(f"{found['node']}@{found['internal']}")
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
