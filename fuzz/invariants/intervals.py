"""What a topic with `fsync: interval` has taken is on its way to the disk once its interval is over, at every replica.

That is all such a topic promises: a power cut takes what is younger than the interval, and nothing else. A sync that
was asked for may take as long as the disk likes, so what counts is when it was asked for. A machine may have stood
still when the time came: it is judged by its turns after that.
"""

from collections import deque

from attrs import define, field

from goqueue.core.log.config import Fsync
from goqueue.core.log.log import Log
from goqueue.fuzz.checkers.checker import Broker, Checker, Sight
from goqueue.fuzz.history import Violation
from goqueue.fuzz.insight import asked_to_be_synced, logs, takes_appends

# So often a node has to be seen in its turns with something that is overdue.
_LOOKS = 4
# At rest nobody has a turn, and clocks run at different paces.
_SLACK_NS = 100_000_000


@define(eq=False)
class _Line:
    """What of one log is not asked to be synced: where it ended, by when that was first seen."""

    log: Log
    incarnation: int
    taken: deque[tuple[int, int]] = field(factory=deque)
    # The moments at which the first of it was seen to be overdue.
    looks: list[int] = field(factory=list)

    def look(self, now: int) -> int:
        """Take in how the log is; for how long something has waited that is overdue, 0 for nothing."""
        log, covered = self.log, asked_to_be_synced(self.log)
        while self.taken and self.taken[0][1] <= covered:
            self.taken.popleft()
            self.looks.clear()
        end = log.next_offset
        if end > covered and (not self.taken or self.taken[-1][1] < end):
            self.taken.append((now, end))
        waited = now - self.taken[0][0] if self.taken else 0
        return waited if waited > log.config.fsync_interval_ns else 0


class Intervals(Checker):
    """Follows the ends of logs that are synced by an interval."""

    def __init__(self, sight: Sight) -> None:
        super().__init__(sight)
        self._lines: dict[tuple[str, str], _Line] = {}

    def stepped(self) -> None:
        """Look at the logs of the node that had a turn."""
        broker = self.sight.stirred
        for line in [] if broker is None else self._lines_of(broker):
            now, waited = self.sight.now, line.look(self.sight.now)
            if waited and (not line.looks or line.looks[-1] < now):
                line.looks.append(now)
            if waited and len(line.looks) >= _LOOKS and now - line.looks[0] >= line.log.config.fsync_interval_ns:
                raise _overdue(line, waited)

    def ended(self) -> None:
        """Nothing is left that was to be synced."""
        for broker in self.sight.processes:
            for line in self._lines_of(broker):
                waited = line.look(self.sight.now)
                if waited > 2 * line.log.config.fsync_interval_ns + _SLACK_NS:
                    raise _overdue(line, waited)

    def _lines_of(self, broker: Broker) -> list[_Line]:
        """Those of a node's logs that are synced by an interval and take something."""
        found: list[_Line] = []
        for log in [] if broker.node is None else logs(broker.node):
            key = broker.node_id, log.stream
            if log.config.fsync is not Fsync.INTERVAL or not takes_appends(log):
                self._lines.pop(key, None)
                continue
            line = self._lines.get(key)
            if line is None or line.log is not log or line.incarnation != log.incarnation:
                line = self._lines[key] = _Line(log, log.incarnation)
            found.append(line)
        return found


def _overdue(line: _Line, waited: int) -> Violation:
    log = line.log
    what = f"{log.stream} ends at {log.next_offset}, and is asked to be synced up to {asked_to_be_synced(log)}"
    every_ms = log.config.fsync_interval_ns // 1_000_000
    return Violation(f"{what}: the next of it has waited for {waited // 1_000_000} ms, and may for {every_ms}")
