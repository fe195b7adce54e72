"""Reading a log from its start to its end, as a consumer that has fallen behind makes a broker do.

Each read asks for a megabyte and is answered with whole batches, handed on as a view of the buffer they were read into.
The log is in the page cache, and its batches hold 100 records.

The limit is `preadv` of the same file, a megabyte at a time, into one buffer that is used again.
"""

import os
from functools import partial

from goqueue.cli.bench.figures import Bar, Entry, Figure
from goqueue.cli.bench.shared_log import SharedLog
from goqueue.cli.bench.sizes import Sizes
from goqueue.cli.bench.workbench import Stopwatch, Timing, Workbench

_READ_BYTES = 1 << 20


def entries(sizes: Sizes) -> list[Entry]:
    """The figures of this module."""
    del sizes
    return [Entry("read_100", "read in sequence, 1 MB a read", _measure, (Bar("ratio", least=0.8),), shared=(100,))]


def _measure(bench: Workbench) -> Figure:
    shared = bench.shared(100)
    timings = bench.interleave(
        bench.sizes.rounds, {"log": partial(_log_round, shared), "bare": partial(_bare_round, shared)}
    )
    log, bare = timings["log"], timings["bare"]
    return Figure(
        shared.record_count / log.wall,
        "records/s",
        limit=shared.record_count / bare.wall,
        ratio=bare.cpu / log.cpu,
        note=f"{shared.size_bytes / log.wall / 1e9:.2f} GB/s",
    )


def _log_round(shared: SharedLog) -> Timing:
    with shared.opened() as log:
        total = 0
        with Stopwatch() as watch:
            for batches in log.batches(0, _READ_BYTES):
                total += len(batches)
    assert total == shared.size_bytes
    return watch.timing


def _bare_round(shared: SharedLog) -> Timing:
    view = memoryview(bytearray(_READ_BYTES))
    descriptor = os.open(shared.segment, os.O_RDONLY | os.O_CLOEXEC)
    try:
        with Stopwatch() as watch:
            position = 0
            while (rest := shared.size_bytes - position) > 0:
                position += os.preadv(descriptor, (view[:rest],), position)
    finally:
        os.close(descriptor)
    return watch.timing
