"""Logs that several figures read: written once a run, and brought back into the state in which they were left.

Record n has offset n and a timestamp of n milliseconds after the first, so the right answer to every look-up is
known. A recovery changes what is on the disk; `Snapshot` puts back all files but the batches themselves, which it
leaves alone.
"""

import os
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from attrs import define

from goqueue.cli.bench.driven_log import STREAM, DrivenLog, open_log, wall_ms
from goqueue.cli.bench.sizes import RECORD_BYTES
from goqueue.cli.bench.workload import values
from goqueue.core.log.config import LogConfig
from goqueue.core.records.build import encode
from goqueue.storage.layout import LOG_ENDING
from goqueue.storage.open_log import OpenLog

_TURN_BYTES = 1 << 20


@define
class Snapshot:
    """The files of a stream at one moment: the small ones by content, those with batches by size."""

    folder: Path
    contents: dict[str, bytes]
    sizes: dict[str, int]

    @classmethod
    def take(cls, folder: Path) -> "Snapshot":
        """The files as they are."""
        paths = sorted(folder.iterdir())
        contents = {path.name: path.read_bytes() for path in paths if path.suffix != LOG_ENDING}
        return cls(folder, contents, {path.name: path.stat().st_size for path in paths if path.suffix == LOG_ENDING})

    def restore(self, *, without: tuple[str, ...] = ()) -> None:
        """Bring the files back, but none that ends like one of `without`, and have them on the disk."""
        for path in self.folder.iterdir():
            if path.name not in self.sizes:
                path.unlink()
        for name, size in self.sizes.items():
            os.truncate(self.folder / name, size)
        for name, content in self.contents.items():
            if not name.endswith(without):
                (self.folder / name).write_bytes(content)
        for path in self.folder.iterdir():
            _sync(path)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@define
class SharedLog:
    """A finished log; `positions` holds where each batch begins in the one segment there is."""

    root: Path
    config: LogConfig
    batch_records: int
    positions: "array[int]"
    size_bytes: int
    first_ms: int
    killed: Snapshot
    closed: Snapshot

    @property
    def record_count(self) -> int:
        """How many records the log holds, which is also the offset after the last."""
        return len(self.positions) * self.batch_records

    @property
    def segment(self) -> Path:
        """The file with all batches."""
        (name,) = self.closed.sizes
        return self.closed.folder / name

    @contextmanager
    def opened(self) -> Iterator[OpenLog]:
        """The log, open for reading."""
        log = open_log(self.root, self.config)
        try:
            yield log
        finally:
            log.close()


def build(root: Path, size_bytes: int, batch_records: int, config: LogConfig) -> SharedLog:
    """Write a log of about that size, picture it before and after a clean close, and force it to the disk."""
    folder = root / STREAM
    batch_count = size_bytes // (batch_records * RECORD_BYTES)
    first_ms = wall_ms() - batch_count * batch_records
    positions, position = array("q"), 0
    with DrivenLog(root, config) as driven:
        for turn in _turns(batch_count, batch_records, first_ms):
            driven.turn(turn)
            for batch in turn:
                positions.append(position)
                position += len(batch)
        driven.settle()
        killed = Snapshot.take(folder)
        driven.close()
    closed = Snapshot.take(folder)
    assert len(closed.sizes) == 1, "a shared log is to fit one segment"
    closed.restore()
    return SharedLog(root, config, batch_records, positions, position, first_ms, killed, closed)


def _turns(batch_count: int, batch_records: int, first_ms: int) -> Iterator[list[bytearray]]:
    """About a megabyte of batches at a time."""
    contents = values(1000)
    turn: list[bytearray] = []
    for number in range(batch_count):
        first = number * batch_records
        numbered = range(first, first + batch_records)
        turn.append(encode([(first_ms + record, None, contents[record % 1000], ()) for record in numbered]))
        if len(turn) * batch_records * RECORD_BYTES >= _TURN_BYTES or number == batch_count - 1:
            yield turn
            turn = []
