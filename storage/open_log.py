"""A log with a disk beneath it, driven in the caller's thread: what tools, tests and recovery demonstrations use.

The broker drives many logs at once from an event loop; this drives one, waiting wherever it must. `append` only takes
batches over; `flush` writes them, waits for the disk as the fsync mode demands, and answers up to where they are
acknowledged.
"""

import time
from collections.abc import Callable, Iterator

from goqueue.core.clock import Clock
from goqueue.core.errors import GoQueueError
from goqueue.core.log.config import LogConfig
from goqueue.core.log.effects import Read, ReadResult, TimeResult
from goqueue.core.log.log import Log
from goqueue.core.records.batch import split, validate
from goqueue.core.records.record import Record, iterate
from goqueue.storage.compacting import compact, discard
from goqueue.storage.disk import Disk
from goqueue.storage.errors import DiskFailed
from goqueue.storage.jobs import StreamJob
from goqueue.storage.recovery import Recovery
from goqueue.storage.segment_files import ColdError
from goqueue.storage.store import Store

_READ_BYTES = 1 << 20


def system_wall_ms() -> int:
    """The time of day in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


class DiskFailedError(GoQueueError):
    """The disk refused a write or a sync; `recover` finds out what is there and goes on."""


class OpenLog:
    """One stream of a store, with every wait done in place."""

    def __init__(
        self,
        disk: Disk,
        stream: str,
        config: LogConfig | None = None,
        *,
        now: Callable[[], int] = time.monotonic_ns,
        wall_ms: Callable[[], int] = system_wall_ms,
    ) -> None:
        config = LogConfig() if config is None else config
        self._now = now
        self._wall_ms = wall_ms
        self._config = config
        self.stream = stream
        self.store = Store(disk)
        try:
            self.recovery: Recovery = self.store.recover(stream, config, wall_ms())
        except BaseException:
            self.store.close()
            raise
        self._clock = Clock(now(), wall_ms())
        self.log = Log(stream, config, self._clock, self.recovery.state)

    def append(self, batch: bytearray | memoryview, leader_epoch: int = 0) -> int:
        """Take over a batch; answers the offset of its first record."""
        return self.log.append(self._now(), batch, leader_epoch)

    def write(self) -> None:
        """Hand everything to the operating system, waiting for nothing."""
        self.store.perform(self.log.take(self._now()))
        self._raise_failures()

    def flush(self) -> int:
        """Write, wait for the disk as the fsync mode demands, and answer the acknowledged offset."""
        self.write()
        self.run_jobs()
        return self.log.acknowledged_offset

    def run_jobs(self) -> None:
        """Do all work that waits for the disk."""
        while jobs := self.store.take_jobs():
            for job in jobs:
                job.run()
                self.finish(job)

    def finish(self, job: StreamJob) -> None:
        """Tell the log what came of a job."""
        self.store.finish(job)
        self._raise_failures()
        if job.token is not None:
            self.log.synced(self._now(), job.token)
        if job.cut is not None:
            self.recover()

    def _raise_failures(self) -> None:
        for failure in self.store.failures():
            self.log.disk_failed(self._now(), failure.why)
            raise DiskFailedError(_sentence(failure))

    def recover(self) -> None:
        """Read back what is on the disk and go on from there, after a failure or a cut."""
        self.recovery = self.store.recover(self.stream, self._config, self._wall_ms())
        self.log.reopened(self._now(), self.recovery.state)
        self.flush()

    def wake(self) -> None:
        """Do what time has brought about: the interval's sync, retention, compaction."""
        self._clock.moved(self._now(), self._wall_ms())
        self.log.wake(self._now())
        self.flush()

    def compact(self) -> bool:
        """Compact what is worth it; False when nothing is."""
        plan = self.log.compaction(self._now())
        if plan is None:
            return False
        done = compact(self.store.disk, plan, self._config)
        if not self.log.compacted(self._now(), plan, done.end_offset, done.outputs):
            discard(self.store.disk, plan.stream, done.outputs)
            return False
        self.flush()
        return True

    def truncate(self, offset: int) -> None:
        """Take back everything at `offset` and later."""
        self.log.truncate(self._now(), offset)
        self.flush()

    def read(self, offset: int, max_bytes: int = _READ_BYTES) -> ReadResult | None:
        """Whole batches from `offset` on; None at the end of the log."""
        while (read := self.log.read(offset, max_bytes)) is not None:
            result = self._fetch(read)
            self.log.read_done(read, result.next_offset, result.next_position)
            if result.batches or result.next_offset == offset:
                return result if result.batches else None
            offset = result.next_offset
        return None

    def _fetch(self, read: Read) -> ReadResult:
        try:
            return self.store.read(read)
        except ColdError:
            return self.store.cold_read(read).run()

    def batches(self, offset: int | None = None, max_bytes: int = _READ_BYTES) -> Iterator[memoryview]:
        """Runs of whole batches from `offset`, or from the start, to the end."""
        at = self.log.start_offset if offset is None else offset
        while (result := self.read(at, max_bytes)) is not None:
            at = result.next_offset
            yield result.batches

    def records(self, offset: int | None = None) -> Iterator[Record]:
        """Every record from `offset`, or from the start, to the end. Raises BatchError when a batch is not sound."""
        first = self.log.start_offset if offset is None else offset
        for run in self.batches(first):
            for batch in split(run):
                validate(batch, compacted=True)
                yield from (record for record in iterate(batch) if record.offset >= first)

    def find_time(self, timestamp: int) -> TimeResult | None:
        """The first record at or after a time in milliseconds since 1970."""
        find = self.log.find_time(timestamp)
        if find is None:
            return None
        try:
            return self.store.find_time(find)
        except ColdError:
            return self.store.cold_find_time(find).run()

    def close(self) -> None:
        """Leave a checkpoint by which the next start has nothing to read back, and let go of the folder."""
        try:
            self.log.close(self._now())
            self.flush()
        finally:
            self.store.close()


def _sentence(failure: DiskFailed) -> str:
    return f"{failure.stream}: {failure.operation} failed: {failure.why}"
