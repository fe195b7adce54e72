"""One task of a write: its rows through a packer into an outlet, and what it says when it is done.

No Spark here: what Spark knows of the task comes as values. So all of it runs, and is tested, without a JVM.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from time import time_ns

import pyarrow as pa
from attrs import define, field

from goqueue.core.client.routing import Layout
from goqueue.core.records.batch import Lane
from goqueue.spark.sinking.columns import Columns, columns_of, timestamps_of
from goqueue.spark.sinking.identity import Work
from goqueue.spark.sinking.options import WriteOptions
from goqueue.spark.sinking.outlet import Outlet, Tally
from goqueue.spark.sinking.packing import PIECE_ROWS, Packer
from goqueue.spark.sinking.shape import DELAYS

_LANES = {int(lane): lane.name.lower() for lane in Lane}
_MILLISECOND = timedelta(milliseconds=1)


@define
class Task:
    """A piece of work, which task of it this is, and the layouts that all its attempts go by."""

    options: WriteOptions
    work: Work
    number: int
    layouts: dict[str, Layout] = field(factory=dict)

    def write(self, pieces: Iterable[pa.RecordBatch]) -> Tally:
        """Publish all rows. Raises UnwritableError, MismatchError, ClientError."""
        pieces = iter(pieces)
        first = next((piece for piece in pieces if piece.num_rows), None)
        if first is None:
            return Tally()
        with Outlet(self.options) as outlet:
            if any(name in first.schema.names for name in DELAYS):
                self._write_later(outlet, first)
                for piece in pieces:
                    self._write_later(outlet, piece)
                return outlet.finish()
            packer = self.packer(outlet)
            self._write(outlet, packer, first)
            for piece in pieces:
                self._write(outlet, packer, piece)
            for packed in packer.finish():
                outlet.send(packed)
            return outlet.finish()

    def packer(self, outlet: Outlet) -> Packer:
        """What makes batches of this task's rows."""
        options = self.options

        def layout_of(topic: str) -> Layout:
            return self.layouts.get(topic) or outlet.target(topic).layout

        return Packer(
            self.work,
            self.number,
            layout_of,
            topic=options.topic,
            first=self.number,
            batch_bytes=options.batch_bytes,
            buffer_bytes=options.buffer_bytes,
            codec=options.codec,
        )

    def _write(self, outlet: Outlet, packer: Packer, piece: pa.RecordBatch) -> None:
        for packed in packer.pack(piece, time_ns() // 1_000_000):
            outlet.send(packed)

    def _write_later(self, outlet: Outlet, piece: pa.RecordBatch) -> None:
        """Publish rows of which some are due later, one by one as the client library does."""
        now_ms = time_ns() // 1_000_000
        for at in range(0, piece.num_rows, PIECE_ROWS):
            rows = piece.slice(at, PIECE_ROWS)
            columns, dues = columns_of(rows, now_ms, outlet.tally.rows), dues_of(rows, now_ms)
            outlet.loop.run(self._send_later(outlet, columns, dues))
            outlet.tally.rows += rows.num_rows
            outlet.tally.delayed += rows.num_rows

    async def _send_later(self, outlet: Outlet, columns: Columns, dues: list[int]) -> None:
        count = len(dues)
        topics = [self.options.topic] * count
        if columns.topics is not None:
            topics = columns.topics.fill_null(self.options.topic).to_pylist()
        partitions = [None] * count if columns.partitions is None else columns.partitions.to_pylist()
        entries = columns.entries(columns.rows - columns.rows[0])
        for at, (_, key, value, headers) in enumerate(entries):
            await outlet.producer.send(
                topics[at],
                value,
                key=key,
                headers=headers,
                partition=partitions[at],
                priority=_LANES[int(columns.lanes[at])],
                deliver_at=datetime.fromtimestamp(0, UTC) + dues[at] * _MILLISECOND,
            )


def dues_of(rows: pa.RecordBatch, now_ms: int) -> list[int]:
    """When each row is due, in milliseconds since 1970; one that does not say is due at once."""
    if "due" in rows.schema.names:
        dues: list[int] = timestamps_of(rows, "due", now_ms, 0).tolist()
        return dues
    delays = rows.column("delay").cast(pa.duration("ms")).cast(pa.int64()).fill_null(0)
    return [now_ms + max(delay, 0) for delay in delays.to_pylist()]
