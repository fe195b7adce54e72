"""No message is there twice: a sequence lies at one offset, a delayed message comes once, a dead letter is buried once.

Only batches that were shown count (`past.py`), so what a dead leader took and lost, and the next one took again, is no
duplicate. A gap between a batch and the moment at which it was shown may hide that it was cut off in between.
Not concluded: anything of producers that do not number their records, since who sends a message twice without saying
so has two.
"""

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sql

from goqueue.core.cluster.apply import FIRST_PRODUCER_ID
from goqueue.spark.checks.finding import candidates, fact, span
from goqueue.spark.checks.past import STREAM, Past

NAME: Final = "duplicated"
PROMISE: Final = "No message is there twice, unless its client sent it twice without saying so."


def found(past: Past) -> DataFrame:
    """Sequences at two offsets, delayed messages that came twice, and letters that were buried twice."""
    return _sequences(past).unionByName(_moves(past)).unionByName(_letters(past))


def _sequences(past: Past) -> DataFrame:
    numbered = past.batches.where((sql.col("producer") >= FIRST_PRODUCER_ID) & (sql.col("sequence") >= 0))
    # What compaction and rewriting leave of a batch lies where it lay.
    once = numbered.groupBy(*STREAM, "producer", "producer_epoch", "sequence", "first").agg(
        sql.max("count").alias("count"), sql.max("end").alias("end"), sql.min_by("batch", "end").alias("batch"),
        sql.min_by("seen", "end").alias("seen"),
    )  # fmt: skip
    by_sequence = (
        Window.partitionBy(*STREAM, "producer", "producer_epoch").orderBy("sequence", "first")
        .rowsBetween(Window.unboundedPreceding, -1)
    )  # fmt: skip
    reach = sql.col("sequence") + sql.coalesce("count", sql.lit(1))
    before = sql.max(sql.struct(reach.alias("reach"), "sequence", "first", "batch", "seen")).over(by_sequence)
    twice = once.withColumn("other", before).where(sql.col("other.reach") > sql.col("sequence"))
    twice = past.promised(twice)
    words = sql.format_string(
        "sequence %d of producer %d lies at offset %d and at offset %d", "sequence", "producer",
        sql.col("other.first") + sql.col("sequence") - sql.col("other.sequence"), "first",
    )  # fmt: skip
    facts = [sql.col("other.batch"), sql.col("batch")]
    spans = [span(one, one["event"], sql.col(seen)) for one, seen in zip(facts, ("other.seen", "seen"), strict=True)]
    return candidates(twice, words, facts, spans=spans, unknown=sql.col("unpromised"))


def _moves(past: Past) -> DataFrame:
    moved = past.shown(past.of("moved")).where(sql.col("sequence").isNotNull())
    place = ("topic", "topic_id", "partition", "sequence")
    by_offset = Window.partitionBy(*place).orderBy("first", "event")
    before = sql.first(sql.struct("first", fact().alias("one"), "seen")).over(by_offset)
    twice = (
        moved.withColumn("other", before).withColumn("one", fact()).where(sql.col("other.first") != sql.col("first"))
    )
    twice = past.promised(twice)
    words = sql.format_string(
        "the delayed message %d came at offset %d and again at offset %d", "sequence", "other.first", "first"
    )
    facts = [sql.col("other.one"), sql.col("one")]
    spans = [span(one, one["event"], sql.col(seen)) for one, seen in zip(facts, ("other.seen", "seen"), strict=True)]
    return candidates(twice, words, facts, spans=spans, unknown=sql.col("unpromised"))


def _letters(past: Past) -> DataFrame:
    """Letters by what they were, each where it lies: `detail` is topic/partition/offset."""
    where = sql.split("detail", "/")
    buried = past.of("buried").where(sql.size(where) == 3)
    letters = buried.withColumn("one", fact()).select(
        "group", "attempt", sql.col("topic").alias("from"), sql.col("topic_id").alias("from_id"),
        sql.col("partition").alias("from_partition"), sql.col("first").alias("from_first"), "one", "node", "run",
        "event", "part", where[0].alias("topic"), where[1].cast("int").alias("partition"),
        sql.lit("data").alias("side"), where[2].cast("bigint").alias("first"),
    )  # fmt: skip
    ids = (
        past.of("topic")
        .groupBy("topic")
        .agg(sql.min("topic_id").alias("topic_id"), sql.max("topic_id").alias("last_id"))
    )
    # Where a topic of letters was made anew, nobody knows in which of them a letter lies.
    letters = letters.join(sql.broadcast(ids.where(sql.col("topic_id") == sql.col("last_id"))), "topic")
    lasting = past.promised(past.shown(letters.withColumn("end", sql.col("first") + 1)))
    by_origin = Window.partitionBy("from", "from_id", "from_partition", "from_first", "`group`").orderBy(
        "first", "event"
    )
    before = sql.first(sql.struct("first", "partition", "one", "seen")).over(by_origin)
    is_other = (sql.col("other.first") != sql.col("first")) | (sql.col("other.partition") != sql.col("partition"))
    twice = lasting.withColumn("other", before).where(is_other)
    words = sql.format_string(
        "the message %d is a letter of %s at %d/%d and at %d/%d of %s", "from_first", "group", "other.partition",
        "other.first", "partition", "first", "topic",
    )  # fmt: skip
    origin = {"from": "topic", "from_partition": "partition", "from_first": "first"}
    twice = twice.withColumn("words", words).drop("topic", "partition", "first", "end").withColumnsRenamed(origin)
    facts = [sql.col("other.one"), sql.col("one")]
    spans = [span(one, one["event"], sql.col(seen)) for one, seen in zip(facts, ("other.seen", "seen"), strict=True)]
    return candidates(twice, sql.col("words"), facts, spans=spans, unknown=sql.col("unpromised"))
