"""What rebalances cost: for how long nobody read a partition, why a group was divided anew, and how long that took.

The work is in `ownership.py`, a group at a time; here is what a page says of it.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import pyarrow as pa
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_schema

from goqueue.spark.reports.ownership import COLUMNS, ENDLESS, KINDS, OWNERSHIP, Absences, ownership
from goqueue.spark.reports.plots import Span, bars, timeline
from goqueue.spark.reports.rows import Row, rows_of
from goqueue.spark.reports.section import Section, Table, shortened
from goqueue.spark.reports.units import COUNT, NANOSECONDS, worded_time

NAME: Final = "rebalances"
TITLE: Final = "Rebalances"
QUESTION: Final = "For how long did nobody read a partition of a group, and why were its partitions divided anew?"
METHOD: Final = (
    "Ownership is as the coordinator's journal has it: a partition is down from when a member may no longer read it "
    "until somebody may, so what passes on in one step, or is kept, is not down. What the new owner waits for until it "
    "is told comes on top of that. A rebalance lasts from what made it necessary until nothing is left to be handed "
    "over, and several generations may end at once. Where nobody had anything before, as when a group begins, nothing "
    "is divided anew, and that counts as none. While a topic is not there, its partitions are not down. Of gaps that "
    "are open when the facts end only the number counts."
)
# What may be asked for at once, and what is drawn.
ROWS_MAX: Final = 100_000
_DRAWN: Final = 32
# Why a generation begins in which nobody had anything before; that is no rebalance.
BEGAN: Final = "began"
_TOLD: Final = 20
_CAUSES: Final = {
    "revoked": "it let go",
    "cut_off": "it was cut off",
    "left": "it left",
    "lost": "it was gone without a word",
    "replaced": "another took its name",
}


def answer(facts: DataFrame, limit: int = ROWS_MAX) -> DataFrame:
    """Who had which partition when, when nobody had, and the rebalances; see `ownership` for what a row says.

    what string (hold, gap, rebalance); group, topic string; partition int; epoch bigint; before, member, cause string;
    begin, end timestamp (end null of what goes on); span_ns, told_ns, count bigint. The first `limit` by time of each.
    """
    chosen = facts.where(sf.col("kind").isin(*KINDS) & sf.col("group").isNotNull())
    columns = chosen.withColumn("time_us", sf.unix_micros("time")).select("group", *COLUMNS)

    absences = _absences(facts)

    def of_group(key: tuple[pa.Scalar, ...], table: pa.Table) -> pa.Table:
        return ownership(table, key[0].as_py(), absences)

    found = columns.groupBy("group").applyInArrow(of_group, from_arrow_schema(OWNERSHIP))
    in_order = Window.partitionBy("what").orderBy("begin", "group", "topic", "partition", "epoch")
    return (
        found.withColumns({"begin": sf.timestamp_micros("begin_us"), "end": sf.timestamp_micros("end_us")})
        .select(
            "what", "group", "topic", "partition", "epoch", "before", "member", "cause", "begin", "end", "span_ns",
            "told_ns", "count",
        )
        .withColumn("place", sf.row_number().over(in_order))
        .where(sf.col("place") <= limit)
        .drop("place")
    )  # fmt: skip


def _absences(facts: DataFrame) -> Absences:
    """When topics were deleted and made again, as the first node tells of it."""
    told = facts.where((sf.col("kind") == "topic") & sf.col("cause").isin("deleted", "created"))
    first = told.groupBy("topic", "topic_id", "cause").agg(sf.min(sf.unix_micros("time")).alias("at")).collect()
    made = sorted((row["topic"], row["at"]) for row in first if row["cause"] == "created")
    found: Absences = {}
    for topic, at in sorted((row["topic"], row["at"]) for row in first if row["cause"] == "deleted"):
        again = next((other for name, other in made if name == topic and other >= at), ENDLESS)
        found.setdefault(topic, []).append((at, again))
    return found


def section(answer: pa.Table) -> Section:
    """Downtime in words, a timeline of owners, and tables of gaps, members and rebalances."""
    rows = rows_of(answer)
    found = Section(NAME, TITLE, QUESTION, method=METHOD)
    if not rows:
        found.words.append("No exclusive group had members in what was read.")
        return found
    for what in ("hold", "gap", "rebalance"):
        if sum(row["what"] == what for row in rows) >= ROWS_MAX:
            found.words.append(
                f"There was more than one {what} that is not told of here: only the first {ROWS_MAX:,} are."
            )
    gaps = [row for row in rows if row["what"] == "gap"]
    rebalances = [row for row in rows if row["what"] == "rebalance" and row["cause"] != BEGAN]
    gaps_of, rebalances_of = _by_group(gaps), _by_group(rebalances)
    groups = sorted({row["group"] for row in rows})
    for group in groups[:_TOLD]:
        found.words += _sentences(group, gaps_of.get(group, []), rebalances_of.get(group, []))
    if len(groups) > _TOLD:
        found.words.append(f"{len(groups) - _TOLD:,} more groups are in the tables alone.")
    drawn = _timeline([row for row in rows if row["what"] != "rebalance"])
    if drawn:
        found.pictures.append(timeline("Who read which partition", drawn, ["read", "nobody"]))
    if rebalances:
        reasons = sorted({row["cause"] or "unknown" for row in rebalances})
        counts = [(why, float(sum((row["cause"] or "unknown") == why for row in rebalances))) for why in reasons]
        found.pictures.append(bars("Rebalances, by reason", counts, COUNT))
    found.tables += [_by_partition(gaps), _by_member(gaps), _by_generation(rebalances)]
    return found


def _by_group(rows: Iterable[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row["group"], []).append(row)
    return found


def _known(rows: Iterable[Row], column: str = "span_ns") -> list[int]:
    return [int(row[column]) for row in rows if row[column] is not None]


def _total(rows: Iterable[Row]) -> str:
    return NANOSECONDS.worded(sum(_known(rows)))


def _longest(rows: Iterable[Row], column: str = "span_ns") -> str:
    return NANOSECONDS.worded(max(_known(rows, column), default=None))


def _sentences(group: str, gaps: Sequence[Row], rebalances: Sequence[Row]) -> list[str]:
    spans = [span for span in _known(gaps) if span]
    going = sum(row["span_ns"] is None for row in gaps)
    words = f"{group}: {len(rebalances)} rebalance{'' if len(rebalances) == 1 else 's'}"
    lasted = _known(rebalances)
    if lasted:
        average = NANOSECONDS.worded(sum(lasted) / len(lasted))
        words += f", of {average} on average and {_longest(rebalances)} at most"
    if spans:
        words += (
            f"; {len(spans)} {'time' if len(spans) == 1 else 'times'} a partition was read by nobody, "
            f"for {_total(gaps)} in all and {_longest(gaps)} at most"
        )
    else:
        words += "; no partition that somebody reads again was without a reader"
    passed = len(_known(gaps)) - len(spans)
    words += f"; {passed} passed from one member to the next at once" if passed else ""
    words += f"; {going} {'was' if going == 1 else 'were'} read by nobody when the facts end" if going else ""
    return [f"{words}."]


def _timeline(rows: Sequence[Row]) -> list[tuple[str, list[Span]]]:
    end = max((row["end"] or row["begin"] for row in rows), default=0)
    found: dict[str, list[Span]] = {}
    for row in sorted(rows, key=lambda row: (row["group"], row["topic"], row["partition"], row["begin"])):
        name = f"{row['group']}: {row['topic']}/{row['partition']}"
        if name not in found and len(found) == _DRAWN:
            break
        is_read = row["what"] == "hold"
        words = (
            f"{row['member']}"
            if is_read
            else f"nobody, after {row['before']}: {_CAUSES.get(row['cause'], row['cause'])}"
        )
        until = end if row["end"] is None else row["end"]
        found.setdefault(name, []).append(Span(row["begin"], until, "read" if is_read else "nobody", words))
    return list(found.items())


def _by_partition(gaps: Sequence[Row]) -> Table:
    sums: dict[tuple[str, str, int], list[Row]] = {}
    for row in gaps:
        sums.setdefault((row["group"], row["topic"], row["partition"]), []).append(row)
    cells = [
        (
            group, f"{topic}/{partition}", len(some), _total(some), _longest(some), _longest(some, "told_ns"),
            sum(row["span_ns"] is None for row in some),
        )
        for (group, topic, partition), some in sorted(sums.items(), key=lambda each: (-sum(_known(each[1])), each[0]))
    ]  # fmt: skip
    header = ["group", "partition", "times", "down in all", "longest", "longest until told", "down still"]
    return shortened("Partitions that nobody read for a while", header, cells)


def _by_member(gaps: Sequence[Row]) -> Table:
    sums: dict[tuple[str, str, str], list[Row]] = {}
    for row in gaps:
        sums.setdefault((row["group"], row["before"] or "", row["cause"] or ""), []).append(row)
    cells = [
        (
            group, member, _CAUSES.get(cause, cause), len(some), _total(some), _longest(some),
        )
        for (group, member, cause), some in sorted(sums.items(), key=lambda each: (-sum(_known(each[1])), each[0]))
    ]  # fmt: skip
    header = ["group", "member", "why", "partitions", "down in all", "longest"]
    return shortened("Members after which nobody read", header, cells)


def _by_generation(rebalances: Sequence[Row]) -> Table:
    cells = [
        (
            row["group"], row["epoch"], row["cause"] or "-", worded_time(row["begin"]), row["count"],
            NANOSECONDS.worded(row["span_ns"]),
        )
        for row in sorted(rebalances, key=lambda row: (-(row["span_ns"] or 0), row["group"], row["epoch"]))
    ]  # fmt: skip
    header = ["group", "generation", "reason", "wanted at", "partitions given", "took"]
    return shortened("Rebalances, the longest first", header, cells)
