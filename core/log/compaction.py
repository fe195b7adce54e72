"""Compaction: of each key the last value stays; offsets never change.

It runs over sealed segments in two passes. `survey` reads every batch once: of the part that was not compacted before
it remembers each key's last offset, and of the whole which batch holds a producer's last sequence and which
transactions were aborted. `rewrite` then answers for each batch what is to stand in its place: the batch itself, a
smaller one, or nothing.

What stays although no later reader asks for it: a tombstone (a key without a value) until `tombstone_retention_ms`
have passed since the first compaction that saw it, so that every reader learns of the removal; the last batch of each
producer, if need be without records, so that its sequence survives; transaction markers; records without a key. The
time a tombstone may go is written into its batch (KIP-534: attribute bit 6, base timestamp = horizon), so it does not
depend on anyone's memory.

A batch whose records cannot be read, which its producer wrote so, stays as it is, and with it what it would supersede.

Memory is bounded by `KEYS_MAX` keys a run: when the map is full the run covers the log up to there, and the next run
goes on. Records of a transaction count only once its commit marker was seen; those of an aborted one go. The caller
keeps open transactions out by `limit_offset`; a run also ends before one whose marker is not among the segments it
reads, since a later run would not look at these records again.
"""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise

from attrs import define
from mmh3 import mmh3_x64_128_digest as key_digest

from goqueue.core.errors import BatchError
from goqueue.core.log.config import LogConfig
from goqueue.core.log.retention import appended_until_ms, newest_ms
from goqueue.core.log.segment import RELATIVE_OFFSET_MAX, Segment
from goqueue.core.records.batch import Header, read_header
from goqueue.core.records.build import rebuild
from goqueue.core.records.claims import RECORDS_MAX
from goqueue.core.records.control import read_marker
from goqueue.core.records.record import Record, iterate

KEYS_MAX = 250_000


@define
class CompactionPlan:
    """Which segments to read, in groups that become one segment each, and from where on keys count as news."""

    stream: str
    incarnation: int
    groups: list[list[Segment]]
    dirty_from: int
    end_offset: int
    wall_ms: int
    tombstone_retention_ms: int

    @property
    def inputs(self) -> list[Segment]:
        """All segments to be read, in order."""
        return [segment for group in self.groups for segment in group]


@define
class CompactionOutput:
    """What a group became; no segment at all when nothing of it stays."""

    inputs: list[Segment]
    segment: Segment | None


def plan_compaction(
    stream: str,
    sealed: Sequence[Segment],
    cleaned_offset: int,
    incarnation: int,
    config: LogConfig,
    wall_ms: int,
    limit_offset: int,
    active: Segment | None = None,
) -> CompactionPlan | None:
    """What to compact at this time; None while too little of the log is dirty."""
    inputs = _eligible([*sealed, active], config, wall_ms, limit_offset)
    dirty_bytes = sum(segment.size for segment in inputs if segment.next_offset > cleaned_offset)
    total_bytes = sum(segment.size for segment in inputs)
    if dirty_bytes == 0 or dirty_bytes < config.dirty_ratio * total_bytes:
        return None
    groups = _groups(inputs, config.segment_bytes)
    end_offset = inputs[-1].next_offset
    return CompactionPlan(
        stream, incarnation, groups, cleaned_offset, end_offset, wall_ms, config.tombstone_retention_ms
    )


def _eligible(segments: Sequence[Segment | None], config: LogConfig, wall_ms: int, limit_offset: int) -> list[Segment]:
    """Of sealed segments, behind which stands the active one where it is known, those that may be compacted."""
    eligible: list[Segment] = []
    for segment, following in pairwise(segments):
        assert segment is not None
        newest = newest_ms(segment, appended_until_ms(segment, following, config), config, wall_ms)
        if segment.next_offset > limit_offset or newest + config.compaction_lag_ms > wall_ms:
            break
        eligible.append(segment)
    return eligible


def _groups(inputs: list[Segment], segment_bytes: int) -> list[list[Segment]]:
    groups: list[list[Segment]] = []
    group_bytes = 0
    for segment in inputs:
        fits = groups and group_bytes + segment.size <= segment_bytes
        if fits and segment.next_offset - groups[-1][0].base <= RELATIVE_OFFSET_MAX:
            groups[-1].append(segment)
            group_bytes += segment.size
        else:
            groups.append([segment])
            group_bytes = segment.size
    return groups


class Compactor:
    """Decides for every batch of a plan what stays of it."""

    def __init__(self, plan: CompactionPlan, keys_max: int = KEYS_MAX) -> None:
        self._plan = plan
        self._keys_max = keys_max
        self._last_offset_of_key: dict[bytes, int] = {}
        self._last_batch_of_producer: dict[int, int] = {}
        self._open: dict[int, list[tuple[bytes, int]]] = {}
        self._open_from: dict[int, int] = {}
        self._aborted: dict[int, list[tuple[int, int]]] = {}
        self._keys_end = plan.end_offset
        self._horizon_ms = plan.wall_ms + plan.tombstone_retention_ms

    @property
    def end_offset(self) -> int:
        """Where this run ends: before the first key that did not fit, and the first transaction without its marker."""
        return min(self._keys_end, *self._open_from.values()) if self._open_from else self._keys_end

    # --- first pass

    def survey(self, batch: memoryview) -> None:
        """Learn from the next batch of the plan, in order of offsets."""
        header = read_header(batch)
        if header.producer_id >= 0 and not header.is_control:
            self._last_batch_of_producer[header.producer_id] = header.base_offset
        if header.next_offset <= self._plan.dirty_from:
            return
        if header.is_control:
            # Wherever it stands: it may decide what was entered before the map was full.
            self._close_transaction(header, batch)
        elif header.base_offset >= self._keys_end:
            return
        elif self._is_full(header):
            self._keys_end = header.base_offset
        else:
            self._enter_keys(header, batch)

    def _is_full(self, header: Header) -> bool:
        known = len(self._last_offset_of_key) + sum(len(keys) for keys in self._open.values())
        # The first batch is taken whatever its size, or a run would make no progress.
        return known > 0 and known + header.record_count > self._keys_max

    def _enter_keys(self, header: Header, batch: memoryview) -> None:
        records = _records(header, batch)
        if records is None:
            return
        keyed = [(key_digest(record.key), record.offset) for record in records if record.key is not None]
        if header.is_transactional:
            self._open.setdefault(header.producer_id, []).extend(keyed)
            self._open_from.setdefault(header.producer_id, header.base_offset)
        else:
            self._last_offset_of_key.update(keyed)

    def _close_transaction(self, header: Header, batch: memoryview) -> None:
        keyed = self._open.pop(header.producer_id, [])
        begun = self._open_from.pop(header.producer_id, None)
        try:
            is_commit = read_marker(batch).commit
        except BatchError:
            # What became of the transaction is not known: its records stay, and remove none before them.
            return
        if is_commit:
            for digest, offset in keyed:
                if offset > self._last_offset_of_key.get(digest, -1):
                    self._last_offset_of_key[digest] = offset
        elif begun is not None:
            self._aborted.setdefault(header.producer_id, []).append((begun, header.base_offset))

    # --- second pass

    def rewrite(self, batch: memoryview) -> memoryview | bytearray | None:
        """What stands in the batch's place: itself, a smaller one, or None."""
        header = read_header(batch)
        if header.is_control or header.base_offset >= self.end_offset:
            return batch
        records = _records(header, batch)
        if records is None:
            return batch
        kept = [] if self._is_aborted(header) else [record for record in records if self._stays(header, record)]
        if not kept and not self._is_last_of_producer(header):
            return None
        unmarked = header.horizon_ms is None and any(map(_is_tombstone, kept))
        if len(kept) == len(records) and not unmarked:
            return batch
        try:
            return rebuild(header, kept, horizon_ms=self._horizon_ms if unmarked else None)
        except BatchError:
            # Its producer gave a record a time that none can be written with.
            return batch

    def _stays(self, header: Header, record: Record) -> bool:
        if record.key is None:
            return True
        if record.offset < self._last_offset_of_key.get(key_digest(record.key), -1):
            return False
        return record.value is not None or header.horizon_ms is None or header.horizon_ms > self._plan.wall_ms

    def _is_aborted(self, header: Header) -> bool:
        if not header.is_transactional or header.producer_id not in self._aborted:
            return False
        spans = self._aborted[header.producer_id]
        at = bisect_right(spans, header.base_offset, key=_begun) - 1
        return at >= 0 and header.base_offset < spans[at][1]

    def _is_last_of_producer(self, header: Header) -> bool:
        return self._last_batch_of_producer.get(header.producer_id) == header.base_offset


def _records(header: Header, batch: memoryview) -> list[Record] | None:
    """The records of a batch; None where they cannot be read, or are more than any batch may have."""
    if header.record_count > RECORDS_MAX:
        return None
    try:
        return list(iterate(batch))
    except BatchError:
        return None


def _begun(span: tuple[int, int]) -> int:
    return span[0]


def _is_tombstone(record: Record) -> bool:
    return record.value is None and record.key is not None
