"""What the tests of logs on disks share: batches with a number, logs opened in a line, what is found on a disk."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from random import Random

from attrs import define

from goqueue.core.log.config import LogConfig
from goqueue.core.log.segment import segment_name
from goqueue.core.records.batch import read_header, validate
from goqueue.core.records.build import Entry, encode
from goqueue.core.records.record import Record, iterate
from goqueue.storage.disk import Disk
from goqueue.storage.open_log import OpenLog
from goqueue.storage.simulated_faults import Faults

STREAM = "logs/orders/0"
NOW_MS = 1_700_000_000_000
EMPTY_BATCH_BYTES = len(encode([(NOW_MS, None, b"", ())]))


@define
class Hands:
    """The hands of a clock that a test moves: monotonic nanoseconds, and the wall's milliseconds."""

    now: int = 0
    wall_ms: int = NOW_MS

    def pass_by(self, span_ms: int) -> None:
        """Let time pass."""
        self.now += span_ms * 1_000_000
        self.wall_ms += span_ms


def numbered(number: int, size: int = 40, *, count: int = 1, key: bytes | None = None, ms: int = NOW_MS) -> bytearray:
    """A batch of `count` records whose values begin with its number and are `size` bytes long, unlike any other's."""
    filling = Random(number).randbytes(size)
    records: list[Entry] = [(ms, key, b"%06d.%d:%s" % (number, at, filling), ()) for at in range(count)]
    return encode(records)


def sized(number: int, size: int) -> bytearray:
    """A batch of one record that is `size` bytes long in all, as far as a length's own length allows."""
    batch = numbered(number, 0)
    return numbered(number, max(0, size - len(batch)))


def opened(disk: Disk, hands: Hands | None = None, /, **settings: object) -> OpenLog:
    """The log of STREAM with these settings."""
    times = hands if hands is not None else Hands()
    config = LogConfig(**settings)  # type: ignore[arg-type]
    return OpenLog(disk, STREAM, config, now=lambda: times.now, wall_ms=lambda: times.wall_ms)


def split(run: memoryview | bytes) -> Iterator[bytes]:
    """The batches of a run, each of them verified down to its CRC."""
    at = 0
    while at < len(run):
        header = validate(run, at, compacted=True)
        yield bytes(run[at : at + header.size])
        at += header.size


def stored(log: OpenLog, offset: int | None = None, max_bytes: int = 1 << 20) -> list[bytes]:
    """All batches that a reader gets from `offset`, or from the start, on."""
    return [batch for run in log.batches(offset, max_bytes) for batch in split(run)]


def offsets(batches: Sequence[bytes]) -> list[int]:
    """The first offset of each batch."""
    return [read_header(batch).base_offset for batch in batches]


def records(batches: Sequence[bytes]) -> list[Record]:
    """All records of some batches."""
    return [record for batch in batches for record in iterate(batch)]


def abandon(log: OpenLog) -> None:
    """What the end of a process is to a log: everything handed to the system stays as it is, and the lock is free."""
    log.store.close()


def in_stream(name: str) -> str:
    """The path of a file of STREAM."""
    return f"{STREAM}/{name}"


def log_file(base: int, generation: int = 0) -> str:
    """The path of a segment's log file."""
    return in_stream(segment_name(base, generation) + ".log")


def log_files(disk: Disk) -> list[str]:
    """The names of all log files of STREAM."""
    return [name for name in disk.names(STREAM) if name.endswith(".log")]


def content(disk: Disk, path: str) -> bytes:
    """What a file holds."""
    file = disk.open(path, read_only=True)
    try:
        return file.read(file.size(), 0)
    finally:
        file.close()


def overwrite(disk: Disk, path: str, position: int, piece: bytes) -> None:
    """Put bytes into a file, for certain, as rot or a stranger would."""
    file = disk.open(path, create=True)
    try:
        file.write([piece], position)
        file.sync()
    finally:
        file.close()


def cut_file(disk: Disk, path: str, size: int) -> None:
    """Make a file shorter or longer, for certain."""
    file = disk.open(path)
    try:
        file.truncate(size)
        file.sync()
    finally:
        file.close()


def flip(disk: Disk, path: str, position: int, bit: int = 0) -> None:
    """Turn one bit of a file."""
    overwrite(disk, path, position, bytes([content(disk, path)[position] ^ 1 << bit]))


def everything(disk: Disk, folder: str = "") -> dict[str, bytes]:
    """All files beneath a folder with what they hold, the lock aside, which changes with its owner."""
    found: dict[str, bytes] = {}
    for name in disk.names(folder):
        path = f"{folder}/{name}" if folder else name
        if disk.is_folder(path):
            found |= everything(disk, path)
        elif name != "LOCK":
            found[path] = content(disk, path)
    return found


class PowerCut(BaseException):
    """The power goes: nothing that runs can do anything about it."""


class Fuse(Faults):
    """Lets some operations of a disk pass, cuts the power before the next, and lets none pass from then on."""

    def __init__(self, faults: Faults, left: int) -> None:
        super().__init__(Random(0))
        self._faults = faults
        self.left = left

    def failure(self, operation: str, path: str) -> OSError | None:
        """Answer as the disk's own faults would, while there is power."""
        if self.left == 0:
            raise PowerCut
        self.left -= 1
        return self._faults.failure(operation, path)


class Witness(Faults):
    """Before each operation of a disk, which never fails, looks at what a stop at that very moment would leave."""

    def __init__(self, look: Callable[[str], None]) -> None:
        super().__init__(Random(0))
        self._look = look
        self.awake = True
        self.looks = 0

    def failure(self, operation: str, path: str) -> OSError | None:
        """Look, unless asleep."""
        if self.awake:
            self.looks += 1
            self._look(f"{operation} {path}")
        return None

    @contextmanager
    def asleep(self) -> Iterator[None]:
        """Let the test itself look around."""
        self.awake = False
        try:
            yield
        finally:
            self.awake = True
