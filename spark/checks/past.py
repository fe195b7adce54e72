"""The past as checks look at it: facts by kind, what topics promised, and the batches that were shown to readers.

A batch counts only once it was shown: what a leader took and never had confirmed may be cut off, and come again
elsewhere, and nobody was promised anything. So a batch is shown when the high watermark of a node that leads has come
to its end, and the node had not cut it off by then.

How that is computed without comparing every batch with every move of the watermark: cuts are few. They divide the life
of a stream on a node into stretches, and of each stretch only the furthest watermark counts. So all that is to know of
a stream on a node is one row with two short lists.

What a topic promises follows from its settings. One that does not sync every message may lose some in a crash, and one
that may be led by a node that was not in sync may lose them then.
"""

from functools import cached_property
from typing import Final

from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sql

from goqueue.spark.checks.finding import fact

STREAM: Final = ("topic", "topic_id", "partition", "side")
_HELD: Final = ("node", "run", *STREAM)


class Past:
    """Facts, and what several checks want to know of them, computed once."""

    def __init__(self, facts: DataFrame) -> None:
        # A fact of a topic that is not known any more still belongs to one; null would equal nothing.
        self.facts = facts.withColumn("topic_id", sql.coalesce("topic_id", sql.lit(-1))).withColumn(
            "side", sql.coalesce("side", sql.lit("data"))
        )
        self._kept: list[DataFrame] = []

    def of(self, *kinds: str) -> DataFrame:
        """The facts of some kinds."""
        return self.facts.where(sql.col("kind").isin(*kinds))

    def forget(self) -> None:
        """Let go of what was computed."""
        for frame in self._kept:
            frame.unpersist()
        self._kept.clear()

    def _keep(self, frame: DataFrame) -> DataFrame:
        kept = frame.persist(StorageLevel.MEMORY_AND_DISK)
        self._kept.append(kept)
        return kept

    @cached_property
    def terms(self) -> DataFrame:
        """What topics promised at their weakest: `is_weak`, and whether batches may become others (`compacts`)."""

        def ever(key: str, default: str, *harmless: str) -> Column:
            said = sql.coalesce(sql.get_json_object("detail", f"$.{key}"), sql.lit(default))
            return sql.max((~said.isin(*harmless)).cast("int")) == 1

        settings = self.of("topic").where(sql.coalesce("cause", sql.lit("")) != "deleted").groupBy("topic_id")
        terms = settings.agg(
            (ever("fsync", "every", "every") | ever("unclean_leader_election", "false", "false")).alias("is_weak"),
            ever("cleanup", "delete", "delete").alias("compacts"),
        )
        return self._keep(terms)

    def promised(self, frame: DataFrame) -> DataFrame:
        """The rows that are of topics that keep what they have shown; `unpromised` says where that is not known.

        The broker's own topics have no settings: they are as strong as can be.
        """
        joined = frame.join(sql.broadcast(self.terms), "topic_id", "left")
        is_own = sql.col("topic").startswith("__")
        strong = joined.where(is_own | ~sql.coalesce("is_weak", sql.lit(False)))
        words = sql.concat(sql.lit("the settings of topic "), sql.col("topic"))
        unpromised = sql.when(sql.col("is_weak").isNull() & ~is_own, words)
        return strong.withColumn("unpromised", unpromised).withColumn(
            "compacts", sql.coalesce("compacts", sql.lit(False))
        )

    def until_deposed(self, frame: DataFrame, column: str, side: str) -> DataFrame:
        """Rows with `deposed`: the event by which the process of a fact had ceased to lead a side of its partition.

        Null where it never did, as far as is known: it was killed, or is the leader to this day.
        """
        ends = self.of("follows", "dropped").where(sql.col("side") == side)
        ends = ends.groupBy("node", "run", "topic", "topic_id", "partition").agg(
            sql.collect_list("event").alias("ends")
        )
        ends = ends.withColumnsRenamed({"node": "of_node", "run": "of_run"})
        known = frame.withColumn("of_node", sql.col(column)["node"]).withColumn("of_run", sql.col(column)["run"])
        known = known.join(sql.broadcast(ends), ["of_node", "of_run", "topic", "topic_id", "partition"], "left")
        after = sql.filter("ends", lambda event: event > sql.col(column)["event"])
        return known.withColumn("deposed", sql.array_min(after)).drop("of_node", "of_run", "ends")

    @cached_property
    def _cuts(self) -> DataFrame:
        """The cuts of each stream on each node, in order, numbered."""
        cut = sql.sort_array(sql.collect_list(sql.struct("event", "part", "first")))
        numbered = sql.transform(cut, lambda one, number: one.withField("number", number))
        return self._keep(self.of("cut").groupBy(*_HELD).agg(numbered.alias("cuts")))

    def _in_stretches(self, frame: DataFrame) -> DataFrame:
        """Rows, with the number of the stretch that they are in."""
        with_cuts = frame.join(sql.broadcast(self._cuts), list(_HELD), "left")
        none = sql.array().cast("array<struct<event:bigint,part:int,first:bigint,number:int>>")
        with_cuts = with_cuts.withColumn("cuts", sql.coalesce("cuts", none))
        return with_cuts.withColumn("stretch", sql.size(sql.filter("cuts", self._is_before)))

    @staticmethod
    def _is_before(cut: Column) -> Column:
        event, part = sql.col("event"), sql.col("part")
        return (cut["event"] < event) | ((cut["event"] == event) & (cut["part"] < part))

    @cached_property
    def _reaches(self) -> DataFrame:
        """How far readers saw in each stretch of each stream, and the event after which that did not change."""
        shown = self._in_stretches(self.of("visible")).groupBy(*_HELD, "stretch")
        furthest = shown.agg(sql.max("end").alias("reach"), sql.max("event").alias("last"))
        reaches = sql.collect_list(sql.struct("stretch", "reach", "last"))
        return self._keep(furthest.groupBy(*_HELD).agg(reaches.alias("reaches")))

    def shown(self, frame: DataFrame) -> DataFrame:
        """Of facts about ranges of streams on nodes, those whose range was shown, by the event `seen`."""
        cut_off = sql.filter(
            "cuts", lambda cut: (cut["number"] >= sql.col("stretch")) & (cut["first"] < sql.col("end"))
        )
        until = sql.array_min(sql.transform(cut_off, lambda cut: cut["number"]))
        placed = self._in_stretches(frame).withColumn("until", sql.coalesce(until, sql.lit((1 << 31) - 1)))
        reaching = sql.filter(
            "reaches",
            lambda one: one["stretch"].between(sql.col("stretch"), sql.col("until")) & (one["reach"] >= sql.col("end")),
        )
        seen = sql.array_min(sql.transform(reaching, lambda one: one["last"]))
        found = placed.join(self._reaches, list(_HELD)).withColumn("seen", seen).where(sql.col("seen").isNotNull())
        return found.drop("cuts", "stretch", "until", "reaches")

    @cached_property
    def batches(self) -> DataFrame:
        """All batches that were shown, each as it lies on one node: copies of others say the same, or should."""
        taken = self.shown(self.of("appended", "copied"))
        columns = (*STREAM, "first", "end", "count", "epoch", "producer", "producer_epoch", "sequence", "value")
        batches = taken.groupBy(*columns).agg(
            sql.min_by(fact(), "kind").alias("batch"), sql.min_by("seen", "kind").alias("seen")
        )
        return self._keep(batches)
