"""A follower has what its leader has: before it goes on behind a new leader, it takes back what that one never had.

The batches of an epoch lie behind the end that its leader's log had when it began to lead. So no batch of an earlier
epoch reaches beyond that, on any node that has one of these behind it. A node that has both without a cut in between
has kept what is nobody else's, and serves it as soon as it leads. One that is told again and again that its log is
another, and cuts nothing, is about to.

The cut may be in a gap between the two batches; which process led in the epoch, and from where on, nobody else says.
"""

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sql

from goqueue.spark.checks.finding import candidates, fact, span
from goqueue.spark.checks.past import STREAM, Past

# So often a follower is told before it must have heard: letters may be lost, and come late.
_TOLD: Final = 4

NAME: Final = "replicas"
PROMISE: Final = "A follower has what its leader has, and nothing in its place."


def found(past: Past) -> DataFrame:
    """Batches behind what their leader never had, and logs that stay as they are whatever their leader says."""
    return _behind(past).unionByName(_uncut(past))


def _behind(past: Past) -> DataFrame:
    """Batches of an epoch behind one of an earlier epoch that its leader never had."""
    rows = past.of("appended", "copied", "cut").withColumn("one", fact())
    in_order = Window.partitionBy("node", "run", *STREAM).orderBy("event", "part")
    other = sql.lag(sql.struct("kind", "end", "epoch", "one")).over(in_order)
    joined = rows.withColumn("other", other).where((sql.col("kind") == "copied") & (sql.col("other.kind") != "cut"))
    joined = joined.where(sql.col("other.epoch") < sql.col("epoch"))
    begun = past.of("leads").groupBy(*STREAM, "epoch").agg(
        sql.min("end").alias("begun"), sql.min_by(fact(), "end").alias("leader")
    )  # fmt: skip
    beyond = joined.join(begun, [*STREAM, "epoch"]).where(sql.col("other.end") > sql.col("begun"))
    words = sql.format_string(
        "%s goes on in epoch %d behind a batch of epoch %d that ends at %d, and the leader began at %d", "node",
        "epoch", "other.epoch", "other.end", "begun",
    )  # fmt: skip
    facts = [sql.col("leader"), sql.col("other.one"), sql.col("one")]
    return candidates(beyond, words, facts, spans=[span(facts[1], facts[1]["event"], facts[2]["event"])])


def _uncut(past: Past) -> DataFrame:
    """Followers that were told several times, and whose logs end where they did."""
    rows = past.of("diverges", "cut", "copied", "disk_failed", "follows").withColumn("one", fact())
    in_order = Window.partitionBy("node", "run", *STREAM).orderBy("event", "part")
    told = sql.struct("kind", "end", "epoch", "one")
    before = [sql.lag(told, back).over(in_order) for back in range(1, _TOLD)]
    rows = rows.withColumn("before", sql.array(*before))
    is_same = sql.forall(
        "before",
        lambda one: (one["kind"] == "diverges") & (one["end"] == sql.col("end")) & (one["epoch"] == sql.col("epoch")),
    )
    stuck = rows.where((sql.col("kind") == "diverges") & (sql.col("first") < sql.col("end")) & is_same)
    once = stuck.groupBy("node", "run", *STREAM, "epoch", "end").agg(
        sql.min_by("before", "event").alias("before"), sql.min_by("one", "event").alias("one")
    )  # fmt: skip
    words = sql.format_string(
        "%s was told %d times in epoch %d that its log differs, and keeps all below %d",
        "node",
        sql.lit(_TOLD),
        "epoch",
        "end",
    )
    first = sql.get("before", sql.lit(_TOLD - 2))["one"]
    return candidates(once, words, [first, sql.col("one")], spans=[span(first, first["event"], sql.col("one.event"))])
