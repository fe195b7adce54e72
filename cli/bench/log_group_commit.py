"""Acknowledged appends under `fsync: every`: how many writers one sync serves.

A writer has one append of one record under way and sends the next when it is acknowledged. The loop is a broker's:
when a sync is done, the next one is begun for what was written meanwhile, and only then do the writers that were
acknowledged come back, as over a network they would. So half of the writers wait for one sync while the other half
write for the next, and a sync serves half of them; a broker does no better unless it delays syncs on purpose. The log
begins with a few megabytes, so that it has room reserved as a busy one has.

`ratio` is acknowledged appends a sync, `limit` what a bare loop of `pwrite` and `fdatasync` of one record reaches in
the same run, in syncs a second, in a growing or a reserved file, whichever is faster. Quantiles are of an append's
time to its acknowledgement, in the round with the most appends; value and limit are of the best rounds too.
"""

import os
import time
from array import array
from collections import deque
from functools import partial
from itertools import cycle, islice

from attrs import define

from goqueue.cli.bench.driven_log import DrivenLog
from goqueue.cli.bench.figures import Bar, Entry, Figure
from goqueue.cli.bench.sizes import MB, RECORD_BYTES, Sizes
from goqueue.cli.bench.workbench import Workbench, quantile
from goqueue.cli.bench.workload import ring
from goqueue.core.log.config import LogConfig

_BEGIN_BYTES = 4 * MB
_BARS = {256: (Bar("ratio", least=50),)}


def entries(sizes: Sizes) -> list[Entry]:
    """The figures of this module."""
    del sizes
    return [_entry(1), _entry(16), _entry(256)]


def _entry(writers: int) -> Entry:
    title = f"acknowledged appends, {writers} writer" + "s" * (writers > 1)
    measure = partial(_measure, writers=writers)
    return Entry(f"group_commit_{writers}", title, measure, _BARS.get(writers, ()), disk_bytes=600 * MB)


@define
class _Round:
    """What a round came to."""

    seconds: float
    syncs: int
    latencies: "array[int]"

    @property
    def rate(self) -> float:
        """Acknowledged appends a second."""
        return len(self.latencies) / self.seconds


def _measure(bench: Workbench, writers: int) -> Figure:
    rounds: list[_Round] = []
    bare: list[float] = []
    for done in range(bench.sizes.long_rounds):
        rounds.append(_log_round(bench, writers))
        bare += [_bare_round(bench, reserve=False), _bare_round(bench, reserve=True)]
        bench.advanced((done + 1) / bench.sizes.long_rounds)
    best = max(rounds, key=lambda taken: taken.rate)
    spans = sorted(best.latencies)
    return Figure(
        best.rate,
        "appends/s",
        limit=max(bare),
        ratio=len(spans) / best.syncs,
        p50_ms=quantile(spans, 0.5) / 1e6,
        p99_ms=quantile(spans, 0.99) / 1e6,
        note=f"{best.syncs / best.seconds:,.0f} syncs/s; limit: syncs/s",
    )


def _log_round(bench: Workbench, count: int) -> _Round:
    with bench.folder() as folder, DrivenLog(folder, LogConfig()) as driven:
        writers = _Writers(driven)
        writers.begin()
        syncs = driven.syncs
        began = time.monotonic()
        writers.send(count - count // 2)
        driven.submit_jobs()
        writers.send(count // 2)
        while (seconds := time.monotonic() - began) < bench.sizes.commit_seconds:
            driven.await_job()
            driven.submit_jobs()
            writers.send(writers.acknowledged())
            driven.submit_jobs()
        return _Round(seconds, driven.syncs - syncs, writers.latencies)


class _Writers:
    """Those that append to one log; who is acknowledged first is free first."""

    def __init__(self, driven: DrivenLog) -> None:
        self.latencies = array("q")
        self._driven = driven
        self._batches = cycle(ring(1))
        # (the offset after an append, when it was sent)
        self._under_way: deque[tuple[int, int]] = deque()

    def begin(self) -> None:
        """Fill the log to where room is reserved for what follows."""
        for _ in range(_BEGIN_BYTES // MB):
            self._driven.turn(islice(self._batches, MB // RECORD_BYTES))
        self._driven.settle()

    def send(self, count: int) -> None:
        """Append for so many writers in one turn."""
        log, now = self._driven.log, time.monotonic_ns()
        for batch in islice(self._batches, count):
            log.append(now, batch)
            self._under_way.append((log.next_offset, now))
        self._driven.opened.write()

    def acknowledged(self) -> int:
        """How many writers have become free, their waits noted."""
        end, now, free = self._driven.log.acknowledged_offset, time.monotonic_ns(), 0
        while self._under_way and self._under_way[0][0] <= end:
            self.latencies.append(now - self._under_way.popleft()[1])
            free += 1
        return free


def _bare_round(bench: Workbench, *, reserve: bool) -> float:
    """Syncs a second of a loop that writes one record each time."""
    batch = ring(1)[0]
    seconds, count = 0.0, 0
    with bench.folder() as folder:
        descriptor = os.open(folder / "bare", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC)
        try:
            if reserve and hasattr(os, "posix_fallocate"):
                os.posix_fallocate(descriptor, 0, 64 * MB)
            began = time.monotonic()
            while seconds < bench.sizes.commit_seconds / 4:
                os.pwrite(descriptor, batch, count * len(batch))
                _flush(descriptor)
                count += 1
                seconds = time.monotonic() - began
        finally:
            os.close(descriptor)
    return count / seconds


_flush = os.fdatasync if hasattr(os, "fdatasync") else os.fsync
