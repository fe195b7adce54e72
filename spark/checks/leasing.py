"""A message of a shared group is given to one member at a time, never again once it has ended, and as often as agreed.

What happens to a message is in the ledger of its partition, in one order for all leaders: by epoch, and within one by
event. A lease counts from the event in which it was written, not from the one in which its member was told. So leases
are compared in that order and not by clocks, of which every node has its own. Only how long a lease lasted is a matter
of a clock: that of the one process which gave it and took it back.

Most messages are leased once. Only runs of offsets that were leased more often are looked at message by message.

The end of a lease may be in a gap between the two facts that look wrong; then nobody knows. So it is where the first
lease was given by a process that was killed and the second by another one. A queue that is reset begins anew.
"""

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sql

from goqueue.spark.checks.finding import between, candidates, fact
from goqueue.spark.checks.past import Past

NAME: Final = "leasing"
PROMISE: Final = (
    "A message of a shared group is given to one member at a time, never again once it has ended, and as often as "
    "agreed."
)

QUEUE: Final = ("group", "topic", "topic_id", "partition")
_ORDER: Final = ("epoch", "run", "moment", "lease", "is_end", "part")
# What takes a whole queue back to somewhere else.
_RESETS: Final = ("reset", "cut", "ended")
# Ends of leases that count as an attempt.
_FAILURES: Final = ("nacked", "expired", "lost")
_SLACK_NS: Final = 1_000_000
_UNWRITTEN: Final = "%s was told that it is done, and the ledger of lease %d has nothing of that"
_REJECTED: Final = "%s rejected it, and the ledger of lease %d has it as done"


def found(past: Past) -> DataFrame:
    """Leases that should not be, leases that ended early, attempts beyond the last, and messages that ended twice."""
    is_reset = (sql.col("kind") == "returned") & sql.coalesce(sql.col("cause").isin(*_RESETS), sql.lit(False))
    work = past.promised(past.of("leased", "returned", "acked", "doomed", "restarted").where(~is_reset))
    work = _in_stretches(work)
    found = _again(past, work).unionByName(_short(past)).unionByName(_tried(past))
    return found.unionByName(_ended_twice(work)).unionByName(_unkept(past))


def _in_stretches(work: DataFrame) -> DataFrame:
    """The facts of queues in order, with how often the queue had been reset by then."""
    is_leased, is_restart = sql.col("kind") == "leased", sql.col("kind") == "restarted"
    placed = (
        work.withColumn("epoch", sql.coalesce("epoch", sql.lit(0)))
        .withColumn("moment", sql.when(is_leased, sql.coalesce("sequence", "event")).otherwise(sql.col("event")))
        .withColumn("is_end", (~is_leased).cast("int"))
    )
    resets = placed.where(is_restart).groupBy(*QUEUE).agg(
        sql.collect_list(sql.struct("epoch", "run", "moment")).alias("resets")
    )  # fmt: skip
    placed = placed.where(~is_restart).join(sql.broadcast(resets), list(QUEUE), "left")
    # Told of after the reset, and written before it: a lease belongs to where it was written.
    at = sql.struct("epoch", "run", "moment")
    count = sql.size(sql.filter("resets", lambda reset: reset < at))
    return placed.withColumn("stretch", sql.coalesce(sql.when(sql.col("resets").isNotNull(), count), sql.lit(0)))


def _contested(work: DataFrame) -> DataFrame:
    """Leases of runs of offsets in which something was leased more than once."""
    leased = work.where(sql.col("kind") == "leased")
    by_offset = Window.partitionBy(*QUEUE, "stretch").orderBy("first", *_ORDER)
    before = by_offset.rowsBetween(Window.unboundedPreceding, -1)
    is_apart = sql.col("first") >= sql.coalesce(sql.max("end").over(before), sql.lit(-1))
    numbered = leased.withColumn("is_apart", is_apart.cast("int"))
    upto = by_offset.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    in_runs = numbered.withColumn("island", sql.sum("is_apart").over(upto))
    crowd = sql.count("*").over(Window.partitionBy(*QUEUE, "stretch", "island"))
    return in_runs.withColumn("crowd", crowd).where(sql.col("crowd") > 1).drop("is_apart", "island", "crowd")


def _again(past: Past, work: DataFrame) -> DataFrame:
    """Leases of messages that somebody has, or that have ended, or that count fewer attempts than there were."""
    contested = _contested(work)
    numbers = contested.select(*QUEUE, "stretch", "lease").distinct()
    ends = work.where(sql.col("kind") != "leased")
    ends = ends.join(numbers, [*QUEUE, "stretch", "lease"], "left_semi").select(*contested.columns)
    rows = contested.unionByName(ends).withColumn("one", fact())
    offset = sql.explode(sql.sequence("first", sql.col("end") - 1)).alias("offset")
    each = rows.select(*QUEUE, "stretch", *_ORDER, "kind", "attempt", "cause", "one", "unpromised", offset)
    in_order = Window.partitionBy(*QUEUE, "stretch", "offset").orderBy(*_ORDER)
    other = sql.lag(sql.struct("kind", "lease", "attempt", "cause", "one")).over(in_order)
    pairs = each.withColumn("other", other).where((sql.col("kind") == "leased") & sql.col("other").isNotNull())
    wrong = pairs.withColumn("wrong", _wrong(sql.col("other"))).where(sql.col("wrong").isNotNull())
    runs = wrong.groupBy(*QUEUE, "lease", "wrong", sql.col("other.lease").alias("before")).agg(
        sql.min("offset").alias("first"), (sql.max("offset") + 1).alias("end"), sql.first("one").alias("one"),
        sql.first("other.one").alias("other"), sql.first("unpromised").alias("unpromised"),
    )  # fmt: skip
    runs = past.until_deposed(runs, "other", "ledger")
    words = sql.format_string("%s has it under lease %d, and lease %d %s", "one.member", "lease", "before", "wrong")
    facts = [sql.col("other"), sql.col("one")]
    spans = between(facts[0], facts[1], until=sql.col("deposed"))
    return candidates(runs, words, facts, spans=spans, unknown=sql.col("unpromised"))


def _wrong(other: Column) -> Column:
    """Why a lease should not have followed what came before it of the same message."""
    failed = other["cause"].isin(*_FAILURES) & (sql.col("attempt") <= other["attempt"])
    repeated = (other["kind"] == "returned") & (failed | (sql.col("attempt") < other["attempt"]))
    return (
        sql.when(other["kind"] == "leased", "had not ended")
        .when(other["kind"] == "acked", "was acknowledged")
        .when(other["kind"] == "doomed", "was the last")
        .when(repeated, "was as many attempts already")
    )


def _short(past: Past) -> DataFrame:
    """Leases that were taken back as expired before their members could know of it."""
    by_lease = ("node", "run", *QUEUE, "lease")
    lasting = sql.col("at") + (sql.col("due").cast("double") - sql.col("time").cast("double")) * sql.lit(1e9)
    given = past.of("leased", "extended").where(sql.col("due").isNotNull())
    given = given.select(
        *by_lease, sql.col("first").alias("from"), sql.col("end").alias("to"), lasting.cast("bigint").alias("until"),
        fact().alias("other"),
    )  # fmt: skip
    over = past.of("returned").where(sql.col("cause") == "expired").withColumn("one", fact())
    over = over.select(*by_lease, "first", "end", "at", "one")
    # An extension holds from when it was written, and may be answered when all of that is over.
    pairs = over.join(given, list(by_lease)).where(
        (sql.col("from") < sql.col("end")) & (sql.col("first") < sql.col("to"))
    )
    # An extension may as well be a shortening, so only what is over before the least of them is over early.
    least = pairs.groupBy(*by_lease, "first", "end", "at", "one").agg(
        sql.min("until").alias("until"), sql.min_by("other", "until").alias("other")
    )
    early = least.where(sql.col("at") + _SLACK_NS < sql.col("until"))
    words = sql.format_string(
        "lease %d of %s was taken back %d ms before its end",
        "lease",
        "other.member",
        ((sql.col("until") - sql.col("at")) / 1_000_000).cast("bigint"),
    )
    facts = [sql.col("other"), sql.col("one")]
    return candidates(early, words, facts, spans=between(*facts))


def _unkept(past: Past) -> DataFrame:
    """Leases that ran out before the time that the ledger gives them, and acknowledgements that it has otherwise."""
    early = past.of("returned").where(sql.col("value").isNotNull()).withColumn("one", fact())
    words = sql.format_string(
        "lease %d of %s ran out %d ms before the end that its ledger gives it", "lease", "member", "value"
    )
    found = candidates(early, words, [sql.col("one")])
    acked = past.of("acked").where(sql.col("cause").isin("unwritten", "rejected")).withColumn("one", fact())
    is_unwritten = sql.col("cause") == "unwritten"
    words = sql.when(is_unwritten, sql.format_string(_UNWRITTEN, "member", "lease")).otherwise(
        sql.format_string(_REJECTED, "member", "lease")
    )
    return found.unionByName(candidates(acked, words, [sql.col("one")]))


def _tried(past: Past) -> DataFrame:
    """Messages that were given more often than was ever agreed."""
    given = past.of("leased").withColumn("one", fact())
    most = given.groupBy(*QUEUE).agg(sql.max("value").alias("most"))
    over = given.where(sql.col("attempt") > sql.col("value")).join(sql.broadcast(most), list(QUEUE))
    over = over.where(sql.col("attempt") > sql.col("most"))
    words = sql.format_string("it is attempt %d, of %d", "attempt", "most")
    return candidates(over, words, [sql.col("one")])


def _ended_twice(work: DataFrame) -> DataFrame:
    """Messages that one lease ended in two ways."""
    by_lease = [*QUEUE, "stretch", "lease"]
    acked = work.where(sql.col("kind") == "acked").select(*by_lease, "first", "end", fact().alias("one"), "unpromised")
    doomed = work.where(sql.col("kind") == "doomed").select(
        *by_lease, sql.col("first").alias("from"), sql.col("end").alias("to"), fact().alias("other")
    )
    both = acked.join(doomed, by_lease).where((sql.col("from") < sql.col("end")) & (sql.col("first") < sql.col("to")))
    words = sql.format_string("lease %d was acknowledged, and given up as well", "lease")
    return candidates(both, words, [sql.col("other"), sql.col("one")], unknown=sql.col("unpromised"))
