"""Which parts of a partition are of a lane that is not the normal one: runs of batches, in order of offsets.

Work queues use it to find what lies in a lane beyond their reach, so one index serves all of a partition. It is filled
from the headers of batches, as they are appended and, at a start, from the lowest reach of a queue on. What a queue
has looked at needs no index: its window keeps the lanes of what is not settled.

The index knows everything from `begin` up to `upto`. What lies before `begin` counts as normal and is delivered first,
in order of the log; nothing is delivered from `upto` on. It holds RUNS_MAX runs at most, which are 25 bytes each, and
runs that touch are one. When there are more, the oldest are forgotten and `begin` moves: then a queue that is so far
behind goes by the log up to there, so order within a lane is kept, nothing is lost, and only precedence has to wait.

Invariants: runs are in order, between `begin` and `upto`, and of a lane that is not normal. `_sums` counts the offsets
of a run's lane from the first run that was ever added up to its end.
"""

from array import array
from bisect import bisect_right
from collections.abc import Iterator

from attrs import define, field

from goqueue.core.partition.flow import Flow
from goqueue.core.partition.lane_runs import LANES, LaneRun, Run
from goqueue.core.records.batch import LANE_SHIFT, Header, Lane, read_header, split
from goqueue.core.records.varint import Readable

RUNS_MAX = 1 << 18
# Runs are dropped in parts: each time all others move.
_DROPPED_MIN = 1 << 10

_NORMAL = int(Lane.NORMAL)


@define
class LaneIndex:
    """The runs of a partition that are not normal; `flow` counts what comes and goes by lane."""

    begin: int = 0
    _runs_max: int = RUNS_MAX
    upto: int = field(init=False)
    flow: Flow = field(factory=Flow, init=False)
    _firsts: "array[int]" = field(factory=lambda: array("q"), init=False)
    _ends: "array[int]" = field(factory=lambda: array("q"), init=False)
    _lanes: bytearray = field(factory=bytearray, init=False)
    _sums: "array[int]" = field(factory=lambda: array("q"), init=False)
    _totals: list[int] = field(factory=lambda: [0] * LANES, init=False)

    def __attrs_post_init__(self) -> None:
        assert self.begin >= 0
        assert self._runs_max > 0
        self.upto = self.begin

    def __len__(self) -> int:
        return len(self._lanes)

    # --- filling

    def skip_to(self, offset: int) -> None:
        """Go on at an offset; of what lies before it from here on, the lanes are not known."""
        if offset > self.upto:
            self._drop(len(self._lanes))
            self.begin = self.upto = offset

    def add(self, header: Header) -> None:
        """Take in the header of the next batch; one that is known already changes nothing."""
        self.add_run(header.base_offset, header.next_offset, (header.attributes >> LANE_SHIFT) & 7)

    def add_batches(self, batches: Readable, now: int | None = None) -> None:
        """Take in the next batches; with a time, they were appended just then and count for the flow."""
        for batch in split(batches):
            header = read_header(batch)
            if now is not None and header.next_offset > self.upto:
                self.flow.came.add(now, (header.attributes >> LANE_SHIFT) & 7, header.record_count)
            self.add(header)

    def add_run(self, start: int, end: int, lane: int) -> None:
        """Take in what follows, of one lane; what is known already changes nothing."""
        assert start < end
        assert 0 <= lane < LANES
        start = max(start, self.upto)
        if end <= start:
            return
        self.upto = end
        if lane == _NORMAL:
            return
        lanes = self._lanes
        self._totals[lane] += end - start
        if lanes and lanes[-1] == lane and self._ends[-1] == start:
            self._ends[-1] = end
            self._sums[-1] = self._totals[lane]
            return
        self._firsts.append(start)
        self._ends.append(end)
        lanes.append(lane)
        self._sums.append(self._totals[lane])
        if len(lanes) > self._runs_max:
            self._drop(max(self._runs_max // 4, 1))

    def trim(self, offset: int) -> None:
        """No queue will ask for what lies before an offset."""
        count = bisect_right(self._ends, offset)
        if count == len(self._lanes) or count >= _DROPPED_MIN:
            self._drop(count)

    def _drop(self, count: int) -> None:
        if count:
            self.begin = max(self.begin, self._ends[count - 1])
            del self._firsts[:count], self._ends[:count], self._lanes[:count], self._sums[:count]

    # --- looking

    def has_any(self, start: int, end: int) -> bool:
        """Whether anything of a run is known not to be normal."""
        at = bisect_right(self._ends, start)
        return at < len(self._lanes) and self._firsts[at] < end

    def count(self, lane: int, start: int) -> int:
        """How many offsets of a lane lie from an offset on."""
        if lane == _NORMAL:
            others = sum(self.count(other, start) for other in range(1, LANES)) if self._lanes else 0
            return max(self.upto - start, 0) - others
        at = self._lanes.find(lane, bisect_right(self._ends, start))
        if at < 0:
            return 0
        first, end = self._firsts[at], self._ends[at]
        return self._totals[lane] - self._sums[at] + end - max(first, start)

    def runs(self, start: int, end: int) -> Iterator[LaneRun]:
        """The runs within a run that are not normal."""
        at = bisect_right(self._ends, start)
        while at < len(self._lanes) and self._firsts[at] < end:
            yield max(self._firsts[at], start), min(self._ends[at], end), self._lanes[at]
            at += 1

    def runs_in(self, lane: int, start: int) -> Iterator[Run]:
        """The runs of a lane from an offset on; of the normal one, what lies between the others up to `upto`."""
        if lane == _NORMAL:
            yield from self._between(start)
            return
        lanes = self._lanes
        at = lanes.find(lane, bisect_right(self._ends, start))
        while at >= 0:
            yield max(self._firsts[at], start), self._ends[at]
            at = lanes.find(lane, at + 1)

    def _between(self, start: int) -> Iterator[Run]:
        for first, end, _ in self.runs(start, self.upto):
            if start < first:
                yield start, first
            start = end
        if start < self.upto:
            yield start, self.upto

    def check(self) -> None:
        """Assert the invariants."""
        assert len(self._firsts) == len(self._ends) == len(self._lanes) == len(self._sums) <= self._runs_max
        at, sums = self.begin, [0] * LANES
        for lane, total in enumerate(self._totals):
            sums[lane] = total - self.count(lane, self.begin) if lane else 0
        for first, end, lane, total in zip(self._firsts, self._ends, self._lanes, self._sums, strict=True):
            assert at <= first < end <= self.upto
            assert 0 < lane < LANES
            sums[lane] += end - first
            assert sums[lane] == total
            at = end
        assert sums[1:] == self._totals[1:]
