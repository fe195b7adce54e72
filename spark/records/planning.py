"""Which segment files make up the topics of a data folder, and how much of each must be there.

A broker may be appending meanwhile, so nothing here locks, writes or repairs. What counts is decided as recovery would
decide it: sealed segments as the checkpoint names them, whole; then the growing one and those begun after it, which may
end in a write that was cut short, but not before the place up to which the checkpoint or the synced mark vouches.

Invariant: no record is in two segments of a plan. Files that compaction has replaced or not yet put in place are told
apart by the checkpoint alone; so without one, a folder that holds rewritten segments is refused.
"""

import re
from collections.abc import Iterator
from itertools import zip_longest

from attrs import define

from goqueue.core.errors import GoQueueError
from goqueue.core.log.checkpoint import Checkpoint
from goqueue.core.log.segment import Segment
from goqueue.storage.files import FileDisk
from goqueue.storage.inspection import list_segments, offset_limit
from goqueue.storage.layout import FORMAT_FILE, LOG_ENDING, FormatError, check_format
from goqueue.storage.synced_mark import NO_MARK, SyncedMark, read_mark

_LOGS = "logs"
_PARTITION = re.compile(r"0|[1-9][0-9]*")


class UnreadableError(GoQueueError):
    """What was asked for cannot be read, and why."""


@define
class SegmentPlan:
    """One segment file to be read, whichever process does it.

    Records below `first_offset` were deleted although they are still there; none is at `limit_offset` or above. The
    first `certain_bytes` must be sound, and what comes after them may be torn if the segment is the `last`. Where the
    next one is known to follow without a gap, that is at offset `follower`.
    """

    folder: str
    topic: str
    partition: int
    segment: Segment
    first_offset: int
    limit_offset: int
    certain_bytes: int
    mark: SyncedMark = NO_MARK
    follower: int | None = None
    last: bool = False

    @property
    def stream(self) -> str:
        """The folder of the segment, within the data folder."""
        return _stream(self.topic, self.partition)

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


def plan(folder: str, topic: str | None = None) -> list[SegmentPlan]:
    """The segments of one topic, or of all, by topic, partition and offset.

    Raises FormatError, UnreadableError, DamageError, OSError.
    """
    disk = open_folder(folder)
    topics = _topics(disk)
    if topic is not None and topic not in topics:
        known = ", ".join(topics[:5]) + (", …" if len(topics) > 5 else "")
        raise UnreadableError(f"{folder} holds no topic {topic!r}; it holds {known or 'none'}")
    return [
        planned
        for name in (topics if topic is None else [topic])
        for partition in _partitions(disk, name)
        for planned in _plan_stream(disk, name, partition)
    ]


def open_folder(folder: str) -> FileDisk:
    """A data folder that exists and is of a version we know; unlike a broker, nothing is made. Raises FormatError."""
    disk = FileDisk(folder)
    if not disk.exists(FORMAT_FILE):
        raise FormatError(f"{folder} is not a GoQueue data folder: it holds no file {FORMAT_FILE}")
    check_format(disk)
    return disk


def _topics(disk: FileDisk) -> list[str]:
    if not disk.is_folder(_LOGS):
        return []
    return [name for name in disk.names(_LOGS) if disk.is_folder(f"{_LOGS}/{name}")]


def _partitions(disk: FileDisk, topic: str) -> list[int]:
    """The partitions of a topic. The folders beneath them are streams of the broker's own, and hold no topic's data."""
    names = [name for name in disk.names(f"{_LOGS}/{topic}") if _PARTITION.fullmatch(name)]
    return sorted(int(name) for name in names if disk.is_folder(f"{_LOGS}/{topic}/{name}"))


def _stream(topic: str, partition: int) -> str:
    return f"{_LOGS}/{topic}/{partition}"


def _plan_stream(disk: FileDisk, topic: str, partition: int) -> Iterator[SegmentPlan]:
    stream = _stream(topic, partition)
    checkpoint, segments = list_segments(disk, stream)
    mark = read_mark(disk, stream)
    if checkpoint is None:
        _refuse_rewritten(disk, stream, segments)
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
    source = disk.root, topic, partition
    for one in sealed:
        yield SegmentPlan(*source, one, checkpoint.start_offset, offset_limit(one), one.size)
    for one, follower in zip_longest(growing, growing[1:]):
        certain = active.size if active is not None and one.name == active.name else 0
        yield SegmentPlan(
            *source,
            one,
            checkpoint.start_offset,
            offset_limit(one, follower),
            max(certain, mark.bytes_of(one)),
            mark,
            follower.base if follower is not None and active is not None else None,
            last=follower is None,
        )


def _refuse_rewritten(disk: FileDisk, stream: str, segments: list[Segment]) -> None:
    rewritten = [segment for segment in segments if segment.generation]
    if rewritten:
        raise UnreadableError(
            f"{disk.root}/{stream} holds rewritten segments such as {rewritten[0].name}{LOG_ENDING}, but no checkpoint"
            " that can be read says which of its segments count; a start of the broker makes it anew"
        )
