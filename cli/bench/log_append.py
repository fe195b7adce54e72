"""Appending without waiting for the disk: what the log costs on top of a checksum and a system call.

A turn is what a broker does with one read from its sockets: `Log.append` for each batch, `Log.take`, `Store.perform`,
a look at failures, and jobs to the disk thread. `append_N` has one batch of N records in a turn, `append_1_x100` a
hundred batches of one record. Fsync is off.

The limit is the CRC-32C of the same batches and one `writev` of them a turn, into a file that grows or into one that
has its room reserved beforehand, whichever costs less CPU time.
"""

import os
from collections.abc import Sequence
from functools import partial

from crc32c import crc32c

from goqueue.cli.bench.driven_log import DrivenLog
from goqueue.cli.bench.figures import Bar, Entry, Figure
from goqueue.cli.bench.sizes import RECORD_BYTES, Sizes
from goqueue.cli.bench.workbench import Stopwatch, Timing, Workbench
from goqueue.cli.bench.workload import ring
from goqueue.core.log.config import Fsync, LogConfig
from goqueue.core.records.batch import CRC_COVERS_FROM

_BARS = {"append_100": (Bar("ratio", least=0.75), Bar("value", least=500_000))}


def entries(sizes: Sizes) -> list[Entry]:
    """The figures of this module."""
    return [
        _entry(sizes, "append_1", 1, 1),
        _entry(sizes, "append_1_x100", 1, 100),
        _entry(sizes, "append_10", 10, 1),
        _entry(sizes, "append_100", 100, 1),
        _entry(sizes, "append_1000", 1000, 1),
    ]


def _entry(sizes: Sizes, key: str, batch_records: int, turn_batches: int) -> Entry:
    records = f"{batch_records} record" + "s" * (batch_records > 1)
    title = f"append {turn_batches} x {records} a turn, no fsync" if turn_batches > 1 else f"append {records}, no fsync"
    measure = partial(_measure, batch_records=batch_records, turn_batches=turn_batches)
    return Entry(key, title, measure, _BARS.get(key, ()), disk_bytes=2 * sizes.append_bytes)


def _measure(bench: Workbench, batch_records: int, turn_batches: int) -> Figure:
    turns = _turns(bench.sizes, batch_records, turn_batches)
    records = len(turns) * turn_batches * batch_records
    timings = bench.interleave(
        bench.sizes.rounds,
        {
            "log": partial(_log_round, bench, turns),
            "growing": partial(_bare_round, bench, turns, reserve=False),
            "reserved": partial(_bare_round, bench, turns, reserve=True),
        },
    )
    best = min(("growing", "reserved"), key=lambda name: timings[name].cpu)
    log, bare = timings["log"], timings[best]
    turn_us = log.cpu / len(turns) * 1e6
    return Figure(
        records / log.wall,
        "records/s",
        limit=records / bare.wall,
        ratio=bare.cpu / log.cpu,
        note=f"{turn_us:.1f} us of CPU a turn; limit: a {best} file",
    )


def _turns(sizes: Sizes, batch_records: int, turn_batches: int) -> Sequence[list[bytearray]]:
    """All turns of one round, over a ring of batches that come again and again."""
    batches = ring(batch_records)
    turn_bytes = batch_records * turn_batches * RECORD_BYTES
    count = max(2, min(sizes.append_turns, sizes.append_bytes // turn_bytes))
    starts = range(0, count * turn_batches, turn_batches)
    return [[batches[at % len(batches)] for at in range(start, start + turn_batches)] for start in starts]


def _log_round(bench: Workbench, turns: Sequence[list[bytearray]]) -> Timing:
    with bench.folder() as folder, DrivenLog(folder, LogConfig(fsync=Fsync.NONE)) as driven:
        with Stopwatch() as watch:
            for batches in turns:
                driven.turn(batches)
        driven.settle()
    return watch.timing


def _bare_round(bench: Workbench, turns: Sequence[list[bytearray]], *, reserve: bool) -> Timing:
    size = sum(len(batch) for batches in turns for batch in batches)
    covered = [[memoryview(batch)[CRC_COVERS_FROM:] for batch in batches] for batches in turns]
    with bench.folder() as folder:
        descriptor = os.open(folder / "bare", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC)
        try:
            if reserve and hasattr(os, "posix_fallocate"):
                os.posix_fallocate(descriptor, 0, size)
            with Stopwatch() as watch:
                for batches, views in zip(turns, covered, strict=True):
                    for view in views:
                        crc32c(view)
                    os.writev(descriptor, batches)
        finally:
            os.close(descriptor)
    return watch.timing
