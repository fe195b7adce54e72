"""A plain socket for whoever reads and writes without trio's copies: system calls on its descriptor, and waiting.

A socket that is none of the system's brings an object of its own that does the same, as its `descriptor`.
"""

import os
from collections.abc import Sequence
from typing import Protocol

import trio
from trio.abc import Stream as ByteStream

from goqueue.core.records.varint import Readable


class Descriptor(Protocol):
    """What can be done with a socket; all but the waiting raises BlockingIOError instead of waiting, and OSError."""

    def read(self, room: memoryview) -> int:
        """Read into `room`; how many bytes, 0 when the peer has ended its side."""
        ...

    def write(self, pieces: Sequence[Readable]) -> int:
        """Write the pieces to the descriptor, in order. Return the number of bytes written, at least one."""
        ...

    async def until_readable(self) -> None:
        """Wait until `read` would not block; raises trio.ClosedResourceError once the socket is closed here."""
        ...

    async def until_writable(self) -> None:
        """The same for `write`."""
        ...


class SocketDescriptor:
    """The descriptor of one of the system's sockets; one that was closed has none, and no other is taken for it."""

    __slots__ = ("_socket",)

    def __init__(self, socket: trio.socket.SocketType) -> None:
        self._socket = socket

    def read(self, room: memoryview) -> int:
        """See Descriptor."""
        return os.readv(self._socket.fileno(), (room,))

    def write(self, pieces: Sequence[Readable]) -> int:
        """See Descriptor."""
        return os.writev(self._socket.fileno(), pieces)

    async def until_readable(self) -> None:
        """See Descriptor."""
        await trio.lowlevel.wait_readable(self._socket)

    async def until_writable(self) -> None:
        """See Descriptor."""
        await trio.lowlevel.wait_writable(self._socket)


def descriptor_of(stream: ByteStream) -> Descriptor | None:
    """Return the descriptor of a plain socket, or None for any other stream, such as TLS."""
    if not isinstance(stream, trio.SocketStream):
        return None
    own: Descriptor | None = getattr(stream.socket, "descriptor", None)
    return own or SocketDescriptor(stream.socket)
