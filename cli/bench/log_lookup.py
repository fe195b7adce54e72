"""Finding a place in a log: by offset, which every consumer that resumes does, and by time.

A look-up by offset is `Log.read` and `Store.read` for a single batch, from the offset to the batch in memory. One by
time is `Log.find_time` and `Store.find_time`, from the timestamp to the exact record. Places are random, the log is
in the page cache, and every answer is compared with the right one. Keys that end in `_1` are of a log whose batches
hold one record, the others of one with 100 a batch.

The limit is one `pread` of 4 KB at the position of the batch in question. The quantiles are of CPU time, in the round
with the lowest p99: a look-up waits for nothing, so that is how long it takes with a core to itself.
"""

import os
import time
from array import array
from collections.abc import Callable, Sequence
from functools import partial
from random import Random

from goqueue.cli.bench.figures import Bar, Entry, Figure
from goqueue.cli.bench.shared_log import SharedLog
from goqueue.cli.bench.sizes import Sizes
from goqueue.cli.bench.workbench import Stopwatch, Timing, Workbench, quantile
from goqueue.core.records.batch import read_header
from goqueue.storage.open_log import OpenLog

_PAGE_BYTES = 4096

LookUp = Callable[[OpenLog, SharedLog, int], int]


def entries(sizes: Sizes) -> list[Entry]:
    """The figures of this module."""
    del sizes
    return [
        _entry("lookup_offset", "find an offset, batches of 100", _by_offset, 100),
        _entry("lookup_time", "find a time, batches of 100", _by_time, 100),
        _entry("lookup_offset_1", "find an offset, batches of 1", _by_offset, 1),
        _entry("lookup_time_1", "find a time, batches of 1", _by_time, 1),
    ]


def _entry(key: str, title: str, look_up: LookUp, batch_records: int) -> Entry:
    measure = partial(_measure, look_up=look_up, batch_records=batch_records)
    return Entry(key, title, measure, (Bar("p99_ms", below=0.2),), shared=(batch_records,))


def _measure(bench: Workbench, look_up: LookUp, batch_records: int) -> Figure:
    shared = bench.shared(batch_records)
    chance = Random(batch_records)  # noqa: S311 - the same places in every run
    wanted = [chance.randrange(shared.record_count) for _ in range(bench.sizes.lookups)]
    rounds: list[Sequence[int]] = []
    timings = bench.interleave(
        bench.sizes.rounds,
        {
            "log": partial(_log_round, shared, look_up, wanted, rounds),
            "bare": partial(_bare_round, shared, wanted),
        },
    )
    log, bare = timings["log"], timings["bare"]
    spans = min(rounds, key=lambda spans: quantile(spans, 0.99))
    return Figure(
        len(wanted) / log.wall,
        "look-ups/s",
        limit=len(wanted) / bare.wall,
        ratio=bare.cpu / log.cpu,
        p50_ms=quantile(spans, 0.5) / 1e6,
        p99_ms=quantile(spans, 0.99) / 1e6,
    )


def _by_offset(log: OpenLog, shared: SharedLog, record: int) -> int:
    """The first offset of the batch found."""
    del shared
    found = log.read(record, 1)
    assert found is not None
    return read_header(found.batches).base_offset


def _by_time(log: OpenLog, shared: SharedLog, record: int) -> int:
    """The offset of the record found."""
    found = log.find_time(shared.first_ms + record)
    assert found is not None
    return found.offset


def _log_round(shared: SharedLog, look_up: LookUp, wanted: Sequence[int], rounds: list[Sequence[int]]) -> Timing:
    clock, began, ended, answers = time.thread_time_ns, array("q"), array("q"), array("q")
    with shared.opened() as log, Stopwatch() as watch:
        for record in wanted:
            began.append(clock())
            answers.append(look_up(log, shared, record))
            ended.append(clock())
    exact = look_up is _by_time
    right = [record if exact else record - record % shared.batch_records for record in wanted]
    assert answers.tolist() == right
    rounds.append(sorted(end - begin for begin, end in zip(began, ended, strict=True)))
    return watch.timing


def _bare_round(shared: SharedLog, wanted: Sequence[int]) -> Timing:
    descriptor = os.open(shared.segment, os.O_RDONLY | os.O_CLOEXEC)
    positions, batch_records = shared.positions, shared.batch_records
    try:
        with Stopwatch() as watch:
            for record in wanted:
                os.pread(descriptor, _PAGE_BYTES, positions[record // batch_records])
    finally:
        os.close(descriptor)
    return watch.timing
