"""A bar for jobs that take long: how many tasks of Spark's stages are done, asked for now and then by a thread.

It is drawn on standard error, only where that is a terminal. How much work is in a task nobody knows, so no time that
is left is promised.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_INTERVAL_S = 0.5
Told = Callable[[str], None]


@contextmanager
def shown(spark: "SparkSession", what: str) -> Iterator[Told]:
    """Draws while the block runs; what the block is given tells what it is at."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda words: console.print(words, highlight=False, soft_wrap=True)
        return
    columns = SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(what, total=None)
        ended = threading.Event()
        watcher = threading.Thread(target=_watch, args=(spark, progress, task, ended), daemon=True)
        watcher.start()
        try:
            yield lambda words: progress.update(task, description=words)
        finally:
            ended.set()
            watcher.join()


def _watch(spark: "SparkSession", progress: Progress, task: object, ended: threading.Event) -> None:
    tracker = spark.sparkContext.statusTracker()
    while not ended.wait(_INTERVAL_S):
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        known = [stage for stage in stages if stage is not None]
        total = sum(stage.numTasks for stage in known)
        done = sum(stage.numCompletedTasks for stage in known)
        progress.update(task, total=total or None, completed=done)  # type: ignore[arg-type]
