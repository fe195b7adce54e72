"""The columns of a piece of a frame as a batch wants them: bytes, milliseconds, lanes, headers.

What may be in them is checked by `shape`; here a row that cannot become a message is named by its number in the task.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import define, evolve
from pyarrow import types

from goqueue.core.records.batch import Lane
from goqueue.core.records.build import Entry
from goqueue.spark.sinking.errors import UnwritableError
from goqueue.spark.sinking.partitions import Integers

Headers = tuple[tuple[str, bytes | None], ...]

_LANES = {lane.name.lower(): int(lane) for lane in Lane}


@define(eq=False)
class Columns:
    """Some rows of a task; `rows` are their numbers in it, `lengths` the bytes of key, value and headers together."""

    rows: Integers
    values: pa.Array
    keys: pa.Array | None
    headers: list[Headers] | None
    header_counts: Integers
    lengths: Integers
    timestamps: Integers
    lanes: Integers
    partitions: pa.Array | None
    topics: pa.Array | None
    # Whether each row bears the time that it bears in any other attempt.
    has_times: bool

    def take(self, among: Integers) -> "Columns":
        """Those at some places."""
        places = pa.array(among)
        return evolve(
            self,
            rows=self.rows[among],
            values=self.values.take(places),
            keys=None if self.keys is None else self.keys.take(places),
            headers=None if self.headers is None else [self.headers[at] for at in among.tolist()],
            header_counts=self.header_counts[among],
            lengths=self.lengths[among],
            timestamps=self.timestamps[among],
            lanes=self.lanes[among],
            partitions=None if self.partitions is None else self.partitions.take(places),
            topics=None,
        )

    def by_topic(self, otherwise: str) -> Iterator[tuple[str, Integers]]:
        """The places of the rows of each topic, which is `otherwise` where a row names none. Raises UnwritableError."""
        assert self.topics is not None
        coded = self.topics.fill_null(otherwise).dictionary_encode()
        numbers = np.asarray(coded.indices)
        for number, topic in enumerate(coded.dictionary.to_pylist()):
            among = np.flatnonzero(numbers == number).astype(np.int64)
            if not topic:
                raise UnwritableError(f"row {int(self.rows[among[0]])} of the task names no topic")
            yield topic, among

    def entries(self, order: Integers) -> list[Entry]:
        """All rows in an order, as a batch takes them."""
        places = pa.array(order)
        values = self.values.take(places).to_pylist()
        times = self.timestamps[order].tolist()
        keys: list[bytes | None] = [None] * len(values) if self.keys is None else self.keys.take(places).to_pylist()
        headers: list[Headers] = [()] * len(values)
        if self.headers is not None:
            headers = [self.headers[at] for at in order.tolist()]
        return list(zip(times, keys, values, headers, strict=True))


def columns_of(rows: pa.RecordBatch, now_ms: int, first_row: int) -> Columns:
    """The rows of a piece; `first_row` is the number of its first one in the task. Raises UnwritableError."""
    names = rows.schema.names
    values = _octets(rows.column("value"))
    keys = _octets(rows.column("key")) if "key" in names else None
    lengths = _lengths(values)
    if keys is not None:
        lengths = lengths + _lengths(keys)
    headers, counts = None, np.zeros(rows.num_rows, np.int64)
    if "headers" in names:
        headers, counts, more = _headers(rows.column("headers"), first_row)
        lengths = lengths + more
    return Columns(
        np.arange(first_row, first_row + rows.num_rows, dtype=np.int64),
        values,
        keys,
        headers,
        counts,
        lengths,
        timestamps_of(rows, "timestamp", now_ms, first_row),
        _lanes(rows.column("lane"), first_row) if "lane" in names else np.zeros(rows.num_rows, np.int64),
        rows.column("partition") if "partition" in names else None,
        rows.column("topic") if "topic" in names else None,
        "timestamp" in names and not rows.column("timestamp").null_count,
    )


def timestamps_of(rows: pa.RecordBatch, name: str, otherwise_ms: int, first_row: int) -> Integers:
    """A column of moments in milliseconds since 1970, with another moment for rows that have none."""
    if name not in rows.schema.names:
        return np.full(rows.num_rows, otherwise_ms, np.int64)
    column = rows.column(name)
    moments = column.cast(pa.timestamp("us", tz=column.type.tz)).cast(pa.int64())
    microseconds = np.asarray(moments.fill_null(otherwise_ms * 1000)).astype(np.int64)
    before = np.flatnonzero(microseconds < 0)
    if len(before):
        raise UnwritableError(f"row {first_row + int(before[0])} of the task: a message is of 1970 or later")
    return microseconds // 1000


def _octets(column: pa.Array) -> pa.Array:
    if types.is_string(column.type):
        return column.cast(pa.binary())
    if types.is_large_string(column.type):
        return column.cast(pa.large_binary())
    return column


def _lengths(column: pa.Array) -> Integers:
    lengths: Integers = np.asarray(pc.binary_length(column).fill_null(0)).astype(np.int64)
    return lengths


def _lanes(column: pa.Array, first_row: int) -> Integers:
    if types.is_string(column.type):
        coded = column.fill_null("normal").dictionary_encode()
        known = [_LANES.get(name.lower(), -1) for name in coded.dictionary.to_pylist()]
        lanes: Integers = np.array(known, np.int64)[np.asarray(coded.indices)]
    else:
        lanes = np.asarray(column.fill_null(0)).astype(np.int64)
    wrong = np.flatnonzero((lanes < 0) | (lanes >= len(Lane)))
    if len(wrong):
        at = int(wrong[0])
        raise UnwritableError(
            f"row {first_row + at} of the task: the lane is {column[at].as_py()!r}; it may be 0 to {len(Lane) - 1}, or"
            f" {', '.join(_LANES)}"
        )
    return lanes


def _headers(column: pa.Array, first_row: int) -> tuple[list[Headers], Integers, Integers]:
    """The headers of each row, how many there are, and how many bytes."""
    if types.is_map(column.type):
        pairs = pa.StructArray.from_arrays([column.keys, column.items], ["key", "value"])
        # Copied, since a piece of offsets may not go with a mask.
        offsets = pa.array(np.array(column.offsets))
        column = pa.ListArray.from_arrays(offsets, pairs, mask=column.is_null())
    counts = np.asarray(pc.list_value_length(column).fill_null(0)).astype(np.int64)
    pairs = column.flatten()
    names = pairs.field(0).to_pylist()
    if None in names:
        at = int(np.searchsorted(np.cumsum(counts), names.index(None), side="right"))
        raise UnwritableError(f"row {first_row + at} of the task has a header without a name")
    contents = _octets(pairs.field(1)).to_pylist()
    ends = np.cumsum(counts)
    found: list[Headers] = []
    sizes = np.zeros(len(counts), np.int64)
    for at, (count, end) in enumerate(zip(counts.tolist(), ends.tolist(), strict=True)):
        if not count:
            found.append(())
            continue
        one = tuple(zip(names[end - count : end], contents[end - count : end], strict=True))
        sizes[at] = sum(4 * len(name) + len(content or b"") for name, content in one)
        found.append(one)
    return found, counts, sizes
