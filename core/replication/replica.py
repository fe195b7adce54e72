"""A stream as its follower sees it: what the leader sends goes into the log, and nothing else does.

The log of a follower is made to be a beginning of its leader's: where they differ, the follower cuts its own. What is
known of the leader's high watermark and start comes with the batches. Nobody publishes here.

Invariants: the high watermark is at most the log's end; nothing is appended while a cut is under way.
"""

from goqueue.core.clock import Clock
from goqueue.core.errors import BatchError
from goqueue.core.log.effects import Buffer, Effect, SyncToken
from goqueue.core.log.log import Log, LogState
from goqueue.core.partition.history import History
from goqueue.core.records.batch import read_header, split
from goqueue.core.requests.messages import Side


class Replica:
    """The follower's side of one stream of a partition; nobody may lead it, and then it rests."""

    def __init__(self, topic: str, number: int, log: Log, side: Side = Side.DATA) -> None:
        self.topic = topic
        self.number = number
        self.side = side
        self.log = log
        # What the leader has said so far is lost with the process: at first, nothing is known to be acknowledged.
        self.high_watermark = log.start_offset
        self.taken_offset = log.next_offset
        self.written_offset = log.next_offset
        self.history = History()
        log.held_from = self.high_watermark
        # Where readers begin by the leader's word, and where its log ends.
        self.leader_start = 0
        self.leader_end = 0
        # The end of what was confirmed when the disk failed, until recovery says what is left, and of what it has lost.
        self.failed_offset: int | None = None
        self._lost_below = 0

    # --- what the leader sends

    def replicate(self, now: int, runs: list[Buffer], leader_epoch: int) -> int:
        """Append what comes next, as far as it does; answers how many batches. Raises BatchError, LogUnsound.

        A run may begin with batches that are here already. None is of a later epoch than the leader's: who leads next
        could append nothing behind it.
        """
        count = 0
        log = self.log
        for run in runs:
            for batch in split(run):
                header = read_header(batch)
                if header.next_offset > log.next_offset:
                    if header.leader_epoch > leader_epoch:
                        raise BatchError("epochs", f"a batch of epoch {header.leader_epoch} came in {leader_epoch}")
                    log.replicate(now, batch)
                    count += 1
        return count

    def heard(self, now: int, high_watermark: int, start_offset: int, end_offset: int) -> bool:
        """How far all are and where the log begins, by the leader's word; True when the log has something to do."""
        self.leader_start, self.leader_end = start_offset, end_offset
        self.high_watermark = max(self.high_watermark, min(high_watermark, self.log.next_offset))
        self.log.held_from = self.high_watermark
        if self.log.unsound is not None or not self.log.start_offset < start_offset <= self.log.next_offset:
            return False
        self.log.delete_before(now, start_offset)
        self.high_watermark = max(self.high_watermark, start_offset)
        return True

    def cut(self, now: int, offset: int) -> None:
        """Take back everything from `offset` on. Raises LogUnsound."""
        offset = max(offset, self.log.start_offset)
        self.log.truncate(now, offset)
        self._lost_below = min(self._lost_below, offset)
        self.high_watermark = min(self.high_watermark, offset)
        self.log.held_from = self.high_watermark
        self.history.cut(offset)

    def restart(self, now: int, offset: int) -> None:
        """Forget everything and begin anew at `offset`. Raises LogUnsound."""
        self.log.restart(now, offset)
        self._lost_below = min(self._lost_below, offset)
        self.high_watermark = self.log.held_from = offset
        self.history = History()

    @property
    def reach(self) -> int:
        """The offset that is wanted next: an empty log that begins before its leader's wants what the leader has."""
        log = self.log
        return max(log.next_offset, self.leader_start) if log.epochs.latest < 0 else log.next_offset

    @property
    def kept_offset(self) -> int:
        """The end of what is as durable here as the topic says, where there is anything before it."""
        log = self.log
        return self.reach if log.epochs.latest < 0 else min(log.acknowledged_offset, self.written_offset)

    @property
    def has_lost(self) -> bool:
        """Whether the disk has lost what this replica confirmed, and the leader has not sent it again."""
        return self.log.next_offset < self._lost_below

    # --- the disk

    def take(self, now: int) -> list[Effect]:
        """Everything to be done on the disk."""
        if now >= self.history.due and self.log.next_offset > self.taken_offset:
            self.history.note(now, self.taken_offset, self.log.start_offset)
        self.taken_offset = self.log.next_offset
        return self.log.take(now)

    def written(self) -> None:
        """All that was taken is in the hands of the operating system."""
        self.written_offset = self.taken_offset

    def synced(self, now: int, token: SyncToken) -> None:
        """The disk kept a promise."""
        self.log.synced(now, token)

    def disk_failed(self, now: int, why: str) -> None:
        """The disk refused or lost a write: nothing more is taken until `reopened`."""
        if self.log.unsound is None:
            self.failed_offset = self.kept_offset
        self.log.disk_failed(now, why)

    def recovery_failed(self, why: str) -> None:
        """What a failed disk left cannot be taken up again yet, or ever: that is the reason from here on."""
        assert self.log.unsound is not None
        self.log.unsound = why

    def reopened(self, now: int, state: LogState) -> None:
        """Go on from what recovery found, after a failure or a cut."""
        self.log.reopened(now, state)
        if self.failed_offset is not None:
            self._lost_below = max(self._lost_below, self.failed_offset)
        self.failed_offset = None
        self.history.cut(self.log.next_offset)
        self.taken_offset = self.written_offset = self.log.next_offset
        self.high_watermark = min(max(self.high_watermark, self.log.start_offset), self.log.next_offset)

    def recall(self, now: int, clock: Clock, state: LogState) -> None:
        """Begin with what the log tells of when its messages came."""
        self.history.recall(now, clock.wall_ms(now), state)

    def close(self, now: int) -> None:
        """Leave everything so that the next start needs to read nothing back; `take` what that means."""
        self.log.close(now)

    def check(self) -> None:
        """Assert the invariants."""
        self.log.check()
        self.history.check()
        assert self.high_watermark <= self.log.next_offset or self.log.unsound is not None
