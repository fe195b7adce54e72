"""The job that replays captures: a task a file, the largest first, one hop from the JVM to Python and back.

Which file is whose successor is known from names, so no task needs another's result and nothing is shuffled. Only rows
of a few hundred bytes come back. A node whose capture is one large file is replayed by one core: bound the size of
files (`--capture-file-bytes`) where that is too slow.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from goqueue.core.capture.alterations import parse_alterations
from goqueue.spark.captures.code import check_code
from goqueue.spark.captures.files import find_captures
from goqueue.spark.captures.outcome import SCHEMA, outcome_of
from goqueue.spark.captures.summary import ReplaySummary
from goqueue.spark.captures.task import Work, replayed, work_for
from goqueue.spark.reaching import reached


def replay(
    spark: SparkSession,
    paths: Sequence[str],
    code: str = "",
    settings: Mapping[str, str] | None = None,
    told: Callable[[str], None] = lambda _: None,
    kept_max: int = 20,
) -> ReplaySummary:
    """Replay all captures at some paths, and compare all that comes out with what was captured.

    With `code` or `settings` a changed node goes beside each, and what it says otherwise is in the summary: counted by
    kind, and the first `kept_max` differences of each file in words. Raises CaptureError where a path has no capture,
    UnknownCode and UnknownAlteration where that is not to be had, UnreachedError where tasks do not find the captures.
    """
    begun = time.monotonic()
    check_code(code)
    parse_alterations(settings or {})
    works = work_for(find_captures(reached(spark, paths)), code, settings, kept_max)
    total = sum(work.size_bytes for work in works)
    told(f"{len(works)} capture files, {total / 1e6:,.1f} MB")
    rows = _carried_out(spark, works)
    files = sorted((outcome_of(row) for row in rows), key=lambda one: (one.node, one.path))
    assert len(files) == len(works)
    summary = ReplaySummary(files, time.monotonic() - begun, dict(settings or {}), code)
    told(f"{summary.events:,} events replayed in {summary.seconds:.1f} s")
    return summary


def _carried_out(spark: SparkSession, works: list[Work]) -> list[dict[str, object]]:
    # Partitions are begun in order: what takes longest must not come last.
    works = sorted(works, key=lambda work: -work.size_bytes)

    def body(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield from replayed(works[number] for number in batch.column(0).to_pylist())

    numbers = spark.range(0, len(works), 1, len(works))
    found = numbers.mapInArrow(body, from_arrow_schema(SCHEMA))
    return [row.asDict(recursive=True) for row in found.collect()]
