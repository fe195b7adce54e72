"""What came of replaying captures: a row a file, and what all rows together say.

A row travels from a task to the driver as Arrow; `SCHEMA` and `SCHEMA_DDL` say its columns, `FileOutcome` is the same
as an object. A trouble is what kept a file from being read or from being taken for whole; a divergence is where the
node said something else than it had said, or died of what it had lived through.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Final

import pyarrow as pa
from attrs import asdict, define, field

_TROUBLES = pa.list_(pa.struct([("cause", pa.string()), ("words", pa.string())]))
_DIVERGENCE = pa.struct(
    [
        ("event", pa.int64()),
        ("wall_ms", pa.int64()),
        ("told", pa.string()),
        ("expected", pa.string()),
        ("actual", pa.string()),
    ]
)
_DIFFERENCES = pa.list_(
    pa.struct(
        [
            ("event", pa.int64()),
            ("wall_ms", pa.int64()),
            ("told", pa.string()),
            ("lane", pa.string()),
            ("side", pa.string()),
            ("words", pa.string()),
        ]
    )
)
_COUNTS = pa.list_(
    pa.struct([("kind", pa.string()), *((side, pa.int64()) for side in ("old", "new", "sooner", "later"))])
)
SCHEMA: Final = pa.schema(
    [
        ("path", pa.string()),
        ("node", pa.string()),
        ("run", pa.int64()),
        ("sequence", pa.int64()),
        ("version", pa.string()),
        ("python", pa.string()),
        ("wall_ms", pa.int64()),
        ("first_event", pa.int64()),
        ("events", pa.int64()),
        ("size_bytes", pa.int64()),
        ("seconds", pa.float64()),
        ("clock_steps", pa.int64()),
        ("borders", pa.int64()),
        ("troubles", _TROUBLES),
        ("divergence", _DIVERGENCE),
        ("differing", pa.int64()),
        ("differences", _DIFFERENCES),
        ("counts", _COUNTS),
        ("died", pa.string()),
    ]
)
SCHEMA_DDL: Final = (
    "path string, node string, run bigint, sequence bigint, version string, python string, wall_ms bigint, "
    "first_event bigint, events bigint, size_bytes bigint, seconds double, clock_steps bigint, borders bigint, "
    "troubles array<struct<cause: string, words: string>>, "
    "divergence struct<event: bigint, wall_ms: bigint, told: string, expected: string, actual: string>, "
    "differing bigint, differences array<struct<event: bigint, wall_ms: bigint, told: string, lane: string, "
    "side: string, words: string>>, "
    "counts array<struct<kind: string, old: bigint, new: bigint, sooner: bigint, later: bigint>>, died string"
)
# Which of two nodes said something, in words.
_SIDES: Final = {"old": "only old", "new": "only new", "sooner": "new is sooner", "later": "new is later"}
# What ends early without being wrong: the last file of a process that was killed.
TAIL: Final = "tail"


@define
class Trouble:
    """What is wrong with a file: one word, and a sentence."""

    cause: str
    words: str


@define
class Diverged:
    """Where a node did not do again what it did."""

    event: int
    wall_ms: int
    told: str
    expected: str
    actual: str


@define
class Difference:
    """One thing that two nodes did not say alike; `side` as for a count."""

    event: int
    wall_ms: int
    told: str
    lane: str
    side: str
    words: str


@define
class Count:
    """How many things of a kind only the `old` node said, only the `new` one, or that one `sooner` or `later`."""

    kind: str
    old: int = 0
    new: int = 0
    sooner: int = 0
    later: int = 0


@define
class FileOutcome:
    """What came of one file."""

    path: str
    node: str = ""
    run: int = -1
    sequence: int = -1
    version: str = ""
    python: str = ""
    wall_ms: int = 0
    first_event: int = 0
    events: int = 0
    size_bytes: int = 0
    seconds: float = 0.0
    clock_steps: int = 0
    # How many times the state was compared with the snapshot of the file that follows.
    borders: int = 0
    troubles: list[Trouble] = field(factory=list)
    divergence: Diverged | None = None
    # Of a changed node beside the old one: in how many of its turns it said something else, and what.
    differing: int = 0
    differences: list[Difference] = field(factory=list)
    counts: list[Count] = field(factory=list)
    died: str = ""

    @property
    def is_identical(self) -> bool:
        """Whether all of it was read and came out the same; a tail that a kill cut off does not count."""
        return self.divergence is None and all(trouble.cause == TAIL for trouble in self.troubles)


def rows_of(outcomes: Iterable[FileOutcome]) -> pa.RecordBatch:
    """Outcomes as Arrow."""
    return pa.RecordBatch.from_pylist([asdict(one) for one in outcomes], schema=SCHEMA)


def outcome_of(row: dict[str, Any]) -> FileOutcome:
    """The outcome in a row, as a dictionary of dictionaries."""
    known = dict(row)
    known["troubles"] = [Trouble(**one) for one in known["troubles"]]
    known["divergence"] = None if known["divergence"] is None else Diverged(**known["divergence"])
    known["differences"] = [Difference(**one) for one in known["differences"]]
    known["counts"] = [Count(**one) for one in known["counts"]]
    return FileOutcome(**known)


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
            same = "identical" if all(one.is_identical for one in of_node) else "NOT identical"
            events, borders = sum(one.events for one in of_node), sum(one.borders for one in of_node)
            lines.append(f"{node or '-'} {same}: {events:,} events, {len(of_node)} files, {borders} borders compared")
        return lines

    def _notes(self) -> list[str]:
        notes = []
        if len(self.versions) > 1:
            notes.append(f"captures of several releases: {', '.join(self.versions)}")
        if self.beheaded:
            notes.append(f"{self.beheaded} runs begin after their first file")
        if self.clock_steps:
            notes.append(f"{self.clock_steps} steps of a wall clock")
        return notes


def spelled(wall_ms: int) -> str:
    """A time of the wall clock, for people."""
    return f"{datetime.fromtimestamp(wall_ms / 1000, UTC):%Y-%m-%d %H:%M:%S.%f}"[:-3] + " UTC"
