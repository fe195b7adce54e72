"""`export`: what is new in a topic, from a data folder or from a running cluster, as Parquet by date and hour.

A row keeps every column that the source has, with `date` and `hour` (UTC) from its timestamp in front, as names of
folders. Within a file rows are in the order of partition and offset.
"""

import secrets
from collections.abc import Callable, Mapping
from json import dumps

from attrs import define
from pyspark.sql import DataFrame, SparkSession, functions

from goqueue.spark.exporting.export import Export, Exported
from goqueue.spark.exporting.folder import open_folder
from goqueue.spark.exporting.manifest import ExportError, Span
from goqueue.spark.live.bounds import created_ms, live_bounds
from goqueue.spark.records.bounds import bounds

_RECORDS_A_FILE = 2_000_000
# What Hive, and Spark with it, calls the folder of what has no value.
_NO_TIME = "__HIVE_DEFAULT_PARTITION__"


@define
class Origin:
    """What is exported: a topic, of a data folder or of the cluster that answers at an address."""

    topic: str
    path: str = ""
    bootstrap: str = ""

    def bounds(self) -> dict[int, tuple[int, int]]:
        """The first offset that is still there, and the end, by partition. Raises UnreadableError, OSError."""
        if bool(self.path) == bool(self.bootstrap):
            raise ExportError("export from where? Name a data folder, or a broker's host:port, and not both")
        return live_bounds(self.bootstrap, self.topic) if self.bootstrap else bounds(self.path, self.topic)

    def created_ms(self) -> int:
        """When the topic was made; 0 of a data folder, which does not say."""
        return created_ms(self.bootstrap, self.topic) if self.bootstrap else 0

    def read(self, spark: SparkSession, starts: Mapping[int, int]) -> DataFrame:
        """All records from some offsets on."""
        reader = spark.read.format("goqueue").option("topic", self.topic)
        reader = reader.option("starting_offset", dumps({str(partition): at for partition, at in starts.items()}))
        return reader.option("bootstrap", self.bootstrap).load() if self.bootstrap else reader.load(self.path)


def export(
    spark: SparkSession,
    origin: Origin,
    folder: str,
    *,
    allow_gaps: bool = False,
    codec: str = "zstd",
    told: Callable[[str], None] = lambda _: None,
) -> Exported:
    """Export what has come since the last export into the folder. Raises ExportError, UnreadableError."""
    known = origin.bounds()

    def stage(starts: Mapping[int, int], inside: str) -> dict[int, Span]:
        new = sum(end - starts[partition] for partition, (_, end) in known.items())
        told(f"{origin.topic}: {new:,} offsets in {len(known)} partitions have not been exported")
        if not new:
            return {}
        _write(origin.read(spark, starts), inside, codec)
        # There may be no file: what is new may be compacted away, or be no records.
        return _spans(spark.read.schema("partition int, offset bigint").parquet(inside))

    beginnings = {partition: first for partition, (first, _) in known.items()}
    work = Export(open_folder(spark, folder), origin.topic, told, created_ms=origin.created_ms())
    for partition, exported in work.ends().items():
        _, end = known.get(partition, (0, 0))
        if end < exported:
            raise ExportError(
                f"{origin.topic}/{partition} ends at offset {end}, and {folder} holds it up to {exported}: it was made"
                " again since, or this is another one; export it into another folder"
            )
    return work.run(stage, beginnings, secrets.token_hex(8), allow_gaps=allow_gaps)


def _write(records: DataFrame, inside: str, codec: str) -> None:
    # In UTC whatever the session's zone. Without nulls, or Spark would sort anew for the folders, and by these alone.
    day = functions.expr("cast(date_from_unix_date(cast(unix_micros(timestamp) div 86400000000 as int)) as string)")
    hour = functions.expr("lpad(cast(unix_micros(timestamp) div 3600000000 % 24 as string), 2, '0')")
    none = functions.lit(_NO_TIME)
    placed = records.select(
        functions.coalesce(day, none).alias("date"), functions.coalesce(hour, none).alias("hour"), "*"
    )
    ordered = placed.sortWithinPartitions("date", "hour", "partition", "offset")
    writer = ordered.write.partitionBy("date", "hour").option("compression", codec)
    writer.option("maxRecordsPerFile", _RECORDS_A_FILE).parquet(inside)


def _spans(written: DataFrame) -> dict[int, Span]:
    found = written.groupBy("partition").agg(
        functions.min("offset").alias("first"),
        functions.max("offset").alias("last"),
        functions.count("offset").alias("count"),
    )
    return {row["partition"]: Span(row["first"], row["last"] + 1, row["count"]) for row in found.collect()}
