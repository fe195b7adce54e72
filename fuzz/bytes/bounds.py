"""What a check of one input may cost: a parser that answers right, but late or with all the memory, has failed too.

Memory is the rise of the process's peak, which is there for nothing and sees what C libraries take; it misses a rise
below a peak that was reached before, and so is surest in a process that did nothing else. Time is the processor's.
"""

import resource
import sys
import time
from collections.abc import Callable

MEMORY_BYTES_MAX = 64 << 20
CPU_SECONDS_MAX = 5.0

# Linux counts the peak in kilobytes, macOS in bytes.
_PEAK_UNIT_BYTES = 1 if sys.platform == "darwin" else 1024


class BeyondBounds(Exception):
    """A check cost more than any input may."""


def peak_bytes() -> int:
    """The most memory that this process ever had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _PEAK_UNIT_BYTES


def check_memory(check: Callable[[bytes], None], content: bytes) -> None:
    """Run the check, and raise BeyondBounds if it took too much memory."""
    before = peak_bytes()
    check(content)
    risen = peak_bytes() - before
    if risen > MEMORY_BYTES_MAX:
        raise BeyondBounds(
            f"{len(content)} bytes took {risen >> 20} MiB of memory; the bound is {MEMORY_BYTES_MAX >> 20}"
        )


def check_bounds(check: Callable[[bytes], None], content: bytes) -> None:
    """Run the check, and raise BeyondBounds if it took too much memory or time."""
    begin = time.process_time()
    check_memory(check, content)
    taken = time.process_time() - begin
    if taken > CPU_SECONDS_MAX:
        raise BeyondBounds(f"{len(content)} bytes took {taken:.1f} s of processor time; the bound is {CPU_SECONDS_MAX}")
