"""What rebalances there were, a group's and everybody's: counted for operators, and gone with the coordinator.

A rebalance begins with what makes it necessary and is over when nothing is left to be handed over, however many
generations that takes. It fails when a member had to be cut off, and succeeds otherwise. What turns out to change
nothing was no rebalance.
"""

from attrs import define, evolve, field

from goqueue.core.groups.state import Group
from goqueue.core.requests.groups import RebalancesReply
from goqueue.core.requests.histogram import Histogram


@define
class _Tally:
    counted: RebalancesReply = field(factory=RebalancesReply)
    duration_ns: int = 0


@define
class _Episode:
    began: int
    reason: str
    is_counted: bool = False
    is_cut_off: bool = False


@define
class Rebalances:
    """The rebalances of all groups since the coordinator began."""

    _all: _Tally = field(factory=_Tally)
    _groups: dict[str, _Tally] = field(factory=dict)
    _running: dict[str, _Episode] = field(factory=dict)
    # From what made a rebalance necessary until everything was handed over.
    latency: Histogram = field(factory=Histogram)

    def triggered(self, now: int, group: str, reason: str) -> None:
        """Something happened that may lead to a rebalance."""
        if group not in self._running:
            self._running[group] = _Episode(now, reason)

    def assigned(self, group: str, wall_ms: int, partitions: int) -> None:
        """A new generation gave partitions to members that did not have them as a target before."""
        episode = self._running[group]
        for tally in self._tallies(group):
            counted = tally.counted
            counted.partitions_assigned += partitions
            counted.last_at_ms = wall_ms
            if not episode.is_counted:
                counted.total += 1
                counted.by_reason[episode.reason] = counted.by_reason.get(episode.reason, 0) + 1
        episode.is_counted = True

    def revoked(self, group: str, partitions: int, *, cut_off: bool) -> None:
        """A member let go of partitions, or was cut off from them."""
        for tally in self._tallies(group):
            tally.counted.partitions_revoked += partitions
            tally.counted.revocation_timeouts += cut_off
        if group in self._running:
            self._running[group].is_cut_off |= cut_off

    def settled(self, now: int, group: str) -> None:
        """Nothing is left to be handed over in a group."""
        episode = self._running.pop(group, None)
        if episode is None or not episode.is_counted:
            return
        self.latency.observe(now - episode.began)
        for tally in self._tallies(group):
            counted = tally.counted
            counted.failed += episode.is_cut_off
            counted.successful += not episode.is_cut_off
            tally.duration_ns += now - episode.began
            counted.last_duration_ms = (now - episode.began) // 1_000_000
            counted.average_duration_ms = tally.duration_ns // (counted.failed + counted.successful) // 1_000_000

    def running(self) -> list[tuple[str, int, str]]:
        """The groups that are out of balance, since when, and why."""
        return [(group, episode.began, episode.reason) for group, episode in self._running.items()]

    def forget(self, group: str) -> None:
        """A group is gone; what it added to everybody's stays."""
        self._groups.pop(group, None)
        self._running.pop(group, None)

    def describe(self, group: str) -> RebalancesReply:
        """What was counted for a group, or for all when none is named."""
        tally = self._groups.get(group, _Tally()) if group else self._all
        return evolve(tally.counted, by_reason=dict(sorted(tally.counted.by_reason.items())))

    def _tallies(self, group: str) -> tuple[_Tally, _Tally]:
        return self._all, self._groups.setdefault(group, _Tally())

    def check(self, groups: dict[str, Group]) -> None:
        """Assert that nothing is kept of groups that are no more, and that the sums are right."""
        assert self._groups.keys() <= groups.keys()
        assert self._running.keys() <= groups.keys()
        for tally in (self._all, *self._groups.values()):
            counted = tally.counted
            assert counted.successful + counted.failed <= counted.total
            assert sum(counted.by_reason.values()) == counted.total
        assert sum(self.latency.counts) == self._all.counted.successful + self._all.counted.failed
