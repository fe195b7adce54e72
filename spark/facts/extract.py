"""Facts of one capture file: it is replayed from its snapshot, and listeners note what happens.

The file fact that comes last says how far that went, and why no further. Whatever is wrong with a file is said there
and nowhere else: the facts before it are right, since what a node says is compared with what it said then.
"""

from collections.abc import Iterator

import pyarrow as pa
from attrs import define

from goqueue.core.capture.errors import CaptureError, MissingSnapshot, TruncatedCapture
from goqueue.core.capture.events import Event
from goqueue.core.capture.frames import BlockKind, Heading
from goqueue.core.capture.replay import Divergence, Replayer
from goqueue.core.clock import Clock
from goqueue.spark import places
from goqueue.spark.captures.code import running
from goqueue.spark.captures.files import capture_at, read_blocks_of, read_heading_of
from goqueue.spark.facts.hearing import Hearing
from goqueue.spark.facts.inside import has_read_all
from goqueue.spark.facts.listeners import LISTENERS
from goqueue.spark.facts.notebook import ROWS_MAX, Notebook
from goqueue.storage.capture import core_vocabulary
from goqueue.storage.capture_files import name_of

# How a divergence says that a node dies in a replay, and that it died when it was captured.
_DIES = "it dies: "
_DIED = "the node died"


@define
class _End:
    """Why a file was read no further."""

    cause: str | None = None
    words: str | None = None


def facts_of(place: str, code: str = "") -> Iterator[pa.RecordBatch]:
    """The facts of one capture file, the last one saying how far it could be read. Raises UnknownCode, PlaceError."""
    with running(code):
        yield from _Extraction(place).facts()


class _Extraction:
    """One file on its way to facts."""

    def __init__(self, place: str) -> None:
        self._place = place
        self._heading: Heading | None = None
        self._notebook = Notebook("", -1)
        self._replayer = Replayer(core_vocabulary())
        self._hearing = Hearing(self._notebook, ())
        self._end = _End()

    def facts(self) -> Iterator[pa.RecordBatch]:
        """All facts, in order, as often as there are enough of them."""
        blocks = enumerate(read_blocks_of(self._place))
        while self._goes_on(blocks):
            if len(self._notebook) >= ROWS_MAX:
                yield from self._notebook.batches()
        if self._replayer.is_under_way:
            self._hearing.end(self._replayer.node)
        self._note_file()
        yield from self._notebook.batches()

    def _goes_on(self, blocks: Iterator[tuple[int, tuple[BlockKind, bytes]]]) -> bool:
        """Take the next block; False when there is none, or nothing comes of it."""
        try:
            number, (kind, block) = next(blocks, (-1, (BlockKind.EVENTS, b"")))
            found = self._take(number, kind, block)
            if found is not None:
                self._ended(found, is_last=has_read_all(self._replayer) and next(blocks, None) is None)
        except (CaptureError, OSError) as error:
            self._failed(error)
            return False
        return number >= 0 and found is None

    def _take(self, number: int, kind: BlockKind, block: bytes) -> Divergence | None:
        if number < 0 and self._heading is not None and self._replayer.is_under_way:
            return None
        if number == 0:
            self._begin(read_heading_of(self._place))
        elif kind is BlockKind.SNAPSHOT and number == 1:
            assert self._heading is not None
            self._replayer.begin(block, self._heading.first_event)
            self._hearing.begin(self._replayer.node)
        elif not self._replayer.is_under_way:
            raise MissingSnapshot("no snapshot follows its heading" if self._heading else "it holds nothing")
        elif kind is not BlockKind.EVENTS:
            raise CaptureError("a heading or a snapshot stands among its events")
        else:
            return self._replayer.feed(block)
        return None

    def _begin(self, heading: Heading) -> None:
        self._heading = heading
        self._notebook = Notebook(heading.node_id, heading.run)
        self._notebook.know(Clock(heading.now, heading.wall_ms), {})
        self._notebook.turn_to(Event(heading.first_event, heading.now, ""))
        self._hearing = Hearing(self._notebook, [one(self._notebook) for one in LISTENERS])
        self._replayer = Replayer(core_vocabulary(), self._hearing.heard)

    # --- how it ends

    def _ended(self, found: Divergence, *, is_last: bool) -> None:
        """The node did not do again what it did, or died; what it said at last is not what was said then."""
        has_died = found.actual.startswith(_DIES)
        if has_died and (is_last or found.expected == _DIED):
            words = found.actual.removeprefix(_DIES)
            self._notebook.turn_to(Event(found.event, found.now, found.verb))
            self._notebook.note("died", detail=words)
            self._end = _End("died", words)
            return
        if self._notebook.event.number == found.event:
            self._notebook.take_back()
        words = f"event {found.event}: told {found.input}, expected {found.expected}, actual {found.actual}"
        self._end = _End("diverged", words)

    def _failed(self, error: CaptureError | OSError) -> None:
        cause = error.cause if isinstance(error, CaptureError) else "unreadable"
        if isinstance(error, TruncatedCapture) and self._is_last_of_run():
            cause = "tail"
        self._end = _End(cause, str(error))

    def _is_last_of_run(self) -> bool:
        file = capture_at(self._place)
        following = name_of(file.run, file.sequence + 1)
        return file.run >= 0 and not places.is_file(places.join(file.node_dir, following))

    def _note_file(self) -> None:
        heading, events = self._heading, self._replayer.events
        first = None if heading is None else heading.first_event
        self._notebook.note(
            "file", first=first, end=None if first is None else first + events, count=events, bytes=_size(self._place),
            value=None if heading is None else heading.sequence, cause=self._end.cause, detail=self._end.words,
        )  # fmt: skip


def _size(place: str) -> int | None:
    try:
        return places.size(place)
    except OSError:
        return None
