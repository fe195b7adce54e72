"""Alarms: each key comes up at its last set time, once."""

from hypothesis import given
from hypothesis import strategies as st

from goqueue.core.timers.alarms import Alarms

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("set"), st.integers(0, 20), st.integers(0, 100)),
        st.tuples(st.just("drop"), st.integers(0, 20), st.just(0)),
        st.tuples(st.just("pass"), st.integers(0, 30), st.just(0)),
    ),
    max_size=400,
)


@given(STEPS)
def test_alarms_agree_with_a_sorted_dict(steps: list[tuple[str, int, int]]) -> None:
    alarms: Alarms[int] = Alarms()
    model: dict[int, int] = {}
    now = 0
    for verb, what, delay in steps:
        if verb == "set":
            alarms.set(what, now + delay)
            model[what] = now + delay
        elif verb == "drop":
            alarms.drop(what)
            model.pop(what, None)
        else:
            now += what
            come = alarms.due(now)
            assert sorted(come) == sorted(key for key, due in model.items() if due <= now)
            assert [model[key] for key in come] == sorted(model[key] for key in come)
            model = {key: due for key, due in model.items() if due > now}
        alarms.check()
        assert alarms.deadline() == min(model.values(), default=None)
        assert len(alarms) == len(model)
        assert all(key in alarms for key in model)


def test_a_key_set_over_and_over_takes_no_more_memory_than_the_bound() -> None:
    alarms: Alarms[str] = Alarms()
    for due in range(10_000):
        alarms.set("one", due)
        alarms.check()
    assert alarms.due(10_000) == ["one"]
    assert alarms.due(20_000) == []


def test_a_key_set_to_the_time_it_had_before_it_was_moved_comes_up_once() -> None:
    alarms: Alarms[str] = Alarms()
    alarms.set("a", 5)
    alarms.set("a", 9)
    alarms.set("a", 5)
    assert alarms.due(5) == ["a"]
    assert alarms.due(9) == []


def test_what_is_dropped_and_never_set_again_leaves_nothing_behind() -> None:
    alarms = Alarms[int]()
    for key in range(1_000):
        alarms.set(key, key)
        alarms.check()
    for key in range(1_000):
        alarms.drop(key)
        alarms.check()
    assert alarms.deadline() is None


def test_leftovers_are_bounded_however_they_come_about() -> None:
    alarms: Alarms[int] = Alarms()
    for due in range(200):
        alarms.set(1, 1_000 + due)
        alarms.drop(1)
        alarms.check()
    for key in range(10):
        alarms.set(key, key)
        alarms.set(100 + key, 2_000)
        alarms.drop(100 + key)
    assert alarms.due(9) == [*range(10)]
    alarms.check()
