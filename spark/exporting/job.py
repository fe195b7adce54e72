"""`export`: what is new in a topic, from a data folder or from a running cluster, as Parquet by date and hour.

A row keeps every column that the source has, with `date` and `hour` (UTC) from its timestamp in front, as names of
folders. Within a file rows are in the order of partition and offset.
"""

import secrets
from collections.abc import Callable, Mapping
from json import dumps

from attrs import define, evolve
from pyspark.sql import DataFrame, SparkSession, functions

from goqueue.spark.exporting.export import Export, Exported
from goqueue.spark.exporting.folder import open_folder
from goqueue.spark.exporting.manifest import ExportError, Span
from goqueue.spark.live.bounds import live_bounds, live_identity
from goqueue.spark.reaching import reached, writable
from goqueue.spark.records.bounds import bounds
from goqueue.spark.records.edges import ID
from goqueue.spark.records.identity import identity_of

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
        return live_bounds(self.bootstrap, self.topic) if self.bootstrap else bounds(self.path, self.topic)

    def identity(self) -> str:
        """The topic's id, which no other of its name has; empty of a data folder that does not say.

        Raises UnreadableError, ClientError, OSError.
        """
        if bool(self.path) == bool(self.bootstrap):
            raise ExportError("export from where? Name a data folder, or a broker's host:port, and not both")
        return live_identity(self.bootstrap, self.topic) if self.bootstrap else identity_of(self.path, self.topic)

    def read(self, spark: SparkSession, starts: Mapping[int, int], topic_id: str) -> DataFrame:
        """All records from some offsets on, of the topic with this id if there is one."""
        reader = spark.read.format("goqueue").option("topic", self.topic)
        named: dict[str, int | str] = {ID: topic_id} if topic_id else {}
        named |= {str(partition): at for partition, at in starts.items()}
        reader = reader.option("starting_offset", dumps(named))
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
    if origin.path:
        origin = evolve(origin, path=reached(spark, [origin.path])[0])
    folder = writable(spark, folder)
    # The id first: if the topic is made again in between, reading names the id of the one before, and is refused.
    topic_id, known = origin.identity(), origin.bounds()

    def stage(starts: Mapping[int, int], inside: str) -> dict[int, Span]:
        new = sum(end - starts[partition] for partition, (_, end) in known.items())
        told(f"{origin.topic}: {new:,} offsets in {len(known)} partitions have not been exported")
        if not new:
            return {}
        _write(origin.read(spark, starts, topic_id), inside, codec)
        # There may be no file: what is new may be compacted away, or be no records.
        return _spans(spark.read.schema("partition int, offset bigint").parquet(inside))

    beginnings = {partition: first for partition, (first, _) in known.items()}
    work = Export(open_folder(spark, folder), origin.topic, told, topic_id=topic_id)
    for partition, exported in work.ends().items():
        _, end = known.get(partition, (0, 0))
        if end < exported:
            raise ExportError(
                f"{origin.topic}/{partition} ends at offset {end}, and {folder} holds it up to {exported}: it has"
                " lost records, or this is another topic; export it into another folder"
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
