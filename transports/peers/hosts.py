"""Which host a connection comes from, and which hosts a name stands for, so that both can be compared.

All of loopback is one host: a connection to 127.0.0.2 comes from 127.0.0.1.
"""

from ipaddress import IPv6Address, ip_address

import trio

from goqueue.transports.peers.addresses import PeerAddress

LOOPBACK = "loopback"


def host_of(stream: trio.SocketStream) -> str:
    """The host at the other end; empty where that cannot be said."""
    try:
        name = stream.socket.getpeername()
    except OSError:
        return ""
    return normal(str(name[0])) if isinstance(name, tuple) else ""


async def hosts_of(place: PeerAddress) -> set[str]:
    """The hosts that a place's name stands for at the moment; none where it cannot be looked up."""
    try:
        found = await trio.socket.getaddrinfo(place.host, place.port, type=trio.socket.SOCK_STREAM)
    except OSError:
        return set()
    return {normal(str(address[0])) for _, _, _, _, address in found}


def normal(text: str) -> str:
    """One spelling for each address."""
    try:
        address = ip_address(text)
    except ValueError:
        return text
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return LOOPBACK if (mapped or address).is_loopback else str(mapped or address)
