"""What all files of some captures come to together, for people and for programs.

Only the driver of a job needs this; a task ends with its row (`outcome.py`).
"""

from collections import Counter
from datetime import UTC, datetime
from typing import Any, Final

from attrs import asdict, define, field

from goqueue.cli.output import counted
from goqueue.core.capture.alterations import whose
from goqueue.core.capture.decisions import LANES
from goqueue.spark.captures.outcome import TAIL, Count, FileOutcome

# Which of two nodes said something, in words.
_SIDES: Final = {"old": "only old", "new": "only new", "sooner": "new is sooner", "later": "new is later"}


@define
class ReplaySummary:
    """What came of all files, in the order of nodes, runs and numbers."""

    files: list[FileOutcome]
    seconds: float = 0.0
    # What was changed in the node beside.
    settings: dict[str, str] = field(factory=dict)
    code: str = ""

    @property
    def is_identical(self) -> bool:
        """Whether everything was read and came out the same."""
        return bool(self.files) and all(one.is_identical for one in self.files)

    @property
    def events(self) -> int:
        """How many events were told."""
        return sum(one.events for one in self.files)

    @property
    def nodes(self) -> list[str]:
        """Whose captures these are."""
        return sorted({one.node for one in self.files if one.node})

    @property
    def versions(self) -> list[str]:
        """The releases that wrote them."""
        return sorted({one.version for one in self.files if one.version})

    @property
    def clock_steps(self) -> int:
        """How often a wall clock stepped."""
        return sum(one.clock_steps for one in self.files)

    @property
    def diverged(self) -> list[FileOutcome]:
        """The files in which something came out otherwise."""
        return [one for one in self.files if one.divergence is not None]

    @property
    def troubled(self) -> list[FileOutcome]:
        """The files with which something is wrong, tails among them."""
        return [one for one in self.files if one.troubles]

    @property
    def causes(self) -> dict[str, int]:
        """How many files have a trouble, by its cause."""
        found = Counter(cause for one in self.files for cause in {trouble.cause for trouble in one.troubles})
        return dict(sorted(found.items()))

    @property
    def beheaded(self) -> int:
        """How many runs do not begin with their first file, which an old one does once it was made room for."""
        firsts: dict[tuple[str, int], int] = {}
        for one in self.files:
            key = one.path.rpartition("/")[0], one.run
            firsts[key] = min(firsts.get(key, one.sequence), one.sequence)
        return sum(first > 0 for first in firsts.values())

    @property
    def differing(self) -> int:
        """In how many turns a changed node said something else."""
        return sum(one.differing for one in self.files)

    @property
    def counts(self) -> list[Count]:
        """What only one of the nodes said, by kind, what clients see first."""
        sums: dict[str, Count] = {}
        for one in (count for file in self.files for count in file.counts):
            total = sums.setdefault(one.kind, Count(one.kind))
            total.old += one.old
            total.new += one.new
            total.sooner += one.sooner
            total.later += one.later
        return sorted(sums.values(), key=lambda one: (LANES.index(one.kind.partition(":")[0]), one.kind))

    @property
    def unmet(self) -> list[str]:
        """The settings of topics, groups and clusters that no node knows."""
        met = {name for one in self.files for name in one.met}
        return [name for name in self.settings if whose(name) not in met]

    def structure(self) -> dict[str, Any]:
        """All of it as plain values, for JSON."""
        return {
            "identical": self.is_identical,
            "nodes": self.nodes,
            "versions": self.versions,
            "events": self.events,
            "seconds": round(self.seconds, 3),
            "troubles": self.causes,
            "clock_steps": self.clock_steps,
            "runs_without_first_file": self.beheaded,
            "settings": self.settings,
            "code": self.code,
            "settings_of_nothing_known": self.unmet,
            "differing": self.differing,
            "counts": [asdict(one) for one in self.counts],
            "files": [asdict(one) for one in self.files],
        }

    def lines(self) -> list[str]:
        """All of it in words: what is wrong first, one line a node last."""
        return [*self._troubles(), *self._divergences(), *self._what_changed(), *self._nodes(), *self._notes()]

    def _troubles(self) -> list[str]:
        return [f"{one.path}: {trouble.words} ({trouble.cause})" for one in self.troubled for trouble in one.troubles]

    def _divergences(self) -> list[str]:
        lines = []
        for one in self.diverged:
            found = one.divergence
            assert found is not None
            lines += [f"{one.path} diverged at event {found.event:,}, {spelled(found.wall_ms)}"]
            lines += [f"  told      {found.told}", f"  expected  {found.expected}", f"  actual    {found.actual}"]
        return lines

    def _what_changed(self) -> list[str]:
        """What the changed node said otherwise: the first of it in words, then all of it counted."""
        if not self.settings and not self.code:
            return []
        lines = [f"{one.path}: the changed node died: {one.died}" for one in self.files if one.died]
        lines += [f"--set {name}: no capture knows {whose(name)}, so nothing was changed" for name in self.unmet]
        for one in self.files:
            lines += _differences(one)
        if self.counts:
            lines += self._table()
            lines.append(f"the changed node says something else in {counted(self.differing, 'turn')}")
        elif not any(one.died for one in self.files):
            lines.append("the changed node says the same, everywhere")
        return lines

    def _table(self) -> list[str]:
        """How much of each kind only one of the two said, or the changed one at another time."""
        heads = "WHAT", "ONLY OLD", "ONLY NEW", "NEW SOONER", "NEW LATER"
        rows = [
            heads,
            *((one.kind, *(f"{n:,}" for n in (one.old, one.new, one.sooner, one.later))) for one in self.counts),
        ]
        widths = [max(len(row[at]) for row in rows) for at in range(len(heads))]
        return ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows]

    def _nodes(self) -> list[str]:
        lines = []
        for node in sorted({one.node for one in self.files}):
            of_node = [one for one in self.files if one.node == node]
            same = _verdict(of_node)
            events, borders = sum(one.events for one in of_node), sum(one.borders for one in of_node)
            counts = (
                f"{counted(events, 'event')}, {counted(len(of_node), 'file')}, {counted(borders, 'border')} compared"
            )
            lines.append(f"{node or '-'} {same}: {counts}")
        return lines

    def _notes(self) -> list[str]:
        notes = []
        causes = [f"{count:,} {cause}" for cause, count in self.causes.items() if cause != TAIL]
        if causes:
            notes.append(f"of {counted(len(self.files), 'file')}, missing or unreadable in part: {', '.join(causes)}")
        if len(self.versions) > 1:
            notes.append(f"captures of several releases: {', '.join(self.versions)}")
        if self.beheaded:
            notes.append(f"{counted(self.beheaded, 'run')} without the first file")
        if self.clock_steps:
            notes.append(f"{counted(self.clock_steps, 'step')} of a wall clock")
        return notes


def _differences(one: FileOutcome) -> list[str]:
    name = one.path.rpartition("/")[2]
    lines = []
    for differ in one.differences:
        lines += [
            f"{spelled(differ.wall_ms)}  {one.node}  event {differ.event:,} of {name}, at {differ.told}",
            f"  {_SIDES[differ.side]:<13}  {differ.lane}: {differ.words}",
        ]
    return lines


def _verdict(files: list[FileOutcome]) -> str:
    """Whether what a node was told came out the same, in words."""
    if any(one.divergence is not None for one in files):
        return "DIVERGED"
    if all(one.is_identical for one in files):
        return "identical"
    return "identical as far as it could be read" if any(one.events for one in files) else "could not be read"


def spelled(wall_ms: int) -> str:
    """A time of the wall clock, for people."""
    return f"{datetime.fromtimestamp(wall_ms / 1000, UTC):%Y-%m-%d %H:%M:%S.%f}"[:-3] + " UTC"
