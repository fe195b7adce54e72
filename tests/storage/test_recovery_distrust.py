"""A sync that fails during recovery is as bad as one that fails later: the next process must not believe the cache."""

import errno
import os

import pytest

from goqueue.core.log.config import LogConfig
from goqueue.core.records.build import encode
from goqueue.storage.open_log import OpenLog
from goqueue.storage.recovery import recover
from goqueue.storage.simulated import SimulatedDisk
from tests.storage.logbook import STREAM, abandon, numbered, opened, stored


def test_a_sync_that_fails_in_recovery_is_known_to_the_next_process() -> None:
    """1. Batches are written and not synced. 2. The process is killed. 3. The next one fails to sync them and is too.

    4. The one after it must not take what only the cache has for recovered: a crash would take it away again.
    """
    disk, config = SimulatedDisk(1), LogConfig()
    log = OpenLog(disk, STREAM, config, now=lambda: 0, wall_ms=lambda: 0)
    log.append(encode([(1, None, b"never acknowledged", ())]))
    log.write()
    disk.kill()
    disk.fail_next("sync", errno.EIO, STREAM)
    with pytest.raises(OSError, match="Input/output"):
        recover(disk, STREAM, config, 0)
    disk.kill()
    believed = recover(disk, STREAM, config, 0).state.tail.segment.next_offset
    disk.crash(survives=0.0)
    assert recover(disk, STREAM, config, 0).state.tail.segment.next_offset == believed


def test_a_process_that_died_of_a_failed_sync_leaves_nothing_that_the_next_one_believes() -> None:
    """1. A batch is synced, another written. 2. The sync of that one fails. 3. The process is killed at once.

    4. The disk is well again, and every sync succeeds. 5. A crash takes away nothing that the next process believed.
    """
    disk = SimulatedDisk(1)
    log = opened(disk)
    log.append(numbered(0))
    log.flush()
    log.append(numbered(1))
    log.write()
    disk.fail_next("sync", errno.EIO, STREAM)
    [job] = log.store.take_jobs()
    job.run()
    assert job.failed is not None
    disk.kill()
    believed = recover(disk, STREAM, LogConfig(), 0).state.tail.segment.next_offset
    assert believed == 1
    disk.crash(survives=0.0)
    assert recover(disk, STREAM, LogConfig(), 0).state.tail.segment.next_offset == believed


def test_what_was_lost_of_a_page_is_not_believed_because_another_part_of_it_is_still_to_be_written() -> None:
    """A page stays in the cache whole until it is synced: dropped before that, it would show what the disk has not."""
    disk = SimulatedDisk(1)
    log = opened(disk)
    log.append(numbered(0))
    log.flush()
    log.append(numbered(1))
    log.write()
    disk.fail_next("sync", errno.EIO, STREAM)
    [job] = log.store.take_jobs()
    log.append(numbered(2))
    log.write()
    job.run()
    disk.kill()
    believed = recover(disk, STREAM, LogConfig(), 0).state.tail.segment.next_offset
    disk.crash(survives=0.0)
    assert recover(disk, STREAM, LogConfig(), 0).state.tail.segment.next_offset == believed


def test_what_was_to_be_done_before_a_recovery_that_failed_is_done_no_more() -> None:
    disk = SimulatedDisk()
    log = opened(disk)
    log.append(numbered(0))
    log.write()
    log.log.truncate(0, 0)
    disk.fail_next("sync", errno.EIO, STREAM)
    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        log.recover()
    assert log.store.take_jobs() == []
    assert log.store.doubts(STREAM)
    log.recover()
    assert log.log.unsound is None
    log.append(numbered(1))
    log.flush()
    batches = stored(log)
    abandon(log)
    disk.crash(0.0)
    assert stored(opened(disk))[-1] == batches[-1]
