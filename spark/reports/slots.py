"""Equal stretches of time, into which reports put what happened: so that answers are small however long a capture is.

Slots are by the wall clock, since they are of all nodes. A clock that stepped moves what happened after it.
"""

from typing import Final

from attrs import define
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from goqueue.spark.reports.units import time_step

SLOTS: Final = 120


@define
class Slots:
    """`count` stretches of `width` microseconds from `begin` on, which is in microseconds since 1970."""

    begin: int
    width: int
    count: int

    @property
    def seconds(self) -> float:
        """How long each is."""
        return self.width / 1e6

    @property
    def end(self) -> int:
        """When the last of them ends."""
        return self.begin + self.width * self.count

    def lasting(self, number: Column) -> Column:
        """How many seconds one of them is long, or all of them where there is no number."""
        return sf.when(number.isNull(), sf.lit(self.count * self.seconds)).otherwise(sf.lit(self.seconds))

    def number(self, time: Column) -> Column:
        """Which of them a timestamp falls into."""
        return sf.floor((sf.unix_micros(time) - sf.lit(self.begin)) / sf.lit(self.width)).cast("int")

    def starts(self, number: Column) -> Column:
        """When one begins, as a timestamp; null of null."""
        return sf.timestamp_micros(sf.lit(self.begin) + number.cast("bigint") * sf.lit(self.width))


def slots_over(begin: int, end: int, count: int = SLOTS) -> Slots:
    """Slots of a round width, about `count` or fewer, that cover two times in microseconds and what is between."""
    assert begin <= end
    assert count > 0
    width = time_step(end - begin + 1, count)
    first = begin // width * width
    return Slots(first, width, (end - first) // width + 1)


def slots_of(facts: DataFrame, count: int = SLOTS) -> Slots:
    """Slots over the times of what happened; a single one, at 1970, if nothing did."""
    # What is said of a file that could not be read at all is of no time.
    row = (
        facts.where(sf.col("kind") != "file")
        .agg(sf.min(sf.unix_micros("time")), sf.max(sf.unix_micros("time")))
        .first()
    )
    begin, end = (row[0], row[1]) if row else (None, None)
    return slots_over(0, 0, count) if begin is None or end is None else slots_over(begin, end, count)
