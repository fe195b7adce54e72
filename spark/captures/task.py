"""One file replayed: what a task of the job does, as a function that knows nothing of Spark.

The node is told again what it was told, and its state at the end is compared with the beginning of the file that
follows. Where settings or code are to be changed, a second node (`core/capture/counterpart.py`) goes beside the first,
block by block, so that what the first one said is there to be compared and is let go of soon. Only the second one runs
under other code, and the first must still do what it did.
"""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence

import pyarrow as pa
from attrs import define, field

from goqueue.core.capture.alterations import parse_alterations
from goqueue.core.capture.counterpart import Counterpart
from goqueue.core.capture.errors import CaptureError
from goqueue.core.capture.events import Event
from goqueue.core.capture.frames import Heading
from goqueue.core.capture.snapshot import snapshot
from goqueue.core.node import Node
from goqueue.spark.captures.code import running
from goqueue.spark.captures.files import CapturePath, read_heading_of, replay_of
from goqueue.spark.captures.outcome import (
    TAIL,
    Count,
    Difference,
    Diverged,
    FileOutcome,
    Trouble,
    rows_of,
)
from goqueue.storage.capture import core_vocabulary
from goqueue.storage.capture_files import Fault, Replay, missing_between


@define
class Work:
    """A file to be replayed, the file that goes on where it ends, and what is to be changed beside."""

    path: str
    run: int
    sequence: int
    size_bytes: int
    successor: str = ""
    # What is known from names alone to be wrong with the file.
    troubles: list[Trouble] = field(factory=list)
    code: str = ""
    settings: dict[str, str] = field(factory=dict)
    kept_max: int = 20

    @property
    def is_changed(self) -> bool:
        """Whether there is a second node."""
        return bool(self.code or self.settings)


def work_for(
    captures: Sequence[CapturePath], code: str = "", settings: Mapping[str, str] | None = None, kept_max: int = 20
) -> list[Work]:
    """What there is to do, a piece a file, in the order of the files."""
    works: list[Work] = []
    for at, one in enumerate(captures):
        work = Work(one.path, one.run, one.sequence, one.size_bytes, "", [], code, dict(settings or {}), kept_max)
        following = captures[at + 1] if at + 1 < len(captures) else None
        before = captures[at - 1] if at > 0 else None
        if following is not None and _is_of_one_run(one, following) and following.sequence == one.sequence + 1:
            work.successor = following.path
        if before is not None and _is_of_one_run(before, one) and one.sequence > before.sequence + 1:
            work.troubles.append(Trouble("gap", missing_between(before, one)))
        works.append(work)
    return works


def _is_of_one_run(one: CapturePath, other: CapturePath) -> bool:
    return (one.node_dir, one.run) == (other.node_dir, other.run) and one.run >= 0


def replayed(works: Iterable[Work]) -> Iterator[pa.RecordBatch]:
    """Rows of what came of some files: the body of a task."""
    for work in works:
        yield rows_of([replay_file(work)])


def replay_file(work: Work) -> FileOutcome:
    """Replay one file. Raises UnknownCode, UnknownAlteration; whatever is wrong with the file is in the outcome."""
    begun = time.monotonic()
    outcome = FileOutcome(work.path, run=work.run, sequence=work.sequence, troubles=[*work.troubles])
    _read_heading(outcome)
    if work.is_changed:
        beside = _Beside(work, outcome)
        came = replay_of(work.path, beside.heard, beside.began, work.successor, beside.fed)
        beside.close()
    else:
        came = replay_of(work.path, successor=work.successor)
    outcome.events, outcome.borders, outcome.size_bytes = came.events, came.borders, work.size_bytes
    outcome.clock_steps = came.clock_steps
    outcome.troubles += [_trouble(fault) for fault in came.faults]
    outcome.divergence = _divergence(came)
    outcome.seconds = time.monotonic() - begun
    return outcome


def _read_heading(outcome: FileOutcome) -> None:
    """Whose file it is, as far as it says so; the replay tells why not."""
    try:
        heading = read_heading_of(outcome.path)
    except (CaptureError, OSError):
        return
    outcome.node, outcome.version, outcome.python = heading.node_id, heading.version, heading.python
    outcome.wall_ms, outcome.first_event = heading.wall_ms, heading.first_event


def _trouble(fault: Fault) -> Trouble:
    return Trouble(TAIL if fault.is_tail else fault.cause, fault.why)


def _divergence(came: Replay) -> Diverged | None:
    found = came.divergence
    if found is None:
        return None
    return Diverged(found.event, came.diverged_wall_ms, found.input, found.expected, found.actual)


class _Beside:
    """Leads a changed node beside the one that is replayed."""

    def __init__(self, work: Work, outcome: FileOutcome) -> None:
        self._work = work
        self._outcome = outcome
        self._alterations = parse_alterations(work.settings)
        self._counterpart: Counterpart | None = None
        self._said: list[object] = []
        self._skew_wall_ms = 0

    def began(self, heading: Heading, node: Node) -> None:
        """Make the changed node from the state of the other."""
        self._skew_wall_ms = heading.wall_ms - heading.now // 1_000_000
        content = snapshot(core_vocabulary(), node)
        with running(self._work.code):
            vocabulary = core_vocabulary()
            self._counterpart = Counterpart(
                vocabulary, content, heading.first_event, self._alterations, self._work.kept_max
            )

    def heard(self, node: Node, event: Event, came: object) -> None:
        """Keep what came of it until the block is told."""
        self._said.append(came)

    def fed(self, block: bytes) -> None:
        """Tell the changed node the same."""
        said, self._said = self._said, []
        if self._counterpart is not None and self._counterpart.is_alive:
            with running(self._work.code):
                self._counterpart.feed(block, said)

    def close(self) -> None:
        """Say what there was."""
        if self._counterpart is None:
            return
        with running(self._work.code):
            report = self._counterpart.close()
        outcome = self._outcome
        outcome.differing, outcome.died, outcome.met = report.differing, report.died, report.met
        outcome.differences = [
            Difference(
                one.event,
                self._skew_wall_ms + one.now // 1_000_000,
                one.told,
                f"{one.lane}: {one.kind}",
                one.side,
                one.words,
            )
            for one in report.first
        ]
        outcome.counts = [
            Count(kind, tally.old, tally.new, tally.sooner, tally.later) for kind, tally in report.tallies.items()
        ]
