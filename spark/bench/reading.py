"""Figures of reading: segment files as a DataFrame, beside the same rows as uncompressed Parquet.

Both are summed up by the same query, which has to look at every value and every offset. As elsewhere rounds take turns
and the best of each counts; ratios are of the wall clock, since Spark works in a JVM and in processes of its own.
"""

import time
from pathlib import Path
from random import Random

from pyspark.sql import DataFrame, SparkSession

from goqueue.cli.bench.figures import Bar, Entry, Figure
from goqueue.cli.bench.sizes import Sizes
from goqueue.cli.bench.workbench import BenchError, Workbench
from goqueue.core.log.config import Fsync, LogConfig
from goqueue.core.records.build import encode
from goqueue.spark.bench.sessions import MASTER, session
from goqueue.spark.records.columns import SCHEMA_DDL
from goqueue.storage.files import FileDisk
from goqueue.storage.open_log import OpenLog

_PARTITIONS = 2
_BATCH_RECORDS = 100
_VALUE_BYTES = 1024
_RECORD_BYTES = _VALUE_BYTES + 40
_NOW_MS = 1_767_225_600_000
_SUMS = ("count(offset)", "max(offset)", "sum(length(value))")
_ALL_SUMS = (
    *_SUMS, "min(topic)", "sum(partition)", "max(timestamp)", "sum(length(key))", "sum(size(headers))", "sum(lane)",
    "max(producer_id)", "max(leader_epoch)",
)  # fmt: skip


def entries(sizes: Sizes) -> list[Entry]:
    """The figures of this file."""
    room = sizes.spark_records * _RECORD_BYTES * 2
    return [
        Entry(
            "spark_read", "offset and value of each record; limit: the same from uncompressed Parquet",
            read, [Bar("ratio", least=0.5)], disk_bytes=room,
        ),
        Entry("spark_read_all", "all columns of each record; limit: the same", read_all, disk_bytes=room),
    ]  # fmt: skip


def read(workbench: Workbench) -> Figure:
    """The two columns that most queries look at."""
    return _beside_parquet(workbench, "offset bigint, value binary", _SUMS)


def read_all(workbench: Workbench) -> Figure:
    """Every column there is."""
    return _beside_parquet(workbench, SCHEMA_DDL, _ALL_SUMS)


def _beside_parquet(workbench: Workbench, schema: str, sums: tuple[str, ...]) -> Figure:
    spark, rounds = session(), workbench.sizes.long_rounds
    with workbench.folder() as folder:
        topic, parquet = folder / "topic", folder / "parquet"
        expected = write(topic, workbench.sizes.spark_records)
        _segments(spark, topic, SCHEMA_DDL).write.option("compression", "none").parquet(str(parquet))
        best = best_parquet = float("inf")
        for done in range(rounds):
            best = min(best, _timed(_segments(spark, topic, schema), sums, expected))
            best_parquet = min(best_parquet, _timed(spark.read.parquet(str(parquet)), sums, expected))
            workbench.advanced((done + 1) / rounds)
    total = workbench.sizes.spark_records
    note = f"{total * _VALUE_BYTES / best / 1e6:,.0f} MB/s of values on {MASTER}; limit: Parquet"
    return Figure(total / best, "records/s", total / best_parquet, best_parquet / best, note=note)


def write(folder: Path, count: int) -> tuple[int, int]:
    """A data folder with so many records in batches of a hundred; how many there are, and their values' bytes."""
    # No value comes twice, or Parquet would write a dictionary instead of the values.
    filling = Random(1)  # noqa: S311 - bytes that do not compress, and keep no secrets
    config = LogConfig(fsync=Fsync.NONE)
    each = count // _PARTITIONS // _BATCH_RECORDS
    for partition in range(_PARTITIONS):
        log = OpenLog(FileDisk(str(folder)), f"logs/bench/{partition}", config)
        for number in range(each):
            values = (filling.randbytes(_VALUE_BYTES) for _ in range(_BATCH_RECORDS))
            log.append(encode([(_NOW_MS + number, b"%d" % at, value, ()) for at, value in enumerate(values)]))
        log.flush()
        log.close()
    written = each * _PARTITIONS * _BATCH_RECORDS
    return written, written * _VALUE_BYTES


def _segments(spark: SparkSession, folder: Path, schema: str) -> DataFrame:
    return spark.read.format("goqueue").schema(schema).load(str(folder))


def _timed(frame: DataFrame, sums: tuple[str, ...], expected: tuple[int, int]) -> float:
    query = frame.selectExpr(*sums)
    begun = time.perf_counter()
    [row] = query.collect()
    took = time.perf_counter() - begun
    if (row[0], row[2]) != expected:
        raise BenchError(
            f"{row[0]} records with values of {row[2]} bytes were read, of {expected[0]} and {expected[1]}"
        )
    return took
