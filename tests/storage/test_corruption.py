"""Damage: what was acknowledged is never dropped in silence, what was not may go, and indexes are only ever a help."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest
from crc32c import crc32c

from goqueue.core.errors import BatchError
from goqueue.core.log.checkpoint import decode_checkpoint, encode_checkpoint
from goqueue.core.log.index import PAGE_BYTES
from goqueue.core.records.batch import split, validate
from goqueue.storage.disk import Disk, DiskLocked
from goqueue.storage.errors import DamageError
from goqueue.storage.files import FileDisk
from goqueue.storage.inspection import verify
from goqueue.storage.layout import CHECKPOINT_FILE, SYNCED_FILE, FormatError
from goqueue.storage.open_log import OpenLog
from goqueue.storage.simulated import SimulatedDisk
from tests.storage.logbook import (
    NOW_MS,
    STREAM,
    abandon,
    content,
    cut_file,
    everything,
    flip,
    in_stream,
    log_file,
    log_files,
    numbered,
    offsets,
    opened,
    overwrite,
    records,
    stored,
)

SEALED = 12
IN_A_SEGMENT = 4
COUNT = SEALED + 3


def write_log(disk: Disk, count: int = COUNT, *, close: bool = False, **settings: object) -> list[bytes]:
    """A log of segments with IN_A_SEGMENT batches each, all of it acknowledged; a closed one has nothing to recover."""
    size = len(numbered(0))
    log = opened(disk, segment_bytes=IN_A_SEGMENT * size + size // 2, index_interval_bytes=0, **settings)
    for number in range(count):
        log.append(numbered(number, ms=NOW_MS + number))
        log.flush()
    batches = stored(log)
    assert len(batches) == count
    if close:
        log.close()
    else:
        abandon(log)
    return batches


def reopened(disk: Disk) -> OpenLog:
    """The log that `write_log` left."""
    return opened(disk, segment_bytes=1 << 20, index_interval_bytes=0)


def refusal(disk: Disk) -> DamageError:
    """The error with which the log is refused, after which nothing on the disk is different."""
    before = everything(disk)
    with pytest.raises(DamageError) as caught:
        reopened(disk)
    assert everything(disk) == before
    return caught.value


BATCH = len(numbered(0))
ACTIVE = SEALED

# --- damage to what was acknowledged


@pytest.mark.parametrize("position", [0, 8, 16, 17, 30, BATCH - 1, BATCH, 2 * BATCH + 16, 3 * BATCH - 1])
def test_a_flipped_bit_below_the_synced_mark_is_refused(any_disk: Disk, position: int) -> None:
    write_log(any_disk)
    flip(any_disk, log_file(ACTIVE), position, 6)
    error = refusal(any_disk)
    assert error.path == log_file(ACTIVE)
    assert error.position == position // BATCH * BATCH
    assert f"{log_file(ACTIVE)}: damaged at byte {error.position}: expected" in str(error)
    assert "acknowledged" in str(error)


@pytest.mark.parametrize("bit", range(0, 64, 5))
@pytest.mark.parametrize(("number", "close"), [(0, False), (1, False), (2, False), (2, True)])
def test_a_flipped_offset_is_refused_though_no_crc_covers_it(
    any_disk: Disk, number: int, bit: int, close: bool
) -> None:
    """What lies before the last index entry of a log that was closed is not read again, until a reader comes."""
    write_log(any_disk, close=close)
    flip(any_disk, log_file(ACTIVE), number * BATCH + bit // 8, bit % 8)
    assert refusal(any_disk).path == log_file(ACTIVE)


def test_a_flipped_epoch_of_the_last_batch_is_refused_where_the_checkpoint_knows_better(any_disk: Disk) -> None:
    write_log(any_disk, close=True)
    flip(any_disk, log_file(ACTIVE), 2 * BATCH + 15, 2)
    assert "epoch" in str(refusal(any_disk))


@pytest.mark.parametrize("size", [0, 1, BATCH - 1, BATCH, 2 * BATCH, 3 * BATCH - 1])
@pytest.mark.parametrize("close", [True, False])
def test_a_file_cut_short_below_the_synced_mark_is_refused(any_disk: Disk, size: int, close: bool) -> None:
    write_log(any_disk, close=close)
    cut_file(any_disk, log_file(ACTIVE), size)
    assert refusal(any_disk).path == log_file(ACTIVE)


@pytest.mark.parametrize("close", [True, False])
def test_zeros_where_batches_were_acknowledged_are_refused(any_disk: Disk, close: bool) -> None:
    write_log(any_disk, close=close)
    overwrite(any_disk, log_file(ACTIVE), 2 * BATCH, bytes(BATCH))
    error = refusal(any_disk)
    assert error.position == 2 * BATCH


@pytest.mark.parametrize("base", [0, 4, 8, ACTIVE])
@pytest.mark.parametrize("close", [True, False])
def test_a_missing_segment_is_refused(any_disk: Disk, base: int, close: bool) -> None:
    write_log(any_disk, close=close)
    any_disk.remove(log_file(base))
    error = refusal(any_disk)
    assert error.path == log_file(base)
    assert "no such file" in str(error) or base == ACTIVE


@pytest.mark.parametrize("size", [0, BATCH, IN_A_SEGMENT * BATCH - 1])
def test_a_sealed_segment_cut_short_is_refused(any_disk: Disk, size: int) -> None:
    write_log(any_disk)
    cut_file(any_disk, log_file(4), size)
    error = refusal(any_disk)
    assert (error.path, error.position) == (log_file(4), size)
    assert str(IN_A_SEGMENT * BATCH) in str(error)


def test_a_foreign_log_file_is_refused(any_disk: Disk) -> None:
    write_log(any_disk)
    overwrite(any_disk, log_file(ACTIVE), 0, content(any_disk, log_file(0))[: 3 * BATCH])
    error = refusal(any_disk)
    assert error.path == log_file(ACTIVE)
    assert "expected offset 12" in str(error)
    assert "found 0" in str(error)


def test_damage_in_a_sealed_segment_is_found_by_readers_and_by_verify(any_disk: Disk) -> None:
    batches = write_log(any_disk)
    flip(any_disk, log_file(4), BATCH + 40)
    log = reopened(any_disk)
    with pytest.raises(BatchError):
        stored(log)
    assert stored(log, 6) == batches[6:]
    abandon(log)
    verdicts = {verdict.path: verdict for verdict in verify(any_disk, STREAM)}
    assert verdicts[log_file(4)].sound_bytes == BATCH
    assert verdicts[log_file(4)].flaw is not None
    assert all(verdict.flaw is None for path, verdict in verdicts.items() if path != log_file(4))


@pytest.mark.parametrize("position", [8, 16])
def test_a_reader_is_told_of_a_damaged_frame_in_a_sealed_segment(any_disk: Disk, position: int) -> None:
    write_log(any_disk)
    log = reopened(any_disk)
    flip(any_disk, log_file(4), 2 * BATCH + position, 7)
    assert len(stored(log, 8)) == COUNT - 8
    with pytest.raises(DamageError) as caught:
        list(log.batches(4))
    assert caught.value.path == log_file(4)


def test_an_offset_that_lies_beyond_its_segment_does_not_pass_for_the_end_of_the_log(any_disk: Disk) -> None:
    write_log(any_disk)
    log = reopened(any_disk)
    flip(any_disk, log_file(4), 2 * BATCH + 3)
    with pytest.raises(DamageError) as caught:
        list(log.batches(6))
    assert caught.value.path == log_file(4)


# --- a torn tail, which nobody was promised


def tear(disk: Disk, junk: bytes) -> None:
    overwrite(disk, log_file(ACTIVE), 3 * BATCH, junk)


@pytest.mark.parametrize(
    ("junk", "reason"),
    [
        (bytes(numbered(99))[: BATCH - 1], "truncated"),
        (bytes(numbered(99))[:30], "truncated"),
        (b"\1", "truncated"),
        (b"not a batch" * 20, "magic"),
        (bytes(numbered(99))[: BATCH // 2] + bytes(BATCH), "crc"),
        (bytes(numbered(99)), "offsets"),
        (bytes(11) + b"\3" + bytes(4) + b"\2" + bytes(60), "length"),
    ],
)
def test_a_torn_tail_is_cut_off_and_reported(any_disk: Disk, junk: bytes, reason: str) -> None:
    batches = write_log(any_disk)
    tear(any_disk, junk)
    log = reopened(any_disk)
    assert stored(log) == batches
    assert log.recovery.cut_bytes == len(junk)
    [note] = log.recovery.notes
    assert log_file(ACTIVE) in note
    assert f"cut {len(junk)} bytes" in note
    assert f"byte {3 * BATCH}, offset {COUNT}" in note
    assert reason in note
    assert log.append(numbered(COUNT)) == COUNT
    log.flush()
    assert offsets(stored(log)) == list(range(COUNT + 1))
    log.close()


def test_zeros_at_the_end_are_room_that_was_reserved_and_nothing_to_report(any_disk: Disk) -> None:
    batches = write_log(any_disk)
    tear(any_disk, bytes(5000))
    log = reopened(any_disk)
    assert stored(log) == batches
    assert log.recovery.notes == []
    assert log.recovery.cut_bytes == 0
    assert len(content(any_disk, log_file(ACTIVE))) == 3 * BATCH
    log.close()


def test_batches_that_were_written_but_never_acknowledged_may_stay(any_disk: Disk) -> None:
    size = len(numbered(0))
    log = opened(any_disk)
    for number in range(3):
        log.append(numbered(number))
        log.flush()
    log.append(numbered(3))
    log.write()
    abandon(log)
    log = opened(any_disk)
    assert offsets(stored(log)) == [0, 1, 2, 3]
    assert log.log.acknowledged_offset == 4
    assert log.recovery.scanned_bytes == 4 * size
    log.close()


# --- the checkpoint


def spoil_checkpoint(disk: Disk) -> None:
    flip(disk, in_stream(CHECKPOINT_FILE), 60)


def lose_checkpoint(disk: Disk) -> None:
    disk.remove(in_stream(CHECKPOINT_FILE))


def empty_checkpoint(disk: Disk) -> None:
    cut_file(disk, in_stream(CHECKPOINT_FILE), 0)


def replace_checkpoint(disk: Disk) -> None:
    overwrite(disk, in_stream(CHECKPOINT_FILE), 0, b"the shopping list\n")


SPOILERS = [spoil_checkpoint, lose_checkpoint, empty_checkpoint, replace_checkpoint]


@pytest.mark.parametrize("spoil", SPOILERS)
@pytest.mark.parametrize("close", [True, False])
def test_without_a_checkpoint_every_segment_is_read(any_disk: Disk, spoil: Callable[[Disk], None], close: bool) -> None:
    batches = write_log(any_disk, close=close)
    spoil(any_disk)
    log = reopened(any_disk)
    assert stored(log) == batches
    assert log.recovery.scanned_bytes == COUNT * BATCH
    assert all(CHECKPOINT_FILE in note for note in log.recovery.notes)
    abandon(log)
    log = reopened(any_disk)
    assert stored(log) == batches
    assert log.recovery.scanned_bytes < IN_A_SEGMENT * BATCH
    assert log.recovery.notes == []
    log.close()


@pytest.mark.parametrize("spoil", SPOILERS)
@pytest.mark.parametrize("base", [0, 4, 8, ACTIVE])
def test_without_a_checkpoint_no_missing_segment_goes_unnoticed(
    any_disk: Disk, spoil: Callable[[Disk], None], base: int
) -> None:
    write_log(any_disk)
    spoil(any_disk)
    if base == 0:
        # Nothing but the checkpoint tells a log that lost its beginning from one whose beginning was deleted.
        any_disk.remove(log_file(0))
        log = reopened(any_disk)
        assert log.log.start_offset == 4
        log.close()
        return
    any_disk.remove(log_file(base))
    refusal(any_disk)


@pytest.mark.parametrize("base", [0, 4, 8])
def test_without_a_checkpoint_zeros_in_a_sealed_segment_are_refused(any_disk: Disk, base: int) -> None:
    write_log(any_disk)
    lose_checkpoint(any_disk)
    overwrite(any_disk, log_file(base), 2 * BATCH, bytes(2 * BATCH))
    error = refusal(any_disk)
    assert (error.path, error.position) == (log_file(base), 2 * BATCH)


def test_a_checkpoint_of_a_later_version_is_refused(any_disk: Disk) -> None:
    write_log(any_disk)
    path = in_stream(CHECKPOINT_FILE)
    newer = content(any_disk, path).replace(b'"version":1', b'"version":3').partition(b"\n")[2]
    cut_file(any_disk, path, 0)
    overwrite(any_disk, path, 0, b"goqueue-checkpoint %08x\n" % crc32c(newer) + newer)
    error = refusal(any_disk)
    assert error.path == path
    assert "version 3" in str(error)


def test_a_segment_that_the_checkpoint_does_not_know_goes_if_it_is_older_and_stays_if_it_is_younger(
    any_disk: Disk,
) -> None:
    batches = write_log(any_disk)
    sealed = content(any_disk, log_file(0))
    overwrite(any_disk, log_file(2), 0, sealed)
    overwrite(any_disk, log_file(4, 7), 0, sealed)
    log = reopened(any_disk)
    assert stored(log) == batches
    assert log_file(2).rpartition("/")[2] not in log_files(any_disk)
    assert log_file(4, 7).rpartition("/")[2] not in log_files(any_disk)
    log.close()


# --- the synced mark


def test_without_a_mark_the_checkpoint_still_vouches_for_what_it_names(any_disk: Disk) -> None:
    batches = write_log(any_disk, close=True)
    any_disk.remove(in_stream(SYNCED_FILE))
    log = reopened(any_disk)
    assert stored(log) == batches
    abandon(log)
    flip(any_disk, log_file(ACTIVE), 2 * BATCH + 30)
    refusal(any_disk)


@pytest.mark.parametrize("damage", [b"", b"short", bytes(44), b"x" * 44, b"x" * 500])
def test_a_damaged_mark_is_no_mark(any_disk: Disk, damage: bytes) -> None:
    batches = write_log(any_disk)
    cut_file(any_disk, in_stream(SYNCED_FILE), 0)
    overwrite(any_disk, in_stream(SYNCED_FILE), 0, damage)
    log = reopened(any_disk)
    assert stored(log) == batches
    log.close()


def test_every_flipped_bit_of_the_mark_is_noticed(any_disk: Disk) -> None:
    batches = write_log(any_disk)
    size = len(content(any_disk, in_stream(SYNCED_FILE)))
    for position in range(size):
        flip(any_disk, in_stream(SYNCED_FILE), position, position % 8)
        log = reopened(any_disk)
        assert stored(log) == batches
        abandon(log)
        flip(any_disk, in_stream(SYNCED_FILE), position, position % 8)


# --- leftovers


def test_unfinished_files_and_orphaned_indexes_are_swept_up(any_disk: Disk) -> None:
    batches = write_log(any_disk)
    name = "checkpoint.unfinished"
    overwrite(any_disk, in_stream(name), 0, b"half a checkp")
    orphan = log_file(1).replace(".log", ".index")
    overwrite(any_disk, orphan, 0, bytes(PAGE_BYTES))
    log = reopened(any_disk)
    assert stored(log) == batches
    left = any_disk.names(STREAM)
    assert name not in left
    assert orphan.rpartition("/")[2] not in left
    log.close()


def test_what_a_person_left_in_the_folder_is_not_touched(any_disk: Disk) -> None:
    batches = write_log(any_disk)
    strangers = {"notes.txt": b"hello", "1.log": b"x", "0" * 19 + ".log": b"y", log_file(0)[-24:] + ".bak": b"z"}
    for name, piece in strangers.items():
        overwrite(any_disk, in_stream(name), 0, piece)
    log = reopened(any_disk)
    assert stored(log) == batches
    assert {name: content(any_disk, in_stream(name)) for name in strangers} == strangers
    log.close()


def test_half_a_compaction_is_not_taken_for_the_log_though_the_checkpoint_is_lost_as_well(any_disk: Disk) -> None:
    batches = write_log(any_disk)
    lose_checkpoint(any_disk)
    half = content(any_disk, log_file(0))[:BATCH]
    overwrite(any_disk, log_file(0, 1) + ".unfinished", 0, half)
    log = reopened(any_disk)
    assert stored(log) == batches
    log.close()


# --- indexes


def index_files(disk: Disk) -> list[str]:
    return [in_stream(name) for name in disk.names(STREAM) if name.endswith("index")]


def answers(log: OpenLog, batches: list[bytes]) -> None:
    """Whatever the indexes are, every look-up answers as the list of batches does."""
    for offset in range(len(batches)):
        result = log.read(offset, 1)
        assert result is not None
        assert bytes(result.batches) == batches[offset]
    for number in range(-1, len(batches) + 1):
        found = log.find_time(NOW_MS + number)
        expected = max(number, 0)
        if expected < len(batches):
            assert found is not None
            assert (found.offset, found.timestamp) == (expected, NOW_MS + expected)
        else:
            assert found is None


def remove_index(disk: Disk, path: str) -> None:
    disk.remove(path)


def empty_index(disk: Disk, path: str) -> None:
    cut_file(disk, path, 0)


def halve_index(disk: Disk, path: str) -> None:
    cut_file(disk, path, len(content(disk, path)) // 2)


def scribble_on_index(disk: Disk, path: str) -> None:
    overwrite(disk, path, 10, b"scribble" * 9)


def lengthen_index(disk: Disk, path: str) -> None:
    overwrite(disk, path, len(content(disk, path)), b"more" * 2000)


def blank_index(disk: Disk, path: str) -> None:
    overwrite(disk, path, 0, bytes(len(content(disk, path))))


INDEX_SPOILERS = [remove_index, empty_index, halve_index, scribble_on_index, lengthen_index, blank_index]


@pytest.mark.parametrize("spoil", INDEX_SPOILERS)
@pytest.mark.parametrize("ending", [".index", ".timeindex", "index"])
@pytest.mark.parametrize("close", [True, False])
def test_look_ups_do_not_depend_on_the_indexes(
    any_disk: Disk, spoil: Callable[[Disk, str], None], ending: str, close: bool
) -> None:
    batches = write_log(any_disk, close=close)
    for path in index_files(any_disk):
        if path.endswith(ending):
            spoil(any_disk, path)
    log = reopened(any_disk)
    answers(log, batches)
    log.append(numbered(COUNT, ms=NOW_MS + COUNT))
    log.flush()
    batches = stored(log)
    answers(log, batches)
    log.close()
    log = reopened(any_disk)
    answers(log, batches)
    log.close()


def foreign_indexes(disk: Disk) -> Iterator[tuple[str, bytes]]:
    """The index files of another log, whose segments have the same bases and different batches."""
    other = SimulatedDisk(9)
    size = len(numbered(0))
    log = opened(other, segment_bytes=IN_A_SEGMENT * 3 * size, index_interval_bytes=0)
    for number in range(COUNT):
        if number and number % IN_A_SEGMENT == 0:
            log.log.roll(0)
        log.append(numbered(number, 30 + number % 7 * 11, ms=NOW_MS + 1000 - number))
        log.flush()
    log.close()
    for name in other.names(STREAM):
        if name.endswith("index"):
            yield in_stream(name), content(other, in_stream(name))


@pytest.mark.parametrize("close", [True, False])
def test_indexes_of_another_log_are_not_believed(any_disk: Disk, close: bool) -> None:
    batches = write_log(any_disk, close=close)
    for path, foreign in foreign_indexes(any_disk):
        overwrite(any_disk, path, 0, foreign)
    log = reopened(any_disk)
    answers(log, batches)
    log.close()
    log = reopened(any_disk)
    answers(log, batches)
    log.close()


# --- the folder


def test_a_folder_of_another_program_is_left_alone(any_disk: Disk) -> None:
    any_disk.make_folder("")
    overwrite(any_disk, "thesis.tex", 0, b"chapter one")
    before = everything(any_disk)
    with pytest.raises(FormatError, match=r"thesis\.tex"):
        opened(any_disk)
    assert everything(any_disk) == before


@pytest.mark.parametrize(
    ("text", "said"),
    [(b"goqueue data, format 2\n", "newer"), (b"something else\n", "expected"), (b"", "expected")],
)
def test_a_folder_of_another_format_is_refused(any_disk: Disk, text: bytes, said: str) -> None:
    write_log(any_disk, 2)
    cut_file(any_disk, "FORMAT", 0)
    overwrite(any_disk, "FORMAT", 0, text)
    before = everything(any_disk)
    with pytest.raises(FormatError, match=said):
        opened(any_disk)
    assert everything(any_disk) == before


def test_one_broker_at_a_time(any_disk: Disk) -> None:
    log = opened(any_disk)
    with pytest.raises(DiskLocked):
        opened(any_disk)
    log.append(numbered(0))
    log.close()
    log = opened(any_disk)
    assert log.log.next_offset == 1
    log.close()


def test_a_refused_start_leaves_the_folder_free(any_disk: Disk) -> None:
    batches = write_log(any_disk)
    flip(any_disk, log_file(ACTIVE), 30)
    refusal(any_disk)
    flip(any_disk, log_file(ACTIVE), 30)
    log = reopened(any_disk)
    assert stored(log) == batches
    log.close()


def test_another_process_is_kept_out_and_told_by_whom(tmp_path: Path) -> None:
    log = opened(FileDisk(str(tmp_path / "data")))
    code = (
        "import sys; from goqueue.storage.files import FileDisk; from goqueue.storage.disk import DiskLocked\n"
        "from goqueue.storage.store import Store\n"
        "try: Store(FileDisk(sys.argv[1]))\n"
        "except DiskLocked as error: print(error.pid)\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "data")]
    first = subprocess.run(command, capture_output=True, text=True, check=True)
    assert first.stdout.strip() == str(os.getpid())
    log.close()
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == ""


# --- rot anywhere


def consumed(log: OpenLog) -> list[bytes]:
    """What a consumer takes that checks what it can: the CRC, and that each batch follows the one before it."""
    taken: list[bytes] = []
    expected = log.log.start_offset
    for run in log.batches():
        for batch in split(run):
            header = validate(batch, compacted=True, base_offset=expected)
            expected = header.next_offset
            taken.append(bytes(batch))
    return taken


def without_epoch(batch: bytes) -> bytes:
    """A batch without the four bytes that nothing protects and that only brokers look at."""
    return batch[:12] + batch[16:]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("close", [True, False])
def test_rot_is_never_served_nor_taken_for_a_sound_log(seed: int, close: bool) -> None:
    pristine = SimulatedDisk(seed)
    batches = write_log(pristine, close=close)
    pristine.crash(1.0)
    random = Random(seed)
    for _ in range(60):
        disk = pristine.copy(random.getrandbits(32))
        rotten = disk.rot_some(random.choice([1, 1, 1, 4]), STREAM)
        try:
            log = reopened(disk)
        except DamageError:
            continue
        marked = all(path != in_stream(SYNCED_FILE) for path, _, _ in rotten)
        assert log.log.next_offset == COUNT or not marked, rotten
        expected = [without_epoch(batch) for batch in batches]
        with suppress(DamageError, BatchError):
            found = [without_epoch(batch) for batch in consumed(log)]
            assert found == expected[: len(found)], rotten
            assert len(found) == COUNT or not marked, rotten
        for offset in range(0, COUNT, 3):
            with suppress(DamageError, BatchError):
                result = log.read(offset, 1)
                if result is not None:
                    header = validate(bytes(result.batches), compacted=True, base_offset=offset)
                    assert without_epoch(bytes(result.batches)) == without_epoch(batches[offset]), header
            with suppress(DamageError, BatchError):
                log.find_time(NOW_MS + offset)


def test_a_checkpoint_survives_its_own_encoding() -> None:
    disk = SimulatedDisk(1)
    write_log(disk)
    written = content(disk, in_stream(CHECKPOINT_FILE))
    assert encode_checkpoint(decode_checkpoint(written)) == written
    assert records(stored(reopened(disk)))
