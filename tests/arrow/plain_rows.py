"""What the tests of rows share: records and Arrow batches as plain tuples, in the order of the columns."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeAlias, TypedDict, Unpack

import pyarrow as pa

from goqueue.core.records.batch import read_header
from goqueue.core.records.record import Record, iterate
from goqueue.core.records.varint import INT64_MAX
from goqueue.spark.records.columns import ARROW_SCHEMA
from goqueue.spark.records.planning import SegmentPlan, plan
from goqueue.spark.records.rows import read_rows

Row: TypeAlias = tuple[Any, ...]


class Options(TypedDict, total=False):
    """What `read_rows` may be told."""

    control: bool
    skip_damaged: bool
    run_bytes: int


def rows_of(folder: Path, **options: Unpack[Options]) -> list[Row]:
    """All rows of a data folder; timestamps in microseconds since 1970."""
    return [row for planned in plan(str(folder)) for row in segment_rows(planned, **options)]


def segment_rows(planned: SegmentPlan, **options: Unpack[Options]) -> list[Row]:
    """All rows of a segment."""
    return [row for batch in read_rows(planned, ARROW_SCHEMA, **options) for row in plain(batch)]


def plain(batch: pa.RecordBatch) -> list[Row]:
    """The rows of an Arrow batch, which must be sound and of all columns."""
    assert batch.schema == ARROW_SCHEMA
    assert batch.num_rows
    batch.validate(full=True)
    columns = [column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column for column in batch.columns]
    return list(zip(*(column.to_pylist() for column in columns), strict=True))


def rows_from(batches: Iterable[bytes], topic: str = "orders", partition: int = 0) -> list[Row]:
    """The rows that some batches should become, by the reader that takes one record after another."""
    return [_row(batch, record, topic, partition) for batch in batches for record in iterate(batch)]


def _row(batch: bytes, record: Record, topic: str, partition: int) -> Row:
    header = read_header(batch)
    return (
        topic,
        partition,
        record.offset,
        None if record.timestamp < 0 else min(record.timestamp, INT64_MAX // 1000) * 1000,
        None if record.key is None else bytes(record.key),
        None if record.value is None else bytes(record.value),
        [{"key": key, "value": value} for key, value in record.headers],
        int(header.lane),
        header.producer_id if header.has_producer else None,
        header.leader_epoch,
    )
