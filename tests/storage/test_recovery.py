"""Recovery: what a stop at any moment leaves is a log again, with all that was promised, and it stays so."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from random import Random

import pytest

from goqueue.core.log.config import UNLIMITED, Cleanup, Fsync
from goqueue.core.log.index import ENTRIES_A_PAGE, PAGE_BYTES
from goqueue.core.log.segment import segment_name
from goqueue.storage.disk import Disk
from goqueue.storage.errors import DamageError
from goqueue.storage.layout import CHECKPOINT_FILE, INDEX_ENDINGS, SYNCED_FILE
from goqueue.storage.open_log import OpenLog
from goqueue.storage.simulated import SimulatedDisk
from tests.storage.list_model import ListModel
from tests.storage.logbook import (
    NOW_MS,
    STREAM,
    Hands,
    Witness,
    abandon,
    content,
    everything,
    in_stream,
    log_file,
    log_files,
    numbered,
    offsets,
    opened,
    records,
    stored,
)

CASES = [(fsync, cleanup) for fsync in Fsync for cleanup in (Cleanup.DELETE, Cleanup.COMPACT_DELETE)]
SETTINGS: dict[str, object] = {
    "segment_bytes": 700,
    "index_interval_bytes": 150,
    "checkpoint_bytes": 1000,
    "retention_ms": 3_600_000,
    "dirty_ratio": 0.0,
}


class Story:
    """A log's life in a dozen chapters, with all that it does to a disk, and what is promised at each moment."""

    def __init__(self, disk: SimulatedDisk, fsync: Fsync, cleanup: Cleanup) -> None:
        self.disk = disk
        self.settings = SETTINGS | {"fsync": fsync, "cleanup": cleanup}
        self.hands = Hands()
        self.model = ListModel(compacts=cleanup.compacts)
        self.number = 0
        self.log = self.open(disk)

    def open(self, disk: SimulatedDisk) -> OpenLog:
        """The log on this disk or a copy of it."""
        return opened(disk, self.hands, **self.settings)

    def chapters(self) -> Iterator[Callable[[], None]]:
        """What happens, one after the other."""
        yield lambda: self.append(3, 50)
        yield lambda: self.append(2, 400)
        yield lambda: self.append(1, 2000)
        yield self.roll
        yield lambda: self.append(5, 100, count=3)
        yield self.compact
        yield lambda: self.append(3, 50, at_once=True)
        yield lambda: self.truncate(4)
        yield lambda: self.append(3, 90)
        yield lambda: self.delete_before(7)
        yield lambda: self.truncate(9)
        yield lambda: self.append(4, 300)
        yield self.compact
        yield self.sync
        yield self.retain
        yield lambda: self.append(3, 120)
        yield self.restart
        yield lambda: self.append(3, 10)
        yield self.close

    def append(self, batches: int, size: int, *, count: int = 1, at_once: bool = False) -> None:
        """Some batches, each in a turn of its own or all in one."""
        for _ in range(batches):
            batch = numbered(self.number, size, count=count, key=b"%d" % (self.number % 3), ms=self.hands.wall_ms)
            self.number += 1
            self.log.append(batch)
            self.model.append(batch)
            if not at_once:
                self.flush()
        self.flush()

    def flush(self) -> None:
        """Write; a kill leaves it from then on. Wait for the disk; so does a crash, as far as it was synced."""
        self.log.write()
        self.model.written = max(self.model.written, self.log.log.next_offset)
        self.log.run_jobs()
        self.model.promise(self.log.log.synced_offset)

    def sync(self) -> None:
        """A sync that the mode does not ask for."""
        self.log.log.sync(self.hands.now)
        self.flush()

    def roll(self) -> None:
        """A segment ends."""
        self.log.log.roll(self.hands.now)
        self.flush()

    def compact(self) -> None:
        """What is sealed is written anew."""
        assert self.log.compact() == self.log.log.config.cleanup.compacts

    def truncate(self, back: int) -> None:
        """The last offsets are taken back."""
        offset = max(self.log.log.start_offset, self.log.log.next_offset - back)
        self.log.log.truncate(self.hands.now, offset)
        self.model.cut(offset)
        self.log.flush()
        self.adopt_cut()

    def restart(self) -> None:
        """All is taken back, and the log begins anew further on."""
        offset = self.log.log.next_offset + 10
        self.log.log.restart(self.hands.now, offset)
        self.model.cut(offset, restarts=True)
        self.log.flush()
        self.adopt_cut()

    def adopt_cut(self) -> None:
        """The cut is done."""
        self.model.reopened(self.log)

    def delete_before(self, back: int) -> None:
        """The start moves."""
        offset = self.log.log.next_offset - back
        self.log.log.delete_before(self.hands.now, offset)
        self.settle_start()

    def retain(self) -> None:
        """Everything is too old."""
        self.hands.pass_by(7_200_000)
        self.log.log.wake(self.hands.now)
        self.settle_start()

    def settle_start(self) -> None:
        """The new start is possible from now on, and certain once the disk has it."""
        self.model.start_most = self.log.log.start_offset
        self.flush()
        self.model.start_least = self.log.log.start_offset

    def close(self) -> None:
        """All is on the disk, whatever the mode."""
        self.log.close()
        self.model.promise(self.log.log.next_offset)


def tell(story: Story, look: Callable[[str], None]) -> int:
    """The whole story, with a look before every operation of the disk; how many looks that were."""
    witness = Witness(look)
    story.disk.faults = witness
    adopt = story.adopt_cut

    def adopt_unseen() -> None:
        with witness.asleep():
            adopt()

    story.adopt_cut = adopt_unseen  # type: ignore[method-assign]
    for chapter in story.chapters():
        chapter()
    look("the end")
    return witness.looks


def check_log(story: Story, disk: SimulatedDisk, floor: int) -> OpenLog:
    """The log that is found on a disk, which keeps what was promised and then changes no more."""
    log = story.open(disk)
    log.log.check()
    model = story.model.copy()
    model.judge_and_adopt(log, floor)
    before, state = everything(disk), log.recovery.state
    disk.kill()
    again = story.open(disk).recovery
    assert everything(disk) == before
    assert again.notes == []
    assert (again.state.sealed, again.state.tail.segment) == (state.sealed, state.tail.segment)
    disk.crash(0.0)
    settled = story.open(disk)
    assert (settled.log.start_offset, settled.log.next_offset) == (log.log.start_offset, log.log.next_offset)
    settled.append(numbered(999_999))
    assert settled.flush() == log.log.next_offset + 1
    return settled


@pytest.mark.parametrize(("fsync", "cleanup"), CASES)
def test_a_crash_before_any_operation_leaves_what_was_promised(fsync: Fsync, cleanup: Cleanup) -> None:
    story = Story(SimulatedDisk(1), fsync, cleanup)
    random = Random(2)

    def look(operation: str) -> None:
        for survives in (None, random.choice([None, 0.0, 1.0])):
            disk = story.disk.copy(random.getrandbits(32))
            disk.crash(survives)
            check_log(story, disk, story.model.promised)

    assert tell(story, look) > 300


@pytest.mark.parametrize(("fsync", "cleanup"), CASES)
def test_a_kill_before_any_operation_leaves_what_was_written(fsync: Fsync, cleanup: Cleanup) -> None:
    story = Story(SimulatedDisk(1), fsync, cleanup)

    def look(operation: str) -> None:
        check_log(story, story.disk.copy(), story.model.written)

    assert tell(story, look) > 300


@pytest.mark.parametrize("fsync", [Fsync.EVERY, Fsync.NONE])
def test_a_crash_during_the_recovery_from_a_crash_leaves_what_was_promised(fsync: Fsync) -> None:
    story = Story(SimulatedDisk(1), fsync, Cleanup.COMPACT_DELETE)
    random = Random(3)
    chosen = [0, 0]

    def look(operation: str) -> None:
        chosen[0] += 1
        if chosen[0] % 23:
            return
        crashed = story.disk.copy(random.getrandbits(32))
        crashed.crash()

        def look_again(operation: str) -> None:
            chosen[1] += 1
            disk = crashed.copy(random.getrandbits(32))
            disk.crash()
            check_log(story, disk, story.model.promised)

        crashed.faults = Witness(look_again)
        story.open(crashed)

    tell(story, look)
    assert chosen[1] > 150


@pytest.mark.parametrize(("fsync", "cleanup"), CASES)
def test_a_crash_and_the_loss_of_the_checkpoint_lose_nothing_in_silence(fsync: Fsync, cleanup: Cleanup) -> None:
    story = Story(SimulatedDisk(1), fsync, cleanup)
    random = Random(4)
    opened_again = [0]

    def look(operation: str) -> None:
        disk = story.disk.copy(random.getrandbits(32))
        disk.crash()
        if story.model.cut_offset is not None or not disk.exists(in_stream(CHECKPOINT_FILE)):
            # Nothing is left that tells of half a cut.
            return
        disk.remove(in_stream(CHECKPOINT_FILE))
        with suppress(DamageError):
            log = story.open(disk)
            log.log.check()
            opened_again[0] += 1
            start, end = story.model.start_most, story.model.promised
            assert log.log.start_offset <= start or cleanup.compacts
            assert log.log.next_offset >= end
            found = records(stored(log))
            newest = {key: offset for entry in story.model.entries for offset, key, _ in entry.records}
            present = {(record.offset, bytes(record.value or b"")) for record in found}
            for entry in story.model.entries:
                for offset, key, value in entry.records:
                    superseded = cleanup.compacts and newest[key] > offset
                    assert (offset, value) in present or superseded or not start <= offset < end

    assert tell(story, look) > 300
    assert opened_again[0] > 150


# --- one thing at a time


def test_a_closed_log_is_opened_without_reading_it_back(any_disk: Disk) -> None:
    log = opened(any_disk, segment_bytes=1000)
    for number in range(40):
        log.append(numbered(number))
    log.close()
    before = everything(any_disk)
    log = opened(any_disk, segment_bytes=1000)
    assert log.recovery.scanned_bytes < 1000
    assert log.recovery.notes == []
    assert everything(any_disk) == before
    assert offsets(stored(log)) == list(range(40))
    log.close()


def test_a_batch_of_any_size_is_found_again(any_disk: Disk) -> None:
    sizes = [0, 1, 4000, 70_000, 1 << 20, (1 << 20) + 77, 3 << 20, 5]
    log = opened(any_disk)
    for number, size in enumerate(sizes):
        log.append(numbered(number, size))
        log.write()
    before = stored(log)
    abandon(log)
    log = opened(any_disk)
    assert stored(log) == before
    assert log.recovery.scanned_bytes == sum(map(len, before))
    log.close()


def test_segments_that_were_rolled_after_the_last_checkpoint_are_found_by_name(any_disk: Disk) -> None:
    log = opened(any_disk, segment_bytes=300)
    for number in range(12):
        log.append(numbered(number))
    log.write()
    batches, segments = stored(log), log.log.segments
    assert len(segments) == 6
    abandon(log)
    log = opened(any_disk, segment_bytes=300)
    assert stored(log) == batches
    assert [(one.base, one.size, one.next_offset, one.max_timestamp) for one in log.log.segments] == [
        (one.base, one.size, one.next_offset, one.max_timestamp) for one in segments
    ]
    assert log.recovery.notes == []
    log.close()


def test_a_hole_in_what_was_not_synced_takes_what_follows_with_it() -> None:
    disk = SimulatedDisk(1)
    log = opened(disk, segment_bytes=300, fsync=Fsync.NONE)
    for number in range(4):
        log.append(numbered(number))
    log.flush()
    for number in range(4, 12):
        log.append(numbered(number))
    log.write()
    torn = 6
    file = disk.open(log_file(torn))
    file.write([bytes(file.size())], 0)
    disk.kill()
    log = opened(disk, segment_bytes=300, fsync=Fsync.NONE)
    assert offsets(stored(log)) == list(range(torn))
    assert log.log.next_offset == torn
    assert any(log_file(8) in note for note in log.recovery.notes)
    assert log_files(disk) == [f"{segment_name(base, 0)}.log" for base in (0, 2, 4, 6)]
    log.append(numbered(99))
    assert log.flush() == torn + 1
    log.close()
    assert offsets(stored(opened(disk))) == list(range(torn + 1))


def test_nothing_is_left_of_an_earlier_tail_where_a_new_one_grows_shorter(any_disk: Disk) -> None:
    log = opened(any_disk)
    log.append(numbered(0, 100))
    log.append(numbered(1, 5000))
    log.flush()
    log.truncate(1)
    log.append(numbered(2, 10))
    log.flush()
    batches = stored(log)
    assert offsets(batches) == [0, 1]
    abandon(log)
    log = opened(any_disk)
    assert stored(log) == batches
    assert log.recovery.notes == []
    log.close()


@pytest.mark.parametrize("offset", [0, 1, 300, 511, 600, 1100])
def test_indexes_are_cut_with_the_log(any_disk: Disk, offset: int) -> None:
    log = opened(any_disk, index_interval_bytes=0, fsync=Fsync.NONE)
    for number in range(1200):
        log.append(numbered(number, 1, ms=NOW_MS + number))
    log.flush()
    log.truncate(offset)
    entries = max(offset - 1, 0)
    for kind, ending in INDEX_ENDINGS.items():
        path = log_file(0).replace(".log", ending)
        pages = -(-entries // ENTRIES_A_PAGE[kind])
        assert len(content(any_disk, path) if any_disk.exists(path) else b"") == pages * PAGE_BYTES
    assert offsets(stored(log)) == list(range(offset))
    log.close()


def test_an_old_mark_says_nothing_of_a_tail_that_was_cut(any_disk: Disk) -> None:
    log = opened(any_disk)
    for number in range(5):
        log.append(numbered(number, 1000))
    log.flush()
    mark = content(any_disk, in_stream(SYNCED_FILE))
    log.truncate(2)
    abandon(log)
    file = any_disk.open(in_stream(SYNCED_FILE), create=True)
    file.write([mark], 0)
    file.close()
    log = opened(any_disk)
    assert offsets(stored(log)) == [0, 1]
    log.close()


def test_leader_epochs_are_found_again_in_the_batches(any_disk: Disk) -> None:
    log = opened(any_disk, segment_bytes=500)
    for number in range(20):
        log.append(numbered(number), leader_epoch=number // 7 + 1)
    log.flush()
    entries = log.log.epochs.entries()
    assert entries == [(1, 0), (2, 7), (3, 14)]
    abandon(log)
    log = opened(any_disk, segment_bytes=500)
    assert log.log.epochs.entries() == entries
    abandon(log)
    any_disk.remove(in_stream(CHECKPOINT_FILE))
    log = opened(any_disk, segment_bytes=500)
    assert log.log.epochs.entries() == entries
    log.close()


def test_gaps_that_a_leader_left_are_kept(any_disk: Disk) -> None:
    leader = opened(SimulatedDisk(5), cleanup=Cleanup.COMPACT, dirty_ratio=0.0, segment_bytes=300)
    for number in range(20):
        leader.append(numbered(number, key=b"%d" % (number % 2)))
    leader.flush()
    assert leader.compact()
    log = opened(any_disk, segment_bytes=300)
    for batch in stored(leader):
        log.log.replicate(0, batch)
        log.flush()
    batches = stored(log)
    assert batches == stored(leader)
    assert offsets(batches) != list(range(20))
    abandon(log)
    log = opened(any_disk, segment_bytes=300)
    assert stored(log) == batches
    assert log.log.next_offset == 20
    log.close()


@pytest.mark.parametrize("entries", [254, 255, 256, 509, 510, 511, 766])
@pytest.mark.parametrize("lost", [False, True])
def test_the_latest_timestamp_is_not_forgotten_wherever_the_indexes_pages_end(
    any_disk: Disk, entries: int, lost: bool
) -> None:
    log = opened(any_disk, index_interval_bytes=0, fsync=Fsync.NONE)
    for number in range(entries + 1):
        rising = min(number, 200)
        log.append(numbered(number, 1, ms=NOW_MS + rising))
    log.log.sync(0)
    log.flush()
    for stop in (abandon, OpenLog.close):
        stop(log)
        index = log_file(0).replace(".log", ".timeindex")
        if lost and any_disk.exists(index):
            any_disk.remove(index)
        log = opened(any_disk, index_interval_bytes=0, fsync=Fsync.NONE)
        assert log.log.segments[-1].max_timestamp == NOW_MS + 200
        found = log.find_time(NOW_MS + 200)
        assert found is not None
        assert found.offset == 200
        assert log.find_time(NOW_MS + 201) is None
    log.close()


def test_an_age_is_that_of_the_batches_and_not_of_the_restart(any_disk: Disk) -> None:
    hands = Hands()
    log = opened(any_disk, hands, retention_ms=10_000)
    log.append(numbered(0, ms=hands.wall_ms))
    log.flush()
    abandon(log)
    hands.pass_by(9_000)
    log = opened(any_disk, hands, retention_ms=10_000)
    log.wake()
    assert log.log.start_offset == 0
    hands.pass_by(2_000)
    log.wake()
    assert log.log.start_offset == log.log.next_offset == 1
    assert stored(log) == []
    log.close()


def test_a_stream_that_never_was_is_begun(any_disk: Disk) -> None:
    log = opened(any_disk, retention_bytes=UNLIMITED)
    assert (log.log.start_offset, log.log.next_offset) == (0, 0)
    assert stored(log) == []
    assert log.recovery.notes == []
    assert any_disk.is_folder(STREAM)
    log.close()
