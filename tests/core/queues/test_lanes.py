"""The index of lanes, the shares of lanes, and what a queue makes of both."""

from itertools import groupby
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goqueue.core.cluster.queue_settings import WorkSettings
from goqueue.core.partition.lanes import LaneIndex
from goqueue.core.queues.plan import Offers
from goqueue.core.queues.shares import PRECEDENCE, Shares
from goqueue.core.records.batch import Lane, read_header
from goqueue.core.records.build import encode
from goqueue.core.requests.queues import ReceiptRun
from tests.core.queues.worked import MS, Worked, attempts

CRITICAL, HIGH, NORMAL, LOW, BACKGROUND = PRECEDENCE
WEIGHTS = (50, 25, 15, 7, 3)
S = 1_000 * MS


def laned(settings: WorkSettings | None = None, runs_max: int = 1 << 18) -> Worked:
    """A queue with an index of lanes, and a member that may have everything."""
    return Worked(settings or WorkSettings(max_in_flight=1 << 30), index=LaneIndex(0, runs_max))


def given_to(worked: Worked, count: int) -> list[int]:
    """The offsets that a member is given, in the order of delivery."""
    grant = worked.poll("a", count)
    return [] if grant is None else [*attempts(grant)]


# --- the index


@given(
    st.lists(st.tuples(st.integers(1, 20), st.integers(0, 4)), max_size=40), st.integers(0, 100), st.integers(0, 400)
)
def test_the_index_agrees_with_a_list_of_lanes(batches: list[tuple[int, int]], begin: int, start: int) -> None:
    index, lanes = LaneIndex(begin), [0] * begin
    for count, lane in batches:
        index.add_run(len(lanes), len(lanes) + count, lane)
        lanes += [lane] * count
    index.check()
    start = begin + start
    assert index.upto == len(lanes)
    for lane in range(5):
        wanted = [offset for offset in range(start, len(lanes)) if lanes[offset] == lane]
        assert index.count(lane, start) == len(wanted)
        assert [offset for run in index.runs_in(lane, start) for offset in range(*run)] == wanted
    assert index.has_any(start, len(lanes)) == any(lanes[start:])
    assert all(set(lanes[first:end]) == {lane} for first, end, lane in index.runs(start, start + 30))
    index.trim(start)
    index.check()
    assert [offset for run in index.runs_in(2, start) for offset in range(*run)] == [
        offset for offset in range(start, len(lanes)) if lanes[offset] == 2
    ]


def test_the_index_is_filled_from_batches_and_takes_none_twice() -> None:
    index, log = LaneIndex(), b""
    for number, lane in enumerate([Lane.NORMAL, Lane.HIGH, Lane.HIGH, Lane.NORMAL, Lane.LOW]):
        batch = encode([(0, None, b"x", ())] * 10, lane=lane)
        batch[:8] = (10 * number).to_bytes(8, "big")
        log += bytes(batch)
    index.add_batches(log, 7 * S)
    index.add_batches(log, 7 * S)
    index.add(read_header(log))
    assert (len(index), index.upto) == (2, 50)
    assert [*index.runs(0, 50)] == [(10, 30, Lane.HIGH), (40, 50, Lane.LOW)]
    rates = index.flow.came.rates(7 * S)
    assert rates[Lane.NORMAL] == rates[Lane.HIGH] == 2 * rates[Lane.LOW] > 0


def test_beyond_its_bound_the_index_forgets_what_is_oldest() -> None:
    index = LaneIndex(0, 8)
    for number in range(100):
        index.add_run(10 * number, 10 * number + 10, 1 + number % 2)
        index.check()
    assert len(index) <= 8
    assert index.begin >= 10 * (100 - 9)
    assert index.upto == 1_000


def test_what_the_index_skipped_is_delivered_in_order_of_the_log_before_all_else() -> None:
    worked = laned()
    index = worked.index
    assert index is not None
    index.skip_to(10)
    index.skip_to(5)
    index.check()
    worked.publish(10)
    worked.lanes = [NORMAL] * 10
    worked.publish_in(CRITICAL, 2)
    assert given_to(worked, 20) == [*range(10)]
    assert given_to(worked, 20) == [10, 11]


# --- shares


@given(st.lists(st.integers(1, 230), min_size=1, max_size=60), st.permutations(WEIGHTS))
def test_lanes_that_always_have_something_get_their_shares(counts: list[int], weights: list[int]) -> None:
    shares = Shares(tuple(weights), 30 * S)
    served = [0] * 5
    for count in counts:
        looked = shares.look(0, [1_000] * 5, count)
        assert sum(taken for _, taken in looked) == count
        for lane, taken in looked:
            shares.charge(0, lane, taken)
            served[lane] += taken
        shares.check()
    for place, lane in enumerate(PRECEDENCE):
        exact = sum(counts) * weights[place] / sum(weights)
        assert abs(served[lane] - exact) <= weights[place]


@given(st.lists(st.integers(1, 300), min_size=1, max_size=20), st.integers(0, 4))
def test_a_lane_alone_gets_everything(counts: list[int], lane: int) -> None:
    shares = Shares(WEIGHTS, 30 * S)
    ready = [0] * 5
    ready[lane] = 1_000
    for count in counts:
        assert shares.look(0, ready, count) == [(lane, count)]
        shares.charge(0, lane, count)
        shares.check()


def test_what_was_looked_at_and_not_delivered_is_not_charged() -> None:
    shares = Shares(WEIGHTS, 30 * S)
    full = [1_000] * 5
    assert shares.look(0, full, 60) == shares.look(0, full, 60) == [(CRITICAL, 50), (HIGH, 10)]
    shares.charge(0, CRITICAL, 20)
    assert shares.look(0, full, 60) == [(CRITICAL, 30), (HIGH, 25), (NORMAL, 5)]


def test_a_lane_that_starved_goes_first_once_and_pays_nothing() -> None:
    shares = Shares((1_000, 1_000, 1_000, 1_000, 2), 30 * S)
    full = [10_000] * 5
    shares.look(0, full, 1)
    shares.charge(29 * S, CRITICAL, 1)
    for lane in (HIGH, NORMAL, LOW):
        shares._since[lane] = 29 * S
    assert shares.look(30 * S - 1, full, 5) == [(CRITICAL, 5)]
    assert shares.look(30 * S, full, 5) == [(BACKGROUND, 2), (CRITICAL, 3)]
    shares.charge(30 * S, BACKGROUND, 2)
    assert shares.look(30 * S, full, 5) == [(CRITICAL, 5)]


# --- the queue


def test_a_lane_of_precedence_is_given_first_and_the_others_in_order() -> None:
    worked = laned()
    for lane in (NORMAL, LOW, CRITICAL, NORMAL, CRITICAL):
        worked.publish_in(lane, 2)
    assert given_to(worked, 20) == [4, 5, 8, 9, 0, 1, 6, 7, 2, 3]
    assert worked.poll("a", 5) is None


def test_a_critical_message_behind_millions_costs_little_and_loses_none_of_them() -> None:
    worked = laned()
    worked.publish_in(NORMAL, 3_000_000)
    worked.publish_in(CRITICAL, 1)
    assert given_to(worked, 1) == [3_000_000]
    window = worked.queue.ledger.window
    assert len({id(page) for page in window.pages.values()}) <= 3
    assert sum(map(len, worked.queue.take())) < 1_000
    assert len(worked.queue.snapshot(0)) < 30_000
    assert worked.queue.lane_counts()[NORMAL] == (3_000_000, 0)
    assert given_to(worked, 5) == [0, 1, 2, 3, 4]


def test_a_retry_goes_before_what_comes_later_in_its_lane() -> None:
    worked = laned()
    worked.publish_in(NORMAL, 4)
    worked.publish_in(HIGH, 4)
    grant = worked.poll("a", 3)
    assert grant is not None
    assert [*attempts(grant)] == [4, 5, 6]
    worked.queue.nack(0, [ReceiptRun(grant.runs[0].stem, 5)], 0)
    again = worked.poll("a", 4)
    assert again is not None
    assert [*attempts(again).items()] == [(5, 2), (7, 1), (0, 1), (1, 1)]


def test_nothing_is_delivered_that_the_index_does_not_know_yet() -> None:
    worked = laned()
    worked.publish(10)
    assert worked.poll("a", 10) is None
    assert worked.index is not None
    worked.index.add_run(0, 6, NORMAL)
    assert given_to(worked, 10) == [0, 1, 2, 3, 4, 5]
    assert worked.queue.wanted(0, "a", 10) == []


def test_a_queue_ordered_by_key_goes_by_the_log() -> None:
    worked = laned(WorkSettings(key_ordered=True))
    worked.publish_in(NORMAL, 3)
    worked.publish_in(CRITICAL, 3)
    assert given_to(worked, 4) == [0, 1, 2, 3]


def test_a_queue_behind_what_the_index_forgot_goes_by_the_log_until_it_has_caught_up() -> None:
    worked = laned(runs_max=4)
    for number in range(20):
        worked.publish_in(CRITICAL if number % 2 else LOW, 2)
    assert worked.index is not None
    begin = worked.index.begin
    assert begin > 20
    assert given_to(worked, begin) == [*range(begin)]
    rest = [offset for lane in (LOW, CRITICAL) for offset in range(begin, 40) if worked.lanes[offset] == lane]
    assert given_to(worked, len(rest)) == rest


def test_lanes_outlive_a_restart_with_all_that_was_looked_at() -> None:
    worked = laned()
    rng = Random(3)
    for _ in range(200):
        worked.publish_in(rng.randrange(5), rng.randrange(1, 9))
    first = given_to(worked, 300)
    worked.flush()
    counts = worked.queue.lane_counts()
    worked.restart()
    assert worked.queue.lane_counts() == counts
    worked.journal = [worked.queue.snapshot(worked.now)]
    worked.restart()
    assert worked.queue.lane_counts() == counts
    rest = given_to(worked, len(worked.keys))
    assert sorted(first + rest) == [*range(len(worked.keys))]
    for lane in range(5):
        offsets = [offset for offset in rest if worked.lanes[offset] == lane]
        assert offsets == sorted(offsets)


def test_shares_are_kept_over_many_polls_of_full_lanes() -> None:
    worked = laned()
    rng = Random(5)
    for _ in range(2_000):
        worked.publish_in(rng.randrange(5), rng.randrange(1, 20))
    served = [0] * 5
    while sum(served) < 2_000:
        for offset in given_to(worked, rng.randrange(1, 250)):
            served[worked.lanes[offset]] += 1
    for place, lane in enumerate(PRECEDENCE):
        assert abs(served[lane] - sum(served) * WEIGHTS[place] / 100) <= WEIGHTS[place]


def test_lanes_are_counted_and_their_waits_and_rates_measured() -> None:
    worked = laned()
    worked.publish_in(HIGH, 10)
    worked.publish_in(NORMAL, 10)
    stamps = [(0, 5, worked.wall_ms - 300), (5, 10, worked.wall_ms - 100), (10, 20, worked.wall_ms + 50)]
    worked.queue.lease(0, "a", Offers([(0, 10), (10, 12)], range(12), stamps=stamps))
    assert worked.queue.lane_counts() == [(8, 2), (0, 0), (0, 10), (0, 0), (0, 0)]
    assert worked.index is not None
    flow = worked.index.flow
    assert flow.waits_ms(0)[HIGH] == pytest.approx(200)
    assert flow.waits_ms(0)[NORMAL] == 0
    went = flow.went.rates(0)
    assert went[HIGH] == pytest.approx(5 * went[NORMAL])
    assert sum(flow.went.rates(3_600 * S)) < 1e-9


def test_a_change_of_weights_takes_effect_at_the_next_poll() -> None:
    worked = laned()
    worked.publish_in(NORMAL, 500)
    worked.publish_in(LOW, 500)
    worked.queue.configure(WorkSettings(max_in_flight=1_000, lane_weights=(1, 1, 1, 99, 1)))
    found = [worked.lanes[offset] for offset in given_to(worked, 100)]
    assert [(lane, len([*group])) for lane, group in groupby(found)] == [(NORMAL, 1), (LOW, 99)]
