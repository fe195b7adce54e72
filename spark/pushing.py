"""Filters of a query, as far as the source can see to them: what they leave of what is wanted, and the rest for Spark.

Taken over are comparisons with a constant: `=` and `in` for `topic` and `partition`, `=`, `<`, `<=`, `>`, `>=` for
`offset` and `timestamp`. Spark hands over each side of an `and` by itself. A filter is taken over only where every row
that is read passes it: Spark does not look again. An `in` over offsets or times bounds what is read, and is left to
Spark as well. All others are left to Spark.

This happens only where the option push_filters asks for it. Spark 4 keeps what it planned with the filters of one query
for as long as the frame lives, and reads the same for the next query of that frame, whatever that one filters: rows
would be missing without a word. So a frame that is read in this way is for one query, and somebody has to say so.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeAlias

from attrs import evolve
from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
)

from goqueue.spark.records.wanted import Wanted

# What a filter leaves of everything, and whether that is all there is to it; None for a filter that says nothing here.
_Reading: TypeAlias = tuple[Wanted, bool] | None

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_NOTHING: Final = Wanted(end_offset=0)


def narrow(wanted: Wanted, filters: Sequence[Filter]) -> tuple[Wanted, list[Filter]]:
    """What the filters leave of what was wanted, and those that Spark has to apply."""
    rest = []
    for each in filters:
        reading = _read(each)
        if reading is not None:
            wanted &= reading[0]
        if reading is None or not reading[1]:
            rest.append(each)
    return wanted, rest


def _read(condition: Filter) -> _Reading:
    attribute: tuple[str, ...] = getattr(condition, "attribute", ())
    if len(attribute) != 1:
        return None
    read = _COLUMNS.get(attribute[0])
    return None if read is None else read(condition)


def _read_topic(condition: Filter) -> _Reading:
    if isinstance(condition, IsNotNull):
        return Wanted(), True
    values = _values(condition, str)
    return None if values is None else (Wanted(topics=values), True)


def _read_partition(condition: Filter) -> _Reading:
    if isinstance(condition, IsNotNull):
        return Wanted(), True
    values = _values(condition, int)
    return None if values is None else (Wanted(partitions=values), True)


def _read_offset(condition: Filter) -> _Reading:
    if isinstance(condition, IsNotNull):
        return Wanted(), True
    return _range(condition, lambda value: value if type(value) is int else None, _offsets)


def _offsets(first: int | None, end: int | None) -> Wanted:
    wanted = Wanted()
    if first is not None:
        wanted = evolve(wanted, first_offset=max(first, wanted.first_offset))
    return wanted if end is None else evolve(wanted, end_offset=min(end, wanted.end_offset))


def _read_timestamp(condition: Filter) -> _Reading:
    if isinstance(condition, IsNotNull):
        return Wanted(since_ms=0), True
    return _range(condition, _microseconds, _times)


def _times(first: int | None, end: int | None) -> Wanted:
    """Records know milliseconds: those from the next one on lie at or after a microsecond. None has no time at all."""
    wanted = Wanted(since_ms=0 if first is None else max(0, -(-first // 1000)))
    return wanted if end is None else evolve(wanted, until_ms=min(max(0, -(-end // 1000)), wanted.until_ms))


def _microseconds(value: object) -> int | None:
    if not isinstance(value, datetime) or value.tzinfo is None:
        return None
    return (value - _EPOCH) // _MICROSECOND


def _range(
    condition: Filter, number: Callable[[object], int | None], between: Callable[[int | None, int | None], Wanted]
) -> _Reading:
    """A comparison as a range [first, end) of whole numbers."""
    if isinstance(condition, In):
        found = [number(value) for value in condition.value if value is not None]
        numbers = [one for one in found if one is not None]
        if len(numbers) < len(found):
            return None
        return (between(min(numbers), max(numbers) + 1) if numbers else _NOTHING), not numbers
    value = number(getattr(condition, "value", None))
    if value is None:
        return None
    match condition:
        case EqualTo():
            return between(value, value + 1), True
        case GreaterThan():
            return between(value + 1, None), True
        case GreaterThanOrEqual():
            return between(value, None), True
        case LessThan():
            return between(None, value), True
        case LessThanOrEqual():
            return between(None, value + 1), True
    return None


def _values(condition: Filter, kind: type) -> tuple[Any, ...] | None:
    """The values that a column may have by an equation or an `in`."""
    given: Iterable[object] = ()
    if isinstance(condition, EqualTo):
        given = (condition.value,)
    elif isinstance(condition, In):
        # What equals null is nothing.
        given = tuple(value for value in condition.value if value is not None)
    else:
        return None
    return tuple(given) if all(type(value) is kind for value in given) else None


_COLUMNS: Final[dict[str, Callable[[Filter], _Reading]]] = {
    "topic": _read_topic,
    "partition": _read_partition,
    "offset": _read_offset,
    "timestamp": _read_timestamp,
}
