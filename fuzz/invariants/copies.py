"""Which batches each node has, stream by stream: kept up to date with what is written, cut and rewritten.

A copy stays as it was when its process ends, until the next one has opened the stream: that is what the disk had then.
Each batch is known by its first offset, and says where it lies, so that anybody can see whether it is durable.
"""

from bisect import bisect_right
from collections.abc import Iterable

from attrs import define, field

from goqueue.core.log.log import Log
from goqueue.core.log.segment import Segment
from goqueue.core.replicas.topic import Held
from goqueue.core.requests.messages import Side
from goqueue.fuzz.checkers.checker import Broker, Checker, Sight
from goqueue.fuzz.insight import batches, is_durable
from goqueue.storage.layout import LOG_ENDING

Kind = tuple[int, int, Side]
"""A topic by its id, a partition, and one of its streams."""
Content = tuple[int, int, int]
"""What a batch is known by: where it ends, the epoch it was written in, and its sum."""


@define(eq=False)
class Mark:
    """A batch in a log, and where it lies."""

    base: int
    content: Content
    file: str
    position: int
    size: int

    @property
    def next_offset(self) -> int:
        """Where the batch ends."""
        return self.content[0]

    @property
    def epoch(self) -> int:
        """The leader epoch that it was written in."""
        return self.content[1]


@define(eq=False)
class Copy:
    """One stream on one node."""

    kind: Kind
    stream: str
    broker: Broker
    log: Log
    marks: list[Mark] = field(factory=list)
    # Which change of the log was looked at last; from which batch on it is new, and whether all of it is.
    seen: tuple[object, ...] = ()
    fresh: int = 0
    is_anew: bool = True
    _bases: list[int] = field(factory=list)
    _places: dict[str, int] = field(factory=dict)
    # How many segments at the beginning are read to their ends.
    _segments_whole: int = 0

    @property
    def end(self) -> int:
        """Where the log ends, as far as it was written."""
        return self.marks[-1].next_offset if self.marks else self.log.segments[0].base

    @property
    def start(self) -> int:
        """Where readers begin."""
        return self.log.start_offset

    @property
    def compacts(self) -> bool:
        """Whether batches are rewritten or taken out."""
        return self.log.config.cleanup.compacts

    def at(self, offset: int) -> Mark | None:
        """The batch that holds an offset."""
        found = bisect_right(self._bases, offset) - 1
        mark = self.marks[found] if found >= 0 else None
        return mark if mark is not None and offset < mark.next_offset else None

    def since(self, offset: int) -> list[Mark]:
        """The batches from an offset on."""
        return self.marks[max(bisect_right(self._bases, offset) - 1, 0) :]

    def is_durable(self, mark: Mark) -> bool:
        """Whether a batch survives if the power goes at this moment."""
        return is_durable(self.broker.disk, f"{self.stream}/{mark.file}{LOG_ENDING}", mark.position, mark.size)

    def forget(self) -> None:
        """Everything is to be read anew."""
        self.marks, self._bases, self._places, self.seen = [], [], {}, ()
        self._segments_whole = 0
        self.fresh, self.is_anew = 0, True

    def read(self) -> bool:
        """Take note of what was written since; whether all is there that the log says was handed over."""
        before, is_whole = len(self.marks), True
        for segment in self._unread():
            position = self._places.get(segment.name, 0)
            for at, header in batches(self.broker.disk, self.stream, segment.name, position):
                if at >= segment.size:
                    break
                content = header.next_offset, header.leader_epoch, header.crc
                self.marks.append(Mark(header.base_offset, content, segment.name, at, header.size))
                self._bases.append(header.base_offset)
                position = at + header.size
            self._places[segment.name] = position
            is_whole = is_whole and position >= segment.size
        self.fresh = before
        return is_whole

    def _unread(self) -> list[Segment]:
        """The segments from the first one on that was not read to its end; all but the last stay as they are."""
        segments = self.log.segments
        at = self._segments_whole
        while at < len(segments) - 1 and self._places.get(segments[at].name, 0) >= segments[at].size:
            at += 1
        self._segments_whole = at
        return segments[at:]


class Copies(Checker):
    """All copies of all streams."""

    def __init__(self, sight: Sight) -> None:
        super().__init__(sight)
        self._of: dict[str, dict[str, Copy]] = {}
        # What has changed in the step that is looked at.
        self.changed: list[Copy] = []

    def copy(self, node_id: str, kind: Kind, stream: str) -> Copy | None:
        """What a node has of a stream."""
        copy = self._of.get(node_id, {}).get(stream)
        return copy if copy is not None and copy.kind == kind else None

    def stepped(self) -> None:
        """Look at the node of which something was heard."""
        self.changed = []
        if self.sight.is_cluster and self.sight.stirred is not None:
            self.changed = self.look(self.sight.stirred)

    def look(self, broker: Broker) -> list[Copy]:
        """Bring the copies of a node up to date; those in which something is new."""
        node, changed = broker.node, []
        if node is None:
            return []
        known, topics = self._of.setdefault(broker.node_id, {}), node.led.topics
        every: Iterable[Held] = (*node.led.streams.values(), *node.led.replicas.values())
        for held in every:
            log = held.log
            copy = known.get(log.stream)
            if copy is not None and copy.log is log and copy.seen == _signature(log):
                continue
            leader = topics.get(held.topic)
            if leader is None or log.unsound is not None:
                continue
            if copy is None or copy.log is not log:
                kind = leader.topic.topic_id, held.number, held.side
                copy = known[log.stream] = Copy(kind, log.stream, broker, log)
            elif copy.seen[:3] != _signature(log)[:3]:
                copy.forget()
            else:
                copy.is_anew = False
            if copy.read():
                copy.seen = _signature(log)
            changed.append(copy)
        return changed


def _signature(log: Log) -> tuple[object, ...]:
    """What is other whenever something was written, or, in the first three, cut, rewritten or removed."""
    segments = log._segments
    rewritten = tuple(one.name for one in segments.sealed if one.generation) if log.config.cleanup.compacts else ()
    return log.incarnation, rewritten, segments.first_base, log.next_offset, len(segments.sealed)
