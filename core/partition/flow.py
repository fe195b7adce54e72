"""How much comes and goes in each lane of a partition, and how long it waits: rates over about the last minute.

A rate is a count that fades by half in a fixed time: one number a lane, and no history.
"""

from attrs import define, field

from goqueue.core.partition.lane_runs import LANES

_HALF_NS = 42_000_000_000
# What a steady flow of one a nanosecond adds up to: its mean age is about a minute.
_SPAN_S = _HALF_NS / 1e9 / 0.6931471805599453


@define
class Fading:
    """Counts that fade, one a lane, of which the age is the same."""

    _counts: list[float] = field(factory=lambda: [0.0] * LANES)
    _since: int = 0

    def add(self, now: int, lane: int, count: int) -> None:
        """Count so many more."""
        self._fade(now)
        self._counts[lane] += count

    def rates(self, now: int) -> list[float]:
        """How many a second, by lane."""
        self._fade(now)
        return [count / _SPAN_S for count in self._counts]

    def _fade(self, now: int) -> None:
        if now - self._since > 1_000_000:
            share = 2.0 ** ((self._since - now) / _HALF_NS)
            self._counts = [count * share for count in self._counts]
            self._since = now


@define
class Flow:
    """What was appended, what was leased for the first time, and how long that had waited, by lane."""

    came: Fading = field(factory=Fading)
    went: Fading = field(factory=Fading)
    _waited_ms: Fading = field(factory=Fading)
    _waits: Fading = field(factory=Fading)

    def waited(self, now: int, lane: int, count: int, span_ms: int) -> None:
        """So many messages were leased for the first time, so long after they were written."""
        self._waits.add(now, lane, count)
        self._waited_ms.add(now, lane, count * max(span_ms, 0))

    def waits_ms(self, now: int) -> list[float]:
        """How long a message waits, by lane; 0 where none was leased lately."""
        pairs = zip(self._waited_ms.rates(now), self._waits.rates(now), strict=True)
        return [waited / count if count > 1e-9 else 0.0 for waited, count in pairs]
