"""Edges in the files of a data folder: which offsets they come to, and the plan of what lies between them.

A moment is looked for by reading: from where the time index leads to, on to the first record that is late enough.
"""

from collections.abc import Sequence

import pyarrow as pa

from goqueue.spark.records.bounds import end_of, noted
from goqueue.spark.records.columns import ARROW_SCHEMA
from goqueue.spark.records.edges import (
    EARLIEST,
    LATEST,
    Edge,
    Edges,
    Moment,
    UnreadableError,
    check_named,
    check_start,
    note_missing,
)
from goqueue.spark.records.identity import identity_of
from goqueue.spark.records.planning import EVERYTHING, SegmentPlan, partitions_of, plan_partition
from goqueue.spark.records.rows import read_rows
from goqueue.spark.records.wanted import ENDLESS, Wanted

_OFFSET = pa.schema([ARROW_SCHEMA.field("offset")])
FROM_EARLIEST = Edges(EARLIEST)
TO_LATEST = Edges(LATEST)


def plan_between(
    folder: str,
    topics: Sequence[str] = (),
    wanted: Wanted = EVERYTHING,
    starting: Edges = FROM_EARLIEST,
    ending: Edges = TO_LATEST,
    *,
    whole: bool = False,
    skip_missing: bool = False,
) -> list[SegmentPlan]:
    """What to read of the partitions between their edges.

    Raises as `plan` does, and UnreadableError where reading was to begin at what is gone or not there yet.
    """
    planned: list[SegmentPlan] = []
    for topic, partition in partitions_of(folder, topics, wanted):
        edge = starting.of(topic, partition)
        if isinstance(edge, int):
            _check_offset(folder, topic, partition, edge, starting, skip_missing=skip_missing)
        first = _offset(folder, topic, partition, edge, whole)
        end = _offset(folder, topic, partition, ending.of(topic, partition), whole)
        between = wanted & Wanted(first_offset=first, end_offset=end)
        planned += plan_partition(folder, topic, partition, between, whole=whole)
    return planned


def edges_met(folder: str, starting: Edges, ending: Edges, *, restart: bool = False) -> tuple[Edges, Edges]:
    """Edges where they are of the topics in a folder; with `restart` those of others begin at the beginning.

    Raises UnreadableError where the folder does not say which topics it holds, TopicReplacedError, DamageError.
    """
    ids = {topic: _identity(folder, topic) for topic in (*starting.ids, *ending.ids)}
    return starting.met_by(ids, restart=restart), ending.met_by(ids, restart=False)


def _identity(folder: str, topic: str) -> str:
    found = identity_of(folder, topic)
    if not found:
        raise UnreadableError(
            f"{folder} does not say which topic {topic} it holds, since it has no metadata: whether it is the one whose"
            " id was given cannot be known"
        )
    return found


def check_partitions(folder: str, topics: Sequence[str], partitions: Sequence[int], *edges: Edges) -> None:
    """Raise UnreadableError where a partition is named that one of these topics does not have."""
    found = partitions_of(folder, topics)
    for topic in topics:
        check_named(topic, [number for name, number in found if name == topic], partitions, *edges)


def _check_offset(folder: str, topic: str, partition: int, edge: int, starting: Edges, *, skip_missing: bool) -> None:
    first, end = noted(folder, topic, partition)
    if edge < first:
        note_missing(topic, partition, edge, first, skip=skip_missing)
    if edge > end:
        end = end_of(folder, topic, partition, end)
        check_start(topic, partition, edge, end, is_named=(topic, partition) in starting.named)


def _offset(folder: str, topic: str, partition: int, edge: Edge, skip_damaged: bool) -> int:
    if isinstance(edge, int):
        return edge
    if isinstance(edge, Moment):
        return _first_at(folder, topic, partition, edge.ms, skip_damaged)
    return 0 if edge == EARLIEST else ENDLESS


def _first_at(folder: str, topic: str, partition: int, moment_ms: int, skip_damaged: bool) -> int:
    """The offset of the first record at or after a moment; ENDLESS if there is none."""
    late = Wanted(since_ms=moment_ms)
    for planned in plan_partition(folder, topic, partition, late, whole=skip_damaged):
        for rows in read_rows(planned, _OFFSET, skip_damaged=skip_damaged):
            return int(rows.column(0)[0].as_py())
    return ENDLESS
