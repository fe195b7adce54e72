"""Filters that the source takes over, and those that it leaves to Spark."""

from datetime import UTC, datetime, timedelta

import pytest
from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    IsNull,
    LessThan,
    LessThanOrEqual,
    Not,
    StringStartsWith,
)

from goqueue.spark.pushing import narrow
from goqueue.spark.records.wanted import ENDLESS, Wanted

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
NOON_MS = 1_772_366_400_000


@pytest.mark.parametrize(
    ("condition", "left"),
    [
        (EqualTo(("topic",), "orders"), Wanted(topics=("orders",))),
        (In(("topic",), ("orders", None, "audit")), Wanted(topics=("orders", "audit"))),
        (EqualTo(("partition",), 3), Wanted(partitions=(3,))),
        (In(("partition",), (3, 1)), Wanted(partitions=(3, 1))),
        (EqualTo(("offset",), 7), Wanted(first_offset=7, end_offset=8)),
        (GreaterThan(("offset",), 7), Wanted(first_offset=8)),
        (GreaterThanOrEqual(("offset",), 7), Wanted(first_offset=7)),
        (GreaterThanOrEqual(("offset",), -7), Wanted()),
        (LessThan(("offset",), 7), Wanted(end_offset=7)),
        (LessThanOrEqual(("offset",), 7), Wanted(end_offset=8)),
        (LessThanOrEqual(("offset",), ENDLESS - 1), Wanted()),
        (EqualTo(("timestamp",), NOON), Wanted(since_ms=NOON_MS, until_ms=NOON_MS + 1)),
        (GreaterThanOrEqual(("timestamp",), NOON), Wanted(since_ms=NOON_MS)),
        (GreaterThan(("timestamp",), NOON), Wanted(since_ms=NOON_MS + 1)),
        (GreaterThanOrEqual(("timestamp",), NOON + timedelta(microseconds=1)), Wanted(since_ms=NOON_MS + 1)),
        (LessThan(("timestamp",), NOON), Wanted(since_ms=0, until_ms=NOON_MS)),
        (LessThan(("timestamp",), NOON + timedelta(microseconds=1)), Wanted(since_ms=0, until_ms=NOON_MS + 1)),
        (LessThanOrEqual(("timestamp",), NOON), Wanted(since_ms=0, until_ms=NOON_MS + 1)),
        (LessThan(("timestamp",), datetime(1969, 1, 1, tzinfo=UTC)), Wanted(since_ms=0, until_ms=0)),
        (IsNotNull(("timestamp",)), Wanted(since_ms=0)),
        (IsNotNull(("offset",)), Wanted()),
        (IsNotNull(("topic",)), Wanted()),
        (IsNotNull(("partition",)), Wanted()),
    ],
    ids=repr,
)
def test_a_filter_that_is_taken_over_is_gone(condition: Filter, left: Wanted) -> None:
    assert narrow(Wanted(), [condition]) == (left, [])


@pytest.mark.parametrize(
    ("condition", "left"),
    [
        (In(("offset",), (9, None, 4)), Wanted(first_offset=4, end_offset=10)),
        (In(("timestamp",), (NOON,)), Wanted(since_ms=NOON_MS, until_ms=NOON_MS + 1)),
        (In(("offset",), (9, "x")), Wanted()),
        (EqualTo(("offset",), 1.5), Wanted()),
        (EqualTo(("partition",), True), Wanted()),
        (EqualTo(("timestamp",), NOON.replace(tzinfo=None)), Wanted()),
        (EqualTo(("key",), b"k"), Wanted()),
        (EqualTo(("headers", "key"), "k"), Wanted()),
        (EqualNullSafe(("offset",), 1), Wanted()),
        (IsNull(("timestamp",)), Wanted()),
        (IsNotNull(("key",)), Wanted()),
        (Not(EqualTo(("offset",), 1)), Wanted()),
        (StringStartsWith(("topic",), "or"), Wanted()),
        (GreaterThan(("partition",), 1), Wanted()),
    ],
    ids=repr,
)
def test_a_filter_that_is_not_wholly_seen_to_is_left_to_spark(condition: Filter, left: Wanted) -> None:
    wanted, rest = narrow(Wanted(), [condition])
    assert wanted == left
    assert len(rest) == 1
    assert rest[0] is condition


def test_filters_add_up_and_narrow_what_options_left() -> None:
    options = Wanted(partitions=(0, 1, 2), first_offset=10, end_offset=50)
    filters: list[Filter] = [
        In(("partition",), (1, 2, 3)),
        GreaterThan(("offset",), 4),
        LessThan(("offset",), 40),
        IsNotNull(("key",)),
        In(("partition",), (2, 9)),
    ]
    wanted, rest = narrow(options, filters)
    assert wanted == Wanted(partitions=(2,), first_offset=10, end_offset=40)
    assert rest == [IsNotNull(("key",))]


def test_a_range_that_holds_nothing_is_nothing() -> None:
    wanted, rest = narrow(Wanted(), [GreaterThan(("offset",), 5), LessThan(("offset",), 3)])
    assert wanted.is_nothing
    assert not rest
    assert narrow(Wanted(), [In(("offset",), (None,))])[0].is_nothing
    assert narrow(Wanted(), [LessThan(("offset",), -3)])[0].is_nothing
    assert not Wanted().is_nothing
