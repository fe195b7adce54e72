"""Facts made by hand: what tests of reports and checks say happened.

`fact("appended", first=0, end=10, at=5)` is a row; what is not said is null, but for what no fact is without. Its time
follows its node's own clock from `BEGAN` on, unless it is said.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

import pyarrow as pa

from goqueue.spark.facts.schema import ARROW_SCHEMA, COLUMNS, KINDS

Row: TypeAlias = dict[str, object]

BEGAN = datetime(2026, 3, 1, 12, tzinfo=UTC)
RUN = int(BEGAN.timestamp() * 1000)
SECOND = 1_000_000_000


def moment(at: int) -> datetime:
    """The time at nanoseconds of a node's own clock, if it began at zero and nobody moved the calendar's."""
    return BEGAN + timedelta(microseconds=at // 1000)


def fact(kind: str, **columns: object) -> Row:
    """A fact of a kind; its event is its `at` in microseconds, so that later is later, unless it is said."""
    assert kind in KINDS, f"there is no kind {kind}"
    assert columns.keys() <= COLUMNS.keys(), f"there is no column {columns.keys() - COLUMNS.keys()}"
    at = columns.get("at", 0)
    assert isinstance(at, int)
    always = {"node": "n1", "run": RUN, "event": at // 1000, "part": 0, "at": at, "time": moment(at), "kind": kind}
    return always | columns


def table(rows: Iterable[Row]) -> pa.Table:
    """Facts as Arrow has them, with all columns."""
    return pa.Table.from_pylist(list(rows), schema=ARROW_SCHEMA)
