"""One stream on a disk: performs the effects of its log at once, and gathers what has to wait for the disk into jobs.

Writes go to the page cache in the caller's thread, one system call for all buffers of a turn. Whatever may block for
long (fsync, truncation, removal, reserving room, recovery) becomes part of the next `StreamJob`, which a thread runs
while the stream goes on taking writes. There is at most one job of a stream at a time, and it covers all that came
before it: that is group commit.

After an error nothing more is performed: what the disk holds is not known until `recover` has looked.
"""

from collections.abc import Callable, Sequence

from goqueue.core.log.effects import Append, Commit, Cut, Effect, Roll, Sync, SyncToken, Trim, WriteIndex
from goqueue.storage.disk import Disk
from goqueue.storage.errors import DiskFailed
from goqueue.storage.jobs import SealedFile, StreamJob
from goqueue.storage.segment_files import SegmentFiles
from goqueue.storage.synced_mark import MarkFile

_OPEN_SEGMENTS_MAX = 16


class Stream:
    """The files of one stream, and what is still to be done to them."""

    def __init__(self, disk: Disk, folder: str) -> None:
        self.folder = folder
        self.failed: DiskFailed | None = None
        self.job_running = False
        self._disk = disk
        self._open: dict[str, SegmentFiles] = {}
        self._active: SegmentFiles | None = None
        self._mark = MarkFile(disk, folder)
        self._forget_work()

    def _forget_work(self) -> None:
        self._written: dict[str, SegmentFiles] = {}
        self._sealed: list[SealedFile] = []
        self._folder_changed = False
        self._token: SyncToken | None = None
        self._commit_wanted: Commit | None = None
        self._cut_wanted: Cut | None = None

    # --- effects

    def perform(self, effect: Effect) -> None:
        """Do one effect, or gather it for the next job; a disk's error is kept in `failed`."""
        if self.failed is not None:
            return
        try:
            _PERFORM[type(effect)](self, effect)
        except OSError as error:
            self.fail(type(effect).__name__.lower(), str(error))

    def fail(self, operation: str, why: str) -> None:
        """Do nothing more until a recovery has looked at what is there."""
        self.failed = DiskFailed(self.folder, operation, why)
        self._forget_work()

    def _append(self, append: Append) -> None:
        files = self._writable(append.segment)
        files.write(append.buffers, append.position)
        self._written[append.segment] = files

    def _write_index(self, write: WriteIndex) -> None:
        self._writable(write.segment).write_pages(write.pages)

    def _roll(self, roll: Roll) -> None:
        sealed = self._writable(roll.sealed)
        self._sealed.append(SealedFile(sealed, roll.size))
        self._written[roll.sealed] = sealed
        self._active = self.segment(roll.opened, create=True)
        self._written[roll.opened] = self._active
        self._folder_changed = True

    def _trim(self, trim: Trim) -> None:
        files = self._writable(trim.segment)
        self._sealed.append(SealedFile(files, trim.size))
        self._written[trim.segment] = files

    def _writable(self, name: str) -> SegmentFiles:
        """The files of the active segment: always one object, so that what syncs it knows all that was written."""
        if self._active is None or self._active.name != name:
            self._active = self.segment(name)
        return self._active

    def _sync(self, sync: Sync) -> None:
        self._token = sync.token

    def _commit(self, commit: Commit) -> None:
        earlier = self._commit_wanted.removed if self._commit_wanted is not None else []
        self._commit_wanted = Commit(commit.stream, commit.checkpoint, [*earlier, *commit.removed])

    def _cut(self, cut: Cut) -> None:
        earlier = self._commit_wanted.removed if self._commit_wanted is not None else []
        self._commit_wanted = None
        self._cut_wanted = Cut(cut.stream, cut.segment, cut.offset, cut.checkpoint, [*earlier, *cut.removed])

    # --- jobs

    def take_job(self) -> StreamJob | None:
        """What has to wait for the disk, to be run in a thread; None when there is nothing or one is still running."""
        if self.job_running or self.failed is not None:
            return None
        reserve = self._reserve_wanted()
        if not (self._token or self._commit_wanted or self._cut_wanted or self._sealed or reserve):
            return None
        syncs = self._token is not None or self._commit_wanted is not None or self._cut_wanted is not None
        job = StreamJob(
            disk=self._disk,
            folder=self.folder,
            written=[(files, files.log.begin_sync()) for files in self._written.values()] if syncs else [],
            sealed=self._sealed,
            folder_changed=self._folder_changed,
            token=self._token,
            commit=self._commit_wanted,
            cut=self._cut_wanted,
            mark=self._mark,
            reserve=reserve,
            removed=self._let_go(),
        )
        if syncs:
            self._written = {}
            self._folder_changed = False
        self._sealed = []
        self._token = self._commit_wanted = self._cut_wanted = None
        self.job_running = True
        return job

    def _reserve_wanted(self) -> tuple[SegmentFiles, int] | None:
        size = self._active.reserve_wanted() if self._active is not None else 0
        return (self._active, size) if self._active is not None and size else None

    def _let_go(self) -> list[SegmentFiles]:
        """Drop the files that a commit or a cut removes; the job closes what nobody reads any more."""
        wanted = self._cut_wanted or self._commit_wanted
        names = wanted.removed if wanted is not None else []
        for name in names:
            self._written.pop(name, None)
        dropped = [self._open.pop(name) for name in names if name in self._open]
        if self._cut_wanted is not None:
            # The cut reads and writes the last segment through files of its own.
            self._active = None
            self._open.pop(self._cut_wanted.segment, None)
            self._written.pop(self._cut_wanted.segment, None)
        return dropped

    def finish(self, job: StreamJob) -> None:
        """Take note of a job that has been run; its answers are in the job."""
        self.job_running = False
        if job.failed is not None and self.failed is None:
            self.failed = job.failed
        if self.failed is not None:
            self._forget_work()

    def release(self) -> bool:
        """Let go of all files, which open again when they are used; False while something is still to be done to them.

        Readers that hold some keep those.
        """
        if self._written or self.pending():
            return False
        self._active = None
        self._open.clear()
        self._mark = MarkFile(self._disk, self.folder)
        return True

    def reopen(self) -> None:
        """Begin anew after a recovery: no file is open, nothing is pending."""
        assert not self.job_running
        self.failed = None
        self._active = None
        self._mark = MarkFile(self._disk, self.folder)
        self._open.clear()
        self._forget_work()

    # --- files

    def segment(self, name: str, *, create: bool = False) -> SegmentFiles:
        """The open files of a segment; those used least recently are let go beyond a bound."""
        files = self._open.pop(name, None)
        if files is None:
            files = SegmentFiles(self._disk, self.folder, name, create=create)
            while len(self._open) >= _OPEN_SEGMENTS_MAX:
                self._open.pop(next(iter(self._open)))
        self._open[name] = files
        return files

    def pending(self) -> bool:
        """Whether a job is running or the next one has something to do."""
        wanted: Sequence[object] = (self._token, self._commit_wanted, self._cut_wanted, self._sealed)
        return self.job_running or (self.failed is None and any(wanted))


# Not in each stream: bound methods would keep it, and the files it has open, alive until the next collection.
_PERFORM: dict[type[Effect], Callable[..., None]] = {
    Append: Stream._append,
    WriteIndex: Stream._write_index,
    Roll: Stream._roll,
    Trim: Stream._trim,
    Sync: Stream._sync,
    Commit: Stream._commit,
    Cut: Stream._cut,
}
