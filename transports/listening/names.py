"""The addresses at the ends of sockets, as text."""

import socket

import trio


def remote_address(stream: trio.SocketStream) -> str:
    """Who is at the other end, as `host:port`; empty for what has no name, or has gone."""
    try:
        name = stream.socket.getpeername()
    except OSError:
        return ""
    return f"{name[0]}:{name[1]}" if isinstance(name, tuple) else ""


def host_in(address: str) -> str:
    """The host of a `host:port`."""
    return address.rpartition(":")[0]


def local_host(stream: trio.SocketStream) -> str:
    """The address of this machine that a connection arrived at; empty for one that has gone."""
    try:
        name = stream.socket.getsockname()
    except OSError:
        return ""
    return str(name[0]) if isinstance(name, tuple) else ""


def bound(listener: trio.SocketListener) -> tuple[str, int]:
    """Where a socket listens: the host and the port."""
    host, port, *_ = listener.socket.getsockname()
    return host, port


def written(listener: trio.SocketListener) -> str:
    """Return the address as text; brackets enclose an IPv6 host."""
    host, port = bound(listener)
    return f"[{host}]:{port}" if listener.socket.family == socket.AF_INET6 else f"{host}:{port}"
