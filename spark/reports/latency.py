"""How long each stage took that a message goes through, from the request it came in to its acknowledgement.

The work is in `waits.py`, a partition at a time; here is which facts it gets, how its cells become percentiles, and
what a page says of them.
"""

from collections.abc import Sequence
from typing import Final

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_schema

from goqueue.spark.reports.cells import CELLS, ranked
from goqueue.spark.reports.plots import line
from goqueue.spark.reports.rows import Row, points, rows_of, slot_of
from goqueue.spark.reports.section import Section, Table, shortened
from goqueue.spark.reports.slots import SLOTS, Slots, slots_of
from goqueue.spark.reports.units import COUNT, NANOSECONDS
from goqueue.spark.reports.waits import COLUMNS, GROUP_KINDS, LEADER_KINDS, STAGES, group_waits, leader_waits

NAME: Final = "latency"
TITLE: Final = "Latency"
QUESTION: Final = "How long did each stage take that a message goes through, from its publish to its acknowledgement?"
METHOD: Final = (
    "Each stage is measured on one clock: that of the node that led the partition, and for `answer` that of the node "
    "which was asked; but those of exclusive groups are between the wall clocks of the leader and the coordinator. A "
    "node reads its clock once a turn of its loop, and a publish is in the leader's log in the turn in which it is "
    "taken up: what it waits for that turn is not measured. "
    "Messages are counted, not batches, in the slot of time in which their wait ended. A percentile is the longest of "
    "the waits within 1.6 % of each other that the share falls among. For a reader only what became visible while it "
    "was there counts, and only when sent first. What a cut took back counts as come and answered, and as nothing else."
)

_SAID = {"p50_ns": "p50", "p95_ns": "p95", "p99_ns": "p99", "p999_ns": "p99.9", "max_ns": "max"}
_DRAWN = ("persist", "replicate", "answer", "deliver", "acknowledge")
# Which rows there are: those of a whole stage, of its topics, of its readers, and each of the first two over time.
_LEVELS = [(), ("topic",), ("reader",), ("slot",), ("topic", "slot")]
_FIGURES = ["messages", *_SAID, "open"]
# The reader of a stage that has none; members and groups have names.
_NOBODY = ""


def answer(facts: DataFrame, slots: int = SLOTS, internal: bool = False) -> DataFrame:
    """Percentiles of each stage: of all, by topic, by reader, over time, and by topic over time.

    stage string; topic, reader string, time timestamp, each null where a row is of all of them; seconds double (how
    long that time is); messages bigint;
    p50_ns, p95_ns, p99_ns, p999_ns, max_ns bigint, null without messages; open bigint, messages that waited still.
    """
    over = slots_of(facts, slots)
    keys = ["stage", "topic", "reader", "slot"]
    # Summed up over partitions first: each row is then taken as often as there are levels.
    amounts = [sf.sum("messages").alias("messages"), sf.max("longest_ns").alias("longest_ns")]
    cells = cells_of(facts, over, internal=internal).withColumn("reader", sf.coalesce("reader", sf.lit(_NOBODY)))
    of_topics = cells.groupBy(*keys, "cell").agg(*amounts)
    summed = of_topics.groupingSets(
        [[sf.col(name) for name in ("stage", "cell", *level)] for level in _LEVELS], *keys, "cell"
    ).agg(*amounts, sf.grouping_id().alias("level"))
    # By reader, a stage that has none would be there once more as a whole.
    return ranked(summed, [*keys, "level"]).where(~sf.col("reader").eqNullSafe(_NOBODY)).select(
        "stage", "topic", "reader", over.starts(sf.col("slot")).alias("time"),
        over.lasting(sf.col("slot")).alias("seconds"), *_FIGURES,
    )  # fmt: skip


def cells_of(facts: DataFrame, slots: Slots, internal: bool = False) -> DataFrame:
    """Cells of all partitions, which sum up to any percentile; `internal` topics are left out unless asked for."""
    is_data = (sf.coalesce("side", sf.lit("data")) == "data") | (sf.col("kind") == "answered")
    refused = sf.col("kind").isin("answered", "committed") & sf.col("cause").isNotNull()
    chosen = facts.where(sf.col("topic").isNotNull() & is_data & ~refused)
    if not internal:
        chosen = chosen.where(~sf.col("topic").startswith("__"))
    columns = chosen.withColumns(
        {"time_us": sf.unix_micros("time"), "reader": sf.coalesce("group", "client", sf.lit(""))}
    ).select("topic", "topic_id", "partition", "node", "run", *COLUMNS)
    begin, width = slots.begin, slots.width

    def on_leader(key: tuple[pa.Scalar, ...], table: pa.Table) -> pa.Table:
        return leader_waits(table, key[0].as_py(), begin, width)

    def in_groups(key: tuple[pa.Scalar, ...], table: pa.Table) -> pa.Table:
        return group_waits(table, key[0].as_py(), begin, width)

    led = columns.where(sf.col("kind").isin(*LEADER_KINDS)).groupBy("topic", "topic_id", "partition", "node", "run")
    polled = columns.where(sf.col("kind") == "polled").select("topic", "partition").distinct()
    read = columns.where(sf.col("kind").isin(*GROUP_KINDS)).join(polled, ["topic", "partition"], "left_semi")
    of_groups = read.groupBy("topic", "topic_id", "partition").applyInArrow(in_groups, from_arrow_schema(CELLS))
    return led.applyInArrow(on_leader, from_arrow_schema(CELLS)).unionByName(of_groups)


def section(answer: pa.Table) -> Section:
    """Stages in words, percentiles over time, and tables by stage, topic and reader."""
    rows = rows_of(answer)
    found = Section(NAME, TITLE, QUESTION, method=METHOD)
    stages = {row["stage"]: row for row in rows if _is_of(row)}
    if not stages:
        found.words.append("No message was published, sent or acknowledged in what was read.")
        return found
    found.words += [_sentence(words, stages[stage]) for stage, words in STAGES.items() if stage in stages]
    for stage, words in STAGES.items():
        over = [row for row in rows if row["stage"] == stage and _is_of(row, "time")]
        if stage in _DRAWN and over:
            series = {name: points(over, column, slot_of(over)) for column, name in _SAID.items()}
            found.pictures.append(line(words, series, NANOSECONDS, slot_of(over), log=True))
    found.tables.append(_table("Stages", [stages[stage] for stage in STAGES if stage in stages]))
    for level in ("topic", "reader"):
        some = [row for row in rows if _is_of(row, level)]
        some.sort(key=lambda row: (list(STAGES).index(row["stage"]), -row["messages"]))
        if some:
            found.tables.append(_table(f"Stages by {level}", some, level))
    return found


def _is_of(row: Row, *levels: str) -> bool:
    """Whether a row is by these, and is of all of what else there is."""
    return all((row[level] is not None) == (level in levels) for level in ("topic", "reader", "time"))


def _sentence(words: str, row: Row) -> str:
    waiting = f"; {COUNT.worded(row['open'])} waited still" if row["open"] else ""
    if not row["messages"]:
        return f"{words}: of no message it is known when that was{waiting}."
    said = ", ".join(f"{name} {NANOSECONDS.worded(row[column])}" for column, name in _SAID.items())
    return f"{words}: {said}, of {COUNT.worded(row['messages'])} messages{waiting}."


def _table(title: str, rows: Sequence[Row], level: str = "") -> Table:
    header = ["stage", *([level] if level else []), "messages", *_SAID.values(), "waited still"]
    cells = [
        [
            row["stage"],
            *([row[level]] if level else []),
            row["messages"],
            *(NANOSECONDS.worded(row[column]) for column in _SAID),
            row["open"],
        ]
        for row in rows
    ]
    return shortened(title, header, cells)
