"""A log on a real disk, driven by turns as a broker drives it: writes at once, whatever waits for the disk in a thread.

One stream and one disk thread, which is all that one stream can keep busy. Every turn looks for failures, since that is
what an acknowledgement rests on. Leaving the `with` lets go of the log as a
killed process does; for a clean end, call `close` before.
"""

import time
from collections.abc import Iterable
from pathlib import Path
from queue import SimpleQueue

from goqueue.core.log.config import LogConfig
from goqueue.storage.files import FileDisk
from goqueue.storage.jobs import StreamJob
from goqueue.storage.open_log import OpenLog
from goqueue.storage.threads import DiskThreads

STREAM = "logs/bench/0"


def wall_ms() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def open_log(folder: Path, config: LogConfig, stream: str = STREAM) -> OpenLog:
    """The log of a benchmark's folder, recovered."""
    return OpenLog(FileDisk(str(folder)), stream, config, now=time.monotonic_ns, wall_ms=wall_ms)


class DrivenLog:
    """An open log with a disk thread."""

    def __init__(self, folder: Path, config: LogConfig, stream: str = STREAM) -> None:
        self.opened = open_log(folder, config, stream)
        self.log = self.opened.log
        self.syncs = 0
        self._store = self.opened.store
        self._finished: SimpleQueue[StreamJob] = SimpleQueue()
        self._threads = DiskThreads(self._finished.put, count=1)
        self._now = time.monotonic_ns

    def __enter__(self) -> "DrivenLog":
        return self

    def __exit__(self, *_: object) -> None:
        self._threads.close()
        while not self._finished.empty():
            self._store.finish(self._finished.get())
        self._store.close()

    def turn(self, batches: Iterable[bytearray]) -> None:
        """Append what a read from the network brought, hand it to the disk, and take note of what the disk has done."""
        now = self._now()
        append = self.log.append
        for batch in batches:
            append(now, batch)
        self.opened.write()
        self.submit_jobs()
        while not self._finished.empty():
            self._finish(self._finished.get())

    def submit_jobs(self) -> None:
        """Let the thread do what waits for the disk."""
        for job in self._store.take_jobs():
            self._threads.submit(job)

    def await_job(self) -> None:
        """Wait for the thread to be done with a job."""
        self._finish(self._finished.get())

    def settle(self) -> None:
        """Wait until nothing is left to be done."""
        self.submit_jobs()
        while self._store.pending():
            self.await_job()
            self.submit_jobs()

    def close(self) -> None:
        """Leave a checkpoint, so that the next start has nothing to read back."""
        self.settle()
        self.log.close(self._now())
        self.opened.write()
        self.settle()

    def _finish(self, job: StreamJob) -> None:
        self.syncs += job.syncs
        self.opened.finish(job)
