"""A stream of Spark's over a running cluster: micro-batches between positions, each read by tasks as a range.

Spark keeps one of these in a process beside the driver for as long as the query runs, asks it how far the next batch
goes, and writes that down before anything is read. So a batch that is tried again, after a crash as well, is the same
batch. Nothing is committed to the cluster: where a query stands is in its checkpoint alone.

Partitions that are added are read from their beginning. What a micro-batch may bring is bounded by the option
max_records_per_trigger; with the trigger availableNow, what was there at the start is read in as many batches as that
takes, and the query ends.

The connection is made with the first question, since Spark also makes readers of which it asks nothing.
"""

from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from goqueue.spark.choices import Choices
from goqueue.spark.live.bootstrap import Bootstrap
from goqueue.spark.live.cluster import Cluster, Reach
from goqueue.spark.live.progress import Place, Positions, advanced, check_forward, no_further, offsets, positions
from goqueue.spark.live.stretches import beginning, pieces, reaches
from goqueue.spark.readers import StretchPartition, read_partition
from goqueue.spark.records.edges import check_start, note_missing


class TopicStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads records as they are added."""

    def __init__(self, choices: Choices, schema: pa.Schema) -> None:
        assert choices.bootstrap is not None
        self._choices = choices
        self._schema = schema
        self._bootstrap: Bootstrap = choices.bootstrap
        self._cluster: Cluster | None = None
        # With availableNow: how far all batches together go.
        self._target: dict[Place, int] | None = None
        self._seen: dict[Place, int] | None = None

    def initialOffset(self) -> Positions:  # noqa: N802 - Spark's
        """Where a query without a checkpoint begins. Raises ClientError, UnreadableError."""
        starting, found = self._choices.starting, {}
        for place, reach in self._reaches().items():
            edge = starting.of(*place)
            # One number for all partitions may be far behind the end of some: there is no going back from it.
            check_start(*place, edge, reach.end, is_named=True)
            found[place] = beginning(
                self._connected(), reach, starting, skip_missing=self._choices.lenient.skip_missing
            )
        return positions(found)

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's
        """How much a batch may bring unless the trigger says otherwise."""
        records_max = self._choices.records_max
        return ReadAllAvailable() if records_max is None else ReadMaxRows(records_max)

    def latestOffset(self, start: Positions, limit: ReadLimit) -> Positions:  # noqa: N802 - Spark's
        """Where the next batch ends. Raises ClientError, UnreadableError."""
        begin, end = offsets(start), self._ends()
        self._seen = end
        if self._choices.lenient.skip_missing:
            # What is gone stays where it was, so that nothing goes back.
            end = {**{place: offset for place, offset in begin.items() if place not in end}, **end}
        check_forward(begin, end)
        if self._target is not None:
            end = no_further(end, {**begin, **self._target})
        if isinstance(limit, ReadMaxRows):
            return positions(advanced(begin, end, limit.max_rows))
        assert isinstance(limit, ReadAllAvailable), f"a limit that was not asked for: {limit}"
        return positions(end)

    def reportLatestOffset(self) -> Positions | None:  # noqa: N802 - Spark's
        """How far the cluster was when it was asked last, for the query's progress."""
        return None if self._seen is None else positions(self._seen)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's
        """Go no further than what is there now. Raises ClientError."""
        self._target = self._ends()

    def partitions(self, start: Positions, end: Positions) -> Sequence[InputPartition]:
        """The ranges of one batch. Raises ClientError, UnreadableError."""
        begin, stop = offsets(start), offsets(end)
        check_forward(begin, stop)
        if begin == stop:
            return []
        found, wanted = self._reaches(), self._choices.wanted
        planned: list[InputPartition] = []
        for place, offset in stop.items():
            first = begin.get(place, 0)
            if first == offset:
                continue
            reach = found.get(place)
            there = offset if reach is None else min(offset, reach.first)
            if there > first:
                note_missing(*place, first, there, skip=self._choices.lenient.skip_missing)
            if reach is not None:
                stretches = pieces(self._bootstrap, reach, max(first, reach.first), offset)
                planned += [StretchPartition(one, wanted) for one in stretches]
        return planned

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one range. Raises ClientError, UnreadableError."""
        return read_partition(partition, self._choices, self._schema)

    def stop(self) -> None:
        """Close the connection."""
        if self._cluster is not None:
            self._cluster.close()
            self._cluster = None

    def _ends(self) -> dict[Place, int]:
        return {place: reach.end for place, reach in self._reaches().items()}

    def _reaches(self) -> dict[Place, Reach]:
        choices = self._choices
        found = reaches(
            self._connected(),
            choices.topics,
            choices.wanted,
            choices.wanted.partitions or (),
            choices.starting,
            skip_missing=choices.lenient.skip_missing,
        )
        return {(reach.topic, reach.partition): reach for reach in found}

    def _connected(self) -> Cluster:
        if self._cluster is None:
            self._cluster = Cluster(self._bootstrap).__enter__()
        return self._cluster
