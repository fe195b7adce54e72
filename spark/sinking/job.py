"""The back-fill: messages that were, into a topic that is, in their order, once, and no faster than it is told to.

Two passes. The first counts the messages of each source, a partition of a topic as it once was or a file, finds the
earliest, and sees whether all can be written; so sources are spread evenly over tasks, what was left out on the way
here is known, and what cannot be written is refused before anything is. The second clusters messages by source, sorts
each source by offset, and publishes. Both see the same rows: executors keep them on their disks in between.

A job has a name. What a job of that name has stored is not stored again: run it again after it was killed and it goes
on where it was, whatever the number of its tasks. The broker remembers for a day.
"""

import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime

import pyarrow as pa
from attrs import define, field
from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, Row, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import IntegralType

from goqueue.core.client.routing import Layout
from goqueue.core.records.batch import HEADER_BYTES, Codec
from goqueue.spark.sinking.errors import UnwritableError
from goqueue.spark.sinking.filling import SCHEMA_DDL, Filling, fill
from goqueue.spark.sinking.options import WriteOptions, write_options
from goqueue.spark.sinking.outlet import Outlet
from goqueue.spark.sinking.pace import TICK_MS, Rate, Timing
from goqueue.spark.sinking.shape import check_shape
from goqueue.spark.sinking.watching import watched

KEEP, BY_KEY = "keep", "by_key"
_MESSAGE = ("key", "value", "headers", "timestamp", "lane")
_SOURCES_MAX = 100_000
# Between the first pass and the first message: tasks begin at different moments, and none is to be late at once.
_HEADSTART_NS = 1_000_000_000
_HOUR_MS = 3_600_000


@define
class Pace:
    """How fast a back-fill goes: messages and bytes a second of the whole job, or as they once came, so much faster."""

    rows_per_second: float = 0.0
    bytes_per_second: float = 0.0
    original: bool = False
    speed: float = 1.0

    def check(self) -> None:
        """Raise UnwritableError for a pace that there is none of."""
        if self.rows_per_second < 0 or self.bytes_per_second < 0:
            raise UnwritableError("a rate is a number from 0 on, and 0 is as fast as it goes")
        if not 1e-6 <= self.speed <= 1e6:
            raise UnwritableError(f"a speed is between a millionth and a million, not {self.speed:g}")
        if self.speed != 1 and not self.original:
            raise UnwritableError("a speed is of the original timing; say that this is meant, or give a rate")


@define
class BackFilled:
    """What a back-fill came to; `found` of the messages were stored by an earlier run or attempt of the job."""

    job: str
    sources: int
    rows: int
    bytes: int
    found: int
    # Of these there were two with the same place, as when two nodes were captured: they are there once.
    repeated: int
    seconds: float
    # What could not be had, and how much of it, by reason.
    left_out: dict[str, int] = field(factory=dict)


@define
class _Plan:
    """Which task publishes which source, which part of the messages each has, and when the first was made."""

    tasks: dict[str, int]
    parts: list[float]
    rows: int
    first_ms: int | None
    left_out: dict[str, int]


def back_fill(
    spark: SparkSession,
    messages: DataFrame,
    bootstrap: str,
    topic: str,
    *,
    pace: Pace | None = None,
    partitions: str = KEEP,
    job: str = "",
    options: Mapping[str, str] | None = None,
    told: Callable[[str], None] = lambda _: None,
) -> BackFilled:
    """Publish the messages of a frame that `sources` gave, or one like it.

    `partitions` is "keep", each stays in the partition of its number, or "by_key", the topic's partitioner chooses.
    `options` are those of the sink. Raises UnwritableError, ClientError, and what Spark raises when a task fails.
    """
    begun = time.monotonic()
    pace = pace or Pace()
    pace.check()
    found = write_options({**(options or {}), "bootstrap": bootstrap, "topic": topic})
    prepared = _prepared(messages, found, partitions)
    if pace.original and "timestamp" not in prepared.columns:
        raise UnwritableError("original timing needs to know when messages were made: there is no column 'timestamp'")
    with Outlet(found) as outlet:
        layout, kept_hours = outlet.target(topic).layout, outlet.kept_hours(topic)
    name = job or f"back-fill {uuid.uuid4()}"
    rows = prepared.persist(StorageLevel.DISK_ONLY)
    try:
        plan = _plan(rows, layout, found, max(spark.sparkContext.defaultParallelism, 1))
        if pace.original and plan.rows and plan.first_ms is None:
            raise UnwritableError("original timing needs to know when messages were made, and none of these says it")
        told(f"{plan.rows:,} messages of {len(plan.tasks):,} sources to {topic}, as the job {name!r}")
        _tell_old(plan, topic, kept_hours, told)
        results = []
        if plan.tasks:
            with watched(found, plan.rows, told):
                results = _publish(spark, rows, plan, _filling(found, name, layout, pace, plan), pace)
    finally:
        rows.unpersist()
    sums = {key: sum(row[key] for row in results) for key in ("rows", "bytes", "found", "repeated")}
    assert sums["rows"] + sums["repeated"] == plan.rows, "a message was neither published nor a repetition"
    return BackFilled(name, len(plan.tasks), **sums, seconds=time.monotonic() - begun, left_out=plan.left_out)


def _tell_old(plan: _Plan, topic: str, kept_hours: int, told: Callable[[str], None]) -> None:
    """Messages keep their times, and topics remove what is old."""
    if plan.first_ms is not None and 0 <= kept_hours * _HOUR_MS < time.time_ns() // 1_000_000 - plan.first_ms:
        first = datetime.fromtimestamp(plan.first_ms / 1000, UTC)
        told(
            f"{topic} keeps messages for {kept_hours:,} hours, and the first of these was made on {first:%F}: what is"
            " older will be removed, unless its setting retention_hours is made larger, or -1"
        )


def _prepared(messages: DataFrame, options: WriteOptions, partitions: str) -> DataFrame:
    """The columns of a message, and where each is from. Raises UnwritableError."""
    if partitions not in (KEEP, BY_KEY):
        raise UnwritableError(f"partitions is {KEEP!r} or {BY_KEY!r}, not {partitions!r}")
    names = messages.columns
    needed = ["value", "offset"]
    if "source" not in names or partitions == KEEP:
        needed.append("partition")
    missing = [name for name in needed if name not in names]
    if missing:
        raise UnwritableError(
            f"there is no column {missing[0]!r} among {', '.join(names)}: a back-fill needs the value, and the"
            " partition and offset that say in which order messages were"
        )
    for name in ("partition", "offset"):
        if name in needed and not isinstance(messages.schema[name].dataType, IntegralType):
            raise UnwritableError(f"the column {name!r} is of type {messages.schema[name].dataType.simpleString()}")
    source: Column = F.col("source")
    if "source" not in names:
        source = F.concat_ws("/", "topic" if "topic" in names else F.lit(""), "partition")
    unplaced = [source.isNull(), *(F.col(name).isNull() for name in needed if name != "value")]
    frame = messages.select(
        *[name for name in _MESSAGE if name in names],
        *(["partition"] if partitions == KEEP else []),
        F.col("offset").cast("bigint").alias("offset"),
        source.alias("source"),
        F.greatest(*unplaced).alias("unplaced"),
        (F.col("left_out") if "left_out" in names else F.lit(None).cast("string")).alias("left_out"),
    )
    check_shape(to_arrow_schema(frame.drop("source", "unplaced", "left_out").schema, timezone="UTC"), options)
    return frame


def _plan(rows: DataFrame, layout: Layout, options: WriteOptions, slots: int) -> _Plan:
    made = F.min("timestamp") if "timestamp" in rows.columns else F.lit(None).cast("timestamp")
    partition = F.col("partition") if "partition" in rows.columns else F.lit(0)
    sizes = [F.coalesce(F.octet_length(name), F.lit(0)) for name in ("key", "value") if name in rows.columns]
    size = sum(sizes[1:], sizes[0])
    grouped = rows.groupBy("source", "left_out").agg(
        F.count("*").alias("count"),
        F.sum(F.when(F.col("left_out").isNotNull(), F.col("offset"))).alias("sum"),
        F.unix_millis(made).alias("first_ms"),
        F.min(partition).alias("least"),
        F.max(partition).alias("most"),
        F.max(F.struct(size.alias("bytes"), "offset")).alias("largest"),
        F.count_if("unplaced").alias("unplaced"),
    )
    found: list[Row] = grouped.limit(_SOURCES_MAX + 1).collect()
    if len(found) > _SOURCES_MAX:
        raise UnwritableError(f"the messages are of more than {_SOURCES_MAX:,} sources")
    sources = [row for row in found if row["left_out"] is None]
    for row in sources:
        _check_source(row, layout, options)
    left_out = {row["left_out"]: int(row["sum"]) for row in found if row["left_out"] is not None}
    moments = [row["first_ms"] for row in sources if row["first_ms"] is not None]
    counts = {row["source"]: row["count"] for row in sources}
    total = sum(counts.values())
    tasks, loads = _spread(counts, slots)
    return _Plan(tasks, [load / total for load in loads], total, min(moments, default=None), left_out)


def _check_source(row: Row, layout: Layout, options: WriteOptions) -> None:
    """Raise UnwritableError for messages that cannot be written, before any is."""
    topic, count, source = layout.topic, len(layout.leaders), row["source"]
    if row["unplaced"]:
        raise UnwritableError(f"{row['unplaced']:,} messages have no partition or no offset")
    for partition in (row["least"], row["most"]):
        if not 0 <= partition < count:
            raise UnwritableError(
                f"there are messages of partition {partition}, and {topic} has partitions 0 to {count - 1}: make it"
                f" larger, or have its partitioner choose by partitions={BY_KEY!r}"
            )
    size, most = row["largest"]["bytes"], layout.message_bytes_max
    if size + HEADER_BYTES > most and options.codec is Codec.NONE:
        raise UnwritableError(
            f"{source.strip('/')}, offset {row['largest']['offset']}: {topic} takes messages of up to {most:,} bytes,"
            f" and this one has {size:,} in key and value"
        )


def _spread(counts: Mapping[str, int], slots: int) -> tuple[dict[str, int], list[int]]:
    """A task for each source, the largest first, each to the task that has least; and what each task has."""
    loads = [0] * min(slots, len(counts))
    tasks: dict[str, int] = {}
    for source in sorted(counts, key=lambda one: (-counts[one], one)):
        task = loads.index(min(loads))
        tasks[source] = task
        loads[task] += counts[source]
    return tasks, loads


def _filling(options: WriteOptions, job: str, layout: Layout, pace: Pace, plan: _Plan) -> Filling:
    rate = Rate(pace.rows_per_second, pace.bytes_per_second)
    timing = Timing(time.time_ns() + _HEADSTART_NS) if pace.original else None
    return Filling(options, job, layout, len(plan.tasks), plan.parts, rate, timing)


def _publish(spark: SparkSession, rows: DataFrame, plan: _Plan, filling: Filling, pace: Pace) -> list[Row]:
    chosen = pa.table({"source": [*plan.tasks], "task": pa.array([*plan.tasks.values()], pa.int32())})
    rows = rows.where("left_out is null").drop("left_out", "unplaced")
    order = ["source", "offset"]
    if pace.original:
        assert plan.first_ms is not None
        rows = rows.withColumn("tick", _tick(plan.first_ms, pace.speed))
        order = ["tick", *order]
    assigned = rows.join(F.broadcast(spark.createDataFrame(chosen)), "source")
    ordered = assigned.repartitionById(len(plan.parts), "task").sortWithinPartitions(*order)

    def body(pieces: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return fill(pieces, filling)

    return ordered.mapInArrow(body, SCHEMA_DDL).collect()


def _tick(first_ms: int, speed: float) -> Column:
    """When a message goes: times never go back within a source, and one without a time goes with the one before."""
    so_far = Window.partitionBy("source").orderBy("offset").rowsBetween(Window.unboundedPreceding, Window.currentRow)
    latest_ms = F.max(F.unix_millis("timestamp")).over(so_far)
    return F.floor((F.coalesce(latest_ms, F.lit(first_ms)) - F.lit(first_ms)) / F.lit(TICK_MS * speed)).cast("bigint")
