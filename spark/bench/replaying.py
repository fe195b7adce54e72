"""The figure of replays: a broker's capture told again by Spark's tasks, beside the same files told without Spark.

The value is what one core does: events by the seconds that the tasks took, each of them its own. How long the whole job
took, on all cores and with what Spark adds, is in the note. Rounds take turns; the best of each counts.
"""

import time

from goqueue.cli.bench.capture_cost import loaded
from goqueue.cli.bench.cores import kept_to, split
from goqueue.cli.bench.figures import Bar, Entry, Figure
from goqueue.cli.bench.sizes import Sizes
from goqueue.cli.bench.workbench import BenchError, Workbench
from goqueue.spark.bench.sessions import MASTER, session
from goqueue.spark.captures.job import replay
from goqueue.storage.capture import core_vocabulary
from goqueue.storage.capture_files import replay as replay_files

_FILE_BYTES = "256KiB"
_ROUNDS_MAX = 5


def entries(sizes: Sizes) -> list[Entry]:
    """The figures of this file."""
    return [
        Entry(
            "spark_replay", "a broker's capture of several files, a task a file; limit: goqueue replay of the same",
            told_again, [Bar("value", least=30_000), Bar("ratio", least=1 / 1.5)],
            disk_bytes=sizes.publish_batches * 400_000,
        ),
    ]  # fmt: skip


def told_again(workbench: Workbench) -> Figure:
    """Events a second of one core."""
    spark, rounds = session(), min(workbench.sizes.broker_rounds, _ROUNDS_MAX)
    with workbench.folder() as folder:
        _, load_cores = split()
        with kept_to(load_cores):
            files = loaded(folder, workbench, "--capture-file-bytes", _FILE_BYTES)
        best = limit = 0.0
        shortest = float("inf")
        for done in range(rounds):
            found = replay(spark, [str(folder / "data" / "captures")])
            if not found.is_identical:
                raise BenchError(f"the capture does not come out the same: {found.lines()}")
            best = max(best, found.events / sum(one.seconds for one in found.files))
            shortest = min(shortest, found.seconds)
            begun = time.perf_counter()
            outcome = replay_files(files, core_vocabulary())
            if not outcome.is_identical or outcome.events != found.events:
                raise BenchError(f"the capture does not come out the same without Spark: {outcome}")
            limit = max(limit, outcome.events / (time.perf_counter() - begun))
            workbench.advanced((done + 1) / rounds)
    note = f"{found.events:,} events in {len(files)} files, {shortest:.1f} s on {MASTER}; limit: without Spark"
    return Figure(best, "events/s", limit, best / limit, note=note)
