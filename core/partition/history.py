"""When the messages of a partition were appended, roughly: enough to say how far behind in time a reader is.

An entry (o, t) says: message o was appended at t, and those behind it up to the next entry were at t or later. So a
message is never said to be younger than it is. It is said to be older by less than a second at first; as time goes by
entries are given up where that blurs least for their age, so that a bounded number reaches back over any span and what
is said of a message stays near its age in proportion. A quiet hour blurs nothing: the first message behind it has an
entry of its own.

Entries last as long as the process. What a log tells of its past when it is opened are bounds of the same kind, made of
when its segments were begun and of the timestamps in them: nothing is appended before it is written, unless a
producer's clock is fast.

Times are monotonic, so a jump of the wall clock ages nothing.

Invariant: offsets rise, times never fall, and there are at most `ENTRIES_MAX` of both.
"""

from array import array
from bisect import bisect_left, bisect_right
from itertools import pairwise

from attrs import define, field

from goqueue.core.log.log import LogState

ENTRIES_MAX = 96
# No more than one entry in such a span.
SPACING_NS = 1_000_000_000
# How many entries go at a time, so that it is not a matter of every second.
_GIVEN_UP = 8
# How many entries a log may fill when it is opened: with its segments, and with what its index tells of the last one.
_SEGMENTS_MAX = 16
_INDEXED_MAX = 24


def _longs() -> "array[int]":
    return array("q")


@define(eq=False)
class History:
    """Offsets of one partition, and when each was appended; nothing is entered before `due`."""

    due: int = 0
    _offsets: "array[int]" = field(factory=_longs)
    _times: "array[int]" = field(factory=_longs)

    def recall(self, now: int, wall_ms: int, state: LogState) -> None:
        """Begin with what a log tells of its own past."""
        assert not self._offsets
        segments, tail = [*state.sealed, state.tail.segment], state.tail
        for segment in segments[:: len(segments) // _SEGMENTS_MAX + 1]:
            self._enter(now, wall_ms, segment.base, segment.created_ms)
        self._enter(now, wall_ms, tail.segment.base, tail.segment.created_ms)
        step = len(tail.times.keys) // _INDEXED_MAX + 1
        for offset, newest_ms in zip(tail.times.offsets[::step], tail.times.keys[::step], strict=True):
            self._enter(now, wall_ms, offset, newest_ms)
        self._enter(now, wall_ms, tail.segment.next_offset - 1, tail.segment.max_timestamp)
        self.cut(tail.segment.next_offset)

    def _enter(self, now: int, wall_ms: int, offset: int, at_ms: int) -> None:
        """What the log says by the wall clock, as far as it adds to what is there."""
        time = now - max(wall_ms - at_ms, 0) * 1_000_000
        if not self._offsets or (offset > self._offsets[-1] and time > self._times[-1]):
            self._offsets.append(offset)
            self._times.append(time)

    def note(self, now: int, offset: int, start_offset: int) -> None:
        """Message `offset` and those behind it are appended; there is none below `start_offset` any more."""
        assert now >= self.due
        self.due = now + SPACING_NS
        offsets, times = self._offsets, self._times
        below = bisect_right(offsets, start_offset) - 1
        if below > 0:
            del offsets[:below], times[:below]
        offsets.append(offset)
        times.append(now)
        if len(offsets) > ENTRIES_MAX:
            self._thin(now)

    def _thin(self, now: int) -> None:
        """Give up some entries, of which no two are neighbours: what was theirs becomes as old as the one before."""
        times = self._times

        def blur(at: int) -> float:
            return (times[at + 1] - times[at - 1]) / (now - times[at + 1] + SPACING_NS)

        ranked = sorted(range(1, len(times) - 1, 2), key=blur)
        for at in sorted(ranked[:_GIVEN_UP], reverse=True):
            del self._offsets[at], times[at]

    def cut(self, next_offset: int) -> None:
        """The messages at `next_offset` and behind it are gone, and others will come by their offsets."""
        at = bisect_left(self._offsets, next_offset)
        if at < len(self._offsets):
            # They must not pass for as old as what came before those that are gone.
            self.due = 0
        del self._offsets[at:], self._times[at:]

    def age_ns(self, now: int, offset: int) -> int:
        """At most how long ago a message was appended; of one older than all entries, at least."""
        if not self._offsets:
            return 0
        at = max(bisect_right(self._offsets, offset) - 1, 0)
        return max(now - self._times[at], 0)

    def check(self) -> None:
        """Assert the invariant."""
        assert len(self._offsets) == len(self._times) <= ENTRIES_MAX
        assert all(a < b for a, b in pairwise(self._offsets))
        assert all(a <= b for a, b in pairwise(self._times))
