"""A keyed log in memory, with what a compaction of it may and may not change: the model for the tests of compaction.

The history keeps every record as it was first written and what became of its transaction. `compact` runs one compaction
over the sealed segments, as the storage would, and then holds the result against all that was ever written.
"""

from collections.abc import Iterable, Iterator
from itertools import pairwise

from attrs import define, evolve, field

from goqueue.core.log.compaction import CompactionPlan, Compactor, plan_compaction
from goqueue.core.log.config import Cleanup, LogConfig
from goqueue.core.log.segment import Segment
from goqueue.core.records.batch import Codec, read_header, stamp
from goqueue.core.records.build import Entry, encode
from goqueue.core.records.control import ControlMarker, encode_marker
from goqueue.core.records.record import Record, iterate, validate_records
from tests.core.log.batches import STREAM, WALL_MS
from tests.core.records.samples import plain

Content = tuple[bytes | None, bytes | None]
"""Key and value."""


def records_of(batches: list[bytes]) -> Iterator[tuple[int, Record]]:
    """Every record that is no marker, next to the base offset of its batch."""
    for stored in batches:
        header = read_header(stored)
        if not header.is_control:
            for record in iterate(stored):
                yield header.base_offset, plain(record)


def last_batches(batches: list[bytes]) -> dict[int, tuple[int, int, int]]:
    """What a broker restores of each producer: its epoch, its last sequence, and the offset that follows."""
    headers = [header for header in map(read_header, batches) if header.has_producer and not header.is_control]
    return {
        header.producer_id: (
            header.producer_epoch,
            header.base_sequence + header.last_offset_delta,
            header.next_offset,
        )
        for header in headers
    }


@define
class KeyedHistory:
    """All that was ever written, and what of it is left."""

    tombstone_retention_ms: int = 100
    wall_ms: int = WALL_MS
    next_offset: int = 0
    cleaned_offset: int = 0
    segments: list[tuple[Segment, list[bytes]]] = field(factory=list)
    written: list[bytes] = field(factory=list)
    committed: dict[int, Record] = field(factory=dict)
    aborted: set[int] = field(factory=set)
    open: dict[int, list[Record]] = field(factory=dict)
    sequences: dict[int, int] = field(factory=dict)
    # When a compaction first judged a tombstone.
    seen_ms: dict[int, int] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self.segments.append((Segment(self.next_offset, 0, 0, self.next_offset, -1, self.wall_ms), []))

    # what happens to a log

    def write(
        self,
        contents: list[Content],
        producer: int = -1,
        codec: Codec = Codec.NONE,
        *,
        transactional: bool = False,
        append_time: bool = False,
    ) -> int:
        """Append one batch and answer its first offset."""
        said: list[Entry] = [
            (self.wall_ms - number, key, value, (("n", b"%d" % number),) if number % 2 else ())
            for number, (key, value) in enumerate(contents)
        ]
        sequence = self.sequences.get(producer, 0)
        self.sequences[producer] = sequence + len(said)
        stored = encode(
            said,
            codec=codec,
            producer_id=producer,
            producer_epoch=0 if producer >= 0 else -1,
            base_sequence=sequence if producer >= 0 else -1,
            transactional=transactional,
            append_ms=self.wall_ms if append_time else None,
        )
        base_offset = self._append(stored)
        records = [plain(record) for record in iterate(self.written[-1])]
        if transactional:
            self.open.setdefault(producer, []).extend(records)
        else:
            self.committed.update((record.offset, record) for record in records)
        return base_offset

    def end(self, producer: int, *, commit: bool) -> int:
        """Append the marker that ends a producer's transaction, whether it wrote anything or not."""
        ended = self.open.pop(producer, [])
        if commit:
            self.committed.update((record.offset, record) for record in ended)
        else:
            self.aborted.update(record.offset for record in ended)
        return self._append(encode_marker(ControlMarker(commit, 0), self.wall_ms, producer, 0))

    def _append(self, stored: bytearray) -> int:
        base_offset = self.next_offset
        stamp(stored, base_offset, 0)
        segment, batches = self.segments[-1]
        batches.append(bytes(stored))
        self.written.append(bytes(stored))
        self.next_offset = segment.next_offset = read_header(stored).next_offset
        segment.size += len(stored)
        segment.max_timestamp = max(segment.max_timestamp, read_header(stored).max_timestamp)
        return base_offset

    def roll(self) -> None:
        """Seal the active segment."""
        if self.segments[-1][1]:
            self._begin()

    @property
    def batches(self) -> list[bytes]:
        """What is left, in order."""
        return [stored for _, batches in self.segments for stored in batches]

    @property
    def offsets(self) -> list[int]:
        """The offsets of the records that are left, markers not counted."""
        return [record.offset for _, record in records_of(self.batches)]

    def plan(self, segment_bytes: int = 1 << 20) -> CompactionPlan | None:
        """What would be compacted, with every transaction that is open kept out."""
        config = LogConfig(
            cleanup=Cleanup.COMPACT,
            dirty_ratio=0.0,
            segment_bytes=segment_bytes,
            tombstone_retention_ms=self.tombstone_retention_ms,
        )
        limit = min((records[0].offset for records in self.open.values()), default=self.next_offset)
        sealed = [segment for segment, _ in self.segments[:-1]]
        return plan_compaction(STREAM, sealed, self.cleaned_offset, 0, config, self.wall_ms, limit)

    def compact(self, keys_max: int = 1_000, segment_bytes: int = 1 << 20) -> int:
        """Compact what is sealed, judge the result, and answer up to where keys are unique."""
        plan = self.plan(segment_bytes)
        if plan is None:
            return self.cleaned_offset
        inputs = self.segments[: len(plan.inputs)]
        before = [stored for _, batches in inputs for stored in batches]
        after, end_offset = compacted(plan, before, keys_max)
        outputs = [self._output(group, after) for group in plan.groups]
        self.segments[: len(inputs)] = [output for output in outputs if output[1]]
        self._judge(before, after, end_offset)
        self._judge_tombstones(before, after, end_offset)
        if self.tombstone_retention_ms:
            for dirty_from in (plan.dirty_from, end_offset):
                again = evolve(plan, dirty_from=dirty_from, end_offset=end_offset)
                assert compacted(again, after, 1_000) == (after, end_offset), "compacting again changes nothing"
        self.cleaned_offset = max(self.cleaned_offset, end_offset)
        return end_offset

    def _output(self, group: list[Segment], after: list[bytes]) -> tuple[Segment, list[bytes]]:
        begin, end = group[0].base, group[-1].next_offset
        kept = [stored for stored in after if begin <= read_header(stored).base_offset < end]
        newest = max((read_header(stored).max_timestamp for stored in kept), default=-1)
        generation = 1 + max(segment.generation for segment in group)
        return Segment(begin, generation, sum(map(len, kept)), end, newest, group[0].created_ms), kept

    # what a compaction must not change, and what it must

    def _judge(self, before: list[bytes], after: list[bytes], end_offset: int) -> None:
        for stored in after:
            validate_records(stored, compacted=True, decompress=True)
        spans = [(read_header(stored).base_offset, read_header(stored).next_offset) for stored in self.batches]
        assert all(one[1] <= other[0] for one, other in pairwise(spans)), "offsets rise"
        assert set(spans) <= {(read_header(one).base_offset, read_header(one).next_offset) for one in self.written}

        everything = {record.offset: record for _, record in records_of(self.written)}
        left = list(records_of(self.batches))
        assert all(record == everything[record.offset] for _, record in left), "no record changes"
        assert self._map(record for _, record in left) == self._map(everything.values()), "no value is lost or back"
        assert [stored for stored in self.batches if read_header(stored).is_control] == [
            stored for stored in self.written if read_header(stored).is_control
        ], "markers stay"
        assert last_batches(self.batches) == last_batches(self.written), "producers' sequences stay"

        judged = [record for base, record in left if base < end_offset]
        assert not any(record.offset in self.aborted for record in judged), "what was aborted goes"
        keys = [record.key for record in judged if record.key is not None]
        assert len(keys) == len(set(keys)), "keys are unique below the end"
        assert [one for one in before if read_header(one).base_offset >= end_offset] == [
            one for one in after if read_header(one).base_offset >= end_offset
        ], "what was not judged is not touched"
        unkeyed = {offset for offset, record in self.committed.items() if record.key is None}
        assert unkeyed <= {record.offset for _, record in left}, "records without a key stay"

    def _map(self, records: Iterable[Record]) -> dict[bytes, Record]:
        """What a reader of committed records who starts from nothing ends up with."""
        found: dict[bytes, Record] = {}
        for record in sorted(records, key=lambda each: each.offset):
            if record.offset not in self.committed or record.key is None:
                continue
            found.pop(bytes(record.key), None)
            if record.value is not None:
                found[bytes(record.key)] = record
        return found

    def _judge_tombstones(self, before: list[bytes], after: list[bytes], end_offset: int) -> None:
        newest = {record.key: offset for offset, record in sorted(self.committed.items())}
        left = {record.offset for _, record in records_of(after)}
        for base, record in records_of(before):
            if record.value is not None or record.key is None or base >= end_offset:
                continue
            if newest.get(record.key) != record.offset:
                continue
            seen_ms = self.seen_ms.get(record.offset)
            if seen_ms is None:
                self.seen_ms[record.offset] = self.wall_ms
            over = seen_ms is not None and self.wall_ms >= seen_ms + self.tombstone_retention_ms
            assert (record.offset not in left) == over, f"tombstone at {record.offset}, first seen {seen_ms}"


def compacted(plan: CompactionPlan, batches: list[bytes], keys_max: int) -> tuple[list[bytes], int]:
    """What a plan makes of these batches, and up to where it judged them."""
    compactor = Compactor(plan, keys_max)
    for stored in batches:
        compactor.survey(memoryview(stored))
    rewritten = [compactor.rewrite(memoryview(stored)) for stored in batches]
    return [bytes(stored) for stored in rewritten if stored is not None], compactor.end_offset
