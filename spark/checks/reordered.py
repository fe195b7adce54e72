"""Messages of one producer lie in a partition in the order in which it sent them.

Known of producers that number their records, from batches that were shown. The order among messages of one key follows
from that for these; of others nothing is known, since nobody but the client knows in which order it sent them.
"""

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sql

from goqueue.core.cluster.apply import FIRST_PRODUCER_ID
from goqueue.spark.checks.finding import candidates, span
from goqueue.spark.checks.past import STREAM, Past

NAME: Final = "reordered"
PROMISE: Final = "Messages of one producer lie in a partition in the order in which it sent them."


def found(past: Past) -> DataFrame:
    """Batches that lie behind one of a later sequence."""
    numbered = past.batches.where((sql.col("producer") >= FIRST_PRODUCER_ID) & (sql.col("sequence") >= 0))
    by_offset = (
        Window.partitionBy(*STREAM, "producer", "producer_epoch").orderBy("first")
        .rowsBetween(Window.unboundedPreceding, -1)
    )  # fmt: skip
    furthest = sql.max(sql.struct("sequence", "first", "batch", "seen")).over(by_offset)
    reach = sql.col("sequence") + sql.coalesce("count", sql.lit(1))
    # One that reaches into the other is there twice, which is another question.
    behind = numbered.withColumn("other", furthest).where(sql.col("other.sequence") >= reach)
    behind = past.promised(behind)
    words = sql.format_string(
        "sequence %d of producer %d lies at offset %d, behind sequence %d at %d", "sequence", "producer", "first",
        "other.sequence", "other.first",
    )  # fmt: skip
    facts = [sql.col("other.batch"), sql.col("batch")]
    spans = [span(one, one["event"], sql.col(seen)) for one, seen in zip(facts, ("other.seen", "seen"), strict=True)]
    return candidates(behind, words, facts, spans=spans, unknown=sql.col("unpromised"))
