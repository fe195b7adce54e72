"""Logs are equal up to the high watermark, on all that are in sync, under one leader after the other.

What a leader shows to readers is remembered batch by batch. A leader that comes after it has all of that, byte for
byte, from the moment on at which it leads; and once the world is at rest, so has everybody who is in sync.
"""

from attrs import define, field

from goqueue.core.log.log import Log
from goqueue.core.partition.partition import Partition
from goqueue.core.records.batch import Header
from goqueue.core.verbs import Side
from goqueue.fuzz.checkers.checker import Broker, Checker, Sight
from goqueue.fuzz.history import Violation
from goqueue.fuzz.insight import batches

Kind = tuple[int, int, Side]
"""A topic by its id, a partition, and one of its streams."""
Mark = tuple[int, int, int]
"""What a batch is known by: where it ends, the epoch it was written in, and its sum."""


@define
class _Shown:
    """What readers of a stream were shown: the batches by their first offsets, and where that ends."""

    marks: dict[int, Mark] = field(factory=dict)
    end: int = 0
    # Which process was looked at last, and in which file, from where on.
    who: tuple[str, int] = ("", 0)
    file: str = ""
    position: int = 0


class Replicas(Checker):
    """Remembers all that was shown, and holds logs against it."""

    def __init__(self, sight: Sight) -> None:
        super().__init__(sight)
        self._shown: dict[Kind, _Shown] = {}

    def lost(self, topic_id: int | None) -> None:
        """Where little is promised, what was shown may be gone."""
        for kind in [kind for kind in self._shown if topic_id is None or kind[0] == topic_id]:
            if not self.history.is_strong(kind[0]):
                del self._shown[kind]

    def stepped(self) -> None:
        """Take note of what is shown by the node of which something was heard."""
        broker = self.sight.stirred
        if not self.sight.is_cluster or broker is None or broker.node is None:
            return
        for topic_id, partition in self.sight.stirred_streams():
            if self.history.is_strong(topic_id) and partition.log.unsound is None:
                self._note(broker, (topic_id, partition.number, partition.side), partition)

    def _note(self, broker: Broker, kind: Kind, partition: Partition) -> None:
        shown = self._shown.setdefault(kind, _Shown())
        who = broker.node_id, broker.disk.life
        if shown.who != who:
            shown.who, shown.file, shown.position = who, "", 0
            self._compare(broker, kind, partition.log)
        if partition.high_watermark > shown.end:
            self._go_on(broker, shown, partition)

    def _go_on(self, broker: Broker, shown: _Shown, partition: Partition) -> None:
        """Add what is shown for the first time."""
        log = partition.log
        for segment in log.segments:
            if not segment.size or segment.next_offset <= shown.end or segment.base >= partition.high_watermark:
                continue
            if segment.name != shown.file:
                shown.file, shown.position = segment.name, 0
            for position, header in batches(broker.disk, log.stream, segment.name, shown.position):
                if header.next_offset > partition.high_watermark:
                    break
                shown.position = position + header.size
                if header.base_offset >= shown.end:
                    shown.marks[header.base_offset] = _mark(header)
                    shown.end = header.next_offset

    def _compare(self, broker: Broker, kind: Kind, log: Log) -> None:
        """Hold a log against what was shown, from where it begins."""
        shown = self._shown.get(kind)
        if shown is None or self.compacts(kind[0]):
            # What was compacted, here or where it was copied from, is not what was shown, batch by batch.
            return
        found: dict[int, Mark] = {}
        for segment in log.segments:
            if segment.size:
                for _, header in batches(broker.disk, log.stream, segment.name, 0):
                    found[header.base_offset] = _mark(header)
        for offset, mark in shown.marks.items():
            if offset >= log.start_offset and found.get(offset) != mark:
                what = f"{log.stream} of {broker.node_id} at offset {offset}"
                raise Violation(f"{what} is {found.get(offset)}, and {mark} was shown to readers, up to {shown.end}")

    def ended(self) -> None:
        """All that are in sync have all."""
        if not self.sight.is_cluster:
            return
        for broker in self.sight.processes:
            if broker.node is None:
                continue
            for leader in broker.node.led.topics.values():
                for held in leader.all_held():
                    kind = leader.topic.topic_id, held.number, held.side
                    placement = leader.placement(held.number)
                    shown = self._shown.get(kind)
                    if placement is not None and broker.node_id in placement.isr and shown is not None:
                        self._compare(broker, kind, held.log)


def _mark(header: Header) -> Mark:
    return header.next_offset, header.leader_epoch, header.crc
