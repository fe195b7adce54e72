"""One task of a back-fill: the messages of some sources, each in its order, published at the pace of the job.

A source is a partition of a topic as it once was, or a file. Its messages are numbered under a producer of its own, so
it does not matter which task publishes them, nor how many tasks there are: what was stored before is found, whether a
task died or the whole job. And it takes no time: until the first message that is not there yet, nothing waits.

Rows come clustered by source and in the order of their offsets. With original timing they come by tick, and within one
so; then the batches of all sources end with the tick. Two rows with the same offset are one message that was recorded
twice. No Spark here.
"""

from collections.abc import Iterable, Iterator
from itertools import pairwise
from time import monotonic_ns, time_ns
from zlib import crc32

import numpy as np
import pyarrow as pa
from attrs import define, evolve

from goqueue.core.client.routing import Layout
from goqueue.spark.sinking.identity import Work
from goqueue.spark.sinking.options import WriteOptions
from goqueue.spark.sinking.outlet import Outlet
from goqueue.spark.sinking.pace import Rate, Timing
from goqueue.spark.sinking.packing import Packed, Packer
from goqueue.spark.sinking.partitions import Integers

SCHEMA = pa.schema([(name, pa.int64()) for name in ("rows", "bytes", "found", "repeated")])
SCHEMA_DDL = "rows bigint, bytes bigint, found bigint, repeated bigint"
# What only says where a row came from, and when it goes; it is used up here.
_OWN = ("source", "offset", "topic", "task", "tick")


@define
class Filling:
    """What every task of a back-fill is told."""

    options: WriteOptions
    job: str
    layout: Layout
    # How many sources there are in all, and which part of the messages each task has.
    sources: int
    parts: list[float]
    rate: Rate
    timing: Timing | None = None


class Source:
    """The messages of one source on their way into batches."""

    def __init__(self, filling: Filling, name: str) -> None:
        options = filling.options
        # With original timing batches of many sources are open at once. Their sizes may depend on the job alone.
        together = filling.sources if filling.timing is not None else 1
        self.name = name
        self.repeated = 0
        self._last_offset: int | None = None
        self._packer = Packer(
            Work(filling.job),
            name,
            lambda _topic: filling.layout,
            topic=options.topic,
            first=crc32(name.encode()),
            batch_bytes=options.batch_bytes,
            buffer_bytes=max(options.buffer_bytes // together, 1),
            codec=options.codec,
            keeps_order=True,
        )

    def pack(self, rows: pa.RecordBatch) -> Iterator[Packed]:
        """The batches that these rows complete. Raises UnwritableError."""
        return self._packer.pack(self._once(rows), time_ns() // 1_000_000)

    def finish(self) -> Iterator[Packed]:
        """The batches that are open still."""
        return self._packer.finish()

    def _once(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """The rows without those that repeat the one before, and without what is no part of a message."""
        offsets: Integers = np.asarray(rows.column("offset")).astype(np.int64)
        is_new = np.ones(len(offsets), bool)
        is_new[1:] = offsets[1:] != offsets[:-1]
        is_new[0] = self._last_offset is None or offsets[0] != self._last_offset
        self._last_offset = int(offsets[-1])
        rows = rows.select([name for name in rows.schema.names if name not in _OWN])
        if is_new.all():
            return rows
        self.repeated += int((~is_new).sum())
        return rows.filter(pa.array(is_new))


class Filler:
    """One task under way."""

    def __init__(self, filling: Filling, task: int, outlet: Outlet) -> None:
        self._filling = filling
        self._outlet = outlet
        self._rate = filling.rate.share(filling.parts[task])
        self._timing = None if filling.timing is None else evolve(filling.timing)
        self._sources: dict[str, Source] = {}
        self._open: dict[str, Source] = {}
        self._tick: int | None = None
        self._repeated = 0
        # Whether all that was sent so far was there before.
        self._is_behind = True

    def fill(self, name: str, tick: int | None, rows: pa.RecordBatch) -> None:
        """Publish more messages of a source. Raises UnwritableError, MismatchError, ClientError."""
        if self._timing is None:
            if name not in self._sources:
                self._end_sources()
                self._is_behind = True
        elif tick != self._tick:
            # Whether anything of it is there already is known once the first of it was sent, when that was due.
            waits = self._tick is None or not self._is_behind
            self._end_tick()
            self._tick = tick
            if waits or not self._is_behind:
                self._outlet.pause(self._timing.wait_ns(time_ns(), tick or 0))
        source = self._sources.get(name)
        if source is None:
            source = self._sources[name] = Source(self._filling, name)
        self._open[name] = source
        for packed in source.pack(rows):
            self._send(packed)

    def finish(self) -> pa.RecordBatch:
        """Publish what is left, wait for all of it, and say what came of it."""
        self._end_sources()
        tally = self._outlet.finish()
        said = tally.rows, tally.bytes, tally.found, self._repeated
        return pa.RecordBatch.from_arrays([pa.array([count]) for count in said], schema=SCHEMA)

    def _end_tick(self) -> None:
        for source in self._open.values():
            for packed in source.finish():
                self._send(packed)
        self._open.clear()
        if self._is_behind and self._timing is not None and self._tick is not None:
            self._timing.set_on(time_ns(), self._tick)

    def _end_sources(self) -> None:
        self._end_tick()
        self._repeated += sum(source.repeated for source in self._sources.values())
        self._sources.clear()

    def _send(self, packed: Packed) -> None:
        outlet = self._outlet
        if self._is_behind:
            found = outlet.tally.found
            outlet.send(packed)
            self._is_behind = outlet.finish().found == found + packed.count
            if self._is_behind:
                return
            # What was sent counts for those that come next.
            self._rate.wait_ns(monotonic_ns(), packed.count, len(packed.content))
            return
        wait_ns = self._rate.wait_ns(monotonic_ns(), packed.count, len(packed.content))
        if wait_ns:
            outlet.pause(wait_ns)
        outlet.send(packed)


def fill(pieces: Iterable[pa.RecordBatch], filling: Filling) -> Iterator[pa.RecordBatch]:
    """Publish all rows of a task, and say in one row what came of it."""
    runs = runs_of(pieces)
    first = next(runs, None)
    if first is None:
        return
    task = first[2].column("task")[0].as_py()
    with Outlet(filling.options) as outlet:
        filler = Filler(filling, task, outlet)
        filler.fill(*first)
        for run in runs:
            filler.fill(*run)
        yield filler.finish()


def runs_of(pieces: Iterable[pa.RecordBatch]) -> Iterator[tuple[str, int | None, pa.RecordBatch]]:
    """Rows of one source, and of one tick if they have any, one piece after another."""
    for piece in pieces:
        if not piece.num_rows:
            continue
        sources, ticks = piece.column("source").dictionary_encode(), None
        is_next = np.diff(np.asarray(sources.indices)) != 0
        if "tick" in piece.schema.names:
            ticks = np.asarray(piece.column("tick")).astype(np.int64)
            is_next |= np.diff(ticks) != 0
        borders = [0, *(np.flatnonzero(is_next) + 1).tolist(), piece.num_rows]
        for begin, end in pairwise(borders):
            tick = None if ticks is None else int(ticks[begin])
            yield sources[begin].as_py(), tick, piece.slice(begin, end - begin)
