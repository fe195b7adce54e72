"""Why messages were delivered more than once, and why some were given up: attempts, causes, and members' own words."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_schema

from goqueue.spark.reports.plots import Points, Series, bars, stacked
from goqueue.spark.reports.rows import Row, rows_of, slot_of
from goqueue.spark.reports.section import Section, Table, shortened
from goqueue.spark.reports.slots import SLOTS, Slots, slots_of
from goqueue.spark.reports.unended import COLUMNS, ENDS, UNENDED, unended
from goqueue.spark.reports.units import COUNT

NAME: Final = "redeliveries"
TITLE: Final = "Redeliveries and dead letters"
QUESTION: Final = "Which messages were delivered again or given up, and why?"
METHOD: Final = (
    "A message counts once for each lease, in the slot of time in which the lease began or ended. Causes come from the "
    "ledger of the partition's leader, and from the request that a record answers. Unaccounted are messages that were "
    "leased again although no end of the lease before is in the facts: it was lost with a leader, or a capture has a "
    "gap there. Those leased and not ended when the facts end are in flight. An attempt counts up only by a failure: "
    "nacked, expired or lost."
)
KINDS: Final = ("leased", "returned", "doomed", "buried")
WORDS_MAX: Final = 20
# What a message was delivered again for, in the order in which it is told; those that count as a failure come first.
CAUSES: Final = {
    "nacked": "a member said no",
    "expired": "the lease ran out",
    "lost": "the member was gone without a word",
    "released": "a member gave it back",
    "left": "the member left",
    "unheard": "nobody waited for the answer to the poll",
    "reset": "the group was reset",
    "cut": "the partition lost its end",
    "ended": "the group ended",
    "unaccounted": "no end of the lease is known",
}
DEATHS: Final = {
    "attempts": "tried too often",
    "rejected": "rejected",
    "expired": "too old",
    "gone": "removed by retention",
    "deleted": "their topic was deleted",
}
_ANSWER: Final = ["what", "group", "topic", "cause", "attempt", "words", "time", "seconds", "messages"]


def answer(facts: DataFrame, slots: int = SLOTS) -> DataFrame:
    """How many messages were leased, returned, doomed and buried, by attempt and cause over time.

    what string (leased, returned, doomed, buried, in_flight); group, topic string; cause string, null of leased;
    attempt int, null of buried; words string, what a member said, only where `time` is null; time timestamp;
    seconds double (how long that slot is, or all of them); messages bigint.
    """
    over = slots_of(facts, slots)
    chosen = facts.where(sf.col("kind").isin(*KINDS) & sf.col("group").isNotNull())
    messages = sf.sum(sf.col("end") - sf.col("first")).alias("messages")
    cause = sf.when(sf.col("kind") != "leased", sf.col("cause")).alias("cause")
    attempt = sf.when(sf.col("kind") != "buried", sf.col("attempt")).alias("attempt")
    counted = (
        chosen.select(
            sf.col("kind").alias("what"), "group", "topic", cause, attempt, "first", "end",
            over.number(sf.col("time")).alias("slot"),
        )
        .groupBy("what", "group", "topic", "cause", "attempt", "slot")
        .agg(messages)
        .withColumns({"words": sf.lit(None).cast("string"), "time": over.starts(sf.col("slot"))})
        .drop("slot")
    )  # fmt: skip
    said = (
        chosen.where(sf.col("kind").isin("returned", "doomed") & sf.col("detail").isNotNull())
        .groupBy(sf.col("kind").alias("what"), "group", "topic", "cause", sf.col("detail").alias("words"))
        .agg(messages)
        .orderBy(sf.desc("messages"), "what", "group", "topic", "cause", "words")
        .limit(WORDS_MAX)
        .withColumns({"attempt": sf.lit(None).cast("int"), "time": sf.lit(None).cast("timestamp")})
    )
    found = counted.unionByName(said, allowMissingColumns=True).unionByName(_unended(facts, over))
    return found.withColumn("seconds", over.lasting(sf.col("time"))).select(*_ANSWER)


def _unended(facts: DataFrame, over: Slots) -> DataFrame:
    """Leases without an end, as rows of the answer."""

    def of_queue(key: tuple[pa.Scalar, ...], table: pa.Table) -> pa.Table:
        return unended(table, key[0].as_py(), key[1].as_py())

    chosen = facts.where(sf.col("kind").isin("leased", *ENDS) & sf.col("lease").isNotNull())
    columns = chosen.withColumn("time_us", sf.unix_micros("time"))
    keyed = columns.select("group", "topic", "topic_id", "partition", *COLUMNS)
    found = keyed.groupBy("group", "topic", "topic_id", "partition").applyInArrow(of_queue, from_arrow_schema(UNENDED))
    slot = over.number(sf.timestamp_micros("time_us"))
    what = sf.when(sf.col("again"), "returned").otherwise("in_flight").alias("what")
    cause = sf.when(sf.col("again"), "unaccounted").alias("cause")
    summed = found.groupBy(what, "group", "topic", cause, "attempt", slot.alias("slot")).agg(
        sf.sum("messages").alias("messages")
    )
    nobody = {"words": sf.lit(None).cast("string"), "time": over.starts(sf.col("slot"))}
    return summed.withColumns(nobody).drop("slot")


def section(answer: pa.Table) -> Section:
    """What was delivered again and given up in words, over time and by group, and what members said."""
    rows = rows_of(answer)
    found = Section(NAME, TITLE, QUESTION, method=METHOD)
    leased = [row for row in rows if row["what"] == "leased"]
    if not rows:
        found.words.append("No message of a work queue was delivered in what was read.")
        return found
    counted = [row for row in rows if row["time"] is not None]
    found.words += _sentences(counted)
    found.pictures.append(bars("Deliveries by attempt", _attempts(leased), COUNT))
    for what, title, causes in (
        ("returned", "Delivered again, by cause", CAUSES),
        ("doomed", "Given up, by cause", DEATHS),
    ):
        some = [row for row in counted if row["what"] == what]
        if some:
            found.pictures.append(stacked(title, _over_time(some, causes), COUNT, slot_of(some)))
    found.tables += _tables(counted)
    said = [row for row in rows if row["words"] is not None]
    if said:
        cells = [(row["group"], row["topic"], row["cause"], row["words"], row["messages"]) for row in said]
        header = ["group", "topic", "cause", "what was said, or failed last", "messages"]
        found.tables.append(shortened(f"In members' own words, the {WORDS_MAX} most frequent", header, cells))
    return found


def _sum(rows: Iterable[Row]) -> int:
    return sum(int(row["messages"]) for row in rows)


def _by_cause(rows: Sequence[Row], what: str) -> Counter[str]:
    found: Counter[str] = Counter()
    for row in rows:
        if row["what"] == what:
            found[row["cause"] or "unknown"] += row["messages"]
    return found


def _sentences(rows: Sequence[Row]) -> list[str]:
    leased = [row for row in rows if row["what"] == "leased"]
    again = _sum(row for row in leased if (row["attempt"] or 1) > 1)
    total = _sum(leased)
    share = f", {100 * again / total:.3g} % of them second or later attempts" if total else ""
    words = [f"{COUNT.worded(total)} deliveries{share}."]
    for what, title, names in (("returned", "To be delivered again", CAUSES), ("doomed", "Given up", DEATHS)):
        causes = _by_cause(rows, what)
        if causes:
            said = ", ".join(
                f"{names.get(name, name)} {COUNT.worded(causes[name])}" for name, _ in causes.most_common()
            )
            words.append(f"{title}: {COUNT.worded(causes.total())} ({said}).")
        else:
            words.append(f"{title}: none.")
    buried, doomed = _sum(row for row in rows if row["what"] == "buried"), _by_cause(rows, "doomed").total()
    if buried or doomed:
        words.append(f"{COUNT.worded(buried)} dead letters were stored.")
    in_flight = _sum(row for row in rows if row["what"] == "in_flight")
    return [*words, f"{COUNT.worded(in_flight)} were in flight at the end."]


def _attempts(leased: Sequence[Row]) -> list[tuple[str, float | None]]:
    counts: Counter[int] = Counter()
    for row in leased:
        counts[row["attempt"] or 1] += row["messages"]
    return [(f"attempt {attempt}", counts[attempt]) for attempt in sorted(counts)]


def _over_time(rows: Sequence[Row], causes: dict[str, str]) -> Series:
    """One line a cause, in the order in which they are told; what has none is of no cause that is known."""
    sums: dict[str, Counter[int]] = {}
    for row in rows:
        sums.setdefault(row["cause"] or "unknown", Counter())[row["time"]] += row["messages"]
    names = [*(name for name in causes if name in sums), *(name for name in sums if name not in causes)]
    points: dict[str, Points] = {name: sorted(sums[name].items()) for name in names}
    return points


def _tables(rows: Sequence[Row]) -> list[Table]:
    queues = sorted({(row["group"], row["topic"]) for row in rows})
    returned, doomed = _cells(rows, queues, "returned", CAUSES), _cells(rows, queues, "doomed", DEATHS)
    tables = []
    for title, names, cells in (("Delivered again", CAUSES, returned), ("Given up", DEATHS, doomed)):
        used = [at for at in range(len(names)) if any(row[4 + at] for row in cells)]
        header = ["group", "topic", "deliveries", "all", *(list(names)[at] for at in used)]
        kept = [(*row[:4], *(row[4 + at] for at in used)) for row in cells]
        tables.append(shortened(f"{title}, by group and topic", header, kept))
    return tables


def _cells(
    rows: Sequence[Row], queues: Sequence[tuple[str, str]], what: str, causes: dict[str, str]
) -> list[tuple[str | int, ...]]:
    sums: Counter[tuple[str, str, str, str]] = Counter()
    for row in rows:
        sums[row["group"], row["topic"], row["what"], row["cause"] or ""] += row["messages"]
    cells: list[tuple[str | int, ...]] = []
    for group, topic in queues:
        counts = [sums[group, topic, what, cause] for cause in causes]
        cells.append((group, topic, sums[group, topic, "leased", ""], sum(counts), *counts))
    return cells
