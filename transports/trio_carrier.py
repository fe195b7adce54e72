"""Moves the bytes of a connection between its socket and its state, with as few copies as the socket allows.

A plain TCP socket is read straight into the connection's buffer and written from the pieces of its output, by system
calls on its descriptor: trio's own stream makes a fresh bytes object of every read and wants one to write, which costs
more than the system calls. Any other stream, TLS for one, has its bytes handed over whole.
"""

from typing import Protocol

import trio
from trio.abc import Stream as ByteStream

from goqueue.core.records.varint import Readable
from goqueue.transports.http2.connection import Connection
from goqueue.transports.trio_descriptor import Descriptor, descriptor_of
from goqueue.transports.trio_parking import now_ns

READ_BYTES = 128 * 1024
WRITE_BYTES = 128 * 1024
# Less than this is put together before it is written: the copy is cheaper than telling the kernel of the pieces.
JOINED_BYTES = 16 * 1024
PIECES_MAX = 512


class Carrier(Protocol):
    """The way to and from the peer; `failure` says why a `write` could not be done."""

    failure: Exception | None

    read_bytes: int
    written_bytes: int

    async def read(self, connection: Connection) -> bool:
        """Wait for bytes and let the connection take them in; False when the peer has gone."""
        ...

    async def write(self, pieces: list[Readable]) -> bool:
        """Send all of these; False when the peer has gone."""
        ...

    def write_now(self, pieces: list[Readable]) -> list[Readable]:
        """Send what can be sent without waiting, while no `write` is under way; what is left."""
        ...


class SocketCarrier:
    """A TCP socket."""

    def __init__(self, descriptor: Descriptor) -> None:
        self._descriptor = descriptor
        self._has_more = False  # the last read left no room, so there may be more at once
        self.failure: Exception | None = None
        self.read_bytes = self.written_bytes = 0

    async def read(self, connection: Connection) -> bool:
        """See Carrier."""
        try:
            if self._has_more:
                await trio.lowlevel.checkpoint()
            else:
                connection.rest()
                await self._descriptor.until_readable()
            while True:
                room = connection.room()
                try:
                    size = self._descriptor.read(room)
                except BlockingIOError:
                    connection.rest()
                    await self._descriptor.until_readable()
                    continue
                break
        except (OSError, trio.ClosedResourceError):
            return False
        self._has_more = size == len(room)
        self.read_bytes += size
        # The connection may want to give the buffer away.
        del room
        connection.received(now_ns(), size)
        return size > 0

    async def write(self, pieces: list[Readable]) -> bool:
        """See Carrier."""
        if sum(map(len, pieces)) <= JOINED_BYTES:
            pieces = [b"".join(pieces)]
        try:
            while pieces:
                try:
                    sent = self._descriptor.write(pieces[:PIECES_MAX])
                except BlockingIOError:
                    await self._descriptor.until_writable()
                else:
                    self.written_bytes += sent
                    pieces = _unsent(pieces, sent)
        except (OSError, trio.ClosedResourceError) as error:
            self.failure = error
            return False
        return True

    def write_now(self, pieces: list[Readable]) -> list[Readable]:
        """See Carrier."""
        if len(pieces) > 1 and sum(map(len, pieces)) <= JOINED_BYTES:
            pieces = [b"".join(pieces)]
        try:
            return _unsent(pieces, self._descriptor.write(pieces[:PIECES_MAX]))
        except OSError:
            # Whatever it is, whoever sends the rest finds out as well.
            return pieces


class StreamCarrier:
    """Any stream of bytes."""

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self.failure: Exception | None = None
        self.read_bytes = self.written_bytes = 0

    async def read(self, connection: Connection) -> bool:
        """See Carrier."""
        connection.rest()
        try:
            content = await self._stream.receive_some(READ_BYTES)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            return False
        self.read_bytes += len(content)
        connection.receive(now_ns(), content)
        return len(content) > 0

    async def write(self, pieces: list[Readable]) -> bool:
        """See Carrier."""
        try:
            content = b"".join(pieces)
            for at in range(0, len(content), WRITE_BYTES):
                await self._stream.send_all(content[at : at + WRITE_BYTES])
                self.written_bytes += WRITE_BYTES
        except (trio.BrokenResourceError, trio.ClosedResourceError) as error:
            self.failure = error
            return False
        return True

    def write_now(self, pieces: list[Readable]) -> list[Readable]:
        """See Carrier; there is nothing that does not wait."""
        return pieces


def carrier_of(stream: ByteStream) -> Carrier:
    """The carrier for a stream."""
    descriptor = descriptor_of(stream)
    return StreamCarrier(stream) if descriptor is None else SocketCarrier(descriptor)


def _unsent(pieces: list[Readable], sent: int) -> list[Readable]:
    """What is left of some pieces once so many of their bytes have been sent."""
    for index, piece in enumerate(pieces):
        if sent < len(piece):
            return [memoryview(piece)[sent:], *pieces[index + 1 :]]
        sent -= len(piece)
    return []
