"""A capture on its way to a folder: files that follow one another, each beginning with a snapshot of the node.

A driver asks `start` for the recorder that it drives in place of its node, and calls `turn` at the end of each of its
turns, when the node has nothing in hand that was not taken. What was noted is written in blocks, by size or after a
moment; a file that is full is followed by another, and the oldest files go when all together are over their bound.
Nothing is synced: a capture is for looking back, and what a killed process wrote is in the system's hands.

Writing happens in a thread, because a slow disk must not hold up a turn; a backlog over its bound, like an error of
the disk, ends the capture with one line to the log. The node never hears of it. A simulator, which has no threads,
writes in place.

Invariants: what is in the files is a prefix of what was noted; a file that has a successor is whole.
"""

import os
import platform
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue

from attrs import define

from goqueue.core.capture.errors import CaptureError
from goqueue.core.capture.events import FORMS
from goqueue.core.capture.frames import BlockKind, Heading, encode_beginning, encode_frame
from goqueue.core.capture.recorder import Recorder
from goqueue.core.capture.vocabulary import Vocabulary
from goqueue.core.node import Node
from goqueue.storage.capture_files import list_captures, name_of
from goqueue.storage.private_files import make_file, make_folders

_BLOCK_BYTES = 64 << 10
_BLOCK_NS = 100_000_000
_BACKLOG_BYTES_MAX = 64 << 20
_HANGS_S = 10.0


@define
class CaptureLimits:
    """How large a file grows before another one follows, and how large all of a folder may be together."""

    file_bytes: int = 64 << 20
    total_bytes: int = 1 << 30


def core_vocabulary() -> Vocabulary:
    """The names of all that the core has loaded; a node's own modules are, or there would be no node."""
    return Vocabulary(module for name, module in sorted(sys.modules.items()) if name.startswith("goqueue.core."))


class CaptureWriter:
    """The files of one run, one open at a time."""

    def __init__(self, folder: str, total_bytes: int) -> None:
        self._folder = folder
        self._total_bytes = total_bytes
        self._descriptor = -1

    def begin(self, name: str, content: bytes) -> None:
        """Leave the file that is open for a new one, and make room for it."""
        self.close()
        make_folders(self._folder)
        self._descriptor = make_file(os.path.join(self._folder, name), os.O_WRONLY)
        self.write(content)
        self._make_room(name)

    def write(self, content: bytes) -> None:
        """Append to the file."""
        view = memoryview(content)
        while view:
            view = view[os.write(self._descriptor, view) :]

    def _make_room(self, current: str) -> None:
        files = list_captures(self._folder)
        sizes = [os.path.getsize(one.path) for one in files]
        surplus = sum(sizes) - self._total_bytes
        for one, size in zip(files, sizes, strict=True):
            if surplus <= 0 or one.name == current:
                break
            os.unlink(one.path)
            surplus -= size

    def close(self) -> None:
        """Leave the file."""
        if self._descriptor >= 0:
            descriptor, self._descriptor = self._descriptor, -1
            os.close(descriptor)


class _InPlace:
    """Does a writer's work at once; the first error ends it."""

    def __init__(self, last: Callable[[], None]) -> None:
        self.error: Exception | None = None
        self.backlog_bytes = 0
        self._last = last

    def submit(self, work: Callable[[], None], size: int) -> None:
        """Have something done."""
        del size
        self._perform(work)

    def _perform(self, work: Callable[[], None]) -> None:
        if self.error is None:
            try:
                work()
            except Exception as error:  # noqa: BLE001 - whatever it is ends the capture, and nothing else
                self.error = error

    def close(self) -> None:
        """Take no more."""
        with suppress(OSError):
            self._last()

    def wait(self) -> None:
        """All is done."""


class _Aside(_InPlace):
    """The same in a thread, in order."""

    def __init__(self, last: Callable[[], None]) -> None:
        super().__init__(last)
        self._work: SimpleQueue[tuple[Callable[[], None], int] | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="goqueue-capture", daemon=True)
        self._thread.start()

    def submit(self, work: Callable[[], None], size: int) -> None:
        with self._lock:
            self.backlog_bytes += size
        self._work.put((work, size))

    def close(self) -> None:
        self._work.put(None)

    def wait(self) -> None:
        """Wait until all is done, but not for a disk that hangs."""
        self._thread.join(_HANGS_S)

    def _run(self) -> None:
        while (item := self._work.get()) is not None:
            work, size = item
            self._perform(work)
            with self._lock:
                self.backlog_bytes -= size
        super().close()


class Capture:
    """The notes of one node, from `start` to `close`."""

    def __init__(
        self,
        folder: str,
        limits: CaptureLimits | None = None,
        report: Callable[[str], None] = lambda _: None,
        *,
        keeps_records: bool = False,
        in_place: bool = False,
    ) -> None:
        self.folder = folder
        self._limits = CaptureLimits() if limits is None else limits
        self._report = report
        self._keeps_records = keeps_records
        self._writer = CaptureWriter(folder, max(self._limits.total_bytes - self._limits.file_bytes, 0))
        self._in_place = in_place
        self._work: _InPlace | None = None
        self._recorder: Recorder | None = None
        self._has_ended = False
        self._run = 0
        self._sequence = 0
        self._file_bytes = 0
        self._written_at = 0

    @property
    def is_open(self) -> bool:
        """Whether what happens is being written down."""
        return self._recorder is not None and not self._has_ended

    def start(self, node: Node, now: int, wall_ms: int) -> Recorder:
        """Begin; what is to be driven from here on. Raises CaptureError, OSError when it cannot be."""
        assert self._recorder is None
        runs = [one.run for one in list_captures(self.folder)] if os.path.isdir(self.folder) else []
        self._run = max(wall_ms, *(run + 1 for run in runs)) if runs else wall_ms
        self._sequence = 0
        recorder = Recorder(node, core_vocabulary(), keeps_records=self._keeps_records)
        content = self._beginning(recorder, now, wall_ms)
        self._writer.begin(name_of(self._run, 0), content)
        self._work = (_InPlace if self._in_place else _Aside)(self._writer.close)
        self._file_bytes = 0
        self._written_at = now
        self._recorder = recorder
        return recorder

    def _beginning(self, recorder: Recorder, now: int, wall_ms: int) -> bytes:
        options = recorder.node.options
        first = recorder.event_count
        snapshot = recorder.begin_file()
        heading = Heading(
            self._run,
            self._sequence,
            first,
            options.node_id,
            options.version,
            platform.python_version(),
            wall_ms,
            now,
            self._keeps_records,
            FORMS,
        )
        return encode_beginning(heading, snapshot)

    def turn(self, now: int, wall_ms: int) -> bool:
        """A turn has ended: write what is worth it. False when the capture has ended, and why was reported."""
        recorder = self._recorder
        assert recorder is not None, "start comes first"
        if self._has_ended:
            recorder.take_block()
        elif recorder.pending_bytes >= _BLOCK_BYTES or now - self._written_at >= _BLOCK_NS:
            self._write(recorder, now)
            if self._file_bytes >= self._limits.file_bytes:
                self._rotate(recorder, now, wall_ms)
            self._watch()
        return not self._has_ended

    def _write(self, recorder: Recorder, now: int) -> None:
        self._written_at = now
        block = recorder.take_block()
        if block:
            content = encode_frame(BlockKind.EVENTS, block) + block
            self._file_bytes += len(content)
            assert self._work is not None
            self._work.submit(lambda: self._writer.write(content), len(content))

    def _rotate(self, recorder: Recorder, now: int, wall_ms: int) -> None:
        self._sequence += 1
        try:
            content = self._beginning(recorder, now, wall_ms)
        except CaptureError as error:
            self._end(str(error))
            return
        name = name_of(self._run, self._sequence)
        assert self._work is not None
        self._work.submit(lambda: self._writer.begin(name, content), len(content))
        self._file_bytes = 0

    def _watch(self) -> None:
        assert self._work is not None
        if self._work.error is not None:
            error = self._work.error
            why = error.strerror if isinstance(error, OSError) else repr(error)
            self._end(why or str(error))
        elif self._work.backlog_bytes > _BACKLOG_BYTES_MAX:
            self._end(f"the disk is {self._work.backlog_bytes} bytes behind")

    def _end(self, why: str) -> None:
        self._report(f"the capture in {self.folder} has ended: {why}")
        self._has_ended = True

    def close(self) -> Node:
        """Write the rest and end; the node that was recorded, to be driven by itself again."""
        recorder = self._recorder
        assert recorder is not None, "start comes first"
        if not self._has_ended:
            self._write(recorder, self._written_at)
            self._has_ended = True
        assert self._work is not None
        self._work.close()
        recorder.end()
        return recorder.node

    def wait(self) -> None:
        """After `close`: until all of it is written."""
        if self._work is not None:
            self._work.wait()
