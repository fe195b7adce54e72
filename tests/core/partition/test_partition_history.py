"""When messages were appended: never said to be younger than they are, in proportion to their age, in bounded room."""

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goqueue.core.log.log import LogState
from goqueue.core.log.segment import Segment
from goqueue.core.log.tail import SegmentTail
from goqueue.core.partition.history import ENTRIES_MAX, SPACING_NS, History
from goqueue.core.records.batch import Lane
from goqueue.core.requests.messages import NewRecord
from tests.core.log.batches import WALL_MS, beginning, ms, settings_of
from tests.core.partition.test_partition import confirm, partition_of, publish

S = SPACING_NS
MINUTE_MS = 60_000


class Appended:
    """A history, and next to it when each message really was appended."""

    def __init__(self) -> None:
        self.history = History()
        self.now = 0
        self.times: list[int] = []

    def append(self, after_ns: int, count: int = 1) -> None:
        """Messages more, some time after the last ones."""
        self.now += after_ns
        if self.now >= self.history.due:
            self.history.note(self.now, len(self.times), 0)
            self.history.check()
        self.times += [self.now] * count

    def excess(self, offset: int) -> tuple[int, int]:
        """By how much a message is said to be too old, and how old it is."""
        age = self.now - self.times[offset]
        return self.history.age_ns(self.now, offset) - age, age


@given(st.lists(st.tuples(st.integers(0, 3 * S), st.integers(1, 3)), max_size=60))
def test_a_message_is_said_to_be_its_age_or_less_than_a_second_more(appends: list[tuple[int, int]]) -> None:
    appended = Appended()
    for after_ns, count in appends:
        appended.append(after_ns, count)
    for offset in range(len(appended.times)):
        assert 0 <= appended.excess(offset)[0] < S


def steady(random: Random) -> int:
    return random.randrange(S)


def sparse(random: Random) -> int:
    return random.randrange(10 * S, 600 * S)


def uneven(random: Random) -> int:
    return int(S * 10 ** random.uniform(-2, 4))


def bursts(random: Random) -> int:
    return 3600 * S if random.random() < 0.005 else S // 10


@pytest.mark.parametrize("pause", [steady, sparse, uneven, bursts])
def test_over_days_what_is_said_stays_within_a_fifth_of_the_age(pause: Callable[[Random], int]) -> None:
    random, appended = Random(7), Appended()
    for turn in range(4000):
        appended.append(pause(random))
        if turn % 200 == 0:
            for offset in range(0, turn, 13):
                excess, age = appended.excess(offset)
                assert 0 <= excess <= age // 5 + 2 * S


def test_after_a_quiet_day_the_next_message_is_as_old_as_it_is() -> None:
    appended = Appended()
    for _ in range(500):
        appended.append(S)
    appended.append(86_400 * S)
    for _ in range(3 * ENTRIES_MAX):
        appended.append(S)
    excess, age = appended.excess(500)
    assert (excess, age) == (0, 3 * ENTRIES_MAX * S)


def test_what_the_log_let_go_of_takes_no_room() -> None:
    history = History()
    for second in range(50):
        history.note(second * S, second * 10, 0)
    history.note(50 * S, 500, 495)
    assert history.age_ns(50 * S, 495) == S
    assert history.age_ns(50 * S, 0) == S


def test_offsets_that_are_given_anew_are_as_old_as_their_messages() -> None:
    history = History()
    history.note(0, 0, 0)
    history.note(5 * S, 10, 0)
    history.cut(10)
    assert history.age_ns(5 * S, 10) == 5 * S
    history.note(5 * S + 1, 10, 0)
    assert history.age_ns(5 * S + 1, 10) == 0


# --- what a log tells when it is opened


def opened(*segments: Segment, indexed: tuple[tuple[int, int], ...] = ()) -> History:
    """The history of a log that is opened ten minutes after WALL_MS, which is an hour after time began."""
    tail = SegmentTail(segments[-1], 4096)
    for offset, newest_ms in indexed:
        tail.times.add(newest_ms, offset, offset)
    history = History()
    history.recall(ms(60 * MINUTE_MS), WALL_MS + 10 * MINUTE_MS, LogState([*segments[:-1]], tail))
    history.check()
    return history


def ages_min(history: History, *offsets: int) -> list[float]:
    return [history.age_ns(ms(60 * MINUTE_MS), offset) / ms(MINUTE_MS) for offset in offsets]


def segment(base: int, end: int, created_min: float, newest_min: float) -> Segment:
    newest_ms, created_ms = int(newest_min * MINUTE_MS), int(created_min * MINUTE_MS)
    return Segment(base, 0, (end - base) * 100, end, WALL_MS + newest_ms, WALL_MS + created_ms)


def test_messages_from_before_the_start_are_no_older_than_their_segment() -> None:
    history = opened(segment(5, 10, -100, -90), segment(10, 20, -50, -40), segment(20, 30, 0, 8))
    assert ages_min(history, 5, 9, 10, 19, 20, 28) == [110, 110, 60, 60, 10, 10]


def test_the_last_of_them_is_as_old_as_the_newest_timestamp() -> None:
    assert ages_min(opened(segment(0, 30, 0, 8)), 28, 29) == [10, 2]


def test_the_index_of_the_last_segment_tells_what_lies_between() -> None:
    indexed = ((10, WALL_MS + 3 * MINUTE_MS), (20, WALL_MS + 6 * MINUTE_MS))
    assert ages_min(opened(segment(0, 30, 0, 8), indexed=indexed), 9, 10, 19, 20, 29) == [10, 7, 7, 4, 2]


def test_timestamps_from_long_ago_or_from_the_future_make_nothing_older_than_its_segment_or_younger_than_now() -> None:
    old, fast = ((10, WALL_MS - 1000 * MINUTE_MS),), ((10, WALL_MS + 1000 * MINUTE_MS),)
    assert ages_min(opened(segment(0, 30, 0, -1000), indexed=old), 0, 10, 29) == [10, 10, 10]
    assert ages_min(opened(segment(0, 30, 0, 1000), indexed=fast), 9, 10, 29) == [10, 0, 0]


def test_a_log_of_many_segments_and_a_long_index_leaves_room() -> None:
    segments = [segment(at, at + 1, at / 100, at / 100) for at in range(500)]
    indexed = tuple((499 + at, WALL_MS + 5 * MINUTE_MS + at) for at in range(255))
    history = opened(*segments, segment(499, 999, 5, 9), indexed=indexed)
    [oldest] = ages_min(history, 0)
    assert oldest == 10
    for at in range(1000):
        history.note(ms(60 * MINUTE_MS) + at * S, 999 + at, 0)
        history.check()


def test_an_empty_log_tells_nothing_and_its_first_message_is_young() -> None:
    history = History()
    history.recall(ms(5000), WALL_MS, beginning(settings_of()))
    history.note(ms(5000), 0, 0)
    assert history.age_ns(ms(6000), 0) == ms(1000)


# --- fed by a partition


def test_a_partition_notes_what_it_appends_and_that_no_more_than_once_a_second() -> None:
    partition = partition_of()
    for at_ms in (0, 400, 900, 1200, 5000):
        publish(partition, NewRecord(None, b"v", lane=Lane.NORMAL))
        confirm(partition, partition.take(ms(at_ms)))
    partition.take(ms(9000))
    partition.check()
    assert [partition.history.age_ns(ms(9000), offset) // ms(1) for offset in range(5)] == [
        9000,
        9000,
        9000,
        7800,
        4000,
    ]


def test_what_a_failed_disk_lost_is_forgotten() -> None:
    partition = partition_of()
    for at_ms in (0, 2000):
        publish(partition, NewRecord(None, b"v", lane=Lane.NORMAL))
        confirm(partition, partition.take(ms(at_ms)))
    partition.disk_failed(ms(3000), "gone")
    partition.reopened(ms(4000), beginning(settings_of()))
    partition.check()
    publish(partition, NewRecord(None, b"v", lane=Lane.NORMAL))
    partition.take(ms(5000))
    assert partition.history.age_ns(ms(6000), 0) == ms(1000)
