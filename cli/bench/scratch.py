"""The folder that a run works in: found to have room, its file system known, and gone when the run ends in any way.

It is made inside a folder that exists already, which stays as it was. An interrupt, SIGTERM included, ends the run
through the same clean-up as an error; while that is under way, another one waits. One that strikes within a finaliser
is swallowed by the interpreter; it is raised again a moment later, by a timer.
"""

import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from goqueue.cli.bench.machine import file_system
from goqueue.cli.bench.sizes import MB
from goqueue.cli.bench.workbench import BenchError

# Room that logs reserve ahead of what is written, indexes, and something to spare.
_MARGIN_BYTES = 200 * MB
_SIGNALS = {signal.SIGINT, signal.SIGTERM, signal.SIGALRM}
_AGAIN_SECONDS = 0.01


@contextmanager
def scratch(parent: Path, wanted_bytes: int) -> Iterator[Path]:
    """A new folder in `parent`, which is to have that much room. Raises BenchError when it has not."""
    _demand_room(parent, wanted_bytes)
    with _interruptible():
        folder = Path(tempfile.mkdtemp(prefix=".goqueue-bench-", dir=parent))
        try:
            yield folder
        finally:
            signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
            try:
                shutil.rmtree(folder)
            finally:
                signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let SIGTERM interrupt, and no interrupt be lost."""
    numbers = (signal.SIGTERM, signal.SIGALRM)
    earlier = [signal.signal(number, signal.default_int_handler) for number in numbers]
    hook, sys.unraisablehook = sys.unraisablehook, _raise_again
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        sys.unraisablehook = hook
        for number, handler in zip(numbers, earlier, strict=True):
            signal.signal(number, handler)


def _raise_again(lost: "sys.UnraisableHookArgs") -> None:
    """An interrupt that struck within a finaliser strikes once more, outside of it."""
    if issubclass(lost.exc_type, KeyboardInterrupt):
        signal.setitimer(signal.ITIMER_REAL, _AGAIN_SECONDS)
    else:
        sys.__unraisablehook__(lost)


def _demand_room(parent: Path, wanted_bytes: int) -> None:
    if not wanted_bytes:
        return
    wanted, free = wanted_bytes + _MARGIN_BYTES, shutil.disk_usage(parent).free
    if free < wanted:
        raise BenchError(
            f"{parent.absolute()} ({file_system(parent)}) has {free // MB:,} MB free, {wanted // MB:,} MB are needed: "
            "name another folder with --folder, or measure less with --quick or --only"
        )
