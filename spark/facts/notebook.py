"""Facts on their way into Arrow: a cell for each column that a fact fills in, and none for those that it leaves empty.

Of some thirty columns a fact has six or so. Cells are kept by column, each with the row it is in, so a note costs what
it says, and columns are put together once in many thousand rows.

Invariants: rows are in the order of events, and `part` counts those of an event from 0.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from attrs import define, field

from goqueue.core.capture.events import Event
from goqueue.core.clock import Clock
from goqueue.core.replicas.topic import HostedTopic
from goqueue.spark.facts.schema import ARROW_SCHEMA, COLUMNS, KINDS

ROWS_MAX = 64 << 10
_ALWAYS = ("node", "run", "event", "part", "at", "time", "kind")
_SPARSE = tuple(name for name in COLUMNS if name not in _ALWAYS)


@define(eq=False)
class _Cells:
    """What is in a column: values, and the row of each."""

    rows: list[int] = field(factory=list)
    values: list[object] = field(factory=list)


class Notebook:
    """The facts of one node in one file, in order."""

    def __init__(self, node: str, run: int) -> None:
        self.node = node
        self.run = run
        self._event = Event(0, 0, "")
        self._clock = Clock(0, 0)
        self._topics: dict[str, HostedTopic] = {}
        self._part = 0
        self._begin()

    def _begin(self) -> None:
        self._kinds: list[str] = []
        self._events: list[int] = []
        self._parts: list[int] = []
        self._ats: list[int] = []
        self._times: list[int] = []
        self._cells = {name: _Cells() for name in _SPARSE}

    def __len__(self) -> int:
        return len(self._kinds)

    @property
    def event(self) -> Event:
        """What facts are noted of at the moment."""
        return self._event

    @property
    def at(self) -> int:
        """When that was by the node's own clock."""
        return self._event.now

    def know(self, clock: Clock, topics: dict[str, HostedTopic]) -> None:
        """From here on facts are told by this clock, and are of topics that have these ids."""
        self._clock = clock
        self._topics = topics

    def turn_to(self, event: Event) -> None:
        """What is noted from here on is of this event; what was noted before the first one is of that, too."""
        if event.number != self._event.number:
            self._part = 0
        self._event = event

    def note(self, kind: str, **columns: object) -> None:
        """One fact; what is None stays empty. `due` is in milliseconds since 1970, `topic_id` follows from `topic`."""
        assert kind in KINDS, kind
        row, now = len(self._kinds), self._event.now
        self._kinds.append(kind)
        self._events.append(self._event.number)
        self._parts.append(self._part)
        self._ats.append(now)
        self._times.append(self._clock.wall_ms(now) * 1000 + now // 1000 % 1000)
        self._part += 1
        topic = columns.get("topic")
        if topic is not None and "topic_id" not in columns:
            columns["topic_id"] = self.topic_id(str(topic))
        cells = self._cells
        for name, value in columns.items():
            if value is not None:
                cell = cells[name]
                cell.rows.append(row)
                cell.values.append(value)

    def topic_id(self, topic: str) -> int | None:
        """The id of the topic that has a name, as the node knows it."""
        known = self._topics.get(topic)
        return None if known is None else known.topic.topic_id

    def take_back(self) -> None:
        """Forget what was noted of this event."""
        kept = len(self._kinds) - self._part
        assert kept >= 0
        for column in (self._kinds, self._events, self._parts, self._ats, self._times):
            del column[kept:]
        for cell in self._cells.values():
            while cell.rows and cell.rows[-1] >= kept:
                cell.rows.pop()
                cell.values.pop()
        self._part = 0

    def batches(self) -> Iterator[pa.RecordBatch]:
        """All facts since the last call, and begin anew."""
        whole = self._batch()
        self._begin()
        for first in range(0, whole.num_rows, ROWS_MAX):
            yield whole.slice(first, ROWS_MAX)

    def _batch(self) -> pa.RecordBatch:
        count = len(self._kinds)
        told = {
            "node": pa.repeat(pa.scalar(self.node, pa.string()), count),
            "run": pa.repeat(pa.scalar(self.run, pa.int64()), count),
            "event": pa.array(self._events, pa.int64()),
            "part": pa.array(self._parts, pa.int32()),
            "at": pa.array(self._ats, pa.int64()),
            "time": pa.array(self._times, pa.int64()).cast(ARROW_SCHEMA.field("time").type),
            "kind": pa.array(self._kinds, pa.string()),
        }
        columns = [told[name] if name in told else self._column(name, count) for name in COLUMNS]
        return pa.RecordBatch.from_arrays(columns, schema=ARROW_SCHEMA)

    def _column(self, name: str, count: int) -> pa.Array:
        cell, kind = self._cells[name], ARROW_SCHEMA.field(name).type
        if not cell.rows:
            return pa.nulls(count, kind)
        if name == "due":
            values = pa.array(np.array(cell.values, np.int64) * 1000).cast(kind)
        else:
            values = pa.array(cell.values, kind)
        if len(cell.rows) == count:
            return values
        rows = np.array(cell.rows)
        places, is_empty = np.zeros(count, np.int64), np.ones(count, bool)
        places[rows], is_empty[rows] = np.arange(len(rows)), False
        return values.take(pa.array(places, mask=is_empty))
