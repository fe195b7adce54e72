"""What a node knows of partitions that others lead: where they begin and end, as their leaders last told.

Every leader tells all others of its partitions that have changed, twice a second, and of all of them some time after a
change, so that a letter that was lost is made good. What is known here is for people and for estimates (lag, sizes,
where a reset may go): nothing that has to be right rests on it.

Invariant: of two tellings the one of the later leader stands, and of one leader the one that came last.
"""

from collections.abc import Iterable

from attrs import define, field

from goqueue.core.errors import ProtocolError
from goqueue.core.partition.partition import Partition
from goqueue.core.ready import Letter
from goqueue.core.requests.messages import Side

_PAUSE_NS = 500_000_000
# So long after a change all partitions are told of once more, whatever else changes in between.
_AFTERWARDS_NS = 10_000_000_000
_PARTS_MAX = 2000
# More partitions than there are; what is not known here is asked of leaders.
_KNOWN_MAX = 1_000_000

_OFFSET_MAX = 1 << 62

Place = tuple[int, int]


@define
class LedEnd:
    """One partition as its leader knows it."""

    topic_id: int
    partition: int
    leader_epoch: int
    start_offset: int
    high_watermark: int
    end_offset: int
    size_bytes: int


@define
class Ends:
    """How far some partitions reach that the sender leads."""

    parts: list[LedEnd]


@define
class RemoteOffsets:
    """The ends of partitions that are led elsewhere, and what is to be told of those led here."""

    _known: dict[Place, LedEnd] = field(factory=dict)
    # Led here and changed since the last telling.
    _touched: dict[str, tuple[int, Partition]] = field(factory=dict)
    _due: int | None = None
    _all_due: int | None = None

    def heard(self, ends: Ends) -> None:
        """Another leader has told. Raises ProtocolError for ends that no log has."""
        for end in ends.parts:
            told = end.start_offset, end.high_watermark, end.end_offset, end.size_bytes
            if not all(0 <= one <= _OFFSET_MAX for one in told):
                raise ProtocolError(f"partition {end.partition} of topic {end.topic_id} is told to end nowhere")
        for end in ends.parts:
            known = self._known.get((end.topic_id, end.partition))
            if known is None and len(self._known) >= _KNOWN_MAX:
                continue
            if known is None or known.leader_epoch <= end.leader_epoch:
                self._known[end.topic_id, end.partition] = end

    def end(self, topic_id: int, partition: int) -> LedEnd | None:
        """What is known of a partition."""
        return self._known.get((topic_id, partition))

    def forget_topics(self, topic_ids: Iterable[int]) -> None:
        """Only these topics are left."""
        left = {*topic_ids}
        self._known = {place: end for place, end in self._known.items() if place[0] in left}

    def touch(self, now: int, topic_id: int, partition: Partition) -> None:
        """A partition that is led here may have changed."""
        if partition.side is Side.DATA:
            self._touched[partition.log.stream] = topic_id, partition
            if self._due is None:
                self._due = now + _PAUSE_NS

    def tell_all(self, now: int) -> None:
        """Somebody has come who knows nothing."""
        self._all_due = now

    def deadline(self) -> int | None:
        """When `tell` has something to say."""
        if self._due is None or self._all_due is None:
            return self._all_due if self._due is None else self._due
        return min(self._due, self._all_due)

    def tell(self, now: int, others: list[str], led: Iterable[tuple[int, Partition]]) -> list[Letter]:
        """What is to be told to all others by now; `led` is everything that is led here."""
        parts: list[LedEnd] = []
        if self._all_due is not None and now >= self._all_due:
            self._all_due = None
            parts = [_end(*one) for one in led if one[1].side is Side.DATA and one[1].is_settled]
        elif self._due is not None and now >= self._due:
            parts = [_end(*one) for one in self._touched.values() if one[1].is_settled]
            if self._all_due is None:
                self._all_due = now + _AFTERWARDS_NS
        else:
            return []
        self._touched.clear()
        self._due = None
        chunks = [parts[at : at + _PARTS_MAX] for at in range(0, len(parts), _PARTS_MAX)]
        return [Letter(other, Ends(chunk)) for other in others for chunk in chunks]


def _end(topic_id: int, partition: Partition) -> LedEnd:
    log, shown = partition.log, partition.high_watermark
    return LedEnd(
        topic_id,
        partition.number,
        partition.leader_epoch,
        log.start_offset,
        shown,
        log.next_offset,
        log.size_bytes,
    )
