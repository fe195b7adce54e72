"""What streams have queued, and in which order it leaves: in turns, one frame a stream, as the windows allow.

A stream whose own window is closed waits aside until it opens. Whoever queues for a stream is asked to wait when the
stream has queued too much, or all streams together have; who has nothing queued may always go on, however much the
others have.

Invariants: a stream with bytes queued is either in turn or blocked; `queued_bytes` is the sum over all streams.
"""

from collections import deque
from collections.abc import Callable

from goqueue.transports.http2.engine import Engine
from goqueue.transports.http2.errors import StreamGone
from goqueue.transports.http2.floods import FloodGuard
from goqueue.transports.http2.limits import Limits
from goqueue.transports.http2.stream import Stream


class Outbox:
    """The queues of one connection's streams."""

    __slots__ = (
        "_blocked", "_engine", "_finish", "_floods", "_limits", "_make_writable", "_sendable", "_waiting",
        "queued_bytes",
    )  # fmt: skip

    def __init__(
        self,
        limits: Limits,
        engine: Engine,
        floods: FloodGuard,
        *,
        writable: Callable[[Stream], None],
        finish: Callable[[Stream, bool], None],
    ) -> None:
        self._limits = limits
        self._engine = engine
        self._floods = floods
        self._make_writable = writable
        self._finish = finish  # told when a finishing stream's queue is empty, and whether its last frame said so
        self._sendable: deque[Stream] = deque()
        self._blocked: dict[int, Stream] = {}
        self._waiting: dict[int, Stream] = {}  # whose senders wait for room in the connection's queue
        self.queued_bytes = 0

    @property
    def idle(self) -> bool:
        """Whether nothing can leave now."""
        return not self._sendable or self._engine.outbound_flow_control_window <= 0

    def add(self, stream: Stream, size: int) -> None:
        """Bytes were added to a stream's queue."""
        self.queued_bytes += size
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

    def unblock_all(self) -> None:
        """All windows have changed."""
        blocked, self._blocked = self._blocked, {}
        for stream in blocked.values():
            self._take_turn(stream)

    def lose(self, stream: Stream, gone: StreamGone) -> None:
        """A stream is gone with all that it had queued."""
        self._blocked.pop(stream.id, None)
        self._waiting.pop(stream.id, None)
        self.queued_bytes -= stream.lose(gone)
        self._relieve()

    def clear(self) -> None:
        """Nothing leaves any more."""
        self._sendable.clear()

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
        piece = stream.pull(min(budget, window, engine.outbound_flow_control_window, engine.max_outbound_frame_size))
        size = len(piece)
        left = stream.queued_bytes
        end = stream.finishing and not left and stream.trailers_due is None
        engine.send_part(h2_stream, piece, end=end)
        self.queued_bytes -= size
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
