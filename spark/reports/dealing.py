"""How lanes were served: the facts of one partition on its leader, for one group, in; waits and shares out.

A message of a lane has waited from its append until its first lease. Both are on the leader's own clock, and the batch
of a lease is found by offset.

What share a lane was to have depends on which lanes had anything waiting: a lane that is alone has it all. So each
delivery is divided among the lanes that had something just before it, by their weights, and that is what it is compared
with. What was given up before anybody had it waits no longer. What was appended before the facts begin and leased after
that is in no known batch, and is left out; and so are groups that know no lanes, which are those that go by keys.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from attrs import define, fields

from goqueue.spark.reports.cells import Integers, cell_of

Floats = npt.NDArray[np.float64]

LANES: Final = ("normal", "critical", "high", "low", "background")
COLUMNS: Final = ("kind", "group", "at", "time_us", "first", "end", "lane")
ROWS: Final = pa.schema(
    [
        ("topic", pa.string()),
        ("reader", pa.string()),
        ("lane", pa.int32()),
        ("slot", pa.int32()),
        ("cell", pa.int32()),
        ("messages", pa.int64()),
        ("wanted", pa.float64()),
        ("longest_ns", pa.int64()),
    ]
)
# Cells that are none: what was dealt out, and what had waited for too long by then.
DEALT: Final = -2
STARVED: Final = -3


@define
class Terms:
    """How a topic's lanes are to be served: weights by lane as batches number them, and when a wait is too long."""

    weights: Sequence[int]
    starvation_ns: int


@define
class _Ranges:
    """Ranges of offsets: when each was, in which slot and of which lane."""

    first: Integers
    end: Integers
    at: Integers
    slot: Integers
    lane: Integers

    def __len__(self) -> int:
        return len(self.first)

    def only(self, chosen: Integers | npt.NDArray[np.bool_]) -> "_Ranges":
        """Some of them, or all in another order."""
        return _Ranges(*(getattr(self, column.name)[chosen] for column in fields(_Ranges)))


def dealt(facts: pa.Table, topic: str, terms: Terms, begin: int, width: int) -> pa.Table:
    """Cells of waits by lane, and what was dealt out beside what was to be; a row says which by its cell."""
    appended = _standing(_ranges(facts.filter(pc.equal(facts["kind"], "appended")), begin, width))
    leased = facts.filter(pc.and_(pc.equal(facts["kind"], "leased"), pc.is_valid(facts["group"])))
    parts: list[pa.Table] = []
    doomed = facts.filter(pc.equal(facts["kind"], "doomed"))
    by_lanes = leased.filter(pc.is_valid(leased["lane"]))["group"]
    for group in sorted(pc.unique(by_lanes).to_pylist()) if len(appended) else ():
        given, came = _known(_once(_of(leased, group, begin, width)), appended)
        if len(given):
            gone = _never_given(_known(_once(_of(doomed, group, begin, width)), appended)[0], given)
            parts += _waits(topic, group, given, came, terms)
            parts.append(_shares(topic, group, appended, given, gone, terms))
    return pa.concat_tables(parts) if parts else ROWS.empty_table()


def _of(facts: pa.Table, group: str, begin: int, width: int) -> _Ranges:
    return _ranges(facts.filter(pc.equal(facts["group"], group)), begin, width)


def _ranges(facts: pa.Table, begin: int, width: int) -> _Ranges:
    """In order of time."""
    ordered = facts.sort_by("at")
    first, end, at, time_us, lane = (
        pc.fill_null(ordered[name].cast(pa.int64()), 0).to_numpy() for name in ("first", "end", "at", "time_us", "lane")
    )
    return _Ranges(first, end, at, (time_us - begin) // width, lane)


def _standing(appended: _Ranges) -> _Ranges:
    """By offset; of batches at one offset the last, for those before it were cut."""
    kept = np.unique(appended.first[::-1], return_index=True)[1]
    return appended.only(len(appended) - 1 - kept)


def _once(leased: _Ranges) -> _Ranges:
    """By offset, each message when it was leased for the first time."""
    ordered = leased.only(np.argsort(leased.first, kind="stable"))
    if not (ordered.first[1:] < np.maximum.accumulate(ordered.end)[:-1]).any():
        return ordered
    counts = leased.end - leased.first
    which = np.repeat(np.arange(len(leased)), counts)
    offsets = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts) + leased.first[which]
    offsets, place = np.unique(offsets, return_index=True)
    single = leased.only(which[place])
    single.first, single.end = offsets, offsets + 1
    return single


def _known(leased: _Ranges, appended: _Ranges) -> tuple[_Ranges, Integers]:
    """Leases cut at the seams of batches, each with the lane of its batch, and when that was appended."""
    low = np.searchsorted(appended.end, leased.first, side="right")
    high = np.searchsorted(appended.first, leased.end)
    counts = np.maximum(high - low, 0)
    which = np.repeat(np.arange(len(leased)), counts)
    place = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts) + low[which]
    pieces = leased.only(which)
    pieces.first = np.maximum(pieces.first, appended.first[place])
    pieces.end = np.minimum(pieces.end, appended.end[place])
    pieces.lane = appended.lane[place]
    is_one = (pieces.end > pieces.first) & (pieces.at >= appended.at[place])
    return pieces.only(is_one), appended.at[place][is_one]


def _never_given(doomed: _Ranges, given: _Ranges) -> _Ranges:
    """Messages one by one that were given up and that nobody ever had; `given` is by offset."""
    counts = doomed.end - doomed.first
    single = doomed.only(np.repeat(np.arange(len(doomed)), counts))
    single.first = single.first + np.arange(len(single)) - np.repeat(np.cumsum(counts) - counts, counts)
    single.end = single.first + 1
    place = np.searchsorted(given.first, single.first, side="right") - 1
    return single.only((place < 0) | (given.end[place] <= single.first))


def _waits(topic: str, group: str, given: _Ranges, came: Integers, terms: Terms) -> Iterator[pa.Table]:
    waits, counts = given.at - came, given.end - given.first
    cells = cell_of(waits)
    for lane in np.unique(given.lane):
        here = given.lane == lane
        yield _summed(topic, group, lane, given.slot[here], cells[here], counts[here], waits[here])
        late = here & (waits > terms.starvation_ns)
        yield _summed(topic, group, lane, given.slot[late], np.full(late.sum(), STARVED), counts[late], waits[late])


def _summed(
    topic: str, group: str, lane: int, slots: Integers, cells: Integers, counts: Integers, longest: Integers
) -> pa.Table:
    keys = slots * (1 << 32) + cells - STARVED
    order = np.argsort(keys, kind="stable")
    found, starts = np.unique(keys[order], return_index=True)
    if not len(found):
        return ROWS.empty_table()
    sums, most = np.add.reduceat(counts[order], starts), np.maximum.reduceat(longest[order], starts)
    return _table(topic, group, lane, found >> 32, (found & 0xFFFFFFFF) + STARVED, sums, np.zeros(len(found)), most)


def _table(
    topic: str, group: str, lane: int, slots: Integers, cells: Integers, messages: Integers, wanted: Floats,
    longest: Integers,
) -> pa.Table:  # fmt: skip
    count = len(slots)
    columns = [
        pa.repeat(pa.scalar(topic), count), pa.repeat(pa.scalar(group), count),
        pa.repeat(pa.scalar(int(lane), pa.int32()), count), pa.array(slots.astype(np.int32)),
        pa.array(cells.astype(np.int32)), pa.array(messages), pa.array(wanted), pa.array(longest),
    ]  # fmt: skip
    return pa.table(columns, ROWS)


def _shares(
    topic: str, group: str, appended: _Ranges, given: _Ranges, gone: _Ranges, terms: Terms
) -> pa.Table:  # fmt: skip
    """What each lane was dealt, beside what it was to be dealt, by slots."""
    moments, event = np.unique(given.at, return_inverse=True)
    counts = given.end - given.first
    delivered = np.zeros((len(moments), len(LANES)))
    np.add.at(delivered, (event, given.lane), counts)
    before = np.cumsum(delivered, axis=0) - delivered
    waiting = _by_then(appended, moments) - _by_then(gone, moments) - before
    wanted = _divided(delivered.sum(axis=1), np.maximum(waiting, delivered), np.array(terms.weights, np.float64))
    slots = np.zeros(len(moments), np.int64)
    slots[event] = given.slot
    parts = []
    found, which = np.unique(slots, return_inverse=True)
    for lane in range(len(LANES)):
        messages, share = np.zeros(len(found), np.int64), np.zeros(len(found))
        np.add.at(messages, which, delivered[:, lane].astype(np.int64))
        np.add.at(share, which, wanted[:, lane])
        some = (messages > 0) | (share > 0)
        nothing = np.zeros(int(some.sum()), np.int64)
        cells = nothing + DEALT
        parts.append(_table(topic, group, lane, found[some], cells, messages[some], share[some], nothing))
    return pa.concat_tables(parts)


def _by_then(ranges: _Ranges, moments: Integers) -> Floats:
    """How many messages there were of each lane by some moments."""
    found = np.zeros((len(moments), len(LANES)))
    for lane in range(len(LANES)):
        here = ranges.lane == lane
        order = np.argsort(ranges.at[here], kind="stable")
        sums = np.concatenate([[0], np.cumsum((ranges.end - ranges.first)[here][order])])
        found[:, lane] = sums[np.searchsorted(ranges.at[here][order], moments, side="right")]
    return found


def _divided(totals: Floats, backlog: Floats, weights: Floats) -> Floats:
    """So many messages a row, divided by weight among the lanes that have some, none getting more than it has."""
    shares = np.zeros_like(backlog)
    left = totals.copy()
    for _ in LANES:
        open_to = backlog - shares > 1e-9
        weight = np.where(open_to, weights, 0.0)
        sums = weight.sum(axis=1, keepdims=True)
        more = np.divide(weight * left[:, None], sums, out=np.zeros_like(weight), where=sums > 0)
        more = np.minimum(more, backlog - shares)
        shares += more
        left = totals - shares.sum(axis=1)
    return shares
