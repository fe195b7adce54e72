"""What is agreed on about a partition makes sense: it is led by one in sync, all are told the same, epochs only rise.

Every node notes a placement when it hears of it. Versions number the placements of a partition, so nodes are compared
by these and not by any clock, and no gap explains a difference.
"""

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sql

from goqueue.spark.checks.finding import candidates, fact
from goqueue.spark.checks.past import Past

NAME: Final = "placements"
PROMISE: Final = (
    "What is agreed on about a partition is the same for all, led by one in sync, and its epochs only rise."
)

_PLACE: Final = ("topic", "topic_id", "partition")


def found(past: Past) -> DataFrame:
    """Versions that nodes know differently, leaders that are not in sync, and epochs that go back."""
    placed = past.of("placed").withColumn("one", fact())
    return _differing(placed).unionByName(_outside(placed)).unionByName(_falling(placed))


def _differing(placed: DataFrame) -> DataFrame:
    what = sql.struct("peer", "epoch", "detail")
    told = placed.groupBy(*_PLACE, "value").agg(
        sql.min_by("one", what).alias("one"), sql.max_by("one", what).alias("other"), sql.min(what).alias("least"),
        sql.max(what).alias("greatest"),
    )  # fmt: skip
    two = told.where(~sql.col("least").eqNullSafe(sql.col("greatest")))
    words = sql.format_string("version %d is one thing to %s and another to %s", "value", "one.node", "other.node")
    return candidates(two, words, [sql.col("one"), sql.col("other")])


def _outside(placed: DataFrame) -> DataFrame:
    in_sync = sql.split(sql.regexp_extract("detail", r"isr (\S*)", 1), ",")
    is_told = sql.col("detail").contains("isr ")
    alone = placed.where(
        sql.col("peer").isNotNull() & (sql.col("peer") != "") & is_told & ~sql.array_contains(in_sync, sql.col("peer"))
    )
    words = sql.format_string("it is led by %s, which is not in sync: %s", "peer", "detail")
    return candidates(alone, words, [sql.col("one")])


def _falling(placed: DataFrame) -> DataFrame:
    once = placed.groupBy(*_PLACE, "value").agg(
        sql.max("epoch").alias("epoch"), sql.max_by("one", "epoch").alias("one")
    )
    before = Window.partitionBy(*_PLACE).orderBy("value").rowsBetween(Window.unboundedPreceding, -1)
    back = once.withColumn("other", sql.max(sql.struct("epoch", "value", "one")).over(before))
    back = back.where(sql.col("other.epoch") > sql.col("epoch"))
    words = sql.format_string("epoch %d of version %d comes after epoch %d", "epoch", "value", "other.epoch")
    return candidates(back, words, [sql.col("other.one"), sql.col("one")])
