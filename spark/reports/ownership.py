"""Who had which partition of a group, and when nobody had: the facts of one group in order, rows out.

A partition is down from when a member may no longer read it until somebody may. What passes from one to the next in a
single step is not down at all, and neither is what a member keeps. A coordinator that takes over says who owns what; an
owner that changed unseen had the partition until then. A partition of a topic that was deleted is not there to be read,
and so not down; when it was deleted, nodes say.

Times are of the coordinator's own clock, as long as one process coordinates: the end of a wait and its begin are then
apart by exactly that. Across two coordinators they are by the wall clocks of both.
"""

from typing import Any, Final

import pyarrow as pa
from attrs import define, field

COLUMNS: Final = (
    "kind", "node", "run", "event", "part", "at", "time_us", "member", "topic", "partition", "epoch", "since", "cause",
    "count",
)  # fmt: skip
KINDS: Final = ("known", "owned", "disowned", "told", "rebalanced", "group", "joined", "left")
OWNERSHIP: Final = pa.schema(
    [
        *((name, pa.string()) for name in ("what", "group", "topic")),
        ("partition", pa.int32()),
        ("epoch", pa.int64()),
        *((name, pa.string()) for name in ("before", "member", "cause")),
        *((name, pa.int64()) for name in ("begin_us", "end_us", "span_ns", "told_ns", "count")),
    ]
)
# A group is at rest in these states.
_AT_REST: Final = ("stable", "empty", "deleted")

# A time that never comes.
ENDLESS: Final = 1 << 62

Fact = dict[str, Any]
# By topic: when it was deleted, and when another one of its name was made, in microseconds.
Absences = dict[str, list[tuple[int, int]]]
Slot = tuple[str, int]


def ownership(facts: pa.Table, group: str, absences: Absences | None = None) -> pa.Table:
    """Rows of a group, each `what`: a hold, a gap that nobody owned, or a rebalance.

    hold: member had topic-partition from begin to end. gap: nobody had it after `before`, which lost it for `cause`,
    until member did, in generation epoch; `told_ns` until that was told so. rebalance: generation epoch, for `cause`,
    from when it was wanted until all was handed over; count partitions change hands. `absences` are the times between
    the deletion of a topic and the making of the next of its name.
    """
    keys = [("time_us", "ascending"), ("node", "ascending"), ("event", "ascending"), ("part", "ascending")]
    story = _Story(group, absences or {})
    for fact in facts.sort_by(keys).to_pylist():
        story.hear(fact)
    return pa.Table.from_pylist(story.end(), schema=OWNERSHIP)


@define
class _Open:
    """Something that goes on: how it began, and the row that it becomes."""

    fact: Fact
    row: Fact


@define
class _Story:
    """What has happened so far in a group."""

    group: str
    _absences: Absences
    _rows: list[Fact] = field(factory=list)
    _holds: dict[Slot, _Open] = field(factory=dict)
    _gaps: dict[Slot, _Open] = field(factory=dict)
    # Gaps that have ended, and whose new owner was not told yet.
    _untold: dict[Slot, _Open] = field(factory=dict)
    _rebalances: list[_Open] = field(factory=list)

    def hear(self, fact: Fact) -> None:
        """The next fact."""
        kind = fact["kind"]
        slot = (fact["topic"], fact["partition"])
        if kind in ("known", "owned"):
            self._owned(slot, fact)
        elif kind == "disowned":
            self._disowned(slot, fact)
        elif kind == "told":
            self._told(slot, fact)
        elif kind == "rebalanced":
            self._rebalanced(fact)
        elif kind == "group" and fact["cause"] in _AT_REST:
            for rebalance in self._rebalances:
                self._close(rebalance, fact)
            self._rebalances = []

    def _owned(self, slot: Slot, fact: Fact) -> None:
        hold = self._holds.get(slot)
        if hold is not None and hold.row["member"] == fact["member"]:
            return
        if hold is not None:
            self._close(hold, fact)
        self._holds[slot] = self._begin("hold", fact, slot, member=fact["member"])
        gap = self._gaps.pop(slot, None)
        if gap is not None and self._is_cut_short(gap, fact["time_us"]):
            gap = None
        if gap is not None:
            gap.row["member"], gap.row["epoch"] = fact["member"], fact["epoch"]
            self._close(gap, fact)
            if gap.row["member"] != gap.row["before"]:
                self._untold[slot] = gap

    def _disowned(self, slot: Slot, fact: Fact) -> None:
        hold = self._holds.get(slot)
        if hold is not None and hold.row["member"] == fact["member"]:
            self._close(self._holds.pop(slot), fact)
        self._untold.pop(slot, None)
        is_there = self._absence(slot[0], fact["time_us"], fact["time_us"]) is None
        if slot not in self._gaps and slot not in self._holds and is_there:
            self._gaps[slot] = self._begin("gap", fact, slot, before=fact["member"], cause=fact["cause"])

    def _absence(self, topic: str, begin_us: int, end_us: int) -> int | None:
        """Since when a topic was not there at some time between two; None if it was all the time."""
        return next((gone for gone, made in self._absences.get(topic, ()) if gone <= end_us and begin_us < made), None)

    def _is_cut_short(self, gap: _Open, end_us: int) -> bool:
        """Whether a gap ended with its topic, where it is told of as a whole."""
        begin_us = gap.row["begin_us"]
        gone = self._absence(gap.row["topic"], begin_us, end_us)
        if gone is None:
            return False
        if gone > begin_us:
            gap.row["end_us"], gap.row["span_ns"] = gone, (gone - begin_us) * 1000
            self._rows.append(gap.row)
        return True

    def _told(self, slot: Slot, fact: Fact) -> None:
        gap = self._untold.get(slot)
        if gap is not None and gap.row["member"] == fact["member"]:
            gap.row["told_ns"] = _between(gap.fact, fact)
            del self._untold[slot]

    def _rebalanced(self, fact: Fact) -> None:
        wanted = self._begin("rebalance", fact, (None, None), epoch=fact["epoch"], cause=fact["cause"])
        wanted.row["count"] = fact["count"]
        if fact["since"] is not None:
            waited = max(fact["at"] - fact["since"], 0)
            wanted.fact = {**fact, "at": fact["at"] - waited, "time_us": fact["time_us"] - waited // 1000}
            wanted.row["begin_us"] = wanted.fact["time_us"]
        self._rebalances.append(wanted)

    def _begin(self, what: str, fact: Fact, slot: tuple[str | None, int | None], **columns: object) -> _Open:
        row = {"what": what, "group": self.group, "topic": slot[0], "partition": slot[1], "begin_us": fact["time_us"]}
        return _Open(fact, row | columns)

    def _close(self, opened: _Open, fact: Fact) -> None:
        opened.row["end_us"], opened.row["span_ns"] = fact["time_us"], _between(opened.fact, fact)
        self._rows.append(opened.row)

    def end(self) -> list[Fact]:
        """All rows; what has not ended by then has no end."""
        gaps = [gap for gap in self._gaps.values() if not self._is_cut_short(gap, ENDLESS)]
        opened = [*self._holds.values(), *gaps, *self._rebalances]
        return [*self._rows, *(each.row for each in opened)]


def _between(before: Fact, after: Fact) -> int:
    """How long it was from one to the other."""
    if (before["node"], before["run"]) == (after["node"], after["run"]):
        return int(after["at"] - before["at"])
    return int(after["time_us"] - before["time_us"]) * 1000
