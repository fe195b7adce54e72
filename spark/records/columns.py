"""The schema of a record, and the Arrow array of each column.

Keys and values reach Arrow without a loop: the run's buffer is declared to be one long binary array whose elements are,
in turn, a field and what lies between it and the next, and `take` copies every other element out. Nothing that is
returned refers to the run's buffer.

Only columns that are asked for are made, which is all that Spark leaves to a source of its kind by way of pruning.
"""

from collections.abc import Callable

import numpy as np
import pyarrow as pa
from attrs import define

from goqueue.core.records.batch import LANE_MASK, LANE_SHIFT, NO_PRODUCER
from goqueue.core.records.varint import INT64_MAX
from goqueue.spark.records.fields import Fields, Integers, Span

# Spark counts microseconds in 64 bits, which end in the year 294247; later times are shown as that moment.
_MS_MAX = INT64_MAX // 1000

_TIMESTAMP = pa.timestamp("us", tz="UTC")
_PAIR = pa.struct([("key", pa.string()), ("value", pa.binary())])
_HEADERS = pa.list_(pa.field("element", _PAIR))


@define
class Rows:
    """The records of a run, from one partition of a topic, as columns."""

    topic: str
    partition: int
    fields: Fields

    def batch(self, schema: pa.Schema) -> pa.RecordBatch:
        """The columns of `schema`, all of which `COLUMNS` has. Raises BatchError."""
        arrays = [COLUMNS[name].build(self) for name in schema.names]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    def topics(self) -> pa.Array:
        """The topic, over and over."""
        return pa.repeat(pa.scalar(self.topic, pa.string()), len(self.fields.offsets))

    def partitions(self) -> pa.Array:
        """The partition, over and over."""
        return pa.repeat(pa.scalar(self.partition, pa.int32()), len(self.fields.offsets))

    def offsets(self) -> pa.Array:
        """The offset of each record."""
        return pa.array(self.fields.offsets)

    def timestamps(self) -> pa.Array:
        """When each record was made; null where it does not say."""
        milliseconds = self.fields.timestamps
        microseconds = pa.array(np.minimum(milliseconds, _MS_MAX) * 1000, mask=milliseconds < 0)
        return microseconds.cast(_TIMESTAMP)

    def keys(self) -> pa.Array:
        """The key of each record."""
        return self._binary(self.fields.keys)

    def values(self) -> pa.Array:
        """The value of each record."""
        return self._binary(self.fields.values)

    def headers(self) -> pa.Array:
        """Lists of pairs in their order; a record without headers has an empty list. Raises BatchError."""
        decoded = self.fields.decode_all_headers()
        keys = [key for _, headers in decoded for key, _ in headers]
        values = [value for _, headers in decoded for _, value in headers]
        borders = np.zeros(len(self.fields.offsets) + 1, np.int32)
        for row, headers in decoded:
            borders[row + 1] = len(headers)
        columns = [pa.array(keys, pa.string()), pa.array(values, pa.binary())]
        pairs = pa.StructArray.from_arrays(columns, fields=list(_PAIR))
        return pa.ListArray.from_arrays(np.cumsum(borders, dtype=np.int32), pairs, type=_HEADERS)

    def lanes(self) -> pa.Array:
        """The lane of each record's batch."""
        lanes = [(header.attributes & LANE_MASK) >> LANE_SHIFT for header in self.fields.headers]
        return pa.array(self._repeated(lanes).astype(np.int32))

    def producer_ids(self) -> pa.Array:
        """Who wrote each record's batch; null where that was no idempotent producer."""
        producers = self._repeated([header.producer_id for header in self.fields.headers])
        return pa.array(producers, mask=producers == NO_PRODUCER)

    def leader_epochs(self) -> pa.Array:
        """The leader epoch in which each record's batch was appended."""
        return pa.array(self._repeated([header.leader_epoch for header in self.fields.headers]).astype(np.int32))

    def _repeated(self, of_batches: list[int]) -> Integers:
        return np.repeat(np.array(of_batches, np.int64), self.fields.counts)

    def _binary(self, span: Span) -> pa.Array:
        count = len(span.sizes)
        assert count, "a run without records has no columns"
        borders = np.empty(2 * count, np.int32)
        borders[0::2] = span.begins
        borders[1::2] = span.begins + np.maximum(span.sizes, 0)
        buffers = [None, pa.py_buffer(borders), pa.py_buffer(self.fields.buffer)]
        pieces = pa.BinaryArray.from_buffers(pa.binary(), 2 * count - 1, buffers)
        nulls = span.sizes < 0
        return pieces.take(pa.array(np.arange(0, 2 * count, 2), mask=nulls if nulls.any() else None))


@define
class Column:
    """One column: its type in Spark's words and in Arrow's, how it is made, and whether a row may have none."""

    ddl: str
    type: pa.DataType
    build: Callable[[Rows], pa.Array]
    optional: bool = False


COLUMNS = {
    "topic": Column("string", pa.string(), Rows.topics),
    "partition": Column("int", pa.int32(), Rows.partitions),
    "offset": Column("bigint", pa.int64(), Rows.offsets),
    "timestamp": Column("timestamp", _TIMESTAMP, Rows.timestamps, optional=True),
    "key": Column("binary", pa.binary(), Rows.keys, optional=True),
    "value": Column("binary", pa.binary(), Rows.values, optional=True),
    "headers": Column("array<struct<key: string, value: binary>>", _HEADERS, Rows.headers),
    "lane": Column("int", pa.int32(), Rows.lanes),
    "producer_id": Column("bigint", pa.int64(), Rows.producer_ids, optional=True),
    "leader_epoch": Column("int", pa.int32(), Rows.leader_epochs),
}

SCHEMA_DDL = ", ".join(f"{name} {column.ddl}" for name, column in COLUMNS.items())
ARROW_SCHEMA = pa.schema([(name, column.type) for name, column in COLUMNS.items()])
