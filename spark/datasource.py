"""The data source `goqueue` for Spark: topics as DataFrames, one row a record, and captures as facts.

    register(spark)
    spark.read.format("goqueue").option("topic", "orders").load("/var/lib/goqueue")
    spark.readStream.format("goqueue").option("bootstrap", "localhost:8080").option("topic", "orders").load()

Spark runs this class in a process beside the driver; the readers that it makes go on to the executors (`readers.py`).
Each of these processes imports what it needs and no more, since a query waits for that.
What there is to choose is in `choices.py`, what a row is in `records/columns.py` and `facts/schema.py`.

Filters of a query reach the source only where that is asked for (`goqueue.spark.pushing` says why).
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pyarrow as pa
from attrs import define
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from goqueue.spark.choices import FACTS, choices_of, kind_of
from goqueue.spark.facts import schema as facts
from goqueue.spark.readers import FactsReader, PushingReader, RecordsReader
from goqueue.spark.records import columns as records
from goqueue.spark.records.edges import UnreadableError

if TYPE_CHECKING:
    from goqueue.spark.live.stream import TopicStreamReader
    from goqueue.spark.sinking.writing import TopicStreamWriter, TopicWriter


@define
class _Kind:
    """What a column may be asked for as: its type in Spark's words and in Arrow's, and whether it may be null."""

    ddl: str
    type: pa.DataType
    optional: bool


_RECORDS = {name: _Kind(column.ddl, column.type, column.optional) for name, column in records.COLUMNS.items()}
_FACTS = {name: _Kind(ddl, kind, optional=True) for name, (kind, ddl) in facts.COLUMNS.items()}


def register(session: SparkSession) -> None:
    """Make `goqueue` known to a session."""
    session.dataSource.register(GoQueueSource)


class GoQueueSource(DataSource):
    """The data source, known to Spark as `goqueue`."""

    @classmethod
    def name(cls) -> str:
        """What `spark.read.format` calls it."""
        return "goqueue"

    def schema(self) -> str:
        """All columns, for reads that do not name any. Raises UnreadableError."""
        return facts.SCHEMA_DDL if kind_of(self.options) == FACTS else records.SCHEMA_DDL

    def reader(self, schema: StructType) -> DataSourceReader:
        """A reader of the columns that Spark wants. Raises UnreadableError."""
        choices = choices_of(self.options)
        if choices.read == FACTS:
            return FactsReader(choices, _arrow_schema(schema, _FACTS))
        reader = PushingReader if choices.pushes_filters else RecordsReader
        return reader(choices, _arrow_schema(schema, _RECORDS))

    def streamReader(self, schema: StructType) -> "TopicStreamReader":  # noqa: N802 - Spark's
        """A reader of a stream with the columns that Spark wants. Raises UnreadableError."""
        from goqueue.spark.live.stream import TopicStreamReader

        return TopicStreamReader(choices_of(self.options, is_stream=True), _arrow_schema(schema, _RECORDS))

    def writer(self, schema: StructType, overwrite: bool) -> "TopicWriter":
        """What writes a frame. Raises UnwritableError, ClientError."""
        from goqueue.spark.sinking.writing import writer_of

        return writer_of(self.options, schema, overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> "TopicStreamWriter":  # noqa: N802 - Spark's
        """What writes a stream. Raises UnwritableError."""
        from goqueue.spark.sinking.writing import stream_writer_of

        return stream_writer_of(self.options, schema, overwrite)


def _arrow_schema(schema: StructType, columns: Mapping[str, _Kind]) -> pa.Schema:
    """The schema in Arrow's words, made as Spark makes the one that it compares with. Raises UnreadableError."""
    names = schema.fieldNames()
    for field in schema.fields:
        column = columns.get(field.name)
        if column is None:
            raise UnreadableError(f"there is no column {field.name!r}; the columns are {', '.join(columns)}")
        if names.count(field.name) > 1:
            raise UnreadableError(f"the column {field.name!r} is asked for twice")
        if column.optional and not field.nullable:
            raise UnreadableError(f"the column {field.name!r} may be null, so it cannot be NOT NULL")
    wanted = to_arrow_schema(schema, timezone="UTC")
    for field in wanted:
        if field.type != columns[field.name].type:
            raise UnreadableError(f"the column {field.name!r} is of type {columns[field.name].ddl}")
    return wanted
