"""What is known of every offset between the floor and the reach: one byte each, and nothing where all is settled.

Below the floor everything is settled; at the reach and beyond nothing was ever looked at. Bytes come in pages, and a
page with nothing left to settle is dropped: a partition that is settled in order costs a page, however long it is, and
so does one that is settled in order behind a message that is stuck. Failures are counted in pages of their own, made
where the first message fails. Runs are pairs of a first offset and the one after the last.

Invariants: the offset at the floor is not settled, or is the reach. `counts` is what the pages hold.
"""

from array import array
from collections.abc import Iterator

from attrs import define, field

SETTLED, READY, WAITING, LEASED, HELD, DOOMED = range(6)
STATUSES = 6
PAGE_BITS = 10
PAGE = 1 << PAGE_BITS
FAILURES_MAX = (1 << 16) - 2

Run = tuple[int, int]

_MARKS = tuple(bytes((status,)) for status in range(STATUSES))
_FILLED = tuple(mark * PAGE for mark in _MARKS)


@define
class Window:
    """The offsets that are neither all settled nor all untouched."""

    floor: int = 0
    reach: int = 0
    pages: dict[int, bytearray] = field(factory=dict)
    failures: dict[int, "array[int]"] = field(factory=dict)
    # How many offsets have each status, but for the settled.
    counts: list[int] = field(factory=lambda: [0] * STATUSES)
    # No page before this one has anything ready.
    _ready_page: int = 0

    def status(self, offset: int) -> int:
        """What is known of an offset below the reach."""
        assert offset < self.reach
        page = self.pages.get(offset >> PAGE_BITS)
        return SETTLED if page is None or offset < self.floor else page[offset & PAGE - 1]

    def extend(self, reach: int) -> None:
        """Look at offsets up to another reach, as settled."""
        assert reach >= self.reach
        self.reach = reach
        self._lift_floor()

    def mark(self, start: int, end: int, status: int) -> None:
        """Give a run below the reach a status."""
        assert start < end <= self.reach
        counts = self.counts
        for number, first, last in _parts(start, end):
            page = self.pages.get(number)
            if page is None:
                if status == SETTLED:
                    continue
                page = self.pages[number] = bytearray(PAGE)
            old = page[first:last]
            if old.count(old[0]) == len(old):
                counts[old[0]] -= len(old)
            else:
                for mark in range(STATUSES):
                    counts[mark] -= old.count(mark)
            counts[status] += last - first
            page[first:last] = _FILLED[status][: last - first]
            if status == SETTLED and page.count(SETTLED) == PAGE:
                del self.pages[number]
                self.failures.pop(number, None)
        counts[SETTLED] = 0
        if status == READY:
            self._ready_page = min(self._ready_page, start >> PAGE_BITS)
        if status != SETTLED:
            self.floor = min(self.floor, start)
        elif start <= self.floor:
            self._lift_floor()

    def _lift_floor(self) -> None:
        while self.floor < self.reach:
            page = self.pages.get(self.floor >> PAGE_BITS)
            first = self.floor & PAGE - 1
            settled = PAGE - first
            if page is not None:
                settled -= len(page[first:].lstrip(_MARKS[SETTLED]))
            self.floor = min(self.floor + settled, self.reach)
            if first + settled < PAGE:
                break

    def runs(self, status: int, start: int, end: int) -> Iterator[Run]:
        """The runs of one status within a run, cut at the seams of pages."""
        mark = _MARKS[status]
        for number, first, last in _parts(max(start, self.floor), min(end, self.reach)):
            page = self.pages.get(number)
            if page is None:
                if status == SETTLED:
                    yield (number << PAGE_BITS) + first, (number << PAGE_BITS) + last
                continue
            at = page.find(mark, first, last)
            while at >= 0:
                after = last - len(page[at:last].lstrip(mark))
                yield (number << PAGE_BITS) + at, (number << PAGE_BITS) + after
                at = page.find(mark, after, last)

    def ready(self, count: int) -> list[Run]:
        """The first runs that are ready, of `count` offsets together at most."""
        found: list[Run] = []
        if not self.counts[READY]:
            return found
        for start, end in self.runs(READY, self._ready_page << PAGE_BITS, self.reach):
            if not found:
                self._ready_page = start >> PAGE_BITS
            taken = min(end - start, count)
            join(found, start, start + taken)
            count -= taken
            if not count:
                break
        return found

    # --- failures

    def failed(self, offset: int) -> int:
        """How often an offset has failed."""
        page = self.failures.get(offset >> PAGE_BITS)
        return 0 if page is None else page[offset & PAGE - 1]

    def by_failures(self, start: int, end: int) -> Iterator[tuple[int, int, int]]:
        """A run as runs of those that failed equally often."""
        for number, first, last in _parts(start, end):
            page, origin = self.failures.get(number), number << PAGE_BITS
            if page is None:
                yield origin + first, origin + last, 0
                continue
            at = first
            for after in range(first + 1, last + 1):
                if after == last or page[after] != page[at]:
                    yield origin + at, origin + after, page[at]
                    at = after

    def fail(self, start: int, end: int) -> None:
        """Count one more failure for each offset of a run."""
        for number, first, last in _parts(start, end):
            page = self.failures.get(number)
            if page is None:
                page = self.failures[number] = array("H", bytes(2 * PAGE))
            for at in range(first, last):
                page[at] = min(page[at] + 1, FAILURES_MAX)

    def check(self) -> None:
        """Assert the invariants."""
        assert 0 <= self.floor <= self.reach
        assert self.floor == self.reach or self.status(self.floor) != SETTLED
        assert self.failures.keys() <= self.pages.keys()
        counts = [sum(page.count(status) for page in self.pages.values()) for status in range(STATUSES)]
        assert counts[1:] == self.counts[1:]
        for number, page in self.pages.items():
            assert any(page), "a page is kept that has nothing left to settle"
            assert not any(page[max(self.reach - (number << PAGE_BITS), 0) :])
            assert READY not in page or number >= self._ready_page


def _parts(start: int, end: int) -> Iterator[tuple[int, int, int]]:
    """A run by pages: the page's number, and the part's first and last within it."""
    while start < end:
        number, first = start >> PAGE_BITS, start & PAGE - 1
        last = min(PAGE, first + end - start)
        yield number, first, last
        start += last - first


def join(runs: list[Run], start: int, end: int) -> None:
    """Add a run behind others, as part of the last one where it touches it."""
    if runs and runs[-1][1] == start:
        runs[-1] = (runs[-1][0], end)
    else:
        runs.append((start, end))


def runs_of(offsets: "range | list[int] | array[int]") -> list[Run]:
    """Offsets in order, as runs."""
    if not offsets:
        return []
    if offsets[-1] - offsets[0] == len(offsets) - 1:
        return [(offsets[0], offsets[-1] + 1)]
    runs: list[Run] = []
    for offset in offsets:
        join(runs, offset, offset + 1)
    return runs
