"""Looking at streams without changing anything: which there are, what they are made of, whether every batch is sound.

It may look while a broker writes; what is being appended then may seem torn.
"""

from collections.abc import Callable, Iterator
from contextlib import closing

from attrs import define

from goqueue.core.log.checkpoint import Checkpoint, CheckpointError, decode_checkpoint
from goqueue.core.log.effects import IndexPage
from goqueue.core.log.epochs import EpochCache
from goqueue.core.log.scan import Flaw
from goqueue.core.log.segment import NO_TIMESTAMP, RELATIVE_OFFSET_MAX, Segment, parse_segment_name
from goqueue.core.log.tail import SegmentTail
from goqueue.storage.disk import Disk
from goqueue.storage.errors import DamageError
from goqueue.storage.layout import CHECKPOINT_FILE, LOG_ENDING, read_file, segment_of
from goqueue.storage.salvage import Salvage
from goqueue.storage.scanning import scan_segment

# An interval that no segment reaches: whoever only reads makes no index.
_NO_INDEX = 1 << 40


@define
class Verdict:
    """What `verify` found of one segment: how much of it is sound from its beginning on, and the first flaw."""

    segment: str
    path: str
    sound_bytes: int
    next_offset: int
    flaw: Flaw | None

    @property
    def damaged(self) -> bool:
        """Whether the flaw is more than reserved room."""
        return self.flaw is not None and not self.flaw.blank


def find_streams(disk: Disk, folder: str = "") -> list[str]:
    """Every folder beneath that holds segments, sorted."""
    names = disk.names(folder)
    found = [folder] if any(_is_segment(name) for name in names) else []
    for name in names:
        path = f"{folder}/{name}" if folder else name
        if disk.is_folder(path):
            found.extend(find_streams(disk, path))
    return found


def list_segments(disk: Disk, folder: str) -> tuple[Checkpoint | None, list[Segment]]:
    """The checkpoint, if it can be read, and the segments that make up the stream.

    Those that may still grow come with the size of their file and a `next_offset` that is their base.
    """
    checkpoint = _read_checkpoint(disk, folder)
    parsed = map(parse_segment_name, filter(None, map(segment_of, disk.names(folder))))
    on_disk = sorted(name for name in parsed if name is not None)
    if checkpoint is None or not checkpoint.segments:
        # Where an old and a rewritten segment begin alike, the rewritten one holds all that still counts.
        sealed, growing = [], sorted(dict(on_disk).items())
    else:
        sealed, active = checkpoint.segments[:-1], checkpoint.segments[-1]
        own = (active.base, active.generation)
        growing = [name for name in on_disk if name == own or (name[0] > active.base and name[1] == 0)]
    return checkpoint, [*sealed, *(_growing_segment(disk, folder, *name) for name in growing)]


def verify(disk: Disk, folder: str, progress: Callable[[int], None] | None = None) -> Iterator[Verdict]:
    """Read every batch of a stream and say of each segment what is sound; `progress` is told bytes as they are done."""
    epochs = EpochCache()
    for segment in list_segments(disk, folder)[1]:
        yield _verify_segment(disk, folder, segment, epochs)
        if progress is not None:
            progress(segment.size)


def sound_batches(disk: Disk, folder: str, segment: Segment) -> Iterator[tuple[int, memoryview]]:
    """(position, batch) of every sound batch of a segment, stepping over what is damaged."""
    with closing(disk.open(f"{folder}/{segment.name}{LOG_ENDING}", read_only=True)) as file:
        salvage = Salvage(file, min(segment.size, file.size()), segment.base, offset_limit(segment))
        yield from ((sound.position, sound.batch) for sound in salvage.batches())


def offset_limit(segment: Segment, follower: Segment | None = None) -> int:
    """The first offset that certainly does not belong into a segment, given the one that follows it."""
    if segment.next_offset > segment.base:
        return segment.next_offset
    limit = segment.base + RELATIVE_OFFSET_MAX + 1
    return limit if follower is None else min(limit, follower.base)


def _verify_segment(disk: Disk, folder: str, segment: Segment, epochs: EpochCache) -> Verdict:
    path = f"{folder}/{segment.name}{LOG_ENDING}"
    if not disk.exists(path):
        missing = Flaw(0, "missing", f"expected a segment of {segment.size} bytes, found no such file")
        return Verdict(segment.name, path, 0, segment.base, missing)
    blank = Segment(segment.base, segment.generation, 0, segment.base, NO_TIMESTAMP, segment.created_ms)
    tail = SegmentTail(blank, _NO_INDEX)
    with closing(disk.open(path, read_only=True)) as file:
        flaw = scan_segment(file, tail, epochs, (0, min(segment.size, file.size())), _drop_pages).flaw
    if flaw is None and blank.size < segment.size:
        flaw = Flaw(blank.size, "truncated", f"expected {segment.size} bytes, found the end of the file")
    if flaw is None and segment.next_offset > segment.base and blank.next_offset > segment.next_offset:
        flaw = Flaw(blank.size, "offsets", f"expected offsets up to {segment.next_offset}, found {blank.next_offset}")
    return Verdict(segment.name, path, blank.size, blank.next_offset, flaw)


def _read_checkpoint(disk: Disk, folder: str) -> Checkpoint | None:
    path = f"{folder}/{CHECKPOINT_FILE}"
    if not disk.exists(path):
        return None
    try:
        return decode_checkpoint(read_file(disk, path))
    except CheckpointError as error:
        if error.newer:
            raise DamageError(path, 0, str(error)) from error
        return None


def _growing_segment(disk: Disk, folder: str, base: int, generation: int) -> Segment:
    segment = Segment(base, generation, 0, base, NO_TIMESTAMP, 0)
    with closing(disk.open(f"{folder}/{segment.name}{LOG_ENDING}", read_only=True)) as file:
        segment.size = file.size()
    return segment


def _drop_pages(pages: list[IndexPage]) -> None:
    """Takes the index pages that a scan makes and that nobody here wants."""


def _is_segment(name: str) -> bool:
    segment = segment_of(name)
    return segment is not None and parse_segment_name(segment) is not None
