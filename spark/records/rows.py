"""From batches to Arrow record batches: reading, parsing, leaving out what is not wanted, and columns put together.

What comes out of a segment file (`read_rows`) and what came from a broker (`rows_of`) go the same way.

A run in which some record is malformed although the CRC is right (a producer's mistake inside compressed records, which
no broker opens) is taken apart batch by batch, so that what is reported, or stepped over, is the one batch.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from attrs import define

from goqueue.core.errors import BatchError
from goqueue.core.log.segment import NO_TIMESTAMP
from goqueue.core.records.record import iterate
from goqueue.core.records.varint import INT64_MAX
from goqueue.spark.records.columns import Rows
from goqueue.spark.records.fields import Fields, parse
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
from goqueue.spark.records.wanted import Wanted


@define
class Origin:
    """Where batches come from, which columns and records of them are wanted, and who is told of damage."""

    topic: str
    partition: int
    schema: pa.Schema
    wanted: Wanted
    control: bool
    on_damage: OnDamage


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

    origin = Origin(plan.topic, plan.partition, schema, plan.wanted, control, on_damage)
    for stored in read(plan, run_bytes):
        yield from rows_of(origin, stored, run_bytes)


def rows_of(origin: Origin, stored: Run, run_bytes: int = RUN_BYTES) -> Iterator[pa.RecordBatch]:
    """The rows of batches as they are stored, without empty Arrow batches."""
    wanted, control = origin.wanted, origin.control
    sections = [one for one in stored.sections if wanted.takes(one.header, control=control)]
    if not sections:
        return
    for run in unpacked(Run(stored.buffer, sections), origin.on_damage, run_bytes):
        for rows in _tabulate(origin, run):
            if rows.num_rows:
                yield rows


def _tabulate(origin: Origin, run: Run) -> Iterator[pa.RecordBatch]:
    try:
        fields = _wanted(parse(run), origin.wanted)
        rows = Rows(origin.topic, origin.partition, fields).batch(origin.schema) if len(fields.offsets) else None
    except BatchError:
        if len(run.sections) == 1:
            origin.on_damage(run.sections[0].position, _reason(run.sections[0]))
            return
        for section in run.sections:
            yield from _tabulate(origin, Run(run.buffer, [section]))
    else:
        if rows is not None:
            yield rows


def _wanted(fields: Fields, wanted: Wanted) -> Fields:
    if all(map(wanted.takes_all, fields.headers)):
        return fields
    passing = fields.offsets >= wanted.first_offset
    if wanted.end_offset <= INT64_MAX:
        passing &= fields.offsets < wanted.end_offset
    if wanted.since_ms > NO_TIMESTAMP:
        passing &= fields.timestamps >= wanted.since_ms
    if wanted.until_ms <= INT64_MAX:
        passing &= fields.timestamps < wanted.until_ms
    return fields if passing.all() else fields.at(np.flatnonzero(passing))


def _reason(section: Section) -> str:
    """What the reader that looks at one record after another says of a malformed batch; it knows which one it was."""
    try:
        for _ in iterate(section.batch):
            pass
    except BatchError as error:
        return str(error)
    raise AssertionError(f"two readers disagree on the records of the batch at byte {section.position}")
