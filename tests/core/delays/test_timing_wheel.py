"""The timing wheel: each key comes up at the tick of its last set time, once, whatever else happens meanwhile."""

from heapq import heappop, heappush
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goqueue.core.timers.wheel import TICK_NS, Wheel

MS = TICK_NS
YEAR_MS = 365 * 24 * 3_600_000

# Within a tick, a bucket of each of the first levels, and far beyond.
SPANS = st.one_of(
    st.integers(-5 * MS, 5 * MS),
    st.integers(0, 3_000 * MS),
    st.integers(0, 5_000_000 * MS),
    st.integers(0, 300 * YEAR_MS * MS),
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("set"), st.integers(0, 20), SPANS),
        st.tuples(st.just("drop"), st.integers(0, 20), st.just(0)),
        st.tuples(st.just("pass"), st.integers(1, 30), SPANS.map(abs)),
    ),
    max_size=300,
)


def tick(due: int) -> int:
    """The first tick at or after a time."""
    return -(-due // MS)


@given(STEPS, st.sampled_from([0, 1, 1_023 * MS, 17 * YEAR_MS * MS]))
def test_the_wheel_agrees_with_a_sorted_dict(steps: list[tuple[str, int, int]], start: int) -> None:
    now = start
    wheel: Wheel[int] = Wheel(now)
    model: dict[int, int] = {}
    for verb, what, span in steps:
        if verb == "set":
            wheel.set(what, now + span)
            model[what] = tick(now + span)
        elif verb == "drop":
            wheel.drop(what)
            model.pop(what, None)
        else:
            now += span
            due = sorted(at for at in model.values() if at <= now // MS)
            come = wheel.due(now)
            assert [model.pop(key) for key in come] == due
            assert all(at > now // MS for at in model.values())
        wheel.check()
        assert len(wheel) == len(model)
        assert all(wheel.time(key) == at * MS for key, at in model.items())
        deadline = wheel.deadline()
        assert (deadline is None) == (not model)
        assert deadline is None or deadline <= max(min(model.values()) * MS, now)


@given(STEPS)
def test_whoever_sleeps_until_the_deadline_misses_nothing_and_makes_progress(steps: list[tuple[str, int, int]]) -> None:
    now = 0
    wheel: Wheel[int] = Wheel()
    model: dict[int, int] = {}
    for _, what, span in steps:
        wheel.set(what, now + span)
        model[what] = max(tick(now + span), tick(now))
        if what % 4 == 0 and (due := wheel.deadline()) is not None:
            now = max(now, due)
            for key in wheel.due(now):
                assert model.pop(key) <= now // MS
        assert all(at >= now // MS for at in model.values())
    looks = 0
    while (due := wheel.deadline()) is not None:
        now = max(now, due)
        for key in wheel.due(now):
            assert model.pop(key) * MS in (now, tick(now) * MS)
        looks += 1
    assert not model
    assert looks <= 7 * (len(steps) + 1)


@given(st.lists(st.tuples(st.integers(0, 1 << 45), st.integers(0, 3)), max_size=200), st.integers(1, 7))
def test_parts_come_in_the_order_of_a_heap(timers: list[tuple[int, int]], count: int) -> None:
    wheel: Wheel[int] = Wheel()
    heap: list[tuple[int, int]] = []
    for key, (due, fate) in enumerate(timers):
        wheel.set(key, due)
        if fate == 0:
            wheel.drop(key)
        else:
            heappush(heap, (tick(due), key))
    while heap:
        come = wheel.due(1 << 46, count)
        assert 0 < len(come) <= count
        # Keys of one tick come in the order in which they were set, unless a sweep came between.
        assert come == [heappop(heap)[1] for _ in come]
    assert wheel.due(1 << 46) == []


# --- the traps


def test_a_timer_shorter_than_a_tick_comes_with_the_next_look_and_not_a_revolution_later() -> None:
    wheel: Wheel[str] = Wheel()
    now = 5 * MS + 300
    assert wheel.due(now) == []
    wheel.set("past", 5 * MS - 200)
    wheel.set("drained", 5 * MS)
    wheel.set("soon", now + 10)
    assert wheel.deadline() == 5 * MS
    assert wheel.due(now) == ["past", "drained"]
    assert "soon" in wheel
    assert wheel.deadline() == 6 * MS
    assert wheel.due(6 * MS - 1) == []
    assert wheel.due(6 * MS) == ["soon"]


@pytest.mark.parametrize("span", [1, 1_023, 1_024, 1_025, 1 << 20, (1 << 20) + 1, 1 << 30, 1 << 50])
@pytest.mark.parametrize("start", [0, 1_023, 1_024, (1 << 20) - 1, (1 << 30) - 1])
def test_a_timer_at_the_seam_of_two_levels_comes_at_its_tick(start: int, span: int) -> None:
    wheel: Wheel[str] = Wheel(start * MS)
    wheel.set("it", (start + span) * MS)
    assert wheel.due((start + span) * MS - 1) == []
    assert wheel.due((start + span) * MS) == ["it"]
    assert wheel.deadline() is None


def test_dropping_keys_of_a_bucket_that_is_being_handed_over_loses_none_of_the_others() -> None:
    wheel: Wheel[int] = Wheel()
    for key in range(1_000):
        wheel.set(key, 7 * MS)
    come = wheel.due(7 * MS, 10)
    for key in range(0, 1_000, 3):
        wheel.drop(key)
    wheel.check()
    wheel.set(500, 9 * MS)
    while part := wheel.due(7 * MS, 10):
        come += part
        wheel.check()
    assert come == [*range(10), *(key for key in range(10, 1_000) if key % 3 and key != 500)]
    assert wheel.due(9 * MS) == [500]


def test_what_is_set_while_a_bucket_is_handed_over_comes_in_its_turn_among_the_others() -> None:
    wheel: Wheel[int] = Wheel()
    for at in range(0, 60_000, 10):
        wheel.set(at, (70_000 + at) * MS)
    assert wheel.due(70_000 * MS) == [0]
    # A second ahead in the same minute, within the same second, and at a tick that is taken already.
    wheel.set(1_005, 71_005 * MS)
    wheel.set(3, 70_003 * MS)
    wheel.set(11, 70_010 * MS)
    wheel.check()
    assert wheel.deadline() == 70_003 * MS
    assert wheel.due(70_010 * MS) == [3, 10, 11]
    assert wheel.due(71_020 * MS) == [*range(20, 1_010, 10), 1_005, 1_010, 1_020]
    assert wheel.due(200_000 * MS) == [*range(1_030, 60_000, 10)]
    assert wheel.deadline() is None


def test_a_wheel_that_slept_for_days_keeps_its_times() -> None:
    wheel: Wheel[str] = Wheel()
    now = 60 * 24 * 3_600_000
    wheel.set("soon", (now + 5) * MS)
    wheel.set("later", (now + 30_000) * MS)
    assert wheel.due(now * MS) == []
    wheel.set("between", (now + 7) * MS)
    wheel.check()
    assert wheel.due((now + 6) * MS) == ["soon"]
    assert wheel.due((now + 29_999) * MS) == ["between"]
    assert wheel.due((now + 30_000) * MS) == ["later"]


def test_a_bucket_of_leftovers_is_dropped_when_it_is_looked_at() -> None:
    wheel: Wheel[int] = Wheel()
    for key in range(100):
        wheel.set(key, 5 * 3_600_000 * MS)
        wheel.set(-1 - key, 9 * 3_600_000 * MS)
    for key in range(100):
        wheel.drop(key)
    first = wheel.deadline()
    assert first is not None
    assert first > 8 * 3_600_000 * MS
    wheel.check()


def test_a_key_set_again_while_its_bucket_is_handed_over_comes_once_more_and_only_once() -> None:
    wheel: Wheel[str] = Wheel()
    for key in "abc":
        wheel.set(key, MS)
    assert wheel.due(MS, 1) == ["a"]
    wheel.set("a", MS)
    wheel.drop("b")
    wheel.set("b", MS)
    assert sorted(wheel.due(MS)) == ["a", "b", "c"]
    assert wheel.due(2 * MS) == []


def test_a_bucket_that_came_up_is_due_though_the_clock_goes_back() -> None:
    wheel: Wheel[int] = Wheel()
    for key in range(4):
        wheel.set(key, 50 * MS)
    assert wheel.due(50 * MS, 2) == [0, 1]
    assert wheel.deadline() == 50 * MS
    assert wheel.due(49 * MS) == [2, 3]


def test_a_million_overdue_are_sorted_and_handed_over_in_parts() -> None:
    random = Random(1)
    start = 30 * YEAR_MS
    dues = [start - random.randrange(YEAR_MS) for _ in range(20_000)]
    for wheel in (Wheel[int](), Wheel[int](start * MS)):
        for key, due in enumerate(dues):
            wheel.set(key, due * MS)
        come: list[int] = []
        while part := wheel.due(start * MS, 1_000):
            assert len(part) == 1_000
            come += part
        assert come == sorted(range(len(dues)), key=dues.__getitem__)


def test_a_burst_of_one_instant_comes_in_parts_and_the_deadline_says_that_there_is_more() -> None:
    wheel: Wheel[int] = Wheel()
    for key in range(100_000):
        wheel.set(key, 10_000 * MS)
    parts = 0
    now = 10_000 * MS
    while (deadline := wheel.deadline()) is not None:
        assert parts == 0 or deadline <= now
        parts += len(wheel.due(now, 4_096)) > 0
    assert parts == 25


# --- bounds


def test_a_key_set_over_and_over_takes_no_more_memory_than_the_bound() -> None:
    wheel: Wheel[str] = Wheel()
    for due in range(10_000):
        wheel.set("one", due * MS)
        wheel.check()
    assert wheel.due(10_000 * MS) == ["one"]
    assert wheel.due(20_000 * MS) == []


def test_keys_that_come_up_leave_no_more_behind_than_the_bound() -> None:
    wheel: Wheel[int] = Wheel()
    for key in range(40):
        for minute in (9, 8, 7):
            wheel.set(key, minute * 60_000 * MS)
        wheel.set(key, 5 * MS)
    wheel.set(40, 6 * MS)
    assert wheel.due(5 * MS) == [*range(40)]
    wheel.check()
    assert wheel.due(6 * MS) == [40]
    wheel.check()
    assert wheel.deadline() is None


def test_dropping_everything_leaves_next_to_nothing_behind() -> None:
    wheel: Wheel[int] = Wheel()
    for key in range(10_000):
        wheel.set(key, key * 1_000 * MS)
    for key in range(10_000):
        wheel.drop(key)
    wheel.check()
    assert wheel.deadline() is None
    assert len(wheel) == 0


def test_a_time_that_no_clock_will_show_is_a_broken_contract() -> None:
    wheel: Wheel[str] = Wheel()
    wheel.set("never", (1 << 70) * MS - MS)
    with pytest.raises(AssertionError):
        wheel.set("beyond", (1 << 70) * MS)
