"""How the lanes of work queues were served: shares of deliveries against the weights, waits, and starvation.

The work is in `dealing.py`, a partition on its leader at a time; here is which facts it gets, the settings of the
topics as the facts know them, and what a page says.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Final

import pyarrow as pa
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_schema

from goqueue.core.cluster.durations import parse_duration_ms
from goqueue.core.cluster.queue_settings import read_weights
from goqueue.core.cluster.topic_settings import SETTINGS
from goqueue.core.queues.shares import PRECEDENCE
from goqueue.spark.reports.cells import OPEN, ranked
from goqueue.spark.reports.dealing import COLUMNS, DEALT, LANES, ROWS, STARVED, Terms, dealt
from goqueue.spark.reports.plots import bars, line
from goqueue.spark.reports.rows import Row, points, rows_of, slot_of
from goqueue.spark.reports.section import Section, Table, shortened
from goqueue.spark.reports.slots import SLOTS, slots_of
from goqueue.spark.reports.units import COUNT, NANOSECONDS, SHARE

NAME: Final = "lanes"
TITLE: Final = "Lanes"
QUESTION: Final = "Did each lane get its share, how long did its messages wait, and did any starve?"
METHOD: Final = (
    "A message waits from its append until it is leased for the first time, both on its leader's own clock; what was "
    "appended before the facts begin, or under another leader, is left out. The share that a lane was to have is by "
    "the weights of the topic, among those lanes that had a message waiting at each delivery, and never more than it "
    "had: so it may exceed the weight. A lease is dated by its answer, which comes a sync after the choice. A wait is "
    "too long beyond the topic's `starvation_after`. Groups in which keys are kept in order know no lanes."
)
_PERCENTILES: Final = {"p50_ns": "p50", "p95_ns": "p95", "p99_ns": "p99", "p999_ns": "p99.9", "max_ns": "max"}
_LEVELS: Final = (["lane"], ["lane", "topic", "reader"], ["lane", "slot"])


def answer(facts: DataFrame, slots: int = SLOTS) -> DataFrame:
    """Deliveries and waits of each lane: in all, by topic and group, and over time.

    lane string; topic, group string, time timestamp, each null where a row is of all of them; seconds double (how long
    that time is); messages bigint, leased for the first time; share, wanted double, of all lanes of the row's topic,
    group and time; p50_ns, p95_ns, p99_ns, p999_ns, max_ns bigint; starved bigint, messages that had waited too long.
    """
    over = slots_of(facts, slots)
    keys = ["lane", "topic", "reader", "slot"]
    amounts = [sf.sum(name).alias(name) for name in ("messages", "wanted")]
    amounts.append(sf.max("longest_ns").alias("longest_ns"))
    # Summed up over partitions first: each row is then taken as often as there are levels.
    rows = _rows(facts, _terms(facts), over.begin, over.width).groupBy(*keys, "cell").agg(*amounts)
    levels = [[sf.col(name) for name in (*level, "cell")] for level in _LEVELS]
    summed = rows.groupingSets(levels, *keys, "cell").agg(*amounts, sf.grouping_id().alias("level"))
    by = [*keys, "level"]
    is_dealt, is_starved = sf.col("cell") == DEALT, sf.col("cell") == STARVED
    counted = summed.groupBy(*by).agg(
        sf.sum(sf.when(is_dealt, sf.col("messages")).otherwise(0)).alias("dealt"),
        sf.sum(sf.when(is_dealt, sf.col("wanted")).otherwise(0)).alias("due"),
        sf.sum(sf.when(is_starved, sf.col("messages")).otherwise(0)).alias("starved"),
    )
    waits = ranked(summed.where(sf.col("cell") > OPEN), by).drop("messages", "open")
    # Nulls do not meet in a join, but they do in a group.
    figures = ["dealt", "due", "starved", *_PERCENTILES]
    both = counted.unionByName(waits, allowMissingColumns=True).groupBy(*by)
    joined = both.agg(*(sf.max(name).alias(name) for name in figures))
    every = sf.sum("dealt").over(Window.partitionBy("topic", "reader", "slot", "level"))
    names = sf.array(*(sf.lit(name) for name in LANES))
    return joined.withColumn("all", every).select(
        sf.get(names, sf.col("lane")).alias("lane"), "topic", sf.col("reader").alias("group"),
        over.starts(sf.col("slot")).alias("time"), over.lasting(sf.col("slot")).alias("seconds"),
        sf.col("dealt").alias("messages"),
        sf.try_divide("dealt", "all").alias("share"), sf.try_divide("due", "all").alias("wanted"), *_PERCENTILES,
        "starved",
    )  # fmt: skip


def _rows(facts: DataFrame, terms: Mapping[str, Terms], begin: int, width: int) -> DataFrame:
    plain = terms_of({})

    def of_partition(key: tuple[pa.Scalar, ...], table: pa.Table) -> pa.Table:
        topic: str = key[0].as_py()
        return dealt(table, topic, terms.get(topic, plain), begin, width)

    is_batch = (sf.col("kind") == "appended") & (sf.col("side") == "data")
    is_lease = (sf.col("kind") == "leased") & sf.col("cause").isNull() & (sf.col("attempt") == 1)
    chosen = facts.where(is_batch | is_lease | (sf.col("kind") == "doomed"))
    served = chosen.where(sf.col("kind") == "leased").select("topic", "partition").distinct()
    columns = chosen.join(served, ["topic", "partition"], "left_semi").withColumn("time_us", sf.unix_micros("time"))
    keyed = columns.select("topic", "topic_id", "partition", "node", "run", *COLUMNS)
    return keyed.groupBy("topic", "topic_id", "partition", "node", "run").applyInArrow(
        of_partition, from_arrow_schema(ROWS)
    )


def _terms(facts: DataFrame) -> dict[str, Terms]:
    """How the lanes of each topic are to be served, by the last that is known of its settings."""
    known = facts.where((sf.col("kind") == "topic") & sf.col("detail").isNotNull())
    last = known.groupBy("topic").agg(sf.max_by("detail", "time").alias("detail"))
    return {row["topic"]: terms_of(json.loads(row["detail"])) for row in last.collect()}


def terms_of(config: Mapping[str, object]) -> Terms:
    """Weights and starvation as a topic's settings have them, or as they are by default."""
    weights = read_weights(str(config.get("lane_weights", SETTINGS["lane_weights"].default)))
    by_lane = [weights[PRECEDENCE.index(lane)] for lane in range(len(LANES))]
    starvation = config.get("starvation_after", SETTINGS["starvation_after"].default)
    ms = starvation if isinstance(starvation, int) else parse_duration_ms(str(starvation))
    return Terms(by_lane, ms * 1_000_000)


def section(answer: pa.Table) -> Section:
    """Shares and waits in words, pictures of both, and a table by topic and group."""
    rows = rows_of(answer)
    found = Section(NAME, TITLE, QUESTION, method=METHOD)
    order = [LANES[lane] for lane in PRECEDENCE]
    whole = sorted((row for row in rows if _is_of(row)), key=lambda row: order.index(row["lane"]))
    if not whole:
        found.words.append("No message of a work queue with lanes was delivered whose append is in what was read.")
        return found
    if [row["lane"] for row in whole if row["messages"]] == ["normal"]:
        found.words.append("All messages were of the normal lane.")
    found.words += [_sentence(row) for row in whole]
    shares = [(row["lane"], row["share"]) for row in whole]
    wanted = {row["lane"]: row["wanted"] for row in whole if row["wanted"] is not None}
    found.pictures.append(bars("Share of deliveries, and what it was to be", shares, SHARE, wanted))
    timed = [row for row in rows if row["time"] is not None]
    over = {each["lane"]: [row for row in timed if row["lane"] == each["lane"]] for each in whole}
    for column, title in (("p99_ns", "Wait until the first lease, p99"), ("max_ns", "Wait until the first lease, max")):
        series = {lane: points(of, column, slot_of(timed)) for lane, of in over.items()}
        found.pictures.append(line(f"{title}, by lane", series, NANOSECONDS, slot_of(timed), log=True))
    found.tables.append(_table("Lanes", whole, ""))
    queues = [row for row in rows if row["topic"] is not None]
    queues.sort(key=lambda row: (row["topic"], row["group"], order.index(row["lane"])))
    found.tables.append(_table("Lanes by topic and group", queues, "queue"))
    return found


def _is_of(row: Row) -> bool:
    return row["topic"] is None and row["group"] is None and row["time"] is None


def _sentence(row: Row) -> str:
    if not row["messages"]:
        return f"{row['lane']}: nothing was delivered, though something waited."
    starved = f"; {COUNT.worded(row['starved'])} had waited too long" if row["starved"] else ""
    return (
        f"{row['lane']}: {COUNT.worded(row['messages'])} messages, {SHARE.worded(row['share'])} of all "
        f"(to be {SHARE.worded(row['wanted'])}); waited p50 {NANOSECONDS.worded(row['p50_ns'])}, "
        f"p99 {NANOSECONDS.worded(row['p99_ns'])}, at most {NANOSECONDS.worded(row['max_ns'])}{starved}."
    )


def _table(title: str, rows: Sequence[Row], level: str) -> Table:
    header = [
        *(["topic", "group"] if level else []), "lane", "messages", "share", "to be", *_PERCENTILES.values(),
        "waited too long",
    ]  # fmt: skip
    cells = [
        (
            *((row["topic"], row["group"]) if level else ()), row["lane"], row["messages"], SHARE.worded(row["share"]),
            SHARE.worded(row["wanted"]), *(NANOSECONDS.worded(row[column]) for column in _PERCENTILES), row["starved"],
        )
        for row in rows
    ]  # fmt: skip
    return shortened(title, header, cells)
