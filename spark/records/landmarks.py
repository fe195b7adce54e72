"""Where in a segment file reading may begin, and where a large one may be cut, as its indexes tell.

An index is a hint: each place that it names is held against the batch that lies there, and only places are taken up to
which the segment certainly is sound. So an index that is missing, torn or of another segment costs time, and that is
all.
"""

from collections.abc import Iterator

from attrs import define

from goqueue.core.log.index import IndexKind
from goqueue.core.log.segment import Segment
from goqueue.core.records.batch import HEADER_BYTES, read_header
from goqueue.spark.records.wanted import Wanted
from goqueue.storage.disk import Disk
from goqueue.storage.segment_files import SegmentFiles

# A task reads no more than this of a segment, save that a batch is never cut, nor a rest of less than half.
PIECE_BYTES = 128 << 20


@define
class Landmark:
    """A batch that begins with `offset` lies at `position`."""

    offset: int
    position: int


def landmarks(
    disk: Disk, stream: str, segment: Segment, certain_bytes: int, wanted: Wanted, piece_bytes: int = PIECE_BYTES
) -> list[Landmark]:
    """Where to begin with a segment, so that nothing wanted lies before, and where to cut it from there on."""
    start = Landmark(segment.base, 0)
    is_whole = wanted.first_offset <= segment.base and wanted.since_ms <= 0
    if is_whole and certain_bytes < 2 * piece_bytes:
        return [start]
    try:
        files = SegmentFiles(disk, stream, segment.name)
    except FileNotFoundError:
        # Whoever reads it will say so.
        return [start]
    begin = _begin(files, certain_bytes, wanted) or start
    return [begin, *_cuts(files, begin.position, certain_bytes, piece_bytes)]


def _begin(files: SegmentFiles, certain_bytes: int, wanted: Wanted) -> Landmark | None:
    position = files.floor_position(IndexKind.OFFSET, wanted.first_offset, cached=False)
    if wanted.since_ms > 0:
        # Nothing before its place is later than an entry's time.
        position = max(position, files.floor_position(IndexKind.TIME, wanted.since_ms - 1, cached=False))
    if not 0 < position < certain_bytes:
        return None
    return Landmark(read_header(files.log.read(HEADER_BYTES, position)).base_offset, position)


def _cuts(files: SegmentFiles, begin: int, end: int, piece_bytes: int) -> Iterator[Landmark]:
    last = begin
    for number in range(files.page_count(IndexKind.OFFSET)):
        if end - last < 2 * piece_bytes:
            return
        page = files.page(IndexKind.OFFSET, number)
        if page is None:
            continue
        offset, position = page.place(0)
        if last + piece_bytes <= position <= end - piece_bytes // 2 and files.begins_at(offset, position):
            yield Landmark(offset, position)
            last = position
