"""Which offsets of a partition are gone, where most that are gone lie below a floor: a byte for each of the others.

Pages in which everything is gone are one and the same object, so a redrive that leaves a letter behind at the start
costs no more than one that leaves none.

Invariants: the offset at the floor is not gone; there is no page below the floor, and none where nothing is gone.
"""

from collections.abc import Iterator

from attrs import define, field

from goqueue.core.errors import ProtocolError

PAGE_BITS = 10
PAGE = 1 << PAGE_BITS
_FULL = b"\x01" * PAGE
_EMPTY = bytes(PAGE)

Run = tuple[int, int]


@define
class Gone:
    """A set of offsets."""

    floor: int = 0
    pages: dict[int, bytearray | bytes] = field(factory=dict)

    def __contains__(self, offset: int) -> bool:
        if offset < self.floor:
            return True
        page = self.pages.get(offset >> PAGE_BITS)
        return page is not None and page[offset & PAGE - 1] == 1

    def add(self, start: int, end: int) -> None:
        """Have a run be gone."""
        assert start <= end
        if start <= self.floor:
            self._lift(end)
            return
        for number, first, last in _parts(start, end):
            page = self.pages.get(number, _EMPTY)
            changed = bytearray(page)
            changed[first:last] = _FULL[first:last]
            self.pages[number] = _FULL if changed == _FULL else changed

    def _lift(self, floor: int) -> None:
        """Raise the floor to an offset, and over all that is gone from there on."""
        lowest = self.floor >> PAGE_BITS
        self.floor = max(self.floor, floor)
        while (page := self.pages.get(self.floor >> PAGE_BITS)) is not None:
            first = self.floor & PAGE - 1
            left = page.find(0, first)
            if left >= 0:
                self.floor += left - first
                break
            self.floor += PAGE - first
        if self.pages:
            for number in range(lowest, self.floor >> PAGE_BITS):
                self.pages.pop(number, None)

    def cut(self, end: int) -> None:
        """Know nothing of what lies at or above an offset."""
        self.floor = min(self.floor, end)
        for number, page in [*self.pages.items()]:
            kept = max(end - (number << PAGE_BITS), 0)
            if kept < PAGE and any(page[kept:]):
                del self.pages[number]
                if any(page[:kept]):
                    self.pages[number] = bytearray(page[:kept].ljust(PAGE, b"\0"))

    @property
    def end(self) -> int:
        """Nothing is gone at or above it."""
        last = max(self.pages, default=-1)
        return max(self.floor, (last << PAGE_BITS) + self.pages[last].rfind(1) + 1) if last >= 0 else self.floor

    def restore(self, number: int, page: bytes) -> None:
        """Take in a page of a set that was saved, whose floor this one has."""
        if len(page) != PAGE:
            raise ProtocolError(f"a page has {PAGE} bytes, not {len(page)}")
        self.pages[number] = _FULL if page == _FULL else bytearray(page)

    def count(self, start: int, end: int) -> int:
        """How many offsets of a run are gone."""
        gone = max(min(end, self.floor) - start, 0)
        start = max(start, self.floor)
        for number, page in self.pages.items():
            origin = number << PAGE_BITS
            if start < origin + PAGE and origin < end:
                gone += page.count(1, max(start - origin, 0), min(end - origin, PAGE))
        return gone

    def check(self) -> None:
        """Assert the invariants."""
        assert self.floor not in self
        for number, page in self.pages.items():
            assert number >= self.floor >> PAGE_BITS
            assert len(page) == PAGE
            assert any(page)
            assert page.count(0) + page.count(1) == PAGE


def _parts(start: int, end: int) -> Iterator[tuple[int, int, int]]:
    """A run by pages: the page's number, and the part's first and last within it."""
    while start < end:
        number, first = start >> PAGE_BITS, start & PAGE - 1
        last = min(PAGE, first + end - start)
        yield number, first, last
        start += last - first
