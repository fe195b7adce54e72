"""In one generation of a group a partition is meant for one member, and nobody is given what another one still has.

Nobody but its owner says how far a partition has come. What members were told is compared by generation, wherever a
coordinator was; who has what, on the coordinator's own events, from when it began to coordinate. That a member has let
go may be in a gap between the two facts. A group that was deleted begins with the first generation anew, so of it only
the coordinator's own events are looked at.
"""

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sql

from goqueue.spark.checks.finding import candidates, fact, span
from goqueue.spark.checks.past import Past

NAME: Final = "assignments"
PROMISE: Final = (
    "In one generation a partition is meant for one member, no two members have it at one time, and only who has it "
    "commits."
)

_SLOT: Final = ("group", "topic", "topic_id", "partition")


def found(past: Past) -> DataFrame:
    """Generations that mean a partition for two, partitions that two have at once, and commits of others."""
    owned = _owned(past)
    return _twice_meant(past).unionByName(_overlapping(owned)).unionByName(_foreign(owned))


def _twice_meant(past: Past) -> DataFrame:
    # What a coordinator meant and told nobody, the next one may mean otherwise.
    meant = past.of("told").where(sql.col("epoch").isNotNull()).withColumn("one", fact())
    # Whoever comes back under its name is the same one under another number.
    name = sql.regexp_replace("member", "@[0-9a-f]{16}$", "")
    told = meant.withColumn("name", name).groupBy(*_SLOT, "epoch").agg(
        sql.min_by("one", "name").alias("one"), sql.max_by("one", "name").alias("other"),
        sql.min("name").alias("least"), sql.max("name").alias("greatest"),
    )  # fmt: skip
    two = told.where(sql.col("least") != sql.col("greatest"))
    deleted = past.of("group").where(sql.col("cause") == "deleted").select("group").distinct()
    words = sql.concat(sql.lit("group "), sql.col("group"), sql.lit(" was deleted and made anew"))
    two = two.join(sql.broadcast(deleted.withColumn("remade", words)), "group", "left")
    words = sql.format_string("in generation %d it is %s's and %s's", "epoch", "least", "greatest")
    return candidates(two, words, [sql.col("one"), sql.col("other")], unknown=sql.col("remade"))


def _owned(past: Past) -> DataFrame:
    """What members are given and say, each with who had the partition by then: `last`, as its coordinator has it."""
    rows = past.of("owned", "disowned", "told", "committed", "known").withColumn("one", fact())
    rows = rows.where((sql.col("kind") != "known") | sql.col("member").isNotNull())
    rows = rows.where((sql.col("kind") != "committed") | sql.col("cause").isNull())
    # What a coordinator had not made durable is not there when it takes over again, as after its disk has failed.
    begun = past.of("coordinates").where(sql.col("cause") == "taken_over").groupBy("node", "run").agg(
        sql.collect_list("event").alias("begun")
    )  # fmt: skip
    rows = rows.join(sql.broadcast(begun), ["node", "run"], "left")
    reign = sql.size(sql.filter("begun", lambda event: event <= sql.col("event")))
    rows = rows.withColumn("reign", sql.coalesce(sql.when(sql.col("begun").isNotNull(), reign), sql.lit(0)))
    by_event = Window.partitionBy("node", "run", "reign", *_SLOT).orderBy("event", "part")
    so_far = by_event.rowsBetween(Window.unboundedPreceding, -1)
    change = sql.when(
        sql.col("kind").isin("owned", "disowned", "known"),
        sql.struct((sql.col("kind") != "disowned").alias("has"), "member", "at", "one"),
    )
    return rows.withColumn("last", sql.last(change, ignorenulls=True).over(so_far)).drop("begun", "reign")


def _overlapping(owned: DataFrame) -> DataFrame:
    is_taken = sql.col("last.has") & (sql.col("last.member") != sql.col("member"))
    both = owned.where(sql.col("kind").isin("owned", "told") & is_taken)
    words = sql.format_string("%s is given what %s has", "member", "last.member")
    return candidates(both, words, [sql.col("last.one"), sql.col("one")], spans=_since())


def _foreign(owned: DataFrame) -> DataFrame:
    """Commits and resets that were asked for when somebody else had the partition, and taken."""
    is_reset = sql.coalesce(sql.col("detail") == "reset", sql.lit(False))
    is_other = is_reset | (sql.col("last.member") != sql.col("member"))
    taken = owned.where((sql.col("kind") == "committed") & sql.col("last.has") & is_other)
    taken = taken.where(sql.col("last.at") < sql.col("since"))
    who = sql.when(is_reset, sql.lit("a reset")).otherwise(sql.concat(sql.lit("a commit of "), sql.col("member")))
    words = sql.format_string("%s was taken, and %s has the partition", who, "last.member")
    return candidates(taken.drop("first"), words, [sql.col("last.one"), sql.col("one")], spans=_since())


def _since() -> list[Column]:
    earlier, later = sql.col("last.one"), sql.col("one")
    return [span(later, earlier["event"], later["event"])]
