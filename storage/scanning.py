"""Reading segments back: verifying batches block by block, and taking up indexes where they are sound.

The block is large, since the whole of it is read anyway, and reused. What `Scan` decides stays in the core; here only
the bytes are brought to it.
"""

from collections.abc import Callable

from goqueue.core.log.config import LogConfig
from goqueue.core.log.effects import IndexPage
from goqueue.core.log.epochs import EpochCache
from goqueue.core.log.index import IndexKind, Page
from goqueue.core.log.scan import Scan
from goqueue.core.log.segment import NO_TIMESTAMP, Segment
from goqueue.core.log.tail import SegmentTail
from goqueue.core.records.batch import HEADER_BYTES, LENGTH_COVERS_FROM, read_header
from goqueue.storage.disk import File
from goqueue.storage.segment_files import SegmentFiles

BLOCK_BYTES = 1 << 20


def scan_segment(
    log: File,
    tail: SegmentTail,
    epochs: EpochCache,
    span: tuple[int, int],
    store_pages: Callable[[list[IndexPage]], None],
) -> Scan:
    """Verify the batches in the span [begin, end) of a log file and enter them into the tail.

    The answer tells what was found, and the flaw at which that stopped. Index pages that fill up on the way go to
    `store_pages`.
    """
    position, end = span
    scan = Scan(tail, epochs)
    buffer = bytearray(BLOCK_BYTES)
    while position < end:
        block = memoryview(buffer)[: end - position]
        block = block[: log.read_into(block, position)]
        taken = scan.feed(block)
        if tail.pages:
            store_pages(tail.pages)
            tail.pages = []
        position += taken
        if scan.flaw is not None:
            break
        if taken == 0:
            wanted = _batch_bytes(block)
            if position + wanted > end or len(block) < min(len(buffer), end - position):
                scan.ended(block)
                break
            if wanted > len(buffer):
                buffer = bytearray(wanted)
    return scan


def _batch_bytes(block: memoryview) -> int:
    return read_header(block).length + LENGTH_COVERS_FROM if len(block) >= HEADER_BYTES else HEADER_BYTES


def resume_tail(files: SegmentFiles, certain: Segment, interval_bytes: int) -> tuple[SegmentTail, int]:
    """A tail that continues the segment's indexes, and the position from which batches must be read again.

    Both indexes are taken up to their last sound page, as far as the checkpoint vouches for the log; the position is
    that of the last offset entry, so no entry is missing between there and the end.
    """
    begin = Segment(certain.base, certain.generation, 0, certain.base, NO_TIMESTAMP, certain.created_ms)
    tail = SegmentTail(begin, interval_bytes)
    offsets, number = _last_sound_page(files, IndexKind.OFFSET, certain.size)
    if offsets is None:
        return tail, 0
    tail.offsets.resume(offsets, number)
    tail.offsets.cut(certain.size)
    assert tail.offsets.positions or tail.offsets.full_pages
    offset, position = _last_place(files, tail)
    if not files.begins_at(offset, position):
        return SegmentTail(begin, interval_bytes), 0
    times, number = _last_sound_page(files, IndexKind.TIME, position + 1)
    if times is not None:
        tail.times.resume(times, number)
        tail.times.cut(position + 1)
    tail.resumed(position)
    begin.size = position
    begin.next_offset = offset
    # The page of the time index that was filling may be lost, and with it the latest timestamps before `position`.
    begin.max_timestamp = max(tail.indexed_timestamp, certain.max_timestamp)
    return tail, position


def _last_place(files: SegmentFiles, tail: SegmentTail) -> tuple[int, int]:
    if tail.offsets.positions:
        return tail.offsets.offsets[-1], tail.offsets.positions[-1]
    page = files.page(IndexKind.OFFSET, tail.offsets.full_pages - 1)
    assert page is not None
    return page.place(page.count - 1)


def _last_sound_page(files: SegmentFiles, kind: IndexKind, size: int) -> tuple[Page | None, int]:
    """The last page, with its number, of an unbroken run of sound ones that points below `size`."""
    last: tuple[Page | None, int] = (None, 0)
    for number in range(files.page_count(kind)):
        page = files.page(kind, number)
        if page is None or page.place(0)[1] >= size:
            break
        last = (page, number)
    return last


def has_sound_index(files: SegmentFiles, segment: Segment, config: LogConfig) -> bool:
    """Whether the indexes of a sealed segment reach its end, as far as their last pages tell."""
    reach = segment.size - config.index_interval_bytes - config.batch_bytes_max
    count = files.page_count(IndexKind.OFFSET)
    if count == 0:
        return reach <= 0 or segment.size == 0
    last = files.page(IndexKind.OFFSET, count - 1)
    if last is None or not reach <= last.place(last.count - 1)[1] < max(segment.size, 1):
        return False
    if not files.begins_at(*last.place(last.count - 1)):
        return False
    count = files.page_count(IndexKind.TIME)
    if count == 0:
        return segment.max_timestamp == NO_TIMESTAMP
    last = files.page(IndexKind.TIME, count - 1)
    return last is not None and files.begins_at(*last.place(last.count - 1))


def has_full_pages(files: SegmentFiles, tail: SegmentTail) -> bool:
    """Whether every page that the tail takes for written is there and sound."""
    return all(
        files.page(index.kind, number) is not None
        for index in (tail.offsets, tail.times)
        for number in range(index.full_pages)
    )
