"""Token buckets that tell a flood from a busy peer.

Some frames cost their sender nothing and us something: an answer, a walk over all streams, a call that is started only
to be cancelled. Each kind has an allowance that fills again with time. Honest peers stay far below; a peer that runs
dry is told ENHANCE_YOUR_CALM and loses its connection.
"""

from h2.exceptions import DenialOfServiceError
from hyperframe.frame import DataFrame, Frame, HeadersFrame, PingFrame, RstStreamFrame, SettingsFrame

from goqueue.transports.http2.limits import SECOND_NS, Limits

# What starts or ends a call, or walks over all of them, costs several times what other frames do; and whatever h2 looks
# at costs several times what goes past it (`shortcuts.py`).
HEAVY = 8
PLAIN = 4


class Allowance:
    """So many at once, so many more each second."""

    __slots__ = ("_at_ns", "_burst", "_left", "_per_second", "_what")

    def __init__(self, now: int, what: str, burst: int, per_second: int) -> None:
        self._what = what
        self._burst = burst
        self._per_second = per_second
        self._left: float = burst
        self._at_ns = now

    def spend(self, now: int, count: int = 1) -> None:
        """Take `count`; raises DenialOfServiceError when there are not as many left."""
        if now > self._at_ns:
            self._left = min(self._burst, self._left + (now - self._at_ns) * self._per_second / SECOND_NS)
            self._at_ns = now
        self._left -= count
        if self._left < 0:
            raise DenialOfServiceError(f"Too many {self._what}.")

    def earn(self, count: int) -> None:
        """Give some back, for work that justifies it."""
        self._left = min(self._burst, self._left + count)


class FloodGuard:
    """The allowances of one connection."""

    __slots__ = ("_demands", "_overhead", "_resets")

    def __init__(self, now: int, limits: Limits) -> None:
        self._resets = Allowance(now, "resets", limits.resets_burst, limits.resets_per_second)
        self._demands = Allowance(now, "pings and settings", limits.demands_burst, limits.demands_per_second)
        self._overhead = Allowance(now, "frames without content", limits.overhead_burst, limits.overhead_per_second)

    def admit(self, now: int, frame: Frame) -> int:
        """Count a frame that came, and weigh it; raises DenialOfServiceError when it is one too many of its kind."""
        kind = type(frame)
        if kind is HeadersFrame:
            return HEAVY
        if isinstance(frame, DataFrame):
            # Who moves data has to open windows and may measure round trips: each full frame pays for two such.
            if len(frame.data) >= 1024:
                self.earn(2)
            elif not frame.data and "END_STREAM" not in frame.flags:
                self._overhead.spend(now)
        elif kind is PingFrame or kind is SettingsFrame:
            if "ACK" in frame.flags:
                self._overhead.spend(now)
            else:
                self._demands.spend(now)
                return HEAVY if kind is SettingsFrame else PLAIN
        elif kind is RstStreamFrame:
            self._resets.spend(now)
            return HEAVY
        else:
            self._overhead.spend(now)
        return PLAIN

    def count_resets(self, now: int, count: int) -> None:
        """Count resets that the peer's mistakes made us send: they cost as much as its own."""
        self._resets.spend(now, count)

    def earn(self, count: int) -> None:
        """Data moved: the frames that go with it are not overhead."""
        self._overhead.earn(count)
        self._demands.earn(count)
