"""How late delayed messages came, never how early: and how many waited."""

from collections.abc import Sequence
from typing import Final

import pyarrow as pa
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sf

from goqueue.spark.reports.plots import Points, line
from goqueue.spark.reports.rows import Row, points, rows_of, slot_of
from goqueue.spark.reports.section import Section, Table, shortened
from goqueue.spark.reports.slots import SLOTS, slots_of
from goqueue.spark.reports.units import COUNT, NANOSECONDS

NAME: Final = "delays"
TITLE: Final = "Delayed messages"
QUESTION: Final = "How long after they were due did delayed messages come, and how many waited?"
METHOD: Final = (
    "Lateness is when a message was appended to the data less when it was due, both by the wall clock of the leader at "
    "that moment: a clock that was set back makes what comes after it look late, or early. Percentiles are within 0.01 "
    "% of the rank that they name; least and most are exact. Pending is what was kept back less what was delivered and "
    "cancelled; of what was kept back before the facts begin only as many are counted as must have been there. A "
    "message is moved again when the data lost the end that held it."
)
_SHARES: Final = {"p50_ns": 0.5, "p95_ns": 0.95, "p99_ns": 0.99, "p999_ns": 0.999}
_SAID: Final = {"least_ns": "least", "p50_ns": "p50", "p95_ns": "p95", "p99_ns": "p99", "p999_ns": "p99.9"}
_FIGURES: Final = {**_SAID, "most_ns": "most"}
_COUNTS: Final = ("scheduled", "moved", "cancelled", "rescheduled")
_RANKS: Final = 10_000
# The slot of all slots.
_ALWAYS: Final = -1


def answer(facts: DataFrame, slots: int = SLOTS) -> DataFrame:
    """Counts and lateness by topic, over time and in all.

    topic string, null in a row of all; time timestamp, null in a row of all times; seconds double (how long that is);
    scheduled, moved, cancelled,
    rescheduled, early, again bigint (messages; `again` only of all times); least_ns, p50_ns, p95_ns, p99_ns, p999_ns,
    most_ns bigint, null where nothing moved; pending bigint, at the end of the slot or of the facts, of a topic.
    """
    over = slots_of(facts, slots)
    late_ns = (sf.unix_micros("time") - sf.unix_micros("due")) * 1000
    kept = facts.where(sf.col("kind").isin(*_COUNTS)).select(
        "topic", "topic_id", "partition", "kind", "sequence", (sf.col("end") - sf.col("first")).alias("messages"),
        sf.when(sf.col("kind") == "moved", late_ns).alias("late_ns"), over.number(sf.col("time")).alias("slot"),
    )  # fmt: skip
    ranks = sf.percentile_approx("late_ns", list(_SHARES.values()), _RANKS)
    levels = [["topic", "slot"], ["topic"], ["slot"], []]
    counted = (
        kept.groupingSets([[sf.col(name) for name in level] for level in levels], "topic", "slot")
        .agg(
            *(sf.sum(sf.when(sf.col("kind") == kind, sf.col("messages")).otherwise(0)).alias(kind) for kind in _COUNTS),
            sf.sum(sf.when(sf.col("late_ns") < 0, sf.col("messages")).otherwise(0)).alias("early"),
            sf.min("late_ns").alias("least_ns"),
            sf.max("late_ns").alias("most_ns"),
            ranks.alias("ranks"),
            sf.grouping_id("topic", "slot").alias("level"),
        )
        .withColumns({name: sf.get("ranks", sf.lit(at)) for at, name in enumerate(_SHARES)})
        # Nulls do not meet in a join.
        .withColumn("slot", sf.coalesce("slot", sf.lit(_ALWAYS)))
    )
    pending, again = _pending(counted), _again(kept)
    time = over.starts(sf.nullif(sf.col("slot"), sf.lit(_ALWAYS)))
    return (
        counted.join(pending, ["topic", "slot", "level"], "left")
        .join(again, ["topic", "level"], "left")
        .withColumn("time", time)
        .withColumn("seconds", over.lasting(sf.col("time")))
        .select("topic", "time", "seconds", *_COUNTS, "early", "again", *_FIGURES, "pending")
    )


def _pending(counted: DataFrame) -> DataFrame:
    """How many wait at the end of each slot of a topic, and at the end of all: as many as there must be at least."""
    change = sf.col("scheduled") - sf.col("moved") - sf.col("cancelled")
    so_far = Window.partitionBy("topic").orderBy("slot").rowsBetween(Window.unboundedPreceding, 0)
    every = Window.partitionBy("topic")
    run = counted.where(sf.col("level") == 0).select("topic", "slot", sf.sum(change).over(so_far).alias("sum"))
    known = run.select(
        "topic", "slot", (sf.col("sum") - sf.least(sf.min("sum").over(every), sf.lit(0))).alias("pending")
    )
    last = known.groupBy("topic").agg(sf.max_by("pending", "slot").alias("pending"))
    of_all = last.select("topic", sf.lit(_ALWAYS).alias("slot"), "pending", sf.lit(1).alias("level"))
    return known.withColumn("level", sf.lit(0)).unionByName(of_all)


def _again(kept: DataFrame) -> DataFrame:
    """How many moves there were of messages that had been moved before, by topic."""
    moved = kept.where((sf.col("kind") == "moved") & sf.col("sequence").isNotNull())
    once = moved.groupBy("topic", "topic_id", "partition", "sequence").agg((sf.count("*") - 1).alias("again"))
    return once.groupBy("topic").agg(sf.sum("again").alias("again")).withColumn("level", sf.lit(1))


def section(answer: pa.Table) -> Section:
    """Lateness in words and over time, what waited, and a table by topic."""
    rows = rows_of(answer)
    found = Section(NAME, TITLE, QUESTION, method=METHOD)
    whole = next((row for row in rows if row["topic"] is None and row["time"] is None), None)
    if whole is None or not any(whole[kind] for kind in _COUNTS):
        found.words.append("No message was kept back or delivered late in what was read.")
        return found
    topics = sorted((row for row in rows if row["topic"] and row["time"] is None), key=lambda row: str(row["topic"]))
    over = [row for row in rows if row["topic"] is None and row["time"] is not None]
    found.words += _sentences(whole, topics)
    slot = slot_of(over)
    if whole["moved"]:
        series = {name: points(over, column, slot) for column, name in _FIGURES.items()}
        # A logarithm has no place for what came early.
        is_log = whole["least_ns"] > 0
        found.pictures.append(line("Delivered so long after they were due", series, NANOSECONDS, slot, log=is_log))
    waiting = _waiting(rows, sorted(row["time"] for row in over))
    found.pictures.append(line("Messages kept back, by topic", waiting, COUNT, slot))
    found.tables.append(_table(topics))
    return found


def _waiting(rows: Sequence[Row], times: Sequence[int]) -> dict[str, Points]:
    """How many waited of each topic at all times: as many as before, if nothing is known of it at one."""
    known: dict[str, dict[int, float | None]] = {}
    for row in rows:
        if row["topic"] is not None and row["time"] is not None:
            known.setdefault(row["topic"], {})[row["time"]] = row["pending"]
    found: dict[str, Points] = {}
    for topic in sorted(known):
        held: list[tuple[int, float | None]] = []
        for at in times:
            held.append((at, known[topic].get(at, held[-1][1] if held else None)))
        found[topic] = held
    return found


def _sentences(whole: Row, topics: Sequence[Row]) -> list[str]:
    words = [
        f"{COUNT.worded(whole['scheduled'])} messages were kept back, {COUNT.worded(whole['moved'])} delivered, "
        f"{COUNT.worded(whole['cancelled'])} cancelled and {COUNT.worded(whole['rescheduled'])} put off or brought "
        f"forward; at least {COUNT.worded(sum(row['pending'] or 0 for row in topics))} waited at the end."
    ]
    if whole["moved"]:
        said = ", ".join(f"{name} {NANOSECONDS.worded(whole[column])}" for column, name in _FIGURES.items())
        words.append(f"After they were due: {said}.")
    early = whole["early"]
    words.append(f"{COUNT.worded(early)} came before they were due." if early else "None came before it was due.")
    again = sum(row["again"] or 0 for row in topics)
    return [*words, f"{COUNT.worded(again)} were moved again."] if again else words


def _table(topics: Sequence[Row]) -> Table:
    header = ["topic", *_COUNTS, "early", "again", *_FIGURES.values(), "pending"]
    cells = [
        (
            row["topic"], *(row[kind] for kind in _COUNTS), row["early"], row["again"] or 0,
            *(NANOSECONDS.worded(row[column]) for column in _FIGURES), row["pending"],
        )
        for row in topics
    ]  # fmt: skip
    return shortened("By topic", header, cells)
