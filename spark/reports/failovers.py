"""Timelines of failovers: when a leader was gone, when that was noticed, who led after it, and when writes went on.

The work is in `succession.py`; here facts become the moments that it needs, which are few, and what a page says.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_schema

from goqueue.spark.reports.plots import Span, timeline
from goqueue.spark.reports.rows import Row, rows_of
from goqueue.spark.reports.section import Section, Table, shortened
from goqueue.spark.reports.succession import MOMENTS, SUCCESSION, succession
from goqueue.spark.reports.units import NANOSECONDS, worded_time

NAME: Final = "failovers"
TITLE: Final = "Failovers"
QUESTION: Final = "When did another node come to lead, why, and for how long did nobody take writes?"
METHOD: Final = (
    "All moments are by the wall clocks of the nodes that tell of them. A leader is gone when its process ends, when "
    "the first of the others lost its link to it, or, if it was there to hand over, when another was agreed on. Nobody "
    "leads from then until the next one says that it does. Writes stand still from the last that was acknowledged "
    "under the old leader to the first under the new one: where few are asked for, that is longer than it had to be. "
    "Left out are epochs that are only known from what a node applied again when it began, and those in which the same "
    "process went on leading."
)
ROWS_MAX: Final = 100_000
CAUSES: Final = {
    "killed": "its process ended without a word",
    "died": "it died of an error",
    "stopped": "it was stopped",
    "cut_off": "the others had lost it",
    "dead": "the others took it for dead",
    "stopping": "it was about to stop",
    "draining": "it was being emptied",
    "removed": "it was removed",
    "moved": "another was to lead",
    "deposed": "it gave up",
}
_TIMES: Final = ("since", "last", "gone", "noticed", "agreed", "led", "served")
_DRAWN: Final = 32
_NOBODY: Final = "nobody"
# What happened to a leader within a second happened at once.
_AT_ONCE_US: Final = 1_000_000


def answer(facts: DataFrame, limit: int = ROWS_MAX) -> DataFrame:
    """A row for each time that another began to lead a partition or the cluster; the first `limit` by time.

    what string (partition, controller); topic string, partition int; epoch bigint (of a controller its term); before,
    leader string (leader null if nobody led again); cause string (see CAUSES); timestamps: since (the one before led),
    last (its last write was acknowledged), gone, noticed (by the others), agreed, led (the new one), served (its first
    write was acknowledged); down_ns bigint from gone to led, still_ns bigint from last to served. What is not known is
    null.
    """

    def of_all(table: pa.Table) -> pa.Table:
        return succession(table)

    found = _moments(facts).groupBy().applyInArrow(of_all, from_arrow_schema(SUCCESSION))
    return (
        found.withColumns({name: sf.timestamp_micros(f"{name}_us") for name in _TIMES})
        .withColumns({"down_ns": _between("gone_us", "led_us"), "still_ns": _between("last_us", "served_us")})
        .select(
            "what", "topic", "partition", "epoch", "before", "leader", "cause", *_TIMES, "down_ns", "still_ns",
        )
        .orderBy(sf.coalesce("gone", "noticed", "agreed", "led"), "what", "topic", "partition", "epoch")
        .limit(limit)
    )  # fmt: skip


def _between(begin: str, end: str) -> Column:
    span = sf.col(end) - sf.col(begin)
    return sf.when(span < 0, 0).otherwise(span) * 1000


def _moments(facts: DataFrame) -> DataFrame:
    leading = _leading(facts)
    found = _alike(leading)
    for more in (_placed(facts), _written(facts, leading), _processes(facts), _single(facts), _voted(facts)):
        found = found.unionByName(_alike(more))
    return found


def _alike(moments: DataFrame) -> DataFrame:
    """The same with all columns that moments have."""
    known = set(moments.columns)
    return moments.select(
        *(
            (sf.col(column.name) if column.name in known else sf.lit(None)).cast(column.dataType).alias(column.name)
            for column in from_arrow_schema(MOMENTS)
        )
    )


def _is_readable() -> Column:
    return sf.coalesce("side", sf.lit("data")) == "data"


def _leading(facts: DataFrame) -> DataFrame:
    """Who led in which epoch, since when, and where its log ended then."""
    leads, known = sf.col("kind") == "leads", (sf.col("kind") == "known") & (sf.col("cause") == "leads")
    chosen = facts.where((leads | known) & _is_readable() & sf.col("partition").isNotNull())
    grouped = chosen.groupBy("topic", "topic_id", "partition", "epoch", "node", "run").agg(
        sf.max(leads).alias("is_new"), sf.min(sf.unix_micros("time")).alias("begin_us"), sf.min("end").alias("end")
    )
    return grouped.withColumn("what", sf.when(sf.col("is_new"), "leads").otherwise("led"))


def _placed(facts: DataFrame) -> DataFrame:
    chosen = facts.where(sf.col("kind") == "placed")
    return chosen.groupBy("topic", "topic_id", "partition", "epoch").agg(
        sf.lit("placed").alias("what"),
        sf.min_by("peer", "time").alias("peer"),
        sf.min(sf.unix_micros("time")).alias("begin_us"),
    )


def _written(facts: DataFrame, leading: DataFrame) -> DataFrame:
    """The first and the last write acknowledged under each leader.

    The leader itself says under which epoch it answers. Another node that was asked does not know: of it counts what
    lies beyond where the leader's log ended when it began, and was answered after that.
    """
    is_good = (sf.col("kind") == "answered") & sf.col("cause").isNull() & _is_readable() & sf.col("first").isNotNull()
    answered = facts.where(is_good).select(
        "topic", "partition", sf.unix_micros("time").alias("time_us"), "first", sf.col("epoch").alias("told"),
        sf.col("topic_id").alias("told_id"),
    )  # fmt: skip
    epochs = leading.select("topic", "topic_id", "partition", "epoch", "end", "begin_us").withColumn(
        "until_us", sf.expr("lead(begin_us) OVER (PARTITION BY topic, topic_id, partition ORDER BY epoch)")
    )
    beyond = (sf.col("first") >= sf.col("end")) & (sf.col("time_us") >= sf.col("begin_us"))
    before = sf.col("until_us").isNull() | (sf.col("time_us") < sf.col("until_us"))
    is_of = sf.when(sf.col("told").isNotNull(), sf.col("told") == sf.col("epoch")).otherwise(beyond & before)
    is_topic = sf.coalesce(sf.col("told_id") == sf.col("topic_id"), sf.lit(True))
    joined = answered.join(sf.broadcast(epochs), ["topic", "partition"]).where(is_of & is_topic)
    return joined.groupBy("topic", "topic_id", "partition", "epoch").agg(
        sf.lit("written").alias("what"), sf.min("time_us").alias("begin_us"), sf.max("time_us").alias("end_us")
    )


def _processes(facts: DataFrame) -> DataFrame:
    micros = sf.unix_micros("time")
    cause = sf.when(sf.max(sf.col("kind") == "died"), "died").when(sf.max(sf.col("kind") == "closed"), "stopped")
    return (
        facts.where(sf.col("kind") != "file")
        .groupBy("node", "run")
        .agg(
            sf.lit("process").alias("what"), sf.min(micros).alias("begin_us"), sf.max(micros).alias("end_us"),
            cause.alias("cause"),
        )
    )  # fmt: skip


def _single(facts: DataFrame) -> DataFrame:
    """Moments that are facts as they are."""
    chosen = facts.where(sf.col("kind").isin("standing", "met", "lost", "elected", "deposed"))
    return chosen.select(
        sf.col("kind").alias("what"), "epoch", "node", "run", "peer", sf.unix_micros("time").alias("begin_us"),
        "cause", "part",
    )  # fmt: skip


def _voted(facts: DataFrame) -> DataFrame:
    votes = facts.where(sf.col("kind") == "voted").groupBy("epoch")
    return votes.agg(sf.lit("voted").alias("what"), sf.min(sf.unix_micros("time")).alias("begin_us"))


def section(answer: pa.Table) -> Section:
    """How often and why in words, who led when, and tables by what happened and by partition."""
    rows = rows_of(answer)
    found = Section(NAME, TITLE, QUESTION, method=METHOD)
    if not rows:
        found.words.append("No other node came to lead anything in what was read.")
        return found
    if len(rows) >= ROWS_MAX:
        found.words.append(f"There were more than are told of here, which are the first {len(rows):,}.")
    partitions = [row for row in rows if row["what"] == "partition"]
    controllers = [row for row in rows if row["what"] == "controller"]
    found.words += _sentences(partitions) + _of_controllers(controllers)
    drawn = _drawn(rows)
    nodes = sorted({name for row in rows for name in (row["before"], row["leader"]) if name})
    found.pictures.append(timeline("Who led", drawn, [*nodes, _NOBODY]))
    found.tables += [_incidents(rows), _longest(partitions)]
    return found


def _counted(count: int, one: str, many: str) -> str:
    return f"{count:,} {one if count == 1 else many}"


def _sentences(rows: Sequence[Row]) -> list[str]:
    if not rows:
        return ["No partition came to be led by another."]
    changed = {(row["topic"], row["partition"]) for row in rows}
    words = [
        f"{_counted(len(rows), 'time', 'times')} a partition came to be led anew, "
        f"{_counted(len(changed), 'partition', 'different partitions')} in all."
    ]
    for cause, why in CAUSES.items():
        some = [row for row in rows if row["cause"] == cause]
        if some:
            words.append(
                f"{_counted(len(some), 'time', 'times')} {why}: nobody led for "
                f"{_spread(some, 'down_ns')}, and writes stood still for {_spread(some, 'still_ns')}."
            )
    alone = sum(row["leader"] is None for row in rows)
    if alone:
        words.append(f"{_counted(alone, 'time', 'times')} nobody led again in what was read.")
    return words


def _spread(rows: Iterable[Row], column: str) -> str:
    known = sorted(int(row[column]) for row in rows if row[column] is not None)
    if not known:
        return "nobody knows how long"
    middle = NANOSECONDS.worded(known[(len(known) - 1) // 2])
    return f"{middle} in the middle and {NANOSECONDS.worded(known[-1])} at most"


def _of_controllers(rows: Sequence[Row]) -> list[str]:
    if not rows:
        return ["The cluster had no other controller."]
    return [f"{_counted(len(rows), 'time', 'times')} another became controller, after {_spread(rows, 'down_ns')}."]


def _drawn(rows: Sequence[Row]) -> list[tuple[str, list[Span]]]:
    """Who led what, for the controller and the partitions that changed most."""
    moments = [row[name] for row in rows for name in _TIMES if row[name] is not None]
    begin, end = min(moments), max(moments)
    margin = max((end - begin) // 20, 1000)
    changes: dict[str, list[Row]] = {}
    for row in rows:
        name = "controller" if row["what"] == "controller" else f"{row['topic']}/{row['partition']}"
        changes.setdefault(name, []).append(row)
    order = sorted(changes, key=lambda name: (name != "controller", -_down(changes[name]), name))
    return [(name, _spans(changes[name], begin - margin, end + margin)) for name in order[:_DRAWN]]


def _down(rows: Iterable[Row]) -> int:
    return sum(row["down_ns"] or 0 for row in rows)


def _spans(rows: Sequence[Row], begin: int, end: int) -> list[Span]:
    spans: list[Span] = []
    ordered = sorted(rows, key=lambda row: int(row["epoch"]))
    at = ordered[0]["since"] or begin
    for row in ordered:
        led = end if row["led"] is None and row["leader"] is None else row["led"] or row["agreed"] or at
        gone = min(max(row["gone"] or row["noticed"] or row["agreed"] or led, at), max(led, at))
        if row["before"] and gone > at:
            spans.append(Span(at, gone, row["before"], f"{row['before']}"))
        if led > gone:
            why = CAUSES.get(row["cause"], row["cause"])
            spans.append(Span(gone, led, _NOBODY, f"nobody, after {row['before']}: {why}"))
        at = max(led, at)
    if ordered[-1]["leader"] and end > at:
        spans.append(Span(at, end, ordered[-1]["leader"], f"{ordered[-1]['leader']}"))
    return spans


def _incidents(rows: Sequence[Row]) -> Table:
    """What happened to a leader, with all that it led: the times of the slowest."""
    together: list[tuple[int, list[Row]]] = []
    for row in sorted(rows, key=lambda row: (row["before"] or "", row["cause"], _began(row))):
        at, some = together[-1] if together else (0, [])
        same = bool(some) and (some[0]["before"], some[0]["cause"]) == (row["before"], row["cause"])
        if same and _began(row) - at < _AT_ONCE_US:
            some.append(row)
        else:
            together.append((_began(row), [row]))
    cells = []
    for at, some in sorted(together, key=lambda each: each[0]):
        node, cause = some[0]["before"], some[0]["cause"]
        since = [_after(some, name, at) for name in ("noticed", "agreed", "led", "served")]
        partitions = sum(row["what"] == "partition" for row in some)
        cells.append((worded_time(at), node, CAUSES.get(cause, cause), partitions, *since))
    header = ["at", "leader", "why", "partitions", "noticed", "agreed", "all led", "all written"]
    return shortened("What happened to leaders, and after how long the rest followed", header, cells)


def _began(row: Row) -> int:
    """When it began, as far as that is known."""
    return next((int(row[name]) for name in ("gone", "noticed", "agreed", "led") if row[name] is not None), 0)


def _after(rows: Iterable[Row], name: str, at: int) -> str:
    last = max((row[name] for row in rows if row[name] is not None), default=None)
    return "-" if last is None else NANOSECONDS.worded(max(last - at, 0) * 1000)


def _longest(rows: Sequence[Row]) -> Table:
    ordered = sorted(rows, key=lambda row: (-(row["down_ns"] or 0), row["topic"], row["partition"], row["epoch"]))
    cells = [
        (
            f"{row['topic']}/{row['partition']}", row["epoch"], row["before"], row["leader"],
            CAUSES.get(row["cause"], row["cause"]), NANOSECONDS.worded(row["down_ns"]),
            NANOSECONDS.worded(row["still_ns"]),
        )
        for row in ordered
    ]  # fmt: skip
    header = ["partition", "epoch", "before", "after", "why", "nobody led", "writes stood still"]
    return shortened("Partitions, the longest without a leader first", header, cells)
