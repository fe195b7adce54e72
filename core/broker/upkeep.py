"""What time alone brings about for partitions: an interval's sync, retention, compaction.

Each partition has one alarm for its log and, while its topic compacts, one for the next look at what is worth
compacting. A turn costs what is due, not what exists. One compaction runs at a time: it reads and writes whole
segments, and several at once would only take the disk from everybody else.

Alarms that stem from calendar time are set by the clock as it stands; when the clock is moved by more than a little,
all of them are set anew.
"""

from collections.abc import Callable, Iterable

from attrs import define, field

from goqueue.core.log.compaction import CompactionOutput, CompactionPlan
from goqueue.core.ready import Compact
from goqueue.core.replicas.topic import Held
from goqueue.core.timers.alarms import Alarms

# A compaction that failed, for the disk's sake or a damaged batch's, would most likely fail at once again.
_FAILURE_PAUSE_NS = 600_000_000_000


@define
class Upkeep:
    """The alarms of all partitions of one node."""

    # What is open under a stream's name; None if there is nothing.
    _held: Callable[[str], Held | None]
    _compaction_pause_ns: int
    wanted: list[Compact] = field(factory=list)
    _logs: Alarms[str] = field(factory=Alarms)
    _compactions: Alarms[str] = field(factory=Alarms)
    _running: CompactionPlan | None = None

    def watch(self, now: int, partition: Held) -> None:
        """Set the alarms of a partition by how it is."""
        log = partition.log
        due = log.deadline()
        if due is None:
            self._logs.drop(log.stream)
        else:
            self._logs.set(log.stream, due)
        if log.config.cleanup.compacts and log.stream not in self._compactions:
            self._compactions.set(log.stream, now + self._compaction_pause_ns)

    def watch_all(self, now: int, partitions: Iterable[Held]) -> None:
        """Set the alarms of all partitions anew, as after a jump of the wall clock."""
        for partition in partitions:
            self.watch(now, partition)

    def forget(self, partition: Held) -> None:
        """A partition is gone."""
        self._logs.drop(partition.log.stream)
        self._compactions.drop(partition.log.stream)

    def deadline(self) -> int | None:
        """When `wake` has something to do."""
        logs, compactions = self._logs.deadline(), self._compactions.deadline()
        if logs is None or compactions is None:
            return compactions if logs is None else logs
        return min(logs, compactions)

    def wake(self, now: int) -> list[Held]:
        """Do what is due; the partitions whose logs have something to be taken."""
        for stream in self._compactions.due(now):
            partition = self._held(stream)
            if partition is not None and partition.log.config.cleanup.compacts:
                self._look(now, partition)
        woken: list[Held] = []
        for stream in self._logs.due(now):
            partition = self._held(stream)
            if partition is not None:
                partition.log.wake(now)
                self.watch(now, partition)
                woken.append(partition)
        return woken

    # --- compaction

    def _look(self, now: int, partition: Held) -> None:
        log = partition.log
        self._compactions.set(log.stream, now + self._compaction_pause_ns)
        if self._running is None:
            self._running = log.compaction(now, partition.high_watermark)
            if self._running is not None:
                self.wanted.append(Compact(self._running, log.config))

    def compacted(self, now: int, end_offset: int, outputs: list[CompactionOutput]) -> bool:
        """The compaction that was asked for is done; False when its files are of no use any more."""
        assert self._running is not None
        plan, self._running = self._running, None
        partition = self._held(plan.stream)
        if partition is None or not partition.log.compacted(now, plan, end_offset, outputs):
            return False
        # There may be more: a run ends where its memory does.
        self._compactions.set(plan.stream, now)
        return True

    def compaction_failed(self, now: int) -> None:
        """The compaction that was asked for could not be carried out; nothing has changed."""
        assert self._running is not None
        stream, self._running = self._running.stream, None
        if self._held(stream) is not None:
            self._compactions.set(stream, now + _FAILURE_PAUSE_NS)

    def check(self) -> None:
        """Assert the invariants."""
        self._logs.check()
        self._compactions.check()
