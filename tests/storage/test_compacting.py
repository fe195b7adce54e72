"""Carrying out a compaction on a disk: what readers find after it, and what is left of one that does not come to be."""

import errno
from collections import deque
from random import Random

import pytest

from goqueue.core.errors import BatchError
from goqueue.core.log.compaction import CompactionPlan
from goqueue.core.log.config import Cleanup
from goqueue.core.records.build import encode
from goqueue.core.records.control import ControlMarker, encode_marker
from goqueue.storage.compacting import compact, compaction_steps, discard
from goqueue.storage.disk import Disk
from goqueue.storage.errors import DamageError
from goqueue.storage.layout import LOG_ENDING, UNFINISHED_ENDING
from goqueue.storage.open_log import OpenLog
from goqueue.storage.simulated import SimulatedDisk
from tests.storage.logbook import (
    NOW_MS,
    STREAM,
    Hands,
    Witness,
    abandon,
    everything,
    flip,
    log_file,
    log_files,
    numbered,
    offsets,
    opened,
    records,
    stored,
)

HOUR_MS = 3_600_000
COMPACTS: dict[str, object] = {
    "cleanup": Cleanup.COMPACT,
    "dirty_ratio": 0.0,
    "segment_bytes": 700,
    "index_interval_bytes": 100,
}


def keyed(log: OpenLog) -> dict[bytes, tuple[int, bytes | None]]:
    """The newest record of each key: its offset and value."""
    return {
        bytes(record.key): (record.offset, None if record.value is None else bytes(record.value))
        for record in records(stored(log))
        if record.key is not None
    }


def fill(log: OpenLog, count: int, keys: int, seed: int = 1, begin: int = 0) -> None:
    random = Random(seed)
    for number in range(begin, begin + count):
        log.append(numbered(number, random.choice([0, 20, 200]), key=b"key %d" % random.randrange(keys)))
        if random.random() < 0.3:
            log.flush()
    log.flush()


def plan_of(log: OpenLog) -> CompactionPlan:
    plan = log.log.compaction(0)
    assert plan is not None
    return plan


@pytest.mark.parametrize("keys", [1, 3, 20, 1000])
def test_the_newest_value_of_every_key_stays_where_it_was(any_disk: Disk, keys: int) -> None:
    log = opened(any_disk, **COMPACTS)
    fill(log, 120, keys)
    before, end = keyed(log), log.log.next_offset
    sealed_end = log.log.segments[-1].base
    assert log.compact()
    assert keyed(log) == before
    below = [record for record in records(stored(log)) if record.offset < sealed_end]
    assert len({bytes(record.key or b"") for record in below}) == len(below)
    log.log.check()
    for _ in range(2):
        assert log.log.next_offset == end
        assert keyed(log) == before
        abandon(log)
        log = opened(any_disk, **COMPACTS)
        assert log.recovery.notes == []
    log.close()


def test_offsets_can_be_looked_up_in_what_a_compaction_wrote(any_disk: Disk) -> None:
    log = opened(any_disk, **COMPACTS | {"segment_bytes": 3000})
    fill(log, 200, 60)
    assert log.compact()
    batches = stored(log)
    bases = offsets(batches)
    assert bases != list(range(len(bases)))
    for offset in range(log.log.next_offset):
        following = [batch for base, batch in zip(bases, batches, strict=True) if base >= offset]
        assert stored(log, offset) == following
    found = log.find_time(NOW_MS)
    assert found is not None
    assert found.offset == bases[0]
    log.close()


def test_small_segments_become_few(any_disk: Disk) -> None:
    log = opened(any_disk, **COMPACTS)
    fill(log, 200, 2)
    before = len(log_files(any_disk))
    assert log.compact()
    fill(log, 100, 2, begin=200)
    assert log.compact()
    assert len(log_files(any_disk)) < before // 3
    assert set(any_disk.names(STREAM)) >= set(log_files(any_disk))
    log.close()


def test_nothing_to_do_is_nothing_done(any_disk: Disk) -> None:
    log = opened(any_disk, **COMPACTS)
    assert not log.compact()
    log.append(numbered(0, key=b"k"))
    log.flush()
    assert not log.compact()
    log.log.roll(0)
    log.flush()
    assert log.compact()
    before = everything(any_disk)
    assert not log.compact()
    assert everything(any_disk) == before
    log.close()


def test_records_without_a_key_stay(any_disk: Disk) -> None:
    log = opened(any_disk, **COMPACTS)
    for number in range(40):
        log.append(numbered(number, key=None if number % 2 else b"k"))
    log.flush()
    assert log.compact()
    assert {record.offset for record in records(stored(log)) if record.key is None} == set(range(1, 40, 2))
    log.close()


def test_a_tombstone_stays_until_every_reader_may_have_seen_it(any_disk: Disk) -> None:
    hands = Hands()
    settings = COMPACTS | {"tombstone_retention_ms": HOUR_MS}
    log = opened(any_disk, hands, **settings)
    log.append(encode([(NOW_MS, b"k", b"value", ())]))
    log.append(encode([(NOW_MS, b"k", None, ())]))
    log.log.roll(0)
    log.append(encode([(NOW_MS, b"other", b"value", ())]))
    log.log.roll(0)
    log.flush()
    assert log.compact()
    assert keyed(log) == {b"k": (1, None), b"other": (2, b"value")}
    abandon(log)
    hands.pass_by(HOUR_MS - 1)
    for gone in (False, True):
        log = opened(any_disk, hands, **settings)
        log.append(encode([(NOW_MS, b"other", b"value", ())]))
        log.log.roll(0)
        log.flush()
        assert log.compact()
        assert (b"k" not in keyed(log)) == gone
        abandon(log)
        hands.pass_by(1)


def test_the_records_of_an_aborted_transaction_go_and_those_of_a_committed_one_count(any_disk: Disk) -> None:
    log = opened(any_disk, **COMPACTS)
    log.append(encode([(NOW_MS, b"a", b"before", ()), (NOW_MS, b"b", b"before", ())]))
    for producer, key, commit in ((1, b"a", True), (2, b"b", False)):
        batch = encode(
            [(NOW_MS, key, b"within", ())], transactional=True, producer_id=producer, producer_epoch=0, base_sequence=0
        )
        log.append(batch)
        log.append(encode_marker(ControlMarker(commit, 1), NOW_MS, producer, 0))
    log.log.roll(0)
    log.append(numbered(0))
    log.flush()
    assert log.compact()
    found = [(bytes(record.key), bytes(record.value or b"")) for record in records(stored(log)) if record.key]
    values = [pair for pair in found if pair[0] in (b"a", b"b")]
    assert values == [(b"b", b"before"), (b"a", b"within")]
    log.close()


def test_a_batch_of_any_size_goes_through(any_disk: Disk) -> None:
    log = opened(any_disk, **COMPACTS | {"segment_bytes": 8 << 20})
    for number, size in enumerate([10, 1 << 20, 3 << 20, 100, (1 << 20) - 60, 5]):
        log.append(numbered(number, size, key=b"%d" % (number % 4)))
    log.log.roll(0)
    log.flush()
    before = keyed(log)
    assert log.compact()
    assert keyed(log) == before
    assert [record.offset for record in records(stored(log))] == [2, 3, 4, 5]
    log.close()


# --- beside a log that goes on


def test_appends_and_reads_go_on_between_its_steps(any_disk: Disk) -> None:
    log = opened(any_disk, **COMPACTS)
    fill(log, 60, 5)
    plan = plan_of(log)
    steps = compaction_steps(any_disk, plan, log.log.config)
    number = 60
    while True:
        try:
            next(steps)
        except StopIteration as done:
            outcome = done.value
            break
        log.append(numbered(number, key=b"key %d" % (number % 5)))
        log.flush()
        number += 1
        assert len(stored(log)) == number
    before = keyed(log)
    assert log.log.compacted(0, plan, outcome.end_offset, outcome.outputs)
    log.flush()
    assert keyed(log) == before
    assert len(stored(log)) < number
    abandon(log)
    log = opened(any_disk, **COMPACTS)
    assert keyed(log) == before
    log.close()


@pytest.mark.parametrize("change", ["truncate", "delete", "fail"])
def test_an_outcome_that_no_longer_fits_is_thrown_away(change: str) -> None:
    disk = SimulatedDisk(1)
    log = opened(disk, **COMPACTS)
    fill(log, 60, 5)
    plan = plan_of(log)
    outcome = compact(disk, plan, log.log.config)
    if change == "truncate":
        log.truncate(55)
    elif change == "delete":
        log.log.delete_before(0, log.log.segments[2].base)
        log.flush()
    else:
        disk.fail_next("sync", errno.EIO)
        log.append(numbered(99, key=b"key 1"))
        with pytest.raises(Exception, match="Input/output error"):
            log.flush()
        log.recover()
    before = stored(log)
    assert not log.log.compacted(0, plan, outcome.end_offset, outcome.outputs)
    discard(disk, STREAM, outcome.outputs)
    log.flush()
    assert stored(log) == before
    assert all(".1.log" not in name for name in disk.names(STREAM))
    log.append(numbered(100, key=b"key 2"))
    log.flush()
    assert log.compact()
    log.close()


@pytest.mark.parametrize("operation", ["write", "sync", "create", "rename", "sync_folder", "read"])
@pytest.mark.parametrize("after", [0, 3])
def test_a_failure_leaves_the_log_as_it_was_and_no_files(operation: str, after: int) -> None:
    disk = SimulatedDisk(1)
    log = opened(disk, **COMPACTS)
    fill(log, 60, 5)
    before, files = stored(log), everything(disk)
    after = 0 if operation == "sync_folder" else after
    disk.fail_next(operation, errno.EIO, STREAM, after)
    with pytest.raises(OSError, match="Input/output error"):
        log.compact()
    assert everything(disk) == files
    assert log.log.unsound is None
    assert stored(log) == before
    assert log.compact()
    log.close()


def test_damage_is_reported_and_not_written_anew(any_disk: Disk) -> None:
    log = opened(any_disk, **COMPACTS)
    fill(log, 60, 5)
    segment = log.log.segments[1]
    flip(any_disk, log_file(segment.base), 30)
    files = everything(any_disk)
    with pytest.raises(DamageError) as caught:
        log.compact()
    assert caught.value.path == log_file(segment.base)
    assert everything(any_disk) == files
    with pytest.raises((DamageError, BatchError)):
        stored(log, segment.base)
    log.close()


def test_what_a_stop_leaves_of_a_compaction_is_swept_up() -> None:
    disk = SimulatedDisk(1)
    log = opened(disk, **COMPACTS)
    fill(log, 60, 5)
    before = keyed(log)
    plan, random = plan_of(log), Random(1)
    seen = [0, 0]

    def look(operation: str) -> None:
        stopped = disk.copy(random.getrandbits(32))
        if random.random() < 0.5:
            stopped.crash()
        seen[0] += any(name.endswith(UNFINISHED_ENDING) for name in stopped.names(STREAM))
        seen[1] += any(".1.log" in name for name in stopped.names(STREAM))
        again = opened(stopped, **COMPACTS)
        assert keyed(again) == before
        assert len(stored(again)) == 60
        assert all(".1." not in name and not name.endswith(UNFINISHED_ENDING) for name in stopped.names(STREAM))

    disk.faults = Witness(look)
    deque(compaction_steps(disk, plan, log.log.config), maxlen=0)
    assert seen[0] > 10
    assert seen[1] > 3


def test_a_compaction_that_is_given_up_leaves_no_files() -> None:
    disk = SimulatedDisk(1)
    log = opened(disk, **COMPACTS)
    fill(log, 60, 5)
    files = everything(disk)
    for count in range(12):
        steps = compaction_steps(disk, plan_of(log), log.log.config)
        for _ in range(count):
            next(steps, None)
        steps.close()
        assert everything(disk) == files
    log.close()


@pytest.mark.parametrize(("position", "said"), [(7, "within offsets"), (6, "within offsets"), (15, "leader epoch")])
def test_what_no_checksum_covers_is_verified_as_well(any_disk: Disk, position: int, said: str) -> None:
    log = opened(any_disk, **COMPACTS)
    fill(log, 60, 3)
    second = log.log.segments[1]
    path = f"{STREAM}/{second.name}{LOG_ENDING}"
    # Of the first batch the offset is below its segment; of the next the epoch is below the one before.
    flip(any_disk, path, position, bit=(second.base & -second.base).bit_length() - 1 if position == 7 else 0)
    with pytest.raises(DamageError, match=said):
        compact(any_disk, plan_of(log), log.log.config)
