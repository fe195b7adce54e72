"""Which segment files make up the topics of a data folder, and how much of each must be there.

A broker may be appending meanwhile, so nothing here locks, writes or repairs. What counts is decided as recovery would
decide it: sealed segments as the checkpoint names them, whole; then the growing one and those begun after it, which may
end in a write that was cut short, but not before the place up to which the checkpoint or the synced mark vouches.

What is asked for leaves out segments, and the beginnings of segments, in which nothing of it can be; what was compacted
away or deleted counts as not there. Large segments are cut, so that several tasks share them.

Invariant: no record is in two plans. Files that compaction has replaced or not yet put in place are told
apart by the checkpoint alone; so without one, a folder that holds rewritten segments is refused.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from attrs import define, evolve

from goqueue.core.log.checkpoint import Checkpoint
from goqueue.core.log.segment import Segment
from goqueue.spark.records.disks import disk_at
from goqueue.spark.records.edges import UnreadableError
from goqueue.spark.records.landmarks import PIECE_BYTES, landmarks
from goqueue.spark.records.wanted import Wanted
from goqueue.storage.disk import Disk
from goqueue.storage.inspection import list_segments, offset_limit
from goqueue.storage.layout import FORMAT_FILE, LOG_ENDING, FormatError, check_format
from goqueue.storage.synced_mark import NO_MARK, SyncedMark, read_mark

_LOGS = "logs"
_PARTITION = re.compile(r"0|[1-9][0-9]*")
EVERYTHING = Wanted()


@define
class SegmentPlan:
    """One segment file, or a piece of one, to be read, whichever process does it.

    It is read from the batch at `begin_bytes` on, which has the offset `begin_offset`. Records that are not `wanted`
    are left out, among them those that were deleted although they are still there; none is at `limit_offset` or above.
    The first `certain_bytes` must be sound, and what comes after them may be torn if the segment is the `last`. Where
    the next one is known to follow without a gap, that is at offset `follower`.
    """

    folder: str
    topic: str
    partition: int
    segment: Segment
    wanted: Wanted
    limit_offset: int
    certain_bytes: int
    mark: SyncedMark = NO_MARK
    follower: int | None = None
    last: bool = False
    begin_bytes: int = 0
    begin_offset: int = 0

    @property
    def stream(self) -> str:
        """The folder of the segment, within the data folder."""
        return stream_of(self.topic, self.partition)

    @property
    def file(self) -> str:
        """The segment's file, within the data folder."""
        return f"{self.stream}/{self.segment.name}{LOG_ENDING}"

    def objection(self, found: Segment, flaw: str | None) -> str | None:
        """Why the segment may not be only what was found of it; None when it may.

        `flaw` says what is there instead of one more batch: None for the end of the file, or for reserved room.
        """
        if found.size < self.certain_bytes or (flaw is not None and not self.last):
            return flaw or f"expected batches up to byte {self.certain_bytes}, found none from here on"
        if self.mark.contradicts(found):
            return f"expected offsets up to {self.mark.next_offset}, found them up to {found.next_offset}"
        if self.follower is not None and found.next_offset < self.follower:
            return f"expected batches up to offset {self.follower}, found them up to {found.next_offset}"
        return None


def plan(
    folder: str,
    topics: Sequence[str] = (),
    wanted: Wanted = EVERYTHING,
    *,
    whole: bool = False,
    piece_bytes: int = PIECE_BYTES,
) -> list[SegmentPlan]:
    """What to read for some topics, which must be there, or for all, by topic, partition and offset.

    `whole` leaves segments whole. Raises FormatError, UnreadableError, DamageError, PlaceError, OSError.
    """
    return [
        planned
        for topic, partition in partitions_of(folder, topics, wanted)
        for planned in plan_partition(folder, topic, partition, wanted, whole=whole, piece_bytes=piece_bytes)
    ]


def partitions_of(folder: str, topics: Sequence[str] = (), wanted: Wanted = EVERYTHING) -> list[tuple[str, int]]:
    """The partitions that may hold what is wanted. Raises as `plan` does."""
    disk = open_folder(folder)
    found = _topics(disk)
    for topic in topics:
        if topic not in found:
            known = ", ".join(found[:5]) + (", …" if len(found) > 5 else "")
            raise UnreadableError(f"{folder} holds no topic {topic!r}; it holds {known or 'none'}")
    chosen = [topic for topic in found if (not topics or topic in topics) and wanted.has_topic(topic)]
    return [
        (topic, partition)
        for topic in chosen
        for partition in _partitions(disk, topic)
        if wanted.has_partition(topic, partition)
    ]


def plan_partition(
    folder: str,
    topic: str,
    partition: int,
    wanted: Wanted = EVERYTHING,
    *,
    whole: bool = False,
    piece_bytes: int = PIECE_BYTES,
) -> Iterator[SegmentPlan]:
    """What to read of one partition, in the order of offsets. Raises as `plan` does."""
    if wanted.is_nothing:
        return
    disk = disk_at(folder)
    for planned in _plan_stream(disk, folder, topic, partition):
        planned.wanted &= wanted
        if not _can_hold(planned, planned.wanted):
            continue
        if whole:
            yield planned
        else:
            yield from _pieces(disk, planned, piece_bytes)


def _can_hold(planned: SegmentPlan, wanted: Wanted) -> bool:
    segment = planned.segment
    # What may still grow has not said yet how late its latest record is.
    is_sealed = segment.next_offset > segment.base
    is_too_old = is_sealed and segment.max_timestamp < wanted.since_ms
    return planned.limit_offset > wanted.first_offset and segment.base < wanted.end_offset and not is_too_old


def _pieces(disk: Disk, planned: SegmentPlan, piece_bytes: int) -> Iterator[SegmentPlan]:
    wanted, segment = planned.wanted, planned.segment
    found = landmarks(disk, planned.stream, segment, planned.certain_bytes, wanted, piece_bytes)
    for one, following in zip_longest(found, found[1:]):
        if one.offset >= wanted.end_offset:
            return
        piece = evolve(planned, begin_bytes=one.position, begin_offset=one.offset)
        if following is None:
            yield piece
        elif following.offset > wanted.first_offset:
            end = following.position
            yield evolve(
                piece,
                segment=evolve(segment, size=end),
                limit_offset=following.offset,
                certain_bytes=end,
                mark=NO_MARK,
                follower=None,
                last=False,
            )


def open_folder(folder: str) -> Disk:
    """A data folder that exists and is of a version we know; unlike a broker, nothing is made. Raises FormatError."""
    disk = disk_at(folder)
    if not disk.exists(FORMAT_FILE):
        raise FormatError(f"{folder} is not a GoQueue data folder: it holds no file {FORMAT_FILE}")
    check_format(disk)
    return disk


def _topics(disk: Disk) -> list[str]:
    if not disk.is_folder(_LOGS):
        return []
    return [name for name in disk.names(_LOGS) if disk.is_folder(f"{_LOGS}/{name}")]


def _partitions(disk: Disk, topic: str) -> list[int]:
    """The partitions of a topic. The folders beneath them are streams of the broker's own, and hold no topic's data."""
    names = [name for name in disk.names(f"{_LOGS}/{topic}") if _PARTITION.fullmatch(name)]
    return sorted(int(name) for name in names if disk.is_folder(f"{_LOGS}/{topic}/{name}"))


def stream_of(topic: str, partition: int) -> str:
    """The folder of a partition, within the data folder."""
    return f"{_LOGS}/{topic}/{partition}"


def _plan_stream(disk: Disk, folder: str, topic: str, partition: int) -> Iterator[SegmentPlan]:
    stream = stream_of(topic, partition)
    checkpoint, segments = list_segments(disk, stream)
    mark = read_mark(disk, stream)
    if checkpoint is None:
        _refuse_rewritten(folder, stream, segments)
        checkpoint = Checkpoint(incarnation=mark.incarnation)
    if mark.incarnation != checkpoint.incarnation:
        # It speaks of a tail that was taken back since.
        mark = NO_MARK
    active = checkpoint.segments[-1] if checkpoint.segments else None
    sealed = segments[: len(checkpoint.segments[:-1])]
    growing = segments[len(sealed) :]
    if active is not None and active.size and not any(one.name == active.name for one in growing):
        # It is lost, or was removed meanwhile: whoever opens it will say so.
        growing.insert(0, active)
    kept = Wanted(first_offset=checkpoint.start_offset)
    source = folder, topic, partition
    for one in sealed:
        yield SegmentPlan(*source, one, kept, offset_limit(one), one.size, begin_offset=one.base)
    for one, follower in zip_longest(growing, growing[1:]):
        certain = active.size if active is not None and one.name == active.name else 0
        yield SegmentPlan(
            *source,
            one,
            kept,
            offset_limit(one, follower),
            max(certain, mark.bytes_of(one)),
            mark,
            follower.base if follower is not None and active is not None else None,
            last=follower is None,
            begin_offset=one.base,
        )


def _refuse_rewritten(folder: str, stream: str, segments: list[Segment]) -> None:
    rewritten = [segment for segment in segments if segment.generation]
    if rewritten:
        raise UnreadableError(
            f"{folder}/{stream} holds rewritten segments such as {rewritten[0].name}{LOG_ENDING}, but no checkpoint"
            " that can be read says which of its segments count; a start of the broker makes it anew"
        )
