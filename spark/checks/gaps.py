"""What is missing between facts: stretches of a node's life that no capture tells of, or that could not be replayed.

Known from the facts about files alone, of which there are as many as files. A gap is a node, a run, and the events from
`begin` on and before `end` that are missing. Where files were deleted from the beginning of a run, that is one as well.

A run that ended without being closed has one behind its last event: a process that was killed had up to a tenth of a
second of notes in memory. Files that are gone from the end of a run leave no other trace. A node that peers speak of
and that has no file at all is a gap as a whole.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sql

from goqueue.core.errors import GoQueueError
from goqueue.spark.checks.finding import FOREVER


def gaps_of(facts: DataFrame) -> DataFrame:
    """All gaps there are, by node and run."""
    return _within(facts).unionByName(_behind(facts)).unionByName(_absent(facts))


class GivenTwice(GoQueueError):
    """Captures in which something is told twice."""


def expect_once(facts: DataFrame) -> None:
    """Raises GivenTwice where two files tell of the same events: whatever they say would have happened twice."""
    in_order = Window.partitionBy("node", "run").orderBy("begin", "read")
    files = _files(facts).where(sql.col("begin").isNotNull())
    both = files.withColumn("next", sql.lead("begin").over(in_order)).where(sql.col("next") < sql.col("read"))
    twice = both.limit(1).collect()
    if twice:
        [row] = twice
        raise GivenTwice(
            f"events {row['next']} to {row['read'] - 1} of run {row['run']} of node {row['node']} are in two files; "
            "give each capture once"
        )


def _files(facts: DataFrame) -> DataFrame:
    """A row for each file: which events it tells of, and why it ends before it should."""
    files = facts.where(sql.col("kind") == "file")
    return files.select(
        "node", "run", sql.col("value").alias("number"), sql.col("first").alias("begin"),
        (sql.col("first") + sql.coalesce("count", sql.lit(0))).alias("read"), "cause", "detail",
    )  # fmt: skip


def _within(facts: DataFrame) -> DataFrame:
    """What is missing before the first file of a run, and between two."""
    in_order = Window.partitionBy("node", "run").orderBy("begin", "number")
    before = sql.coalesce(sql.lag("read").over(in_order), sql.lit(0))
    why = sql.lag(sql.concat(sql.col("cause"), sql.lit(": "), sql.coalesce("detail", sql.lit("")))).over(in_order)
    found = _files(facts).withColumn("before", before).withColumn("why", why)
    words = sql.concat(
        sql.format_string("events %d to %d of run %d of %s", "before", sql.col("begin") - 1, "run", "node"),
        sql.coalesce(sql.concat(sql.lit(" ("), sql.col("why"), sql.lit(")")), sql.lit("")),
    )
    gap = found.where(sql.col("begin") > sql.col("before"))
    return gap.select(
        "node", "run", sql.col("before").alias("begin"), sql.col("begin").alias("end"), words.alias("words")
    )


def _behind(facts: DataFrame) -> DataFrame:
    """What may be missing behind the last file of a run."""
    closed = (
        facts.where(sql.col("kind") == "closed").select("node", "run").distinct().withColumn("is_closed", sql.lit(True))
    )
    last = (
        _files(facts)
        .groupBy("node", "run")
        .agg(
            sql.max("read").alias("begin"),
            sql.max_by("cause", "begin").alias("cause"),
            sql.max_by("detail", "begin").alias("why"),
        )
    )
    open_ended = last.join(closed, ["node", "run"], "left").where(
        sql.col("cause").isNotNull() | sql.col("is_closed").isNull()
    )
    why = sql.when(sql.col("cause").isNull(), sql.lit("it was not closed")).otherwise(
        sql.concat(sql.col("cause"), sql.lit(": "), sql.coalesce("why", sql.lit("")))
    )
    words = sql.concat(
        sql.format_string("what followed event %d of run %d of %s (", sql.col("begin") - 1, "run", "node"),
        why,
        sql.lit(")"),
    )
    return open_ended.select("node", "run", "begin", sql.lit(FOREVER).alias("end"), words.alias("words"))


def _absent(facts: DataFrame) -> DataFrame:
    """Nodes of which others speak."""
    spoken = facts.where(sql.col("kind").isin("standing", "copied", "follows", "met")).where(
        sql.col("peer").isNotNull()
    )
    named = spoken.select(sql.col("peer").alias("node")).distinct()
    present = facts.where(sql.col("kind") == "file").select("node").distinct()
    return named.join(present, "node", "left_anti").select(
        "node", sql.lit(None).cast("bigint").alias("run"), sql.lit(-1).cast("bigint").alias("begin"),
        sql.lit(FOREVER).alias("end"), sql.concat(sql.lit("all of "), sql.col("node")).alias("words"),
    )  # fmt: skip


def judged(candidates: DataFrame, gaps: DataFrame) -> DataFrame:
    """Candidates, with `unknown` saying which gaps may explain them; null where there is none."""
    everything = gaps.groupBy().agg(sql.collect_list(sql.struct("node", "run", "begin", "end", "words")).alias("gaps"))
    open_to = sql.filter("gaps", lambda gap: sql.exists("spans", lambda one: _overlap(one, gap)))
    said = sql.concat_ws("; ", sql.slice(sql.transform(open_to, lambda gap: gap["words"]), 1, 3))
    unknown = sql.coalesce("unknown", sql.when(said != "", said))
    return candidates.crossJoin(sql.broadcast(everything)).withColumn("unknown", unknown).drop("gaps", "spans")


def _overlap(one: Column, gap: Column) -> Column:
    is_of = one["node"].isNull() | (one["node"] == gap["node"])
    is_in_run = gap["run"].isNull() | one["run"].isNull() | (one["run"] == gap["run"])
    return is_of & is_in_run & (gap["begin"] < one["end"]) & (one["begin"] < gap["end"])
