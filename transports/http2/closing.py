"""How a connection ends in order: idle, silent, dismissed by its peer, or drained by us.

Draining follows RFC 9113, section 6.8. A GOAWAY that names the highest possible stream says only that the end is near,
since requests may be on their way; a ping measures when the peer has read it; then a second GOAWAY names the last
stream that is served. Whoever comes later is refused and knows that it is safe to try elsewhere.
"""

from enum import Enum

from h2.errors import ErrorCodes

from goqueue.transports.http2.engine import STREAM_ID_MAX, Engine
from goqueue.transports.http2.limits import Limits

DRAIN_PING = b"drain..."
PROBE_PING = b"alive..?"
NEVER_NS = 1 << 62


class Stage(Enum):
    """How far the end has come."""

    OPEN = "open"
    WARNED = "warned"  # the first GOAWAY is sent, the ping is not answered
    LAST = "last"  # no stream is accepted any more
    OVER = "over"


class Closing:
    """When a connection has to go, and how."""

    __slots__ = ("_answer_due_ns", "_client", "_heard_ns", "_idle_ns", "_last_id", "_limits", "_opened_ns", "_stage")

    def __init__(self, now: int, limits: Limits, *, client: bool) -> None:
        self._limits = limits
        self._client = client
        self._stage = Stage.OPEN
        self._opened_ns = now
        self._heard_ns = now
        self._idle_ns: int | None = now  # since when there has been no stream
        self._answer_due_ns: int | None = None
        self._last_id = STREAM_ID_MAX

    @property
    def closing(self) -> bool:
        """Whether the end has begun."""
        return self._stage is not Stage.OPEN

    @property
    def over(self) -> bool:
        """Whether the socket may be closed."""
        return self._stage is Stage.OVER

    def admits(self, stream_id: int) -> bool:
        """Whether a stream that the peer opens is still served."""
        return stream_id <= self._last_id

    def heard(self, now: int) -> None:
        """Bytes came."""
        self._heard_ns = now
        if self._stage is not Stage.WARNED:
            self._answer_due_ns = None

    def owed_since(self) -> int | None:
        """Since when the peer owes the answer to a probe; None if it owes none."""
        if self._answer_due_ns is None or self._stage is Stage.WARNED:
            return None
        return self._answer_due_ns - self._limits.answer_ns

    def drain(self, now: int, engine: Engine) -> None:
        """Begin the end, once."""
        if self._stage is not Stage.OPEN:
            return
        if self._client:
            self._stage = Stage.LAST
            return
        engine.send_goaway(STREAM_ID_MAX, ErrorCodes.NO_ERROR)
        engine.ping(DRAIN_PING)
        self._stage = Stage.WARNED
        self._answer_due_ns = now + self._limits.warning_ns

    def answered(self, ping: bytes | None, engine: Engine) -> None:
        """A ping came back."""
        if ping == DRAIN_PING and self._stage is Stage.WARNED:
            self._name_the_last(engine)

    def dismissed(self) -> None:
        """The peer said GOAWAY: it will open no streams, or take none."""
        if self._stage in (Stage.OPEN, Stage.WARNED):
            self._stage = Stage.LAST
            self._answer_due_ns = None

    def settle(self, now: int, *, busy: bool, sending: bool) -> None:
        """Take note of whether there are streams; without them the last stage ends."""
        if busy:
            self._idle_ns = None
        elif self._idle_ns is None:
            self._idle_ns = now
        if self._stage is Stage.LAST and not busy and not sending:
            self._stage = Stage.OVER

    def deadline(self, *, busy: bool) -> int:
        """When `wake` has something to do."""
        if self._answer_due_ns is not None:
            return self._answer_due_ns
        if busy:
            return self._heard_ns + self._limits.probe_ns
        if self._client:
            return NEVER_NS
        opening = self._opened_ns + self._limits.opening_ns
        idle = (self._idle_ns if self._idle_ns is not None else self._heard_ns) + self._limits.idle_ns
        return min(opening, idle) if self._opened_ns >= 0 else idle

    def wake(self, now: int, engine: Engine, *, opened: bool, busy: bool) -> str:
        """A deadline has passed; answers why the connection must be given up, if it must."""
        if opened:
            self._opened_ns = -1
        elif not self._client and now >= self._opened_ns + self._limits.opening_ns:
            return "No HTTP/2 preface came in time."
        if self._answer_due_ns is not None and now >= self._answer_due_ns:
            if self._stage is not Stage.WARNED:
                return "The peer answers no ping."
            self._name_the_last(engine)
        elif busy and now >= self._heard_ns + self._limits.probe_ns:
            engine.ping(PROBE_PING)
            self._answer_due_ns = now + self._limits.answer_ns
        elif not busy and self._idle_ns is not None and now >= self._idle_ns + self._limits.idle_ns:
            self.drain(now, engine)
        return ""

    def _name_the_last(self, engine: Engine) -> None:
        self._stage = Stage.LAST
        self._answer_due_ns = None
        self._last_id = engine.highest_inbound_stream_id
        engine.send_goaway(self._last_id, ErrorCodes.NO_ERROR)
