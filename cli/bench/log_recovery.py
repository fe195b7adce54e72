"""Opening a log again: after a clean end, after a kill, and with nothing left but the batches.

Measured by the wall clock, from the folder to a log that takes appends, since much of it is waiting for the disk.
What an earlier round changed is put back and forced to the disk before each. Nothing in `recover_killed` vouches for
any batch: the log was written with fsync off, so no checkpoint was made on the way and the whole segment is read and
checked. `recover_bare` has no checkpoint and no index files either. `recover_killed_synced` is what the default mode
leaves at worst: a checkpoint 64 MB behind.

The limit is reading the same file from the disk a megabyte at a time into one buffer, with the CRC-32C of every batch:
after an unclean end neither believes the page cache. Value, limit and ratio are of the best rounds, p50_ms is the
median.
"""

import os
from functools import partial

from attrs import define
from crc32c import crc32c

from goqueue.cli.bench.driven_log import open_log
from goqueue.cli.bench.figures import Bar, Entry, Figure
from goqueue.cli.bench.shared_log import SharedLog, Snapshot, build
from goqueue.cli.bench.sizes import MB, Sizes
from goqueue.cli.bench.workbench import Stopwatch, Timing, Workbench
from goqueue.core.log.config import LogConfig
from goqueue.core.records.batch import CRC_COVERS_FROM, HEADER_BYTES, read_header
from goqueue.storage.layout import CHECKPOINT_FILE, INDEX_ENDINGS

_READ_BYTES = 1 << 20
_DERIVED = (CHECKPOINT_FILE, *INDEX_ENDINGS.values())


def entries(sizes: Sizes) -> list[Entry]:
    """The figures of this module."""
    quick, fast = Bar("value", below=0.3), Bar("ratio", least=0.5)
    tail_bytes = 2 * sizes.checkpoint_bytes
    return [
        Entry("recover_indexed", "open a log that was closed", _measure_indexed, (quick,), (100,)),
        Entry("recover_killed", "open a log after a kill, nothing vouched for", _measure_killed, (fast,), (100,)),
        Entry("recover_bare", "open a log without checkpoint and indexes", _measure_bare, (fast,), (100,)),
        Entry("recover_killed_synced", "open a log after a kill, fsync every", _measure_synced, disk_bytes=tail_bytes),
    ]


def _measure_indexed(bench: Workbench) -> Figure:
    shared = bench.shared(100)
    return _seconds(bench, _Found(shared, shared.closed))


def _measure_synced(bench: Workbench) -> Figure:
    checkpoint_bytes = bench.sizes.checkpoint_bytes
    with bench.folder() as folder:
        # Just short of the second checkpoint.
        config = LogConfig(checkpoint_bytes=checkpoint_bytes)
        shared = build(folder / "log", 2 * checkpoint_bytes - checkpoint_bytes // 16, 100, config)
        return _seconds(bench, _Found(shared, shared.killed))


def _measure_killed(bench: Workbench) -> Figure:
    shared = bench.shared(100)
    return _rate(bench, _Found(shared, shared.killed))


def _measure_bare(bench: Workbench) -> Figure:
    shared = bench.shared(100)
    return _rate(bench, _Found(shared, shared.killed, _DERIVED))


@define
class _Found:
    """A log as a start finds it, time and again."""

    shared: SharedLog
    state: Snapshot
    without: tuple[str, ...] = ()
    scanned_bytes: int = 0

    def recover(self) -> Timing:
        """Open the log, from the folder on, and leave it without a word."""
        self.state.restore(without=self.without)
        with Stopwatch() as watch:
            log = open_log(self.shared.root, self.shared.config)
        log.store.close()
        assert log.log.next_offset == self.shared.record_count
        self.scanned_bytes = log.recovery.scanned_bytes
        return watch.timing


def _seconds(bench: Workbench, found: _Found) -> Figure:
    timings = bench.interleave(bench.sizes.long_rounds, {"log": found.recover})["log"]
    found.shared.closed.restore()
    note = f"{found.scanned_bytes / MB:,.1f} MB read back"
    return Figure(timings.wall, "s", p50_ms=timings.wall_median * 1e3, note=note)


def _rate(bench: Workbench, found: _Found) -> Figure:
    shared = found.shared
    timings = bench.interleave(bench.sizes.long_rounds, {"log": found.recover, "bare": partial(_bare_round, shared)})
    shared.closed.restore()
    assert found.scanned_bytes == shared.size_bytes
    log, bare = timings["log"], timings["bare"]
    size = shared.size_bytes / MB
    return Figure(
        size / log.wall,
        "MB/s",
        limit=size / bare.wall,
        ratio=bare.wall / log.wall,
        p50_ms=log.wall_median * 1e3,
        note=f"{found.scanned_bytes / MB:,.1f} MB read back",
    )


def _bare_round(shared: SharedLog) -> Timing:
    view = memoryview(bytearray(_READ_BYTES))
    descriptor = os.open(shared.segment, os.O_RDONLY | os.O_CLOEXEC)
    position = batches = 0
    try:
        with Stopwatch() as watch:
            if hasattr(os, "posix_fadvise"):
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            while position < shared.size_bytes:
                count = os.preadv(descriptor, (view,), position)
                block, at = view[:count], 0
                while at + HEADER_BYTES <= count and (end := at + read_header(block, at).size) <= count:
                    crc32c(block[at + CRC_COVERS_FROM : end])
                    at = end
                    batches += 1
                position += at
    finally:
        os.close(descriptor)
    assert batches == len(shared.positions)
    return watch.timing
