"""How long to wait before the next attempt: twice as long each time, up to a bound, and never quite the same.

The wait is drawn evenly from the upper half of its span, so that clients that failed together come back apart and none
comes back at once.
"""

from random import Random

FIRST_NS = 50_000_000
LONGEST_NS = 1_000_000_000
# Doubling any longer passes every bound.
_DOUBLINGS_MAX = 30


class Backoff:
    """Waits by the number of attempts that failed in a row."""

    __slots__ = ("_first_ns", "_longest_ns", "_random")

    def __init__(self, random: Random, first_ns: int = FIRST_NS, longest_ns: int = LONGEST_NS) -> None:
        assert 0 < first_ns <= longest_ns
        self._random = random
        self._first_ns = first_ns
        self._longest_ns = longest_ns

    def delay_ns(self, attempts: int) -> int:
        """The wait after this many failures."""
        assert attempts > 0
        span = min(self._first_ns << min(attempts - 1, _DOUBLINGS_MAX), self._longest_ns)
        return span // 2 + self._random.randrange(span // 2 + 1)
