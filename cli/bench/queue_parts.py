"""The parts of work queues by themselves: the timing wheel with a million timers over a day, and a poll among scars.

A wheel is filled in the order of keys, with times at random over 24 hours. Cancelling drops every key in that order;
expiring lets the day pass second by second. The limit is a heap of packed integers doing the same, where cancelling
only notes the key. Bytes are what the process has grown by, in a child so that nothing else is in them, without the
keys, which are there before.

`poll_scattered` is one poll of 100 messages from a window in which half the messages were settled at random: what to
read, and the lease on it, in the worst one of a hundred polls.
"""

import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from heapq import heappop, heappush
from pathlib import Path
from random import Random

from goqueue.cli.bench.figures import Bar, Entry, Figure
from goqueue.cli.bench.sizes import Sizes
from goqueue.cli.bench.workbench import BenchError, Stopwatch, Timing, Workbench, quantile
from goqueue.core.clock import Clock
from goqueue.core.cluster.queue_settings import WorkSettings
from goqueue.core.queues.plan import Offers
from goqueue.core.queues.queue import WorkQueue
from goqueue.core.queues.receipts import Seal
from goqueue.core.requests.queues import ReceiptRun
from goqueue.core.services.secrets import Secrets
from goqueue.core.timers.wheel import TICK_NS, Wheel

_DAY_TICKS = 24 * 3_600_000
_SECOND_NS = 1_000_000_000
_STATM = Path("/proc/self/statm")
_LEASED = 10_000
_POLLED = 100

Contender = Callable[[list[int]], Timing]


def entries(sizes: Sizes) -> list[Entry]:
    """The figures of this module."""
    many = f"{sizes.timers:,} timers over 24 h"
    return [
        _entry("wheel_insert", f"set {many}", _wheel_insert, _heap_insert),
        _entry("wheel_cancel", f"cancel {many}", _wheel_cancel, _heap_cancel),
        _entry("wheel_expire", f"let {many} come, second by second", _wheel_expire, _heap_expire),
        Entry("wheel_bytes", f"memory of a timer of {many}", _bytes, (Bar("value", below=100),)),
        Entry("poll_scattered", "poll 100 where half is settled at random", _scattered, (Bar("value", below=5),)),
    ]


# --- the wheel


def _entry(key: str, title: str, wheel: Contender, heap: Contender) -> Entry:
    return Entry(key, title, partial(_measure, wheel=wheel, heap=heap), (Bar("value", least=1_000_000),))


def _measure(bench: Workbench, wheel: Contender, heap: Contender) -> Figure:
    ticks = _times(bench.sizes.timers)
    contenders = {"wheel": partial(wheel, ticks), "heap": partial(heap, ticks)}
    timings = bench.interleave(bench.sizes.long_rounds, contenders)
    best, bare = timings["wheel"], timings["heap"]
    return Figure(len(ticks) / best.cpu, "timers/s", limit=len(ticks) / bare.cpu, ratio=bare.cpu / best.cpu)


def _times(count: int) -> list[int]:
    """Ticks at random over a day, the same in every run."""
    chance = Random(count)  # noqa: S311 - the same times in every run
    return [chance.randrange(1, _DAY_TICKS) for _ in range(count)]


def _filled(ticks: list[int]) -> Wheel[int]:
    wheel: Wheel[int] = Wheel()
    for key, tick in enumerate(ticks):
        wheel.set(key, tick * TICK_NS)
    return wheel


def _wheel_insert(ticks: list[int]) -> Timing:
    dues = [tick * TICK_NS for tick in ticks]
    wheel: Wheel[int] = Wheel()
    with Stopwatch() as watch:
        for key, due in enumerate(dues):
            wheel.set(key, due)
    assert len(wheel) == len(ticks)
    return watch.timing


def _wheel_cancel(ticks: list[int]) -> Timing:
    wheel = _filled(ticks)
    with Stopwatch() as watch:
        for key in range(len(ticks)):
            wheel.drop(key)
    assert wheel.deadline() is None
    return watch.timing


def _wheel_expire(ticks: list[int]) -> Timing:
    wheel = _filled(ticks)
    come = 0
    with Stopwatch() as watch:
        for now in range(0, (_DAY_TICKS + 1_000) * TICK_NS, _SECOND_NS):
            come += len(wheel.due(now))
    assert come == len(ticks)
    return watch.timing


def _heaped(ticks: list[int]) -> list[int]:
    heap: list[int] = []
    for key, tick in enumerate(ticks):
        heappush(heap, tick << 32 | key)
    return heap


def _heap_insert(ticks: list[int]) -> Timing:
    with Stopwatch() as watch:
        _heaped(ticks)
    return watch.timing


def _heap_cancel(ticks: list[int]) -> Timing:
    dropped: set[int] = set()
    with Stopwatch() as watch:
        for key in range(len(ticks)):
            dropped.add(key)
    return watch.timing


def _heap_expire(ticks: list[int]) -> Timing:
    heap = _heaped(ticks)
    with Stopwatch() as watch:
        while heap:
            heappop(heap)
    return watch.timing


# --- its memory


def _bytes(bench: Workbench) -> Figure:
    command = [sys.executable, "-m", "goqueue.cli.bench.queue_parts", str(bench.sizes.timers)]
    child = subprocess.run(command, capture_output=True, check=False, text=True)  # noqa: S603 - our own module
    if child.returncode:
        raise BenchError(f"the wheel's memory could not be measured: {child.stderr.strip()}")
    return Figure(float(child.stdout), "bytes/timer")


def _resident() -> int:
    return int(_STATM.read_text().split()[1]) * 4096


def _grown_by(count: int) -> float:
    """Bytes that a timer takes."""
    ticks, keys = _times(count), [*range(count)]
    before = _resident()
    wheel: Wheel[int] = Wheel()
    for key, tick in zip(keys, ticks, strict=True):
        wheel.set(key, tick * TICK_NS)
    return (_resident() - before) / len(wheel)


# --- a poll


def _scattered(bench: Workbench) -> Figure:
    queue, count = _worn(bench.sizes.scattered), bench.sizes.scattered
    spans: list[int] = []
    for _ in range(min(100, count // 2 // _POLLED)):
        began = time.thread_time_ns()
        read = queue.wanted(0, "b", _POLLED)
        grant = queue.lease(0, "b", Offers(read, [offset for run in read for offset in range(*run)]))
        spans.append(time.thread_time_ns() - began)
        assert grant is not None
        assert sum(run.count for run in grant.runs) == _POLLED
        bench.advanced(len(spans) / 100)
    spans.sort()
    half, worst = quantile(spans, 0.5) / 1e6, spans[-1] / 1e6
    return Figure(worst, "ms", p50_ms=half, p99_ms=quantile(spans, 0.99) / 1e6)


def _worn(count: int) -> WorkQueue:
    """A queue that has looked at so many messages, of which half are settled."""
    chance = Random(count)  # noqa: S311 - the same messages in every run
    settings = WorkSettings(max_in_flight=count)
    secrets = Secrets(bytes)
    seal = Seal(secrets, secrets.fresh(), "group", "topic", 0)
    queue = WorkQueue(Clock(0, 0), chance, seal, 1, settings)
    for start in range(0, count, _LEASED):
        end = min(start + _LEASED, count)
        grant = queue.lease(0, "a", Offers([(start, end)], range(start, end)))
        assert grant is not None
        [run] = grant.runs
        chosen = chance.sample(range(start, end), (end - start) // 2)
        queue.ack(0, [ReceiptRun(run.stem, offset) for offset in chosen])
        queue.take()
    queue.leave(0, "a")
    queue.take()
    assert queue.counts().ready == count - queue.tally.acked
    return queue


if __name__ == "__main__":
    sys.stdout.write(f"{_grown_by(int(sys.argv[1]))}\n")
