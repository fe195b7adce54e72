"""How far groups are behind in a partition: its facts from all nodes in, a row for each group and slot of time out.

What is visible is known to leaders, what a group has come to is known to its coordinator, or, for a work queue, to the
leader again. So all is by wall clocks. An exclusive group has come to where it has committed. A shared group has no
such place: messages are done in any order. What lies before the first that it was sent, or has done, counts as done;
of the rest each message is done when it is acknowledged or given up, the first time that this is said.

What is not known is no row: slots before the first that the facts say of the watermark, or of the group.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import define

from goqueue.spark.reports.cells import Integers

KINDS: Final = ("visible", "known", "leads", "committed", "leased", "acked", "doomed")
COLUMNS: Final = ("kind", "time_us", "first", "end", "value", "group")
BACKLOG: Final = pa.schema(
    [
        ("group", pa.string()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("slot", pa.int32()),
        *((name, pa.int64()) for name in ("visible", "done", "lag", "lag_max", "age_ns")),
    ]
)
_NEVER: Final = 1 << 62


@define
class Progress:
    """Something that grew: what it came to, and when; `value` is that from `times[i]` on."""

    times: Integers
    values: Integers

    def at(self, moments: Integers) -> Integers:
        """What it was at some moments; none of them is before the first that is known."""
        found: Integers = self.values[np.searchsorted(self.times, moments, side="right") - 1]
        return found


@define
class Group:
    """How far a group is: how many messages it has `done`, counted from the first offset, and the first it has not."""

    name: str
    done: Progress
    floor: Progress


def backlog(facts: pa.Table, topic: str, partition: int, begin: int, width: int, count: int) -> pa.Table:
    """A row for each group and slot, of which there are `count` of `width` microseconds from `begin` on."""
    ordered = facts.take(pc.sort_indices(facts, sort_keys=[("time_us", "ascending")]))
    visible = _visible(ordered)
    parts = []
    for group in _groups(ordered) if len(visible.times) else ():
        table = _rows(visible, group, begin, width, count)
        words = [pa.repeat(pa.scalar(group.name), len(table)), pa.repeat(pa.scalar(topic), len(table))]
        number = pa.repeat(pa.scalar(partition, pa.int32()), len(table))
        parts.append(pa.table([*words, number, *table.columns], schema=BACKLOG))
    return pa.concat_tables(parts) if parts else BACKLOG.empty_table()


def _visible(ordered: pa.Table) -> Progress:
    """The watermark as leaders moved it; a new leader may say less for a moment, and does not take anything back."""
    told = ordered.filter(pc.is_in(ordered["kind"], pa.array(["visible", "known", "leads"])))
    said = pc.if_else(pc.equal(told["kind"], "visible"), told["end"], told["value"])
    known = pc.is_valid(said)
    values = _integers(said.filter(known))
    return Progress(_integers(told["time_us"].filter(known)), np.maximum.accumulate(values) if len(values) else values)


def _groups(ordered: pa.Table) -> Iterator[Group]:
    for name in sorted(pc.unique(ordered["group"]).drop_null().to_pylist()):
        of_group = ordered.filter(pc.equal(ordered["group"], name))
        committed = of_group.filter(pc.equal(of_group["kind"], "committed"))
        if len(committed):
            come = Progress(_integers(committed["time_us"]), _integers(committed["end"]))
            yield Group(name, come, come)
        else:
            of_work = of_group.filter(pc.is_in(of_group["kind"], pa.array(["leased", "acked", "doomed"])))
            if len(of_work):
                yield _shared(name, of_work)


def _shared(name: str, told: pa.Table) -> Group:
    times, first, end = (_integers(told[column]) for column in ("time_us", "first", "end"))
    is_done = pc.not_equal(told["kind"], "leased").to_numpy()
    base, begin = int(first.min()), int(times[0])
    when, first, end = _once(times[is_done], first[is_done], end[is_done])
    order = np.argsort(when, kind="stable")
    sums = base + np.cumsum((end - first)[order])
    done = Progress(np.concatenate([[begin], when[order]]), np.concatenate([[base], sums]))
    return Group(name, done, _floor(base, begin, when, first, end))


def _once(times: Integers, first: Integers, end: Integers) -> tuple[Integers, Integers, Integers]:
    """Ranges by offset without what others, before them in time, have of them: each offset once, the first time."""
    order = np.argsort(first, kind="stable")
    times, first, end = times[order], first[order], end[order]
    if not (first[1:] < np.maximum.accumulate(end)[:-1]).any():
        return times, first, end
    edges = np.unique(np.concatenate([first, end]))
    low, high = np.searchsorted(edges, first), np.searchsorted(edges, end)
    earliest = np.full(len(edges), _NEVER)
    for time, begin, stop in zip(times, low, high, strict=True):
        np.minimum(earliest[begin:stop], time, out=earliest[begin:stop])
    held = np.flatnonzero(earliest < _NEVER)
    return earliest[held], edges[held], edges[held + 1]


def _floor(base: int, begin: int, when: Integers, first: Integers, end: Integers) -> Progress:
    """The first offset that is not done, over time: a range that is done counts once all before it are."""
    reach = np.concatenate([[base], end])
    is_next = np.concatenate([first, [_NEVER]]) == reach
    # From the first hole on nothing moves the floor.
    whole = int(np.argmin(is_next))
    return Progress(np.concatenate([[begin], np.maximum.accumulate(when[:whole])]), reach[: whole + 1])


def _rows(visible: Progress, group: Group, begin: int, width: int, count: int) -> pa.Table:
    known = max(int(visible.times[0]), int(group.done.times[0]))
    slots = np.arange(max((known - begin) // width, 0), count)
    ends = begin + (slots + 1) * width - 1
    seen, done = visible.at(ends), group.done.at(ends)
    lag = np.maximum(seen - done, 0)
    return pa.table(
        {
            "slot": pa.array(slots.astype(np.int32)),
            "visible": seen,
            "done": done,
            "lag": lag,
            "lag_max": _highest(visible, group.done, known, begin, width, lag, slots),
            "age_ns": _ages(visible, group.floor.at(ends), ends),
        }
    )


def _highest(
    visible: Progress, done: Progress, known: int, begin: int, width: int, lag: Integers, slots: Integers
) -> Integers:
    """The most that a group was behind in each slot: at its beginning, or when something moved within it."""
    moments = np.unique(np.concatenate([visible.times, done.times]))
    moments = moments[moments >= known]
    behind = np.maximum(visible.at(moments) - done.at(moments), 0)
    highest: Integers = np.maximum(lag, np.concatenate([[0], lag[:-1]]))
    places = (moments - begin) // width - slots[0] if len(slots) else moments
    inside = (places >= 0) & (places < len(slots))
    np.maximum.at(highest, places[inside], behind[inside])
    return highest


def _ages(visible: Progress, floor: Integers, ends: Integers) -> Integers:
    """For how long the first message that is not done has been visible; nothing if all are."""
    became = np.searchsorted(visible.values, floor, side="right")
    waits = became < len(visible.times)
    ages = np.zeros(len(ends), np.int64)
    ages[waits] = np.maximum(ends[waits] - visible.times[became[waits]], 0) * 1000
    return ages


def _integers(column: pa.ChunkedArray) -> Integers:
    numbers: Integers = column.cast(pa.int64()).to_numpy()
    return numbers
