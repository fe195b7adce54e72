"""What was read: nodes, files, events, and all that was not read or cannot be believed.

It is the first section of every page. It says nothing of the cluster, only of what the other answers stand on.
"""

from typing import Final

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from goqueue.spark.checks.gaps import gaps_of
from goqueue.spark.reports.rows import Row, rows_of
from goqueue.spark.reports.section import Section, shortened
from goqueue.spark.reports.units import BYTES, NANOSECONDS, worded_day, worded_time

NAME: Final = "coverage"
TITLE: Final = "What was read"
QUESTION: Final = "What do the answers on this page stand on, and what is missing?"
METHOD: Final = (
    "Facts come from captures by replaying them. A file that ends early gives the facts up to there. A gap is a "
    "stretch of a node's events that no file tells of; a process that was killed leaves one of up to a tenth of a "
    "second at its end. A step is a wall clock that was set, or drifted so far from the node's own clock."
)

# So many of each are told; more of them would not be read, and runs say how many there are.
_TOLD_MAX = 1000
_COLUMNS = ["what", "node", "run", "begin", "end", "files", "events", "bytes", "facts", "value", "cause", "words"]


def answer(facts: DataFrame) -> DataFrame:
    """What was read and what not, a row a `what`: run, fault, gap or step.

    what, node string; run bigint; begin, end timestamp (of a run's facts, or when a clock stepped); files, events,
    bytes, facts bigint (of a run); value bigint (of a fault the file's number, of a gap its first event, of a step the
    milliseconds); cause, words string.
    """
    rows = [_runs(facts), _faults(facts), _gaps(facts), _steps(facts)]
    found = rows[0]
    for more in rows[1:]:
        found = found.unionByName(more, allowMissingColumns=True)
    return found.select(*_COLUMNS)


def _runs(facts: DataFrame) -> DataFrame:
    is_file = sf.col("kind") == "file"
    return facts.groupBy("node", "run").agg(
        sf.lit("run").alias("what"),
        sf.min("time").alias("begin"),
        sf.max("time").alias("end"),
        sf.count_if(is_file).alias("files"),
        sf.coalesce(sf.sum(sf.when(is_file, sf.col("count"))), sf.lit(0)).alias("events"),
        sf.coalesce(sf.sum(sf.when(is_file, sf.col("bytes"))), sf.lit(0)).alias("bytes"),
        sf.count_if(~is_file).alias("facts"),
        sf.lit(None).cast("bigint").alias("value"),
        sf.lit(None).cast("string").alias("cause"),
        sf.lit(None).cast("string").alias("words"),
    )


def _faults(facts: DataFrame) -> DataFrame:
    wrong = facts.where((sf.col("kind") == "file") & sf.col("cause").isNotNull() & (sf.col("cause") != "tail"))
    return (
        wrong.select(
            sf.lit("fault").alias("what"), "node", "run", "value", "cause", sf.col("detail").alias("words")
        )
        .orderBy("node", "run", "value")
        .limit(_TOLD_MAX)
    )  # fmt: skip


def _gaps(facts: DataFrame) -> DataFrame:
    gaps = gaps_of(facts).where(sf.col("node") != "").orderBy("node", "run", "begin").limit(_TOLD_MAX)
    return gaps.select(sf.lit("gap").alias("what"), "node", "run", sf.col("begin").alias("value"), "words")


def _steps(facts: DataFrame) -> DataFrame:
    steps = facts.where(sf.col("kind") == "clock_stepped").orderBy("time").limit(_TOLD_MAX)
    return steps.select(
        sf.lit("step").alias("what"), "node", "run", sf.col("time").alias("begin"), "value",
    )  # fmt: skip


def section(answer: pa.Table) -> Section:
    """How much was read of whom, then everything that was not."""
    rows = rows_of(answer)
    of: dict[str, list[Row]] = {what: [] for what in ("run", "fault", "gap", "step")}
    for row in rows:
        of[row["what"]].append(row)
    found = Section(NAME, TITLE, QUESTION, method=METHOD)
    runs = _runs_of(of["run"])
    found.words.append(_amounts(runs) if runs else "Nothing was read.")
    unread = sum(row["files"] for row in of["run"] if not row["node"])
    if unread:
        found.words.append(f"{_counted(unread, 'file', 'files')} could not be read at all, nor is it known whose.")
    if not of["run"]:
        return found
    found.words += [_at_least(len(of["fault"]), "file could", "files could") + " not be read to the end."]
    found.words += [_at_least(len(of["gap"]), "gap", "gaps") + " in what nodes did."]
    found.words += [_at_least(len(of["step"]), "step", "steps") + " of wall clocks."]
    header = ["node", "run", "from", "to", "files", "events", "size", "facts"]
    if runs:
        found.tables.append(shortened("Runs of nodes", header, [_run(row) for row in runs]))
    if of["fault"]:
        cells = [(row["node"], str(row["run"]), row["value"], row["cause"], row["words"]) for row in of["fault"]]
        found.tables.append(shortened("Files not read to the end", ["node", "run", "file", "cause", "why"], cells))
    if of["gap"]:
        found.tables.append(shortened("Gaps", ["node", "missing"], [(row["node"], row["words"]) for row in of["gap"]]))
    if of["step"]:
        steps = [(row["node"], worded_time(row["begin"]), f"{row['value']:+,} ms") for row in of["step"]]
        found.tables.append(shortened("Steps of wall clocks", ["node", "at", "by"], steps))
    return found


def warnings(answer: pa.Table) -> list[str]:
    """What a reader must know before reading on."""
    whats = answer.column("what").to_pylist()
    faults, gaps, steps = (whats.count(what) for what in ("fault", "gap", "step"))
    found = []
    if not _runs_of(rows_of(answer)):
        found.append("Nothing was read, so nothing on this page says anything.")
    if faults:
        found.append(f"{_at_least(faults, 'file', 'files')} could not be read to the end: answers may be incomplete.")
    if gaps:
        found.append(f"{_at_least(gaps, 'gap', 'gaps')} in what nodes did: answers say nothing of what happened there.")
    if steps:
        told = "it" if steps == 1 else "them"
        words = f"{_at_least(steps, 'step', 'steps')} of wall clocks"
        found.append(f"{words}: what is told by the time of day may be off by {told}.")
    return found


def _runs_of(rows: list[Row]) -> list[Row]:
    """The runs of which it is known whose they are, in order."""
    return sorted(
        (row for row in rows if row["what"] == "run" and row["node"]), key=lambda row: (row["node"], row["run"])
    )


def _amounts(runs: list[Row]) -> str:
    nodes = len({row["node"] for row in runs})
    files, events, facts = (sum(row[column] for row in runs) for column in ("files", "events", "facts"))
    begin, end = min(row["begin"] for row in runs), max(row["end"] for row in runs)
    size = BYTES.worded(sum(row["bytes"] for row in runs))
    span = f"{worded_day(begin)} {worded_time(begin)} to {worded_day(end)} {worded_time(end)}"
    return (
        f"{_counted(nodes, 'node', 'nodes')}, {_counted(len(runs), 'run', 'runs')}, "
        f"{_counted(files, 'file', 'files')} of {size}, {events:,} events and {facts:,} facts, from {span}, which is "
        f"{NANOSECONDS.worded((end - begin) * 1000)}."
    )


def _run(row: Row) -> tuple[str, str, str, str, int, int, str, int]:
    return (
        row["node"], str(row["run"]), worded_time(row["begin"]), worded_time(row["end"]), row["files"], row["events"],
        BYTES.worded(row["bytes"]), row["facts"],
    )  # fmt: skip


def _counted(count: int, one: str, many: str) -> str:
    return f"{count:,} {one if count == 1 else many}"


def _at_least(count: int, one: str, many: str) -> str:
    """How many rows there are of what is told up to a bound."""
    return f"{count:,} or more {many}" if count >= _TOLD_MAX else _counted(count, one, many)
