"""Figures of checks: all of them over ten million facts that were kept.

The facts are made (`made_facts.py`), so what checks find in them says nothing; that they look at all of them does.
"""

import time

from goqueue.cli.bench.figures import Entry, Figure
from goqueue.cli.bench.sizes import Sizes
from goqueue.cli.bench.workbench import BenchError, Workbench
from goqueue.spark.bench.made_facts import made
from goqueue.spark.bench.sessions import MASTER, session
from goqueue.spark.checks.catalogue import CHECKS
from goqueue.spark.checks.job import examine
from goqueue.spark.facts.frame import keep, kept

# So many facts for each record that other figures read.
_FACTS_EACH = 10
_FACT_BYTES = 60


def entries(sizes: Sizes) -> list[Entry]:
    """The figures of this file."""
    room = sizes.spark_records * _FACTS_EACH * _FACT_BYTES
    return [Entry("spark_check", "every check over facts that were kept", checked, disk_bytes=room)]


def checked(workbench: Workbench) -> Figure:
    """Seconds for all of them."""
    spark, moments = session(), [0.0]

    def told(_: str) -> None:
        moments.append(time.perf_counter())
        workbench.advanced(len(moments) / (len(CHECKS) + 3))

    with workbench.folder() as folder:
        keep(made(spark, workbench.sizes.spark_records * _FACTS_EACH), str(folder / "facts"))
        facts = kept(spark, str(folder / "facts"))
        begun = time.perf_counter()
        summary = examine(facts, told=told).summary
        took = time.perf_counter() - begun
    if not summary.facts or summary.checks != list(CHECKS):
        raise BenchError(f"{len(summary.checks)} checks looked at {summary.facts} facts")
    return Figure(took, "s", note=f"{summary.facts:,} facts, {len(summary.checks)} checks on {MASTER}")
