"""Retention takes whole segments from the beginning, each when its age or the size of the log lets it go.

Not before: a segment whose newest record is younger than `retention_hours` may go only if at least `retention_bytes`
remain without it. And not never: once nothing fails any more no sealed segment is too old, nor could be spared for its
size. Compacted topics are left to `rewriting.py`: there segments go for other reasons as well.
"""

from goqueue.core.log.config import UNLIMITED
from goqueue.core.log.segment import NO_TIMESTAMP, Segment
from goqueue.core.partition.partition import Partition
from goqueue.fuzz.checkers.checker import Checker, Sight
from goqueue.fuzz.history import Place, Violation

# A log looks again after a second at what it had to keep for replicas, and a clock may be a little ahead.
_SLACK_MS = 3_000


class Retention(Checker):
    """Remembers the segments of every partition from step to step."""

    def __init__(self, sight: Sight) -> None:
        super().__init__(sight)
        self._seen: dict[Place, tuple[Partition, int, list[Segment]]] = {}

    def stepped(self) -> None:
        """Judge what went since the last step."""
        for topic_id, partition in self.sight.stirred_partitions():
            terms = self.history.terms.get(topic_id)
            if terms is None or not terms.retains or terms.compacts:
                continue
            log, place = partition.log, (topic_id, partition.number)
            seen = self._seen.get(place)
            if seen is not None and seen[:2] == (partition, log.incarnation):
                self._judge_gone(partition, seen[2])
            self._seen[place] = partition, log.incarnation, log.segments

    def ended(self) -> None:
        """Nothing is left that was to go."""
        for topic_id, partition in self.sight.partitions():
            terms = self.history.terms.get(topic_id)
            is_sound = partition.log.unsound is None and (topic_id, partition.number) not in self.history.rotten
            if terms is not None and terms.retains and not terms.compacts and is_sound:
                self._judge_left(partition)

    def _judge_left(self, partition: Partition) -> None:
        """Judge the oldest segment: those behind it go after it."""
        log, config, now_ms = partition.log, partition.log.config, self.sight.least_ms
        *sealed, _ = log.segments
        if not sealed:
            return
        oldest = sealed[0]
        newest = oldest.created_ms if oldest.max_timestamp == NO_TIMESTAMP else oldest.max_timestamp
        what = f"segment {oldest.name} of {log.stream}, its newest record of {newest}"
        if config.retention_ms != UNLIMITED and newest + config.retention_ms + _SLACK_MS <= now_ms:
            raise Violation(f"{what}, is there at {now_ms}, and kept for {config.retention_ms} ms")
        # What the active segment holds may have come since the log looked last: it looks when one is sealed.
        left = sum(segment.size for segment in sealed[1:])
        if config.retention_bytes != UNLIMITED and left >= config.retention_bytes and oldest.size:
            raise Violation(f"{what}, is there, and {left} bytes without it")

    def _judge_gone(self, partition: Partition, seen: list[Segment]) -> None:
        """Judge each by what was left when it went: they go from the oldest on, and each for a reason of its own."""
        start, left = partition.log.segments[0].base, partition.log.size_bytes
        if seen[-1].next_offset < start:
            # Some were begun and went within one step: nobody knows how much they held.
            return
        for segment in reversed(seen):
            if segment.next_offset <= start and segment.size:
                self._judge(partition, segment, left)
                left += segment.size

    def _judge(self, partition: Partition, gone: Segment, left: int) -> None:
        log, config = partition.log, partition.log.config
        newest = gone.created_ms if gone.max_timestamp == NO_TIMESTAMP else gone.max_timestamp
        is_old = config.retention_ms != UNLIMITED and newest + config.retention_ms <= self.sight.wall_ms
        is_surplus = config.retention_bytes != UNLIMITED and left >= config.retention_bytes
        if not is_old and not is_surplus:
            what = f"segment {gone.name} of {log.stream}, its newest record of {newest}"
            raise Violation(f"{what}, is gone at {self.sight.wall_ms}, and {left} bytes remain")
