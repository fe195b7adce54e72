"""Figures of writing: rows into a topic of a running broker, and a topic into Parquet.

Beside the sink stand the same rows, read and thrown away; beside the export the same rows, read from uncompressed
Parquet and written as packed Parquet by Spark alone. Every run ends with a count of what is there. As elsewhere rounds
take turns and the best of each counts; ratios are of the wall clock.
"""

import time
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame

from goqueue.cli.bench.figures import Entry, Figure
from goqueue.cli.bench.served_broker import served
from goqueue.cli.bench.sizes import Sizes
from goqueue.cli.bench.workbench import BenchError, Workbench
from goqueue.spark.bench.reading import write
from goqueue.spark.bench.sessions import MASTER, session
from goqueue.spark.exporting.job import Origin, export
from goqueue.spark.live.bounds import live_bounds

_TOPIC = "bench"
_PARTITIONS = 4
_VALUE_BYTES = 1024
_RECORD_BYTES = _VALUE_BYTES + 40


def entries(sizes: Sizes) -> list[Entry]:
    """The figures of this file."""
    room = sizes.spark_records * _RECORD_BYTES
    return [
        Entry(
            "spark_write", "rows of 1 KB into a broker on this machine, fsync none; limit: read and thrown away",
            sink, disk_bytes=room * (1 + sizes.long_rounds),
        ),
        Entry(
            "spark_export", "a topic into Parquet by date and hour; limit: Parquet packed by Spark alone",
            exported, disk_bytes=room * 4,
        ),
    ]  # fmt: skip


def sink(workbench: Workbench) -> Figure:
    """Keys and values, published as an idempotent producer for each task."""
    spark, rounds, best, best_read = session(), workbench.sizes.long_rounds, float("inf"), float("inf")
    with workbench.folder() as folder, served(folder) as broker:
        count, _ = write(folder / "rows", workbench.sizes.spark_records)
        rows = spark.read.format("goqueue").schema("key binary, value binary").load(str(folder / "rows"))
        for done in range(rounds):
            topic = f"write-{done}"
            broker.create(topic, _PARTITIONS, fsync="none")
            options = {"bootstrap": broker.grpc_address, "topic": topic}
            best = min(best, _timed(lambda: _publish(rows, options)))  # noqa: B023 - called at once
            stored = sum(end - first for first, end in live_bounds(broker.grpc_address, topic).values())
            if stored != count:
                raise BenchError(f"{stored:,} of {count:,} rows are in the topic")
            broker.delete(topic)
            best_read = min(best_read, _timed(lambda: rows.write.format("noop").mode("overwrite").save()))
            workbench.advanced((done + 1) / rounds)
    note = f"{count * _VALUE_BYTES / best / 1e6:,.0f} MB/s of values on {MASTER}, beside the broker; limit: no sink"
    return Figure(count / best, "rows/s", count / best_read, best_read / best, note=note)


def exported(workbench: Workbench) -> Figure:
    """All of a topic, from its segments."""
    spark, rounds, best, best_bare = session(), workbench.sizes.long_rounds, float("inf"), float("inf")
    with workbench.folder() as folder:
        count, _ = write(folder / "rows", workbench.sizes.spark_records)
        origin, plain = Origin(_TOPIC, path=str(folder / "rows")), str(folder / "plain")
        spark.read.format("goqueue").load(origin.path).write.option("compression", "none").parquet(plain)
        for done in range(rounds):
            lake, bare = folder / f"lake-{done}", folder / f"bare-{done}"
            best = min(best, _timed(lambda: _export(origin, lake, count)))  # noqa: B023 - called at once
            bare_write = spark.read.parquet(plain).write.option("compression", "zstd")
            best_bare = min(best_bare, _timed(lambda: bare_write.parquet(str(bare))))  # noqa: B023
            workbench.advanced((done + 1) / rounds)
    note = f"{count * _VALUE_BYTES / best / 1e6:,.0f} MB/s of values on {MASTER}; limit: Parquet to Parquet"
    return Figure(count / best, "records/s", count / best_bare, best_bare / best, note=note)


def _publish(rows: DataFrame, options: dict[str, str]) -> None:
    rows.write.format("goqueue").mode("append").options(**options).save()


def _export(origin: Origin, lake: Path, count: int) -> None:
    manifest = export(session(), origin, str(lake)).manifest
    if manifest is None or manifest.count != count:
        raise BenchError(f"{0 if manifest is None else manifest.count:,} of {count:,} records were exported")


def _timed(work: Callable[[], None]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun
