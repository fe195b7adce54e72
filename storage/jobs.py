"""The slow part of a stream's work, to be run in a thread while the stream goes on.

The order of steps is the promise. Batches are forced to the disk before a checkpoint speaks of them; the checkpoint is
replaced before anything goes that it no longer names; the synced mark follows the sync it reports. A job that fails
stops where it is: each step leaves the disk in a state that recovery understands.
"""

import errno
import time

from attrs import define, field

from goqueue.core.errors import GoQueueError
from goqueue.core.log.effects import Commit, Cut, SyncToken
from goqueue.storage.disk import Disk
from goqueue.storage.errors import DiskFailed
from goqueue.storage.layout import CHECKPOINT_FILE, replace_file
from goqueue.storage.recovery import cut_back, find_cut, remove_segment
from goqueue.storage.segment_files import SegmentFiles
from goqueue.storage.synced_mark import MarkFile


@define
class SealedFile:
    """A segment that grows no more, at least for now, and where it ends."""

    files: SegmentFiles
    size: int


@define
class StreamJob:
    """What one stream wants of the disk; `run` it anywhere, then hand it back to the store."""

    disk: Disk
    folder: str
    written: list[tuple[SegmentFiles, int]]
    sealed: list[SealedFile]
    folder_changed: bool
    token: SyncToken | None
    commit: Commit | None
    cut: Cut | None
    mark: MarkFile
    reserve: tuple[SegmentFiles, int] | None
    removed: list[SegmentFiles] = field(factory=list)
    failed: DiskFailed | None = None
    # What no disk does: a bug, or a machine without memory. How far the job came is not known.
    defect: BaseException | None = None
    syncs: int = 0
    sync_spans_ns: list[int] = field(factory=list)
    step: str = "sync"

    def run(self) -> None:
        """Do all of it; an error ends up in `failed`."""
        try:
            self._seal()
            self._sync()
            if self.commit is not None:
                self._replace_checkpoint(self.commit.checkpoint, self.commit.removed)
            if self.token is not None:
                self._mark(self.token)
            if self.cut is not None:
                self._cut(self.cut)
            self._reserve()
        except (OSError, GoQueueError) as error:
            self.failed = DiskFailed(self.folder, self.step, str(error))

    def _seal(self) -> None:
        for sealed in self.sealed:
            self.step = "seal"
            if sealed.files.log.size() > sealed.size:
                sealed.files.log.truncate(sealed.size)
            sealed.files.sync_indexes()

    def _sync(self) -> None:
        self.step = "sync"
        for files, begun in self.written:
            since = time.perf_counter_ns()
            files.log.finish_sync(begun)
            self.sync_spans_ns.append(time.perf_counter_ns() - since)
            self.syncs += 1
        if self.folder_changed and (self.token is not None or self.commit is not None):
            self.disk.sync_folder(self.folder)

    def _replace_checkpoint(self, checkpoint: bytes, removed: list[str]) -> None:
        self.step = "checkpoint"
        for files, _ in self.written:
            files.sync_indexes()
        replace_file(self.disk, self.folder, CHECKPOINT_FILE, checkpoint)
        self.step = "remove"
        for name in removed:
            remove_segment(self.disk, self.folder, name)

    def _mark(self, token: SyncToken) -> None:
        self.step = "mark"
        self.mark.write(token)

    def _cut(self, cut: Cut) -> None:
        self.step = "cut"
        # Damage on the way there has to be found while the checkpoint still vouches for what lies before it.
        position = find_cut(self.disk, self.folder, cut.segment, cut.offset)
        self._replace_checkpoint(cut.checkpoint, cut.removed)
        self.step = "cut"
        self.mark.remove()
        cut_back(self.disk, self.folder, cut.segment, position)

    def _reserve(self) -> None:
        if self.reserve is None:
            return
        files, size = self.reserve
        try:
            files.log.allocate(size)
        except OSError as error:
            # Room that cannot be reserved may still be found piece by piece; the write will tell.
            if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                raise
        # Also where there was no room or the file system reserves none: it is asked again after some growth only.
        files.reserved_bytes = size
