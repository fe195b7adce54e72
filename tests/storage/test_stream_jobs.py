"""What waits for the disk: in which order it is done, what a failure at any step leaves, and room reserved ahead."""

import errno
import gc
from collections.abc import Callable
from queue import SimpleQueue
from random import Random

import pytest

from goqueue.core.log.config import Fsync
from goqueue.core.log.log import LogUnsound
from goqueue.storage.disk import Disk
from goqueue.storage.files import FileDisk
from goqueue.storage.jobs import StreamJob
from goqueue.storage.layout import CHECKPOINT_FILE, SYNCED_FILE
from goqueue.storage.open_log import DiskFailedError, OpenLog
from goqueue.storage.simulated import SimulatedDisk
from goqueue.storage.simulated_faults import Conditions
from goqueue.storage.threads import DiskThreads
from tests.storage.logbook import (
    NOW_MS,
    STREAM,
    Witness,
    abandon,
    content,
    in_stream,
    log_file,
    log_files,
    numbered,
    offsets,
    opened,
    stored,
)

SMALL = {"segment_bytes": 300, "index_interval_bytes": 0}


def fill(log: OpenLog, begin: int, end: int, size: int = 40) -> list[bytes]:
    """Append and flush batches with these numbers, and answer what the log holds."""
    for number in range(begin, end):
        log.append(numbered(number, size))
        log.flush()
    return stored(log)


def taken(log: OpenLog) -> StreamJob:
    """The one job that waits."""
    [job] = log.store.take_jobs()
    return job


# --- the order of steps


def operations(disk: SimulatedDisk, work: Callable[[], object]) -> list[str]:
    """What some work does to a disk, in order."""
    seen: list[str] = []
    faults, disk.faults = disk.faults, Witness(seen.append)
    work()
    disk.faults = faults
    return seen


def test_batches_are_synced_before_a_checkpoint_speaks_of_them_and_nothing_goes_before_it_is_replaced() -> None:
    disk = SimulatedDisk(1)
    log = opened(disk, **SMALL)
    fill(log, 0, 6)
    log.append(numbered(6))
    log.log.roll(0)
    log.log.delete_before(0, 5)
    log.write()
    job = taken(log)
    steps = operations(disk, job.run)
    replaced = steps.index(f"rename {in_stream(CHECKPOINT_FILE)}.unfinished")
    assert steps.index(f"sync {log_file(6)}") < replaced
    assert steps.index(f"sync {log_file(7)}") < replaced
    assert steps.index(f"sync {in_stream(CHECKPOINT_FILE)}.unfinished") < replaced
    assert replaced < steps.index(f"sync_folder {STREAM}", replaced) < steps.index(f"remove {log_file(0)}")
    assert steps.index(f"write {in_stream(SYNCED_FILE)}") > replaced
    log.finish(job)
    log.close()


def test_the_mark_follows_the_sync_it_reports_and_costs_none_of_its_own() -> None:
    disk = SimulatedDisk(1)
    log = opened(disk)
    fill(log, 0, 2)
    log.append(numbered(2))
    log.write()
    job = taken(log)
    steps = [step for step in operations(disk, job.run) if not step.startswith("open")]
    assert steps == [f"sync {log_file(0)}", f"write {in_stream(SYNCED_FILE)}"]
    log.finish(job)
    log.close()


def test_a_job_promises_nothing_of_what_was_appended_after_it_was_taken() -> None:
    disk = SimulatedDisk(1)
    log = opened(disk)
    log.append(numbered(0))
    log.write()
    job = taken(log)
    log.append(numbered(1))
    log.write()
    job.run()
    log.finish(job)
    assert log.log.acknowledged_offset == 1
    disk.crash(0.0)
    assert offsets(stored(opened(disk))) == [0]


def test_there_is_one_job_at_a_time_and_the_next_covers_all_that_came_meanwhile(any_disk: Disk) -> None:
    log = opened(any_disk, segment_bytes=100)
    log.append(numbered(0))
    log.write()
    job = taken(log)
    for number in range(1, 6):
        log.append(numbered(number))
        log.write()
        assert log.store.take_jobs() == []
    assert log.store.pending()
    job.run()
    log.finish(job)
    job = taken(log)
    job.run()
    log.finish(job)
    assert log.log.acknowledged_offset == 6
    assert log.store.take_jobs() == []
    assert not log.store.pending()
    log.close()


def test_threads_run_jobs_while_the_log_goes_on(any_disk: Disk) -> None:
    done: SimpleQueue[StreamJob] = SimpleQueue()
    threads = DiskThreads(done.put, 2)
    log = opened(any_disk, segment_bytes=2000)
    for number in range(200):
        log.append(numbered(number))
        log.write()
        for job in log.store.take_jobs():
            threads.submit(job)
        if number % 20 == 19:
            job = done.get()
            log.finish(job)
            del job
    threads.close()
    while not done.empty():
        log.finish(done.get())
    assert log.flush() == 200
    assert offsets(stored(log)) == list(range(200))
    log.close()


# --- failures


STEPS = [
    ("sync", log_file(8), "sync"),
    ("sync_folder", STREAM, "sync"),
    ("sync", in_stream(CHECKPOINT_FILE), "checkpoint"),
    ("write", in_stream(CHECKPOINT_FILE), "checkpoint"),
    ("rename", in_stream(CHECKPOINT_FILE), "checkpoint"),
    ("remove", log_file(0), "remove"),
    ("write", in_stream(SYNCED_FILE), "mark"),
]


@pytest.mark.parametrize(("operation", "path", "step"), STEPS)
@pytest.mark.parametrize("seed", range(4))
def test_a_failure_at_any_step_stops_the_log_until_it_has_looked_again(
    operation: str, path: str, step: str, seed: int
) -> None:
    disk = SimulatedDisk(seed)
    log = opened(disk, **SMALL)
    acknowledged = fill(log, 0, 8)
    log.append(numbered(8))
    log.log.roll(0)
    log.log.delete_before(0, 3)
    log.append(numbered(9))
    disk.fail_next(operation, errno.EIO, path)
    with pytest.raises(DiskFailedError, match=f"{STREAM}: {step} failed: .*Input/output error"):
        log.flush()
    assert log.log.acknowledged_offset == 8
    with pytest.raises(LogUnsound):
        log.append(numbered(99))
    assert stored(log, 3) == acknowledged[3:]
    log.recover()
    assert stored(log)[: 8 - log.log.start_offset] == acknowledged[log.log.start_offset :]
    end = log.log.next_offset
    assert end == log.log.acknowledged_offset >= 8
    log.append(numbered(10))
    assert log.flush() == end + 1
    expected = stored(log)
    disk.crash()
    assert stored(opened(disk, **SMALL)) == expected


@pytest.mark.parametrize("operation", ["write", "create"])
def test_a_write_that_fails_stops_the_log_until_it_has_looked_again(operation: str) -> None:
    disk = SimulatedDisk(3)
    log = opened(disk, **SMALL)
    acknowledged = fill(log, 0, 8)
    for number in range(8, 14):
        log.append(numbered(number))
    disk.fail_next(operation, errno.EIO, STREAM)
    with pytest.raises(DiskFailedError, match="Input/output error"):
        log.flush()
    assert log.log.acknowledged_offset == 8
    assert stored(log) == acknowledged
    log.recover()
    assert stored(log)[:8] == acknowledged
    log.append(numbered(20))
    log.flush()
    expected = stored(log)
    disk.crash()
    assert stored(opened(disk, **SMALL)) == expected


def test_what_a_failed_sync_lost_is_not_acknowledged_though_reads_still_show_it() -> None:
    disk = SimulatedDisk(1)
    log = opened(disk)
    acknowledged = fill(log, 0, 3)
    log.append(numbered(3, 3000))
    disk.fail_next("sync", errno.EIO, log_file(0))
    with pytest.raises(DiskFailedError):
        log.flush()
    assert len(content(disk, log_file(0))) > sum(map(len, acknowledged))
    log.recover()
    assert log.log.acknowledged_offset == 3
    assert stored(log) == acknowledged
    log.append(numbered(4))
    assert log.flush() == 4
    expected = stored(log)
    disk.crash(0.0)
    assert stored(opened(disk)) == expected


def test_another_process_is_told_that_a_sync_failed() -> None:
    disk = SimulatedDisk(1)
    log = opened(disk)
    acknowledged = fill(log, 0, 3)
    log.append(numbered(3, 3000))
    disk.fail_next("sync", errno.EIO, log_file(0))
    with pytest.raises(DiskFailedError):
        log.flush()
    disk.kill()
    log = opened(disk)
    assert stored(log) == acknowledged
    log.close()
    disk.crash(0.0)
    assert stored(opened(disk)) == acknowledged


def test_a_failure_while_a_job_runs_makes_its_answer_worthless() -> None:
    disk = SimulatedDisk(1)
    log = opened(disk)
    fill(log, 0, 2)
    log.append(numbered(2))
    log.write()
    job = taken(log)
    disk.fail_next("write", errno.EIO, log_file(0))
    log.append(numbered(3))
    with pytest.raises(DiskFailedError):
        log.write()
    job.run()
    log.finish(job)
    assert log.log.acknowledged_offset == 2
    assert log.store.failures() == []
    log.recover()
    assert log.log.acknowledged_offset >= 3
    assert offsets(stored(log))[:3] == [0, 1, 2]


def test_while_the_log_is_unsound_readers_see_only_what_was_synced() -> None:
    disk = SimulatedDisk(1)
    log = opened(disk)
    acknowledged = fill(log, 0, 3)
    log.append(numbered(3))
    log.write()
    assert offsets(stored(log)) == [0, 1, 2, 3]
    log.append(numbered(4, 500))
    disk.conditions.capacity_bytes = disk.used_bytes + 100
    with pytest.raises(DiskFailedError, match="No space left"):
        log.write()
    assert stored(log) == acknowledged
    assert log.read(3) is None
    assert log.read(0, 1) is not None
    assert log.log.deadline() is None
    assert log.log.take(0) == []


@pytest.mark.parametrize("fsync", list(Fsync))
@pytest.mark.parametrize("seed", range(3))
def test_a_full_disk_costs_nothing_that_was_acknowledged(fsync: Fsync, seed: int) -> None:
    random = Random(seed)
    disk = SimulatedDisk(seed)
    log = opened(disk, fsync=fsync, **SMALL)
    promised: list[bytes] = []
    for number in range(120):
        if number % 10 == 5:
            disk.conditions.capacity_bytes = disk.used_bytes + random.randint(0, 9000)
        try:
            log.append(numbered(number, random.choice([0, 100, 1000])))
            log.flush()
        except DiskFailedError:
            assert stored(log) == promised[: len(stored(log))]
            while log.log.unsound is not None:
                try:
                    log.recover()
                except (OSError, DiskFailedError):
                    assert log.log.unsound is not None
                    disk.conditions.capacity_bytes = None
        found = stored(log)
        assert found[: len(promised)] == promised
        promised = found if log.log.acknowledged_offset == log.log.next_offset else promised
    assert len(promised) > 60
    disk.conditions.capacity_bytes = None
    log.close()
    disk.crash(0.0)
    assert stored(opened(disk, **SMALL)) == promised


def test_a_recovery_that_fails_leaves_the_log_unsound_and_the_next_one_succeeds() -> None:
    disk = SimulatedDisk(1)
    log = opened(disk)
    acknowledged = fill(log, 0, 3)
    log.append(numbered(3))
    disk.fail_next("sync", errno.EIO)
    with pytest.raises(DiskFailedError):
        log.flush()
    for operation in ("names", "read", "open"):
        disk.fail_next(operation, errno.EIO, STREAM)
        with pytest.raises(OSError, match="Input/output error"):
            log.recover()
        with pytest.raises(LogUnsound):
            log.append(numbered(9))
    log.recover()
    assert stored(log)[:3] == acknowledged
    log.append(numbered(9))
    assert log.flush() == log.log.next_offset


def test_a_failure_is_reported_once() -> None:
    disk = SimulatedDisk(1)
    log = opened(disk)
    log.append(numbered(0))
    disk.fail_next("write", errno.ENOSPC, log_file(0))
    log.store.perform(log.log.take(0))
    [failure] = log.store.failures()
    assert (failure.stream, failure.operation) == (STREAM, "append")
    assert log_file(0) in failure.why
    assert log.store.failures() == []
    assert log.store.take_jobs() == []
    assert not log.store.pending()


def test_damage_on_the_way_to_a_cut_stops_it_before_anything_is_taken(any_disk: Disk) -> None:
    log = opened(any_disk, index_interval_bytes=1 << 20)
    fill(log, 0, 6)
    size = len(numbered(0))
    file = any_disk.open(log_file(0))
    file.write([b"\xff" * 20], 2 * size)
    file.sync()
    file.close()
    with pytest.raises(DiskFailedError, match=f"cut failed: {log_file(0)}: damaged at byte {2 * size}"):
        log.truncate(5)
    assert len(content(any_disk, log_file(0))) == 6 * size
    abandon(log)


# --- room reserved ahead


BIG = 300_000


def test_a_busy_segment_has_zeros_at_its_end_and_a_small_one_has_none(any_disk: Disk) -> None:
    log = opened(any_disk)
    batches = fill(log, 0, 3, BIG)
    assert content(any_disk, log_file(0)) == b"".join(batches)
    batches = fill(log, 3, 6, BIG)
    found = content(any_disk, log_file(0))
    size = sum(map(len, batches))
    assert found[:size] == b"".join(batches)
    if isinstance(any_disk, SimulatedDisk):
        assert len(found) >= 2 * size - BIG
    assert not any(found[size:])
    log.close()
    assert content(any_disk, log_file(0)) == b"".join(batches)


def test_a_sealed_segment_has_no_room_left_over(any_disk: Disk) -> None:
    log = opened(any_disk, segment_bytes=5 * BIG)
    batches = fill(log, 0, 12, BIG)
    segments = log.log.segments
    assert [len(content(any_disk, in_stream(one.name + ".log"))) for one in segments[:-1]] == [
        one.size for one in segments[:-1]
    ]
    assert stored(log) == batches
    abandon(log)


def test_zeros_that_a_kill_leaves_are_a_clean_end(any_disk: Disk) -> None:
    log = opened(any_disk)
    batches = fill(log, 0, 6, BIG)
    abandon(log)
    log = opened(any_disk)
    assert log.recovery.notes == []
    assert log.recovery.cut_bytes == 0
    assert stored(log) == batches
    batches = fill(log, 6, 9, BIG)
    assert offsets(batches) == list(range(9))
    abandon(log)
    log = opened(any_disk)
    assert stored(log) == batches
    log.close()


@pytest.mark.parametrize("seed", range(10))
def test_a_crash_amid_reserved_room_is_a_torn_tail_and_no_more(seed: int) -> None:
    disk = SimulatedDisk(seed)
    log = opened(disk)
    acknowledged = fill(log, 0, 6, BIG)
    for number in range(6, 9):
        log.append(numbered(number, 3000))
    log.write()
    disk.crash()
    log = opened(disk)
    found = stored(log)
    assert found[:6] == acknowledged
    assert offsets(found) == list(range(len(found)))


def test_room_that_cannot_be_reserved_is_done_without() -> None:
    disk = SimulatedDisk(1)
    log = opened(disk)
    fill(log, 0, 3, BIG)
    disk.conditions.capacity_bytes = disk.used_bytes + BIG + 5000
    assert offsets(fill(log, 3, 4, BIG)) == [0, 1, 2, 3]
    disk.conditions.capacity_bytes = None
    batches = fill(log, 4, 6, BIG)
    disk.crash()
    assert stored(opened(disk)) == batches


def test_a_disk_that_reserves_nothing_is_asked_in_vain_and_serves_all_the_same() -> None:
    disk = SimulatedDisk(1, Conditions(reserves=False))
    log = opened(disk)
    batches = fill(log, 0, 8, BIG)
    assert content(disk, log_file(0)) == b"".join(batches)
    log.close()
    assert stored(opened(disk)) == batches


def test_reserving_that_fails_for_another_reason_is_a_failure() -> None:
    disk = SimulatedDisk(1)
    log = opened(disk)
    disk.fail_next("allocate", errno.EIO)
    with pytest.raises(DiskFailedError, match="Input/output error"):
        fill(log, 0, 6, BIG)
    log.recover()
    assert offsets(stored(log)) == list(range(log.log.next_offset))


def test_files_are_opened_again_after_a_recovery_in_place(tmp_path_factory: pytest.TempPathFactory) -> None:
    disk = FileDisk(str(tmp_path_factory.mktemp("data")))
    log = opened(disk, **SMALL)
    batches = fill(log, 0, 10)
    log.recover()
    assert stored(log) == batches
    assert offsets(fill(log, 10, 14)) == list(range(14))
    assert log_files(disk)
    assert log.find_time(NOW_MS) is not None
    log.close()


def test_a_failure_holds_no_file_open_until_the_next_collection() -> None:
    disk = SimulatedDisk(1)
    gc.collect()
    gc.disable()
    try:
        for operation, path in (("write", log_file(0)), ("sync", log_file(0)), ("rename", STREAM)):
            log = opened(disk, checkpoint_bytes=1)
            log.append(numbered(0))
            disk.fail_next(operation, errno.EIO, path)
            with pytest.raises(DiskFailedError):
                log.flush()
            abandon(log)
            del log
            assert all(inode.handles == 0 for _, inode in disk._root.files())
    finally:
        gc.enable()
