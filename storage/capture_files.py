"""The files of a capture as they are found in a folder, and their replay, one after another or one alone.

A file is named by its run, the wall time at which the capture began, and its number in the run. Runs of several
processes may lie in one folder; between two of them nothing is continuous. What a process that was killed leaves is a
last file that ends within a block: that is told, and everything before it counts.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import BinaryIO

from attrs import define, field

from goqueue.core.capture.errors import CaptureError, MissingSnapshot, OtherRelease, TruncatedCapture
from goqueue.core.capture.events import FORMS, Event, EventReader
from goqueue.core.capture.frames import BlockKind, Heading, decode_heading, read_blocks
from goqueue.core.capture.replay import Divergence, Replayer
from goqueue.core.capture.snapshot import restored
from goqueue.core.capture.vocabulary import Vocabulary
from goqueue.core.node import Node

# Opens the file at a path for reading; another one than the disk's own is for files that lie elsewhere.
OpenFile = Callable[[str], BinaryIO]
ENDING = ".capture"
_NAME = re.compile(r"([0-9]{13,19})-([0-9]{6,12})\.capture")


@define
class CaptureFile:
    """One file of a run."""

    path: str
    name: str
    run: int
    sequence: int


def name_of(run: int, sequence: int) -> str:
    """`1700000000000-000003.capture`: sorted by name, files are in order."""
    return f"{run:013d}-{sequence:06d}.capture"


def list_captures(folder: str) -> list[CaptureFile]:
    """The files of a folder that are named as those of captures, oldest first. Raises OSError."""
    found = [parse_name(os.path.join(folder, name)) for name in os.listdir(folder)]
    return sorted((one for one in found if one is not None), key=lambda one: (one.run, one.sequence))


def parse_name(path: str) -> CaptureFile | None:
    """The file at a path, if it is named as those of captures are."""
    name = os.path.basename(path)
    matched = _NAME.fullmatch(name)
    return CaptureFile(path, name, int(matched[1]), int(matched[2])) if matched else None


def missing_between(before: CaptureFile, after: CaptureFile) -> str:
    """In words which files of a run are missing between two of it."""
    first, last = (name_of(after.run, number) for number in (before.sequence + 1, after.sequence - 1))
    count = after.sequence - before.sequence - 1
    assert count > 0
    if count == 1:
        return f"1 file is missing before it: {first}"
    return f"{count:,} files are missing before it: {first} to {last}"


def open_local(path: str) -> BinaryIO:
    """The file at a path of this machine."""
    return open(path, "rb")


def read_heading(file: CaptureFile, open_file: OpenFile = open_local) -> Heading:
    """Whose capture a file is part of. Raises CaptureError, OSError."""
    with open_file(file.path) as opened:
        kind, block = next(read_blocks(opened.read), (BlockKind.EVENTS, b""))
        return _expect_heading(kind, block)


def read_snapshot(file: CaptureFile, vocabulary: Vocabulary, open_file: OpenFile = open_local) -> Node:
    """The node with which a file begins. Raises CaptureError, OSError."""
    with open_file(file.path) as opened:
        blocks = read_blocks(opened.read)
        _expect_heading(*next(blocks, (BlockKind.EVENTS, b"")))
        kind, block = next(blocks, (BlockKind.EVENTS, b""))
        if kind is not BlockKind.SNAPSHOT:
            raise MissingSnapshot("no snapshot follows its heading")
        return restored(vocabulary, block)


def read_events(file: CaptureFile, vocabulary: Vocabulary, open_file: OpenFile = open_local) -> Iterator[Event]:
    """The events of a file as they were captured, without telling them to anybody. Raises CaptureError, OSError."""
    reader = EventReader(vocabulary, read_heading(file, open_file).first_event)
    with open_file(file.path) as opened:
        for kind, block in read_blocks(opened.read):
            if kind is BlockKind.EVENTS:
                yield from reader.events(block)


@define
class Fault:
    """A file that could not be read to its end, and why; `is_tail` when that is all a killed process left."""

    name: str
    why: str
    is_tail: bool = False
    # One word: that of the error, `gap`, or `unreadable` where the disk failed.
    cause: str = ""


def fault_of(file: CaptureFile, error: CaptureError | OSError) -> Fault:
    """What an error says of a file, taken for the last of its run."""
    if isinstance(error, CaptureError):
        return Fault(file.name, str(error), isinstance(error, TruncatedCapture), error.cause)
    return Fault(file.name, error.strerror or str(error), cause="unreadable")


def misnamed(folder: str) -> list[Fault]:
    """What is in a folder that is called a capture and not named as one, so that nothing is left out unseen."""
    strays = [name for name in sorted(os.listdir(folder)) if name.endswith(ENDING) and not _NAME.fullmatch(name)]
    why = "it is not named as captures are, like 1700000000000-000000.capture, and was left out"
    return [Fault(name, why, cause="foreign") for name in strays]


@define
class Replay:
    """What came of replaying some files."""

    files: int = 0
    snapshots: int = 0
    events: int = 0
    size_bytes: int = 0
    # How often a file was compared with what the one before it had led to.
    borders: int = 0
    # How often a wall clock was set.
    clock_steps: int = 0
    # Runs of which the first file is not here, as is right where it had to make room.
    headless_runs: int = 0
    faults: list[Fault] = field(factory=list)
    divergence: Divergence | None = None
    diverged_in: str = ""
    diverged_wall_ms: int = 0
    # Who wrote the files, each release once.
    versions: list[str] = field(factory=list)

    @property
    def unread(self) -> int:
        """Of how many files something is missing or could not be read, other than an end that a kill cut off."""
        return len({fault.name for fault in self.faults if not fault.is_tail})

    @property
    def is_identical(self) -> bool:
        """Whether all that was captured was read and came out the same; the end that a kill cut off does not count."""
        return self.divergence is None and self.snapshots > 0 and all(fault.is_tail for fault in self.faults)


def replay(
    files: Iterable[CaptureFile],
    vocabulary: Vocabulary,
    progress: Callable[[int], None] = lambda _: None,
    heard: Callable[[Node, Event, object], None] = lambda *_: None,
    open_file: OpenFile = open_local,
    successor: CaptureFile | None = None,
    began: Callable[[Heading, Node], None] = lambda *_: None,
    fed: Callable[[bytes], None] = lambda _: None,
) -> Replay:
    """Replay files in their order, each from the one before it where they are continuous.

    `progress` counts bytes; `heard` is told of every event, and of what the node that was told it did then; `began`
    sees it at the beginning of every file, before the first event of that, `fed` is given every block once its
    events were told. Of a `successor` only the beginning is looked at: whether the last file has led to it.
    """
    outcome = Replay()
    walk = _Walk(outcome, Replayer(vocabulary, heard), progress, open_file, began, fed)
    for file in files:
        walk.through(file)
        if outcome.divergence is not None:
            return outcome
    if successor is not None:
        walk.up_to(successor)
    return outcome


class _Walk:
    """A replay under way."""

    def __init__(
        self,
        outcome: Replay,
        replayer: Replayer,
        progress: Callable[[int], None],
        open_file: OpenFile,
        began: Callable[[Heading, Node], None],
        fed: Callable[[bytes], None],
    ) -> None:
        self._fed = fed
        self._began = began
        self._open_file = open_file
        self._outcome = outcome
        self._replayer = replayer
        self._progress = progress
        self._previous: CaptureFile | None = None

    def through(self, file: CaptureFile) -> None:
        """Replay one file, and note what keeps it from being read."""
        self._outcome.files += 1
        try:
            self._replay(file)
        except (CaptureError, OSError) as error:
            self._outcome.faults.append(fault_of(file, error))
            self._replayer.leave()
        self._previous = file

    def up_to(self, file: CaptureFile) -> None:
        """Compare what it has come to with the beginning of a file; what is wrong with that is said by its reader."""
        with suppress(CaptureError, OSError), self._open_file(file.path) as opened:
            blocks = read_blocks(opened.read)
            heading = _expect_heading(*next(blocks, (BlockKind.EVENTS, b"")))
            kind, block = next(blocks, (BlockKind.EVENTS, b""))
            self._join(file, heading)
            if kind is BlockKind.SNAPSHOT and self._replayer.is_under_way:
                self._outcome.diverged_wall_ms = heading.wall_ms
                self._diverged(file, self._replayer.begin(block, heading.first_event))
                self._outcome.borders += 1

    def _replay(self, file: CaptureFile) -> None:
        for number, (kind, block) in enumerate(self._blocks(file)):
            if number == 0:
                heading = _expect_heading(kind, block)
            elif number == 1:
                self._begin(file, heading, kind, block)
                at_ms = heading.wall_ms - heading.now // 1_000_000
            elif kind is BlockKind.EVENTS:
                self._feed(file, block)
            else:
                raise CaptureError("a heading or a snapshot stands among its events")
            if self._outcome.divergence is not None:
                self._outcome.diverged_wall_ms = at_ms + self._outcome.divergence.now // 1_000_000
                return

    def _feed(self, file: CaptureFile, block: bytes) -> None:
        try:
            self._diverged(file, self._replayer.feed(block))
        finally:
            # A block may be read up to where it makes no sense.
            self._outcome.events, self._outcome.clock_steps = self._replayer.events, self._replayer.clock_steps
        self._fed(block)

    def _blocks(self, file: CaptureFile) -> Iterator[tuple[BlockKind, bytes]]:
        with self._open_file(file.path) as opened:

            def read(size: int) -> bytes:
                content = opened.read(size)
                self._progress(len(content))
                self._outcome.size_bytes += len(content)
                return content

            yield from read_blocks(read)

    def _begin(self, file: CaptureFile, heading: Heading, kind: BlockKind, block: bytes) -> None:
        if kind is not BlockKind.SNAPSHOT:
            raise MissingSnapshot("no snapshot follows its heading")
        if (heading.run, heading.sequence) != (file.run, file.sequence):
            raise CaptureError(f"its heading says that it is {name_of(heading.run, heading.sequence)}")
        if heading.version not in self._outcome.versions:
            self._outcome.versions.append(heading.version)
        self._join(file, heading)
        self._outcome.snapshots += 1
        self._outcome.borders += self._replayer.is_under_way
        self._diverged(file, self._replayer.begin(block, heading.first_event))
        self._began(heading, self._replayer.node)

    def _join(self, file: CaptureFile, heading: Heading) -> None:
        """See whether a file goes on where the one before it ended."""
        previous = self._previous
        if previous is None or previous.run != file.run:
            self._replayer.leave()
            self._outcome.headless_runs += file.sequence > 0
            return
        for fault in self._outcome.faults:
            # What has a successor was left whole by its writer.
            fault.is_tail = fault.is_tail and fault.name != previous.name
        if previous.sequence + 1 != file.sequence:
            self._replayer.leave()
            missing = missing_between(previous, file)
            self._outcome.faults.append(Fault(file.name, missing, cause="gap"))
        elif self._replayer.is_under_way and self._replayer.next_event != heading.first_event:
            missing = f"events {self._replayer.next_event} to {heading.first_event} are missing before it"
            self._replayer.leave()
            self._outcome.faults.append(Fault(file.name, missing, cause="gap"))

    def _diverged(self, file: CaptureFile, found: Divergence | None) -> None:
        if found is not None:
            self._outcome.divergence = found
            self._outcome.diverged_in = file.name


def _expect_heading(kind: BlockKind, block: bytes) -> Heading:
    if kind is not BlockKind.HEADING:
        raise CaptureError("it does not begin with a heading")
    heading = decode_heading(block)
    if heading.forms != FORMS:
        raise OtherRelease(f"its events are those of another release: there {heading.forms}; here {FORMS}")
    return heading
