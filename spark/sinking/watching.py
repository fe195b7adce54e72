"""How far a back-fill is, seen from outside: its topic is asked now and then how much it has grown.

Spark knows of tasks only that they run, and one may take hours. What others publish to the topic meanwhile is counted
with it, so what is said is how many messages the topic has got, and not how many are left.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from goqueue.spark.sinking.options import WriteOptions
from goqueue.spark.sinking.outlet import Outlet
from goqueue.transports.client.errors import ClientError

_INTERVAL_S = 10.0


@contextmanager
def watched(
    options: WriteOptions, rows: int, told: Callable[[str], None], interval_s: float = _INTERVAL_S
) -> Iterator[None]:
    """Tell about a topic while the block runs."""
    before = _size_of(options)
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(interval_s):
            size = _size_of(options)
            if before is not None and size is not None and not ended.is_set():
                told(f"{options.topic}: {size - before:,} messages more than before, of {rows:,}")

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()


def _size_of(options: WriteOptions) -> int | None:
    """How many offsets a topic has given out; None if nobody says so at the moment."""
    try:
        with Outlet(options) as outlet:
            return sum(max(end, 0) for end in outlet.target(options.topic).ends)
    except ClientError:
        return None
