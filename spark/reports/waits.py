"""How long messages of a partition waited, stage by stage: its facts in, cells out.

On its leader all is by that node's own clock, so no two clocks are compared (`leader_waits`). What an exclusive group
is sent and commits is known to its coordinator, which may be another node: that is by the wall clocks of both, which
may disagree (`group_waits`).

What a message waited for is found by its offset: the
first sync that reached it, the first move of the high watermark past it. Both only ever grow, save when a log is cut,
and then nothing that was cut counts: `_standing` leaves out the batches, `_clipped` forgets that they were reached. So
a binary search a batch is all it takes.

A batch counts as many times as it has messages. A reader counts a message the first time that it is sent, and only if
it became visible while the reader was there: what a reader found when it came waited for the reader, not for us.

Invariant: a message of a batch that stands is once in `persist` and once in `replicate`, as OPEN if it waits still.
"""

from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from attrs import define, fields

from goqueue.spark.reports.cells import Cells, Integers

Flags: TypeAlias = npt.NDArray[np.bool_]

# Which facts these are, and which columns they need; `reader` is the group, or the client of who has no group.
LEADER_KINDS: Final = ("appended", "durable", "visible", "answered", "cut", "fetched", "leased", "acked")
GROUP_KINDS: Final = ("visible", "polled", "committed")
COLUMNS: Final = (
    "kind", "event", "part", "at", "time_us", "first", "end", "count", "since", "reader", "attempt", "lease",
)  # fmt: skip

STAGES: Final = {
    "persist": "in the log → on the leader's disk",
    "replicate": "in the log → visible to readers",
    "answer": "publish came → answered",
    "deliver": "visible → first sent to a reader",
    "through": "publish came → first sent to a reader",
    "commit": "sent to an exclusive group → committed",
    "acknowledge": "sent under a lease → acknowledged",
}
# All readers that are of no group.
STREAMS: Final = "streams"

_UNKNOWN: Final = -(1 << 62)


@define
class Happened:
    """Facts of one kind as columns, in their order."""

    event: Integers
    at: Integers
    slot: Integers
    first: Integers
    end: Integers
    messages: Integers
    since: Integers
    reader: Integers
    attempt: Integers
    lease: Integers

    def __len__(self) -> int:
        return len(self.at)

    def only(self, chosen: Flags | Integers) -> "Happened":
        """Some of them, or all in another order."""
        return Happened(*(getattr(self, column.name)[chosen] for column in fields(Happened)))


def leader_waits(facts: pa.Table, topic: str, begin: int, width: int) -> pa.Table:
    """Cells of a partition on one node in one run; slots are `width` microseconds, the first from `begin` on."""
    ordered = facts.take(pc.sort_indices(facts, sort_keys=[("event", "ascending"), ("part", "ascending")]))
    happened, readers = _happened(ordered, LEADER_KINDS, begin, width)
    cells = Cells(topic)
    cut = happened["cut"]
    appended = _standing(happened["appended"], cut)
    visible = _clipped(happened["visible"], cut)
    _add_answers(cells, "answer", happened["answered"])
    _add_reached(cells, "persist", appended, _clipped(happened["durable"], cut))
    _add_reached(cells, "replicate", appended, visible)
    asked = appended.only(appended.since != _UNKNOWN)
    for reader, sent in _first_times(happened["fetched"], happened["leased"], readers):
        _add_sent(cells, "deliver", reader, sent, _steps(visible))
        _add_sent(cells, "through", reader, sent, asked)
    _add_acknowledged(cells, happened["leased"], happened["acked"], readers)
    return cells.table()


def group_waits(facts: pa.Table, topic: str, begin: int, width: int) -> pa.Table:
    """Cells of a partition's exclusive groups, from facts of all nodes."""
    ordered = facts.take(pc.sort_indices(facts, sort_keys=[("time_us", "ascending")]))
    ordered = ordered.set_column(ordered.column_names.index("at"), "at", pc.multiply(ordered["time_us"], 1000))
    ordered = ordered.set_column(ordered.column_names.index("since"), "since", pa.nulls(len(ordered), pa.int64()))
    happened, readers = _happened(ordered, GROUP_KINDS, begin, width)
    cells = Cells(topic)
    visible = _steps(happened["visible"])
    polled, committed = happened["polled"], happened["committed"]
    for reader in np.unique(polled.reader):
        sent = _advances(polled.only(polled.reader == reader))
        _add_sent(cells, "deliver", readers[reader], sent, visible)
        done = _advances(committed.only(committed.reader == reader))
        done.since = np.full(len(done), _UNKNOWN)
        sent.since = sent.at
        _add_sent(cells, "commit", readers[reader], done, sent)
    return cells.table()


def _happened(ordered: pa.Table, kinds: Sequence[str], begin: int, width: int) -> tuple[dict[str, Happened], list[str]]:
    readers = ordered["reader"].combine_chunks().dictionary_encode()
    columns = {name: _integers(ordered[name]) for name in COLUMNS if name not in {"kind", "reader"}}
    columns["reader"] = _integers(readers.indices)
    columns["slot"] = (columns["time_us"] - begin) // width
    counted = np.where(columns["count"] == _UNKNOWN, columns["end"] - columns["first"], columns["count"])
    columns["messages"] = counted
    every = Happened(*(columns[column.name] for column in fields(Happened)))
    happened = {kind: every.only(pc.equal(ordered["kind"], kind).to_numpy()) for kind in kinds}
    return happened, readers.dictionary.to_pylist()


def _integers(column: pa.ChunkedArray | pa.Array) -> Integers:
    numbers: Integers = pc.fill_null(column.cast(pa.int64()), _UNKNOWN).to_numpy(zero_copy_only=False)
    return numbers


def _standing(appended: Happened, cut: Happened) -> Happened:
    """Batches that no cut took back."""
    stands = np.ones(len(appended), np.bool_)
    for event, first in zip(cut.event, cut.first, strict=True):
        stands &= (appended.event > event) | (appended.end <= first)
    return appended.only(stands)


def _clipped(reached: Happened, cut: Happened) -> Happened:
    """How far something came, where a later cut counts as not having come further than to it."""
    end = reached.end.copy()
    for event, first in zip(cut.event, cut.first, strict=True):
        before = reached.event < event
        end[before] = np.minimum(end[before], first)
    clipped = reached.only(np.arange(len(reached)))
    clipped.end = end
    return clipped


def _add_answers(cells: Cells, stage: str, ends: Happened) -> None:
    known = ends.only(ends.since != _UNKNOWN)
    cells.add(stage, "", known.slot, known.at - known.since, known.messages)


def _add_reached(cells: Cells, stage: str, appended: Happened, reached: Happened) -> None:
    """Each batch waits until its end is reached."""
    which = np.searchsorted(np.maximum.accumulate(reached.end), appended.end) if len(reached) else _nowhere(appended)
    # A follower may have reached this far before it became the leader and wrote this batch.
    which = np.maximum(which, np.searchsorted(reached.event, appended.event))
    ended = which < len(reached)
    batches, ends = appended.only(ended), reached.only(which[ended])
    cells.add(stage, "", ends.slot, ends.at - batches.at, batches.messages)
    waiting = appended.only(~ended)
    cells.add_open(stage, "", waiting.slot, waiting.messages)


def _nowhere(of: Happened) -> Integers:
    return np.zeros(len(of), np.int64)


def _steps(visible: Happened) -> Happened:
    """The moves of the watermark that went beyond all before, each from where the last one ended."""
    if not len(visible):
        return visible
    reach = np.maximum.accumulate(visible.end)
    before = np.concatenate([visible.first[:1], reach[:-1]])
    further = reach > before
    steps = visible.only(further)
    steps.first, steps.end, steps.since = before[further], reach[further], steps.at
    return steps


def _first_times(fetched: Happened, leased: Happened, readers: list[str]) -> Iterator[tuple[str, Happened]]:
    """What was sent to each group, and to all others, for the first time; `since` is when that reader came."""
    if len(fetched):
        yield STREAMS, _advances(fetched)
    for reader in np.unique(leased.reader):
        of_group = _arrived(leased.only(leased.reader == reader))
        yield readers[reader], of_group.only(of_group.attempt <= 1)


def _arrived(sent: Happened) -> Happened:
    """Each with the moment at which its reader first asked, or was first sent something, if that is all we know."""
    asked = np.where(sent.since == _UNKNOWN, sent.at, sent.since)
    _, first, which = np.unique(sent.reader, return_index=True, return_inverse=True)
    sent.since = asked[first][which]
    return sent


def _advances(sent: Happened) -> Happened:
    """Of ranges sent, to each reader in order, what lies beyond all that it was sent before."""
    if not len(sent):
        return sent
    ordered = _arrived(sent.only(np.argsort(sent.reader, kind="stable")))
    # One running maximum serves all readers, if what one reaches is below wherever the next one begins.
    floor = ordered.reader * (int(ordered.end.max()) + 1)
    reach = np.maximum.accumulate(ordered.end + floor)
    before = np.concatenate([[0], reach[:-1]]) - floor
    ordered.first = np.maximum(ordered.first, before)
    return ordered.only(ordered.end > ordered.first)


def _add_sent(cells: Cells, stage: str, reader: str, sent: Happened, began: Happened) -> None:
    """Each message sent waited since the `since` of the range in `began` that it lies in; these are in order."""
    which, place, begin, end = _pieces(sent, began)
    messages = end - begin
    here = (messages > 0) & (began.at[place] >= sent.since[which])
    which, place = which[here], place[here]
    cells.add(stage, reader, sent.slot[which], sent.at[which] - began.since[place], messages[here])


def _pieces(sent: Happened, began: Happened) -> tuple[Integers, Integers, Integers, Integers]:
    """Where ranges meet: which one of each, and from where to where."""
    low = np.searchsorted(began.end, sent.first, side="right")
    high = np.searchsorted(began.first, sent.end)
    counts = np.maximum(high - low, 0)
    which = np.repeat(np.arange(len(sent)), counts)
    place = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts) + low[which]
    begin = np.maximum(sent.first[which], began.first[place])
    return which, place, begin, np.minimum(sent.end[which], began.end[place])


def _add_acknowledged(cells: Cells, leased: Happened, acked: Happened, readers: list[str]) -> None:
    if not len(leased):
        return
    for reader in np.unique(acked.reader):
        given, done = leased.only(leased.reader == reader), acked.only(acked.reader == reader)
        leases, first = np.unique(given.lease, return_index=True)
        place = np.searchsorted(leases, done.lease)
        place[place == len(leases)] = 0
        known = (leases[place] == done.lease) if len(leases) else np.zeros(len(done), np.bool_)
        ended = done.only(known)
        began = given.at[first][place[known]]
        cells.add("acknowledge", readers[reader], ended.slot, ended.at - began, ended.messages)
