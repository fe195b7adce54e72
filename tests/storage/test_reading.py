"""Finding and fetching: every look-up answers as a walk over all batches would, whatever the indexes hold."""

import os
from collections.abc import Callable
from random import Random

import pytest

from goqueue.core.log.config import Cleanup
from goqueue.core.log.index import ENTRIES_A_PAGE, PAGE_BYTES, IndexKind
from goqueue.core.records.build import encode
from goqueue.storage.disk import Disk
from goqueue.storage.errors import DamageError
from goqueue.storage.files import FileDisk
from goqueue.storage.open_log import OpenLog
from goqueue.storage.segment_files import ColdError, SegmentFiles
from goqueue.storage.simulated import SimulatedDisk
from goqueue.storage.simulated_faults import Conditions
from tests.storage.logbook import (
    NOW_MS,
    STREAM,
    abandon,
    content,
    cut_file,
    in_stream,
    log_file,
    numbered,
    offsets,
    opened,
    overwrite,
    records,
    stored,
)

NO_TIME = -1


def rising(random: Random, number: int) -> int:
    return NOW_MS + number * 10


def equal(random: Random, number: int) -> int:
    return NOW_MS


def jumping(random: Random, number: int) -> int:
    return NOW_MS + random.randrange(2000)


def falling(random: Random, number: int) -> int:
    return NOW_MS + 100_000 - number * 7


def absent(random: Random, number: int) -> int:
    return NO_TIME


def now_and_then(random: Random, number: int) -> int:
    return NOW_MS + number if random.random() < 0.1 else NO_TIME


TIMES = [rising, equal, jumping, falling, absent, now_and_then]
Layout = tuple[int, int, int]
LAYOUTS: list[Layout] = [(0, 1 << 20, 300), (300, 4000, 300), (64, 600, 200), (4096, 1 << 20, 400)]


def write_log(
    disk: Disk, times: Callable[[Random, int], int], layout: Layout, seed: int
) -> tuple[OpenLog, list[bytes]]:
    """A log of batches of all sizes, a few of them a turn."""
    random = Random(seed)
    interval_bytes, segment_bytes, count = layout
    log = opened(disk, index_interval_bytes=interval_bytes, segment_bytes=segment_bytes)
    for number in range(count):
        stamps = [times(random, number * 4 + at) for at in range(random.choice([1, 1, 2, 5]))]
        filling = random.choice([0, 10, 100, 900])
        log.append(encode([(ms, None, b"%d.%d" % (number, at) + bytes(filling), ()) for at, ms in enumerate(stamps)]))
        if random.random() < 0.3:
            log.write()
    log.flush()
    return log, stored(log)


def check_offsets(log: OpenLog, batches: list[bytes]) -> None:
    """A read from any offset begins with the batch that holds it."""
    bases = offsets(batches)
    for number, (base, batch) in enumerate(zip(bases, batches, strict=True)):
        end = bases[number + 1] if number + 1 < len(bases) else log.log.next_offset
        for offset in {base, end - 1}:
            result = log.read(offset, 1)
            assert result is not None
            assert bytes(result.batches) == batch
            assert result.next_offset == end


def check_times(log: OpenLog, batches: list[bytes], stride: int = 1) -> None:
    """A search by time finds the first record, in the order of offsets, that is not older."""
    stamped = [(record.offset, record.timestamp) for record in records(batches)]
    asked = {stamp + step for _, stamp in stamped for step in (-1, 0, 1)} | {0, NOW_MS * 2}
    for timestamp in sorted(asked)[::stride]:
        if timestamp < 0:
            continue
        expected = next(((offset, stamp) for offset, stamp in stamped if stamp >= timestamp), None)
        found = log.find_time(timestamp)
        assert (None if found is None else (found.offset, found.timestamp)) == expected


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("times", TIMES)
def test_every_look_up_answers_as_a_walk_would_before_and_after_a_restart(
    any_disk: Disk, times: Callable[[Random, int], int], layout: Layout
) -> None:
    log, batches = write_log(any_disk, times, layout, 1)
    for stop in (abandon, OpenLog.close, None):
        check_offsets(log, batches)
        check_times(log, batches, 7)
        if stop is not None:
            stop(log)
            log = opened(any_disk, index_interval_bytes=layout[0], segment_bytes=layout[1])
            assert stored(log) == batches
    log.close()


@pytest.mark.parametrize("times", TIMES)
def test_every_time_that_a_record_has_is_found(times: Callable[[Random, int], int]) -> None:
    log, batches = write_log(SimulatedDisk(1), times, (100, 3000, 120), 2)
    check_times(log, batches)


# More entries than three pages of either index hold.
COUNT = 3 * ENTRIES_A_PAGE[IndexKind.OFFSET] + 40
TINY = 1


def write_tiny(disk: Disk) -> tuple[OpenLog, list[bytes]]:
    log = opened(disk, index_interval_bytes=0)
    for number in range(COUNT):
        log.append(numbered(number, TINY, ms=NOW_MS + number))
    log.flush()
    log.log.roll(0)
    log.append(numbered(COUNT, TINY, ms=NOW_MS + COUNT))
    log.flush()
    return log, stored(log)


def check_some(log: OpenLog, batches: list[bytes]) -> None:
    edges = {page * ENTRIES_A_PAGE[kind] + step for kind in IndexKind for page in range(7) for step in (-1, 0, 1, 2)}
    for offset in sorted(edge for edge in edges | {COUNT - 1, COUNT} if 0 <= edge <= COUNT):
        result = log.read(offset, 1)
        assert result is not None
        assert bytes(result.batches) == batches[offset]
        found = log.find_time(NOW_MS + offset)
        assert found is not None
        assert (found.offset, found.timestamp) == (offset, NOW_MS + offset)


@pytest.mark.parametrize("page", range(4))
@pytest.mark.parametrize("ending", [".index", ".timeindex"])
@pytest.mark.parametrize("position", [0, 8, 17, 2000])
def test_a_damaged_page_only_makes_the_way_longer(any_disk: Disk, ending: str, page: int, position: int) -> None:
    log, batches = write_tiny(any_disk)
    check_some(log, batches)
    path = log_file(0).replace(".log", ending)
    overwrite(any_disk, path, page * PAGE_BYTES + position, b"\xff\xfe\xfd")
    check_some(log, batches)
    abandon(log)
    log = opened(any_disk, index_interval_bytes=0)
    check_some(log, batches)
    log.close()


def test_a_damaged_page_makes_the_answer_a_lower_one() -> None:
    disk = SimulatedDisk(1)
    log, _ = write_tiny(disk)
    log.close()
    files = SegmentFiles(disk, STREAM, f"{0:020d}")
    exact = files.floor_position(IndexKind.OFFSET, 700, cached=False)
    overwrite(disk, log_file(0).replace(".log", ".index"), PAGE_BYTES + 100, b"\xff")
    assert 0 < files.floor_position(IndexKind.OFFSET, 700, cached=False) < exact


def test_a_look_up_touches_a_dozen_pages_of_an_index_and_not_all() -> None:
    disk = SimulatedDisk(1)
    log, _ = write_tiny(disk)
    log.close()
    files = SegmentFiles(disk, STREAM, f"{0:020d}")
    begun = disk.operations
    assert files.floor_position(IndexKind.TIME, NOW_MS + 1000, cached=True) > 0
    assert disk.operations - begun < 10


def test_a_file_that_is_shorter_than_its_log_is_an_error_where_it_ends(any_disk: Disk) -> None:
    log, batches = write_log(any_disk, rising, (100, 2000, 60), 1)
    size = log.log.segments[0].size
    cut_file(any_disk, log_file(0), size - 1)
    with pytest.raises(DamageError) as caught:
        list(log.batches())
    assert caught.value.path == log_file(0)
    assert caught.value.position < size
    assert stored(log, log.log.segments[1].base) == batches[offsets(batches).index(log.log.segments[1].base) :]
    abandon(log)


# --- what is not in memory


def test_what_is_not_in_memory_is_not_waited_for_but_fetched_in_a_thread() -> None:
    disk = SimulatedDisk(1, Conditions(p_cold=1.0))
    log, batches = write_log(disk, rising, (100, 2000, 60), 1)
    read = log.log.read(5, 1000)
    assert read is not None
    with pytest.raises(ColdError):
        log.store.read(read)
    result = log.store.cold_read(read).run()
    assert bytes(result.batches).startswith(next(batch for batch in stored(log, 5)))
    find = log.log.find_time(NOW_MS + 300)
    assert find is not None
    with pytest.raises(ColdError):
        log.store.find_time(find)
    found = log.store.cold_find_time(find).run()
    assert found == log.find_time(NOW_MS + 300)
    check_offsets(log, batches)
    check_times(log, batches, 11)


@pytest.mark.parametrize("seed", range(3))
def test_what_the_system_dropped_from_memory_is_read_again(seed: int) -> None:
    disk = SimulatedDisk(seed, Conditions(p_cold=0.2))
    log, batches = write_log(disk, jumping, (64, 1500, 150), seed)
    random = Random(seed)
    for offset in range(0, log.log.next_offset, 7):
        if random.random() < 0.3:
            disk.evict(random.choice([path for path in disk.paths() if path.startswith(STREAM)]))
        result = log.read(offset, 200)
        assert result is not None
        assert bytes(result.batches) in b"".join(batches)
    check_times(log, batches, 13)


# --- readers beside removal


def test_a_result_stays_what_it_is_while_others_are_read(any_disk: Disk) -> None:
    log, batches = write_log(any_disk, rising, (100, 4000, 100), 1)
    held = [(offset, log.read(offset, 1)) for offset in offsets(batches)[:40]]
    assert stored(log) == batches
    for (_, result), batch in zip(held, batches, strict=False):
        assert result is not None
        assert bytes(result.batches) == batch
    log.close()


def test_a_reader_reads_on_in_a_segment_that_is_deleted_under_it(any_disk: Disk) -> None:
    log, batches = write_log(any_disk, rising, (100, 2000, 60), 1)
    result = log.read(0, 1000)
    read = log.log.read(0, 1000)
    assert result is not None
    assert read is not None
    cold = log.store.cold_read(read)
    log.log.delete_before(0, log.log.segments[-1].base)
    log.flush()
    assert not any_disk.exists(log_file(0))
    before = b"".join(batches)[: len(result.batches)]
    assert bytes(result.batches) == before
    assert bytes(cold.run().batches) == before
    log.close()


def test_a_reader_reads_on_in_a_segment_that_is_compacted_under_it(any_disk: Disk) -> None:
    settings: dict[str, object] = {"cleanup": Cleanup.COMPACT, "dirty_ratio": 0.0, "segment_bytes": 600}
    log = opened(any_disk, **settings)
    for number in range(30):
        log.append(numbered(number, key=b"k%d" % (number % 3)))
    log.flush()
    batches = stored(log)
    read = log.log.read(0, 250)
    assert read is not None
    cold, result = log.store.cold_read(read), log.store.read(read)
    assert log.compact()
    assert not any_disk.exists(log_file(0))
    assert bytes(cold.run().batches) == bytes(result.batches) == b"".join(batches)[: len(result.batches)]
    following = stored(log, result.next_offset)
    assert len(following) < len(batches) - 2
    assert set(following) <= set(batches)
    log.close()


def test_an_answer_that_comes_after_a_cut_leads_no_reader_astray(any_disk: Disk) -> None:
    log = opened(any_disk)
    for number in range(10):
        log.append(numbered(number, 50))
    log.flush()
    read = log.log.read(0, 400)
    assert read is not None
    result = log.store.read(read)
    log.truncate(2)
    for number in range(10):
        log.append(numbered(20 + number, 200 + 3 * number))
    log.flush()
    log.log.read_done(read, result.next_offset, result.next_position)
    assert offsets(stored(log, result.next_offset)) == list(range(result.next_offset, 12))
    log.close()


# --- descriptors


def open_files(disk: Disk) -> int:
    """How many files of the stream are open."""
    if isinstance(disk, SimulatedDisk):
        return sum(inode.handles for path, inode in disk._root.files() if path.startswith(STREAM))
    assert isinstance(disk, FileDisk)
    links = []
    for descriptor in os.listdir("/proc/self/fd"):
        try:
            links.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        except FileNotFoundError:
            continue
    return sum(link.startswith(f"{disk.root}/{STREAM}") for link in links)


def test_few_files_are_open_however_many_segments_are_read_and_none_is_left_at_the_end(any_disk: Disk) -> None:
    log = opened(any_disk, segment_bytes=300, index_interval_bytes=50)
    for number in range(150):
        log.append(numbered(number))
        if number % 10 == 9:
            log.flush()
    log.flush()
    assert len(log.log.segments) > 60
    check_offsets(log, stored(log))
    assert log.find_time(NOW_MS) is not None
    assert 0 < open_files(any_disk) <= 60
    log.log.delete_before(0, 140)
    log.flush()
    assert open_files(any_disk) <= 25
    log.truncate(145)
    log.recover()
    log.close()
    assert open_files(any_disk) == 0
    log = opened(any_disk, segment_bytes=300)
    abandon(log)
    assert open_files(any_disk) == 0


def test_a_compaction_leaves_no_file_open(any_disk: Disk) -> None:
    log = opened(any_disk, cleanup=Cleanup.COMPACT, dirty_ratio=0.0, segment_bytes=400)
    for number in range(60):
        log.append(numbered(number, key=b"k%d" % (number % 4)))
    log.flush()
    assert log.compact()
    stored(log)
    log.close()
    assert open_files(any_disk) == 0


def test_a_refused_start_leaves_no_file_open(any_disk: Disk) -> None:
    log = opened(any_disk)
    for number in range(5):
        log.append(numbered(number))
    log.flush()
    abandon(log)
    overwrite(any_disk, log_file(0), 40, b"\xff")
    for _ in range(3):
        with pytest.raises(DamageError) as caught:
            opened(any_disk)
        caught.value.with_traceback(None)
        del caught
    assert open_files(any_disk) == 0


def test_reading_makes_no_files(any_disk: Disk) -> None:
    log = opened(any_disk, segment_bytes=300)
    for number in range(20):
        log.append(numbered(number))
    log.close()
    names = any_disk.names(STREAM)
    log = opened(any_disk, segment_bytes=300)
    check_offsets(log, stored(log))
    log.find_time(NOW_MS)
    abandon(log)
    assert any_disk.names(STREAM) == names
    assert len(content(any_disk, in_stream(names[0]))) > 0
