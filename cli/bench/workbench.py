"""What figures are measured with: a stopwatch, rounds that take turns, a folder, and logs that several figures share.

The machine is rarely ours alone, so nothing is measured once. Contenders run in short rounds, each contender once a
round, and of each the best round counts, because whatever else runs can only add to it. Two readings are taken: values
and limits are of the wall clock, ratios of the CPU time of the measuring thread, unless a figure says otherwise. Work
that other threads do for a contender, such as reserving room, is on its wall clock only.
"""

import gc
import shutil
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from attrs import define

from goqueue.cli.bench.shared_log import SharedLog, build
from goqueue.cli.bench.sizes import Sizes
from goqueue.core.errors import GoQueueError
from goqueue.core.log.config import Fsync, LogConfig


class BenchError(GoQueueError):
    """A reason why nothing can be measured here."""


@define
class Timing:
    """What one contender took in one round, in seconds."""

    wall: float
    cpu: float


class Stopwatch:
    """Times what happens within its `with`."""

    def __enter__(self) -> "Stopwatch":
        # What earlier rounds left behind is not to be collected on this one's time.
        gc.collect()
        self._wall = time.perf_counter()
        self._cpu = time.thread_time()
        return self

    def __exit__(self, *_: object) -> None:
        cpu = time.thread_time() - self._cpu
        self.timing = Timing(time.perf_counter() - self._wall, cpu)


class Timings:
    """One contender's rounds: the least of each reading, in seconds, and the median of the wall clock."""

    def __init__(self, rounds: Sequence[Timing]) -> None:
        assert rounds
        self.wall = min(timing.wall for timing in rounds)
        self.wall_median = statistics.median(timing.wall for timing in rounds)
        self.cpu = min(timing.cpu for timing in rounds)


class Workbench:
    """The place where one run of a benchmark takes its figures."""

    def __init__(self, folder: Path, sizes: Sizes, advanced: Callable[[float], None]) -> None:
        self.sizes = sizes
        self.advanced = advanced
        self._folder = folder
        self._shared: dict[int, SharedLog] = {}

    @contextmanager
    def folder(self) -> Iterator[Path]:
        """A folder for one use, empty."""
        path = self._folder / "once"
        path.mkdir()
        try:
            yield path
        finally:
            shutil.rmtree(path)

    def shared(self, batch_records: int) -> SharedLog:
        """The log of that many records a batch; the first to ask waits while it is written."""
        if batch_records not in self._shared:
            folder = self._folder / f"shared-{batch_records}"
            size_bytes = self.sizes.shared_bytes[batch_records]
            self._shared[batch_records] = build(folder, size_bytes, batch_records, LogConfig(fsync=Fsync.NONE))
        return self._shared[batch_records]

    def interleave(self, count: int, contenders: Mapping[str, Callable[[], Timing]]) -> dict[str, Timings]:
        """Let the contenders take turns for that many rounds."""
        rounds: dict[str, list[Timing]] = {name: [] for name in contenders}
        for done in range(count):
            for name, contender in contenders.items():
                rounds[name].append(contender())
            self.advanced((done + 1) / count)
        return {name: Timings(timings) for name, timings in rounds.items()}


def quantile(ordered: Sequence[int], part: float) -> int:
    """The element below which that part of a sorted, non-empty sequence lies."""
    return ordered[min(int(len(ordered) * part), len(ordered) - 1)]
