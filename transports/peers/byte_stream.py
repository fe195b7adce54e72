"""Bytes of a peer's stream into a reader's memory: by system calls on a plain socket, by a copy from anything else."""

from typing import Protocol

import trio
from trio.abc import Stream

from goqueue.transports.peers.frames import FrameReader
from goqueue.transports.trio_descriptor import Descriptor, descriptor_of


class Source(Protocol):
    """Where bytes come from."""

    async def read_into(self, reader: FrameReader) -> int:
        """Wait for bytes and put them into the reader's room; how many, 0 when there are no more ever."""


class SocketSource:
    """A TCP socket."""

    def __init__(self, descriptor: Descriptor) -> None:
        self._descriptor = descriptor
        # The last read left no room, so there may be more at once.
        self._has_more = False

    async def read_into(self, reader: FrameReader) -> int:
        """See Source."""
        if self._has_more:
            await trio.lowlevel.checkpoint()
        else:
            await self._descriptor.until_readable()
        room = reader.room()
        while True:
            try:
                size = self._descriptor.read(room)
            except BlockingIOError:
                await self._descriptor.until_readable()
            else:
                self._has_more = size == len(room)
                return size


class StreamSource:
    """Any stream, TLS for one."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream

    async def read_into(self, reader: FrameReader) -> int:
        """See Source."""
        room = reader.room()
        content = await self._stream.receive_some(len(room))
        room[: len(content)] = content
        return len(content)


def source_of(stream: Stream) -> Source:
    """The source for a stream."""
    descriptor = descriptor_of(stream)
    return StreamSource(stream) if descriptor is None else SocketSource(descriptor)
