"""A log on a disk, driven in place: what it promises while nothing goes wrong, on a simulated disk and a real one."""

import pytest

from goqueue.core.clock import Clock
from goqueue.core.errors import BatchError
from goqueue.core.log.config import Fsync
from goqueue.core.log.errors import OffsetOutOfRange
from goqueue.core.log.log import Log, LogUnsound
from goqueue.core.records.batch import read_header
from goqueue.storage.disk import Disk
from goqueue.storage.layout import CHECKPOINT_FILE
from goqueue.storage.open_log import OpenLog
from tests.storage.logbook import (
    NOW_MS,
    STREAM,
    Hands,
    abandon,
    content,
    in_stream,
    log_files,
    numbered,
    offsets,
    opened,
    records,
    stored,
)


def fill(log: OpenLog, count: int, size: int = 40) -> list[bytes]:
    """Append so many batches, a turn each, and answer the log's whole content."""
    for number in range(count):
        log.append(numbered(number, size))
        log.flush()
    return stored(log)


# --- appending and reading back


def test_what_was_appended_is_read_back_byte_for_byte(any_disk: Disk) -> None:
    log = opened(any_disk)
    batches = []
    for number in range(10):
        batch = numbered(number, number * 100, count=number + 1)
        assert log.append(batch) == sum(range(number + 1))
        batches.append(bytes(batch))
    assert log.flush() == 55
    assert stored(log) == batches
    assert [record.offset for record in records(stored(log))] == list(range(55))
    log.close()
    log = opened(any_disk)
    assert stored(log) == batches
    log.close()


def test_a_batch_is_stamped_with_its_offset_and_epoch_and_stays_valid(any_disk: Disk) -> None:
    log = opened(any_disk)
    log.append(numbered(0, count=3), leader_epoch=4)
    batch = numbered(1)
    assert log.append(batch, leader_epoch=5) == 3
    header = read_header(batch)
    assert (header.base_offset, header.leader_epoch) == (3, 5)
    log.flush()
    assert stored(log)[1] == bytes(batch)
    assert log.log.epochs.entries() == [(4, 0), (5, 3)]
    log.close()


def test_a_reader_begins_with_the_batch_that_holds_its_offset(any_disk: Disk) -> None:
    log = opened(any_disk, segment_bytes=700, index_interval_bytes=150)
    for number in range(20):
        log.append(numbered(number, 60, count=3))
    log.flush()
    batches = stored(log)
    for offset in range(60):
        assert stored(log, offset) == batches[offset // 3 :]
    assert stored(log, 60) == []
    log.close()


@pytest.mark.parametrize("max_bytes", [0, 1, 100, 101, 202, 350, 5000])
def test_a_read_is_as_long_as_allowed_but_never_less_than_a_batch(any_disk: Disk, max_bytes: int) -> None:
    log = opened(any_disk)
    batches = fill(log, 10)
    size = len(batches[0])
    result = log.read(2, max_bytes)
    assert result is not None
    whole = min(max(max_bytes // size, 1), 8)
    assert bytes(result.batches) == b"".join(batches[2 : 2 + whole])
    assert result.next_offset == 2 + whole
    assert stored(log, 0, max_bytes) == batches
    log.close()


def test_a_limit_keeps_out_what_is_at_or_above_it(any_disk: Disk) -> None:
    log = opened(any_disk)
    batches = fill(log, 6)
    for limit in range(7):
        read = log.log.read(1, 1 << 20, limit)
        if limit <= 1:
            assert read is None
        else:
            assert read is not None
            assert bytes(log.store.read(read).batches) == b"".join(batches[1:limit])
    log.close()


def test_offsets_outside_the_log_are_refused_with_its_bounds(any_disk: Disk) -> None:
    log = opened(any_disk)
    fill(log, 5)
    log.log.delete_before(0, 2)
    log.flush()
    for offset in (-1, 0, 1, 6, 100):
        with pytest.raises(OffsetOutOfRange) as caught:
            log.read(offset)
        assert (caught.value.offset, caught.value.start, caught.value.end) == (offset, 2, 5)
    assert log.read(5) is None
    log.close()


def test_a_reader_sees_what_was_written_though_it_is_not_synced_and_nothing_that_still_waits(any_disk: Disk) -> None:
    log = opened(any_disk)
    log.append(numbered(0))
    log.write()
    assert log.log.acknowledged_offset == 0
    assert offsets(stored(log)) == [0]
    log.append(numbered(1))
    log.append(numbered(2))
    assert offsets(stored(log)) == [0]
    assert log.read(1) is None
    assert log.read(2) is None
    log.write()
    assert offsets(stored(log, 1)) == [1, 2]
    log.flush()
    log.close()


def test_what_is_no_batch_or_too_large_a_one_is_refused_and_leaves_no_trace(any_disk: Disk) -> None:
    log = opened(any_disk, batch_bytes_max=1000, segment_bytes=1500)
    log.append(numbered(0, 800))
    spoiled = numbered(1)
    spoiled[-1] ^= 1
    for batch, reason in [(spoiled, "crc"), (numbered(1) + b"x", "trailing"), (numbered(1, 2000), "too_large")]:
        with pytest.raises(BatchError) as caught:
            log.append(batch)
        assert caught.value.reason == reason
    assert log.append(numbered(1)) == 1
    log.flush()
    assert offsets(stored(log)) == [0, 1]
    assert len(log.log.segments) == 1
    log.close()


# --- what an acknowledgement waits for


def test_with_every_an_acknowledgement_follows_the_sync_that_covers_it(any_disk: Disk) -> None:
    log = opened(any_disk)
    log.append(numbered(0))
    log.append(numbered(1))
    log.write()
    [job] = log.store.take_jobs()
    log.append(numbered(2))
    log.write()
    assert log.store.take_jobs() == []
    job.run()
    assert log.log.acknowledged_offset == 0
    log.finish(job)
    assert log.log.acknowledged_offset == 2
    assert log.flush() == 3
    log.close()


def test_ten_batches_of_one_turn_cost_one_sync(any_disk: Disk) -> None:
    log = opened(any_disk)
    for number in range(10):
        log.append(numbered(number))
    log.write()
    [job] = log.store.take_jobs()
    job.run()
    log.finish(job)
    assert job.syncs == 1
    assert log.log.acknowledged_offset == 10
    log.close()


def test_with_interval_batches_are_acknowledged_at_once_and_synced_when_the_time_comes(any_disk: Disk) -> None:
    hands = Hands()
    log = opened(any_disk, hands, fsync=Fsync.INTERVAL, fsync_interval_ns=1_000_000_000)
    log.append(numbered(0))
    assert log.flush() == 1
    assert log.log.synced_offset == 0
    hands.pass_by(600)
    log.append(numbered(1))
    assert log.flush() == 2
    assert log.log.deadline() == 1_000_000_000
    log.wake()
    assert log.log.synced_offset == 0
    hands.pass_by(400)
    log.wake()
    assert log.log.synced_offset == 2
    log.close()


def test_with_none_nothing_is_synced_until_asked_or_closed(any_disk: Disk) -> None:
    hands = Hands()
    log = opened(any_disk, hands, fsync=Fsync.NONE)
    log.append(numbered(0))
    assert log.flush() == 1
    hands.pass_by(3_600_000)
    log.wake()
    assert log.log.synced_offset == 0
    log.log.sync(hands.now)
    log.flush()
    assert log.log.synced_offset == 1
    log.close()


# --- segments


def test_a_segment_ends_before_it_would_grow_too_large(any_disk: Disk) -> None:
    size = len(numbered(0))
    log = opened(any_disk, segment_bytes=3 * size)
    batches = fill(log, 10)
    assert [(one.base, one.size, one.next_offset) for one in log.log.segments] == [
        (0, 3 * size, 3),
        (3, 3 * size, 6),
        (6, 3 * size, 9),
        (9, size, 10),
    ]
    assert log_files(any_disk) == [f"{base:020d}.log" for base in (0, 3, 6, 9)]
    assert b"".join(content(any_disk, in_stream(name)) for name in log_files(any_disk)) == b"".join(batches)
    log.close()


def test_a_batch_larger_than_a_segment_gets_one_of_its_own(any_disk: Disk) -> None:
    log = opened(any_disk, segment_bytes=100)
    batches = fill(log, 3, 5000)
    assert len(log.log.segments) == 3
    abandon(log)
    log = opened(any_disk, segment_bytes=100)
    assert stored(log) == batches
    log.close()


def test_a_segment_ends_when_it_is_old(any_disk: Disk) -> None:
    hands = Hands()
    log = opened(any_disk, hands, segment_age_ms=1000)
    log.append(numbered(0))
    hands.pass_by(999)
    log.append(numbered(1))
    hands.pass_by(1)
    log.append(numbered(2))
    log.flush()
    assert [one.base for one in log.log.segments] == [0, 2]
    log.close()


def test_an_empty_segment_is_not_rolled(any_disk: Disk) -> None:
    log = opened(any_disk)
    assert not log.log.roll(0)
    log.append(numbered(0))
    assert log.log.roll(0)
    assert not log.log.roll(0)
    log.flush()
    assert [one.base for one in log.log.segments] == [0, 1]
    log.close()


def test_many_rolls_and_a_cut_in_one_turn_are_carried_out_in_order(any_disk: Disk) -> None:
    log = opened(any_disk, segment_bytes=100)
    for number in range(30):
        log.append(numbered(number))
    log.truncate(25)
    assert offsets(stored(log)) == list(range(25))
    assert log.log.acknowledged_offset == 25
    log.close()
    log = opened(any_disk, segment_bytes=100)
    assert offsets(stored(log)) == list(range(25))
    log.close()


# --- taking back


@pytest.mark.parametrize("offset", range(31))
def test_a_cut_takes_everything_from_an_offset_on_and_the_batch_around_it(any_disk: Disk, offset: int) -> None:
    log = opened(any_disk, segment_bytes=400, index_interval_bytes=100)
    for number in range(10):
        log.append(numbered(number, count=3))
    log.flush()
    batches = stored(log)
    log.truncate(offset)
    kept = offset // 3
    assert stored(log) == batches[:kept]
    assert log.log.next_offset == log.log.acknowledged_offset == kept * 3
    assert log.append(numbered(99, 7)) == kept * 3
    log.flush()
    after = stored(log)
    assert after[:-1] == batches[:kept]
    abandon(log)
    log = opened(any_disk, segment_bytes=400, index_interval_bytes=100)
    assert stored(log) == after
    log.close()


def test_a_cut_of_what_was_appended_in_the_same_turn_is_a_cut_all_the_same(any_disk: Disk) -> None:
    log = opened(any_disk)
    fill(log, 3)
    log.append(numbered(3))
    log.append(numbered(4))
    log.truncate(4)
    assert offsets(stored(log)) == [0, 1, 2, 3]
    abandon(log)
    log = opened(any_disk)
    assert offsets(stored(log)) == [0, 1, 2, 3]
    log.close()


def test_a_sync_that_falls_due_while_the_end_is_being_cut_promises_nothing_of_it(any_disk: Disk) -> None:
    hands = Hands()
    log = opened(any_disk, hands, fsync=Fsync.INTERVAL)
    fill(log, 5)
    log.log.truncate(hands.now, 2)
    hands.pass_by(5000)
    log.wake()
    assert offsets(stored(log)) == [0, 1]
    abandon(log)
    log = opened(any_disk, hands, fsync=Fsync.INTERVAL)
    assert offsets(stored(log)) == [0, 1]
    log.close()


def test_appends_are_refused_while_the_end_is_being_cut(any_disk: Disk) -> None:
    log = opened(any_disk)
    fill(log, 5)
    log.log.truncate(0, 2)
    with pytest.raises(LogUnsound, match="cut back to offset 2"):
        log.append(numbered(9))
    log.flush()
    assert log.append(numbered(9)) == 2
    log.close()


def test_a_cut_beyond_the_end_is_none_and_one_below_the_start_is_refused(any_disk: Disk) -> None:
    log = opened(any_disk)
    batches = fill(log, 5)
    log.log.delete_before(0, 3)
    log.truncate(5)
    assert stored(log, 3) == batches[3:]
    with pytest.raises(OffsetOutOfRange):
        log.truncate(2)
    log.close()


@pytest.mark.parametrize("offset", [3, 8, 9, 10, 11, 500])
def test_a_log_that_is_begun_anew_forgets_everything(any_disk: Disk, offset: int) -> None:
    log = opened(any_disk, segment_bytes=300)
    for number in range(10):
        log.append(numbered(number), leader_epoch=3)
    log.flush()
    log.log.restart(0, offset)
    log.flush()
    for _ in range(2):
        assert (log.log.start_offset, log.log.next_offset) == (offset, offset)
        assert log.log.epochs.entries() == []
        assert stored(log) == []
        assert log_files(any_disk) == [f"{offset:020d}.log"]
        abandon(log)
        log = opened(any_disk, segment_bytes=300)
    assert log.append(numbered(0)) == offset
    log.flush()
    assert offsets(stored(log)) == [offset]
    log.close()


# --- letting go


def test_the_start_moves_and_whole_segments_below_it_go(any_disk: Disk) -> None:
    log = opened(any_disk, segment_bytes=400)
    batches = fill(log, 10)
    bases = [one.base for one in log.log.segments]
    assert bases[:3] == [0, 3, 6]
    assert log.log.delete_before(0, 7) == 7
    log.flush()
    assert log_files(any_disk)[0] == f"{6:020d}.log"
    for _ in range(2):
        assert log.log.start_offset == 7
        assert stored(log) == batches[7:]
        abandon(log)
        log = opened(any_disk, segment_bytes=400)
    log.close()


def test_a_start_at_the_very_end_leaves_an_empty_log_that_goes_on(any_disk: Disk) -> None:
    log = opened(any_disk)
    fill(log, 4)
    log.log.delete_before(0, 4)
    log.flush()
    for _ in range(2):
        assert (log.log.start_offset, log.log.next_offset) == (4, 4)
        assert stored(log) == []
        abandon(log)
        log = opened(any_disk)
    assert log.append(numbered(4)) == 4
    log.close()


def test_a_cut_of_a_batch_that_the_start_lies_in_takes_the_start_back_with_it(any_disk: Disk) -> None:
    log = opened(any_disk)
    log.append(numbered(0, count=5))
    log.log.delete_before(0, 3)
    log.truncate(4)
    for _ in range(2):
        assert (log.log.start_offset, log.log.next_offset) == (0, 0)
        log.log.check()
        abandon(log)
        log = opened(any_disk)
    log.close()


def test_old_segments_go_when_their_newest_record_is_too_old(any_disk: Disk) -> None:
    hands = Hands()
    log = opened(any_disk, hands, retention_ms=10_000, segment_bytes=200)
    for number in range(6):
        log.append(numbered(number, ms=NOW_MS + 1000 * (number // 2)))
    log.flush()
    assert [one.base for one in log.log.segments] == [0, 1, 2, 3, 4, 5]
    hands.pass_by(10_000)
    assert log.log.deadline() == 10_000 * 1_000_000
    log.wake()
    assert log.log.start_offset == 2
    hands.pass_by(999)
    log.wake()
    assert log.log.start_offset == 2
    hands.pass_by(1)
    log.wake()
    assert log.log.start_offset == 4
    assert log_files(any_disk)[0] == f"{4:020d}.log"
    log.close()


def test_the_oldest_segments_go_when_the_log_is_too_large_and_the_rest_is_never_less_than_allowed(
    any_disk: Disk,
) -> None:
    size = len(numbered(0))
    log = opened(any_disk, segment_bytes=size, retention_bytes=4 * size)
    for number in range(10):
        log.append(numbered(number))
        log.log.retain(0)
        log.flush()
        assert log.log.size_bytes == min(number + 1, 4) * size
    assert offsets(stored(log)) == [6, 7, 8, 9]
    assert len(log_files(any_disk)) == 4
    abandon(log)
    log = opened(any_disk, segment_bytes=size, retention_bytes=4 * size)
    assert offsets(stored(log)) == [6, 7, 8, 9]
    log.close()


# --- the end


def test_a_closed_log_has_no_spare_room_and_says_all_in_its_checkpoint(any_disk: Disk) -> None:
    log = opened(any_disk)
    batches = fill(log, 3, 700_000)
    log.close()
    [name] = log_files(any_disk)
    assert content(any_disk, in_stream(name)) == b"".join(batches)
    assert b'"next_offset":3' in content(any_disk, in_stream(CHECKPOINT_FILE))
    log = opened(any_disk)
    assert log.recovery.scanned_bytes < 2 * len(batches[0])
    log.close()


def test_streams_of_one_store_do_not_touch_each_other(any_disk: Disk) -> None:
    log = opened(any_disk)
    fill(log, 3)
    recovery = log.store.recover("logs/orders/1", log.log.config, NOW_MS)
    other = Log("logs/orders/1", log.log.config, Clock(0, NOW_MS), recovery.state)
    assert other.append(0, numbered(9)) == 0
    log.append(numbered(3))
    log.store.perform([*other.take(0), *log.log.take(0)])
    jobs = log.store.take_jobs()
    assert {job.folder for job in jobs} == {STREAM, "logs/orders/1"}
    for job in jobs:
        job.run()
        log.store.finish(job)
        token = job.token
        assert token is not None
        (other if job.folder == other.stream else log.log).synced(0, token)
    assert (other.acknowledged_offset, log.log.acknowledged_offset) == (1, 4)
    assert len(content(any_disk, f"logs/orders/1/{log_files(any_disk)[0]}")) == len(numbered(9))
    assert offsets(stored(log)) == [0, 1, 2, 3]
    log.close()
