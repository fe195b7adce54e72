"""The job: checks over facts, what they found, and what they could not know.

A check after the other, each over all facts of the kinds that it asks for: facts are to be kept before
(`facts.frame.keep`), by kind, else captures are replayed for each of them.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Final

from attrs import define, field
from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from goqueue.core.errors import GoQueueError
from goqueue.spark.checks.catalogue import CHECKS
from goqueue.spark.checks.finding import CANDIDATE_COLUMNS, FINDING_COLUMNS, proven
from goqueue.spark.checks.gaps import expect_once, gaps_of, judged
from goqueue.spark.checks.past import Past

# Of what is only counted, so many are named.
NAMED_MAX: Final = 20


class UnknownCheck(GoQueueError):
    """A name that no check has."""


@define
class Unknown:
    """What looks wrong and may be explained by what is missing."""

    check: str
    words: str
    gap: str


@define
class Summary:
    """What a job looked at: findings by check, and how much it could not know."""

    checks: list[str]
    files: int = 0
    events: int = 0
    facts: int = 0
    findings: dict[str, int] = field(factory=dict)
    unknown: dict[str, int] = field(factory=dict)
    # The first of these, and of the gaps.
    unknowns: list[Unknown] = field(factory=list)
    gaps: list[str] = field(factory=list)
    gap_count: int = 0
    # Files that could not be read to their ends, by what is wrong with them.
    faults: dict[str, int] = field(factory=dict)
    clock_steps: int = 0

    @property
    def found(self) -> int:
        """How many findings there are in all."""
        return sum(self.findings.values())


@define
class Examination:
    """Findings as a DataFrame and a summary; `every` has what is unknown as well, with what may explain it.

    What was found is kept by Spark, on the executors' disks, for as long as somebody refers to this.
    """

    findings: DataFrame
    summary: Summary
    every: DataFrame


def check(
    facts: DataFrame,
    names: Sequence[str] | None = None,
    told: Callable[[str], None] = lambda _: None,
) -> DataFrame:
    """What is wrong for sure, a row a finding. Raises UnknownCheck."""
    return examine(facts, names, told).findings


def examine(
    facts: DataFrame,
    names: Sequence[str] | None = None,
    told: Callable[[str], None] = lambda _: None,
) -> Examination:
    """Findings of some checks, of all where none is named, and a summary. Raises UnknownCheck, GivenTwice."""
    chosen = chosen_checks(names)
    if not chosen:
        raise UnknownCheck("no check is named")
    past = Past(facts)
    gaps = gaps_of(past.facts).persist()
    expect_once(past.facts)
    summary = _looked_at(past, gaps, chosen)
    told(f"{summary.facts:,} facts of {summary.files} files, {summary.gap_count} gaps")
    parts = []
    for name in chosen:
        # What is found is cut loose from how: each plan by itself is large, and all of them in one are slow to plan.
        part = judged(CHECKS[name].found(past), gaps).select(
            sql.lit(name).alias("check"), sql.lit(CHECKS[name].PROMISE).alias("promise"), *CANDIDATE_COLUMNS
        )
        parts.append(part.localCheckpoint())
        told(f"looked for {name}")
    past.forget()
    gaps.unpersist()
    every = reduce(DataFrame.unionByName, parts)
    _count(summary, every)
    certain = every.where(sql.col("unknown").isNull())
    return Examination(proven(certain, past.facts).select(*FINDING_COLUMNS), summary, every)


def chosen_checks(names: Iterable[str] | None) -> list[str]:
    """The names of checks, in their order. Raises UnknownCheck."""
    wanted = list(CHECKS) if names is None else list(names)
    for name in wanted:
        if name not in CHECKS:
            raise UnknownCheck(f"there is no check {name!r}; the checks are {', '.join(CHECKS)}")
    return [name for name in CHECKS if name in wanted]


def _looked_at(past: Past, gaps: DataFrame, chosen: list[str]) -> Summary:
    """How much there is to look at, and what is missing of it."""
    summary = Summary(chosen)
    by_kind = past.facts.groupBy(
        (sql.col("kind") == "file").alias("is_file"),
        (sql.col("kind") == "clock_stepped").alias("is_step"),
        sql.when(sql.col("kind") == "file", sql.col("cause")).alias("cause"),
    )
    for row in by_kind.agg(sql.count("*").alias("rows"), sql.sum("count").alias("events")).collect():
        if not row["is_file"]:
            summary.facts += row["rows"]
            summary.clock_steps += row["rows"] if row["is_step"] else 0
            continue
        summary.files += row["rows"]
        summary.events += row["events"] or 0
        if row["cause"] is not None:
            summary.faults[row["cause"]] = row["rows"]
    summary.gap_count = gaps.count()
    summary.gaps = [row["words"] for row in gaps.orderBy("node", "run", "begin").limit(NAMED_MAX).collect()]
    return summary


def _count(summary: Summary, every: DataFrame) -> None:
    """Count what was found, and take down the first of what is unknown."""
    is_certain = sql.col("unknown").isNull()
    summary.findings, summary.unknown = dict.fromkeys(summary.checks, 0), dict.fromkeys(summary.checks, 0)
    for row in every.groupBy("check", is_certain.alias("is_certain")).agg(sql.count("*").alias("rows")).collect():
        counts = summary.findings if row["is_certain"] else summary.unknown
        counts[row["check"]] = row["rows"]
    if any(summary.unknown.values()):
        rows = every.where(~is_certain).limit(NAMED_MAX).collect()
        summary.unknowns = [Unknown(row["check"], row["words"], row["unknown"]) for row in rows]
