"""How the index of a partition's lanes is filled: from each batch as it is appended, and from the log for those before.

The log is read when somebody polls and not before, from where the queues that there are stand up to where appends began
to be noted. Until that is done nothing beyond is delivered, and nothing at all until so much is known that precedence
means something.

Invariant: the index knows every batch up to `upto`; what was appended since the scan began is in `_tail` until it ends.
"""

from collections.abc import Iterable

from attrs import define, field

from goqueue.core.partition.lanes import LaneIndex
from goqueue.core.partition.partition import Partition
from goqueue.core.queues.errands import Errands, Slot, Streamed, Turn
from goqueue.core.requests.messages import Fetch, Fetched
from goqueue.core.requests.replies import Reply

_READ_BYTES = 4 << 20
# With so much known there is something to choose from.
_AHEAD_BYTES = 64 << 20
_PAUSE_NS = 1_000_000_000


@define(eq=False)
class LaneFeed:
    """The index of one partition, and what is missing in it."""

    _book: Streamed
    _errands: Errands
    _turn: Turn
    index: LaneIndex = field(factory=LaneIndex)
    # What is appended while the log is being read, and from where on; None when nothing is missing, or noted.
    _tail: LaneIndex | None = None
    _tail_begin: int = 0
    # Whether appends are noted.
    is_attached: bool = False
    _is_wanted: bool = False
    # What could not be read is read again when somebody polls after this time.
    retry_at: int = 0
    _reading: int = 0
    _scanned_bytes: int = 0

    @property
    def is_complete(self) -> bool:
        """Whether everything is known."""
        return self.is_attached and self._tail is None

    @property
    def is_reading(self) -> bool:
        """Whether more will be known soon."""
        return self._reading != 0

    def attach(self, partition: Partition, lowest: int) -> None:
        """Note what is appended from here on; all queues stand at an offset or beyond it."""
        self._reading, self.is_attached = 0, True
        self.index.skip_to(lowest)
        self._tail_begin = partition.log.next_offset
        self._tail = partition.lanes = LaneIndex(self._tail_begin)
        self._tail.flow = self.index.flow
        self.step(partition)

    def want(self, now: int, partition: Partition) -> bool:
        """Somebody polls, and what is missing is to be read; whether enough of it is known."""
        self._is_wanted = now >= self.retry_at
        self.step(partition)
        is_all = self.is_complete or self.index.upto >= partition.high_watermark
        return is_all or self._scanned_bytes >= _AHEAD_BYTES

    def step(self, partition: Partition) -> None:
        """Read on, or be complete."""
        tail = self._tail
        if tail is None or self._reading:
            return
        self.index.skip_to(min(partition.log.start_offset, self._tail_begin))
        if self.index.upto >= self._tail_begin:
            self._finish(tail)
            partition.lanes = self.index
        elif self._is_wanted and self.index.upto < partition.high_watermark:
            slot: Slot = self._book.slot
            self._reading = self._errands.ask(self, Fetch(*slot, self.index.upto, _READ_BYTES, looks=True))

    def answered(self, now: int, number: int, reply: Reply) -> None:
        """What a read has brought."""
        if number != self._reading:
            return
        self._reading = 0
        if isinstance(reply, Fetched) and reply.batches:
            self._scanned_bytes += len(reply.batches)
            self.index.add_batches(reply.batches)
            self._pass_over(reply.next_offset)
        else:
            self._is_wanted, self.retry_at = False, now + _PAUSE_NS
        self._turn.stir(self._book)

    def trim(self, reaches: Iterable[int]) -> None:
        """Forget what no queue asks for any more."""
        if len(self.index):
            self.index.trim(min(reaches, default=0))

    def _pass_over(self, offset: int) -> None:
        """Take everything before an offset for known."""
        if offset > self.index.upto:
            self.index.add_run(self.index.upto, offset, 0)

    def _finish(self, tail: LaneIndex) -> None:
        """Go on with what was appended meanwhile."""
        for start, end, lane in tail.runs(self._tail_begin, tail.upto):
            self._pass_over(start)
            self.index.add_run(start, end, lane)
        self._pass_over(tail.upto)
        self._tail = None
