"""Memory that appending takes for good: what a process has grown by after gigabytes of log.

A child process, so that nothing measured before is in it, appends batches of 100 records under `fsync: every`, a
megabyte a turn without waiting for the syncs, and prints its resident memory when the log is open and then at every
step. Index entries, checkpoints and whatever else the log remembers are in the growth; the batches to be appended are
there before. Where the system does not say what is resident, the peak is taken instead, which can only be more.
"""

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path

from goqueue.cli.bench.driven_log import DrivenLog
from goqueue.cli.bench.figures import Bar, Entry, Figure
from goqueue.cli.bench.sizes import GB, MB, RECORD_BYTES, Sizes
from goqueue.cli.bench.workbench import BenchError, Workbench
from goqueue.cli.bench.workload import ring
from goqueue.core.log.config import LogConfig

_BATCH_RECORDS = 100
_TURN_BATCHES = MB // (_BATCH_RECORDS * RECORD_BYTES)
_STATM = Path("/proc/self/statm")


def entries(sizes: Sizes) -> list[Entry]:
    """The figures of this module."""
    title = f"memory kept after appending {sizes.memory_bytes / GB:.2g} GB"
    bars = (Bar("value", below=6),)
    return [Entry("rss_per_gb", title, _measure, bars, disk_bytes=sizes.memory_bytes)]


def _measure(bench: Workbench) -> Figure:
    sizes = bench.sizes
    with bench.folder() as folder:
        readings: list[float] = []
        for reading in _readings(folder, sizes.memory_bytes, sizes.memory_step_bytes):
            bench.advanced(len(readings) * sizes.memory_step_bytes / sizes.memory_bytes)
            readings.append(reading / MB)
    growth = (readings[-1] - readings[0]) * GB / sizes.memory_bytes
    steps = " ".join(f"{reading:.1f}" for reading in readings)
    return Figure(growth, "MB/GB", note=f"MB every {sizes.memory_step_bytes / MB:,.0f} MB: {steps}")


def _readings(folder: Path, total_bytes: int, step_bytes: int) -> Iterator[int]:
    """What the child says, as it says it."""
    command = [sys.executable, "-m", __name__, str(folder), str(total_bytes), str(step_bytes)]
    # The child finds the package where this process found it.
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True) as child:  # noqa: S603 - ourselves
        try:
            assert child.stdout is not None
            yield from map(int, child.stdout)
        finally:
            child.kill()
    if child.returncode:
        raise BenchError(f"the process that appends ended with status {child.returncode}")


def _append(folder: Path, total_bytes: int, step_bytes: int) -> None:
    batches = cycle(ring(_BATCH_RECORDS))
    with DrivenLog(folder, LogConfig()) as driven:
        print(_resident_bytes(), flush=True)
        for appended in range(MB, total_bytes + 1, MB):
            driven.turn(islice(batches, _TURN_BATCHES))
            if appended % step_bytes == 0:
                print(_resident_bytes(), flush=True)
        driven.settle()


def _resident_bytes() -> int:
    if _STATM.exists():
        return int(_STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


if __name__ == "__main__":
    _append(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
