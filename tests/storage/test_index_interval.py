"""An index may be as dense as one likes, and become denser or thinner while the log grows."""

import pytest

from goqueue.core.log.config import LogConfig
from goqueue.storage.disk import Disk
from goqueue.storage.open_log import OpenLog
from tests.storage.logbook import STREAM, abandon, numbered, stored

DENSITIES = (256, 1 << 24, 4096, 512)


@pytest.mark.parametrize("stops_in_order", [True, False])
def test_every_batch_is_found_whatever_the_interval_was(any_disk: Disk, stops_in_order: bool) -> None:
    batches: list[bytes] = []
    for interval in DENSITIES:
        log = OpenLog(any_disk, STREAM, LogConfig(index_interval_bytes=interval, segment_bytes=20_000))
        assert stored(log) == batches
        for _ in range(60):
            log.append(batch := numbered(len(batches), 700))
            log.flush()
            batches.append(bytes(batch))
        for offset in range(len(batches)):
            found = log.read(offset, 1)
            assert found is not None
            assert bytes(found.batches) == batches[offset]
        if stops_in_order:
            log.close()
        else:
            abandon(log)
