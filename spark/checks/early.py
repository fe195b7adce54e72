"""Nothing comes before its time: a delayed message not before it is due, and nothing to readers before it is shown.

When a message is due is compared with the wall clock of the node that moved it, as that was told to it: a clock that is
wrong is not a broken promise. A message may have been rescheduled in a gap of any node that led its partition; then
nobody knows when it was due, save that the node which moved it said so itself.
"""

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sql

from goqueue.spark.checks.finding import anywhere, candidates, fact, span
from goqueue.spark.checks.past import STREAM, Past

NAME: Final = "early"
PROMISE: Final = (
    "A message that is kept back comes when it is due or later, if nobody cancels it, and readers see nothing beyond "
    "what is shown."
)

_SCHEDULED: Final = ("topic", "topic_id", "partition")


def found(past: Past) -> DataFrame:
    """Messages that came before they were due, or although they were cancelled, and reads of what was not shown."""
    return _hasty(past).unionByName(_unplanned(past)).unionByName(_cancelled(past)).unionByName(_beyond(past))


def _hasty(past: Past) -> DataFrame:
    """Moves before the moment that they name themselves."""
    moved = past.of("moved").where(sql.col("time") < sql.col("due")).withColumn("one", fact())
    words = sql.format_string(
        "a message that is due at %s came at %s", sql.col("due").cast("string"), sql.col("time").cast("string")
    )
    return candidates(moved, words, [sql.col("one")])


def _unplanned(past: Past) -> DataFrame:
    """Moves before any moment that was ever agreed on."""
    kept = past.of("scheduled", "rescheduled")
    planned = kept.groupBy(*_SCHEDULED, sql.col("first").alias("sequence")).agg(
        sql.min_by(fact(), "due").alias("plan"), sql.min("due").alias("planned"),
        sql.max((sql.col("kind") == "scheduled").cast("int")).alias("is_whole"),
    )  # fmt: skip
    moved = past.of("moved").withColumn("one", fact()).drop("due")
    sooner = moved.join(planned.where(sql.col("is_whole") == 1), [*_SCHEDULED, "sequence"])
    sooner = past.promised(sooner.where(sql.col("time") < sql.col("planned")))
    words = sql.format_string(
        "a message that was due at %s at the earliest came at %s",
        sql.col("planned").cast("string"),
        sql.col("time").cast("string"),
    )
    facts = [sql.col("plan"), sql.col("one")]
    return candidates(sooner, words, facts, spans=[anywhere()], unknown=sql.col("unpromised"))


def _cancelled(past: Past) -> DataFrame:
    """Messages that came, and whose owner was answered that they will not."""
    cancelled = past.of("cancelled").select(*_SCHEDULED, sql.col("first").alias("sequence"), fact().alias("other"))
    moved = past.shown(past.of("moved")).withColumn("one", fact())
    both = past.promised(moved.join(cancelled, [*_SCHEDULED, "sequence"]))
    words = sql.format_string("the delayed message %d was cancelled, and came at offset %d", "sequence", "first")
    facts = [sql.col("other"), sql.col("one")]
    spans = [span(facts[1], sql.col("event"), sql.col("seen"))]
    return candidates(both, words, facts, spans=spans, unknown=sql.col("unpromised"))


def _beyond(past: Past) -> DataFrame:
    """Answers to readers that go beyond the furthest that the node had shown by then."""
    rows = past.of("fetched", "leased", "visible", "leads", "known").where(sql.col("side") == "data")
    shown = sql.when(sql.col("kind") == "visible", sql.col("end")).when(
        sql.col("kind").isin("leads", "known"), sql.col("value")
    )
    so_far = (
        Window.partitionBy("node", "run", *STREAM).orderBy("event", "part").rowsBetween(Window.unboundedPreceding, -1)
    )
    last = sql.max(sql.when(shown.isNotNull(), sql.struct(shown.alias("reach"), fact().alias("one")))).over(so_far)
    given = rows.withColumn("last", last).withColumn("one", fact())
    given = given.where(sql.col("kind").isin("fetched", "leased"))
    beyond = given.where(sql.col("end") > sql.col("last.reach"))
    words = sql.format_string(
        "a reader was given what is below %d, and was shown what is below %d", "end", "last.reach"
    )
    spans = [span(sql.col("one"), sql.lit(-1), sql.col("event"))]
    return candidates(beyond, words, [sql.col("last.one"), sql.col("one")], spans=spans)
