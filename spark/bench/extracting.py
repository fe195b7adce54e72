"""The figure of facts: a broker's capture made facts by one core, beside the same files replayed and no more."""

import time

from goqueue.cli.bench.capture_cost import loaded
from goqueue.cli.bench.cores import kept_to, split
from goqueue.cli.bench.figures import Bar, Entry, Figure
from goqueue.cli.bench.sizes import Sizes
from goqueue.cli.bench.workbench import BenchError, Workbench
from goqueue.spark.captures.files import replay_of
from goqueue.spark.facts.extract import facts_of

_FILE_BYTES = "256KiB"
_ROUNDS_MAX = 5


def entries(sizes: Sizes) -> list[Entry]:
    """The figures of this file."""
    return [
        Entry(
            "spark_facts", "facts of a broker's capture, one core; limit: the same files replayed", extracted,
            [Bar("value", least=15_000), Bar("ratio", least=0.5)], disk_bytes=sizes.publish_batches * 400_000,
        ),
    ]  # fmt: skip


def extracted(workbench: Workbench) -> Figure:
    """Events a second of one core."""
    rounds = min(workbench.sizes.broker_rounds, _ROUNDS_MAX)
    with workbench.folder() as folder:
        _, load_cores = split()
        with kept_to(load_cores):
            files = [file.path for file in loaded(folder, workbench, "--capture-file-bytes", _FILE_BYTES)]
        best = limit = 0.0
        for done in range(rounds):
            begun = time.perf_counter()
            replays = [replay_of(file) for file in files]
            limit = max(limit, sum(one.events for one in replays) / (time.perf_counter() - begun))
            if not all(one.is_identical for one in replays):
                raise BenchError(f"the capture does not come out the same: {replays}")
            events = sum(one.events for one in replays)
            begun = time.perf_counter()
            facts = sum(batch.num_rows for file in files for batch in facts_of(file))
            best = max(best, events / (time.perf_counter() - begun))
            workbench.advanced((done + 1) / rounds)
    note = f"{facts:,} facts of {events:,} events in {len(files)} files"
    return Figure(best, "events/s", limit, best / limit, note=note)
