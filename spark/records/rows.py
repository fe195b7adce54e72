"""From a planned segment to Arrow record batches: reading, parsing and columns put together.

A run in which some record is malformed although the CRC is right (a producer's mistake inside compressed records, which
no broker opens) is taken apart batch by batch, so that what is reported, or stepped over, is the one batch.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from goqueue.core.errors import BatchError
from goqueue.core.records.batch import Header
from goqueue.core.records.record import iterate
from goqueue.spark.records.columns import Rows
from goqueue.spark.records.fields import parse
from goqueue.spark.records.planning import SegmentPlan
from goqueue.spark.records.segments import (
    RUN_BYTES,
    OnDamage,
    Run,
    Section,
    damaged,
    note_left_out,
    read_segment,
    salvage_segment,
    unpacked,
)


def read_rows(
    plan: SegmentPlan,
    schema: pa.Schema,
    *,
    control: bool = False,
    skip_damaged: bool = False,
    run_bytes: int = RUN_BYTES,
) -> Iterator[pa.RecordBatch]:
    """The records of a segment in the order of their offsets, without empty batches. Raises DamageError, OSError."""
    read = salvage_segment if skip_damaged else read_segment

    def on_damage(position: int, why: str) -> None:
        if not skip_damaged:
            raise damaged(plan, position, why)
        note_left_out(plan, position, why)

    for stored in read(plan, run_bytes):
        stored.sections = [one for one in stored.sections if _is_wanted(one.header, plan.first_offset, control)]
        if not stored.sections:
            continue
        for run in unpacked(stored, on_damage, run_bytes):
            for rows in _tabulate(plan, run, schema, on_damage):
                if rows.num_rows:
                    yield rows


def _is_wanted(header: Header, first_offset: int, control: bool) -> bool:
    return header.record_count > 0 and header.next_offset > first_offset and (control or not header.is_control)


def _tabulate(plan: SegmentPlan, run: Run, schema: pa.Schema, on_damage: OnDamage) -> Iterator[pa.RecordBatch]:
    try:
        fields = parse(run)
        rows = Rows(plan.topic, plan.partition, fields).batch(schema)
    except BatchError:
        if len(run.sections) == 1:
            on_damage(run.sections[0].position, _reason(run.sections[0]))
            return
        for section in run.sections:
            yield from _tabulate(plan, Run(run.buffer, [section]), schema, on_damage)
    else:
        yield rows.slice(np.searchsorted(fields.offsets, plan.first_offset))


def _reason(section: Section) -> str:
    """What the reader that looks at one record after another says of a malformed batch; it knows which one it was."""
    try:
        for _ in iterate(section.batch):
            pass
    except BatchError as error:
        return str(error)
    raise AssertionError(f"two readers disagree on the records of the batch at byte {section.position}")
