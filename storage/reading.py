"""Fetching batches from segment files: where a place is found, read, and trimmed to whole batches.

Every function runs in two ways. `cached=True` is for the event loop: it never waits, and raises ColdError when
something is not in memory. `cached=False` is for a thread. The bytes land in a buffer of a pool, and the answer is a
view of it: nothing is copied, and the buffer is lent again when the last view of it is gone.
"""

from collections.abc import Sequence

from attrs import define

from goqueue.core.errors import BatchError
from goqueue.core.log.effects import FindTime, Read, ReadResult, TimeResult
from goqueue.core.log.index import IndexKind
from goqueue.core.log.scan import pick
from goqueue.core.records.batch import HEADER_BYTES, MAGIC, read_header, validate
from goqueue.core.records.record import iterate
from goqueue.storage.buffers import BufferPool
from goqueue.storage.errors import DamageError
from goqueue.storage.layout import LOG_ENDING
from goqueue.storage.segment_files import ColdError, SegmentFiles

_BLOCK_BYTES_LEAST = 16 << 10
_NOTHING = memoryview(b"")


@define
class Span:
    """A segment to be searched by time, up to `end_position`, from `position` or from where its index says (-1)."""

    files: SegmentFiles
    end_position: int
    position: int


@define
class ColdRead:
    """A read for a thread; it holds the files open, whatever happens to them meanwhile."""

    files: SegmentFiles
    read: Read

    def run(self) -> ReadResult:
        """Wait for the disk; the bytes are in a buffer of their own. Raises DamageError, OSError."""
        return fetch(self.files, self.read, BufferPool(count_max=0), cached=False)


@define
class ColdFindTime:
    """A search by time for a thread."""

    spans: list[Span]
    find: FindTime

    def run(self) -> TimeResult | None:
        """Wait for the disk. Raises DamageError, OSError."""
        return find_in(self.spans, self.find, BufferPool(count_max=0), cached=False)


def fetch(files: SegmentFiles, read: Read, buffers: BufferPool, *, cached: bool) -> ReadResult:
    """Whole batches as `read` asks for them. Raises ColdError, DamageError, OSError."""
    position = read.position
    if position < 0:
        position = files.floor_position(IndexKind.OFFSET, read.offset, cached=cached)
    wanted = max(read.max_bytes, _BLOCK_BYTES_LEAST)
    while position < read.end_position:
        block = _load_some(files, position, min(wanted, read.end_position - position), buffers, cached=cached)
        try:
            found = pick(block, read.offset, read.limit_offset, read.max_bytes)
        except BatchError as error:
            raise damage(files, position + error.position, str(error)) from error
        if found.stop > found.start:
            batches = block[found.start : found.stop]
            return ReadResult(batches, found.next_offset, position + found.stop)
        if found.wanted_bytes == 0:
            _check_limit(files, read, position + found.start, block[found.start :])
            return ReadResult(_NOTHING, read.offset, position + found.start)
        is_cut_short = len(block) < min(wanted, read.end_position - position)
        if is_cut_short or position + found.start + found.wanted_bytes > read.end_position > position + found.start:
            raise damage(files, position + found.start, "expected a whole batch, found the end of the segment")
        position += found.start
        wanted = max(found.wanted_bytes, _BLOCK_BYTES_LEAST)
    return ReadResult(_NOTHING, read.end_offset, read.end_position)


def _check_limit(files: SegmentFiles, read: Read, position: int, block: memoryview) -> None:
    """A batch beyond the limit is one to wait for, but not if it claims offsets that its segment cannot hold."""
    header = read_header(block)
    if header.next_offset > read.end_offset:
        wrong = f"expected a batch that ends at offset {read.end_offset} at the latest, found {header.next_offset}"
        raise damage(files, position, wrong)


def locate(files: SegmentFiles, read: Read) -> int:
    """The position of the batch that holds `read.offset`, or of the first one after it; the end when there is none."""
    buffers = BufferPool(buffer_bytes=_BLOCK_BYTES_LEAST, count_max=1)
    position = files.floor_position(IndexKind.OFFSET, read.offset, cached=False)
    while position + HEADER_BYTES <= read.end_position:
        header = read_header(load(files, position, HEADER_BYTES, buffers, cached=False))
        if not any(header):
            # Room that is reserved behind the last batch.
            return position
        if header.magic != MAGIC or header.size < HEADER_BYTES:
            raise damage(files, position, f"expected a batch with magic {MAGIC}, found {header.magic}")
        if header.next_offset > read.offset:
            return position
        position += header.size
    return read.end_position


def find_in(spans: Sequence[Span], find: FindTime, buffers: BufferPool, *, cached: bool) -> TimeResult | None:
    """The first record that `find` asks for; None when there is none. Raises as `fetch` does."""
    for span in spans:
        found = _find_in_span(span, find, buffers, cached=cached)
        if found is not None:
            return found
    return None


def _find_in_span(span: Span, find: FindTime, buffers: BufferPool, *, cached: bool) -> TimeResult | None:
    files, end_position, position = span.files, span.end_position, span.position
    if position < 0:
        # An entry promises that nothing before its place is above its timestamp.
        position = files.floor_position(IndexKind.TIME, find.timestamp - 1, cached=cached)
    while position < end_position:
        block = load(files, position, min(_BLOCK_BYTES_LEAST, end_position - position), buffers, cached=cached)
        at = 0
        while at + HEADER_BYTES <= len(block):
            header = read_header(block, at)
            if header.size < HEADER_BYTES:
                raise damage(files, position + at, f"expected a batch, found a length of {header.length}")
            if header.max_timestamp >= find.timestamp and header.next_offset > find.from_offset:
                batch = load(files, position + at, header.size, buffers, cached=cached)
                found = _first_record(files, position + at, batch, find)
                if found is not None:
                    return found
            at += header.size
        if at == 0:
            raise damage(files, position, "expected a whole batch, found the end of the segment")
        position += at
    return None


def _first_record(files: SegmentFiles, position: int, batch: memoryview, find: FindTime) -> TimeResult | None:
    try:
        validate(batch, compacted=True)
    except BatchError as error:
        raise damage(files, position, str(error)) from error
    try:
        for record in iterate(batch):
            if find.timestamp <= record.timestamp <= find.latest_ms and record.offset >= find.from_offset:
                return TimeResult(record.offset, record.timestamp)
    except BatchError:
        # Its producer wrote it so: there is no record in it that anybody could go to.
        pass
    return None


def load(files: SegmentFiles, position: int, size: int, buffers: BufferPool, *, cached: bool) -> memoryview:
    """`size` bytes of the log file; DamageError when it ends before."""
    block = _load_some(files, position, size, buffers, cached=cached)
    if len(block) < size:
        missing = size - len(block)
        raise damage(files, position + len(block), f"expected {missing} more bytes, found the end of the file")
    return block


def _load_some(files: SegmentFiles, position: int, size: int, buffers: BufferPool, *, cached: bool) -> memoryview:
    """Up to `size` bytes of the log file: after a write that failed it ends before the log does."""
    block = memoryview(buffers.take(size))[:size]
    count = files.log.read_cached_into(block, position) if cached else files.log.read_into(block, position)
    if count is None:
        raise ColdError
    return block[:count]


def damage(files: SegmentFiles, position: int, message: str) -> DamageError:
    """The error that says where a segment is not what it should be."""
    return DamageError(f"{files.folder}/{files.name}{LOG_ENDING}", position, message)
