"""The growing end of one segment: its size, its last offset, and the index pages that growing it fills.

Appending, recovery and compaction all grow a segment the same way, and this is that way: one place decides when an
index entry is due. Invariant: `segment.size` is the position of the next batch, and both index tails only point below
it.
"""

from goqueue.core.log.effects import IndexPage
from goqueue.core.log.index import IndexKind, PageTail
from goqueue.core.log.segment import NO_TIMESTAMP, Segment


class SegmentTail:
    """A segment that batches are added to, with its two indexes."""

    __slots__ = (
        "_indexed_position",
        "_indexed_timestamp",
        "_interval_bytes",
        "name",
        "offsets",
        "pages",
        "segment",
        "times",
    )

    def __init__(self, segment: Segment, interval_bytes: int) -> None:
        self.segment = segment
        self.name = segment.name
        self.offsets = PageTail(IndexKind.OFFSET, segment.base)
        self.times = PageTail(IndexKind.TIME, segment.base)
        self.pages: list[IndexPage] = []
        self._interval_bytes = interval_bytes
        self._indexed_position = 0
        self._indexed_timestamp = NO_TIMESTAMP

    def add(self, base_offset: int, next_offset: int, max_timestamp: int, size: int) -> None:
        """Enter one batch that lies, or is about to lie, at the end."""
        segment = self.segment
        position = segment.size
        if position > self._indexed_position and position - self._indexed_position >= self._interval_bytes:
            self._index(base_offset, position)
        segment.size = position + size
        segment.next_offset = next_offset
        if max_timestamp > segment.max_timestamp:
            segment.max_timestamp = max_timestamp

    def resumed(self, position: int) -> None:
        """Go on after the index tails were read back, the last offset entry pointing to `position`."""
        self._indexed_position = position
        self._indexed_timestamp = self.times.keys[-1] if self.times.keys else NO_TIMESTAMP

    @property
    def indexed_timestamp(self) -> int:
        """The key of the last time entry, NO_TIMESTAMP before the first."""
        return self._indexed_timestamp

    def partial_pages(self) -> list[IndexPage]:
        """The unfinished page of each index, for a segment that is sealed or a log that is closed."""
        return [
            IndexPage(tail.kind, tail.full_pages, tail.encode()) for tail in (self.offsets, self.times) if tail.keys
        ]

    def index_sizes(self) -> tuple[int, int]:
        """How many pages each index has, the unfinished one included."""
        return (
            self.offsets.full_pages + bool(self.offsets.keys),
            self.times.full_pages + bool(self.times.keys),
        )

    def _index(self, base_offset: int, position: int) -> None:
        self._indexed_position = position
        page = self.offsets.add(base_offset, base_offset, position)
        if page is not None:
            self.pages.append(IndexPage(IndexKind.OFFSET, self.offsets.full_pages - 1, page))
        newest = self.segment.max_timestamp
        if newest > self._indexed_timestamp:
            self._indexed_timestamp = newest
            page = self.times.add(newest, base_offset, position)
            if page is not None:
                self.pages.append(IndexPage(IndexKind.TIME, self.times.full_pages - 1, page))

    def check(self) -> None:
        """Assert that the indexes point into the segment and that their last entries agree with it."""
        self.segment.check()
        assert not self.offsets.positions or self.offsets.positions[-1] < max(self.segment.size, 1)
        assert not self.times.positions or self.times.positions[-1] < max(self.segment.size, 1)
