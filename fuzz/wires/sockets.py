"""Sockets of simulated hosts, as trio knows sockets: all above them is trio's own and the product's."""

import errno
import os
import socket as system
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import trio

from goqueue.core.records.varint import Readable
from goqueue.fuzz.wires.pipe import Pipe
from goqueue.transports.trio_parking import Parking

if TYPE_CHECKING:
    from goqueue.fuzz.wires.fabric import Fabric, Host

Address = tuple[str, int]


def _error(number: int) -> OSError:
    return OSError(number, os.strerror(number))


class Wire:
    """The descriptor of a simulated socket: see `transports/trio_descriptor.py`."""

    def __init__(self, out: Pipe, into: Pipe, stir: Callable[[], None]) -> None:
        self._stir = stir
        self.out = out
        self.into = into
        self.is_closed = False
        self._reading = Parking()
        self._writing = Parking()
        # Whether somebody waits to write.
        self._is_blocked = False
        into.arrived = self._arrived
        out.taken = self._taken

    def _arrived(self) -> None:
        self._reading.wake()
        if self.into.is_broken:
            self._writing.wake()
        self._stir()

    def _taken(self) -> None:
        if self._is_blocked:
            self._is_blocked = False
            self._writing.wake()
            self._stir()

    @property
    def _is_broken(self) -> bool:
        return self.into.is_broken and self.into.has_end

    def read(self, room: memoryview) -> int:
        """See Descriptor."""
        if self.is_closed:
            raise _error(errno.EBADF)
        if self._is_broken:
            raise _error(errno.ECONNRESET)
        if not self.into.is_readable:
            raise BlockingIOError
        content = self.into.read(len(room))
        room[: len(content)] = content
        return len(content)

    def write(self, pieces: Sequence[Readable]) -> int:
        """See Descriptor."""
        if self.is_closed:
            raise _error(errno.EBADF)
        if self._is_broken:
            raise _error(errno.EPIPE)
        if not self.out.room:
            raise BlockingIOError
        return self.out.write(pieces)

    async def until_readable(self) -> None:
        """See Descriptor."""
        await trio.lowlevel.checkpoint_if_cancelled()
        while not (self.is_closed or self.into.is_readable):
            await self._reading.wait()
        self._check_open()

    async def until_writable(self) -> None:
        """See Descriptor."""
        await trio.lowlevel.checkpoint_if_cancelled()
        while not (self.is_closed or self._is_broken or self.out.room):
            self._is_blocked = True
            await self._writing.wait()
        self._check_open()

    def _check_open(self) -> None:
        if self.is_closed:
            raise trio.ClosedResourceError("this socket was closed here")

    def close(self) -> None:
        """End it; who left bytes unread resets the connection, as systems do."""
        if self.is_closed:
            return
        self.is_closed = True
        if self.into.unread:
            self.out.reset()
        elif not self.out.is_ended:
            self.out.end()
        self.into.refuse = self.out.reset
        self._reading.wake()
        self._writing.wake()


class SimulatedSocket(trio.socket.SocketType):
    """A socket of a host: first unconnected, then one end of a connection."""

    family = system.AF_INET
    type = system.SOCK_STREAM
    proto = 0

    def __init__(self, fabric: "Fabric", host: "Host", wire: Wire | None = None) -> None:
        super().__init__()
        self._fabric = fabric
        self.host = host
        self.descriptor = wire
        self.here: Address = (host.ip, 0)
        self.there: Address | None = None
        self._has_ended = False

    @property
    def did_shutdown_SHUT_WR(self) -> bool:  # noqa: N802 - as trio calls it
        """Whether its own side has ended."""
        return self._has_ended

    def _wire(self) -> Wire:
        if self.descriptor is None:
            raise _error(errno.ENOTCONN)
        return self.descriptor

    async def connect(self, address: Any) -> None:  # noqa: ANN401 - as trio has it
        """Connect to a listener of another host. Raises OSError."""
        await self._fabric.connect(self, (str(address[0]), int(address[1])))

    async def send(self, content: Any, flags: int = 0) -> int:  # noqa: ANN401 - as trio has it
        """Write what there is room for, once there is some."""
        await trio.lowlevel.checkpoint()
        wire = self._wire()
        while True:
            try:
                return wire.write((content,))
            except BlockingIOError:
                await wire.until_writable()

    async def recv(self, size: int, flags: int = 0) -> bytes:
        """Read what there is, once there is something."""
        await trio.lowlevel.checkpoint()
        wire, room = self._wire(), memoryview(bytearray(min(size, 1 << 18)))
        while True:
            try:
                return bytes(room[: wire.read(room)])
            except BlockingIOError:
                await wire.until_readable()

    def shutdown(self, how: int) -> None:
        """End the side that writes."""
        if how != system.SHUT_RD and not self._has_ended:
            self._has_ended = True
            self._wire().out.end()

    def close(self) -> None:
        """Give it up."""
        if self.descriptor is not None:
            self.descriptor.close()

    def getpeername(self) -> Any:  # noqa: ANN401 - as trio has it
        """Who is at the other end."""
        if self.there is None:
            raise _error(errno.ENOTCONN)
        return self.there

    def getsockname(self) -> Any:  # noqa: ANN401 - as trio has it
        """Where this end is."""
        return self.here

    def setsockopt(self, *_: object, **__: object) -> None:
        """No option makes a difference here."""

    def getsockopt(self, level: int, optname: int, buflen: int | None = None) -> Any:  # noqa: ANN401
        """See `setsockopt`."""
        return 0

    def fileno(self) -> int:
        """The system knows nothing of it."""
        return -1


class SimulatedListener(SimulatedSocket):
    """A socket that waits for callers at a port of its host."""

    def __init__(self, fabric: "Fabric", host: "Host", port: int) -> None:
        super().__init__(fabric, host)
        self.here = (host.ip, port)
        self._callers: deque[SimulatedSocket] = deque()
        self._called = Parking()
        self.is_closed = False

    def getsockopt(self, level: int, optname: int, buflen: int | None = None) -> Any:  # noqa: ANN401
        """It listens."""
        return 1

    def admit(self, caller: SimulatedSocket) -> None:
        """A connection was made that nobody has taken yet."""
        self._callers.append(caller)
        self._called.wake()

    async def accept(self) -> tuple[trio.socket.SocketType, Any]:
        """The next connection."""
        await trio.lowlevel.checkpoint()
        while not self._callers:
            if self.is_closed:
                raise _error(errno.EBADF)
            await self._called.wait()
        caller = self._callers.popleft()
        return caller, caller.there

    def close(self) -> None:
        """Listen no more; who was not taken is reset."""
        self.is_closed = True
        self._called.wake()
        for caller in self._callers:
            assert caller.descriptor is not None
            caller.descriptor.out.reset()
            caller.close()
        self._callers.clear()
