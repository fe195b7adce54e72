"""What fuzzing begins from: small batches, segments and streams, made by the product itself and the same every time.

A seed is a door that the fuzzer need not find: one for each codec, flag and kind of record, for each kind of file, and
for each way in which a stream may have been left: closed, killed, compacted, torn by a crash.
"""

from collections.abc import Callable, Iterator

from goqueue.core.log.config import Cleanup, LogConfig
from goqueue.core.records.batch import Codec, Lane, read_header, stamp
from goqueue.core.records.build import Entry, encode, rebuild
from goqueue.core.records.control import ControlMarker, encode_marker
from goqueue.core.records.record import iterate
from goqueue.fuzz.bytes.stream_files import StoredFile, stored_files
from goqueue.storage.open_log import OpenLog
from goqueue.storage.simulated import SimulatedDisk

NOW_MS = 1_700_000_000_000
STREAM = "logs/orders/0"

_ENTRIES: tuple[Entry, ...] = (
    (NOW_MS, b"k1", b"v1", ()),
    (NOW_MS + 5, None, None, ()),
    (NOW_MS - 300, b"", b"x" * 100, (("trace", b"\x01\x02"), ("empty", b""), ("none", None), ("Größe", b"1"))),
    (NOW_MS, b"k1", None, (("again", b"1"), ("again", b"2"))),
)


def batches() -> list[bytes]:
    """One batch of every kind, stamped as a log would."""
    compacted = encode(_ENTRIES, producer_id=9, producer_epoch=1, base_sequence=4)
    kept = [record for record in iterate(compacted) if record.offset % 2]
    made = [
        *(encode(_ENTRIES, codec=codec) for codec in Codec),
        encode(_ENTRIES[:1], lane=Lane.CRITICAL),
        encode(((0, None, b"early", ()), ((1 << 63) - 1, None, b"late", ()))),
        encode(_ENTRIES, producer_id=7, producer_epoch=2, base_sequence=30, transactional=True),
        encode(_ENTRIES[:2], append_ms=NOW_MS + 9),
        encode([(NOW_MS + n, None, b"%d" % n, ()) for n in range(80)]),
        encode_marker(ControlMarker(commit=True, coordinator_epoch=3), NOW_MS, 7, 2),
        encode_marker(ControlMarker(commit=False, coordinator_epoch=3), NOW_MS, 7, 2),
        rebuild(read_header(compacted), kept),
        rebuild(read_header(compacted), kept, horizon_ms=NOW_MS + 1),
        rebuild(read_header(encode(_ENTRIES, codec=Codec.ZSTD)), []),
    ]
    for offset, batch in enumerate(made):
        stamp(batch, offset * 1000, offset % 3)
    return [bytes(batch) for batch in made]


def segment(batch_count: int, *, record_count: int = 1, base: int = 0, epoch: int = 0, gap: int = 0) -> bytes:
    """Batches one after another, of plain records, with `gap` offsets left out after each, in two leader epochs."""
    parts = []
    offset = base
    for number in range(batch_count):
        entries = [(NOW_MS + number * 7 - n, b"k%d" % (number % 5), b"v", ()) for n in range(record_count)]
        batch = encode(entries)
        stamp(batch, offset, epoch + (number > batch_count // 2))
        parts.append(batch)
        offset += record_count + gap
    return b"".join(parts)


def streams() -> list[list[StoredFile]]:
    """Folders of streams, as they were left in various ways."""
    return [
        _left(lambda log: _append(log, 5), closed=True),
        _left(lambda log: _append(log, 5), closed=False),
        _left(lambda log: _append(log, 24), closed=True),
        _left(lambda log: _append(log, 24), closed=False),
        _left(lambda log: _append(log, 530), closed=True, segment_bytes=1 << 20),
        _left(_trimmed, closed=True),
        _left(_compacted, closed=True, cleanup=Cleanup.COMPACT),
        *(_left(_unsynced, closed=False, crash_seed=seed) for seed in range(4)),
        [*_segments_without_checkpoint()],
        [],
    ]


def _left(
    use: Callable[[OpenLog], None],
    *,
    closed: bool,
    crash_seed: int | None = None,
    segment_bytes: int = 1024,
    cleanup: Cleanup = Cleanup.DELETE,
) -> list[StoredFile]:
    """The files of a stream after `use` of it."""
    disk = SimulatedDisk(crash_seed or 0)
    ticks = iter(range(1 << 30))
    config = LogConfig(segment_bytes=segment_bytes, index_interval_bytes=1, cleanup=cleanup, dirty_ratio=0.0)
    log = OpenLog(disk, STREAM, config, now=lambda: next(ticks), wall_ms=lambda: NOW_MS + 1000)
    use(log)
    if closed:
        log.close()
    if crash_seed is not None:
        disk.crash()
    return list(stored_files(disk, STREAM))


def _append(log: OpenLog, count: int, epoch: int = 0) -> None:
    for number in range(count):
        log.append(encode(((NOW_MS + number, b"k%d" % (number % 3), b"value", ()),)), epoch + number // 10)
        if number % 4 == 3:
            log.flush()
    log.flush()


def _trimmed(log: OpenLog) -> None:
    _append(log, 24)
    log.log.delete_before(0, 15)
    log.flush()
    log.truncate(20)
    _append(log, 3, epoch=5)


def _compacted(log: OpenLog) -> None:
    _append(log, 24)
    assert log.compact()


def _unsynced(log: OpenLog) -> None:
    _append(log, 12)
    for number in range(20):
        log.append(encode(((NOW_MS + number, None, b"unsynced" * 9, ()),)), 3)
        log.write()


def _segments_without_checkpoint() -> Iterator[StoredFile]:
    yield StoredFile.log(0, segment(4, record_count=2))
    yield StoredFile.log(8, segment(4, record_count=2, base=8, epoch=1) + bytes(200))
