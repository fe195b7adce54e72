"""Summaries of a schedule: when to write one, where to look for one, and what may be removed behind it.

One is written when so much was added since the last that reading it again would take long beside reading a summary. It
begins a segment, so that a start finds it without reading what lies before; and it is written part by part, one a turn,
since a million pending messages would hold up everybody for a second. When the last part is durable, segments may go in
which nothing is pending any more.

A message that is due in ten years holds what was published after it as well: segments go from the first one on, and
none is rewritten.
"""

from array import array
from collections.abc import Sequence

from attrs import define, field

from goqueue.core.delays.errands import Errands
from goqueue.core.delays.records import ControlRecord, SummaryBegun, SummaryPart
from goqueue.core.delays.schedule import Schedule
from goqueue.core.log.thresholds import Thresholds
from goqueue.core.partition.partition import Partition
from goqueue.core.requests.internal import RollSide, TrimSide
from goqueue.core.requests.messages import Side


def candidates(stream: Partition) -> list[int]:
    """Return the offsets at which a summary may begin that can be read, in ascending order.

    The log of a replica has other segments than that of the leader that it was copied from: it may begin within one.
    And a segment may begin with what the other replicas do not have yet: whoever reads there finds nothing.
    """
    log, end = stream.log, stream.high_watermark
    return [segment.base for segment in log.segments if segment.size and log.start_offset <= segment.base < end]


@define(eq=False)
class Summaries:
    """The summary that is being written, if one is."""

    _errands: Errands
    _schedule: Schedule
    _thresholds: Thresholds
    # What came into the stream since the last summary began, but for summaries.
    added_bytes: int = 0
    _number: int = 0
    _replay_from: int = 0
    _rest: Sequence[int] = field(factory=list)
    _lowest: int = 0
    # The count of batches that are to be durable before the stream is trimmed; 0 while nothing waits for that.
    _trim_after: int = 0

    @property
    def is_due(self) -> bool:
        """Whether to begin one."""
        thresholds = self._thresholds
        is_idle = not self._rest and not self._trim_after
        least = max(thresholds.summary_bytes, thresholds.summary_bytes_a_message * len(self._schedule))
        return is_idle and self.added_bytes >= least

    def count(self, record: ControlRecord, size: int) -> None:
        """So many bytes of the stream are a record."""
        if not isinstance(record, SummaryBegun | SummaryPart):
            self.added_bytes += size

    def begin(self, stream: Partition, replay_from: int) -> SummaryBegun:
        """The begin of a summary, in a segment of its own; all below `replay_from` has been read."""
        topic, number = self._errands.slot
        self._errands.ask(RollSide(topic, number, Side.SCHEDULE))
        # An array, as a list of so many numbers would be looked through by every full collection of garbage.
        self._rest = array("q", self._schedule.offsets())
        self._number, self._replay_from, self.added_bytes = stream.log.next_offset, replay_from, 0
        moving = min((move.offset for move in self._schedule.moves), default=replay_from)
        self._lowest = min(moving, self._rest[0] if self._rest else replay_from)
        parts = -(-len(self._rest) // self._thresholds.summary_part_messages)
        return self._schedule.plan_summary(self._number, replay_from, parts)

    @property
    def is_under_way(self) -> bool:
        """Whether there are parts to be written."""
        return bool(self._rest)

    def next_part(self) -> SummaryPart:
        """The next part."""
        count = self._thresholds.summary_part_messages
        offsets, self._rest = self._rest[:count], self._rest[count:]
        return self._schedule.plan_part(self._number, offsets)

    def written(self, appended: int) -> None:
        """The summary is whole when so many batches are durable."""
        self._trim_after = appended

    def trim(self, durable: int) -> None:
        """Let go of what lies before everything that is pending and before the summary, once that is durable."""
        if self._trim_after and durable >= self._trim_after:
            self._trim_after = 0
            topic, number = self._errands.slot
            self._errands.ask(TrimSide(topic, number, Side.SCHEDULE, self._lowest))
