"""What Spark asks a source of this house for: partitions, and the rows of one, as Arrow batches of a given schema.

A reader travels from a process beside the driver to those of the executors as a pickle, and so does each partition;
they hold plain values. Connections are made where they are used.

`PushingReader` takes over filters. Spark refuses a reader that can do so in a session which has that switched off, so
there are two.

Every query starts Python processes that import this anew, so what only some reads need is imported by these.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition

from goqueue.spark.choices import Choices
from goqueue.spark.pushing import narrow
from goqueue.spark.records.planning import SegmentPlan
from goqueue.spark.records.ranges import check_partitions, edges_met, plan_between
from goqueue.spark.records.rows import read_rows
from goqueue.spark.records.wanted import Wanted

if TYPE_CHECKING:
    from goqueue.spark.live.stretches import Stretch


class SegmentPartition(InputPartition):
    """One segment file, or a piece of one, as Spark hands it to a task."""

    def __init__(self, value: SegmentPlan) -> None:
        super().__init__(value)
        self.plan = value


class StretchPartition(InputPartition):
    """Some offsets of a topic's partition in a running cluster, and which of their records are wanted."""

    def __init__(self, value: "Stretch", wanted: Wanted) -> None:
        super().__init__(value)
        self.stretch = value
        self.wanted = wanted


class CapturePartition(InputPartition):
    """One capture file."""

    def __init__(self, value: str) -> None:
        super().__init__(value)
        self.path = value


class RecordsReader(DataSourceReader):
    """Reads records, from the files of a data folder or from a running cluster."""

    def __init__(self, choices: Choices, schema: pa.Schema) -> None:
        self._choices = choices
        self._schema = schema
        self._wanted = choices.wanted

    def partitions(self) -> Sequence[InputPartition]:
        """What there is to read now. Raises GoQueueError, OSError."""
        choices, wanted, lenient = self._choices, self._wanted, self._choices.lenient
        edges, named = (choices.starting, choices.ending), choices.wanted.partitions or ()
        if choices.bootstrap is None:
            edges = edges_met(choices.folder, *edges, restart=lenient.restart_replaced)
            check_partitions(choices.folder, choices.topics, named, *edges)
            planned = plan_between(
                choices.folder,
                choices.topics,
                wanted,
                *edges,
                whole=lenient.skip_damaged,
                skip_missing=lenient.skip_missing,
            )
            return [SegmentPartition(each) for each in planned]
        from goqueue.spark.live.stretches import stretches

        found = stretches(
            choices.bootstrap,
            choices.topics,
            wanted,
            *edges,
            partitions=named,
            skip_missing=lenient.skip_missing,
            restart=lenient.restart_replaced,
        )
        return [StretchPartition(each, wanted) for each in found]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one partition. Raises GoQueueError, OSError."""
        return read_partition(partition, self._choices, self._schema)


class PushingReader(RecordsReader):
    """The same, and leaves out what filters ask to be left out."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802 - Spark's
        """Take over the filters that it can; the answer is the others."""
        self._wanted, rest = narrow(self._wanted, filters)
        return rest


class FactsReader(DataSourceReader):
    """Reads facts from captures, one file a task."""

    def __init__(self, choices: Choices, schema: pa.Schema) -> None:
        self._choices = choices
        self._schema = schema

    def partitions(self) -> Sequence[InputPartition]:
        """Each capture, the largest first. Raises CaptureError, UnknownCode."""
        from goqueue.spark.captures.code import check_code
        from goqueue.spark.captures.files import find_captures

        check_code(self._choices.code)
        files = sorted(find_captures([self._choices.folder]), key=lambda file: -file.size_bytes)
        return [CapturePartition(file.path) for file in files]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The facts of one capture. Raises UnknownCode, PlaceError."""
        from goqueue.spark.facts.extract import facts_of

        if isinstance(partition, CapturePartition):
            for facts in facts_of(partition.path, self._choices.code):
                yield facts.select(self._schema.names)


def read_partition(partition: InputPartition, choices: Choices, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows of a partition of records. Raises GoQueueError, OSError."""
    lenient, control = choices.lenient, choices.control
    if isinstance(partition, SegmentPartition):
        return read_rows(partition.plan, schema, control=control, skip_damaged=lenient.skip_damaged)
    if isinstance(partition, StretchPartition):
        from goqueue.spark.live.reading import read_stretch

        return read_stretch(partition.stretch, schema, partition.wanted, control=control, lenient=lenient)
    # What Spark makes up when there is nothing to read.
    return iter(())
