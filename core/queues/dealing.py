"""How a work queue chooses among lanes: what to read of each, how far to look for it, and what that counts for.

A lane is served in order of offsets: what is ready in it below the reach, then its runs beyond. To serve one that lies
beyond, the queue looks at everything up to there, and what it passes over is ready and keeps its lane. So a message is
neither skipped nor delivered twice because lanes differ: choosing only says in which order ready messages go.

Queues ordered by key do not choose: the order of a key goes before that of lanes. Nor does a queue that is behind the
beginning of the index (`lanes`), or one whose partition has nothing but normal messages.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import chain

from attrs import define, field

from goqueue.core.partition.lane_runs import LANES, Run
from goqueue.core.partition.lanes import LaneIndex
from goqueue.core.queues.plan import Offers
from goqueue.core.queues.records import Opened, packed_triples
from goqueue.core.queues.shares import Shares
from goqueue.core.queues.window import LEASED, READY, Window, join
from goqueue.core.requests.queues import LeaseRun

# The runs of a record that opens a part of the partition: 100 KB of it.
_OPENED_RUNS = 1 << 12


@define
class Dealer:
    """Chooses among lanes for one queue; the index is that of the partition."""

    index: LaneIndex
    shares: Shares

    def chooses(self, window: Window) -> bool:
        """Whether there is anything to choose from."""
        index = self.index
        return window.reach >= index.begin and bool(window.unlike or index.has_any(window.reach, index.upto))

    def end(self, window: Window) -> int:
        """How far to look in order of the log."""
        index = self.index
        return index.begin if window.reach < index.begin else index.upto

    def wanted(self, now: int, window: Window, count: int) -> list[Run]:
        """What to read, lane by lane, in the order in which it is to be delivered."""
        lines = [_Line(chain(window.ready_in(lane), self._beyond(window, lane))) for lane in range(LANES)]
        runs: list[Run] = []
        for lane, taken in self.shares.look(now, [self.ready(window, lane) for lane in range(LANES)], count):
            lines[lane].take(runs, taken)
        return runs

    def _beyond(self, window: Window, lane: int) -> Iterator[Run]:
        """The runs of a lane beyond the reach; found when they are asked for, as few ever are."""
        yield from self.index.runs_in(lane, window.reach)

    def opening(self, window: Window, offers: Offers) -> list[Opened]:
        """The records by which what was read for several lanes comes below the reach; none when it is of one."""
        index, reach = self.index, window.reach
        end = min(max((end for _, end in offers.read), default=0), index.upto)
        if end <= reach or reach < index.begin or not index.has_any(reach, end):
            return []
        runs = [*index.runs(reach, end)]
        parts = [runs[at : at + _OPENED_RUNS] for at in range(0, len(runs), _OPENED_RUNS)]
        opened = [Opened(part[-1][1], packed_triples(part)) for part in parts]
        opened[-1].reach = end
        return opened

    def dealt(self, now: int, wall_ms: int, window: Window, runs: list[LeaseRun], offers: Offers) -> None:
        """Charge the lanes for what was leased, and count how long it had waited."""
        stamps = sorted(offers.stamps)
        for run in runs:
            for start, end, lane in window.by_lane(run.first_offset, run.first_offset + run.count):
                self.shares.charge(now, lane, end - start)
                if run.attempt == 1:
                    self.index.flow.went.add(now, lane, end - start)
                    for count, time_ms in _overlaps(stamps, start, end):
                        self.index.flow.waited(now, lane, count, wall_ms - time_ms)

    # --- looking

    def ready(self, window: Window, lane: int) -> int:
        """How many messages of a lane could be delivered, those beyond the reach included."""
        return window.count(READY, lane) + self.index.count(lane, window.reach)

    def counts(self, window: Window) -> list[tuple[int, int]]:
        """How many messages are ready and how many are in flight, by lane."""
        return [(self.ready(window, lane), window.count(LEASED, lane)) for lane in range(LANES)]


@define
class _Line:
    """What of a lane was not taken yet."""

    _runs: Iterator[Run]
    _rest: Run = field(default=(0, 0), init=False)

    def take(self, runs: list[Run], count: int) -> None:
        """Move so many offsets behind others."""
        while count:
            start, end = self._rest if self._rest[0] < self._rest[1] else next(self._runs)
            after = min(start + count, end)
            join(runs, start, after)
            self._rest = after, end
            count -= after - start


def _overlaps(stamps: Sequence[tuple[int, int, int]], start: int, end: int) -> Iterator[tuple[int, int]]:
    """How many offsets of a run lie in each batch, and the time of that."""
    at = max(bisect_right(stamps, (start, end, 0)) - 1, 0)
    for first, after, time_ms in stamps[at:]:
        if first >= end:
            break
        count = min(after, end) - max(first, start)
        if count > 0:
            yield count, time_ms
