"""Who led after whom, and why: moments of a cluster in, a row for each time that another began to lead.

A partition's leaders follow one another by epoch, controllers by term. An epoch counts when somebody was seen to lead
in it, or when it was agreed on for a node of which nothing was read: a node that begins applies again what was agreed
before, and says so at a time that means nothing.

Why the one before led no longer is told by its process, if that ended before another led; else by how it stood among
the others when they agreed on another. All moments are by wall clocks, of several nodes.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any, Final, TypeAlias

import pyarrow as pa
from attrs import define, field

# A moment: `what` it is (see `succession`), of which partition, node and process, and when.
MOMENTS: Final = pa.schema(
    [
        ("what", pa.string()),
        ("topic", pa.string()),
        ("topic_id", pa.int64()),
        ("partition", pa.int32()),
        ("epoch", pa.int64()),
        ("node", pa.string()),
        ("run", pa.int64()),
        ("peer", pa.string()),
        ("begin_us", pa.int64()),
        ("end_us", pa.int64()),
        ("cause", pa.string()),
        ("part", pa.int32()),
    ]
)
SUCCESSION: Final = pa.schema(
    [
        ("what", pa.string()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("epoch", pa.int64()),
        *((name, pa.string()) for name in ("before", "leader", "cause")),
        *((f"{name}_us", pa.int64()) for name in ("since", "last", "gone", "noticed", "agreed", "led", "served")),
    ]
)
# Standings in which a node leads nothing for long.
_LEAVING: Final = ("dead", "stopping", "draining", "removed")
# Why a process is no more: by which of its moments says so.
_KILLED: Final = "killed"

Moment: TypeAlias = dict[str, Any]
Place: TypeAlias = tuple[str, int | None, int]


@define
class _Epoch:
    """Under which leader a partition was for an epoch, as far as anybody said: None for nobody."""

    number: int
    leader: str | None = None
    run: int | None = None
    agreed: int | None = None
    led: int | None = None
    # The first and the last write that were acknowledged.
    served: int | None = None
    last: int | None = None


@define
class _Process:
    """A run of a node: what is first and last known of it, and how it ended, if it said so."""

    run: int
    begin: int
    end: int
    cause: str = _KILLED


@define
class _Nodes:
    """Processes, standings and links by node, each in order of time."""

    processes: dict[str, list[_Process]] = field(factory=lambda: defaultdict(list))
    standings: dict[str, list[tuple[int, str]]] = field(factory=lambda: defaultdict(list))
    # Of each node: when another one met or lost it.
    links: dict[str, list[tuple[int, str, str]]] = field(factory=lambda: defaultdict(list))

    def run_of(self, node: str | None, at: int, run: int | None = None) -> _Process | None:
        """The process that led: that of the run, or the one that had begun last by some time."""
        known = self.processes.get(node or "", [])
        if run is not None:
            return next((one for one in known if one.run == run), None)
        place = bisect_right([one.begin for one in known], at) - 1
        return known[place] if place >= 0 else None

    def left(self, node: str, after: int, at: int) -> tuple[int, str] | None:
        """How a node last stood by some time, and since when, if it was about to leave or dead."""
        stood = [(time, cause) for time, cause in self.standings.get(node, []) if time <= at]
        if not stood or stood[-1][1] not in _LEAVING:
            return None
        same = [time for time, cause in stood if cause == stood[-1][1] and time >= after]
        return (same[0] if same else stood[-1][0]), stood[-1][1]

    def cut_off(self, node: str, at: int) -> int | None:
        """Since when another node had had no link to one, by some time."""
        lost: dict[str, int] = {}
        for time, other, what in self.links.get(node, []):
            if time <= at and what == "lost":
                lost.setdefault(other, time)
            elif time <= at:
                lost.pop(other, None)
        return min(lost.values(), default=None)


def succession(moments: pa.Table) -> pa.Table:
    """A row for each change of a leader; see SUCCESSION, and `failovers.answer` for what its columns say.

    Moments are, by `what`: placed (begin_us the first time that it was heard of, peer the leader), leads and led (node,
    run; led where that was so before the facts begin), written (begin_us and end_us the first and the last write that
    was acknowledged), process (node, run, begin_us and end_us, cause how it ended), standing (peer, cause), met and
    lost (node, peer), elected and deposed (node, run), and voted (the first vote of a term).
    """
    rows = moments.sort_by([("begin_us", "ascending"), ("node", "ascending"), ("part", "ascending")]).to_pylist()
    by_what: dict[str, list[Moment]] = defaultdict(list)
    for row in rows:
        by_what[row["what"]].append(row)
    nodes = _nodes(by_what)
    found = [row for place, epochs in _epochs(by_what, nodes) for row in _changes(place, epochs, nodes)]
    found += _controllers(by_what, nodes)
    return pa.Table.from_pylist(found, schema=SUCCESSION)


def _nodes(moments: dict[str, list[Moment]]) -> _Nodes:
    nodes = _Nodes()
    for row in moments["process"]:
        process = _Process(row["run"], row["begin_us"], row["end_us"], row["cause"] or _KILLED)
        nodes.processes[row["node"]].append(process)
    for row in moments["standing"]:
        nodes.standings[row["peer"]].append((row["begin_us"], row["cause"]))
    for row in sorted((*moments["met"], *moments["lost"]), key=lambda row: int(row["begin_us"])):
        nodes.links[row["peer"]].append((row["begin_us"], row["node"], row["what"]))
    return nodes


def _epochs(moments: dict[str, list[Moment]], nodes: _Nodes) -> Iterator[tuple[Place, list[_Epoch]]]:
    """The epochs of each partition that count, in order."""
    found: dict[Place, dict[int, _Epoch]] = defaultdict(dict)

    def epoch(row: Moment) -> _Epoch:
        place = row["topic"], row["topic_id"], row["partition"]
        return found[place].setdefault(row["epoch"], _Epoch(row["epoch"]))

    for row in moments["placed"]:
        placed = epoch(row)
        placed.leader, placed.agreed = row["peer"], row["begin_us"]
    for row in (*moments["led"], *moments["leads"]):
        led = epoch(row)
        led.leader, led.run = row["node"], row["run"]
        led.led = row["begin_us"] if row["what"] == "leads" else None
        if row["what"] == "led":
            # What is told of how it came to be is told again.
            led.agreed = None
    for row in moments["written"]:
        written = epoch(row)
        written.served, written.last = row["begin_us"], row["end_us"]
    for place in sorted(found, key=lambda place: (place[0], place[2], place[1] or 0)):
        ordered = [found[place][number] for number in sorted(found[place])]
        yield place, [one for one in ordered if one.run is not None or _is_seen(one, nodes)]


def _is_seen(epoch: _Epoch, nodes: _Nodes) -> bool:
    return epoch.leader is None or epoch.leader not in nodes.processes


def _changes(place: Place, epochs: list[_Epoch], nodes: _Nodes) -> Iterator[Moment]:
    """A row for each epoch whose leader was seen, after another; epochs of nobody lie between."""
    led = [index for index, one in enumerate(epochs) if one.leader is not None]
    for earlier, later in pairwise(led):
        nobody = next(iter(epochs[earlier + 1 : later]), None)
        is_same = (epochs[earlier].leader, epochs[earlier].run) == (epochs[later].leader, epochs[later].run)
        if is_same and nobody is None:
            continue
        yield _change(place, epochs[earlier], epochs[later], nobody, nodes)
    if led and led[-1] + 1 < len(epochs):
        nobody = epochs[led[-1] + 1]
        yield _change(place, epochs[led[-1]], _Epoch(nobody.number), nobody, nodes)


def _change(place: Place, before: _Epoch, after: _Epoch, nobody: _Epoch | None, nodes: _Nodes) -> Moment:
    agreed = after.agreed if after.agreed is not None or nobody is None else nobody.agreed
    at = next((time for time in (after.led, agreed) if time is not None), 0)
    since = before.led if before.led is not None else before.agreed
    cause, gone, noticed = _ended(before.leader or "", before.run, since or 0, (agreed, at), nodes)
    if noticed is None and nobody is not None:
        noticed = nobody.agreed
    return {
        "what": "partition", "topic": place[0], "partition": place[2], "epoch": after.number, "before": before.leader,
        "leader": after.leader, "cause": cause, "since_us": since, "last_us": before.last, "gone_us": gone,
        "noticed_us": noticed, "agreed_us": agreed, "led_us": after.led, "served_us": after.served,
    }  # fmt: skip


def _ended(
    node: str, run: int | None, since: int, ends: tuple[int | None, int], nodes: _Nodes
) -> tuple[str, int | None, int | None]:
    """Why somebody led no longer, since when, and when others noticed."""
    agreed, at = ends
    process = nodes.run_of(node, since, run)
    left = nodes.left(node, since, agreed if agreed is not None else at)
    noticed = left[0] if left else None
    if process is not None and process.end < at:
        # Of what was known before it was gone, it did not die.
        is_late = noticed is not None and noticed >= process.end
        return process.cause, process.end, noticed if is_late else None
    if left is None:
        return "moved", agreed, None
    if left[1] == "dead":
        return ("cut_off" if process is not None else "dead"), nodes.cut_off(node, left[0]), noticed
    return left[1], agreed, noticed


def _controllers(moments: dict[str, list[Moment]], nodes: _Nodes) -> Iterable[Moment]:
    voted = {row["epoch"]: row["begin_us"] for row in moments["voted"]}
    deposed = {(row["node"], row["run"], row["epoch"]): row["begin_us"] for row in moments["deposed"]}
    elected = sorted(moments["elected"], key=lambda row: int(row["epoch"]))
    for before, after in pairwise(elected):
        at = after["begin_us"]
        process = nodes.run_of(before["node"], at, before["run"])
        cause, gone = "deposed", deposed.get((before["node"], before["run"], before["epoch"]))
        if process is not None and process.end < at and (gone is None or process.end <= gone):
            cause, gone = process.cause, process.end
        yield {
            "what": "controller", "epoch": after["epoch"], "before": before["node"], "leader": after["node"],
            "cause": cause, "since_us": before["begin_us"], "gone_us": gone, "noticed_us": voted.get(after["epoch"]),
            "led_us": at,
        }  # fmt: skip
