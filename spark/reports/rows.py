"""Answers as rows of plain Python, which is what sections are written from.

Times are microseconds since 1970 here, as plots take them. Answers are small: whoever makes one sees to that.
"""

from collections.abc import Iterable
from itertools import pairwise
from typing import Any, TypeAlias

import pyarrow as pa

from goqueue.spark.reports.plots import Points

Row: TypeAlias = dict[str, Any]


def rows_of(answer: pa.Table) -> list[Row]:
    """The rows of an answer, its times as numbers."""
    for index, column in enumerate(answer.schema):
        if pa.types.is_timestamp(column.type):
            micros = answer.column(index).cast(pa.timestamp("us", tz=column.type.tz)).cast(pa.int64())
            answer = answer.set_column(index, column.name, micros)
    rows: list[Row] = answer.to_pylist()
    return rows


def slot_of(rows: Iterable[Row]) -> int:
    """How long the slots are that rows with a `time` are of, in microseconds; all are as long."""
    return next((round(row["seconds"] * 1_000_000) for row in rows if row["time"] is not None), 1)


def points(rows: Iterable[Row], figure: str, slot: int, scale: float = 1.0) -> Points:
    """One figure of rows over their `time`, in order; what is null, and a slot without a row, is a gap."""
    known = {row["time"]: None if row[figure] is None else row[figure] * scale for row in rows}
    ends = [at + slot for at, after in pairwise(sorted(known)) if after > at + slot]
    return sorted([*known.items(), *((at, None) for at in ends)])
