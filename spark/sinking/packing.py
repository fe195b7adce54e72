"""Rows become batches of the log, numbered, and the same in every attempt at the same rows.

Where one batch ends and the next begins depends on the rows alone: on what they take, and on how much a batch may have.
No clock has a say in it, nor how Spark has cut the rows into pieces. So an attempt that is made again sends the batches
of the one before, byte for byte but for the times of rows that have none.

The rows of a piece are sorted by partition and lane, which keeps their order within each, and turned into Python's
objects column by column; `core.records.build` makes the batches. A batch is of one lane. Whoever needs the order across
lanes says `keeps_order`, and batches end where the lane changes.

Invariant: the sequences of a partition and lane count its rows from 0 on.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import define, field

from goqueue.core.client.record_batch import HEADER_ENTRY_BYTES_MAX, RECORD_BYTES_MAX
from goqueue.core.client.routing import Layout
from goqueue.core.errors import BatchError
from goqueue.core.records.batch import HEADER_BYTES, Codec, Lane
from goqueue.core.records.build import Entry, encode
from goqueue.core.records.varint import INT32_MAX
from goqueue.spark.sinking.columns import Columns, columns_of
from goqueue.spark.sinking.errors import UnwritableError
from goqueue.spark.sinking.identity import Work, producer_of
from goqueue.spark.sinking.partitions import Chooser, Integers

# So many rows are Python's objects at a time.
PIECE_ROWS = 8192
# Of what may be buffered, batches that are still open take at most this part.
_OPEN_PART = 4


@define
class Packed:
    """A batch, and which rows of the task are in it: so many, the first of them, counted from 0.

    `has_times` says that all of them bear times of their own.
    """

    topic: str
    partition: int
    content: bytearray
    count: int
    first_row: int
    has_times: bool


@define
class _Filling:
    """The rows of a partition and lane that are no batch yet, and how many were sealed before."""

    sealed: int = 0
    size: int = HEADER_BYTES
    first_row: int = 0
    has_times: bool = True
    entries: list[Entry] = field(factory=list)


@define
class _Track:
    """A topic as a task fills it."""

    layout: Layout
    chooser: Chooser
    bytes_max: int
    fillings: dict[tuple[int, int], _Filling] = field(factory=dict)


class Packer:
    """The rows of one task on their way into batches."""

    def __init__(
        self,
        work: Work,
        task: int | str,
        layout_of: Callable[[str], Layout],
        *,
        topic: str = "",
        first: int = 0,
        batch_bytes: int,
        buffer_bytes: int,
        codec: Codec = Codec.NONE,
        keeps_order: bool = False,
    ) -> None:
        self._task, self._first, self._topic, self._codec = task, first, topic, codec
        self._keeps_order = keeps_order
        self._layout_of = layout_of
        self._batch_bytes, self._buffer_bytes = batch_bytes, buffer_bytes
        self._producers = [producer_of(work, task, lane) for lane in Lane]
        self._tracks: dict[str, _Track] = {}
        self.rows = 0

    def pack(self, rows: pa.RecordBatch, now_ms: int) -> Iterator[Packed]:
        """The batches that these rows complete. Raises UnwritableError, and what `layout_of` raises."""
        for at in range(0, rows.num_rows, PIECE_ROWS):
            piece = rows.slice(at, PIECE_ROWS)
            columns = columns_of(piece, now_ms, self.rows)
            if columns.topics is None:
                yield from self._pack(self._topic, columns)
            else:
                for topic, among in columns.by_topic(self._topic):
                    yield from self._pack(topic, columns.take(among))
            self.rows += piece.num_rows

    def finish(self) -> Iterator[Packed]:
        """The batches that are open still."""
        for topic, track in self._tracks.items():
            for (partition, lane), filling in track.fillings.items():
                if filling.entries:
                    yield self._seal(topic, partition, lane, filling)

    def _track(self, topic: str) -> _Track:
        track = self._tracks.get(topic)
        if track is None:
            layout = self._layout_of(topic)
            fair = max(self._buffer_bytes // (_OPEN_PART * len(layout.leaders)), 1)
            bytes_max = min(self._batch_bytes, layout.message_bytes_max, fair)
            track = self._tracks[topic] = _Track(layout, Chooser(layout, self._first, bytes_max), bytes_max)
        return track

    def _pack(self, topic: str, columns: Columns) -> Iterator[Packed]:
        track = self._track(topic)
        sizes = columns.lengths + RECORD_BYTES_MAX + HEADER_ENTRY_BYTES_MAX * columns.header_counts
        self._check_sizes(track, columns, sizes)
        partitions = self._partitions(track, columns, sizes)
        places = partitions * len(Lane) + columns.lanes
        order = np.argsort(partitions if self._keeps_order else places, kind="stable")
        places, sizes = places[order], sizes[order]
        entries, rows = columns.entries(order), columns.rows[order]
        borders = [0, *(np.flatnonzero(np.diff(places)) + 1).tolist(), len(places)]
        for begin, end in pairwise(borders):
            partition, lane = divmod(int(places[begin]), len(Lane))
            if self._keeps_order:
                yield from self._seal_others(topic, track, partition, lane)
            among = slice(begin, end)
            yield from self._fill(
                topic, track, (partition, lane), entries[among], sizes[among], rows[among], columns.has_times
            )

    def _fill(
        self,
        topic: str,
        track: _Track,
        place: tuple[int, int],
        entries: list[Entry],
        sizes: Integers,
        rows: Integers,
        has_times: bool,
    ) -> Iterator[Packed]:
        """Put rows into the batch of their partition and lane, and seal each time one is full."""
        filling = track.fillings.get(place)
        if filling is None:
            filling = track.fillings[place] = _Filling()
        ends = np.cumsum(sizes)
        at, before = 0, 0
        while at < len(entries):
            room = track.bytes_max - filling.size
            until = int(np.searchsorted(ends, before + room, side="right"))
            if until <= at and filling.entries:
                yield self._seal(topic, *place, filling)
                continue
            # One that is larger than a batch should be has a batch of its own.
            until = max(until, at + 1)
            if not filling.entries:
                filling.first_row = int(rows[at])
            filling.entries += entries[at:until]
            filling.has_times &= has_times
            filling.size += int(ends[until - 1]) - before
            at, before = until, int(ends[until - 1])

    def _seal_others(self, topic: str, track: _Track, partition: int, lane: int) -> Iterator[Packed]:
        """End what is open of other lanes, so that it comes before what follows."""
        for other in range(len(Lane)):
            filling = track.fillings.get((partition, other))
            if other != lane and filling is not None and filling.entries:
                yield self._seal(topic, partition, other, filling)

    def _seal(self, topic: str, partition: int, lane: int, filling: _Filling) -> Packed:
        producer_id, epoch = self._producers[lane]
        count = len(filling.entries)
        try:
            content = encode(
                filling.entries,
                codec=self._codec,
                lane=Lane(lane),
                producer_id=producer_id,
                producer_epoch=epoch,
                base_sequence=filling.sealed & INT32_MAX,
            )
        except BatchError as error:
            raise UnwritableError(
                f"{count} rows from row {filling.first_row} of task {self._task} on are no batch: {error}"
            ) from error
        packed = Packed(topic, partition, content, count, filling.first_row, filling.has_times)
        filling.sealed += count
        filling.size, filling.has_times, filling.entries = HEADER_BYTES, True, []
        return packed

    def _check_sizes(self, track: _Track, columns: Columns, sizes: Integers) -> None:
        """What is too large for its topic is told by its row before anything of the piece is sent."""
        most = track.layout.message_bytes_max
        too_large = np.flatnonzero(sizes - RECORD_BYTES_MAX + HEADER_BYTES > most)
        if len(too_large) and self._codec is Codec.NONE:
            row, size = int(columns.rows[too_large[0]]), int(sizes[too_large[0]]) - RECORD_BYTES_MAX
            raise UnwritableError(
                f"row {row} of task {self._task}: {track.layout.topic} takes messages of up to {most} bytes, and this"
                f" one has about {size}"
            )

    def _partitions(self, track: _Track, columns: Columns, sizes: Integers) -> Integers:
        count = len(track.layout.leaders)
        if columns.partitions is None:
            return track.chooser.choose(columns.keys, sizes)
        chosen = np.asarray(pc.fill_null(columns.partitions, 0)).astype(np.int64)
        wrong = (chosen < 0) | (chosen >= count)
        if wrong.any():
            at = int(np.flatnonzero(wrong)[0])
            raise UnwritableError(
                f"row {int(columns.rows[at])} of task {self._task}: {track.layout.topic} has partitions 0 to"
                f" {count - 1}, not {int(chosen[at])}"
            )
        if columns.partitions.null_count:
            open_ones = np.asarray(columns.partitions.is_null())
            keys = None if columns.keys is None else columns.keys.filter(pa.array(open_ones))
            chosen[open_ones] = track.chooser.choose(keys, sizes[open_ones])
        return chosen
