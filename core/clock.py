"""Wall time as an input: the core counts in monotonic nanoseconds and is told what the wall says.

Durations (intervals, leases, time-outs) use `now`, which never jumps. Only promises about calendar time (retention,
age of a segment, delivery at a time) use the wall, which may. One clock serves a whole node.
"""


class Clock:
    """Translates the monotonic `now` of every call into wall-clock milliseconds."""

    __slots__ = ("_skew_ms",)

    def __init__(self, now: int, wall_ms: int) -> None:
        self._skew_ms = wall_ms - now // 1_000_000

    def moved(self, now: int, wall_ms: int) -> None:
        """Take a new reading of the wall clock; later answers follow it, forward or back."""
        self._skew_ms = wall_ms - now // 1_000_000

    def wall_ms(self, now: int) -> int:
        """Milliseconds since 1970 at the monotonic time `now`."""
        return now // 1_000_000 + self._skew_ms
