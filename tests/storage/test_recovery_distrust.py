"""A sync that fails during recovery is as bad as one that fails later: the next process must not believe the cache."""

import errno

import pytest

from goqueue.core.log.config import LogConfig
from goqueue.core.records.build import encode
from goqueue.storage.open_log import OpenLog
from goqueue.storage.recovery import recover
from goqueue.storage.simulated import SimulatedDisk

STREAM = "logs/orders/0"


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
