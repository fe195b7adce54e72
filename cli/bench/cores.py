"""Who runs on which core: the broker on one and the load on another, so that neither takes the other's time.

On a machine with one core, or where affinity cannot be set, everybody runs where the system likes, and the figures say
so.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

# Those that this process could use when it began; while it puts load on a broker it keeps to its share of them.
CORES = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))


def split() -> tuple[set[int], set[int]]:
    """The cores for a broker and those for the load; equal where there is only one."""
    return ({CORES[0]}, set(CORES[1:])) if len(CORES) > 1 else (set(CORES), set(CORES))


def settle(cores: set[int], pid: int) -> None:
    """Keep a process to these cores, as far as the system lets us."""
    if hasattr(os, "sched_setaffinity"):
        with suppress(OSError):
            os.sched_setaffinity(pid, cores)


@contextmanager
def kept_to(cores: set[int]) -> Iterator[None]:
    """Keep this process to these cores meanwhile."""
    settle(cores, 0)
    try:
        yield
    finally:
        settle(set(CORES), 0)


def cpu_seconds(pid: int) -> float:
    """The processor time that a process has taken so far, its threads included."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_mb(pid: int) -> float:
    """The memory of a process that is in use, in megabytes of a million bytes."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
