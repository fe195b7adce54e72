"""What streams have queued, and in which order it leaves: in turns, one frame a stream, as the windows allow.

A stream whose own window is closed waits aside until it opens. Whoever queues for a stream is asked to wait when the
stream has queued too much, or all streams together have; who has nothing queued may always go on, however much the
others have.

What is queued counts against the connection's share of the buffer budget, and a piece until the last of it was written.
Small pieces are mostly written within the turn that queued them: they are counted once they add up to something.

Invariants: a stream with bytes queued is either in turn or blocked; `queued_bytes` is the sum over all streams.
"""

from collections import deque
from collections.abc import Callable

from goqueue.transports.buffer_budget import BufferShare
from goqueue.transports.http2.engine import Engine
from goqueue.transports.http2.errors import StreamGone
from goqueue.transports.http2.floods import FloodGuard
from goqueue.transports.http2.limits import Limits
from goqueue.transports.http2.stream import Stream

# Pieces below this size are small, and so many bytes of them may stay uncounted.
_SMALL_BYTES = 4 << 10
_UNCOUNTED_BYTES_MAX = 64 << 10


class Outbox:
    """The queues of one connection's streams."""

    __slots__ = (
        "_blocked", "_engine", "_expectant", "_finish", "_floods", "_leaving_bytes", "_limits", "_make_writable",
        "_sendable", "_share", "_uncounted_bytes", "_waiting", "queued_bytes",
    )  # fmt: skip

    def __init__(
        self,
        limits: Limits,
        engine: Engine,
        floods: FloodGuard,
        share: BufferShare,
        writable: Callable[[Stream], None],
        finish: Callable[[Stream, bool], None],
    ) -> None:
        self._limits = limits
        self._engine = engine
        self._floods = floods
        self._share = share
        self._make_writable = writable
        self._finish = finish  # told when a finishing stream's queue is empty, and whether its last frame said so
        self._sendable: deque[Stream] = deque()
        self._blocked: dict[int, Stream] = {}
        self._waiting: dict[int, Stream] = {}  # whose senders wait for room in the connection's queue
        self._expectant: dict[int, Stream] = {}  # whose answers are begun once the windows are open
        self._uncounted_bytes = 0
        self._leaving_bytes = 0  # of pieces that were given out and may not be written yet
        self.queued_bytes = 0

    @property
    def idle(self) -> bool:
        """Whether nothing can leave now."""
        return not self._sendable or self._engine.outbound_flow_control_window <= 0

    def add(self, stream: Stream, size: int) -> None:
        """Bytes were added to a stream's queue."""
        self.queued_bytes += size
        if size >= _SMALL_BYTES:
            self._share.add(size)
        else:
            self._uncounted_bytes += size
            if self._uncounted_bytes > _UNCOUNTED_BYTES_MAX:
                self._share.add(self._uncounted_bytes)
                self._uncounted_bytes = 0
        if stream.queued_bytes == size and not stream.blocked:
            self._sendable.append(stream)

    def crowds(self, stream: Stream) -> bool:
        """Whether so much is queued that the stream's sender should wait."""
        if stream.queued_bytes >= self._limits.stream_queue_bytes_max:
            return True
        if stream.queued_bytes and self.queued_bytes >= self._limits.connection_queue_bytes_max:
            self._waiting[stream.id] = stream
            return True
        return False

    def is_open(self, stream: Stream) -> bool:
        """Whether some of an answer could leave at once; the stream is writable as soon as that is so."""
        h2_stream = self._engine.open_stream(stream.id)
        if h2_stream is not None and min(h2_stream.outbound_flow_control_window, self._window) <= 0:
            self._expectant[stream.id] = stream
            return False
        return True

    @property
    def _window(self) -> int:
        window: int = self._engine.outbound_flow_control_window
        return window

    def stalled(self) -> list[Stream]:
        """The streams of which nothing has left since this was last asked, though there is something."""
        self._expectant = {number: stream for number, stream in self._expectant.items() if stream.gone is None}
        return [stream for stream in (*self._sendable, *self._blocked.values()) if stream.stalls()]

    def written(self) -> None:
        """All that was given out has been written."""
        leaving, self._leaving_bytes = self._leaving_bytes, 0
        if leaving and (counted := self._counted(leaving)):
            self._share.taken(counted)

    def _counted(self, size: int) -> int:
        """How much of what is held no longer the share has counted."""
        uncounted = min(size, self._uncounted_bytes)
        self._uncounted_bytes -= uncounted
        return size - uncounted

    def pump(self) -> None:
        """Send about a turn's worth."""
        budget = self._limits.turn_send_bytes
        while budget > 0 and not self.idle:
            budget -= self._send_frame(self._sendable.popleft(), budget)

    def unblock(self, stream_id: int) -> None:
        """A stream's window has opened."""
        stream = self._blocked.pop(stream_id, None)
        if stream is not None:
            self._take_turn(stream)
        if self._expectant:
            self._encourage()

    def unblock_all(self) -> None:
        """All windows have changed."""
        blocked, self._blocked = self._blocked, {}
        for stream in blocked.values():
            self._take_turn(stream)
        self._encourage()

    def lose(self, stream: Stream, gone: StreamGone) -> None:
        """A stream is gone with all that it had queued."""
        self._blocked.pop(stream.id, None)
        self._waiting.pop(stream.id, None)
        self._expectant.pop(stream.id, None)
        held = stream.held_bytes
        self.queued_bytes -= stream.lose(gone)
        if held and (counted := self._counted(held)):
            self._share.give(counted)
        self._relieve()

    def clear(self) -> None:
        """Nothing leaves any more."""
        self._sendable.clear()

    def _encourage(self) -> None:
        """Tell those who wait for their windows and find them open."""
        for stream in list(self._expectant.values()):
            del self._expectant[stream.id]
            if self.is_open(stream):
                self._make_writable(stream)

    def _take_turn(self, stream: Stream) -> None:
        stream.blocked = False
        if stream.queued_bytes:
            self._sendable.append(stream)

    def _send_frame(self, stream: Stream, budget: int) -> int:
        """Send one frame of a stream; answers how many bytes it took."""
        engine = self._engine
        h2_stream = engine.open_stream(stream.id)
        if h2_stream is None or not stream.queued_bytes:
            return 0
        window = h2_stream.outbound_flow_control_window
        if window <= 0:
            stream.blocked = True
            self._blocked[stream.id] = stream
            return 0
        held = stream.held_bytes
        piece = stream.pull(min(budget, window, engine.outbound_flow_control_window, engine.max_outbound_frame_size))
        size = len(piece)
        left = stream.queued_bytes
        end = stream.finishing and not left and stream.trailers_due is None
        engine.send_part(h2_stream, piece, end=end)
        self.queued_bytes -= size
        self._leaving_bytes += held - stream.held_bytes
        if size >= 1024:
            self._floods.earn(2)
        if left:
            self._sendable.append(stream)
        elif stream.finishing:
            self._finish(stream, end)
        if stream.crowded_out:
            if not left or (stream.id not in self._waiting and left * 2 <= self._limits.stream_queue_bytes_max):
                self._let_go_on(stream)
        if self._waiting:
            self._relieve()
        return size

    def _let_go_on(self, stream: Stream) -> None:
        self._waiting.pop(stream.id, None)
        stream.crowded_out = False
        self._make_writable(stream)

    def _relieve(self) -> None:
        """Tell the senders that wait for room in the connection's queue, once there is some."""
        if self.queued_bytes * 2 <= self._limits.connection_queue_bytes_max:
            for stream in list(self._waiting.values()):
                self._let_go_on(stream)
