"""All streams of one data folder: the place where effects go in and the disk's answers come out.

A driver's turn is: `perform` what the logs want, `take_jobs` and run them in threads, `finish` those that are done
and tell the logs. Reads are answered at once from the page cache or, when that raises ColdError, by `cold_read` in a
thread. The store keeps no clock and starts no thread. One process at a time may have it open. Of thousands of streams
only those used lately have files open.
"""

from collections.abc import Sequence
from itertools import islice

from goqueue.core.errors import GoQueueError
from goqueue.core.log.config import LogConfig
from goqueue.core.log.effects import Append, Effect, FindTime, Read, ReadResult, TimeResult
from goqueue.storage.buffers import BufferPool
from goqueue.storage.disk import Disk
from goqueue.storage.errors import DefectError, DiskFailed
from goqueue.storage.jobs import StreamJob
from goqueue.storage.layout import LOCK_FILE, check_format
from goqueue.storage.meters import StoreMeters
from goqueue.storage.reading import ColdFindTime, ColdRead, Span, fetch, find_in
from goqueue.storage.recovery import Recovery, recover
from goqueue.storage.removal import remove_gone
from goqueue.storage.stream import Stream

# Streams that may have files open, each two or three as a rule: the rest open theirs when they are used again.
_WARM_MAX = 512
# How many of the longest unused are looked at when there is one too many; all of them may be in the middle of work.
_COOLED_MAX = 16
LOGS_FOLDER = "logs"


class Store:
    """The streams under one root, which no other process may open meanwhile."""

    def __init__(self, disk: Disk, meters: StoreMeters | None = None) -> None:
        self.disk = disk
        self.meters = meters or StoreMeters()
        self._streams: dict[str, Stream] = {}
        # Those that may have a job to give: walking over thousands of idle ones would cost a turn more than its work.
        self._busy: dict[str, Stream] = {}
        # Those that may have files open, the longest unused first.
        self._warm: dict[str, Stream] = {}
        self._failures: list[DiskFailed] = []
        self._buffers = BufferPool()
        disk.make_folder("")
        self._lock = disk.lock(LOCK_FILE)
        try:
            check_format(disk)
            remove_gone(disk, LOGS_FOLDER)
        except BaseException:
            self._lock.release()
            raise

    def recover(self, stream: str, config: LogConfig, wall_ms: int) -> Recovery:
        """Bring a stream's state back from the disk, or begin an empty one. Raises DamageError, OSError.

        It waits for the disk; no job of the stream may be running.
        """
        known = self._streams.get(stream)
        try:
            recovery = recover(self.disk, stream, config, wall_ms, distrust=self.doubts(stream))
        except (OSError, GoQueueError) as error:
            if known is not None:
                # It may have come half of its way: what was still to be done was meant for the files as they were.
                known.fail("recovery", str(error))
            raise
        self.opened(stream)
        return recovery

    def opened(self, stream: str) -> None:
        """A stream was recovered, by `recover` or in a thread; go on with it as it is on the disk."""
        known = self._streams.get(stream)
        if known is None:
            self._streams[stream] = Stream(self.disk, stream)
        else:
            known.reopen()

    def doubts(self, stream: str) -> bool:
        """Whether the page cache may show what the disk does not have of a stream.

        A sync has failed since it was recovered last, or an earlier process may have seen one fail.
        """
        known = self._streams.get(stream)
        return known is None or known.failed is not None

    def is_busy(self, stream: str) -> bool:
        """Whether a job of a stream is running."""
        known = self._streams.get(stream)
        return known is not None and known.job_running

    def forget(self, stream: str) -> None:
        """Let go of a stream's files, which are to be removed."""
        self._streams.pop(stream, None)
        self.meters.forget(stream)
        self._busy.pop(stream, None)
        self._warm.pop(stream, None)

    def perform(self, effects: Sequence[Effect]) -> None:
        """Do what logs want done, in order; `failures` tells what the disk refused."""
        for effect in effects:
            stream = self._used(effect.stream)
            self._busy[effect.stream] = stream
            if stream.failed is None:
                stream.perform(effect)
                self._note_failure(stream)
                if type(effect) is Append:
                    self.meters.appended(effect.stream, sum(map(len, effect.buffers)))

    def _used(self, name: str) -> Stream:
        """A stream that is about to use its files; one that has not for long lets go of its own instead."""
        stream = self._streams[name]
        self._warm.pop(name, None)
        self._warm[name] = stream
        if len(self._warm) > _WARM_MAX:
            for oldest in list(islice(self._warm, _COOLED_MAX)):
                if self._warm[oldest].release():
                    del self._warm[oldest]
        return stream

    def take_jobs(self) -> list[StreamJob]:
        """The work that waits for the disk, at most one job a stream; run each in a thread and `finish` it."""
        if not self._busy:
            return []
        jobs = [stream.take_job() for stream in self._busy.values()]
        self._busy.clear()
        return [job for job in jobs if job is not None]

    def finish(self, job: StreamJob) -> None:
        """Take back a job that has been run. Raises DefectError when that ended in something that no disk does."""
        if job.defect is not None:
            raise DefectError(f"{job.folder}: {job.step}", job.defect)
        stream = self._streams[job.folder]
        failed_before = stream.failed is not None
        stream.finish(job)
        self.meters.synced(job.sync_spans_ns, failed=job.failed is not None and job.step == "sync")
        # What came while the job ran is the next one's work.
        self._busy[job.folder] = stream
        if not failed_before:
            self._note_failure(stream)

    def _note_failure(self, stream: Stream) -> None:
        if stream.failed is not None:
            self._failures.append(stream.failed)

    def pending(self) -> bool:
        """Whether any stream has work that is not finished."""
        return any(stream.pending() for stream in self._streams.values())

    def failed(self) -> bool:
        """Whether the disk of any stream has failed since the stream was recovered last."""
        return any(stream.failed is not None for stream in self._streams.values())

    def failures(self) -> list[DiskFailed]:
        """The streams that failed since this was last asked."""
        fresh, self._failures = self._failures, []
        return fresh

    def read(self, read: Read) -> ReadResult:
        """Answer a read without waiting. Raises ColdError, DamageError, OSError."""
        result = fetch(self._used(read.stream).segment(read.segment), read, self._buffers, cached=True)
        self.meters.bytes_read += len(result.batches)
        return result

    def cold_read(self, read: Read) -> ColdRead:
        """The same as a job that waits for the disk, to be run in a thread."""
        return ColdRead(self._used(read.stream).segment(read.segment), read)

    def find_time(self, find: FindTime) -> TimeResult | None:
        """Find a record by its time without waiting. Raises ColdError, DamageError, OSError."""
        return find_in(self._time_spans(find), find, self._buffers, cached=True)

    def cold_find_time(self, find: FindTime) -> ColdFindTime:
        """The same as a job that waits for the disk, to be run in a thread."""
        return ColdFindTime(self._time_spans(find), find)

    def _time_spans(self, find: FindTime) -> list[Span]:
        stream, last = self._used(find.stream), len(find.segments) - 1
        return [
            Span(stream.segment(name), end_position, find.position if number == last else -1)
            for number, (name, end_position) in enumerate(find.segments)
        ]

    def close(self) -> None:
        """Let go of all files and of the lock; jobs must have been finished."""
        assert not any(stream.job_running for stream in self._streams.values())
        self.abandon()

    def abandon(self) -> None:
        """The same when the process ends for a defect: whatever was still to be done is left to the next recovery.

        No thread may be running a job any more, or the next process would find the files changing.
        """
        self._streams.clear()
        self._busy.clear()
        self._warm.clear()
        self._lock.release()
