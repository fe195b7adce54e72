"""How much each node had to do: messages and bytes in and out, syncs and what they cost, events and turns.

What came in is counted on leaders, what was copied on followers, what went out where it was sent from.
"""

from typing import Final

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from goqueue.spark.reports.cells import cell_within, ranked
from goqueue.spark.reports.plots import Points, line, stacked
from goqueue.spark.reports.rows import Row, points, rows_of, slot_of
from goqueue.spark.reports.section import Section, shortened
from goqueue.spark.reports.slots import SLOTS, Slots, slots_of
from goqueue.spark.reports.units import BYTES, COUNT, NANOSECONDS, Unit, counting, per_second

NAME: Final = "load"
TITLE: Final = "Load"
QUESTION: Final = "How much did each node have to do, and what did its syncs cost?"
METHOD: Final = (
    "Messages and bytes in are batches that the node took as a leader into the data of topics, internal ones included; "
    "copied are those it took as a follower. Out is what it sent to readers and members, replays and retries included; "
    "of shared groups the facts know no bytes. A sync's cost is from when it was asked for until it ended, waiting for "
    "the one before it included. A percentile of syncs is the longest of those within 1.6 % of each other that the "
    "share falls among. Turns are of the node's loop: all that came in by then is one. Events and turns are counted by "
    "the second, and are spread evenly over theirs."
)

KINDS: Final = ("appended", "copied", "fetched", "polled", "leased", "durable", "load", "refused")
# answer's columns of amounts, each a sum over kinds, in the unit in which it is shown a second.
AMOUNTS: Final[dict[str, Unit]] = {
    "messages_in": COUNT,
    "bytes_in": BYTES,
    "bytes_copied": BYTES,
    "messages_out": COUNT,
    "bytes_out": BYTES,
    "syncs": counting("syncs"),
    "bytes_synced": BYTES,
    "events": counting("events"),
    "turns": counting("turns"),
    "refused": counting("refusals"),
}
_COSTS: Final = ("p50_ns", "p99_ns", "max_ns")
_DRAWN: Final = {
    "messages_in": "Messages in, by node",
    "bytes_in": "Bytes in, by node",
    "messages_out": "Messages out, by node",
    "bytes_copied": "Bytes copied from leaders, by node",
    "syncs": "Syncs, by node",
    "events": "Events, by node",
}


def answer(facts: DataFrame, slots: int = SLOTS) -> DataFrame:
    """What each node did: in each slot of time, and in all (`time` null).

    node string, time timestamp, seconds double (how long that is), messages_in, bytes_in, bytes_copied, messages_out,
    bytes_out, syncs, bytes_synced, events, turns, refused bigint, sync_p50_ns, sync_p99_ns, sync_max_ns bigint (null
    without syncs).
    """
    over = slots_of(facts, slots)
    chosen = _spread(facts.where(sf.col("kind").isin(*KINDS)), over)
    cost = sf.when(sf.col("kind") == "durable", sf.col("at") - sf.col("since"))
    cells = chosen.groupBy("node", "slot", cell_within(cost).alias("cell")).agg(
        *(sf.sum(amount).alias(name) for name, amount in _amounts().items()),
        sf.count(cost).alias("messages"),
        sf.max(cost).alias("longest_ns"),
    )
    levels = [[sf.col(name) for name in level] for level in (("node", "cell"), ("node", "slot", "cell"))]
    summed = cells.groupingSets(levels, "node", "slot", "cell").agg(
        *(sf.sum(name).alias(name) for name in (*AMOUNTS, "messages")),
        sf.max("longest_ns").alias("longest_ns"),
        sf.grouping_id().alias("level"),
    )
    by = ["node", "slot", "level"]
    costs = ranked(summed.where(sf.col("cell").isNotNull()), by).select(*by, *_COSTS)
    totals = summed.groupBy(*by).agg(*(sf.coalesce(sf.sum(name), sf.lit(0)).alias(name) for name in AMOUNTS))
    # Nulls do not meet in a join, but they do in a group.
    found = totals.unionByName(costs, allowMissingColumns=True).groupBy(*by)
    return found.agg(*(sf.max(name).alias(name) for name in (*AMOUNTS, *_COSTS))).select(
        "node", over.starts(sf.col("slot")).alias("time"), over.lasting(sf.col("slot")).alias("seconds"), *AMOUNTS,
        *(sf.col(name).alias(f"sync_{name}") for name in _COSTS),
    )  # fmt: skip


def _spread(chosen: DataFrame, over: Slots) -> DataFrame:
    """The facts with the slot that each is of; those of a second are taken apart, by the slots that it reaches into.

    What is shared out is whole numbers: of a second each slot gets what has come by its end, less what had come by its
    beginning, so that nothing is lost or made up.
    """
    is_load = sf.col("kind") == "load"
    at_once = chosen.where(~is_load).withColumn("slot", over.number(sf.col("time")))
    noted_us = sf.unix_micros("time")
    begin = noted_us - sf.floor((sf.col("at") - sf.col("since")) / 1000)
    first, last = sf.lit(over.begin), sf.lit(over.end)
    # A second may have begun before anything that was read, and none ends after its fact was noted.
    begin = sf.greatest(sf.least(begin, last - 1), first)
    end = sf.greatest(sf.least(begin + 1_000_000, noted_us, last), begin + 1)
    seconds = chosen.where(is_load).withColumns({"begin_us": begin, "end_us": end})
    numbers = sf.sequence(_slot_at("begin_us", over), _slot_at(sf.col("end_us") - 1, over))
    pieces = seconds.withColumn("slot", sf.explode(numbers))
    from_us = sf.greatest(first + sf.col("slot").cast("bigint") * over.width, "begin_us")
    to_us = sf.least(first + (sf.col("slot").cast("bigint") + 1) * over.width, "end_us")
    shared = {name: _come_by(name, to_us) - _come_by(name, from_us) for name in ("count", "value")}
    return at_once.unionByName(pieces.withColumns(shared).drop("begin_us", "end_us"))


def _slot_at(micros: Column | str, over: Slots) -> Column:
    place = sf.col(micros) if isinstance(micros, str) else micros
    return sf.floor((place - sf.lit(over.begin)) / sf.lit(over.width)).cast("int")


def _come_by(name: str, moment_us: Column) -> Column:
    """How much of a second's amount had come by a moment in it, if it came evenly."""
    share = (moment_us - sf.col("begin_us")) / (sf.col("end_us") - sf.col("begin_us"))
    return sf.round(sf.col(name) * share).cast("bigint")


def _amounts() -> dict[str, Column]:
    kind, one = sf.col("kind"), sf.lit(1)
    is_data = sf.coalesce("side", sf.lit("data")) == "data"
    came, copied, synced = (kind == "appended") & is_data, kind == "copied", kind == "durable"
    sent = kind.isin("fetched", "polled", "leased")
    messages = sf.coalesce("count", sf.col("end") - sf.col("first"))
    of_load = kind == "load"
    return {
        "messages_in": sf.when(came, messages),
        "bytes_in": sf.when(came, sf.col("bytes")),
        "bytes_copied": sf.when(copied, sf.col("bytes")),
        "messages_out": sf.when(sent, messages),
        "bytes_out": sf.when(sent, sf.col("bytes")),
        "syncs": sf.when(synced, one),
        "bytes_synced": sf.when(synced, sf.col("bytes")),
        "events": sf.when(of_load, sf.col("count")),
        "turns": sf.when(of_load, sf.col("value")),
        "refused": sf.when(kind == "refused", one),
    }


def section(answer: pa.Table) -> Section:
    """Averages in words and a table, rates over time in pictures."""
    rows = rows_of(answer)
    found = Section(NAME, TITLE, QUESTION, method=METHOD)
    wholes = sorted((row for row in rows if row["time"] is None), key=lambda row: str(row["node"]))
    if not wholes:
        found.words.append("No node did anything in what was read.")
        return found
    found.words += [_sentence(row) for row in wholes]
    over: dict[str, list[Row]] = {row["node"]: [] for row in wholes}
    for row in rows:
        if row["time"] is not None:
            over[row["node"]].append(row)
    for column, title in _DRAWN.items():
        if any(row[column] for row in wholes):
            series = {node: _rates(of, column) for node, of in over.items()}
            found.pictures.append(stacked(title, series, per_second(AMOUNTS[column]), slot_of(rows)))
    if any(row["syncs"] for row in wholes):
        costs = {node: points(of, "sync_p99_ns", slot_of(rows)) for node, of in over.items()}
        found.pictures.append(line("A sync, 99th percentile, by node", costs, NANOSECONDS, slot_of(rows), log=True))
    header = ["node", *(f"{name.replace('_', ' ')} /s" for name in AMOUNTS), "sync p50", "p99", "max", "bytes a sync"]
    found.tables.append(shortened("Averages over all of the time", header, [_cells(row) for row in wholes]))
    return found


def _rates(rows: list[Row], column: str) -> Points:
    return points(rows, column, slot_of(rows), 1 / rows[0]["seconds"]) if rows else []


def _sentence(row: Row) -> str:
    rates = {name: unit.worded(row[name] / row["seconds"]) for name, unit in AMOUNTS.items()}
    syncs = f"{rates['syncs']} syncs"
    if row["syncs"]:
        syncs += f" of {BYTES.worded(row['bytes_synced'] / row['syncs'])}"
        if row["sync_p50_ns"] is not None:
            syncs += f" in {NANOSECONDS.worded(row['sync_p50_ns'])} (p99 {NANOSECONDS.worded(row['sync_p99_ns'])})"
    return (
        f"{row['node']}, a second: {rates['messages_in']} messages in ({rates['bytes_in']}), "
        f"{rates['messages_out']} out, {rates['bytes_copied']} copied, {syncs}, "
        f"{rates['events']} events in {rates['turns']} turns."
    )


def _cells(row: Row) -> list[str]:
    rates = [unit.worded(row[name] / row["seconds"]) for name, unit in AMOUNTS.items()]
    costs = [NANOSECONDS.worded(row[f"sync_{name}_ns"]) for name in ("p50", "p99", "max")]
    return [row["node"], *rates, *costs, BYTES.worded(row["bytes_synced"] / row["syncs"] if row["syncs"] else None)]
