"""A committed offset is durable, and only what its journal says leads back.

Whoever coordinates the groups writes their offsets to a journal, and is answered by it: an answer rests on what is in
the journal up to some place, and so does what a coordinator begins with. Places order what nodes said, whatever their
clocks show. Between two of them an offset goes back by a record that takes it back (`rewound`), which every node that
copies the journal sees, and in no other way. A commit that is less than the one before is taken and changes nothing,
so only what a coordinator has says that an offset went back.

The record may be in a gap: of the process that wrote it, or, where another one goes on, of the node that goes on, which
has copied it.
"""

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sql

from goqueue.core.groups.journal import JOURNAL_TOPIC
from goqueue.spark.checks.finding import FOREVER, candidates, fact, span
from goqueue.spark.checks.past import Past

NAME: Final = "commits"
PROMISE: Final = "A committed offset is durable, and only a reset or an end leads back."

_NAMED: Final = ("group", "topic", "partition")
_ORDER: Final = ("value", "run", "event", "part")


def found(past: Past) -> DataFrame:
    """Offsets of which a coordinator has less than was answered before, and such as went back by themselves."""
    kept = past.of("committed", "offset_known", "rewound").where(sql.col("sequence").isNotNull())
    rows = kept.unionByName(_missing(past, kept), allowMissingColumns=True)
    rows = _in_stretches(_doubted(rows.withColumn("one", fact())))
    so_far = (
        Window.partitionBy(*_NAMED, "topic_id", "stretch").orderBy(*_ORDER)
        .rowsBetween(Window.unboundedPreceding, -1)
    )  # fmt: skip
    promise = sql.when(_is_promise(), sql.struct("end", "one", "at", "sequence"))
    told = rows.withColumn("other", sql.max(promise).over(so_far))
    is_same = (sql.col("other.one.node") == sql.col("node")) & (sql.col("other.one.run") == sql.col("run"))
    # What was asked before the other was answered may have been looked up before that.
    is_later = ~is_same | (sql.coalesce("cause", sql.lit("")) != "told") | (sql.col("other.at") < sql.col("since"))
    back = told.where((sql.col("kind") == "offset_known") & (sql.col("other.end") > sql.col("end")) & is_later)
    back = back.join(sql.broadcast(_beginnings(past)), ["node", "run"], "left")
    words = sql.format_string("%s had come to %d, and is at %d", "group", "other.end", "end")
    words = sql.when(sql.col("end") >= 0, words).otherwise(
        sql.format_string("%s had come to %d, and has no offset", "group", "other.end")
    )
    facts = [sql.col("other.one"), sql.col("one")]
    return candidates(back.drop("first"), words, facts, spans=_spans(is_same)).unionByName(_unasked(past))


def _unasked(past: Past) -> DataFrame:
    """Offsets that a coordinator took back, and nobody had asked it to."""
    back = past.of("rewound").where(sql.col("cause") == "unasked").withColumn("one", fact())
    words = sql.format_string("the offset of %s was taken back to %d, and nobody asked for that", "group", "end")
    return candidates(back, words, [sql.col("one")])


def _missing(past: Past, kept: DataFrame) -> DataFrame:
    """The moments at which coordinators begin, for the offsets that they begin without; `end` is -1."""
    named = kept.where(sql.col("end").isNotNull()).select(*_NAMED, "topic_id").distinct()
    # Whoever coordinates knows the topics of the cluster that it is in.
    known = past.of("topic").select("node", "topic", "topic_id").distinct()
    begins = past.of("coordinates").where(sql.col("sequence").isNotNull() & (sql.col("cause") == "taken_over"))
    begins = begins.select(
        "node", "run", "event", "part", "at", "time", "member", "peer", "sequence", "value",
        sql.lit("offset_known").alias("kind"), sql.lit("begins").alias("cause"),
        sql.lit(-1).cast("bigint").alias("end"),
    )  # fmt: skip
    has = kept.where(sql.col("cause") == "taken_over").select("node", "run", "event", *_NAMED)
    every = named.join(known, ["topic", "topic_id"]).join(begins, "node")
    return every.join(has, ["node", "run", "event", *_NAMED], "left_anti")


def _doubted(rows: DataFrame) -> DataFrame:
    """Rows with the moment at which their own node had last taken the offset back."""
    so_far = (
        Window.partitionBy("node", "run", *_NAMED).orderBy("event", "part").rowsBetween(Window.unboundedPreceding, -1)
    )
    return rows.withColumn("rewound_at", sql.max(sql.when(sql.col("kind") == "rewound", sql.col("at"))).over(so_far))


def _in_stretches(rows: DataFrame) -> DataFrame:
    """Rows with the stretch of the journal, between two records that take the offset back, which they rest on."""
    is_back = (sql.col("kind") == "rewound").cast("int")
    by_place = (
        Window.partitionBy(*_NAMED).orderBy("sequence", is_back)
        .rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )  # fmt: skip
    return rows.withColumn("stretch", sql.sum(is_back).over(by_place))


def _is_promise() -> Column:
    """Whether a row says where a group is at least; an answer does if nothing came between it and its request."""
    is_answer = (sql.col("kind") == "committed") & sql.col("cause").isNull() | (sql.col("cause") == "told")
    is_plain = sql.col("rewound_at").isNull() | (sql.col("rewound_at") < sql.col("since"))
    return (is_answer & sql.col("since").isNotNull() & is_plain) | (sql.col("cause") == "taken_over")


def _beginnings(past: Past) -> DataFrame:
    """How far the journal of each process went when it began, and how far it was seen to go by then."""
    is_journal = (sql.col("topic") == JOURNAL_TOPIC) & (sql.col("side") == "data")
    journal = past.of("known", "leads", "follows", "appended", "copied").where(is_journal)
    is_batch = sql.col("kind").isin("appended", "copied")
    begun = sql.min_by("end", sql.when(~is_batch, sql.struct("event", "part")))
    written = sql.max(sql.when(is_batch, sql.col("end"))).alias("written")
    last = sql.max(sql.when(is_batch, sql.col("event"))).alias("last")
    runs = journal.groupBy("node", "run").agg(begun.alias("begun"), written, last)
    before = Window.partitionBy("node").orderBy("run").rowsBetween(Window.unboundedPreceding, -1)
    return runs.select(
        "node",
        "run",
        "begun",
        sql.max("written").over(before).alias("seen"),
        sql.max("last").over(before).alias("upto"),
    )


def _spans(is_same: Column) -> list[Column]:
    """Where a record may be missing that took the offset back: on the node that goes on, which has copied it.

    What its process has not copied itself one before it has, of which only the end may be missing; that is, where what
    the journal held when this one began is more than was seen of it.
    """
    other, one = sql.col("other.one"), sql.col("one")
    copied_all = sql.coalesce(sql.col("begun") <= sql.col("other.sequence"), sql.lit(False))
    seen_all = sql.coalesce(sql.col("begun") <= sql.col("seen"), sql.lit(False))
    end = sql.when(seen_all, sql.col("upto")).otherwise(sql.lit(FOREVER))
    before = sql.struct(
        sql.when(is_same | copied_all, sql.lit("")).otherwise(one["node"]).alias("node"),
        sql.lit(None).cast("bigint").alias("run"), sql.lit(-1).cast("bigint").alias("begin"), end.alias("end"),
    )  # fmt: skip
    return [span(one, sql.when(is_same, other["event"]).otherwise(sql.lit(-1)), one["event"]), before]
