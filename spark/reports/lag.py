"""How far groups are behind what they could read: in messages, and in time.

The work is in `backlog.py`, a partition at a time; here its rows are summed up, so that an answer stays small however
many partitions there are.
"""

from typing import Final

import pyarrow as pa
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_schema

from goqueue.spark.reports.backlog import BACKLOG, COLUMNS, KINDS, backlog
from goqueue.spark.reports.plots import Points, line
from goqueue.spark.reports.rows import Row, points, rows_of, slot_of
from goqueue.spark.reports.section import Section, shortened
from goqueue.spark.reports.slots import SLOTS, Slots, slots_of
from goqueue.spark.reports.units import COUNT, NANOSECONDS

NAME: Final = "lag"
TITLE: Final = "Lag of groups"
QUESTION: Final = "How far was each group behind what it could read, and for how long had that waited?"
METHOD: Final = (
    "Lag is the high watermark less what the group has committed, or, for a work queue, less the messages that are "
    "done, where those before the first that the facts speak of count as done. It is as of the end of each slot of "
    "time; the highest lag is that of any moment. Age is how long the first message that is not done has been visible; "
    "what became visible before the facts begin is older than it says. A topic that was deleted counts until then, and "
    "one that was made again under its name from then on. Watermark and group may be of two nodes, whose wall clocks "
    "may disagree."
)

PARTITIONS: Final = 64


def answer(facts: DataFrame, slots: int = SLOTS, partitions: int = PARTITIONS) -> DataFrame:
    """Each group's lag over time: in each topic, and in the `partitions` in which groups were furthest behind.

    group, topic string; partition int (null in a row of the topic); time timestamp, seconds double (how long
    that slot is); visible, done, lag bigint (sums in
    a row of the topic); lag_max bigint (of a topic, that of its worst partition); age_ns bigint (likewise).
    """
    over = slots_of(facts, slots)
    rows = backlogs(facts, over)
    by_topic = rows.groupBy("group", "topic", "slot").agg(
        *(sf.sum(column).alias(column) for column in ("visible", "done", "lag")),
        *(sf.max(column).alias(column) for column in ("lag_max", "age_ns")),
        sf.lit(None).cast("int").alias("partition"),
    )
    worst = rows.groupBy("group", "topic", "partition").agg(sf.max("lag_max").alias("most"))
    ranked = worst.orderBy(sf.desc("most"), "group", "topic", "partition").limit(partitions).drop("most")
    each = rows.join(sf.broadcast(ranked), ["group", "topic", "partition"])
    return by_topic.unionByName(each).select(
        "group", "topic", "partition", over.starts(sf.col("slot")).alias("time"),
        over.lasting(sf.col("slot")).alias("seconds"), "visible", "done", "lag", "lag_max", "age_ns",
    )  # fmt: skip


def backlogs(facts: DataFrame, slots: Slots) -> DataFrame:
    """A row for each group, partition and slot: see BACKLOG."""
    begin, width = slots.begin, slots.width
    # The slots that end while a topic is there; another one that has its name is counted by itself.
    counts = {key: min(max((end - begin) // width, 0), slots.count) for key, end in _ends(facts).items()}

    def of_partition(key: tuple[pa.Scalar, ...], table: pa.Table) -> pa.Table:
        topic, topic_id, partition = (one.as_py() for one in key)
        return backlog(table, topic, partition, begin, width, counts.get((topic, topic_id), slots.count))

    is_data = sf.coalesce("side", sf.lit("data")) == "data"
    refused = (sf.col("kind") == "committed") & (sf.col("cause").isNotNull() | sf.col("end").isNull())
    chosen = facts.where(sf.col("kind").isin(*KINDS) & sf.col("partition").isNotNull() & is_data & ~refused)
    read = chosen.where(sf.col("kind").isin("committed", "leased")).select("topic", "partition").distinct()
    columns = chosen.join(read, ["topic", "partition"], "left_semi").withColumn("time_us", sf.unix_micros("time"))
    keyed = columns.select("topic", "topic_id", "partition", *COLUMNS)
    return keyed.groupBy("topic", "topic_id", "partition").applyInArrow(of_partition, from_arrow_schema(BACKLOG))


def _ends(facts: DataFrame) -> dict[tuple[str, int], int]:
    """When topics were deleted, in microseconds, or at the latest, since another one had the name by then."""
    known = facts.where(sf.col("topic_id").isNotNull()).groupBy("topic", "topic_id")
    is_deleted = (sf.col("kind") == "topic") & (sf.col("cause") == "deleted")
    spans = known.agg(
        sf.min(sf.unix_micros("time")).alias("first"), sf.min(sf.when(is_deleted, sf.unix_micros("time"))).alias("end")
    )
    following = sf.lead("first").over(Window.partitionBy("topic").orderBy("topic_id"))
    ended = spans.withColumn("end", sf.least("end", following)).where(sf.col("end").isNotNull())
    return {(row["topic"], row["topic_id"]): row["end"] for row in ended.collect()}


def section(answer: pa.Table) -> Section:
    """A sentence a group and topic, lag and age over time, and the partitions that were furthest behind."""
    rows = rows_of(answer)
    found = Section(NAME, TITLE, QUESTION, method=METHOD)
    if not rows:
        found.words.append("No group has committed or been sent anything in what was read.")
        return found
    topics, partitions = _grouped(rows, whole=True), _grouped(rows, whole=False)
    order = sorted(topics, key=lambda name: (-_most(topics[name], "lag"), name))
    found.words += [_sentence(name, topics[name]) for name in order[:20]]
    if len(order) > 20:
        found.words.append(f"{len(order) - 20} more groups and topics are not told of here, none further behind.")
    for figure, title, unit in (("lag", "Messages behind", COUNT), ("age_ns", "Age of what is next", NANOSECONDS)):
        series: dict[str, Points] = {name: points(topics[name], figure, slot_of(rows)) for name in order}
        found.pictures.append(line(f"{title}, by group and topic", series, unit, slot_of(rows)))
    worst = sorted(partitions, key=lambda name: (-_most(partitions[name], "lag_max"), name))
    header = ["group: topic/partition", "highest lag", "lag at the end", "highest age", "age at the end"]
    cells = [(name, *_figures(partitions[name])) for name in worst]
    found.tables.append(shortened("Partitions that were furthest behind", header, cells))
    return found


def _grouped(rows: list[Row], *, whole: bool) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        if (row["partition"] is None) == whole:
            place = row["topic"] if whole else f"{row['topic']}/{row['partition']}"
            found.setdefault(f"{row['group']}: {place}", []).append(row)
    for of in found.values():
        of.sort(key=lambda row: int(row["time"]))
    return found


def _most(rows: list[Row], figure: str) -> int:
    return max(int(row[figure]) for row in rows)


def _figures(rows: list[Row]) -> tuple[int, int, str, str]:
    last = rows[-1]
    ages = NANOSECONDS.worded(_most(rows, "age_ns")), NANOSECONDS.worded(last["age_ns"])
    return _most(rows, "lag_max"), last["lag"], *ages


def _sentence(name: str, rows: list[Row]) -> str:
    last = rows[-1]
    if not _most(rows, "lag_max"):
        return f"{name}: never behind."
    state = f"{COUNT.worded(last['lag'])} behind" if last["lag"] else "up to date"
    age = f", the next of which had waited {NANOSECONDS.worded(last['age_ns'])}" if last["age_ns"] else ""
    return (
        f"{name}: {state} at the end{age}; at most {COUNT.worded(_most(rows, 'lag'))} at the end of a slot, "
        f"and at most {NANOSECONDS.worded(_most(rows, 'age_ns'))}."
    )
