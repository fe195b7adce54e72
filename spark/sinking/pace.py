"""How fast: so many messages or bytes a second, or as the messages came when they were made.

Both say only how long to wait; who waits goes on with what is under way. A rate is the job's, of which each task has a
share. What a task did not use while it was held up is not made up for, but for one second's worth.

Original timing puts each message as long after the first one of the whole job as it was then, divided by the speed.
Messages of the same short while, a tick, go together: a batch for each would cost more than the gaps within it are
worth. What an earlier run of the job has stored takes no time: the clock is set on past it.
"""

from attrs import define

SECOND_NS = 1_000_000_000
# Within so much of the time that passes here, gaps are not made.
TICK_MS = 50
_TICK_NS = TICK_MS * 1_000_000


@define
class Rate:
    """A task's share of what a job may send; zero for as much as goes."""

    rows_per_second: float = 0.0
    bytes_per_second: float = 0.0
    _due_ns: int = 0

    def wait_ns(self, now_ns: int, rows: int, size: int) -> int:
        """How long to wait before so much more is sent."""
        cost = 0.0
        if self.rows_per_second:
            cost = rows / self.rows_per_second
        if self.bytes_per_second:
            cost = max(cost, size / self.bytes_per_second)
        due = max(self._due_ns, now_ns - SECOND_NS)
        self._due_ns = due + int(cost * SECOND_NS)
        return max(due - now_ns, 0)

    def share(self, part: float) -> "Rate":
        """That of a task which has such a part of the messages; so all tasks end at the same time."""
        assert 0 <= part <= 1
        return Rate(self.rows_per_second * part, self.bytes_per_second * part)


@define
class Timing:
    """When a tick is due, by the wall's clock; the one numbered 0 at `begun_ns`."""

    begun_ns: int

    def wait_ns(self, wall_ns: int, tick: int) -> int:
        """How long to wait with what is of a tick."""
        return max(self.begun_ns + tick * _TICK_NS - wall_ns, 0)

    def set_on(self, wall_ns: int, tick: int) -> None:
        """All up to this tick is there already, so it counts as due at this moment."""
        self.begun_ns = min(self.begun_ns, wall_ns - tick * _TICK_NS)
