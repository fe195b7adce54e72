"""What comes when by the calendar: a sorted set of numbers, each with its time, of a million or more.

The timing wheel runs on a clock that never goes back. Calendar time does: it is set, and it is asked about ("what is
due tomorrow?"). Here nothing is consumed by the passing of time, only by being taken or dropped, so a clock that jumps
either way changes nothing; and the order is there to be read, page by page, from any place.

Theory: a sorted list cut into chunks, each two arrays, of times and of numbers. To find the chunk and the place in it
are searches by halves, over numbers that lie side by side; what moves to make room is a few kilobytes. That is two
microseconds an item to add, as many to drop, next to nothing to take from the front, and 16 bytes to keep, in nothing
that a collection of garbage would look through.

Invariants: chunks are sorted within and among each other, none is empty, none has more than `_CHUNK_MAX` items.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import pairwise

from attrs import define, field

_CHUNK_MAX = 1024

Item = tuple[int, int]
"""A time and a number."""


@define(eq=False)
class _Chunk:
    """Neighbours; equal times in the order of their numbers."""

    times: "array[int]"
    numbers: "array[int]"

    def place(self, time: int, number: int) -> int:
        """Where an item is, or would be."""
        times = self.times
        low = bisect_left(times, time)
        if low == len(times) or times[low] != time:
            return low
        return bisect_left(self.numbers, number, low, bisect_right(times, time, low))

    def last(self) -> Item:
        """The last item."""
        return self.times[-1], self.numbers[-1]


@define(eq=False)
class Agenda:
    """A sorted set of items; a number may stand in it at several times."""

    _chunks: list[_Chunk] = field(factory=list)
    # The last item of each chunk.
    _lasts: list[Item] = field(factory=list)
    _count: int = 0

    def __len__(self) -> int:
        return self._count

    def add(self, time: int, number: int) -> None:
        """Enter an item that is not there."""
        lasts, item = self._lasts, (time, number)
        self._count += 1
        if not lasts:
            self._chunks.append(_Chunk(array("q", (time,)), array("q", (number,))))
            lasts.append(item)
            return
        at = bisect_left(lasts, item)
        if at == len(lasts):
            at -= 1
            lasts[at] = item
        chunk = self._chunks[at]
        place = chunk.place(time, number)
        chunk.times.insert(place, time)
        chunk.numbers.insert(place, number)
        if len(chunk.times) > _CHUNK_MAX:
            self._split(at, chunk)

    def _split(self, at: int, chunk: _Chunk) -> None:
        # What comes in order leaves full chunks behind.
        half = _CHUNK_MAX if at == len(self._chunks) - 1 else _CHUNK_MAX // 2
        front = _Chunk(chunk.times[:half], chunk.numbers[:half])
        del chunk.times[:half], chunk.numbers[:half]
        self._chunks.insert(at, front)
        self._lasts.insert(at, front.last())

    def drop(self, time: int, number: int) -> None:
        """Take out an item that is there."""
        at = bisect_left(self._lasts, (time, number))
        chunk = self._chunks[at]
        place = chunk.place(time, number)
        assert (chunk.times[place], chunk.numbers[place]) == (time, number)
        del chunk.times[place], chunk.numbers[place]
        self._count -= 1
        if not chunk.times:
            del self._chunks[at], self._lasts[at]
        elif place == len(chunk.times):
            self._lasts[at] = chunk.last()

    @property
    def first(self) -> int | None:
        """The earliest time; None when there is nothing."""
        return self._chunks[0].times[0] if self._chunks else None

    def since(self, time: int, number: int) -> Iterator[Item]:
        """What comes at a place or behind it, in order; it must not change meanwhile."""
        first = bisect_left(self._lasts, (time, number))
        for at in range(first, len(self._chunks)):
            chunk = self._chunks[at]
            begin = chunk.place(time, number) if at == first else 0
            yield from zip(chunk.times[begin:], chunk.numbers[begin:], strict=True)

    def check(self) -> None:
        """Assert the invariants."""
        items = [item for chunk in self._chunks for item in zip(chunk.times, chunk.numbers, strict=True)]
        assert len(items) == self._count
        assert all(one < other for one, other in pairwise(items))
        assert all(0 < len(chunk.times) <= _CHUNK_MAX for chunk in self._chunks)
        assert self._lasts == [chunk.last() for chunk in self._chunks]
