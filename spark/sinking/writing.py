"""The sink `goqueue` as Spark drives it: writers for batches and for streams, made on the driver, run in tasks.

A writer travels to the tasks as a pickle and holds plain values. The name of the work is settled on the driver, once
for all attempts: what the option `job` says, else one that is drawn for this write; a stream's is the id of its query,
which its checkpoint keeps. So is the layout of a topic that an option names, in order that every attempt at a row comes
to the same partition.

Nothing is left to do when a write is committed, and nothing can be undone when it is aborted: a row can be read as soon
as it is acknowledged.
"""

import uuid
from collections.abc import Iterator, Mapping

import pyarrow as pa
from attrs import define
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from goqueue.core.client.routing import Layout
from goqueue.spark.sinking.errors import UnwritableError
from goqueue.spark.sinking.identity import Work
from goqueue.spark.sinking.options import WriteOptions, write_options
from goqueue.spark.sinking.outlet import Outlet, Tally
from goqueue.spark.sinking.shape import check_shape
from goqueue.spark.sinking.task import Task

_QUERY = "sql.streaming.queryId"
_BATCH = "streaming.sql.batchId"


@define
class Written(WriterCommitMessage):
    """What a task tells the driver."""

    tally: Tally


class TopicWriter(DataSourceArrowWriter):
    """Writes a frame."""

    def __init__(self, options: WriteOptions, work: Work, layouts: dict[str, Layout]) -> None:
        self.options = options
        self.work = work
        self.layouts = layouts

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Publish the rows of one task."""
        task = Task(self.options, self.work, _context().partitionId(), self.layouts)
        return Written(task.write(iterator))


class TopicStreamWriter(DataSourceStreamArrowWriter):
    """Writes the batches of a query."""

    def __init__(self, options: WriteOptions) -> None:
        self.options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Publish the rows of one task of one batch."""
        context = _context()
        query, batch = context.getLocalProperty(_QUERY), context.getLocalProperty(_BATCH)
        if not query or not batch:
            raise UnwritableError("Spark does not say which query and which batch of it this is")
        work = Work(self.options.job or query, int(batch))
        return Written(Task(self.options, work, context.partitionId()).write(iterator))

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        """The rows are there already."""

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        """The rows stay; another attempt at the batch finds them."""


def writer_of(options: Mapping[str, str], schema: StructType, overwrite: bool) -> TopicWriter:
    """What `GoQueueSource.writer` gives. Raises UnwritableError, ClientError."""
    found = _checked(options, schema, overwrite=overwrite)
    name = found.job or f"write {uuid.uuid4()}"
    layouts: dict[str, Layout] = {}
    if found.topic:
        with Outlet(found) as outlet:
            layouts[found.topic] = outlet.target(found.topic).layout
    return TopicWriter(found, Work(name, found.batch or 0), layouts)


def stream_writer_of(options: Mapping[str, str], schema: StructType, overwrite: bool) -> TopicStreamWriter:
    """What `GoQueueSource.streamWriter` gives. Raises UnwritableError."""
    found = _checked(options, schema, overwrite=overwrite)
    if found.batch is not None:
        raise UnwritableError("a stream numbers its batches itself; the option 'batch' is for a write in foreachBatch")
    return TopicStreamWriter(found)


def _checked(options: Mapping[str, str], schema: StructType, *, overwrite: bool) -> WriteOptions:
    if overwrite:
        raise UnwritableError("a topic is appended to and never overwritten; say mode('append')")
    found = write_options(options)
    check_shape(to_arrow_schema(schema, timezone="UTC"), found)
    return found


def _context() -> TaskContext:
    context = TaskContext.get()
    assert context is not None, "a writer writes in a task"
    return context
