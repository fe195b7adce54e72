"""A stream of Spark's over a running cluster: micro-batches between positions, each read by tasks as a range.

Spark keeps one of these in a process beside the driver for as long as the query runs, asks it how far the next batch
goes, and writes that down before anything is read. So a batch that is tried again, after a crash as well, is the same
batch. Nothing is committed to the cluster: where a query stands is in its checkpoint alone.

Partitions that are added are read from their beginning. A topic that was deleted and made again is another one: it is
told by its id, which stands beside its positions, and is an error unless the option replaced=restart says that reading
goes on at its beginning; each task fetches by that id as well. What a micro-batch may bring is bounded by the option
max_records_per_trigger; with the trigger availableNow, what was there at the start is read in as many batches as that
takes, and the query ends.

The connection is made with the first question, since Spark also makes readers of which it asks nothing.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from goqueue.spark.choices import Choices
from goqueue.spark.live.bootstrap import Bootstrap
from goqueue.spark.live.cluster import Cluster, Reach
from goqueue.spark.live.progress import (
    Kept,
    Place,
    Positions,
    advanced,
    check_forward,
    check_same,
    no_further,
    positions,
)
from goqueue.spark.live.stretches import beginning, pieces, reaches
from goqueue.spark.readers import StretchPartition, read_partition
from goqueue.spark.records.edges import check_start, note_missing

_logger = logging.getLogger("goqueue.spark")


class TopicStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads records as they are added."""

    def __init__(self, choices: Choices, schema: pa.Schema) -> None:
        assert choices.bootstrap is not None
        self._choices = choices
        self._schema = schema
        self._bootstrap: Bootstrap = choices.bootstrap
        self._cluster: Cluster | None = None
        # With availableNow: how far all batches together go.
        self._target: Positions | None = None
        self._seen: Positions | None = None

    def initialOffset(self) -> Kept:  # noqa: N802 - Spark's
        """Where a query without a checkpoint begins. Raises ClientError, UnreadableError."""
        found, lenient = self._reaches(), self._choices.lenient
        starting = self._choices.starting.met_by(_ids(found), restart=lenient.restart_replaced)
        offsets = {}
        for place, reach in found.items():
            edge = starting.of(*place)
            # One number for all partitions may be far behind the end of some: there is no going back from it.
            check_start(*place, edge, reach.end, is_named=True)
            offsets[place] = beginning(self._connected(), reach, starting, skip_missing=lenient.skip_missing)
        return Positions(_ids(found), offsets).kept()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's
        """How much a batch may bring unless the trigger says otherwise."""
        records_max = self._choices.records_max
        return ReadAllAvailable() if records_max is None else ReadMaxRows(records_max)

    def latestOffset(self, start: Kept, limit: ReadLimit) -> Kept:  # noqa: N802 - Spark's
        """Where the next batch ends. Raises ClientError, UnreadableError."""
        begin, found = positions(start), self._reaches()
        end = self._seen = _ends(found)
        if self._choices.lenient.restart_replaced:
            if self._target is not None:
                # What was made again since the start is not part of what was there.
                late = self._target.replaced(end.ids)
                end = end.without(late) | begin.only(late)
            begin = begin.without(begin.replaced(end.ids)) | _firsts(found).only(begin.replaced(end.ids))
        check_same(begin, end.ids)
        if self._choices.lenient.skip_missing:
            # What is gone stays where it was, so that nothing goes back.
            end = begin | end
        check_forward(begin, end)
        if self._target is not None:
            end = no_further(end, begin | self._target)
        if isinstance(limit, ReadMaxRows):
            return advanced(begin, end, limit.max_rows).kept()
        assert isinstance(limit, ReadAllAvailable), f"a limit that was not asked for: {limit}"
        return end.kept()

    def reportLatestOffset(self) -> Kept | None:  # noqa: N802 - Spark's
        """How far the cluster was when it was asked last, for the query's progress."""
        return None if self._seen is None else self._seen.kept()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's
        """Go no further than what is there now. Raises ClientError."""
        self._target = _ends(self._reaches())

    def partitions(self, start: Kept, end: Kept) -> Sequence[InputPartition]:
        """The ranges of one batch. Raises ClientError, UnreadableError."""
        begin, stop = positions(start), positions(end)
        if begin == stop:
            return []
        found, lenient = self._reaches(), self._choices.lenient
        if not lenient.restart_replaced:
            check_same(begin | stop, _ids(found))
            check_same(begin, stop.ids)
        self._tell_replaced(begin, stop.ids)
        self._tell_replaced(stop, _ids(found))
        made_again = begin.replaced(stop.ids)
        begin = begin.without(made_again)
        check_forward(begin, stop)
        # A batch that was planned and not read before its topic was made again cannot be had any more.
        stop = stop.without(stop.replaced(_ids(found)))
        planned: list[InputPartition] = []
        for place, offset in stop.offsets.items():
            reach = found.get(place)
            first = begin.offsets.get(place, 0)
            if place[0] in made_again and reach is not None:
                first = min(reach.first, offset)
            if first == offset:
                continue
            there = offset if reach is None else min(offset, reach.first)
            if there > first:
                note_missing(*place, first, there, skip=lenient.skip_missing)
            if reach is not None:
                stretches = pieces(self._bootstrap, reach, max(first, reach.first), offset)
                planned += [StretchPartition(one, self._choices.wanted) for one in stretches]
        return planned

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one range. Raises ClientError, UnreadableError."""
        return read_partition(partition, self._choices, self._schema)

    def stop(self) -> None:
        """Close the connection."""
        if self._cluster is not None:
            self._cluster.close()
            self._cluster = None

    @staticmethod
    def _tell_replaced(known: Positions, ids: Mapping[str, str]) -> None:
        for topic in known.replaced(ids):
            _logger.warning(
                "%s was deleted and made again: of the one with the id %s nothing is read any more, and the one with"
                " the id %s from its beginning",
                topic, known.ids[topic], ids[topic],
            )  # fmt: skip

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


def _ids(found: Mapping[Place, Reach]) -> dict[str, str]:
    return {topic: reach.topic_id for (topic, _), reach in found.items()}


def _ends(found: Mapping[Place, Reach]) -> Positions:
    return Positions(_ids(found), {place: reach.end for place, reach in found.items()})


def _firsts(found: Mapping[Place, Reach]) -> Positions:
    return Positions(_ids(found), {place: reach.first for place, reach in found.items()})
