"""What a check finds: a row that says what was promised of what, and the facts that prove that it was not kept.

A check is a function from facts to candidates. A candidate is a finding, and besides the `spans` of events in which
something may have happened that would explain it: where a capture has a gap there, nobody knows, and it is none
(`gaps.py`). A candidate of two facts that cannot both be right has no spans: nothing explains it. `unknown` is for what
else a check could not know.

A fact travels through a check as a few columns that name it (`fact`). What else it says is looked up (`proven`) where
it proves something, which is seldom.
"""

from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sql

from goqueue.spark.facts.schema import COLUMNS

EVIDENCE_DDL: Final = "array<struct<node:string,run:bigint,event:bigint,time:timestamp,kind:string,words:string>>"
FINDING_DDL: Final = (
    "check string, promise string, topic string, partition int, `group` string, first bigint, end bigint, node string, "
    f"time timestamp, words string, evidence {EVIDENCE_DDL}"
)
FINDING_COLUMNS: Final = (
    "check", "promise", "topic", "partition", "group", "first", "end", "node", "time", "words", "evidence",
)  # fmt: skip

# Behind every event of a run.
FOREVER: Final = (1 << 63) - 1

# What is said of a fact, and in which words; the rest of its columns are where and when.
_SAID: Final[dict[str, str]] = {
    "epoch": "epoch %d", "group": "group %s", "member": "member %s", "peer": "peer %s", "lease": "lease %d",
    "attempt": "attempt %d", "producer": "producer %d", "producer_epoch": "of epoch %d", "sequence": "sequence %d",
    "value": "value %d", "cause": "%s", "detail": "%s",
}  # fmt: skip
# Which fact it is: no two have the same four.
_KEY: Final = ("node", "run", "event", "part")
_NAMING: Final = (*_KEY, "time", "member", "peer")
_FACT: Final = ",".join(f"`{name}`:{COLUMNS[name][1]}" for name in _NAMING)
SPANS_DDL: Final = "array<struct<node:string,run:bigint,begin:bigint,end:bigint>>"
# What a check answers, beside its own name; `facts` are those that prove it.
CANDIDATE_COLUMNS: Final = (
    "topic", "partition", "group", "first", "end", "node", "time", "words", "facts", "unknown",
)  # fmt: skip


def fact() -> Column:
    """The fact of a row as one value: which it is, and who had to do with it."""
    return sql.struct(*(sql.col(f"`{name}`") for name in _NAMING))


def spelled() -> Column:
    """The fact of a row in words: what is not null in it."""
    first, end, due = sql.col("first"), sql.col("end"), sql.col("due")
    said = [
        sql.when(first.isNotNull() & end.isNotNull(), sql.format_string("from %d to %d", first, end)),
        sql.when(first.isNotNull() & end.isNull(), sql.format_string("from %d", first)),
        sql.when(first.isNull() & end.isNotNull(), sql.format_string("to %d", end)),
        sql.when(sql.col("side") != "data", sql.col("side")),
        *(sql.when(sql.col(f"`{name}`").isNotNull(), sql.format_string(form, name)) for name, form in _SAID.items()),
        sql.when(due.isNotNull(), sql.concat(sql.lit("due "), due.cast("string"))),
    ]
    return sql.concat_ws(", ", *said)


def proven(candidates: DataFrame, facts: DataFrame) -> DataFrame:
    """Candidates with the facts that prove them in words, as `evidence`."""
    wanted = candidates.select(sql.explode("facts").alias("one")).select(*(f"one.{name}" for name in _KEY)).distinct()
    # Few facts prove something, so they are sought in one pass over all.
    sought = facts.join(sql.broadcast(wanted), list(_KEY))
    told = sought.select(
        sql.struct(*_KEY).alias("key"), sql.struct(*_KEY[:3], "time", "kind", spelled().alias("words")).alias("told")
    )
    numbered = candidates.withColumn("number", sql.monotonically_increasing_id())
    each = numbered.select("number", sql.posexplode("facts").alias("place", "one"))
    each = each.withColumn("key", sql.struct(*(sql.col(f"one.{name}") for name in _KEY)))
    in_order = sql.array_sort(sql.collect_list(sql.struct("place", "told")))
    evidence = each.join(told, "key").groupBy("number").agg(in_order.alias("ordered"))
    evidence = evidence.select("number", sql.col("ordered.told").cast(EVIDENCE_DDL).alias("evidence"))
    return numbered.join(evidence, "number").drop("number", "facts")


def span(of: Column, begin: Column, end: Column) -> Column:
    """The events of the process that a fact is of, between two: one may have happened there that explains it all."""
    return sql.struct(
        of["node"].alias("node"), of["run"].alias("run"), begin.cast("bigint").alias("begin"),
        end.cast("bigint").alias("end"),
    )  # fmt: skip


def anywhere() -> Column:
    """All that ever happened, on any node."""
    return sql.struct(
        sql.lit(None).cast("string").alias("node"), sql.lit(None).cast("bigint").alias("run"),
        sql.lit(-1).cast("bigint").alias("begin"), sql.lit(FOREVER).alias("end"),
    )  # fmt: skip


def between(earlier: Column, later: Column, until: Column | None = None) -> list[Column]:
    """The spans between two facts, of one process or of two; of two, the earlier's may end at an event of its own."""
    is_one = (earlier["node"] == later["node"]) & (earlier["run"] == later["run"])
    ends = [sql.lit(FOREVER)] if until is None else [until, sql.lit(FOREVER)]
    return [
        span(earlier, earlier["event"], sql.when(is_one, later["event"]).otherwise(sql.coalesce(*ends))),
        span(later, sql.when(is_one, earlier["event"]).otherwise(sql.lit(-1)), later["event"]),
    ]


def candidates(
    frame: DataFrame,
    words: Column,
    facts: Sequence[Column],
    *,
    spans: Sequence[Column] = (),
    unknown: Column | None = None,
) -> DataFrame:
    """The rows of a frame as candidates; its columns say of what, the last of the facts where and when."""
    last = facts[-1]
    return frame.select(
        *(_of(frame, name, kind) for name, kind in _PLACE.items()),
        last["node"].alias("node"),
        last["time"].alias("time"),
        words.alias("words"),
        sql.array(*facts).cast(f"array<struct<{_FACT}>>").alias("facts"),
        (sql.array(*spans) if spans else sql.array()).cast(SPANS_DDL).alias("spans"),
        (sql.lit(None) if unknown is None else unknown).cast("string").alias("unknown"),
    )


_PLACE: Final = {"topic": "string", "partition": "int", "group": "string", "first": "bigint", "end": "bigint"}


def _of(frame: DataFrame, name: str, kind: str) -> Column:
    return (sql.col(f"`{name}`") if name in frame.columns else sql.lit(None)).cast(kind).alias(name)
