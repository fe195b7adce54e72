"""What was shown to readers stays: whoever leads later has all of it, and nothing else in its place.

Two ways to see a loss, each by two facts that cannot both be right, so that no gap of a capture explains it:

* a node begins to lead with a log that ends below what was shown under an earlier epoch;
* at one offset two batches were shown, of different epochs or different content.

And whoever says that a message is kept before it is, promises what is not sure: an answer before the leader has shown
it, and a leader that shows what is not on its disk. What it waited for may be in a gap. Not concluded: that a message
is there at all which was answered by a node that does not lead, or after the last file of the leader's capture.
"""

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sql

from goqueue.spark.checks.finding import candidates, fact, span
from goqueue.spark.checks.past import STREAM, Past

NAME: Final = "lost"
PROMISE: Final = "No acknowledged message is lost: whoever leads later has all that was shown, and nothing else there."


def found(past: Past) -> DataFrame:
    """Leaders without what was shown before, offsets that were shown twice, and what was promised too early."""
    return _shorter(past).unionByName(_replaced(past)).unionByName(_hasty(past)).unionByName(_unsynced(past))


def _shorter(past: Past) -> DataFrame:
    """Leaders whose log ends below what was shown under epochs before theirs."""
    reigns = past.of("leads").select(*STREAM, "epoch", "run", sql.lit(0).alias("order"), "end", fact().alias("one"))
    shown = (
        past.of("visible")
        .groupBy(*STREAM, "epoch", "run", "node")
        .agg(sql.lit(1).alias("order"), sql.max("end").alias("end"), sql.max_by(fact(), "end").alias("one"))
    )
    # Where a node is alone it leads in all its lives under one epoch.
    earlier = Window.partitionBy(*STREAM).orderBy("epoch", "run", "order").rowsBetween(Window.unboundedPreceding, -1)
    furthest = sql.max(sql.when(sql.col("order") == 1, sql.struct("end", "epoch", "run", "one"))).over(earlier)
    both = reigns.unionByName(shown.drop("node")).withColumn("shown", furthest)
    is_later = (sql.col("shown.epoch") < sql.col("epoch")) | (sql.col("shown.one.node") == sql.col("one.node"))
    short = both.where((sql.col("order") == 0) & (sql.col("shown.end") > sql.col("end")) & is_later)
    short = past.promised(short)
    words = sql.format_string(
        "readers were shown all below %d under epoch %d, and %s begins to lead in epoch %d with a log that ends at %d",
        "shown.end", "shown.epoch", "one.node", "epoch", "end",
    )  # fmt: skip
    lost = short.withColumn("first", sql.col("end")).withColumn("end", sql.col("shown.end"))
    return candidates(lost, words, [sql.col("shown.one"), sql.col("one")], unknown=sql.col("unpromised"))


def _replaced(past: Past) -> DataFrame:
    """Offsets at which two batches were shown."""
    in_order = Window.partitionBy(*STREAM).orderBy("first", "epoch", "end").rowsBetween(Window.unboundedPreceding, -1)
    furthest = sql.max(sql.struct("end", "first", "epoch", "value", "batch", "seen")).over(in_order)
    overlaid = past.batches.withColumn("other", furthest).where(sql.col("other.end") > sql.col("first"))
    is_same = (sql.col("other.epoch") == sql.col("epoch")) & sql.col("compacts")
    differing = past.promised(overlaid).where(~is_same)
    words = sql.format_string(
        "at offset %d readers were shown a batch of epoch %d from %d to %d, and one of epoch %d from %d to %d",
        "first", "other.epoch", "other.first", "other.end", "epoch", "first", "end",
    )  # fmt: skip
    facts = [sql.col("other.batch"), sql.col("batch")]
    spans = [span(one, one["event"], sql.col(seen)) for one, seen in zip(facts, ("other.seen", "seen"), strict=True)]
    return candidates(differing, words, facts, spans=spans, unknown=sql.col("unpromised"))


def _hasty(past: Past) -> DataFrame:
    """Answers of leaders that were to be kept by all, to messages that they have not shown."""
    rows = past.of("answered", "visible", "leads", "known", "appended").where(sql.col("side") == "data")
    is_lasting = (sql.col("kind") == "answered") & sql.col("cause").isNull() & (sql.col("detail") == "all")
    shown = sql.when(sql.col("kind") == "visible", sql.col("end")).when(
        sql.col("kind").isin("leads", "known"), sql.col("value")
    )
    so_far = (
        Window.partitionBy("node", "run", *STREAM).orderBy("event", "part").rowsBetween(Window.unboundedPreceding, -1)
    )
    taken = sql.when(sql.col("kind") == "appended", sql.struct(sql.col("end"), fact().alias("one")))
    known = rows.withColumn("shown", sql.max(shown).over(so_far)).withColumn(
        "taken", sql.last(taken, ignorenulls=True).over(so_far)
    )
    # Behind another node this one only passes on what that one said, and what it knows of it itself is older.
    is_leader = sql.col("epoch").isNotNull() & (sql.col("taken.end") >= sql.col("end"))
    early = known.where(is_lasting & is_leader & (sql.col("end") > sql.col("shown")))
    words = sql.format_string(
        "offsets from %d to %d were answered as kept, and readers are shown what is below %d only",
        "first",
        "end",
        "shown",
    )
    early = early.withColumn("one", fact())
    spans = [span(sql.col("one"), sql.lit(-1), sql.col("event"))]
    return candidates(early, words, [sql.col("taken.one"), sql.col("one")], spans=spans)


def _unsynced(past: Past) -> DataFrame:
    """What leaders have shown before it was on their own disks."""
    rows = past.of("visible", "durable", "leads", "known").where(sql.col("side") == "data")
    on_disk = sql.when(sql.col("kind") == "durable", sql.col("end")).when(
        sql.col("kind").isin("leads", "known"), sql.col("value")
    )
    so_far = (
        Window.partitionBy("node", "run", *STREAM).orderBy("event", "part").rowsBetween(Window.unboundedPreceding, -1)
    )
    last = sql.max(sql.when(on_disk.isNotNull(), sql.struct(on_disk.alias("end"), fact().alias("one")))).over(so_far)
    shown = rows.withColumn("last", last).withColumn("one", fact()).where(sql.col("kind") == "visible")
    early = past.promised(shown.where(sql.col("end") > sql.col("last.end")))
    words = sql.format_string(
        "readers were shown what is below %d, and what is below %d was on the disk", "end", "last.end"
    )
    facts = [sql.col("last.one"), sql.col("one")]
    spans = [span(facts[1], sql.lit(-1), sql.col("event"))]
    return candidates(early, words, facts, spans=spans, unknown=sql.col("unpromised"))
