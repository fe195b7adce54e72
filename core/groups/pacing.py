"""When to divide partitions anew: a little after the last of what comes together, and not long after the first.

A hundred members that start at once are one rebalance or three, not a hundred. Each event waits `DELAY_NS` for another;
after `WAIT_NS_MAX` nobody is waited for any longer.
"""

from attrs import define, field

from goqueue.core.timers.alarms import Alarms

DELAY_NS = 100_000_000
WAIT_NS_MAX = 1_000_000_000


@define
class Pacing:
    """Groups whose partitions are to be divided anew."""

    _first: dict[str, int] = field(factory=dict)
    _alarms: Alarms[str] = field(factory=Alarms)

    def __contains__(self, group: str) -> bool:
        return group in self._first

    def trigger(self, now: int, group: str, delay_ns: int = DELAY_NS) -> None:
        """Something happened after which a group's partitions are to be divided anew."""
        first = self._first.setdefault(group, now)
        self._alarms.set(group, min(now + delay_ns, first + WAIT_NS_MAX))

    def drop(self, group: str) -> None:
        """A group has nobody to divide partitions among."""
        self._first.pop(group, None)
        self._alarms.drop(group)

    def deadline(self) -> int | None:
        """When `due` has something."""
        return self._alarms.deadline()

    def due(self, now: int) -> list[str]:
        """The groups to divide now; they wait no more."""
        groups = self._alarms.due(now)
        for group in groups:
            del self._first[group]
        return groups

    def check(self) -> None:
        """Assert that every group that waits will come up."""
        self._alarms.check()
        assert all(group in self._alarms for group in self._first)
        assert len(self._alarms) == len(self._first)
