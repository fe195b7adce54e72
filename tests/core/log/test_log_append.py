"""Appending: which offsets a batch gets, where it lands, what goes to the disk in a turn, and what is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goqueue.core.clock import Clock
from goqueue.core.errors import BatchError
from goqueue.core.log.checkpoint import decode_checkpoint
from goqueue.core.log.config import Fsync
from goqueue.core.log.effects import Append, Commit, IndexPage, Roll, Sync, Trim, WriteIndex
from goqueue.core.log.index import ENTRIES_A_PAGE, IndexKind, PageTail
from goqueue.core.log.log import Log
from goqueue.core.log.segment import segment_name
from goqueue.core.records.batch import read_header
from goqueue.core.records.build import encode, rebuild
from goqueue.core.records.record import iterate
from tests.core.log.batches import (
    FIRST,
    STREAM,
    WALL_MS,
    batch,
    empty_log,
    filled_log,
    ms,
    remembered,
    settings_of,
    stamped,
    token,
)
from tests.core.records.samples import refused

FAR = 1 << 31


def offsets_of(log: Log) -> list[tuple[int, int]]:
    """[base, end) of every segment."""
    return [(segment.base, segment.next_offset) for segment in log.segments]


# offsets and the stamp


def test_offsets_follow_one_another_without_a_gap() -> None:
    log = empty_log()
    assert [log.append(0, batch(count)) for count in (1, 3, 2)] == [0, 1, 4]
    assert log.next_offset == 6


def test_a_log_goes_on_at_the_offset_it_was_left_at() -> None:
    assert empty_log(at=1_000).append(0, batch(2)) == 1_000


@pytest.mark.parametrize("view", [bytearray, memoryview])
def test_a_batch_is_stamped_in_place(view: type[bytearray] | type[memoryview]) -> None:
    log, appended = empty_log(at=77), batch(2)
    log.append(0, view(appended) if view is memoryview else appended, leader_epoch=5)
    assert appended == stamped(77, epoch=5, count=2)


def test_a_leader_appends_in_its_own_epoch_or_a_later_one() -> None:
    log = empty_log()
    log.append(0, batch(), leader_epoch=3)
    log.append(0, batch(2), leader_epoch=3)
    log.append(0, batch(), leader_epoch=7)
    assert log.epochs.entries() == [(3, 0), (7, 3)]
    with pytest.raises(AssertionError):
        log.append(0, batch(), leader_epoch=6)


# what a turn hands to the disk


def test_a_turn_is_one_append_of_all_its_batches_and_one_sync() -> None:
    log = empty_log(settings_of(fsync=Fsync.EVERY))
    first, second = batch(1, 90), batch(2, 110)
    log.append(0, first)
    log.append(0, second)
    assert log.take(0) == [Append(STREAM, FIRST, 0, [first, second]), Sync(STREAM, token(3, position=200))]


def test_the_next_turn_writes_where_the_last_one_ended() -> None:
    log = filled_log(settings_of(), batch(1, 90), batch(1, 110))
    third = batch()
    log.append(0, third)
    assert log.take(0) == [Append(STREAM, FIRST, 200, [third])]


def test_the_buffer_that_was_given_is_the_one_that_is_written() -> None:
    log, appended = empty_log(), batch()
    log.append(0, appended)
    [written] = log.take(0)
    assert isinstance(written, Append)
    assert written.buffers[0] is appended


@pytest.mark.parametrize("fsync", Fsync)
def test_a_turn_without_news_asks_for_nothing(fsync: Fsync) -> None:
    log = empty_log(settings_of(fsync=fsync))
    assert log.take(0) == []
    log.append(0, batch())
    log.take(0)
    assert log.take(0) == []


def test_an_index_page_is_written_when_it_is_full() -> None:
    log = empty_log(settings_of(index_interval_bytes=0))
    expected = PageTail(IndexKind.OFFSET, 0)
    page = None
    while page is None:
        offset = log.append(0, batch())
        page = expected.add(offset, offset, offset * 100) if offset else None
    appended, written = log.take(0)
    assert isinstance(appended, Append)
    assert len(appended.buffers) == ENTRIES_A_PAGE[IndexKind.OFFSET] + 1
    assert written == WriteIndex(STREAM, FIRST, [IndexPage(IndexKind.OFFSET, 0, page)])


# when the disk is asked to keep it


def test_with_fsync_every_each_turn_with_news_asks_once() -> None:
    log = empty_log(settings_of(fsync=Fsync.EVERY))
    for turn in range(3):
        log.append(0, batch())
        assert Sync(STREAM, token(turn + 1, position=100 * (turn + 1))) in log.take(0)
        assert log.take(0) == []
    assert log.deadline() is None


def test_with_fsync_every_only_what_the_disk_has_is_acknowledged() -> None:
    log = empty_log(settings_of(fsync=Fsync.EVERY))
    for _ in range(2):
        log.append(0, batch(2))
        log.take(0)
    assert log.acknowledged_offset == 0
    log.synced(0, token(2))
    assert log.acknowledged_offset == log.synced_offset == 2
    log.synced(0, token(4))
    assert log.acknowledged_offset == log.next_offset == 4


def test_a_sync_that_answers_late_takes_nothing_back() -> None:
    log = filled_log(settings_of(fsync=Fsync.EVERY), batch(), batch())
    log.synced(0, token(2))
    log.synced(0, token(1))
    assert log.acknowledged_offset == 2


def test_a_sync_that_speaks_of_offsets_nobody_has_is_a_broken_invariant() -> None:
    log = filled_log(settings_of(fsync=Fsync.EVERY), batch())
    with pytest.raises(AssertionError):
        log.synced(0, token(2))


def test_with_fsync_interval_the_disk_is_asked_when_the_interval_is_over() -> None:
    log = empty_log(settings_of(fsync=Fsync.INTERVAL, fsync_interval_ns=1_000))
    assert log.deadline() is None
    first, second = batch(), batch()
    log.append(50, first)
    assert log.take(50) == [Append(STREAM, FIRST, 0, [first])]
    assert log.deadline() == 1_050
    log.append(700, second)
    assert log.take(700) == [Append(STREAM, FIRST, 100, [second])]
    assert log.deadline() == 1_050, "what came later does not put the first one off"
    log.wake(1_049)
    assert log.take(1_049) == []
    log.wake(1_050)
    assert log.take(1_050) == [Sync(STREAM, token(2, position=200))]
    assert log.deadline() is None


def test_with_fsync_interval_the_next_batch_begins_an_interval_of_its_own() -> None:
    log = empty_log(settings_of(fsync=Fsync.INTERVAL, fsync_interval_ns=1_000))
    log.append(0, batch())
    log.take(0)
    log.wake(1_000)
    log.take(1_000)
    log.append(5_000, batch())
    log.take(5_000)
    assert log.deadline() == 6_000


@pytest.mark.parametrize("fsync", [Fsync.INTERVAL, Fsync.NONE])
def test_without_a_sync_each_turn_what_was_appended_is_acknowledged_at_once(fsync: Fsync) -> None:
    log = empty_log(settings_of(fsync=fsync))
    log.append(0, batch(3))
    log.take(0)
    assert (log.acknowledged_offset, log.synced_offset) == (3, 0)


def test_with_fsync_none_time_asks_for_nothing() -> None:
    log = filled_log(settings_of(fsync=Fsync.NONE), batch())
    assert log.deadline() is None
    log.wake(ms(1 << 40))
    assert log.take(ms(1 << 40)) == []


@pytest.mark.parametrize("fsync", Fsync)
def test_a_sync_can_be_asked_for_in_every_mode(fsync: Fsync) -> None:
    log, appended = empty_log(settings_of(fsync=fsync)), batch()
    log.append(0, appended)
    log.sync(0)
    assert log.take(0) == [Append(STREAM, FIRST, 0, [appended]), Sync(STREAM, token(1, position=100))]
    log.synced(0, token(1))
    log.sync(0)
    assert log.take(0) == []
    assert log.deadline() is None


# rolls


def test_a_segment_that_is_full_is_sealed_before_the_batch_that_does_not_fit() -> None:
    log = empty_log(settings_of(fsync=Fsync.EVERY, segment_bytes=250))
    first, second, third = batch(), batch(), batch()
    for appended in (first, second, third):
        log.append(ms(5), appended)
    opened = segment_name(2, 0)
    effects = log.take(ms(5))
    assert effects[:3] == [
        Append(STREAM, FIRST, 0, [first, second]),
        Roll(STREAM, FIRST, 200, opened),
        Append(STREAM, opened, 0, [third]),
    ]
    assert isinstance(effects[3], Commit)
    assert effects[4:] == [Sync(STREAM, token(3, opened, 100))]
    assert offsets_of(log) == [(0, 2), (2, 3)]


def test_a_batch_that_just_fits_does_not_roll() -> None:
    log = filled_log(settings_of(segment_bytes=200), batch(), batch())
    assert offsets_of(log) == [(0, 2)]


def test_a_batch_larger_than_a_segment_gets_one_to_itself() -> None:
    log = filled_log(settings_of(segment_bytes=100), batch(1, 400), batch(1, 400))
    assert offsets_of(log) == [(0, 1), (1, 2)]


def test_a_roll_leaves_the_unfinished_index_pages_behind() -> None:
    log = empty_log(settings_of(index_interval_bytes=100, segment_bytes=300))
    for timestamp in range(3):
        log.append(0, batch(timestamp=WALL_MS + timestamp))
    log.take(0)
    offsets, times = PageTail(IndexKind.OFFSET, 0), PageTail(IndexKind.TIME, 0)
    for offset in (1, 2):
        offsets.add(offset, offset, offset * 100)
        times.add(WALL_MS + offset - 1, offset, offset * 100)
    log.roll(0)
    written, rolled, _ = log.take(0)
    assert written == WriteIndex(
        STREAM, FIRST, [IndexPage(IndexKind.OFFSET, 0, offsets.encode()), IndexPage(IndexKind.TIME, 0, times.encode())]
    )
    assert rolled == Roll(STREAM, FIRST, 300, segment_name(3, 0))


def test_a_segment_is_sealed_when_its_first_batch_is_old_enough_by_the_wall() -> None:
    log = empty_log(settings_of(segment_age_ms=1_000))
    log.append(ms(10_000), batch())
    log.append(ms(10_999), batch())
    assert offsets_of(log) == [(0, 2)], "an empty segment does not age"
    log.append(ms(11_000), batch())
    assert offsets_of(log) == [(0, 2), (2, 3)]


def test_a_wall_that_went_back_seals_nothing() -> None:
    clock = Clock(0, WALL_MS)
    log = empty_log(settings_of(segment_age_ms=1_000), clock=clock)
    log.append(ms(10_000), batch())
    clock.moved(ms(20_000), WALL_MS - 1_000_000)
    log.append(ms(20_000), batch())
    assert offsets_of(log) == [(0, 2)]


def test_no_offset_is_too_far_from_its_segments_base() -> None:
    log = empty_log()
    log.append(0, batch())
    log.replicate(0, stamped(FAR - 1))
    assert offsets_of(log) == [(0, FAR)]
    log.append(0, batch())
    assert offsets_of(log) == [(0, FAR), (FAR, FAR + 1)]


def test_rolling_an_empty_segment_changes_nothing() -> None:
    log = empty_log()
    assert log.roll(0) is False
    assert log.take(0) == []
    log.append(0, batch())
    assert log.roll(0) is True
    assert log.roll(0) is False


# refusals


def test_a_batch_over_the_limit_is_too_large_and_the_client_hears_413() -> None:
    log = empty_log(settings_of(batch_bytes_max=100))
    log.append(0, batch(1, 100))
    with pytest.raises(BatchError) as caught:
        log.append(0, batch(1, 101))
    assert (caught.value.reason, caught.value.status_hint) == ("too_large", 413)
    assert log.next_offset == 1


def test_a_batch_over_the_limit_seals_no_segment() -> None:
    log = empty_log(settings_of(batch_bytes_max=100, segment_bytes=100))
    log.append(0, batch(1, 100))
    before = remembered(log)
    with pytest.raises(BatchError):
        log.append(0, batch(1, 101))
    assert remembered(log) == before


@given(st.binary(max_size=200) | st.builds(lambda tail: bytes(batch()) + tail, st.binary(min_size=1, max_size=80)))
def test_garbage_is_a_batch_error_and_leaves_no_trace(garbage: bytes) -> None:
    log = filled_log(settings_of(segment_bytes=150), batch())
    before = remembered(log)
    for take_over in (log.append, log.replicate):
        with pytest.raises(BatchError):
            take_over(0, bytearray(garbage))
    assert remembered(log) == before
    assert log.take(0) == []


@given(st.data())
def test_a_damaged_batch_is_refused_whole_and_leaves_no_trace(data: st.DataObject) -> None:
    damaged = stamped(1, count=3)
    # The twelve bytes that the broker stamps are not the sender's to damage.
    at = data.draw(st.sampled_from([*range(8, 12), *range(16, len(damaged))]))
    damaged[at] ^= data.draw(st.integers(1, 255))
    log = filled_log(settings_of(segment_bytes=150), batch())
    before = remembered(log)
    for take_over in (log.append, log.replicate):
        with pytest.raises(BatchError):
            take_over(0, bytearray(damaged))
    assert remembered(log) == before
    assert log.take(0) == []


# what a follower takes over


def test_a_follower_keeps_offsets_and_epochs_as_they_come() -> None:
    log, batches = empty_log(), [stamped(0, 2, count=3), stamped(3, 2), stamped(10, 4, count=2)]
    copies = [bytes(one) for one in batches]
    assert [log.replicate(0, one) for one in copies] == [0, 3, 10]
    assert log.next_offset == 12
    assert log.epochs.entries() == [(2, 0), (4, 10)]
    assert log.take(0) == [Append(STREAM, FIRST, 0, list(copies))]


def test_a_follower_never_goes_back_in_offsets() -> None:
    log = empty_log()
    log.replicate(0, stamped(5, count=3))
    before = remembered(log)
    for offset in (0, 5, 7):
        with pytest.raises(BatchError) as caught:
            log.replicate(0, stamped(offset))
        assert caught.value.reason == "offsets"
    assert remembered(log) == before


def test_a_follower_never_goes_back_in_epochs() -> None:
    log = empty_log()
    log.replicate(0, stamped(0, 4))
    before = remembered(log)
    with pytest.raises(BatchError) as caught:
        log.replicate(0, stamped(1, 3))
    assert caught.value.reason == "epochs"
    assert remembered(log) == before


def test_a_follower_takes_batches_that_a_compaction_made_smaller() -> None:
    original = encode([(WALL_MS, b"key", b"value", ())] * 5)
    log = empty_log()
    smaller = rebuild(read_header(original), list(iterate(original))[2:3])
    log.replicate(0, smaller)
    assert log.next_offset == 5
    with pytest.raises(BatchError):
        log.append(0, smaller)


# checkpoints along the way


@pytest.mark.parametrize("fsync", [Fsync.EVERY, Fsync.INTERVAL])
def test_a_checkpoint_is_due_every_so_many_bytes(fsync: Fsync) -> None:
    log = empty_log(settings_of(fsync=fsync, checkpoint_bytes=250))
    committed = []
    for _ in range(6):
        log.append(0, batch())
        committed.append(any(isinstance(effect, Commit) for effect in log.take(0)))
    assert committed == [False, False, True, False, False, True]


def test_with_fsync_none_growing_alone_costs_no_checkpoint() -> None:
    log = empty_log(settings_of(fsync=Fsync.NONE, checkpoint_bytes=1))
    log.append(0, batch())
    assert not any(isinstance(effect, Commit) for effect in log.take(0))


def test_closing_leaves_index_pages_no_reserved_room_and_a_checkpoint_of_everything() -> None:
    log = filled_log(settings_of(index_interval_bytes=100), batch(), batch(timestamp=WALL_MS + 9))
    appended = batch()
    log.append(0, appended)
    log.close(0)
    effects = log.take(0)
    assert effects[0] == Append(STREAM, FIRST, 200, [appended])
    assert isinstance(effects[1], WriteIndex)
    assert [page.kind for page in effects[1].pages] == [IndexKind.OFFSET, IndexKind.TIME]
    assert effects[2] == Trim(STREAM, FIRST, 300)
    assert isinstance(effects[3], Commit)
    assert decode_checkpoint(effects[3].checkpoint) == log.checkpoint()
    assert len(effects) == 4


def test_a_replicated_batch_too_far_beyond_the_end_is_refused() -> None:
    log = empty_log()
    with refused("offsets"):
        log.replicate(0, stamped(1 << 31))
    assert log.next_offset == 0
    far = (1 << 31) - 2
    assert log.replicate(0, stamped(far)) == far
