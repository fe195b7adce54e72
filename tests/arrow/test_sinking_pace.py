"""How long whoever keeps to a rate, or to the times of messages, is told to wait; all clocks are made here."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goqueue.spark.sinking.pace import SECOND_NS, TICK_MS, Rate, Timing

BEGUN_NS = 5 * SECOND_NS
TICK_NS = TICK_MS * 1_000_000


def sent_within(rate: Rate, costs: list[tuple[int, int]], now_ns: int = BEGUN_NS) -> int:
    """How long it takes to send batches of so many rows and bytes, if nothing but the rate takes time."""
    begun_ns = now_ns
    for rows, size in costs:
        now_ns += rate.wait_ns(now_ns, rows, size)
    return now_ns - begun_ns


def test_without_a_rate_nobody_waits() -> None:
    assert sent_within(Rate(), [(1000, 1 << 20)] * 50) == 0


@pytest.mark.parametrize(
    ("rate", "batches", "seconds"),
    [
        (Rate(rows_per_second=100), [(10, 5000)] * 101, 9),
        (Rate(bytes_per_second=1000), [(10, 500)] * 101, 49),
        (Rate(100, 1000), [(10, 500)] * 101, 49),
        (Rate(100, 1_000_000), [(10, 500)] * 101, 9),
        # Whatever is larger than a second's worth waits for as long as it takes.
        (Rate(rows_per_second=10), [(100, 1), (100, 1)], 9),
    ],
)
def test_a_rate_is_kept_but_for_the_first_second(rate: Rate, batches: list[tuple[int, int]], seconds: int) -> None:
    assert sent_within(rate, batches) == seconds * SECOND_NS


@given(st.lists(st.tuples(st.integers(1, 500), st.integers(0, 5 * SECOND_NS)), min_size=1, max_size=50))
def test_no_stretch_of_time_sees_more_than_its_share_and_one_second(events: list[tuple[int, int]]) -> None:
    rate, now_ns, begun_ns, sent = Rate(rows_per_second=100), BEGUN_NS, BEGUN_NS, 0
    for rows, idle_ns in events:
        now_ns += rate.wait_ns(now_ns, rows, 0)
        # What goes out at this moment may run ahead by itself alone.
        assert sent <= 100 * (now_ns - begun_ns) / SECOND_NS + 100 + 1
        sent += rows
        now_ns += idle_ns


def test_tasks_share_a_rate_by_what_they_have() -> None:
    rate = Rate(300, 900)
    assert [rate.share(part) for part in (2 / 3, 1 / 3)] == [Rate(200, 600), Rate(100, 300)]
    first, second = (sent_within(rate.share(part), [(10, 0)] * int(90 * part)) for part in (2 / 3, 1 / 3))
    assert abs(first - second) < SECOND_NS


def test_a_tick_is_due_as_long_after_the_first_as_it_was_then() -> None:
    timing = Timing(BEGUN_NS)
    assert [timing.wait_ns(BEGUN_NS, tick) for tick in (0, 1, 40)] == [0, TICK_NS, 2 * SECOND_NS]
    assert timing.wait_ns(BEGUN_NS - SECOND_NS, 0) == SECOND_NS
    assert timing.wait_ns(BEGUN_NS + 3 * SECOND_NS, 40) == 0


def test_what_was_there_before_sets_the_clock_on_and_never_back() -> None:
    timing = Timing(BEGUN_NS)
    timing.set_on(BEGUN_NS, 1000)
    assert timing.wait_ns(BEGUN_NS, 1001) == TICK_NS
    timing.set_on(BEGUN_NS + 3600 * SECOND_NS, 1002)
    assert timing.wait_ns(BEGUN_NS, 1001) == TICK_NS
