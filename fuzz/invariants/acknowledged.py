"""How far readers of each stream were shown it, and what lies there: nobody who has that last batch lacks another.

A high watermark that a leader has, and is sure of, says that all below it is acknowledged. What lies there is taken
from the leader's log at that moment, batch by batch. As any two logs with a batch in common are the same up to it
(`lineage.py`), the last of these batches stands for all. Logs that are compacted are compared by their ends alone.
"""

from attrs import define

from goqueue.core.partition.partition import Partition
from goqueue.fuzz.checkers.checker import Broker, Sight
from goqueue.fuzz.history import Violation
from goqueue.fuzz.invariants.copies import Copies, Copy, Kind, Mark
from goqueue.fuzz.invariants.invariant import OfCopies


@define
class Reach:
    """How far a stream is acknowledged, and the last batch of that."""

    end: int = 0
    last: Mark | None = None

    def lacking(self, copy: Copy | None) -> str:
        """What somebody who should have all of that lacks; empty where it has it."""
        if self.last is None or (copy is not None and copy.start >= self.end):
            return ""
        if copy is None:
            return "nothing at all"
        if copy.end < self.end:
            return f"a log that ends at {copy.end}"
        found = copy.at(self.last.base)
        if copy.compacts or (found is not None and found.content == self.last.content):
            return ""
        return f"{None if found is None else found.content} at {self.last.base}, where {self.last.content} was shown"


class Acknowledged(OfCopies):
    """Remembers how far each stream is acknowledged."""

    def __init__(self, sight: Sight, copies: Copies) -> None:
        super().__init__(sight, copies)
        self._reaches: dict[Kind, Reach] = {}
        # The streams of which more was shown in this step.
        self.advanced: list[tuple[Kind, Partition]] = []

    def reach(self, kind: Kind) -> Reach:
        """How far a stream is acknowledged."""
        return self._reaches.get(kind) or Reach()

    def lost(self, topic_id: int | None) -> None:
        """Where little is promised, what was shown may be gone."""
        for kind in [kind for kind in self._reaches if topic_id is None or kind[0] == topic_id]:
            if not self.history.is_strong(kind[0]):
                del self._reaches[kind]

    def stepped(self) -> None:
        """Take note of what is shown by the node of which something was heard."""
        self.advanced = []
        broker = self.sight.stirred
        if self.sight.is_cluster and broker is not None:
            self.advanced = self.note(broker, self.sight.stirred_streams())

    def note(self, broker: Broker, streams: list[tuple[int, Partition]]) -> list[tuple[Kind, Partition]]:
        """Take note of what a node shows of what it leads; where that is more than before."""
        advanced: list[tuple[Kind, Partition]] = []
        for topic_id, partition in streams:
            kind = topic_id, partition.number, partition.side
            reach = self._reaches.get(kind)
            if reach is None:
                reach = self._reaches[kind] = Reach()
            if partition.high_watermark > reach.end and partition.log.unsound is None:
                self._advance(broker, kind, partition, reach)
                advanced.append((kind, partition))
        return advanced

    def _advance(self, broker: Broker, kind: Kind, partition: Partition, reach: Reach) -> None:
        stream, end = partition.log.stream, partition.high_watermark
        copy = self.copies.copy(broker.node_id, kind, stream)
        mark = None if copy is None else copy.at(end - 1)
        if copy is not None and mark is None and copy.compacts:
            mark = copy.marks[-1] if copy.marks and copy.end <= end else reach.last
        if copy is None or (copy.end < end and not copy.compacts) or (mark is None and copy.start < end):
            has = "nothing" if copy is None else f"{copy.start} to {copy.end}"
            raise Violation(f"{broker.node_id} shows {stream} up to {end}, and has {has}")
        if mark is not None and mark.next_offset > end and not copy.compacts:
            raise Violation(f"{broker.node_id} shows {stream} up to {end}, amid {mark.base} to {mark.next_offset}")
        reach.end, reach.last = end, mark
