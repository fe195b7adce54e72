"""Where a back-fill takes its messages from: frames with the columns of a message, and a place in an order for each.

An exported folder or any other Parquet, a topic (of segments or of a running cluster), or captures. Any other frame of
that kind will do as well: `offset` says in which order messages were, within what `source` names, or else within a
partition of a topic.

Parquet that knows of no offsets is taken in the order of its files and rows, each file being a source; so files may be
added between two runs of a job, and none may be changed.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from goqueue.spark.captures.files import find_captures
from goqueue.spark.exporting.export import exported_id, unfinished
from goqueue.spark.exporting.folder import open_folder
from goqueue.spark.live.bounds import live_identity
from goqueue.spark.reaching import reached
from goqueue.spark.records.identity import identity_of
from goqueue.spark.sinking.errors import UnwritableError
from goqueue.spark.sinking.recorded import SCHEMA_DDL, gleaned
from goqueue.storage.capture_files import CaptureFile

COLUMNS = ("key", "value", "headers", "timestamp", "lane", "partition", "offset", "topic")


def from_parquet(spark: SparkSession, folders: Sequence[str], columns: Mapping[str, str] | None = None) -> DataFrame:
    """Messages that lie as Parquet, exported or not; `columns` are those that have another name there.

    Raises UnwritableError, ExportError.
    """
    given = dict(columns or {})
    unknown = [name for name in given if name not in COLUMNS]
    if unknown:
        raise UnwritableError(f"a message has no {unknown[0]!r}; it is made of {', '.join(COLUMNS)}")
    for folder in folders:
        left = unfinished(open_folder(spark, folder))
        if left:
            raise UnwritableError(
                f"{folder}: {left} files of an export that broke off are not in their places; export again, which puts"
                " them there"
            )
    frames = [_parquet(spark, number, folder, given) for number, folder in enumerate(folders)]
    if not frames:
        raise UnwritableError("there is no folder of Parquet")
    return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), frames)


def _parquet(spark: SparkSession, number: int, folder: str, columns: Mapping[str, str]) -> DataFrame:
    frame = spark.read.parquet(folder)
    named = {name: columns.get(name, name) for name in COLUMNS}
    missing = [name for name in columns if columns[name] not in frame.columns]
    if missing:
        found = ", ".join(frame.columns)
        raise UnwritableError(f"{folder} has no column {columns[missing[0]]!r} for the {missing[0]}; it has {found}")
    chosen = {name: frame[own].alias(name) for name, own in named.items() if own in frame.columns}
    if "offset" in chosen and "partition" in chosen:
        # An export of a topic that was made again is in another folder, and has the same offsets.
        topic = chosen["topic"] if "topic" in chosen else F.lit("")
        own = F.concat_ws("/", topic, F.lit(exported_id(open_folder(spark, folder))), chosen["partition"])
        return frame.select(*chosen.values(), F.when(chosen["partition"].isNotNull(), own).alias("source"))
    # The path below the folder, so that a folder may be moved between two runs.
    root = open_folder(spark, folder).path
    path = F.col("_metadata.file_path")
    below = F.when(path.startswith(root), F.expr(f"substr(_metadata.file_path, {len(root) + 1})")).otherwise(path)
    source = F.concat(F.lit(f"{number}:"), below).alias("source")
    offset = F.col("_metadata.row_index").alias("offset")
    chosen.pop("offset", None)
    return frame.select(*chosen.values(), source, offset)


def from_topic(spark: SparkSession, options: Mapping[str, str]) -> DataFrame:
    """Messages of topics, by the options of the source `goqueue`. Raises UnreadableError, ClientError, OSError.

    A topic that was made again is another source, so that a job that had the one before takes it for new.
    """
    frame = spark.read.format("goqueue").options(**options).load()
    names = [name.strip() for name in options.get("topic", "").split(",") if name.strip()]
    ids = [F.when(F.col("topic") == name, F.lit(_identity(options, name))) for name in names]
    return frame.withColumn("source", F.concat_ws("/", "topic", F.coalesce(*ids, F.lit("")), "partition"))


def _identity(options: Mapping[str, str], topic: str) -> str:
    """The id of a topic, empty where a data folder does not say."""
    if "bootstrap" in options:
        return live_identity(options["bootstrap"], topic)
    return identity_of(options["path"], topic)


def from_captures(spark: SparkSession, paths: Sequence[str], topic: str = "") -> DataFrame:
    """Messages that clients published while nodes were captured, a task a node. Raises CaptureError, UnreachedError.

    Rows with `left_out` are none: they say what is missing, and `offset` how much of it.
    """
    nodes: dict[str, list[CaptureFile]] = {}
    for found in find_captures(reached(spark, paths)):
        nodes.setdefault(found.node_dir, []).append(CaptureFile(found.path, found.name, found.run, found.sequence))
    captures = [nodes[name] for name in sorted(nodes)]

    def body(pieces: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for piece in pieces:
            for number in piece.column(0).to_pylist():
                yield from gleaned(captures[number], topic)

    numbers = spark.range(0, len(captures), 1, len(captures))
    return numbers.mapInArrow(body, SCHEMA_DDL)
