"""Facts as a DataFrame: a task a capture file, the largest first; and kept as Parquet, so that one replay serves many.

Nothing is shuffled, and a task holds no more than some thousand facts at a time. The frame is lazy like any other: what
is read twice is replayed twice, so whoever has more than one question keeps the facts.

Kept facts lie in a folder a kind, since no report asks for all kinds.
"""

from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from goqueue.core.errors import GoQueueError
from goqueue.spark import places
from goqueue.spark.captures.code import check_code
from goqueue.spark.captures.files import find_captures
from goqueue.spark.facts.extract import facts_of
from goqueue.spark.facts.schema import COLUMNS, SCHEMA_DDL
from goqueue.spark.reaching import reached, writable


class FactsError(GoQueueError):
    """A folder that facts cannot be kept in, or that holds none."""


def read_facts(spark: SparkSession, paths: Sequence[str], code: str = "") -> DataFrame:
    """The facts of all captures at some paths.

    Raises CaptureError where there are none, UnknownCode, and UnreachedError where tasks do not find them.
    """
    check_code(code)
    files = sorted(find_captures(reached(spark, paths)), key=lambda file: -file.size_bytes)
    places = [file.path for file in files]

    def body(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from facts_of(places[number], code)

    return spark.range(0, len(places), 1, len(places)).mapInArrow(body, SCHEMA_DDL)


def keep(facts: DataFrame, folder: str) -> None:
    """Write facts to a folder that is not there yet. Raises FactsError, UnreachedError."""
    try:
        facts.write.partitionBy("kind").parquet(writable(facts.sparkSession, folder))
    except AnalysisException as error:
        if error.getCondition() == "PATH_ALREADY_EXISTS":
            raise FactsError(f"{folder} is there already; facts are kept in a folder of their own") from error
        raise


def kept(spark: SparkSession, folder: str) -> DataFrame:
    """The facts that were kept in a folder. Raises FactsError, UnreachedError."""
    (folder,) = reached(spark, [folder])
    try:
        kinds = [name for name in places.folders(folder) if name.startswith("kind=")]
    except OSError as error:
        raise FactsError(f"{folder} holds no facts: {error.strerror or error}") from error
    if not kinds:
        raise FactsError(f"{folder} holds no facts: there is no folder of a kind in it")
    try:
        found = spark.read.parquet(folder)
    except AnalysisException as error:
        raise FactsError(f"{folder} holds no facts: {error.getCondition()}") from error
    if set(found.columns) != set(COLUMNS):
        missing = sorted(COLUMNS.keys() - set(found.columns))
        why = f"column {missing[0]} is missing" if missing else "it has more columns than facts have"
        raise FactsError(f"{folder} holds no facts of this release: {why}")
    return found.select(*COLUMNS)
