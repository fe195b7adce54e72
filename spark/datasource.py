"""The data source `goqueue` for Spark: the topics of a data folder as a DataFrame, one row a record.

    spark.dataSource.register(GoQueueSource)
    spark.read.format("goqueue").option("topic", "orders").load("/var/lib/goqueue")

What Spark runs where: `GoQueueSource` and `SegmentReader.partitions` in a Python process beside the driver,
`SegmentReader.read` in those of the executors, which must see the folder at the same path. The reader travels between
them as a pickle, so it holds nothing but plain values. One segment file is one partition of Spark's.

`pushFilters` is left alone: a source that has it is refused unless a setting of the session switches it on.
"""

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
from attrs import define
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from goqueue.spark.records.columns import COLUMNS, SCHEMA_DDL
from goqueue.spark.records.planning import SegmentPlan, UnreadableError, plan
from goqueue.spark.records.rows import read_rows

_OPTIONS = ("path", "topic", "control", "damaged")


@define
class Choices:
    """The options of a read, understood."""

    folder: str
    topic: str | None
    control: bool
    skip_damaged: bool


def choices_of(options: Mapping[str, str]) -> Choices:
    """Options as Spark hands them over: strings, under names whose case does not matter. Raises UnreadableError."""
    given = {name.lower(): value for name, value in options.items()}
    unknown = sorted(set(given) - set(_OPTIONS))
    if unknown:
        raise UnreadableError(f"there is no option {unknown[0]!r}; the options are {', '.join(_OPTIONS)}")
    folder = given.get("path", "")
    if not folder:
        raise UnreadableError("which data folder? Say load(folder), or option('path', folder)")
    control = _one_of("control", given.get("control", "false").lower(), ("true", "false"))
    damaged = _one_of("damaged", given.get("damaged", "fail").lower(), ("fail", "skip"))
    return Choices(folder, given.get("topic"), control == "true", damaged == "skip")


def _one_of(name: str, value: str, allowed: Sequence[str]) -> str:
    if value not in allowed:
        raise UnreadableError(f"the option {name!r} is {value!r}; it may be {' or '.join(allowed)}")
    return value


class GoQueueSource(DataSource):
    """The data source, known to Spark as `goqueue`."""

    @classmethod
    def name(cls) -> str:
        """What `spark.read.format` calls it."""
        return "goqueue"

    def schema(self) -> str:
        """All columns, for reads that do not name any."""
        return SCHEMA_DDL

    def reader(self, schema: StructType) -> "SegmentReader":
        """A reader of the columns that Spark wants. Raises UnreadableError."""
        return SegmentReader(choices_of(self.options), _arrow_schema(schema))


class SegmentPartition(InputPartition):
    """One segment file, as Spark hands it to a task."""

    def __init__(self, value: SegmentPlan) -> None:
        super().__init__(value)
        self.plan = value


class SegmentReader(DataSourceReader):
    """Reads segments as Arrow record batches of the given schema."""

    def __init__(self, choices: Choices, schema: pa.Schema) -> None:
        self._choices = choices
        self._schema = schema

    def partitions(self) -> Sequence[InputPartition]:
        """A partition for each segment. Raises FormatError, UnreadableError, DamageError, OSError."""
        return [SegmentPartition(planned) for planned in plan(self._choices.folder, self._choices.topic)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one segment. Raises DamageError, OSError."""
        if not isinstance(partition, SegmentPartition):
            # What Spark makes up when there is nothing to read.
            return iter(())
        choices = self._choices
        return read_rows(partition.plan, self._schema, control=choices.control, skip_damaged=choices.skip_damaged)


def _arrow_schema(schema: StructType) -> pa.Schema:
    """The schema in Arrow's words, made as Spark makes the one that it compares with. Raises UnreadableError."""
    names = schema.fieldNames()
    for field in schema.fields:
        column = COLUMNS.get(field.name)
        if column is None:
            raise UnreadableError(f"there is no column {field.name!r}; the columns are {', '.join(COLUMNS)}")
        if names.count(field.name) > 1:
            raise UnreadableError(f"the column {field.name!r} is asked for twice")
        if column.optional and not field.nullable:
            raise UnreadableError(f"the column {field.name!r} may be null, so it cannot be NOT NULL")
    wanted = to_arrow_schema(schema, timezone="UTC")
    for field in wanted:
        if field.type != COLUMNS[field.name].type:
            raise UnreadableError(f"the column {field.name!r} is of type {COLUMNS[field.name].ddl}")
    return wanted
