"""What came of replaying a capture file: a row, and the same as an object.

A row travels from a task to the driver as Arrow; its columns are the fields of `FileOutcome`. A trouble is what kept a
file from being read or from being taken for whole; a divergence is where the node said something else than it had said,
or died of what it had lived through.
"""

from collections.abc import Iterable
from types import NoneType
from typing import Any, Final, get_args, get_origin

import pyarrow as pa
from attrs import asdict, define, field, fields, has

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


_PLAIN: Final = {str: pa.string(), int: pa.int64(), float: pa.float64()}


def _kind(of: Any) -> pa.DataType:  # noqa: ANN401 - what an annotation is
    """What a field that is annotated so is in Arrow; there, anything may be null."""
    if has(of):
        return pa.struct([(each.name, _kind(each.type)) for each in fields(of)])
    inner = [one for one in get_args(of) if one is not NoneType]
    if inner:
        return pa.list_(_kind(inner[0])) if get_origin(of) is list else _kind(inner[0])
    return _PLAIN[of]


SCHEMA: Final = pa.schema(list(_kind(FileOutcome)))


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
