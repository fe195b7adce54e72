"""Compaction: of each key the last committed value stays where it was, whatever else goes; and when there is any."""

from typing import TypeAlias

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from goqueue.core.log.compaction import CompactionOutput, CompactionPlan, Compactor, plan_compaction
from goqueue.core.log.config import UNLIMITED, Cleanup, Fsync, LogConfig
from goqueue.core.log.effects import Commit
from goqueue.core.log.log import Log
from goqueue.core.log.segment import NO_TIMESTAMP, Segment, segment_name
from goqueue.core.records.batch import Codec, read_header
from tests.core.log.batches import STREAM, WALL_MS, batch, filled_log, token
from tests.core.log.keyed_history import Content, KeyedHistory, compacted, records_of

A, B, C = b"a", b"b", b"c"
IDEMPOTENT, FIRST_TRANSACTIONAL = 3, 10

Step: TypeAlias = tuple[str, object, object, object, object]

contents = st.lists(
    st.tuples(st.sampled_from([A, A, B, C, None]), st.sampled_from([b"one", b"two" * 20, None])), min_size=1, max_size=3
)
producers = st.sampled_from([-1, -1, IDEMPOTENT, FIRST_TRANSACTIONAL, FIRST_TRANSACTIONAL + 1])
transactional = st.sampled_from([FIRST_TRANSACTIONAL, FIRST_TRANSACTIONAL + 1])
writes = st.tuples(st.just("write"), contents, producers, st.sampled_from(Codec), st.booleans())
ends = st.tuples(st.just("end"), transactional, st.booleans(), st.none(), st.none())
rolls = st.tuples(st.just("roll"), st.none(), st.none(), st.none(), st.none())
keys_max, segment_bytes = st.sampled_from([1, 3, 1_000]), st.sampled_from([1, 400])
compactions = st.tuples(st.just("compact"), st.sampled_from([0, 40, 100]), keys_max, segment_bytes, st.none())


def take_step(history: KeyedHistory, step: Step) -> None:
    match step:
        case ("write", list(said), int(producer), Codec() as codec, bool(append_time)):
            in_transaction = producer >= FIRST_TRANSACTIONAL
            history.write(said, producer, codec, transactional=in_transaction, append_time=append_time)
        case ("end", int(producer), bool(commit), _, _):
            history.end(producer, commit=commit)
        case ("roll", *_):
            history.roll()
        case ("compact", int(waited_ms), int(keys_max), int(segment_bytes), _):
            history.wall_ms += waited_ms
            history.compact(keys_max, segment_bytes)
        case _:
            raise AssertionError(step)


@settings(max_examples=150)
@given(st.lists(writes | writes | writes | ends | rolls | compactions, max_size=40), st.sampled_from([0, 100]))
def test_a_compacted_log_says_what_the_whole_one_said(steps: list[Step], tombstone_retention_ms: int) -> None:
    history = KeyedHistory(tombstone_retention_ms)
    for step in steps:
        take_step(history, step)
    for producer in list(history.open):
        history.end(producer, commit=True)
    for _ in range(3):
        history.write([(None, b"news")])
        history.roll()
        history.wall_ms += 100
        history.compact()
    assert history.cleaned_offset == history.next_offset
    assert not any(record.key is not None and record.value is None for _, record in records_of(history.batches))


# values


def values(*said: Content) -> list[Content]:
    return list(said)


def test_of_each_key_the_last_value_stays_where_it_was() -> None:
    history = KeyedHistory()
    history.write(values((A, b"1"), (B, b"1"), (A, b"2")))
    history.write(values((C, b"1"), (A, b"3")))
    history.roll()
    assert history.compact() == 5
    assert history.offsets == [1, 3, 4]


def test_a_batch_that_keeps_everything_is_not_even_copied() -> None:
    history = KeyedHistory()
    history.write(values((A, b"1"), (B, b"1")), codec=Codec.ZSTD)
    history.roll()
    plan = history.plan()
    assert plan is not None
    compactor, stored = Compactor(plan), memoryview(history.batches[0])
    compactor.survey(stored)
    assert compactor.rewrite(stored) is stored


def test_a_segment_of_which_nothing_stays_is_gone() -> None:
    history = KeyedHistory()
    history.write(values((A, b"1")))
    history.roll()
    history.write(values((A, b"2")))
    history.roll()
    history.compact(segment_bytes=1)
    assert [segment.base for segment, _ in history.segments] == [1, 2]


def test_the_active_segment_supersedes_nothing_yet() -> None:
    history = KeyedHistory()
    history.write(values((A, b"1")))
    history.roll()
    history.write(values((A, b"2")))
    history.compact()
    assert history.offsets == [0, 1]


def test_keys_are_told_apart_by_all_their_bytes() -> None:
    history = KeyedHistory()
    history.write([(bytes(number), b"1") for number in range(50)])
    history.write([(b"", b"2")])
    history.roll()
    history.compact()
    assert history.offsets == list(range(1, 51))


# tombstones


def test_a_tombstone_stays_for_its_time_after_the_first_compaction_that_saw_it() -> None:
    history = KeyedHistory(tombstone_retention_ms=1_000)
    history.write(values((A, b"1")))
    history.write(values((A, None), (B, b"1")))
    history.roll()
    history.wall_ms += 1_000_000
    history.compact()
    assert history.offsets == [1, 2]
    assert read_header(history.batches[0]).horizon_ms == history.wall_ms + 1_000
    for waited_ms, left in ((999, [1, 2, 3]), (1, [2, 3, 4])):
        history.wall_ms += waited_ms
        history.write(values((None, b"news")))
        history.roll()
        history.compact()
        assert history.offsets == left


def test_a_tombstone_a_follower_got_with_a_horizon_that_is_over_takes_its_value_along() -> None:
    """A follower that had fetched the value before the leader compacted, and the tombstone after."""
    leader = KeyedHistory(tombstone_retention_ms=1_000)
    value_offset = leader.write(values((A, b"1")))
    leader.write(values((A, None)))
    leader.roll()
    untouched = leader.batches[0]
    leader.compact()
    [marked] = leader.batches
    size = len(untouched) + len(marked)
    plan = CompactionPlan(STREAM, 0, [[Segment(0, 0, size, 2, 0, 0)]], 0, 2, leader.wall_ms + 1_000, 1_000)
    assert value_offset == 0
    assert compacted(plan, [untouched, marked], 1_000) == ([], 2)


def test_a_record_without_key_and_value_is_no_tombstone() -> None:
    history = KeyedHistory()
    history.write(values((None, None), (A, b"1")))
    before = history.batches
    history.roll()
    history.compact()
    assert history.batches == before


# producers


def test_a_producers_last_batch_stays_without_its_records() -> None:
    history = KeyedHistory()
    history.write(values((A, b"1"), (B, b"1")), IDEMPOTENT, Codec.LZ4)
    history.write(values((A, b"2"), (B, b"2")))
    history.roll()
    history.compact()
    header = read_header(history.batches[0])
    assert (header.producer_id, header.base_sequence, header.last_offset_delta, header.record_count) == (3, 0, 1, 0)
    history.write(values((C, b"1")), IDEMPOTENT)
    history.roll()
    history.compact()
    assert [read_header(stored).base_offset for stored in history.batches] == [2, 4]


# transactions


def test_what_was_committed_counts_and_what_was_aborted_goes() -> None:
    history = KeyedHistory()
    history.write(values((A, b"old"), (B, b"old"), (None, b"kept")))
    history.write(values((A, b"new"), (None, b"kept")), 10, transactional=True)
    history.write(values((B, b"never"), (None, b"gone")), 11, transactional=True)
    history.end(11, commit=False)
    history.end(10, commit=True)
    history.roll()
    history.compact()
    assert history.offsets == [1, 2, 3, 4]


def test_a_transaction_supersedes_by_its_offsets_not_by_its_end() -> None:
    history = KeyedHistory()
    history.write(values((A, b"1")), 10, transactional=True)
    history.write(values((A, b"2")))
    history.end(10, commit=True)
    history.roll()
    history.compact()
    assert history.offsets == [1]


def test_each_of_a_producers_transactions_is_judged_by_its_own_marker() -> None:
    history = KeyedHistory()
    for number in range(6):
        history.write(values((b"%d" % number, b"v")), 10, transactional=True)
        history.end(10, commit=number % 3 == 0)
    history.roll()
    history.compact()
    assert history.offsets == [0, 6]


@pytest.mark.parametrize("commit", [True, False])
def test_a_transaction_whose_marker_is_not_sealed_yet_is_not_judged(commit: bool) -> None:
    """Its marker is in the active segment: the transaction is not open any more, and yet a survey cannot know its end.

    1. `a` has a value, and a transaction deletes it; the segment is sealed, and then the marker comes.
    2. A compaction that went past the transaction now would not know the tombstone for `a`'s last word.
    3. The next one would begin behind it, and let the tombstone go, whose time is over, but not the value.
    """
    history = KeyedHistory(tombstone_retention_ms=1_000)
    history.write(values((A, b"value")))
    history.write(values((A, None)), 10, transactional=True)
    history.roll()
    history.end(10, commit=commit)
    assert history.compact() == 1
    assert history.offsets == [0, 1]
    for _ in range(2):
        history.roll()
        history.wall_ms += 1_000
        history.write(values((B, b"value")))
        history.compact()
    assert 1 not in history.offsets
    assert (0 in history.offsets) is not commit


def test_a_transaction_that_fills_the_memory_is_judged_by_the_marker_beyond() -> None:
    history = KeyedHistory(tombstone_retention_ms=1_000)
    history.write(values((A, b"value"), (B, b"value")))
    history.write(values((A, None)), 10, transactional=True)
    history.write(values((B, None)), 10, transactional=True)
    history.write(values((C, b"value")))
    history.end(10, commit=True)
    history.roll()
    assert history.compact(keys_max=3) == 3
    assert history.offsets == [1, 2, 3, 4]
    history.wall_ms += 1_000
    assert history.compact(keys_max=3) == 6
    assert history.offsets == [3, 4]


# memory


def test_a_full_memory_ends_the_run_and_the_next_goes_on() -> None:
    history = KeyedHistory()
    for number in range(4):
        history.write(values((b"%d" % number, b"1"), (b"%d+" % number, b"1")))
    history.write(values((b"0", b"2"), (b"3", b"2")))
    history.roll()
    ends = [history.compact(keys_max=4) for _ in range(3)]
    assert ends == [4, 8, 10]
    assert history.offsets == [1, 2, 3, 4, 5, 7, 8, 9]


def test_a_batch_with_more_keys_than_the_memory_is_taken_all_the_same() -> None:
    history = KeyedHistory()
    history.write([(b"%d" % number, b"1") for number in range(10)])
    history.write(values((A, b"1")))
    history.roll()
    assert history.compact(keys_max=1) == 10
    assert history.compact(keys_max=1) == 11


# when there is something to do


def sealed(*sizes: int, first: int = 0, newest: int = WALL_MS) -> list[Segment]:
    """Segments of ten offsets each."""
    return [
        Segment(first + 10 * number, 0, size, first + 10 * (number + 1), newest, WALL_MS)
        for number, size in enumerate(sizes)
    ]


def planned(
    segments: list[Segment],
    *,
    cleaned: int = 0,
    dirty_ratio: float = 0.5,
    lag_ms: int = 0,
    segment_bytes: int = 100,
    limit: int = 1 << 40,
) -> CompactionPlan | None:
    config = LogConfig(
        cleanup=Cleanup.COMPACT, dirty_ratio=dirty_ratio, compaction_lag_ms=lag_ms, segment_bytes=segment_bytes
    )
    return plan_compaction(STREAM, segments, cleaned, 7, config, WALL_MS + 1_000, limit)


def test_a_plan_says_what_to_read_and_from_where_keys_are_news() -> None:
    segments = sealed(100, 100)
    plan = planned(segments, cleaned=10)
    assert plan == CompactionPlan(STREAM, 7, [[segments[0]], [segments[1]]], 10, 20, WALL_MS + 1_000, 86_400_000)
    assert plan is not None
    assert plan.inputs == segments


@pytest.mark.parametrize(("cleaned", "worth_it"), [(0, True), (10, True), (20, True), (30, False), (40, False)])
def test_there_is_a_plan_when_enough_of_the_bytes_are_dirty(cleaned: int, worth_it: bool) -> None:
    assert (planned(sealed(100, 100, 100, 100), cleaned=cleaned) is not None) is worth_it


@pytest.mark.parametrize("dirty_ratio", [0.0, 0.5, 1.0])
def test_without_dirt_there_is_no_plan(dirty_ratio: float) -> None:
    assert planned([], dirty_ratio=dirty_ratio) is None
    assert planned(sealed(100, 100), cleaned=20, dirty_ratio=dirty_ratio) is None


def test_a_segment_that_is_half_clean_is_dirty() -> None:
    plan = planned(sealed(100), cleaned=9)
    assert plan is not None
    assert (plan.dirty_from, plan.end_offset) == (9, 10)


@pytest.mark.parametrize(("lag_ms", "worth_it"), [(999, True), (1_000, True), (1_001, False)])
def test_what_is_younger_than_the_lag_waits(lag_ms: int, worth_it: bool) -> None:
    assert (planned(sealed(100), lag_ms=lag_ms) is not None) is worth_it


def test_what_comes_after_a_young_segment_waits_with_it() -> None:
    plan = planned([*sealed(100), *sealed(100, first=10, newest=WALL_MS + 900), *sealed(100, first=20)], lag_ms=500)
    assert plan is not None
    assert plan.end_offset == 10


def test_without_timestamps_the_lag_counts_from_the_creation() -> None:
    assert planned(sealed(100, newest=NO_TIMESTAMP), lag_ms=1_000) is not None
    assert planned(sealed(100, newest=NO_TIMESTAMP), lag_ms=1_001) is None


@pytest.mark.parametrize(("limit", "end"), [(30, 30), (29, 20), (20, 20), (10, 10)])
def test_segments_that_reach_beyond_the_limit_stay_out(limit: int, end: int) -> None:
    plan = planned(sealed(100, 100, 100), limit=limit)
    assert plan is not None
    assert plan.end_offset == end


def test_a_limit_within_the_first_segment_leaves_nothing_to_do() -> None:
    assert planned(sealed(100, 100), limit=9) is None


def test_small_segments_that_fit_together_become_one() -> None:
    segments = sealed(40, 40, 20, 50, 51, 120, 10)
    plan = planned(segments)
    assert plan is not None
    assert [[segment.size for segment in group] for group in plan.groups] == [[40, 40, 20], [50], [51], [120], [10]]
    assert plan.inputs == segments


def test_segments_too_far_apart_for_one_index_do_not_become_one() -> None:
    far = Segment((1 << 31) - 1, 0, 10, 1 << 31, WALL_MS, WALL_MS)
    plan = planned([*sealed(10), far])
    assert plan is not None
    assert plan.groups == [sealed(10), [far]]


# the log around it


COMPACT = LogConfig(
    fsync=Fsync.NONE, cleanup=Cleanup.COMPACT, dirty_ratio=0.0, retention_ms=UNLIMITED, segment_bytes=200
)


def compactable() -> tuple[Log, CompactionPlan]:
    """Offsets [0, 2), [2, 4) and [4, 5), and the plan for the first two segments."""
    log = filled_log(COMPACT, *(batch() for _ in range(5)))
    plan = log.compaction(0)
    assert plan is not None
    assert [len(group) for group in plan.groups] == [1, 1]
    return log, plan


def outputs_of(plan: CompactionPlan) -> list[CompactionOutput]:
    """Each group one generation on, at half its size."""
    return [
        CompactionOutput(group, Segment(group[0].base, 1, 100, group[-1].next_offset, WALL_MS, WALL_MS))
        for group in plan.groups
    ]


def test_compacted_segments_take_the_place_of_their_inputs_with_one_commit() -> None:
    log, plan = compactable()
    assert log.compacted(0, plan, 4, outputs_of(plan)) is True
    [commit] = log.take(0)
    assert isinstance(commit, Commit)
    assert commit.removed == [segment_name(0, 0), segment_name(2, 0)]
    assert [segment.name for segment in log.segments] == [segment_name(0, 1), segment_name(2, 1), segment_name(4, 0)]
    assert (log.cleaned_offset, log.start_offset, log.next_offset) == (4, 0, 5)
    log.check()
    read = log.read(1, 1_000)
    assert read is not None
    assert (read.segment, read.position, read.end_position) == (segment_name(0, 1), -1, 100)


def test_a_group_of_which_nothing_stayed_leaves_a_gap_that_reads_pass_over() -> None:
    log, plan = compactable()
    outputs = outputs_of(plan)
    outputs[0].segment = None
    assert log.compacted(0, plan, 4, outputs) is True
    assert (log.start_offset, [segment.base for segment in log.segments]) == (0, [2, 4])
    read = log.read(0, 1_000)
    assert read is not None
    assert read.segment == segment_name(2, 1)
    log.check()


def test_a_log_that_is_clean_has_no_plan() -> None:
    log, plan = compactable()
    log.compacted(0, plan, 4, outputs_of(plan))
    assert log.compaction(0) is None


def test_a_run_that_was_cut_short_leaves_the_rest_for_the_next() -> None:
    log, plan = compactable()
    log.compacted(0, plan, 3, outputs_of(plan))
    following = log.compaction(0)
    assert following is not None
    assert following.dirty_from == 3


def test_a_run_that_came_to_nothing_takes_back_no_progress() -> None:
    log, plan = compactable()
    assert log.compacted(0, plan, 3, outputs_of(plan)) is True
    following = log.compaction(0)
    assert following is not None
    again = [CompactionOutput(group, evolve(group[0], generation=2)) for group in following.groups]
    assert log.compacted(0, following, 0, again) is True
    assert log.cleaned_offset == 3


def test_a_result_for_segments_that_retention_took_is_refused() -> None:
    log, plan = compactable()
    log.delete_before(0, 2)
    log.take(0)
    assert log.compacted(0, plan, 4, outputs_of(plan)) is False
    assert log.take(0) == []
    assert [segment.name for segment in log.segments] == [segment_name(2, 0), segment_name(4, 0)]


def test_a_result_from_before_a_cut_is_refused() -> None:
    log, plan = compactable()
    log.truncate(0, 3)
    assert log.compacted(0, plan, 4, outputs_of(plan)) is False


def test_where_cleanup_only_deletes_nothing_is_compacted() -> None:
    log = filled_log(evolve(COMPACT, cleanup=Cleanup.DELETE), *(batch() for _ in range(5)))
    assert log.compaction(0) is None


def test_what_is_not_acknowledged_is_not_compacted() -> None:
    log = filled_log(evolve(COMPACT, fsync=Fsync.EVERY), *(batch() for _ in range(5)))
    assert log.compaction(0) is None
    log.synced(0, token(3))
    plan = log.compaction(0)
    assert plan is not None
    assert plan.end_offset == 2


def test_an_open_transaction_keeps_its_segment_out() -> None:
    log, _ = compactable()
    plan = log.compaction(0, limit_offset=3)
    assert plan is not None
    assert plan.end_offset == 2
    assert log.compaction(0, limit_offset=1) is None


def test_a_compaction_that_could_not_get_on_is_not_tried_again_before_more_is_sealed() -> None:
    config = LogConfig(
        fsync=Fsync.NONE, cleanup=Cleanup.COMPACT, dirty_ratio=0.0, retention_ms=UNLIMITED, segment_bytes=100
    )
    log = filled_log(config, batch(), batch())
    plan = log.compaction(0)
    assert plan is not None
    outputs = [CompactionOutput(group, evolve(group[0], generation=1)) for group in plan.groups]
    log.compacted(0, plan, plan.dirty_from, outputs)  # held up by a transaction whose marker is in the active segment
    assert log.compaction(0) is None
