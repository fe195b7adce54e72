"""The segments of a log in order: sealed ones, and at the end the one that grows.

Invariant: bases rise, and no segment reaches into the next. Between two of them there may be a gap, where compaction
kept nothing.
"""

from bisect import bisect_right
from itertools import pairwise

from goqueue.core.log.effects import SyncToken
from goqueue.core.log.segment import Segment
from goqueue.core.log.tail import SegmentTail


class SegmentList:
    """All segments of one log, found by offset."""

    __slots__ = ("_bases", "sealed", "tail")

    def __init__(self, sealed: list[Segment], tail: SegmentTail) -> None:
        self.sealed = sealed
        self.tail = tail
        self._bases = [segment.base for segment in self.all()]

    def all(self) -> list[Segment]:
        """Every segment, oldest first; the last one is active."""
        return [*self.sealed, self.tail.segment]

    @property
    def oldest(self) -> Segment:
        """The first segment, which is the active one when there is no other."""
        return self.sealed[0] if self.sealed else self.tail.segment

    @property
    def second(self) -> Segment | None:
        """The segment behind the first one, if there is any."""
        return None if not self.sealed else self.sealed[1] if len(self.sealed) > 1 else self.tail.segment

    @property
    def first_base(self) -> int:
        """The lowest offset that any segment may hold."""
        return self._bases[0]

    def at(self, offset: int) -> Segment:
        """The segment that holds `offset`, or the next one that holds anything when compaction left nothing there."""
        at = max(bisect_right(self._bases, offset) - 1, 0)
        while at < len(self.sealed) and self.sealed[at].next_offset <= offset:
            at += 1
        return self.sealed[at] if at < len(self.sealed) else self.tail.segment

    def reaching(self, timestamp: int, start_offset: int, end: SyncToken) -> list[tuple[str, int]]:
        """(name, end position) of those with a record at or after `timestamp` between the start and `end`."""
        return [
            (segment.name, end.position if segment.name == end.segment else segment.size)
            for segment in self.all()
            if segment.max_timestamp >= timestamp and start_offset < segment.next_offset
            if segment.base < end.next_offset
        ]

    def seal(self, opened: SegmentTail) -> None:
        """Let the active segment grow no more and go on in `opened`."""
        self.sealed.append(self.tail.segment)
        self.tail = opened
        self._bases.append(opened.segment.base)

    def drop(self, count: int) -> list[Segment]:
        """Take out the oldest `count` sealed segments."""
        dropped = self.sealed[:count]
        del self.sealed[:count], self._bases[:count]
        return dropped

    def replace(self, old: list[Segment], new: list[Segment]) -> bool:
        """Put `new` in the place of `old`; False when `old` is not a run of the sealed segments any more."""
        if not old or old[0] not in self.sealed:
            return False
        first = self.sealed.index(old[0])
        if self.sealed[first : first + len(old)] != old:
            return False
        self.sealed[first : first + len(old)] = new
        self._bases = [segment.base for segment in self.all()]
        return True

    def split(self, offset: int) -> tuple[list[Segment], list[Segment]]:
        """(segments that begin below `offset`, those wholly at or above it); the first is always among the former."""
        segments = self.all()
        at = max(bisect_right(self._bases, offset - 1), 1)
        return segments[:at], segments[at:]

    def check(self) -> None:
        """Assert the invariant that the module's opening names."""
        segments = self.all()
        assert self._bases == [segment.base for segment in segments]
        assert all(a.next_offset <= b.base for a, b in pairwise(segments))
        assert all(segment.size or segment.next_offset == segment.base for segment in segments)
        self.tail.check()
