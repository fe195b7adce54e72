"""Leases of which no end is to be found: the facts of one group and partition in, the messages that are still out.

A lease that has not ended when the facts do is in flight. One whose message is leased again all the same was lost with
its leader, or ended in events that no capture has: then the delivery after it comes of no cause that anybody noted.

Most leases end as a whole, and are told by a sum; only of the others is each range looked at.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

ENDS: Final = ("acked", "returned", "doomed")
COLUMNS: Final = ("kind", "time_us", "first", "end", "attempt", "lease")
UNENDED: Final = pa.schema(
    [
        ("group", pa.string()),
        ("topic", pa.string()),
        ("attempt", pa.int32()),
        ("time_us", pa.int64()),
        ("again", pa.bool_()),
        ("messages", pa.int64()),
    ]
)
_Range = tuple[int, int]


def unended(facts: pa.Table, group: str, topic: str) -> pa.Table:
    """Ranges of leases without an end; `again` where other leases have these messages after that."""
    leased = facts.filter(pc.equal(facts["kind"], "leased")).sort_by("time_us")
    suspects = _suspects(facts)
    if not suspects:
        return UNENDED.empty_table()
    ended = _by_lease(facts.filter(pc.is_in(facts["kind"], pa.array(ENDS))), suspects)
    later = _Later(leased)
    rows = []
    for row in leased.filter(pc.is_in(leased["lease"], pa.array(suspects, pa.int64()))).to_pylist():
        for first, end in without((row["first"], row["end"]), ended.get(row["lease"], [])):
            again = later.count(first, end, row["time_us"], row["lease"])
            for is_again, count in ((True, again), (False, end - first - again)):
                if count:
                    rows.append((group, topic, row["attempt"], row["time_us"], is_again, count))
    columns = zip(*rows, strict=True) if rows else [[] for _ in UNENDED.names]
    return pa.table([pa.array(column, kind.type) for column, kind in zip(columns, UNENDED, strict=True)], UNENDED)


def _suspects(facts: pa.Table) -> list[int]:
    """The leases of which more was given than has ended."""
    sizes = facts.append_column("size", pc.subtract(facts["end"], facts["first"]))
    given = sizes.filter(pc.equal(sizes["kind"], "leased")).group_by("lease").aggregate([("size", "sum")])
    ended = sizes.filter(pc.is_in(sizes["kind"], pa.array(ENDS))).group_by("lease").aggregate([("size", "sum")])
    sums = dict(zip(ended["lease"].to_pylist(), ended["size_sum"].to_pylist(), strict=True))
    rows = zip(given["lease"].to_pylist(), given["size_sum"].to_pylist(), strict=True)
    return sorted(lease for lease, size in rows if sums.get(lease, 0) < size)


def _by_lease(ends: pa.Table, leases: list[int]) -> dict[int, list[_Range]]:
    found: dict[int, list[_Range]] = {}
    for row in ends.filter(pc.is_in(ends["lease"], pa.array(leases, pa.int64()))).to_pylist():
        found.setdefault(row["lease"], []).append((row["first"], row["end"]))
    return found


def without(whole: _Range, parts: Iterable[_Range]) -> list[_Range]:
    """What is left of a range without some others."""
    left, at = [], whole[0]
    for first, end in sorted(parts):
        if first > at:
            left.append((at, min(first, whole[1])))
        at = max(at, end)
        if at >= whole[1]:
            break
    if at < whole[1]:
        left.append((at, whole[1]))
    return [part for part in left if part[0] < part[1]]


class _Later:
    """All leases by where they begin, to find those that come after another."""

    def __init__(self, leased: pa.Table) -> None:
        self._ranges: list[tuple[int, int, int, int]] = []
        self._longest = 0
        columns = (leased[name].to_pylist() for name in ("first", "end", "time_us", "lease"))
        for first, end, time_us, lease in zip(*columns, strict=True):
            insort(self._ranges, (first, end, time_us, lease))
            self._longest = max(self._longest, end - first)

    def count(self, first: int, end: int, time_us: int, lease: int) -> int:
        """How many messages of a range other leases have after a time."""
        at = bisect_left(self._ranges, (first - self._longest, 0, 0, 0))
        parts = []
        while at < len(self._ranges) and self._ranges[at][0] < end:
            begin, after, when, number = self._ranges[at]
            if number != lease and when >= time_us:
                parts.append((begin, after))
            at += 1
        return end - first - sum(after - begin for begin, after in without((first, end), parts))
