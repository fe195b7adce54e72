"""What the tests of the log share: batches of a wanted size, logs that begin empty, a naive way to read a segment.

Time in these tests begins at `now == 0`, when the wall says WALL_MS; `ms` turns milliseconds since then into a `now`.
"""

from goqueue.core.clock import Clock
from goqueue.core.log.checkpoint import encode_checkpoint
from goqueue.core.log.config import UNLIMITED, Fsync, LogConfig
from goqueue.core.log.effects import SyncToken
from goqueue.core.log.log import Log, LogState
from goqueue.core.log.segment import NO_TIMESTAMP, Segment
from goqueue.core.log.tail import SegmentTail
from goqueue.core.records.batch import Header, read_header, stamp
from goqueue.core.records.build import Entry, encode

WALL_MS = 1_700_000_000_000
STREAM = "logs/orders/0"
FIRST = "00000000000000000000"
BATCH_BYTES = 100


def ms(milliseconds: int) -> int:
    """The monotonic time so many milliseconds after the beginning."""
    return milliseconds * 1_000_000


def batch(count: int = 1, size: int = BATCH_BYTES, timestamp: int = WALL_MS) -> bytearray:
    """A producer's batch of `count` records that takes exactly `size` bytes."""
    records: list[Entry] = [(timestamp, None, b"", ())] * count
    room = size - len(encode(records))
    # Some of the room goes to lengths that take two bytes, and where they begin to, a size is passed over.
    for value_bytes in range(room, max(room - 4, -1), -1):
        built = encode([*records[1:], (timestamp, None, bytes(value_bytes), ())])
        if len(built) == size:
            return built
    raise AssertionError(f"no batch of {count} records takes {size} bytes")


def stamped(
    offset: int, epoch: int = 0, count: int = 1, size: int = BATCH_BYTES, timestamp: int = WALL_MS
) -> bytearray:
    """A batch as a leader's log holds it."""
    stored = batch(count, size, timestamp)
    stamp(stored, offset, epoch)
    return stored


def settings_of(
    *,
    fsync: Fsync = Fsync.NONE,
    fsync_interval_ns: int = 1_000_000_000,
    retention_ms: int = UNLIMITED,
    index_interval_bytes: int = 250,
    segment_bytes: int = 1 << 30,
    segment_age_ms: int = 1 << 40,
    batch_bytes_max: int = 1 << 20,
    checkpoint_bytes: int = 1 << 30,
) -> LogConfig:
    """Settings under which nothing happens by itself but what a test asks for."""
    return LogConfig(
        fsync=fsync,
        fsync_interval_ns=fsync_interval_ns,
        retention_ms=retention_ms,
        index_interval_bytes=index_interval_bytes,
        segment_bytes=segment_bytes,
        segment_age_ms=segment_age_ms,
        batch_bytes_max=batch_bytes_max,
        checkpoint_bytes=checkpoint_bytes,
    )


def beginning(config: LogConfig, at: int = 0) -> LogState:
    """The state of a log that is empty and begins at an offset."""
    return LogState([], SegmentTail(Segment(at, 0, 0, at, NO_TIMESTAMP, WALL_MS), config.index_interval_bytes), 0, at)


def empty_log(config: LogConfig | None = None, at: int = 0, clock: Clock | None = None) -> Log:
    """A log without batches, which begins at offset `at`."""
    config = config or settings_of()
    return Log(STREAM, config, clock or Clock(0, WALL_MS), beginning(config, at))


def filled_log(config: LogConfig, *batches: bytearray) -> Log:
    """A log with these batches, all of them handed to the disk."""
    log = empty_log(config)
    for one in batches:
        log.append(0, one)
    log.take(0)
    return log


def token(next_offset: int, segment: str = FIRST, position: int = 0, incarnation: int = 0) -> SyncToken:
    """What a sync up to `next_offset` promises."""
    return SyncToken(incarnation, next_offset, segment, position)


def remembered(log: Log) -> tuple[bytes, int, int, int]:
    """All that an operation which is refused must leave as it was."""
    return encode_checkpoint(log.checkpoint()), log.synced_offset, log.acknowledged_offset, log.incarnation


def walk(content: bytes | bytearray | memoryview) -> list[tuple[int, Header]]:
    """Position and header of every batch, one after another."""
    found, at = [], 0
    while at < len(content):
        found.append((at, read_header(content, at)))
        at += found[-1][1].size
    assert at == len(content)
    return found
