"""The high watermark never goes back: not on a node that leads, and not from one leader to the next.

On one node a gap explains nothing, since a node that goes on leading goes on from where it was. From leader to leader
epochs say who came first. A topic that promises little may go back when its leader dies.
"""

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sql

from goqueue.spark.checks.finding import candidates, fact
from goqueue.spark.checks.past import STREAM, Past

NAME: Final = "watermark"
PROMISE: Final = "What readers may see never becomes less."


def found(past: Past) -> DataFrame:
    """Watermarks that went back, in one reign or from one to the next."""
    shown = past.of("visible")
    return _within(past, shown).unionByName(_across(past, shown))


def _within(past: Past, shown: DataFrame) -> DataFrame:
    so_far = (
        Window.partitionBy("node", "run", *STREAM, "epoch").orderBy("event", "part")
        .rowsBetween(Window.unboundedPreceding, -1)
    )  # fmt: skip
    furthest = sql.max(sql.struct("end", fact().alias("one"))).over(so_far)
    back = shown.withColumn("other", furthest).withColumn("one", fact()).where(sql.col("other.end") > sql.col("end"))
    back = past.promised(back)
    words = sql.format_string("readers were shown what is below %d, and then what is below %d", "other.end", "end")
    return candidates(back, words, [sql.col("other.one"), sql.col("one")], unknown=sql.col("unpromised"))


def _across(past: Past, shown: DataFrame) -> DataFrame:
    """The first that a leader shows, against all that was shown under earlier epochs."""
    reigns = shown.groupBy(*STREAM, "epoch").agg(
        sql.min("end").alias("least"), sql.min_by(fact(), "end").alias("one"), sql.max("end").alias("most"),
        sql.max_by(fact(), "end").alias("last"),
    )  # fmt: skip
    before = Window.partitionBy(*STREAM).orderBy("epoch").rowsBetween(Window.unboundedPreceding, -1)
    furthest = sql.max(sql.struct(sql.col("most").alias("end"), sql.col("epoch"), sql.col("last").alias("one"))).over(
        before
    )
    back = reigns.withColumn("other", furthest).where(sql.col("other.end") > sql.col("least"))
    back = past.promised(back.withColumn("first", sql.col("least")).withColumn("end", sql.col("other.end")))
    words = sql.format_string(
        "readers were shown what is below %d under epoch %d, and under epoch %d what is below %d", "other.end",
        "other.epoch", "epoch", "least",
    )  # fmt: skip
    return candidates(back, words, [sql.col("other.one"), sql.col("one")], unknown=sql.col("unpromised"))
