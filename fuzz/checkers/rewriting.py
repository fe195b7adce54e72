"""What a compaction writes is what a plain model makes of the same batches: no record more, and none less.

Of each key the last record stays, and those of the others go, save where they lie beyond what this compaction looked
at. Records without a key stay. A removal stays until the time written into its batch, and goes with the first
compaction after that; it is written by the first compaction that saw it. The last batch of a producer that numbers its
records stays, if need be empty.
"""

from attrs import define

from goqueue.core.log.compaction import CompactionPlan
from goqueue.core.records.batch import Header
from goqueue.core.records.record import iterate
from goqueue.fuzz.checkers.checker import Broker, Checker
from goqueue.fuzz.history import Violation
from goqueue.fuzz.insight import whole_batches
from goqueue.storage.compacting import Compacted
from goqueue.storage.layout import LOG_ENDING
from goqueue.storage.node_disk import Compaction, Work

Content = tuple[int, bytes | None, bytes | None, int, object]
"""A record: its offset, key, value, timestamp and headers."""


@define
class Batch:
    """What there is to say of a batch."""

    base: int
    next_offset: int
    producer: tuple[int, int, int]
    horizon_ms: int | None
    records: list[Content]


class Rewriting(Checker):
    """Compacts once more what a compaction has read, and compares."""

    def worked(self, broker: Broker, work: Work) -> None:
        """Judge a compaction before its log hears of it."""
        if not isinstance(work, Compaction) or work.result is None or broker.node is None:
            return
        _, name, number = work.stream.split("/")[:3]
        topic = broker.node.led.topics.get(name)
        if topic is None or (topic.topic.topic_id, int(number)) in self.history.rotten:
            return
        plan, result = work.wanted.plan, work.result
        before = _read(broker, work.stream, [segment.name for segment in plan.inputs])
        expected = model(plan, result.end_offset, before)
        found = _read(broker, work.stream, _written(result))
        for one, other in zip(expected, found, strict=False):
            if one != other:
                raise Violation(f"compaction of {work.stream} at {plan.wall_ms} left {other}, and not {one}"[:1500])
        if len(expected) != len(found):
            rest = (expected if len(expected) > len(found) else found)[min(len(expected), len(found))]
            what = "took" if len(expected) > len(found) else "left"
            raise Violation(f"compaction of {work.stream} at {plan.wall_ms} {what} {rest}"[:1500])


def model(plan: CompactionPlan, end_offset: int, batches: list[Batch]) -> list[Batch]:
    """What is left of batches when they are compacted."""
    last: dict[bytes, int] = {}
    last_of_producer: dict[int, int] = {}
    for batch in batches:
        if batch.producer[0] >= 0:
            last_of_producer[batch.producer[0]] = batch.base
        if batch.base < end_offset:
            last.update({record[1]: record[0] for record in batch.records if record[1] is not None})
    left: list[Batch] = []
    for batch in batches:
        if batch.base >= end_offset:
            left.append(batch)
            continue
        is_past = batch.horizon_ms is not None and batch.horizon_ms <= plan.wall_ms
        kept = [one for one in batch.records if one[1] is None or (last[one[1]] == one[0] and not _goes(one, is_past))]
        if not kept and last_of_producer.get(batch.producer[0]) != batch.base:
            continue
        horizon_ms = batch.horizon_ms
        if horizon_ms is None and any(one[1] is not None and one[2] is None for one in kept):
            horizon_ms = plan.wall_ms + plan.tombstone_retention_ms
        left.append(Batch(batch.base, batch.next_offset, batch.producer, horizon_ms, kept))
    return left


def _goes(record: Content, is_past: bool) -> bool:
    """Whether a removal need not be told of any more."""
    return record[2] is None and is_past


def _written(result: Compacted) -> list[str]:
    return [output.segment.name for output in result.outputs if output.segment is not None]


def _read(broker: Broker, stream: str, names: list[str]) -> list[Batch]:
    found: list[Batch] = []
    for name in names:
        content = broker.disk.seen_bytes(f"{stream}/{name}{LOG_ENDING}")
        for at, header in whole_batches(content):
            found.append(_batch(header, content[at : at + header.size]))
    return found


def _batch(header: Header, content: bytes) -> Batch:
    records: list[Content] = [
        (
            one.offset,
            None if one.key is None else bytes(one.key),
            None if one.value is None else bytes(one.value),
            one.timestamp,
            tuple((name, None if value is None else bytes(value)) for name, value in one.headers),
        )
        for one in iterate(content)
    ]
    producer = header.producer_id, header.producer_epoch, header.base_sequence
    return Batch(header.base_offset, header.next_offset, producer, header.horizon_ms, records)
