"""The rows of a stretch: batches fetched one after another from the leader, and records outside of it left out.

A fetch answers with whole batches, of which the first may begin before what was asked for, and the last end after. So a
record is a row where its own offset says so, and stretches that meet within a batch share no row and miss none.

What was deleted between planning and reading is not there to be read: that is an error with the offsets that are
missing, or a line in the log and the rest, as is chosen.
"""

import logging
from collections.abc import Iterator

import pyarrow as pa

from goqueue.core.errors import BatchError
from goqueue.core.records.batch import HEADER_BYTES, read_header, validate
from goqueue.spark.live.cluster import Cluster
from goqueue.spark.live.stretches import Stretch
from goqueue.spark.records.edges import TopicReplacedError, UnreadableError, note_missing
from goqueue.spark.records.leniency import Leniency
from goqueue.spark.records.rows import Origin, rows_of
from goqueue.spark.records.segments import OnDamage, Run, Section
from goqueue.spark.records.wanted import Wanted
from goqueue.transports.client.errors import OffsetOutOfRange, TopicReplaced

# Where nothing is there yet although it was when this was planned, as between leaders.
_WAIT_MS = 1000
_ADVICE = "Read it again from its beginning, a stream with a new checkpoint"

_logger = logging.getLogger("goqueue.spark")


_STRICT = Leniency()


def read_stretch(
    stretch: Stretch, schema: pa.Schema, wanted: Wanted, *, control: bool = False, lenient: Leniency = _STRICT
) -> Iterator[pa.RecordBatch]:
    """The wanted records of a stretch, in the order of their offsets. Raises ClientError, UnreadableError."""

    def on_damage(position: int, why: str) -> None:
        said = f"{stretch.topic}/{stretch.partition}: damaged at byte {position} of what came for offset {at}: {why}"
        if not lenient.skip_damaged:
            raise UnreadableError(f"{said}; the option damaged=skip reads on with every batch that is sound")
        _logger.warning("%s; left out", said)

    own = wanted & Wanted(first_offset=stretch.first, end_offset=stretch.end)
    origin = Origin(stretch.topic, stretch.partition, schema, own, control, on_damage)
    at = stretch.first
    with Cluster(stretch.bootstrap) as cluster:
        patience = stretch.bootstrap.timeout_ns // (_WAIT_MS * 1_000_000) + 1
        while at < stretch.end:
            try:
                reply = cluster.fetch(stretch.topic, stretch.partition, at, _WAIT_MS, stretch.topic_id)
            except OffsetOutOfRange as error:
                at = _after_gap(cluster, stretch, at, error, lenient)
                continue
            except TopicReplaced as error:
                there = cluster.identity(stretch.topic)
                raise TopicReplacedError(stretch.topic, stretch.topic_id, there, _ADVICE) from error
            if reply.next_offset > at:
                yield from rows_of(origin, _run(reply.batches, on_damage))
                at = reply.next_offset
                continue
            patience -= 1
            if patience <= 0:
                raise UnreadableError(
                    f"{stretch.topic}/{stretch.partition}: nothing came from offset {at} on for"
                    f" {stretch.bootstrap.timeout_ns / 1e9:.0f} s, although the partition had reached {stretch.end}"
                )


def _after_gap(cluster: Cluster, stretch: Stretch, at: int, error: OffsetOutOfRange, lenient: Leniency) -> int:
    """Where what is left of a partition begins, if that may be, behind what retention has taken."""
    first = next((one.first for one in cluster.reaches(stretch.topic) if one.partition == stretch.partition), 0)
    if first <= at:
        raise error
    note_missing(stretch.topic, stretch.partition, at, min(first, stretch.end), skip=lenient.skip_missing)
    return first


def _run(batches: bytes, on_damage: OnDamage) -> Run:
    """Batches as they came, each looked at: they crossed a network, and a broker that serves them does not sum them.

    A damaged one is stepped over if that is allowed, and if it is not even known where it ends, all behind it.
    """
    sections: list[Section] = []
    view, at = memoryview(batches), 0
    while at < len(batches):
        try:
            header = validate(batches, at, compacted=True)
        except BatchError as error:
            on_damage(at, str(error))
            if error.reason != "crc":
                break
            at += read_header(view[at:]).size
            continue
        end = at + header.size
        sections.append(Section(header, at, view[at:end], at + HEADER_BYTES, end))
        at = end
    return Run(batches, sections)
