"""Capture files wherever Spark's tasks can reach them: which there are, and what is in them.

A path may be a file, a folder of captures, or a folder of such folders, one a node. What is called a capture and is
not one is found all the same, so that whoever reads it says what is wrong with it. Only names and sizes are looked at
here; headings are read by the tasks, of which there is one a file.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import BinaryIO

from attrs import define

from goqueue.core.capture.errors import CaptureError
from goqueue.core.capture.events import Event
from goqueue.core.capture.frames import BlockKind, Heading, read_blocks
from goqueue.core.node import Node
from goqueue.spark import places
from goqueue.storage.capture import core_vocabulary
from goqueue.storage.capture_files import ENDING, CaptureFile, Replay, parse_name, read_heading, replay

# The run and the number of a file whose name says neither.
UNNAMED = -1


@define
class CapturePath(CaptureFile):
    """One capture file, the folder it is in (that of its node), and its size."""

    node_dir: str
    size_bytes: int


def find_captures(paths: Iterable[str]) -> list[CapturePath]:
    """All captures at some paths, by folder, run and number, each once. Raises CaptureError for a path without any."""
    found: dict[str, CapturePath] = {}
    for path in paths:
        here = list(_captures_at(path))
        if not here:
            raise CaptureError(f"{path} holds no capture: neither it nor a folder in it has a file named *{ENDING}")
        found |= {one.path: one for one in here}
    return sorted(found.values(), key=lambda one: (one.node_dir, one.run, one.sequence, one.name))


def _captures_at(path: str) -> Iterator[CapturePath]:
    if path.endswith(ENDING):
        yield capture_at(path)
        return
    yield from _captures_in(path)
    for folder in places.folders(path):
        yield from _captures_in(places.join(path, folder))


def _captures_in(folder: str) -> Iterator[CapturePath]:
    for name in places.names(folder):
        if name.endswith(ENDING):
            yield capture_at(places.join(folder, name))


def capture_at(path: str) -> CapturePath:
    """The capture file at a path, whatever is in it. Raises OSError."""
    folder, _, name = path.rpartition("/")
    named = parse_name(path)
    run, sequence = (named.run, named.sequence) if named is not None else (UNNAMED, UNNAMED)
    return CapturePath(path, name, run, sequence, folder, places.size(path))


def read_blocks_of(path: str) -> Iterator[tuple[BlockKind, bytes]]:
    """The blocks of a file. Raises CaptureError, OSError."""
    with places.open_file(path) as opened:
        yield from read_blocks(opened.read)


def read_heading_of(path: str) -> Heading:
    """Whose capture a file is part of. Raises CaptureError, OSError."""
    return read_heading(capture_at(path), _open)


def replay_of(
    path: str,
    heard: Callable[[Node, Event, object], None] = lambda *_: None,
    began: Callable[[Heading, Node], None] = lambda *_: None,
    successor: str = "",
    fed: Callable[[bytes], None] = lambda _: None,
) -> Replay:
    """Replay one file from its snapshot; whatever is wrong with it is among the faults of what is answered.

    `began` sees the node before its first event, `heard` after each, and `fed` is given each block after its events;
    of a `successor` only the beginning is compared.
    """
    return replay(
        [capture_at(path)],
        core_vocabulary(),
        heard=heard,
        open_file=_open,
        successor=capture_at(successor) if successor else None,
        began=began,
        fed=fed,
    )


def _open(path: str) -> BinaryIO:
    return places.open_file(path)
