"""What all files of some captures come to together, for people and for programs.

Only the driver of a job needs this; a task ends with its row (`outcome.py`).
"""

from collections import Counter
from datetime import UTC, datetime
from typing import Any, Final

from attrs import asdict, define

from goqueue.cli.output import counted
from goqueue.spark.captures.outcome import TAIL, Count, FileOutcome

# Which of two nodes said something, in words.
_SIDES: Final = {"old": "only old", "new": "only new", "sooner": "new is sooner", "later": "new is later"}


@define
class ReplaySummary:
    """What came of all files, in the order of nodes, runs and numbers."""

    files: list[FileOutcome]
    seconds: float = 0.0

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
        """What only one of the nodes said, by kind, the most frequent first."""
        sums: dict[str, Count] = {}
        for one in (count for file in self.files for count in file.counts):
            total = sums.setdefault(one.kind, Count(one.kind))
            total.old += one.old
            total.new += one.new
            total.sooner += one.sooner
            total.later += one.later
        return sorted(sums.values(), key=lambda one: (-one.old - one.new - one.sooner - one.later, one.kind))

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
        lines = [f"{one.path}: the changed node died: {one.died}" for one in self.files if one.died]
        for one in self.files:
            lines += [
                f"{one.path} event {differ.event:,}, {spelled(differ.wall_ms)}, {differ.told}: "
                f"{differ.lane}, {_SIDES[differ.side]}: {differ.words}"
                for differ in one.differences
            ]
        lines += [
            f"{one.kind}: {one.old:,} only old, {one.new:,} only new, {one.sooner:,} sooner, {one.later:,} later"
            for one in self.counts
        ]
        return [*lines, f"{self.differing:,} turns differ"] if self.differing else lines

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
