"""Streams that nobody uses hold no files: thousands of partitions fit into the descriptors of one process."""

import os
from pathlib import Path

from goqueue.core.clock import Clock
from goqueue.core.log.config import Fsync, LogConfig
from goqueue.core.log.log import Log
from goqueue.core.records.build import encode
from goqueue.storage.files import FileDisk
from goqueue.storage.store import Store

STREAMS = 700
DESCRIPTORS_MAX = 512 * 4 + 50


class Broker:
    """A store and the logs of many streams, each synced after every append."""

    def __init__(self, folder: Path) -> None:
        self.store = Store(FileDisk(str(folder)))
        self.config = LogConfig(fsync=Fsync.EVERY)
        clock = Clock(0, 1_700_000_000_000)
        self.logs = [self._open(f"logs/t/{number}", clock) for number in range(STREAMS)]

    def _open(self, stream: str, clock: Clock) -> Log:
        return Log(stream, self.config, clock, self.store.recover(stream, self.config, 0).state)

    def append(self, log: Log, value: bytes) -> None:
        """Append, write and sync."""
        log.append(0, encode([(1_700_000_000_000, None, value, ())]))
        self.store.perform(log.take(0))
        for job in self.store.take_jobs():
            job.run()
            self.store.finish(job)
            assert job.failed is None
            assert job.token is not None
            log.synced(0, job.token)
        assert log.acknowledged_offset == log.next_offset

    def size(self, log: Log) -> int:
        """How many bytes a reader finds."""
        read = log.read(0, 1 << 20)
        assert read is not None
        # The system may have dropped the pages by now, and says so rather than wait.
        return len(self.store.cold_read(read).run().batches)


def test_streams_that_nobody_uses_hold_no_files_and_open_them_again(tmp_path: Path) -> None:
    broker = Broker(tmp_path)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        for log in broker.logs:
            broker.append(log, b"value")
            assert len(os.listdir("/proc/self/fd")) - before < DESCRIPTORS_MAX
    sizes = {broker.size(log) for log in broker.logs}
    assert len(sizes) == 1
    broker.store.close()


def test_a_stream_with_unsynced_writes_keeps_its_files_until_they_are_synced(tmp_path: Path) -> None:
    broker = Broker(tmp_path)
    first = broker.logs[0]
    first.append(0, encode([(1_700_000_000_000, None, b"unsynced", ())]))
    broker.store.perform(first.take(0))
    stream = broker.store._streams[first.stream]
    assert not stream.release()
    for job in broker.store.take_jobs():
        job.run()
        broker.store.finish(job)
    assert stream.release()
    assert broker.size(first) > 0
    broker.append(first, b"more")
    broker.store.close()
