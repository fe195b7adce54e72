"""How long things took: counts by upper bound, and the sum, which is all that a distribution over time needs.

The bounds are the same everywhere, so that distributions of several nodes can be added up.
"""

from bisect import bisect_left

from attrs import define, field

BOUNDS_S = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0)
_BOUNDS_NS = tuple(round(bound * 1e9) for bound in BOUNDS_S)


@define
class Histogram:
    """Spans by duration; the last of `counts` is for those longer than every bound."""

    counts: list[int] = field(factory=lambda: [0] * (len(BOUNDS_S) + 1))
    sum_ns: int = 0

    def observe(self, span_ns: int, count: int = 1) -> None:
        """Count a span, so often."""
        self.counts[bisect_left(_BOUNDS_NS, span_ns)] += count
        self.sum_ns += span_ns * count
