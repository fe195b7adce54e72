"""A disk that failed and a log that is cut back: what is refused meanwhile, and that nothing from before leaks."""

from collections.abc import Callable

import pytest

from goqueue.core.log.checkpoint import decode_checkpoint
from goqueue.core.log.config import UNLIMITED, Cleanup, Fsync, LogConfig
from goqueue.core.log.effects import Append, Commit, Cut, Effect, Sync
from goqueue.core.log.epochs import EpochCache
from goqueue.core.log.errors import OffsetOutOfRange
from goqueue.core.log.log import Log, LogState, LogUnsound
from goqueue.core.log.segment import NO_TIMESTAMP, Segment, segment_name
from goqueue.core.log.tail import SegmentTail
from tests.core.log.batches import (
    FIRST,
    STREAM,
    WALL_MS,
    batch,
    beginning,
    empty_log,
    filled_log,
    ms,
    settings_of,
    stamped,
    token,
)

EVERY = settings_of(fsync=Fsync.EVERY)

refused_verbs = pytest.mark.parametrize(
    "verb",
    [
        lambda log: log.append(0, batch()),
        lambda log: log.replicate(0, stamped(100)),
        lambda log: log.roll(0),
        lambda log: log.retain(0),
        lambda log: log.delete_before(0, 1),
        lambda log: log.truncate(0, 1),
        lambda log: log.restart(0, 1),
    ],
    ids=["append", "replicate", "roll", "retain", "delete_before", "truncate", "restart"],
)


def recovered(next_offset: int, size: int, incarnation: int = 0) -> LogState:
    """What recovery finds: one segment of so many offsets and bytes."""
    segment = Segment(0, 0, size, next_offset, WALL_MS if size else NO_TIMESTAMP, WALL_MS)
    return LogState([], SegmentTail(segment, 250), incarnation)


def only(kind: type[Effect], effects: list[Effect]) -> Effect:
    """The one effect of a kind among others."""
    [found] = [effect for effect in effects if isinstance(effect, kind)]
    return found


# a disk that failed


@refused_verbs
def test_after_the_disk_failed_all_that_writes_is_refused(verb: Callable[[Log], object]) -> None:
    log = filled_log(EVERY, batch())
    log.disk_failed(0, "no space left on device")
    with pytest.raises(LogUnsound, match="no space left on device"):
        verb(log)


@refused_verbs
def test_once_reopened_the_log_goes_on(verb: Callable[[Log], object]) -> None:
    log = filled_log(EVERY, batch())
    log.disk_failed(0, "it failed")
    log.reopened(0, recovered(1, 100))
    assert log.unsound is None
    verb(log)


@pytest.mark.parametrize("fsync", Fsync)
def test_what_was_not_taken_when_the_disk_failed_never_is(fsync: Fsync) -> None:
    log = filled_log(settings_of(fsync=fsync, segment_bytes=100, index_interval_bytes=0), batch())
    log.append(0, batch())
    log.append(0, batch())
    log.disk_failed(0, "it failed")
    for later in (0, ms(1), ms(100_000)):
        log.wake(later)
        log.sync(later)
        log.close(later)
        assert log.take(later) == []
        assert log.deadline() is None


@pytest.mark.parametrize("fsync", Fsync)
def test_what_a_failed_disk_may_not_have_is_not_acknowledged(fsync: Fsync) -> None:
    log = filled_log(settings_of(fsync=fsync), batch(), batch())
    log.synced(0, token(1))
    log.append(0, batch())
    log.disk_failed(0, "it failed")
    assert log.acknowledged_offset == 1


def test_a_sync_that_answers_after_the_failure_promises_nothing() -> None:
    log = filled_log(EVERY, batch(), batch())
    asked = token(2, position=200)
    log.disk_failed(0, "it failed")
    log.synced(0, asked)
    assert log.synced_offset == 0
    log.reopened(0, recovered(1, 100))
    log.append(0, batch())
    log.synced(0, asked)
    assert log.acknowledged_offset == 1, "the second offset is another batch's by now"


def test_reopening_commits_the_incarnation_that_the_failure_raised() -> None:
    log = filled_log(EVERY, batch(), batch())
    log.disk_failed(0, "it failed")
    log.disk_failed(0, "it failed again")
    log.reopened(0, recovered(1, 100))
    [commit] = log.take(0)
    assert isinstance(commit, Commit)
    checkpoint = decode_checkpoint(commit.checkpoint)
    assert (checkpoint.incarnation, checkpoint.next_offset, commit.removed) == (2, 1, [])
    appended = batch()
    assert log.append(0, appended) == 1
    assert log.take(0) == [
        Append(STREAM, FIRST, 100, [appended]),
        Sync(STREAM, token(2, position=200, incarnation=2)),
    ]


def test_the_incarnation_on_the_disk_wins_when_it_is_higher() -> None:
    log = filled_log(EVERY, batch())
    log.disk_failed(0, "it failed")
    log.reopened(0, recovered(1, 100, incarnation=9))
    assert log.incarnation == 9


def test_nothing_taken_before_a_failure_leaks_into_what_comes_after() -> None:
    log = empty_log(settings_of(fsync=Fsync.INTERVAL, segment_bytes=100, index_interval_bytes=0))
    for _ in range(3):
        log.append(0, batch())
    log.delete_before(0, 2)
    log.disk_failed(0, "it failed")
    log.reopened(ms(1), beginning(log.config))
    [commit] = log.take(ms(1))
    assert isinstance(commit, Commit)
    assert commit.removed == []
    assert log.deadline() is None
    appended = batch()
    assert log.append(ms(1), appended) == 0
    assert log.take(ms(1)) == [Append(STREAM, FIRST, 0, [appended])]


def test_a_failed_log_still_reads_what_was_synced() -> None:
    log = filled_log(EVERY, batch(), batch())
    log.synced(0, token(1, position=100))
    log.disk_failed(0, "it failed")
    read = log.read(0, 1_000)
    assert read is not None
    assert (read.limit_offset, read.end_position) == (1, 100), "of the rest, who knows what is there"
    assert log.read(1, 1_000) is None


# taking back


def three_segments(config: LogConfig = EVERY) -> Log:
    """Offsets [0, 2), [2, 4) and [4, 6), two batches each, all synced."""
    log = empty_log(config)
    for segment in range(3):
        log.append(0, batch(), leader_epoch=segment)
        log.append(0, batch(), leader_epoch=segment)
        if segment < 2:
            log.roll(0)
    log.take(0)
    log.synced(0, token(6))
    return log


@pytest.mark.parametrize(
    ("offset", "last", "gone"),
    [(0, 0, [2, 4]), (1, 0, [2, 4]), (2, 0, [2, 4]), (3, 2, [4]), (4, 2, [4]), (5, 4, [])],
)
def test_a_cut_names_the_segment_of_the_end_and_those_beyond(offset: int, last: int, gone: list[int]) -> None:
    log = three_segments()
    log.truncate(0, offset)
    [cut] = log.take(0)
    assert isinstance(cut, Cut)
    assert (cut.segment, cut.offset) == (segment_name(last, 0), offset)
    assert cut.removed == [segment_name(base, 0) for base in gone]


def test_the_checkpoint_of_a_cut_claims_nothing_at_or_beyond_it() -> None:
    log = three_segments()
    log.cleaned_offset = 4
    log.truncate(0, 3)
    [cut] = log.take(0)
    assert isinstance(cut, Cut)
    checkpoint = decode_checkpoint(cut.checkpoint)
    assert [(segment.name, segment.size, segment.next_offset) for segment in checkpoint.segments] == [
        (segment_name(0, 0), 200, 2),
        (segment_name(2, 0), 0, 2),
    ]
    assert checkpoint.epochs == [(0, 0), (1, 2)]
    assert (checkpoint.incarnation, checkpoint.cleaned_offset) == (1, 3)


@pytest.mark.parametrize("offset", [6, 7])
def test_a_cut_at_the_end_or_beyond_has_nothing_to_do(offset: int) -> None:
    log = three_segments()
    log.truncate(0, offset)
    assert log.take(0) == []
    assert log.unsound is None


def test_a_cut_below_the_start_is_out_of_range() -> None:
    log = three_segments()
    log.delete_before(0, 2)
    with pytest.raises(OffsetOutOfRange):
        log.truncate(0, 1)
    assert log.unsound is None


@refused_verbs
def test_until_the_cut_is_done_all_that_writes_is_refused(verb: Callable[[Log], object]) -> None:
    log = three_segments()
    log.truncate(0, 3)
    with pytest.raises(LogUnsound, match="offset 3"):
        verb(log)


@pytest.mark.parametrize("fsync", Fsync)
def test_a_cut_is_the_last_effect_whatever_was_pending(fsync: Fsync) -> None:
    log = three_segments(settings_of(fsync=fsync))
    log.append(0, batch(), leader_epoch=2)
    log.roll(0)
    log.append(0, batch(), leader_epoch=2)
    log.sync(0)
    log.truncate(0, 3)
    effects = log.take(0)
    assert isinstance(effects[-1], Cut)
    assert not any(isinstance(effect, Commit) for effect in effects), "it would speak of what is being cut"
    tokens = [effect.token for effect in effects if isinstance(effect, Sync)]
    assert all(asked.incarnation == 0 for asked in tokens), "only an older incarnation can have been promised"
    log.sync(0)
    log.wake(ms(1 << 40))
    assert log.take(ms(1 << 40)) == []


def test_a_cut_takes_along_what_retention_had_let_go() -> None:
    log = three_segments()
    log.delete_before(0, 2)
    log.truncate(0, 5)
    cut = only(Cut, log.take(0))
    assert isinstance(cut, Cut)
    assert cut.removed == [segment_name(0, 0)]
    assert decode_checkpoint(cut.checkpoint).start_offset == 2


def test_what_is_being_cut_is_neither_acknowledged_nor_read() -> None:
    log = three_segments(settings_of(fsync=Fsync.NONE))
    log.truncate(0, 3)
    assert log.acknowledged_offset == 3
    assert log.read(3, 1_000) is None


def test_a_sync_from_before_the_cut_promises_nothing_after_it() -> None:
    log = three_segments()
    log.append(0, batch(), leader_epoch=2)
    [_, sync] = log.take(0)
    assert isinstance(sync, Sync)
    log.truncate(0, 3)
    log.take(0)
    log.synced(0, sync.token)
    state = recovered(3, 300, incarnation=1)
    state.epochs = EpochCache([(0, 0), (1, 2)])
    log.reopened(0, state)
    for _ in range(4):
        log.append(0, batch(), leader_epoch=3)
    log.synced(0, sync.token)
    assert log.acknowledged_offset == 3
    assert log.epochs.entries() == [(0, 0), (1, 2), (3, 3)]


def test_where_reads_ended_before_the_cut_is_forgotten() -> None:
    log = filled_log(settings_of(), batch(), batch(), batch())
    read = log.read(0, 1_000)
    assert read is not None
    log.read_done(read, 2, 200)
    log.truncate(0, 1)
    log.take(0)
    log.reopened(0, recovered(1, 100))
    log.append(0, batch(1, 150))
    log.append(0, batch(1, 150))
    log.take(0)
    read = log.read(2, 1_000)
    assert read is not None
    assert read.position == 250, "at 200 there is the middle of another batch"


# beginning anew


@pytest.mark.parametrize("offset", [0, 2, 3, 100])
def test_a_restart_forgets_every_batch_and_every_epoch(offset: int) -> None:
    log = three_segments()
    log.restart(0, offset)
    log.check()
    [cut] = log.take(0)
    assert isinstance(cut, Cut)
    assert (cut.segment, cut.offset) == (segment_name(offset, 0), offset)
    assert cut.removed == [segment_name(base, 0) for base in (0, 2, 4) if base != offset]
    checkpoint = decode_checkpoint(cut.checkpoint)
    assert checkpoint.segments == [Segment(offset, 0, 0, offset, NO_TIMESTAMP, WALL_MS)]
    assert (checkpoint.start_offset, checkpoint.cleaned_offset, checkpoint.epochs) == (offset, offset, [])


def test_after_a_restart_the_leaders_history_may_begin_in_an_older_epoch() -> None:
    log = three_segments()
    log.restart(0, 100)
    log.take(0)
    log.reopened(0, beginning(EVERY, at=100))
    assert log.replicate(0, stamped(100, epoch=1)) == 100


def test_cleanup_by_age_does_not_wake_a_log_that_is_being_cut() -> None:
    log = three_segments(settings_of(retention_ms=1_000))
    log.truncate(0, 3)
    assert log.deadline() is None
    log.wake(ms(2_000))


def test_a_compaction_that_was_under_way_when_the_disk_failed_is_dropped() -> None:
    log = three_segments(
        LogConfig(cleanup=Cleanup.COMPACT, dirty_ratio=0.0, retention_ms=UNLIMITED, index_interval_bytes=250)
    )
    plan = log.compaction(0)
    assert plan is not None
    log.disk_failed(0, "it failed")
    assert log.compaction(0) is None
    assert log.compacted(0, plan, plan.end_offset, []) is False
    log.reopened(0, recovered(1, 100))
    assert log.compacted(0, plan, plan.end_offset, []) is False
