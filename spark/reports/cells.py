"""Histograms as tables: a row a cell, which sums of any kind keep small and from which percentiles are read.

A cell counts the messages that waited about as long as each other: 64 cells to a doubling, so its waits differ by less
than 1.6 %. It also keeps the longest of them, and that is what a percentile in this cell is said to be: a wait that
really was, and never one that makes things look better. Where every cell holds but one wait it is exact.

`OPEN` is the cell of messages whose wait has not ended, as far as the facts go.
"""

from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import define, field
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf

Integers: TypeAlias = npt.NDArray[np.int64]

OPEN: Final = -1
PERCENTILES: Final = {"p50_ns": 0.5, "p95_ns": 0.95, "p99_ns": 0.99, "p999_ns": 0.999}
CELLS: Final = pa.schema(
    [
        ("stage", pa.string()),
        ("topic", pa.string()),
        ("reader", pa.string()),
        ("slot", pa.int32()),
        ("cell", pa.int32()),
        ("messages", pa.int64()),
        ("longest_ns", pa.int64()),
    ]
)
_SHARES = 64


def cell_of(waits: Integers) -> Integers:
    """The cells that some waits belong to; none is shorter than nothing."""
    halves, powers = np.frexp(np.maximum(waits, 1).astype(np.float64))
    return (powers.astype(np.int64) - 1) * _SHARES + ((2 * halves - 1) * _SHARES).astype(np.int64)


def cell_within(wait: Column) -> Column:
    """The cell of a wait, as Spark finds it: as narrow as `cell_of`'s, though with other edges; null of null."""
    return sf.floor(sf.log2(sf.greatest(wait, sf.lit(1))) * _SHARES).cast("int")


@define
class Cells:
    """Waits of one topic, on their way to being a table."""

    topic: str
    _parts: list[tuple[str, str, Integers, Integers, Integers, Integers]] = field(factory=list)

    def add(self, stage: str, reader: str, slots: Integers, waits: Integers, messages: Integers) -> None:
        """Count messages that waited so long, each in the slot in which its wait ended."""
        self._sum(stage, reader, slots, cell_of(waits), messages, np.maximum(waits, 0))

    def add_open(self, stage: str, reader: str, slots: Integers, messages: Integers) -> None:
        """Count messages that wait still, each in the slot in which its wait began."""
        nothing = np.zeros(len(slots), np.int64)
        self._sum(stage, reader, slots, nothing + OPEN, messages, nothing)

    def table(self) -> pa.Table:
        """A row a cell."""
        arrays: list[list[pa.Array]] = [[] for _ in CELLS.names]
        for stage, reader, slots, cells, messages, longest in self._parts:
            words = [
                pa.repeat(pa.scalar(word, pa.string()), len(slots)) for word in (stage, self.topic, reader or None)
            ]
            numbers = [pa.array(slots.astype(np.int32)), pa.array(cells.astype(np.int32))]
            for column, array in zip(arrays, [*words, *numbers, pa.array(messages), pa.array(longest)], strict=True):
                column.append(array)
        return pa.table(
            [pa.chunked_array(column, kind.type) for column, kind in zip(arrays, CELLS, strict=True)], CELLS
        )

    def _sum(
        self, stage: str, reader: str, slots: Integers, cells: Integers, messages: Integers, longest: Integers
    ) -> None:
        if not len(slots):
            return
        keys = slots * (1 << 32) + cells - OPEN
        order = np.argsort(keys, kind="stable")
        found, starts = np.unique(keys[order], return_index=True)
        sums = np.add.reduceat(messages[order], starts)
        self._parts.append(
            (stage, reader, found >> 32, (found & 0xFFFFFFFF) + OPEN, sums, np.maximum.reduceat(longest[order], starts))
        )


def percentiles(cells: DataFrame, by: list[str]) -> DataFrame:
    """A row for each of `by`: messages whose wait ended, `open` ones, percentiles and the longest wait."""
    summed = cells.groupBy(*by, "cell").agg(
        sf.sum("messages").alias("messages"), sf.max("longest_ns").alias("longest_ns")
    )
    return ranked(summed, by)


def ranked(summed: DataFrame, by: list[str]) -> DataFrame:
    """The same of cells that are summed already, one row for each of `by` and cell."""
    ended = sf.col("cell") != OPEN
    every = Window.partitionBy(*by)
    messages = sf.when(ended, sf.col("messages")).otherwise(0)
    counted = summed.withColumn("total", sf.sum(messages).over(every)).withColumn(
        "reached", sf.sum(messages).over(every.orderBy("cell").rowsBetween(Window.unboundedPreceding, 0))
    )
    return counted.groupBy(*by).agg(
        sf.sum(messages).alias("messages"),
        *(_rank(share, ended).alias(name) for name, share in PERCENTILES.items()),
        sf.max(sf.when(ended, sf.col("longest_ns"))).alias("max_ns"),
        sf.sum(sf.when(~ended, sf.col("messages")).otherwise(0)).alias("open"),
    )


def _rank(share: float, ended: Column) -> Column:
    """The longest wait of the first cell by which so great a share has come."""
    return sf.min(
        sf.when(ended & (sf.col("reached") >= sf.ceil(sf.col("total") * sf.lit(share))), sf.col("longest_ns"))
    )
