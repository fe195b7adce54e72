"""A disk that is a dict of bytes: it does what a log wants done, at once and in order, and can be read back.

It believes nothing: every effect is held against what lies there. What was written since the last sync may be torn
off again, as a crash would. `recovered` is the shortest recovery that is right: it scans all that no checkpoint claims.
"""

from attrs import define, field

from goqueue.core.log.checkpoint import Checkpoint, decode_checkpoint
from goqueue.core.log.compaction import CompactionOutput, CompactionPlan, Compactor
from goqueue.core.log.config import LogConfig
from goqueue.core.log.effects import (
    Append,
    Commit,
    Cut,
    Effect,
    FindTime,
    IndexPage,
    Read,
    Roll,
    Sync,
    SyncToken,
    Trim,
    WriteIndex,
)
from goqueue.core.log.epochs import EpochCache
from goqueue.core.log.index import PROBE_BYTES, IndexKind, decode_page, first_key, floor_page
from goqueue.core.log.log import LogState
from goqueue.core.log.scan import Scan, pick
from goqueue.core.log.segment import NO_TIMESTAMP, Segment, parse_segment_name
from goqueue.core.log.tail import SegmentTail
from goqueue.core.records.batch import read_header
from tests.core.log.batches import FIRST, WALL_MS, walk


@define
class RememberedDisk:
    """The files of one stream."""

    logs: dict[str, bytearray] = field(factory=lambda: {FIRST: bytearray()})
    pages: dict[tuple[str, IndexKind], list[bytes]] = field(factory=dict)
    checkpoint: Checkpoint = field(factory=lambda: Checkpoint(segments=[Segment(0, 0, 0, 0, NO_TIMESTAMP, WALL_MS)]))
    tokens: list[SyncToken] = field(factory=list)
    # Bytes of the newest segment that no crash takes back.
    kept_bytes: int = 0

    def perform(self, effects: list[Effect]) -> None:
        """Do what a log wants done."""
        for effect in effects:
            match effect:
                case Append(_, segment, position, buffers):
                    assert position == len(self.logs[segment]), "no hole, nothing overwritten"
                    assert segment == max(self.logs)
                    self.logs[segment] += b"".join(buffers)
                case WriteIndex(_, segment, pages):
                    self._write_pages(segment, pages)
                case Roll(_, sealed, size, opened):
                    assert len(self.logs[sealed]) == size
                    assert opened not in self.logs
                    self.logs[opened] = bytearray()
                    self.kept_bytes = 0
                case Trim(_, segment, size):
                    assert size == len(self.logs[segment])
                case Sync(_, token):
                    assert token.segment == max(self.logs)
                    assert token.position == len(self.logs[token.segment])
                    self.tokens.append(token)
                case Commit(_, checkpoint, removed):
                    self._commit(decode_checkpoint(checkpoint), removed)
                    assert all(each.size == len(self.logs[each.name]) for each in self.checkpoint.segments)
                    self.kept_bytes = len(self.logs[max(self.logs)])
                case Cut(_, segment, offset, checkpoint, removed):
                    self._commit(decode_checkpoint(checkpoint), removed)
                    self._cut(segment, offset)

    def _write_pages(self, segment: str, pages: list[IndexPage]) -> None:
        for page in pages:
            file = self.pages.setdefault((segment, page.kind), [])
            assert page.number <= len(file), "no page is left out"
            file[page.number : page.number + 1] = [page.page]

    def _commit(self, checkpoint: Checkpoint, removed: list[str]) -> None:
        named = {segment.name for segment in checkpoint.segments}
        assert not named & set(removed)
        self.checkpoint = checkpoint
        for name in removed:
            self.remove(name)
        assert set(self.logs) - self._unfinished() <= named, "what nobody names any more is removed"

    def _unfinished(self) -> set[str]:
        """Segments that a compaction wrote and that are not committed."""
        committed = {segment.name for segment in self.checkpoint.segments}
        return {name for name in self.logs if "." in name and name not in committed}

    def _cut(self, segment: str, offset: int) -> None:
        log = self.logs.setdefault(segment, bytearray())
        ends = [at for at, header in walk(log) if header.next_offset > offset]
        del log[ends[0] if ends else len(log) :]
        self.kept_bytes = len(log)

    def remove(self, name: str) -> None:
        """Remove a segment's files."""
        del self.logs[name]
        for kind in IndexKind:
            self.pages.pop((name, kind), None)

    def synced(self, token: SyncToken) -> None:
        """What a token promised is there whatever happens."""
        if token.segment == max(self.logs):
            self.kept_bytes = max(self.kept_bytes, token.position)

    def tear(self, lost_bytes: int) -> None:
        """Lose the end of what was written since the last sync."""
        newest = self.logs[max(self.logs)]
        del newest[max(self.kept_bytes, len(newest) - lost_bytes) :]

    # reading

    def recovered(self, config: LogConfig, wall_ms: int) -> LogState:
        """The state of the log as it lies there; files that belong to nothing are removed."""
        for name in self._unfinished():
            self.remove(name)
        epochs = EpochCache(self.checkpoint.epochs)
        known = {segment.name: segment for segment in self.checkpoint.segments[:-1]}
        sealed: list[Segment] = []
        tail: SegmentTail | None = None
        for name in sorted(self.logs):
            if tail is not None:
                sealed.append(tail.segment)
                tail = None
            if name in known:
                sealed.append(known[name])
            else:
                tail = self._scan(name, epochs, config, wall_ms)
        assert tail is not None
        self.kept_bytes = tail.segment.size
        checkpoint = self.checkpoint
        return LogState(
            sealed, tail, checkpoint.incarnation, checkpoint.start_offset, checkpoint.cleaned_offset, epochs
        )

    def _scan(self, name: str, epochs: EpochCache, config: LogConfig, wall_ms: int) -> SegmentTail:
        parsed = parse_segment_name(name)
        assert parsed is not None
        base, generation = parsed
        tail = SegmentTail(Segment(base, generation, 0, base, NO_TIMESTAMP, wall_ms), config.index_interval_bytes)
        epochs.cut_from(base)
        scan = Scan(tail, epochs)
        log = self.logs[name]
        with memoryview(log) as block:
            scan.ended(block[scan.feed(block) :])
        del log[tail.segment.size :]
        self._store_index(tail)
        return tail

    def _store_index(self, tail: SegmentTail) -> None:
        for kind in IndexKind:
            self.pages.pop((tail.name, kind), None)
        self._write_pages(tail.name, [*tail.pages, *tail.partial_pages()])
        tail.pages = []

    def position(self, kind: IndexKind, segment: str, key: int) -> int:
        """The place at or before which the index says to begin."""
        parsed = parse_segment_name(segment)
        assert parsed is not None
        file = self.pages.get((segment, kind), [])
        number = floor_page(len(file), key, lambda at: first_key(kind, parsed[0], file[at][:PROBE_BYTES]))
        if number < 0:
            return 0
        page = decode_page(kind, parsed[0], file[number])
        assert page is not None
        return page.place(page.floor(key))[1]

    def fetch(self, read: Read) -> tuple[bytes, int, int]:
        """Batches, where to go on, and the place of that in the segment."""
        log = self.logs[read.segment]
        assert read.end_position <= len(log)
        position = read.position
        if position < 0:
            position = self.position(IndexKind.OFFSET, read.segment, read.offset)
        block = bytes(log[position : read.end_position])
        found = pick(memoryview(block), read.offset, read.limit_offset, read.max_bytes)
        if found.stop > found.start:
            return block[found.start : found.stop], found.next_offset, position + found.stop
        if found.wanted_bytes == 0:
            return b"", read.offset, position + found.start
        return b"", read.end_offset, read.end_position

    def find_time(self, find: FindTime) -> int | None:
        """Base offset of the first batch that reaches the timestamp and an offset that readers may have."""
        for segment, end_position in find.segments:
            position = find.position if segment == find.segments[-1][0] else -1
            if position < 0:
                position = self.position(IndexKind.TIME, segment, find.timestamp - 1)
            for _, header in walk(self.logs[segment][position:end_position]):
                if header.max_timestamp >= find.timestamp and header.next_offset > find.from_offset:
                    return header.base_offset
        return None

    # compacting

    def compact(self, plan: CompactionPlan, config: LogConfig) -> tuple[list[CompactionOutput], int]:
        """Write the segments of a plan anew beside the old ones."""
        compactor = Compactor(plan, keys_max=3)
        for segment in plan.inputs:
            for stored in self._batches(segment.name):
                compactor.survey(memoryview(stored))
        outputs = []
        for group in plan.groups:
            generation = 1 + max(segment.generation for segment in group)
            begin = Segment(group[0].base, generation, 0, group[0].base, NO_TIMESTAMP, group[0].created_ms)
            tail, log = SegmentTail(begin, config.index_interval_bytes), bytearray()
            for stored in (stored for segment in group for stored in self._batches(segment.name)):
                kept = compactor.rewrite(memoryview(stored))
                if kept is not None:
                    header = read_header(kept)
                    tail.add(header.base_offset, header.next_offset, header.max_timestamp, header.size)
                    log += kept
            begin.next_offset = group[-1].next_offset
            outputs.append(CompactionOutput(group, begin if log else None))
            if log:
                self.logs[begin.name] = log
                self._store_index(tail)
        return outputs, compactor.end_offset

    def _batches(self, segment: str) -> list[bytes]:
        log = self.logs[segment]
        return [bytes(log[at : at + header.size]) for at, header in walk(log)]
