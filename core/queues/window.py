"""What is known of every offset between the floor and the reach: one byte each, and nothing where all is settled.

Below the floor everything is settled; at the reach and beyond nothing was ever looked at. Bytes come in pages, and a
page with nothing left to settle is dropped: a partition that is settled in order costs a page, however long it is, and
so does one that is settled in order behind a message that is stuck. A page that is all alike is one that all share
until it is written to, so that looking past millions of messages costs a reference a page. Failures are counted in
pages of their own, made where the first message fails. Runs are pairs of a first offset and the one after the last.

A byte is a status and, above it, a lane, which stays with the offset until it is settled. So what is ready in a lane
is found by looking for a byte.

Invariants: the offset at the floor is not settled, or is the reach. `counts`, `laned` and `unlike` are what the pages
hold.
"""

from array import array
from collections.abc import Iterable, Iterator

from attrs import define, field

from goqueue.core.partition.lane_runs import LANES, LaneRun, Run

SETTLED, READY, WAITING, LEASED, HELD, DOOMED = range(6)
STATUSES = 6
PAGE_BITS = 10
PAGE = 1 << PAGE_BITS
# From how many offsets on it is quicker to look through all pages than to go from one to the next.
_FAR = 1 << 20
FAILURES_MAX = (1 << 16) - 2

_LANE_SHIFT = 3
_STATUS_MASK = (1 << _LANE_SHIFT) - 1
_VALUES = LANES << _LANE_SHIFT

_MARKS = tuple(bytes((value,)) for value in range(_VALUES))
_FILLED = tuple(mark * PAGE for mark in _MARKS)
_UNTOUCHED = _FILLED[SETTLED]
# What becomes of each byte when its offset is given a status: the lane stays, unless it is settled.
_GIVEN = tuple(
    bytes(each & ~_STATUS_MASK & 0xFF | status if status else 0 for each in range(256)) for status in range(STATUSES)
)
_STATUS_ALONE = bytes(each & _STATUS_MASK for each in range(256))


@define
class Window:
    """The offsets that are neither all settled nor all untouched."""

    floor: int = 0
    reach: int = 0
    pages: dict[int, bytes | bytearray] = field(factory=dict)
    failures: dict[int, "array[int]"] = field(factory=dict)
    # How many offsets have each status, but for the settled.
    counts: list[int] = field(factory=lambda: [0] * STATUSES)
    # The same by lane and status, of those lanes that are not normal, and of these in all.
    laned: list[int] = field(factory=lambda: [0] * _VALUES)
    unlike: int = 0
    # By lane: no page before this one has anything ready.
    _ready_pages: list[int] = field(factory=lambda: [0] * LANES)

    def status(self, offset: int) -> int:
        """What is known of an offset below the reach."""
        assert offset < self.reach
        page = self.pages.get(offset >> PAGE_BITS)
        return SETTLED if page is None or offset < self.floor else page[offset & PAGE - 1] & _STATUS_MASK

    def count(self, status: int, lane: int) -> int:
        """How many offsets of a lane have a status."""
        if lane:
            return self.laned[lane << _LANE_SHIFT | status]
        return self.counts[status] - (sum(self.laned[status :: _STATUS_MASK + 1]) if self.unlike else 0)

    # --- changing

    def extend(self, reach: int) -> None:
        """Look at offsets up to another reach, as settled."""
        assert reach >= self.reach
        self.reach = reach
        self._lift_floor()

    def cut(self, reach: int) -> None:
        """Look at offsets up to an earlier reach only; those beyond are settled, and have never failed."""
        assert reach <= self.reach
        for number in [each for each in self.failures if each + 1 << PAGE_BITS > reach]:
            first = max(reach - (number << PAGE_BITS), 0)
            self.failures[number][first:] = array("H", bytes(2 * (PAGE - first)))
        self.reach, self.floor = reach, min(self.floor, reach)
        self._lift_floor()

    def open(self, reach: int, lanes: Iterable[LaneRun]) -> None:
        """Look at offsets up to another reach, as ready: in these lanes, and in the normal one between them."""
        assert reach > self.reach
        at, self.reach = self.reach, reach
        for start, end, lane in lanes:
            assert at <= start < end <= reach
            self._fill(at, start, READY)
            self._fill(start, end, lane << _LANE_SHIFT | READY)
            at = end
        self._fill(at, reach, READY)

    def _fill(self, start: int, end: int, value: int) -> None:
        for number, first, last in _parts(start, end):
            self._write(number, self.pages.get(number, _UNTOUCHED), first, last, _FILLED[value][: last - first])
            self._recount(number, SETTLED, value, last - first)

    def mark(self, start: int, end: int, status: int) -> None:
        """Give a run below the reach a status."""
        assert start < end <= self.reach
        for number, first, last in _parts(start, end):
            page = self.pages.get(number)
            if page is None:
                if status == SETTLED:
                    continue
                page = _UNTOUCHED
            old, given = page[first:last], _GIVEN[status]
            if old.count(old[0]) == len(old):
                value = given[old[0]]
                self._recount(number, old[0], value, len(old))
                self._write(number, page, first, last, _FILLED[value][: last - first])
            else:
                for each in sorted({*old}):
                    self._recount(number, each, given[each], old.count(each))
                self._write(number, page, first, last, old.translate(given))
        if status != SETTLED:
            self.floor = min(self.floor, start)
        elif start <= self.floor:
            self._lift_floor()

    def _write(self, number: int, page: bytes | bytearray, first: int, last: int, content: bytes | bytearray) -> None:
        """Put bytes into a page, which is copied if others share it."""
        if last - first == PAGE:
            page = self.pages[number] = content
        else:
            if isinstance(page, bytes):
                page = self.pages[number] = bytearray(page)
            page[first:last] = content
        if not content[0] and page.count(SETTLED) == PAGE:
            del self.pages[number]
            self.failures.pop(number, None)

    def _recount(self, number: int, old: int, new: int, count: int) -> None:
        """So many bytes of a page are another one from here on."""
        counts, status = self.counts, new & _STATUS_MASK
        counts[old & _STATUS_MASK] -= count
        counts[status] += count
        counts[SETTLED] = 0
        if status == READY and number < self._ready_pages[new >> _LANE_SHIFT]:
            self._ready_pages[new >> _LANE_SHIFT] = number
        if old > _STATUS_MASK or new > _STATUS_MASK:
            self._recount_lanes(old, new, count)

    def _recount_lanes(self, old: int, new: int, count: int) -> None:
        laned = self.laned
        if old > _STATUS_MASK:
            laned[old] -= count
            self.unlike -= count
        if new > _STATUS_MASK:
            laned[new] += count
            self.unlike += count

    def restore(self, number: int, page: bytes, failures: "array[int] | None") -> None:
        """Put back a page of a snapshot, as `kept` gave it."""
        assert number not in self.pages
        content = self.pages[number] = _FILLED[page[0]] if len(page) == 1 else bytearray(page)
        for each in sorted({*content}):
            self._recount(number, SETTLED, each, content.count(each))
        if failures is not None:
            self.failures[number] = failures

    def kept(self, number: int) -> bytes:
        """A page for a snapshot: a single byte where all are alike."""
        page = self.pages[number]
        return bytes(page[:1] if page.count(page[0]) == PAGE else page)

    def _lift_floor(self) -> None:
        while self.floor < self.reach:
            page = self.pages.get(self.floor >> PAGE_BITS)
            if page is None and self.reach - self.floor > _FAR:
                # There may be nothing for thousands of millions of offsets: go to the next page that there is.
                following = min((each for each in self.pages if each > self.floor >> PAGE_BITS), default=self.reach)
                self.floor = min(following << PAGE_BITS, self.reach)
                continue
            first = self.floor & PAGE - 1
            settled = PAGE - first
            if page is not None:
                settled -= len(page[first:].lstrip(_MARKS[SETTLED]))
            self.floor = min(self.floor + settled, self.reach)
            if first + settled < PAGE:
                break

    # --- finding

    def runs(self, status: int, start: int, end: int) -> Iterator[Run]:
        """The runs of one status within a run, cut at the seams of pages; not for the settled."""
        assert status != SETTLED
        for number, page, first, last in self._pages_of(start, end):
            content = page.translate(_STATUS_ALONE) if self.unlike else page
            yield from _found(content, _MARKS[status], number << PAGE_BITS, first, last)

    def ready(self, count: int) -> list[Run]:
        """The first runs that are ready in any lane, of `count` offsets together at most."""
        if not self.unlike:
            return first_of(self.ready_in(0), count)
        lanes = [first_of(self.ready_in(lane), count) for lane in range(LANES)]
        return first_of(sorted(run for runs in lanes for run in runs), count)

    def ready_in(self, lane: int) -> Iterator[Run]:
        """The runs that are ready in a lane, cut at the seams of pages."""
        if not self.count(READY, lane):
            return
        mark, is_first = _MARKS[lane << _LANE_SHIFT | READY], True
        for number, page, first, last in self._pages_of(self._ready_pages[lane] << PAGE_BITS, self.reach):
            for run in _found(page, mark, number << PAGE_BITS, first, last):
                if is_first:
                    self._ready_pages[lane], is_first = number, False
                yield run

    def by_lane(self, start: int, end: int) -> Iterator[LaneRun]:
        """A run, of which nothing is settled, as runs of one lane each."""
        if not self.unlike:
            yield start, end, 0
            return
        for number, first, last in _parts(start, end):
            content = self.pages[number][first:last]
            at, origin = 0, (number << PAGE_BITS) + first
            while at < len(content):
                lane = content[at] >> _LANE_SHIFT
                after = at + 1
                while after < len(content) and content[after] >> _LANE_SHIFT == lane:
                    after += 1
                yield origin + at, origin + after, lane
                at = after

    def _pages_of(self, start: int, end: int) -> Iterator[tuple[int, bytes | bytearray, int, int]]:
        """The pages that have something of a run: number, page, and the part's first and last within it."""
        start, end = max(start, self.floor), min(end, self.reach)
        if start >= end:
            return
        pages = self.pages
        numbers: Iterable[int] = range(start >> PAGE_BITS, (end - 1 >> PAGE_BITS) + 1)
        if len(pages) * 4 < end - start >> PAGE_BITS:
            numbers = sorted(number for number in pages if number in numbers)
        for number in numbers:
            page = pages.get(number)
            if page is not None:
                origin = number << PAGE_BITS
                yield number, page, max(start - origin, 0), min(end - origin, PAGE)

    # --- failures

    def failed(self, offset: int) -> int:
        """How often an offset has failed."""
        page = self.failures.get(offset >> PAGE_BITS)
        return 0 if page is None else page[offset & PAGE - 1]

    def has_failed(self, start: int, end: int, count: int) -> bool:
        """Whether each offset of a run has failed so often."""
        if not self.failures:
            return count == 0
        for number, first, last in _parts(start, end):
            page = self.failures.get(number)
            alike = page[first:last].count(count) if page is not None else 0 if count else last - first
            if alike < last - first:
                return False
        return True

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
        values = [sum(page.count(value) for page in self.pages.values()) for value in range(_VALUES)]
        assert values[STATUSES:] == self.laned[STATUSES:]
        assert sum(values[STATUSES:]) == self.unlike
        assert [sum(values[status :: _STATUS_MASK + 1]) for status in range(1, STATUSES)] == self.counts[1:]
        for number, page in self.pages.items():
            assert len(page) == PAGE
            assert any(page), "a page is kept that has nothing left to settle"
            assert not any(page[max(self.reach - (number << PAGE_BITS), 0) :])
            for lane, first in enumerate(self._ready_pages):
                assert lane << _LANE_SHIFT | READY not in page or number >= first


def _found(page: bytes | bytearray, mark: bytes, origin: int, first: int, last: int) -> Iterator[Run]:
    """The runs of a byte in a part of a page."""
    at = page.find(mark, first, last)
    while at >= 0:
        after = last - len(page[at:last].lstrip(mark))
        yield origin + at, origin + after
        at = page.find(mark, after, last)


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


def first_of(runs: Iterable[Run], count: int) -> list[Run]:
    """The first of some runs, of `count` offsets together at most."""
    found: list[Run] = []
    if count <= 0:
        return found
    for start, end in runs:
        taken = min(end - start, count)
        join(found, start, start + taken)
        count -= taken
        if not count:
            break
    return found


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
