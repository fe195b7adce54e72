"""Going on with a stream that recovery refuses, when an operator says so.

Every batch that is sound stays at its offset. Segments with damage are written anew without it, and the bytes taken out
are kept in files beside the log, so nothing is destroyed that a person might still make sense of. What cannot be known
is whether a batch after the last sound one was ever acknowledged. Until the new checkpoint is there, nothing counts.
"""

from contextlib import closing
from itertools import zip_longest

from goqueue.core.log.checkpoint import Checkpoint, encode_checkpoint
from goqueue.core.log.config import LogConfig
from goqueue.core.log.epochs import EpochCache
from goqueue.core.log.segment import NO_TIMESTAMP, Segment
from goqueue.core.records.batch import read_header
from goqueue.storage.disk import Disk, File
from goqueue.storage.inspection import list_segments, offset_limit, verify
from goqueue.storage.layout import CHECKPOINT_FILE, LOG_ENDING, replace_file
from goqueue.storage.recovery import recover
from goqueue.storage.salvage import Hole, Salvage, Sound
from goqueue.storage.segment_writer import SegmentWriter

_BLOCK_BYTES = 1 << 20


def repair(disk: Disk, folder: str, config: LogConfig, wall_ms: int) -> list[str]:
    """Go on with what is sound; answers in sentences what was taken out and where it is kept. Raises OSError."""
    if any(verdict.damaged for verdict in verify(disk, folder)):
        notes = _Repair(disk, folder, config).run(wall_ms)
        return notes + recover(disk, folder, config, wall_ms).notes
    return recover(disk, folder, config, wall_ms).notes


class _Repair:
    """One repair under way."""

    def __init__(self, disk: Disk, folder: str, config: LogConfig) -> None:
        self._disk = disk
        self._folder = folder
        self._config = config
        self._epochs = EpochCache()
        self._notes: list[str] = []

    def run(self, wall_ms: int) -> list[str]:
        checkpoint, segments = list_segments(self._disk, self._folder)
        before = checkpoint or Checkpoint(start_offset=segments[0].base)
        kept: list[Segment] = []
        end_offset = 0
        for segment, follower in zip_longest(segments, segments[1:]):
            assert segment is not None
            rescued = self._rescue(segment, max(end_offset, segment.base), offset_limit(segment, follower))
            if rescued is not None:
                kept.append(rescued)
                end_offset = rescued.next_offset
        active = self._begin_active(max(end_offset, before.next_offset), wall_ms)
        repaired = Checkpoint(
            before.incarnation + 1,
            before.start_offset,
            before.cleaned_offset,
            [*kept, active],
            self._epochs.entries(),
            None,
        )
        replace_file(self._disk, self._folder, CHECKPOINT_FILE, encode_checkpoint(repaired))
        return self._notes

    def _rescue(self, segment: Segment, expected: int, limit: int) -> Segment | None:
        """The segment itself when it is whole, one written anew without its holes, None when nothing is sound."""
        path = f"{self._folder}/{segment.name}{LOG_ENDING}"
        if not self._disk.exists(path):
            self._notes.append(f"{path}: missing, with offsets from {segment.base} up to {segment.next_offset}")
            return None
        with closing(self._disk.open(path, read_only=True)) as file:
            end = min(segment.size, file.size())
            salvage = Salvage(file, end, expected, limit, self._epochs.latest)
            faults = salvage.faults()
            is_sealed = segment.next_offset > segment.base
            if not faults and is_sealed and end == segment.size:
                self._note_epochs(salvage)
                return segment
            for fault in faults:
                self._report(segment.name, file, fault)
            writer = SegmentWriter(self._disk, self._folder, [segment], self._config)
            for sound in salvage.batches():
                writer.write([sound.batch])
            self._note_epochs(salvage)
            return writer.finish()

    def _note_epochs(self, salvage: Salvage) -> None:
        for sound in salvage.batches():
            header = read_header(sound.batch)
            self._epochs.assign(header.leader_epoch, header.base_offset)

    def _report(self, name: str, file: File, fault: Sound | Hole) -> None:
        if isinstance(fault, Hole):
            self._keep_aside(name, file, fault)
        else:
            epoch = read_header(fault.batch).leader_epoch
            path = f"{self._folder}/{name}{LOG_ENDING}"
            self._notes.append(f"{path}: gave the batch at byte {fault.position} its neighbours' leader epoch, {epoch}")

    def _keep_aside(self, name: str, file: File, hole: Hole) -> None:
        path = f"{self._folder}/{name}.damaged-{hole.begin}"
        with closing(self._disk.open(path, create=True)) as aside:
            for position in range(hole.begin, hole.end, _BLOCK_BYTES):
                block = file.read(min(_BLOCK_BYTES, hole.end - position), position)
                aside.write([block], position - hole.begin)
            aside.sync()
        self._disk.sync_folder(self._folder)
        self._notes.append(
            f"{self._folder}/{name}{LOG_ENDING}: took out bytes {hole.begin} to {hole.end}, which hold no sound batch;"
            f" they are kept in {path}"
        )

    def _begin_active(self, base: int, wall_ms: int) -> Segment:
        """An empty segment to go on in; where a damaged one of that name lies, nothing of it was sound."""
        segment = Segment(base, 0, 0, base, NO_TIMESTAMP, wall_ms)
        with closing(self._disk.open(f"{self._folder}/{segment.name}{LOG_ENDING}", create=True)) as file:
            file.truncate(0)
            file.sync()
        self._disk.sync_folder(self._folder)
        return segment
