"""The folder that a run works in: found to have room, its file system known, and gone when the run ends in any way.

It is made inside a folder that exists already, which stays as it was. An interrupt, SIGTERM included, ends the run
through the same clean-up as an error; while that is under way, another one waits.
"""

import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from goqueue.cli.bench.machine import file_system
from goqueue.cli.bench.sizes import MB
from goqueue.cli.bench.workbench import BenchError

# Room that logs reserve ahead of what is written, indexes, and something to spare.
_MARGIN_BYTES = 200 * MB
_SIGNALS = {signal.SIGINT, signal.SIGTERM}


@contextmanager
def scratch(parent: Path, wanted_bytes: int) -> Iterator[Path]:
    """A new folder in `parent`, which is to have that much room. Raises BenchError when it has not."""
    _demand_room(parent, wanted_bytes)
    earlier = signal.signal(signal.SIGTERM, signal.default_int_handler)
    folder = Path(tempfile.mkdtemp(prefix=".goqueue-bench-", dir=parent))
    try:
        yield folder
    finally:
        signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        try:
            shutil.rmtree(folder)
        finally:
            signal.signal(signal.SIGTERM, earlier)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)


def _demand_room(parent: Path, wanted_bytes: int) -> None:
    if not wanted_bytes:
        return
    wanted, free = wanted_bytes + _MARGIN_BYTES, shutil.disk_usage(parent).free
    if free < wanted:
        raise BenchError(
            f"{parent.absolute()} ({file_system(parent)}) has {free // MB:,} MB free, {wanted // MB:,} MB are needed: "
            "name another folder with --folder, or measure less with --quick or --only"
        )
