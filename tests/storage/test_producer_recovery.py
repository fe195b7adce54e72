"""What recovery hands up of producers: from the checkpoint, from the batches after it, or from every batch there is."""

import pytest

from goqueue.core.log.checkpoint import Checkpoint, decode_checkpoint, encode_checkpoint
from goqueue.core.log.config import UNLIMITED, Cleanup
from goqueue.core.log.producers import Produced, Producers
from goqueue.core.records.batch import HEADER_BYTES, read_header
from goqueue.core.records.build import encode
from goqueue.storage.errors import DamageError
from goqueue.storage.layout import CHECKPOINT_FILE
from goqueue.storage.open_log import OpenLog
from goqueue.storage.recovery import Recovery
from goqueue.storage.repair import repair
from goqueue.storage.simulated import SimulatedDisk
from tests.storage.logbook import (
    NOW_MS,
    STREAM,
    Hands,
    abandon,
    content,
    flip,
    in_stream,
    log_file,
    log_files,
    numbered,
    opened,
    overwrite,
)

ID = 1000
SETTINGS: dict[str, object] = {"segment_bytes": 700, "index_interval_bytes": 150, "retention_ms": UNLIMITED}


def sequenced(
    first: int, count: int = 1, *, producer_id: int = ID, size: int = 40, key: bytes | None = None
) -> bytearray:
    """A producer's batch."""
    entries = [(NOW_MS, key, bytes(size), ())] * count
    return encode(entries, producer_id=producer_id, producer_epoch=0, base_sequence=first)


def written(disk: SimulatedDisk, batches: int = 12, **settings: object) -> OpenLog:
    """A log to which a producer has written batches of two records, over several segments."""
    log = opened(disk, **SETTINGS | settings)
    for number in range(batches):
        log.append(sequenced(2 * number, 2))
        log.flush()
    return log


def expected(*numbers: int) -> list[Produced]:
    """What is remembered of those batches."""
    return [Produced(2 * number, 2 * number + 1, 2 * number, NOW_MS) for number in numbers]


def table_on(disk: SimulatedDisk) -> Producers:
    """The table in the checkpoint."""
    table = checkpoint_on(disk).producers
    assert table is not None
    return Producers.decode(table)


def checkpoint_on(disk: SimulatedDisk) -> Checkpoint:
    """The checkpoint as it lies there."""
    return decode_checkpoint(content(disk, in_stream(CHECKPOINT_FILE)))


def reopened(disk: SimulatedDisk) -> Recovery:
    """What a recovery makes of the disk; a second one must make the same of it."""
    log = opened(disk, **SETTINGS)
    first = log.recovery
    abandon(log)
    log = opened(disk, **SETTINGS)
    again = log.recovery
    abandon(log)
    assert again.state.producers.encode() == first.state.producers.encode()
    assert table_on(disk).encode() == first.state.producers.encode()
    return first


@pytest.fixture
def disk() -> SimulatedDisk:
    """An empty disk."""
    return SimulatedDisk(1)


def test_after_an_orderly_end_the_checkpoint_knows_all(disk: SimulatedDisk) -> None:
    written(disk).close()
    recovery = reopened(disk)
    assert recovery.state.producers.batches(ID) == expected(7, 8, 9, 10, 11)


def test_after_a_kill_the_batches_behind_the_checkpoint_are_read(disk: SimulatedDisk) -> None:
    abandon(written(disk))
    assert table_on(disk).last(ID) != (0, 23), "the checkpoint knows it all already"
    assert reopened(disk).state.producers.batches(ID) == expected(7, 8, 9, 10, 11)


def test_a_batch_larger_than_a_block_is_stepped_over(disk: SimulatedDisk) -> None:
    log = opened(disk)
    for first, size in ((0, 200_000), (1, 10), (2, 65_536), (3, 64_000), (4, 300_000)):
        log.append(sequenced(first, size=size))
        log.flush()
    abandon(log)
    recovered = reopened(disk).state.producers.batches(ID)
    assert [(one.first_sequence, one.first_offset) for one in recovered] == [(at, at) for at in range(5)]


@pytest.mark.parametrize("lost", ["removed", "damaged"])
def test_without_a_checkpoint_every_batch_is_read(disk: SimulatedDisk, lost: str) -> None:
    log = written(disk)
    log.append(sequenced(0, producer_id=ID + 1))
    log.append(numbered(1))
    log.close()
    if lost == "removed":
        disk.remove(in_stream(CHECKPOINT_FILE))
    else:
        flip(disk, in_stream(CHECKPOINT_FILE), 40)
    producers = reopened(disk).state.producers
    assert producers.batches(ID) == expected(7, 8, 9, 10, 11)
    assert producers.batches(ID + 1) == [Produced(0, 0, 24, NOW_MS)]


def test_what_a_crash_tore_off_was_never_produced(disk: SimulatedDisk) -> None:
    log = written(disk, 3, segment_bytes=5000)
    log.append(sequenced(6, 2))
    log.write()
    abandon(log)
    overwrite(disk, log_file(0), log.log.size_bytes - 5, b"\xff" * 5)
    recovery = reopened(disk)
    assert recovery.cut_bytes > 0
    assert recovery.state.producers.batches(ID) == expected(0, 1, 2)


def test_retention_takes_the_batches_and_not_what_is_known(disk: SimulatedDisk) -> None:
    log = written(disk)
    log.log.delete_before(0, log.log.next_offset)
    log.log.roll(0)
    log.log.delete_before(0, log.log.next_offset)
    log.log.retain(0)
    log.flush()
    abandon(log)
    assert len(log_files(disk)) == 1
    assert reopened(disk).state.producers.batches(ID) == expected(7, 8, 9, 10, 11)


def test_compaction_takes_no_sequence_even_when_the_checkpoint_is_lost_later(disk: SimulatedDisk) -> None:
    log = opened(disk, Hands(), cleanup=Cleanup.COMPACT, dirty_ratio=0.0, **SETTINGS)
    for number in range(12):
        log.append(sequenced(number, key=b"k"))
        log.append(sequenced(number, producer_id=ID + 1, key=b"k"))
        log.flush()
    assert log.compact()
    abandon(log)
    assert reopened(disk).state.producers.last(ID) == (0, 11)
    disk.remove(in_stream(CHECKPOINT_FILE))
    producers = reopened(disk).state.producers
    assert (producers.last(ID), producers.last(ID + 1)) == ((0, 11), (0, 11))


def test_after_a_cut_the_batches_before_it_are_remembered(disk: SimulatedDisk) -> None:
    log = written(disk)
    log.truncate(16)
    assert log.log.producers.batches(ID) == expected(3, 4, 5, 6, 7)
    log.append(sequenced(16, 2))
    log.close()
    assert reopened(disk).state.producers.batches(ID) == expected(4, 5, 6, 7, 8)


def test_after_a_repair_every_sound_batch_counts(disk: SimulatedDisk) -> None:
    log = written(disk)
    log.close()
    flip(disk, log_file(log.log.segments[1].base), HEADER_BYTES + 3)
    repair(disk, STREAM, log.log.config, NOW_MS)
    assert checkpoint_on(disk).producers
    assert reopened(disk).state.producers.batches(ID) == expected(7, 8, 9, 10, 11)


def test_a_checkpoint_without_a_table_makes_every_batch_count(disk: SimulatedDisk) -> None:
    written(disk).close()
    checkpoint = checkpoint_on(disk)
    checkpoint.producers = None
    rewrite_checkpoint(disk, checkpoint)
    assert reopened(disk).state.producers.batches(ID) == expected(7, 8, 9, 10, 11)


def rewrite_checkpoint(disk: SimulatedDisk, checkpoint: Checkpoint) -> None:
    """Put another checkpoint in its place."""
    disk.remove(in_stream(CHECKPOINT_FILE))
    overwrite(disk, in_stream(CHECKPOINT_FILE), 0, encode_checkpoint(checkpoint))


def test_damage_that_hides_who_wrote_what_is_named(disk: SimulatedDisk) -> None:
    written(disk, index_interval_bytes=4096).close()
    checkpoint = checkpoint_on(disk)
    checkpoint.producers = None
    rewrite_checkpoint(disk, checkpoint)
    first = read_header(content(disk, log_file(0)))
    overwrite(disk, log_file(0), first.size + 16, b"\x07")
    with pytest.raises(DamageError, match=f"{log_file(0)}: damaged at byte {first.size}: expected the header"):
        opened(disk, **SETTINGS | {"index_interval_bytes": 4096})


def test_a_table_that_is_none_is_not_believed(disk: SimulatedDisk) -> None:
    written(disk).close()
    checkpoint = checkpoint_on(disk)
    checkpoint.producers = b"\x01nonsense"
    rewrite_checkpoint(disk, checkpoint)
    recovery = reopened(disk)
    assert "every segment is read instead" in recovery.notes[0]
    assert recovery.state.producers.batches(ID) == expected(7, 8, 9, 10, 11)


def test_a_table_of_a_newer_release_is_refused(disk: SimulatedDisk) -> None:
    written(disk).close()
    checkpoint = checkpoint_on(disk)
    checkpoint.producers = b"\x02anything"
    rewrite_checkpoint(disk, checkpoint)
    with pytest.raises(DamageError, match="start the release that wrote it"):
        opened(disk, **SETTINGS)


def test_a_log_without_producers_is_read_once(disk: SimulatedDisk) -> None:
    log = opened(disk, **SETTINGS)
    for number in range(12):
        log.append(numbered(number))
    log.flush()
    abandon(log)
    recovery = reopened(disk)
    assert len(recovery.state.producers) == 0
    assert checkpoint_on(disk).producers == b""


def test_what_is_forgotten_while_the_broker_stands_still_is_forgotten_later() -> None:
    disk, hands = SimulatedDisk(1), Hands()
    log = opened(disk, hands, **SETTINGS)
    log.append(sequenced(0))
    log.close()
    hands.pass_by(25 * 3_600_000)
    log = opened(disk, hands, **SETTINGS)
    assert log.log.producers.last(ID) == (0, 0)
    log.append(sequenced(0, producer_id=ID + 1))
    assert log.log.producers.last(ID) is None
    log.close()
