"""gRPC's messages in a stream of bytes: a flag, a length, a message, again and again.

The length is judged before the message comes: one over the bound is refused from its five bytes alone. Where a whole
message is in the part at hand it is cut out in one copy; where it is not, parts are kept and joined once.
"""

import struct
from collections import deque
from collections.abc import Callable

from grpclib.const import Status
from grpclib.exceptions import GRPCError

from goqueue.core.records.varint import Readable

PREFIX_BYTES = 5
_PREFIX = struct.Struct(">BL")


class Assembly:
    """What one connection's unfinished messages may take together.

    A prefix of five bytes announces megabytes; a thousand calls may send a thousand of them. Only large messages are
    counted: small ones are bounded by the streams' windows. Most large messages are whole with the next read, so the
    server is told only when what is held differs by a step from what it was told last.
    """

    __slots__ = ("_bytes_max", "_held_bytes", "_hold", "_told_bytes", "reserved_bytes")

    FROM_BYTES = 64 * 1024
    STEP_BYTES = 64 * 1024

    def __init__(self, bytes_max: int, hold: Callable[[int], bool] = lambda _: True) -> None:
        self._bytes_max = bytes_max
        # Told of what has come of such messages, and of what is gone as a negative size; False when it is too much.
        self._hold = hold
        self._held_bytes = 0
        self._told_bytes = 0
        self.reserved_bytes = 0

    def hold(self, size: int) -> None:
        """So much of a large message has come, and is held until `drop`.

        Raises RESOURCE_EXHAUSTED if the server holds too much already.
        """
        self._held_bytes += size
        if self._held_bytes - self._told_bytes > self.STEP_BYTES and not self._tell():
            raise GRPCError(Status.RESOURCE_EXHAUSTED, "too many large messages are on their way to this server")

    def drop(self, size: int) -> None:
        """So much of a large message is whole, or gone."""
        self._held_bytes -= size
        if self._told_bytes and (self._told_bytes - self._held_bytes > self.STEP_BYTES or not self._held_bytes):
            self._tell()

    def _tell(self) -> bool:
        """Tell the server what is held; False when it is too much."""
        change, self._told_bytes = self._held_bytes - self._told_bytes, self._held_bytes
        return self._hold(change)

    def reserve(self, size: int) -> None:
        """Make room for a message; raises RESOURCE_EXHAUSTED when there is none."""
        if self.reserved_bytes + size > self._bytes_max:
            raise GRPCError(Status.RESOURCE_EXHAUSTED, "too many large messages are on their way on this connection")
        self.reserved_bytes += size

    def release(self, size: int) -> None:
        """Give the room back."""
        self.reserved_bytes -= size
        assert self.reserved_bytes >= 0


class MessageReader:
    """Cuts messages out of the parts of a body.

    Parts may be bytes, which are kept, or views that do not last. A message that lies whole in a view comes out as a
    view, one that came in several as bytes, or while `writable` as a bytearray.
    """

    __slots__ = (
        "_assembly", "_bytes_max", "_compressed", "_held", "_lacking", "_parts", "_prefix", "_reserved", "ready",
        "writable",
    )  # fmt: skip

    def __init__(self, bytes_max: int, assembly: Assembly) -> None:
        self._bytes_max = bytes_max
        self._assembly = assembly
        self.writable = False
        self.ready: deque[tuple[bool, Readable]] = deque()  # whole messages: whether compressed, and their bytes
        self._prefix = b""  # of a prefix, what has come
        self._parts: list[bytes] = []
        self._lacking = 0
        self._compressed = False
        self._reserved = 0
        self._held = 0  # of a large message, what has come

    @property
    def partial(self) -> bool:
        """Whether a message has begun and not ended."""
        return bool(self._prefix) or self._lacking > 0

    def feed(self, data: Readable) -> None:
        """Take in a part; raises RESOURCE_EXHAUSTED for a message that is too long, INTERNAL for an unknown flag."""
        at = 0
        if self._lacking:
            at = self._continue(data)
        size = len(data)
        if self._prefix and at < size:
            # A prefix that was cut in two is rare, and then small enough to be put together.
            data, at = b"".join((self._prefix, data[at:])), 0
            size = len(data)
            self._prefix = b""
        while at < size:
            if size - at < PREFIX_BYTES:
                self._prefix = bytes(data[at:])
                return
            flag, length = _PREFIX.unpack_from(data, at)
            self._judge(flag, length)
            at += PREFIX_BYTES
            stop = at + length
            if stop > size:
                self._begin(flag, length, data[at:])
                return
            self.ready.append((flag == 1, data[at:stop]))
            at = stop

    def abandon(self) -> None:
        """Nothing more will be read: give back what was reserved."""
        if self._reserved:
            self._assembly.release(self._reserved)
            self._assembly.drop(self._held)
            self._reserved = self._held = 0

    def _judge(self, flag: int, length: int) -> None:
        if flag > 1:
            raise GRPCError(Status.INTERNAL, f"a message with the unknown flag {flag}")
        if length > self._bytes_max:
            raise GRPCError(
                Status.RESOURCE_EXHAUSTED, f"a message of {length} bytes, where {self._bytes_max} are the bound"
            )

    def _begin(self, flag: int, length: int, start: Readable) -> None:
        if length >= Assembly.FROM_BYTES:
            self._assembly.reserve(length)
            self._reserved = length
            self._held = len(start)
            self._assembly.hold(self._held)
        self._compressed = flag == 1
        self._parts = [bytes(start)] if start else []
        self._lacking = length - len(start)

    def _continue(self, data: Readable) -> int:
        """Add to the message that has begun; answers where in `data` it ended."""
        lacking = self._lacking
        if len(data) < lacking:
            if self._reserved:
                self._held += len(data)
                self._assembly.hold(len(data))
            self._parts.append(bytes(data))
            self._lacking = lacking - len(data)
            return len(data)
        parts = [*self._parts, data[:lacking]]
        self.ready.append((self._compressed, bytearray().join(parts) if self.writable else b"".join(parts)))
        self._parts = []
        self._lacking = 0
        if self._reserved:
            self.abandon()
        return lacking


def frame_message(message: bytes, *, compressed: bool = False) -> bytes:
    """A message behind its prefix."""
    return _PREFIX.pack(compressed, len(message)) + message


def frame_prefix(size: int) -> bytes:
    """What goes before a message of this size that is sent as it is."""
    return _PREFIX.pack(0, size)
