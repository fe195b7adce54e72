"""One leader an epoch, one controller a term, one vote a disk and term, which outlives its process.

Each is broken by two facts that cannot both be right. A node that is alone leads under one epoch in all its lives; of
nodes among others one process leads in an epoch, since what a dead one had not synced may be gone. A node whose
disk was replaced is another voter, and knows nothing of votes on the disk before.
"""

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sql

from goqueue.spark.checks.finding import candidates, fact
from goqueue.spark.checks.past import STREAM, Past

NAME: Final = "leaders"
PROMISE: Final = "One leader an epoch, one controller a term, one vote a node and term."


def found(past: Past) -> DataFrame:
    """Epochs of two leaders, terms of two controllers, terms in which a node voted twice, and votes forgotten."""
    return _leaders(past).unionByName(_controllers(past)).unionByName(_voters(past)).unionByName(_forgetful(past))


def _two(rows: DataFrame, by: tuple[str, ...], who: Column) -> DataFrame:
    """What has two of something where there should be one; `one` and `other` are facts of the least and the most."""
    in_order = sql.struct("who", "event")
    told = rows.withColumn("who", who).groupBy(*by).agg(
        sql.min_by(fact(), in_order).alias("one"), sql.max_by(fact(), in_order).alias("other"),
        sql.min("who").alias("least"), sql.max("who").alias("greatest"),
    )  # fmt: skip
    return told.where(sql.col("least") != sql.col("greatest"))


def _leaders(past: Past) -> DataFrame:
    two = _two(past.of("leads"), (*STREAM, "epoch"), sql.struct("node", "run"))
    # Of a partition that was never placed its node is alone with it.
    places = (
        past.of("placed").select("topic", "topic_id", "partition").distinct().withColumn("is_placed", sql.lit(True))
    )
    two = two.join(sql.broadcast(places), ["topic", "topic_id", "partition"], "left")
    two = two.where((sql.col("one.node") != sql.col("other.node")) | sql.col("is_placed"))
    words = sql.format_string("%s and %s both lead in epoch %d", "one.node", "other.node", "epoch")
    same = sql.format_string("two processes of %s lead in epoch %d", "one.node", "epoch")
    words = sql.when(sql.col("one.node") == sql.col("other.node"), same).otherwise(words)
    return candidates(two, words, [sql.col("one"), sql.col("other")])


def _controllers(past: Past) -> DataFrame:
    two = _two(past.of("elected"), ("epoch",), sql.col("node"))
    words = sql.format_string("%s and %s are both controllers in term %d", "one.node", "other.node", "epoch")
    return candidates(two, words, [sql.col("one"), sql.col("other")])


def _voters(past: Past) -> DataFrame:
    two = _two(past.of("voted").where(sql.col("peer") != ""), ("node", "detail", "epoch"), sql.col("peer"))
    words = sql.format_string("%s votes for %s and for %s in term %d", "node", "one.peer", "other.peer", "epoch")
    return candidates(two, words, [sql.col("one"), sql.col("other")])


def _forgetful(past: Past) -> DataFrame:
    """Votes that were kept, and that the next process of the node does not find."""
    votes = past.of("vote_kept", "recalled").withColumn("one", fact())
    so_far = (
        Window.partitionBy("node", "detail").orderBy("run", "event", "part").rowsBetween(Window.unboundedPreceding, -1)
    )
    kept = sql.when(sql.col("kind") == "vote_kept", sql.struct("epoch", "peer", "one"))
    known = votes.withColumn("other", sql.max(kept).over(so_far)).where(sql.col("kind") == "recalled")
    term = sql.coalesce("epoch", sql.lit(-1))
    lost = known.where(sql.col("other.epoch") > term)
    words = sql.format_string("%s has kept a vote of term %d, and finds one of term %d", "node", "other.epoch", term)
    return candidates(lost, words, [sql.col("other.one"), sql.col("one")])
