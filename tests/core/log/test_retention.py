"""Retention: which segments go, when, and that they go only with the checkpoint that no longer names them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goqueue.core.clock import Clock
from goqueue.core.log.checkpoint import decode_checkpoint
from goqueue.core.log.config import TIME_MS_MAX, UNLIMITED, Cleanup, Fsync, LogConfig
from goqueue.core.log.effects import Append, Commit, Effect, Roll
from goqueue.core.log.errors import OffsetOutOfRange
from goqueue.core.log.log import Log
from goqueue.core.log.retention import appended_until_ms, expired_count, newest_ms
from goqueue.core.log.segment import NO_TIMESTAMP, Segment, segment_name
from goqueue.core.records.varint import INT64_MAX
from tests.core.log.batches import FIRST, STREAM, WALL_MS, batch, empty_log, filled_log, ms, settings_of


def config_of(
    *,
    retention_ms: int = UNLIMITED,
    retention_bytes: int = UNLIMITED,
    cleanup: Cleanup = Cleanup.DELETE,
    segment_bytes: int = 100,
) -> LogConfig:
    """A segment a batch, unless asked otherwise."""
    return LogConfig(
        fsync=Fsync.NONE,
        segment_bytes=segment_bytes,
        retention_ms=retention_ms,
        retention_bytes=retention_bytes,
        cleanup=cleanup,
    )


def bases_of(log: Log) -> list[int]:
    return [segment.base for segment in log.segments]


def commit_in(effects: list[Effect]) -> Commit:
    """The last effect, which must be the only commit."""
    assert [isinstance(effect, Commit) for effect in effects] == [False] * (len(effects) - 1) + [True]
    last = effects[-1]
    assert isinstance(last, Commit)
    return last


def aged_log(config: LogConfig, *timestamps: int) -> Log:
    """A segment for each timestamp, counted from WALL_MS, the last one active."""
    return filled_log(config, *(batch(timestamp=WALL_MS + timestamp) for timestamp in timestamps))


# which ones


@st.composite
def runs(draw: st.DrawFn) -> list[Segment]:
    """Segments one after another."""
    segments, offset = [], draw(st.integers(0, 5))
    for _ in range(draw(st.integers(1, 8))):
        count, size = draw(st.integers(1, 3)), draw(st.integers(61, 300))
        newest = draw(st.just(NO_TIMESTAMP) | st.integers(0, 100))
        segments.append(Segment(offset, 0, size, offset + count, newest, draw(st.integers(0, 100))))
        offset += count + draw(st.integers(0, 2))
    return segments


@given(
    runs(),
    st.sampled_from([UNLIMITED, 0, 1, 20, 200]),
    st.sampled_from([UNLIMITED, 0, 100, 500, 2_000]),
    st.sampled_from(Cleanup),
    st.integers(0, 20),
    st.integers(-50, 300),
)
def test_the_longest_prefix_goes_of_which_each_one_may(
    segments: list[Segment], retention_ms: int, retention_bytes: int, cleanup: Cleanup, start: int, wall_ms: int
) -> None:
    config = config_of(retention_ms=retention_ms, retention_bytes=retention_bytes, cleanup=cleanup)
    *sealed, active = segments

    def may_go(at: int) -> bool:
        segment = sealed[at]
        if segment.next_offset <= start:
            return True
        if cleanup is Cleanup.COMPACT:
            return False
        newest = segment.created_ms if segment.max_timestamp == NO_TIMESTAMP else segment.max_timestamp
        by_age = retention_ms != UNLIMITED and wall_ms - newest >= retention_ms
        left = sum(each.size for each in segments[at + 1 :])
        return by_age or (retention_bytes != UNLIMITED and left >= retention_bytes)

    expected = 0
    while expected < len(sealed) and may_go(expected):
        expected += 1
    assert expired_count(sealed, active, config, start, wall_ms) == expected


def test_age_is_that_of_the_newest_record() -> None:
    assert newest_ms(Segment(0, 0, 100, 1, 5_000, 9_000), 20_000, config_of(), WALL_MS) == 5_000


def test_without_timestamps_age_counts_from_the_creation() -> None:
    assert newest_ms(Segment(0, 0, 100, 1, NO_TIMESTAMP, 9_000), 20_000, config_of(), WALL_MS) == 9_000


def test_a_timestamp_that_is_taken_at_no_time_counts_as_the_end_of_its_segment() -> None:
    config = config_of()
    following = Segment(1, 0, 100, 2, 0, WALL_MS)
    absurd = Segment(0, 0, 100, 1, INT64_MAX, WALL_MS - 5_000)
    assert appended_until_ms(absurd, following, config) == WALL_MS
    assert newest_ms(absurd, WALL_MS, config, WALL_MS) == WALL_MS
    assert appended_until_ms(absurd, None, config) == WALL_MS - 5_000 + config.segment_age_ms
    ahead = WALL_MS + config.timestamp_after_ms
    assert newest_ms(Segment(0, 0, 100, 1, ahead, 0), WALL_MS, config, WALL_MS) == ahead
    assert newest_ms(Segment(0, 0, 100, 1, ahead + 1, 0), WALL_MS, config, WALL_MS) == WALL_MS
    config.timestamp_after_ms = UNLIMITED
    assert newest_ms(Segment(0, 0, 100, 1, TIME_MS_MAX, 0), WALL_MS, config, WALL_MS) == TIME_MS_MAX
    assert newest_ms(absurd, WALL_MS, config, WALL_MS) == WALL_MS


# by age


def test_a_segment_goes_in_the_millisecond_in_which_its_newest_record_is_old_enough() -> None:
    log = aged_log(config_of(retention_ms=1_000), 0, 500, 700)
    assert log.retain(ms(999)) == 0
    assert log.take(ms(999)) == []
    assert log.retain(ms(1_000)) == 1
    commit = commit_in(log.take(ms(1_000)))
    assert commit.removed == [FIRST]
    assert [segment.base for segment in decode_checkpoint(commit.checkpoint).segments] == [1, 2]
    assert log.start_offset == 1


def test_an_active_segment_that_is_old_enough_is_sealed_and_goes() -> None:
    log = aged_log(config_of(retention_ms=1_000), 0)
    assert log.retain(ms(1_000)) == 1
    rolled, commit = log.take(ms(1_000))
    assert rolled == Roll(STREAM, FIRST, 100, segment_name(1, 0))
    assert isinstance(commit, Commit)
    assert commit.removed == [FIRST]
    assert (log.start_offset, log.next_offset, bases_of(log)) == (1, 1, [1])
    assert log.append(ms(1_000), batch()) == 1, "offsets are never given twice"


def test_an_active_segment_that_is_empty_stays() -> None:
    log = empty_log(config_of(retention_ms=0))
    assert log.retain(ms(1)) == 0
    assert log.take(ms(1)) == []


def test_nothing_is_too_young_for_a_retention_of_zero() -> None:
    log = aged_log(config_of(retention_ms=0), 0, 0, 0)
    assert log.retain(0) == 3
    assert (log.start_offset, bases_of(log)) == (3, [3])


def test_without_a_bound_nothing_ever_goes() -> None:
    log = aged_log(config_of(), 0, 1, 2)
    assert log.retain(ms(1 << 50)) == 0
    assert log.deadline() is None


def test_a_timestamp_in_the_future_holds_up_what_comes_after_it() -> None:
    log = aged_log(config_of(retention_ms=1_000), 0, 1_000_000, 0, 0)
    assert log.retain(ms(5_000)) == 1
    assert log.retain(ms(1_000_999)) == 0
    assert log.start_offset == 1
    assert log.retain(ms(1_001_000)) > 0
    assert (log.start_offset, log.next_offset) == (4, 4)


def test_an_absurd_timestamp_holds_up_nothing() -> None:
    log = aged_log(config_of(retention_ms=1_000), 0, INT64_MAX - WALL_MS, 0)
    assert log.deadline() == ms(1_000)
    log.wake(ms(1_000))
    assert log.start_offset == 3


def test_an_absurd_timestamp_lets_nothing_go_early() -> None:
    clock = Clock(0, WALL_MS)
    log = empty_log(config_of(retention_ms=1_000, segment_bytes=250), clock=clock)
    log.append(0, batch(timestamp=INT64_MAX))
    log.append(ms(900), batch(timestamp=WALL_MS + 900))
    log.append(ms(950), batch(timestamp=WALL_MS + 950))
    log.take(ms(950))
    assert [segment.base for segment in log.segments] == [0, 2]
    assert log.retain(ms(1_949)) == 0
    assert log.retain(ms(1_950)) == 2


def test_an_absurd_timestamp_at_the_end_of_the_log_goes_by_the_age_of_segments() -> None:
    config = config_of(retention_ms=1_000)
    config.segment_age_ms = 5_000
    log = aged_log(config, INT64_MAX - WALL_MS)
    assert log.deadline() == ms(6_000)
    assert log.retain(ms(5_999)) == 0
    assert log.retain(ms(6_000)) == 1


def test_records_without_a_timestamp_go_by_the_age_of_their_segment() -> None:
    log = filled_log(config_of(retention_ms=1_000), batch(timestamp=-1), batch(timestamp=-1))
    assert log.retain(ms(999)) == 0
    assert log.retain(ms(1_000)) == 2


def test_with_compaction_alone_age_and_size_count_for_nothing() -> None:
    log = aged_log(config_of(retention_ms=0, retention_bytes=0, cleanup=Cleanup.COMPACT), 0, 0)
    assert log.retain(ms(1 << 40)) == 0
    assert log.deadline() is None
    assert bases_of(log) == [0, 1]


def test_with_both_cleanups_age_counts() -> None:
    log = aged_log(config_of(retention_ms=1_000, cleanup=Cleanup.COMPACT_DELETE), 0, 500)
    assert log.retain(ms(1_000)) == 1


# the time to look again


def test_the_deadline_is_when_the_oldest_segment_expires() -> None:
    log = aged_log(config_of(retention_ms=1_000), 0, 500, 700)
    for expiry, left in ((1_000, [1, 2]), (1_500, [2]), (1_700, [3])):
        assert log.deadline() == ms(expiry)
        log.wake(ms(expiry) - 1)
        assert log.deadline() == ms(expiry)
        log.wake(ms(expiry))
        assert bases_of(log) == left
    assert log.deadline() is None


def test_a_log_that_was_written_once_expires_by_the_deadline_alone() -> None:
    log = empty_log(config_of(retention_ms=1_000, segment_bytes=10_000))
    assert log.deadline() is None
    log.append(0, batch())
    assert log.deadline() == ms(1_000)
    log.append(ms(600), batch(timestamp=WALL_MS + 600))
    log.take(ms(600))
    log.wake(ms(1_000))
    assert log.take(ms(1_000)) == [], "the newer record keeps its segment"
    assert log.deadline() == ms(1_600)
    log.wake(ms(1_600))
    assert commit_in(log.take(ms(1_600))).removed == [FIRST]


def test_the_deadline_follows_the_wall() -> None:
    clock = Clock(0, WALL_MS)
    log = empty_log(config_of(retention_ms=1_000), clock=clock)
    log.append(0, batch())
    log.take(0)
    clock.moved(ms(10), WALL_MS - 5_000)
    assert log.deadline() == ms(10 + 5_000 + 1_000)
    log.wake(ms(1_000))
    assert bases_of(log) == [0]
    clock.moved(ms(20), WALL_MS + 5_000)
    deadline = log.deadline()
    assert deadline is not None
    assert deadline <= ms(20)
    log.wake(ms(20))
    assert bases_of(log) == [1]


# by size


@pytest.mark.parametrize(("retention_bytes", "gone"), [(500, 0), (401, 0), (400, 1), (301, 1), (300, 2), (0, 4)])
def test_the_oldest_go_while_what_stays_is_as_large_as_it_must_be(retention_bytes: int, gone: int) -> None:
    log = aged_log(config_of(retention_bytes=retention_bytes), 0, 0, 0, 0, 0)
    assert log.retain(0) == gone
    assert log.size_bytes == 500 - 100 * gone
    assert log.size_bytes >= retention_bytes


def test_the_active_segment_never_goes_by_size() -> None:
    log = aged_log(config_of(retention_bytes=0, segment_bytes=10_000), 0, 0)
    assert log.retain(0) == 0
    assert log.size_bytes == 200


# by a start that a client moved


def test_readers_begin_at_the_start_that_was_asked_for_and_whole_segments_below_go() -> None:
    log = filled_log(config_of(segment_bytes=200), *(batch(2) for _ in range(5)))
    assert log.delete_before(0, 6) == 6
    commit = commit_in(log.take(0))
    assert commit.removed == [FIRST]
    checkpoint = decode_checkpoint(commit.checkpoint)
    assert (checkpoint.start_offset, checkpoint.segments[0].base) == (6, 4)


def test_a_start_that_goes_back_is_left_where_it_is() -> None:
    log = aged_log(config_of(), 0, 0, 0)
    log.delete_before(0, 2)
    log.take(0)
    assert log.delete_before(0, 1) == 2
    assert log.delete_before(0, 2) == 2
    assert log.take(0) == []


def test_everything_can_be_deleted_and_the_offsets_go_on() -> None:
    log = aged_log(config_of(), 0, 0, 0)
    assert log.delete_before(0, 3) == 3
    effects = log.take(0)
    assert effects[0] == Roll(STREAM, segment_name(2, 0), 100, segment_name(3, 0))
    assert commit_in(effects).removed == [FIRST, segment_name(1, 0), segment_name(2, 0)]
    assert log.append(0, batch()) == 3


@pytest.mark.parametrize("offset", [-1, 4])
def test_a_start_outside_the_log_is_refused(offset: int) -> None:
    log = aged_log(config_of(), 0, 0, 0)
    with pytest.raises(OffsetOutOfRange):
        log.delete_before(0, offset)
    assert log.take(0) == []


def test_a_moved_start_removes_even_where_compaction_alone_does() -> None:
    log = aged_log(config_of(cleanup=Cleanup.COMPACT), 0, 0, 0)
    log.delete_before(0, 1)
    assert bases_of(log) == [1, 2]


def test_a_start_within_a_segment_is_committed_though_nothing_goes() -> None:
    log = filled_log(settings_of(), batch(4))
    log.delete_before(0, 3)
    commit = commit_in(log.take(0))
    assert commit.removed == []
    assert decode_checkpoint(commit.checkpoint).start_offset == 3


def test_retention_never_moves_a_start_back() -> None:
    log = filled_log(config_of(segment_bytes=200, retention_bytes=300), *(batch(2) for _ in range(5)))
    log.delete_before(0, 7)
    log.retain(0)
    assert (log.start_offset, bases_of(log)) == (7, [4, 8])


def test_the_epochs_of_what_went_are_forgotten() -> None:
    log = empty_log(config_of(retention_ms=1_000))
    for epoch in range(3):
        log.append(0, batch(), leader_epoch=epoch)
    log.delete_before(0, 1)
    assert log.epochs.entries() == [(1, 1), (2, 2)]
    log.retain(ms(1_000))
    assert log.epochs.entries() == [(2, 3)], "the last one is still the one to be followed"


def test_segments_that_go_in_one_turn_go_with_one_commit_in_order() -> None:
    log = aged_log(config_of(retention_ms=1_000), 0, 0, 500, 700)
    log.retain(ms(1_000))
    log.retain(ms(1_500))
    appended = batch(timestamp=WALL_MS + 1_500)
    log.append(ms(1_500), appended)
    effects = log.take(ms(1_500))
    assert effects[:2] == [
        Roll(STREAM, segment_name(3, 0), 100, segment_name(4, 0)),
        Append(STREAM, segment_name(4, 0), 0, [appended]),
    ]
    commit = commit_in(effects)
    assert commit.removed == [segment_name(base, 0) for base in (0, 1, 2)]
    assert [segment.base for segment in decode_checkpoint(commit.checkpoint).segments] == [3, 4]
    assert log.take(ms(1_500)) == []


def test_an_active_segment_is_not_sealed_while_an_older_one_stays() -> None:
    config = LogConfig(fsync=Fsync.NONE, retention_ms=1_000, segment_bytes=250)
    log = filled_log(config, batch(timestamp=WALL_MS + 1_000_000), batch(), batch())
    assert [segment.base for segment in log.segments] == [0, 2]
    assert log.retain(ms(1_000)) == 0
    assert [segment.base for segment in log.segments] == [0, 2]


def test_a_log_that_has_grown_over_its_size_is_due_at_once() -> None:
    config = LogConfig(fsync=Fsync.NONE, retention_ms=UNLIMITED, retention_bytes=250, segment_bytes=100)
    log = filled_log(config, batch(), batch(), batch())
    assert log.deadline() is None, "three segments of a hundred bytes are less than one too many"
    log.append(0, batch())
    log.take(0)
    due = log.deadline()
    assert due is not None
    assert due <= 0
    log.wake(0)
    assert [segment.base for segment in log.segments] == [1, 2, 3]
    assert log.deadline() is None
