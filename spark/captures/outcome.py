"""What came of replaying a capture file: a row, and the same as an object.

A row travels from a task to the driver as Arrow; `SCHEMA` and `SCHEMA_DDL` say its columns, `FileOutcome` is the same
as an object. A trouble is what kept a file from being read or from being taken for whole; a divergence is where the
node said something else than it had said, or died of what it had lived through.
"""

from collections.abc import Iterable
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
        ("met", pa.list_(pa.string())),
    ]
)
SCHEMA_DDL: Final = (
    "path string, node string, run bigint, sequence bigint, version string, python string, wall_ms bigint, "
    "first_event bigint, events bigint, size_bytes bigint, seconds double, clock_steps bigint, borders bigint, "
    "troubles array<struct<cause: string, words: string>>, "
    "divergence struct<event: bigint, wall_ms: bigint, told: string, expected: string, actual: string>, "
    "differing bigint, differences array<struct<event: bigint, wall_ms: bigint, told: string, lane: string, "
    "side: string, words: string>>, "
    "counts array<struct<kind: string, old: bigint, new: bigint, sooner: bigint, later: bigint>>, died string, "
    "met array<string>"
)
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
    # Which of the things to be changed there were, as alterations call them.
    met: list[str] = field(factory=list)

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
