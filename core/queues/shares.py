"""Whose turn it is among the lanes: deficit round robin by messages, and a guard against starvation.

Each lane in turn, by precedence, may deal out as many messages as its weight; one that has nothing passes. As messages
are dealt out one by one, no lane ends its turn with a deficit: whose turn it is and how many it has left is all there
is to know (Shreedhar and Varghese, with packets of one size). While all lanes have something, each has the share of
its weight to the message in every full round, and between rounds never more than its weight beside it.

A lane that had something ready for so long and was given nothing goes first once, by its weight at most, and that is
not counted as its turn. How long is counted from the first look that found something; so a lane waits for that span,
and then for a poll for each lane that starves longer.

Looking is apart from charging: between a look and the delivery others may have been given the same.
"""

from attrs import define, field

from goqueue.core.partition.lane_runs import LANES
from goqueue.core.records.batch import Lane

PRECEDENCE = (int(Lane.CRITICAL), int(Lane.HIGH), int(Lane.NORMAL), int(Lane.LOW), int(Lane.BACKGROUND))


@define
class Shares:
    """The turns of one queue; `weights` are by precedence."""

    weights: tuple[int, ...]
    starvation_ns: int
    _turn: int = field(default=0, init=False)
    _left: int = field(init=False)
    # Since when each lane has something and was given nothing; None where it has nothing.
    _since: list[int | None] = field(factory=lambda: [None] * LANES, init=False)

    def __attrs_post_init__(self) -> None:
        assert len(self.weights) == LANES
        assert all(weight > 0 for weight in self.weights)
        assert self.starvation_ns > 0
        self._left = self.weights[0]

    def look(self, now: int, ready: list[int], count: int) -> list[tuple[int, int]]:
        """Lanes and how many messages of each to take, in order, `count` together at most; `ready` is by lane."""
        for lane in range(LANES):
            since = self._since[lane]
            self._since[lane] = (now if since is None else since) if ready[lane] else None
        left, found = [*ready], list[tuple[int, int]]()
        for place in self._starving(now):
            lane = PRECEDENCE[place]
            taken = min(self.weights[place], left[lane], count)
            if taken:
                found.append((lane, taken))
                left[lane] -= taken
                count -= taken
        return found + self._rounds(left, count)

    def _rounds(self, left: list[int], count: int) -> list[tuple[int, int]]:
        turn, quota = self._turn, self._left
        found: list[tuple[int, int]] = []
        while count and (lanes := sum(map(bool, left))):
            lane = PRECEDENCE[turn]
            taken = min(left[lane], count if lanes == 1 else min(quota, count))
            if taken:
                found.append((lane, taken))
                left[lane] -= taken
                count -= taken
            turn = (turn + 1) % LANES
            quota = self.weights[turn]
        return found

    def _starving(self, now: int) -> list[int]:
        """The places of the lanes that waited too long, the longest wait first."""
        waits = []
        for place, lane in enumerate(PRECEDENCE):
            since = self._since[lane]
            if since is not None and now - since >= self.starvation_ns:
                waits.append((since, place))
        return [place for _, place in sorted(waits)]

    def charge(self, now: int, lane: int, count: int) -> None:
        """So many messages of a lane were dealt out."""
        assert count > 0
        since, self._since[lane] = self._since[lane], now
        if since is not None and now - since >= self.starvation_ns:
            return
        place = PRECEDENCE.index(lane)
        if place != self._turn:
            self._turn, self._left = place, self.weights[place]
        # More than the turn has left were only given where the other lanes had nothing: their turns passed between.
        over = count - self._left
        if over < 0:
            self._left = -over
            return
        over %= self.weights[place]
        if over:
            self._left = self.weights[place] - over
        else:
            self._turn = (place + 1) % LANES
            self._left = self.weights[self._turn]

    def check(self) -> None:
        """Assert the invariants."""
        assert 0 <= self._turn < LANES
        assert 0 < self._left <= self.weights[self._turn]
