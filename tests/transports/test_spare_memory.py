"""What is free goes back to the system."""

import os
from pathlib import Path

from goqueue.transports.spare_memory import give_back


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_memory_between_what_is_still_used_goes_back() -> None:
    give_back()
    before = resident_bytes()
    # Too small for pages of their own, and one of a thousand stays: the heap cannot shrink at its end.
    pieces = [bytearray(b"x" * 60_000) for _ in range(2000)]
    assert resident_bytes() - before > 100_000_000
    kept = pieces[::1000] + pieces[-1:]
    pieces.clear()
    give_back()
    assert resident_bytes() - before < 30_000_000
    assert len(kept) == 3
