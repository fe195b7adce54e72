"""One request and its response: what has come and was not read yet, what is to be sent and has not left yet.

A stream holds bytes; its connection decides when they travel. Reading takes everything at hand and gives the peer
credit for it. Sending puts into a queue, which the connection empties as windows allow; `crowded` says that whoever
sends should wait until the connection names the stream among its `writable` ones.

Invariant: `unread_bytes` never passes the stream's window, because credit is given on reading only.
"""

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from goqueue.core.records.varint import Readable
from goqueue.transports.http2.errors import StreamGone
from goqueue.transports.http2.request import Headers, Request

if TYPE_CHECKING:
    from goqueue.transports.http2.connection import Connection

# Below this size parts are put together: a window of one-byte frames would be a million objects.
SMALL_BYTES = 512
# From this size a piece has a frame of its own: one more frame costs less than one more copy.
LARGE_BYTES = 64 * 1024


class Stream:
    """One stream, for whoever serves it or waits for it."""

    __slots__ = (
        "_connection", "_offset", "_parts", "_queue", "begun", "blocked", "crowded_out", "discarded_bytes",
        "discarding", "ended", "finishing", "gone", "headers", "held_bytes", "id", "queued_bytes", "request", "sink",
        "sweep_mark", "trailers", "trailers_due", "uncredited_bytes", "unread_bytes",
    )  # fmt: skip

    def __init__(self, connection: "Connection", stream_id: int, request: Request) -> None:
        self._connection = connection
        self.id = stream_id
        self.request = request
        self.headers: list[tuple[bytes, bytes]] | None = None  # a client's: the response's, once they are here
        self.trailers: list[tuple[bytes, bytes]] | None = None
        self._parts: list[bytes | bytearray] = []
        # Takes what comes instead of `read`, at once and as a view that is gone afterwards, until it answers False.
        self.sink: Callable[[bytes | memoryview], bool] | None = None
        self.unread_bytes = 0
        self.uncredited_bytes = 0
        self.ended = False  # the peer has sent all it will send
        self.gone: StreamGone | None = None
        self._queue: deque[Readable] = deque()
        self._offset = 0  # how much of the first in the queue has left
        self.queued_bytes = 0
        # What the queue keeps in memory: of a piece all, until the last of it has left.
        self.held_bytes = 0
        # The first in the queue, and how much of it had left, when somebody last looked for streams that stall.
        self.sweep_mark: tuple[object, int] | None = None
        self.begun = False  # our headers have left
        self.finishing = False  # we have said all that we will send
        self.trailers_due: Headers | None = None
        self.blocked = False  # by the window that the peer grants this stream
        self.crowded_out = False  # someone was told to wait
        self.discarding = False
        self.discarded_bytes = 0

    @property
    def readable(self) -> bool:
        """Whether `read` has something to say: bytes, the end, or the bad news."""
        return self.unread_bytes > 0 or self.ended or self.gone is not None

    @property
    def is_diverted(self) -> bool:
        """Whether what comes goes to the sink, and may come."""
        return self.sink is not None and not self.ended and self.gone is None

    def drop_sink(self) -> bool:
        """Give what comes to `read` again; whether the sink would have taken more."""
        sink, self.sink = self.sink, None
        return sink is not None

    def check_there(self) -> None:
        """Raises StreamGone once the stream is gone."""
        if self.gone is not None:
            raise self.gone

    def read(self) -> bytes:
        """Everything that has come since last time; raises StreamGone once the stream is gone."""
        if self.gone is not None:
            raise self.gone
        parts = self._parts
        if not parts:
            return b""
        data = bytes(parts[0]) if len(parts) == 1 else b"".join(parts)
        parts.clear()
        self._connection.credit(self)
        return data

    def send_headers(self, headers: Headers, *, end: bool = False) -> None:
        """Send the response's headers at once; `end` if nothing follows."""
        self._check_open()
        assert not self.begun, "a stream has its headers once; what ends it may have trailers"
        self.begun = headers[0][1][:1] != b"1"
        self._connection.send_headers(self, headers, end=end)

    def send(self, data: Readable) -> bool:
        """Queue these bytes, which must not change any more; False asks the sender to wait until it is writable."""
        self._check_open()
        assert self.begun, "headers go first"
        if data:
            self._queue.append(data)
            self.queued_bytes += len(data)
            self.held_bytes += len(data)
            self._connection.outbox.add(self, len(data))
        return not self.crowded

    @property
    def crowded(self) -> bool:
        """Whether so much is queued that the sender should wait; asking counts as waiting."""
        if self.gone is None and self._connection.outbox.crowds(self):
            self.crowded_out = True
            return True
        return False

    @property
    def may_begin(self) -> bool:
        """Whether the peer would take some of an answer at once; if not, the stream is writable once it would."""
        return self.gone is None and self._connection.outbox.is_open(self)

    def end(self, trailers: Headers | None = None) -> None:
        """Nothing follows but what is queued, and these trailers."""
        self._check_open()
        assert self.begun, "headers go first"
        self.finishing = True
        self.trailers_due = trailers
        self._connection.finish(self)

    def reset(self, code: int) -> None:
        """Break the stream off; harmless if it is gone."""
        if self.gone is None:
            self._connection.reset(self, code)

    def _check_open(self) -> None:
        self.check_there()
        assert not self.finishing, "nothing can follow the end of a stream"

    # What follows is the connection's side.

    def accept(self, data: bytes) -> None:
        """Bytes have come."""
        self.unread_bytes += len(data)
        parts = self._parts
        if len(data) < SMALL_BYTES and parts:
            last = parts[-1]
            if type(last) is bytearray:
                last += data
                return
            if len(last) < SMALL_BYTES:
                parts[-1] = bytearray(last + data)
                return
        parts.append(data)

    def pull(self, room: int) -> Readable:
        """Take up to `room` bytes from the queue, small pieces put together."""
        queue = self._queue
        first = queue[0]
        left = len(first) - self._offset
        if left > room:
            piece = memoryview(first)[self._offset : self._offset + room]
            self._offset += room
            self.queued_bytes -= room
            return piece
        pieces: list[Readable] = [memoryview(first)[self._offset :] if self._offset else first]
        queue.popleft()
        self.held_bytes -= self._offset
        self._offset = 0
        while queue and left + len(queue[0]) <= room and left < LARGE_BYTES > len(queue[0]):
            left += len(queue[0])
            pieces.append(queue.popleft())
        self.queued_bytes -= left
        self.held_bytes -= left
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def stalls(self) -> bool:
        """Whether nothing of what is queued has left since this was last asked."""
        mark = (self._queue[0], self._offset) if self._queue else None
        last, self.sweep_mark = self.sweep_mark, mark
        return last is not None and mark is not None and last[0] is mark[0] and last[1] == mark[1]

    def lose(self, gone: StreamGone) -> int:
        """The stream is gone; answers how many queued bytes will never leave."""
        self.gone = gone
        dropped = self.queued_bytes
        self._queue.clear()
        self._parts.clear()
        self.sweep_mark = None
        self.queued_bytes = self.held_bytes = 0
        return dropped
