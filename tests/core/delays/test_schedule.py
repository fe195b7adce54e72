"""What a schedule knows follows from its records: live, read again from the start, and from a summary on."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goqueue.core.delays.records import (
    Cancelled,
    ControlRecord,
    Intended,
    Rescheduled,
    SummaryBegun,
    SummaryPart,
    Withdrawn,
    encode_control,
    mark_of,
    read_control,
)
from goqueue.core.delays.schedule import Move, Schedule
from goqueue.core.errors import BatchError
from goqueue.core.records.batch import Lane, read_header
from goqueue.core.records.build import encode
from goqueue.core.records.record import Record, iterate
from goqueue.core.records.varint import INT32_MAX

NORMAL, HIGH, LOW = Lane.NORMAL, Lane.HIGH, Lane.LOW


def with_messages(*dues: int, moved: int | None = None) -> Schedule:
    """Messages at offsets from 0 on, due at these times."""
    schedule = Schedule(moved)
    for offset, due_ms in enumerate(dues):
        schedule.add(offset, due_ms, NORMAL)
    return schedule


def pending(schedule: Schedule) -> list[tuple[int, int]]:
    schedule.check()
    return list(schedule.since(0, 0))


def intend(schedule: Schedule, ripe_ms: int, until_ms: int, count: int = 100) -> list[int]:
    """Plan moves and apply them; the offsets in their order."""
    plan = schedule.plan_moves(ripe_ms, until_ms, count)
    if plan is None:
        return []
    schedule.apply(plan)
    schedule.check()
    return plan.offsets


def test_messages_are_in_order_of_their_times_and_then_of_their_offsets() -> None:
    assert pending(with_messages(30, 10, 30, 20)) == [(10, 1), (20, 3), (30, 0), (30, 2)]


def test_only_what_is_due_by_then_is_intended_and_no_more_than_asked_for() -> None:
    schedule = with_messages(30, 10, 40, 20)
    assert intend(schedule, 0, 9) == []
    assert intend(schedule, 0, 30, 2) == [1, 3]
    assert intend(schedule, 0, 30) == [0]
    assert pending(schedule) == [(40, 2)]
    assert [move.sequence for move in schedule.moves] == [0, 1, 2]


def test_of_what_is_due_at_once_a_lane_stands_together_and_of_the_rest_only_where_times_are_equal() -> None:
    schedule = Schedule()
    for offset, (due_ms, lane) in enumerate([(1, HIGH), (2, NORMAL), (3, HIGH), (9, HIGH), (9, NORMAL), (8, HIGH)]):
        schedule.add(offset, due_ms, lane)
    assert intend(schedule, 5, 10) == [1, 0, 2, 5, 4, 3]


def test_a_cancelled_message_is_neither_pending_nor_moved() -> None:
    schedule = with_messages(10, 20)
    schedule.apply(Cancelled(0))
    assert 0 not in schedule
    assert intend(schedule, 0, 100) == [1]


def test_a_message_that_is_put_off_keeps_its_lane_and_comes_at_its_other_time() -> None:
    schedule = Schedule()
    schedule.add(0, 10, LOW)
    schedule.add(1, 20, NORMAL)
    schedule.apply(Rescheduled(0, 30))
    assert pending(schedule) == [(20, 1), (30, 0)]
    assert schedule.message(0) == (30, LOW)


@pytest.mark.parametrize("record", [Cancelled(7), Rescheduled(7, 1)])
def test_a_record_of_a_message_that_went_changes_nothing(record: ControlRecord) -> None:
    schedule = with_messages(10)
    schedule.apply(record)
    assert pending(schedule) == [(10, 0)]


def test_a_move_of_a_message_that_is_not_known_is_made_all_the_same() -> None:
    schedule = Schedule()
    schedule.apply(Intended(5, -1, [7], [mark_of(10, HIGH)]))
    assert list(schedule.moves) == [Move(5, 7, 10, HIGH)]
    assert schedule.next_sequence == 6


@pytest.mark.parametrize(("moved", "left"), [(None, [0, 1, 2, 3]), (0, [1, 2, 3]), (1, [2, 3]), (3, []), (9, [])])
def test_moves_that_the_data_has_are_not_made_again(moved: int | None, left: list[int]) -> None:
    live = with_messages(1, 2, 3, 4)
    first = live.plan_moves(0, 2, 10)
    assert first is not None
    live.apply(first)
    second = live.plan_moves(0, 9, 10)
    assert second is not None
    again = with_messages(1, 2, 3, 4, moved=moved)
    for record in (first, second):
        again.apply(record)
    assert [move.offset for move in again.moves] == left
    assert pending(again) == []
    assert again.next_sequence == max(4, -1 if moved is None else moved + 1)


def test_numbers_go_on_behind_the_last_one_that_the_data_has() -> None:
    schedule = with_messages(1, moved=41)
    intend(schedule, 0, 1)
    assert schedule.moves[0].sequence == 42


def test_numbers_go_round_a_ring() -> None:
    schedule = with_messages(1, 1, 1, moved=INT32_MAX - 1)
    intend(schedule, 0, 1)
    assert [move.sequence for move in schedule.moves] == [INT32_MAX, 0, 1]
    again = with_messages(1, 1, 1, moved=0)
    again.apply(Intended(INT32_MAX, -1, [0, 1, 2], [mark_of(1, NORMAL)] * 3))
    assert [move.offset for move in again.moves] == [2]


def test_what_the_data_keeps_for_certain_is_forgotten() -> None:
    schedule = with_messages(1, 2, 3)
    intend(schedule, 0, 3)
    schedule.settle(2)
    assert [move.offset for move in schedule.moves] == [2]


def test_moves_that_were_certain_once_are_not_made_again_though_the_data_has_forgotten_them() -> None:
    live = with_messages(1, 2, 3, 40, 50)
    records = []
    for until_ms in (2, 3, 40):
        plan = live.plan_moves(0, until_ms, 10)
        assert plan is not None
        records.append(plan)
        live.apply(plan)
        live.settle(len(live.moves))
    again = with_messages(1, 2, 3, 40, 50, moved=None)
    for record in records:
        again.apply(record)
    assert [(move.sequence, move.offset) for move in again.moves] == [(3, 3)]
    assert again.next_sequence == 4


def test_withdrawn_moves_wait_again_and_are_numbered_anew() -> None:
    live = with_messages(1, 2, 3, 4)
    first = live.plan_moves(0, 4, 10)
    assert first is not None
    live.apply(first)
    live.settle(1)
    back = live.plan_withdrawal(2)
    live.apply(back)
    assert [move.offset for move in live.moves] == [1]
    assert pending(live) == [(3, 2), (4, 3)]
    second = live.plan_moves(0, 3, 10)
    assert second is not None
    live.apply(second)
    assert second.first_sequence == 2
    for moved, left in ((0, [1, 2]), (1, [2]), (2, [])):
        again = with_messages(1, 2, 3, 4, moved=moved)
        for record in (first, back, second):
            again.apply(record)
        assert [move.offset for move in again.moves] == left
        assert pending(again) == [(4, 3)]
        assert again.next_sequence == 3


def test_what_is_withdrawn_while_a_summary_is_written_stands_in_it_once() -> None:
    live = with_messages(10, 20, 30)
    intend(live, 0, 20)
    begun = live.plan_summary(7, 3, 1)
    back = live.plan_withdrawal(1)
    live.apply(back)
    part = live.plan_part(7, [0, 1, 2])
    again = Schedule()
    again.begin(begun)
    again.apply(back)
    again.apply(part)
    assert pending(again) == pending(live) == [(20, 1), (30, 2)]
    assert again.moves == live.moves


def test_a_summary_says_what_is_pending_and_on_its_way() -> None:
    live = with_messages(50, 10, 30, 20)
    intend(live, 0, 10)
    begun = live.plan_summary(9, 4, 2)
    first = live.plan_part(9, [0, 1])
    live.apply(Rescheduled(0, 60))
    live.apply(Cancelled(2))
    second = live.plan_part(9, [2, 3])
    again = Schedule()
    again.begin(begun)
    for record in (first, Rescheduled(0, 60), Cancelled(2), second):
        assert again.parts_missing
        again.apply(record)
    assert not again.parts_missing
    assert pending(again) == pending(live) == [(20, 3), (60, 0)]
    assert again.moves == live.moves
    assert again.next_sequence == live.next_sequence


def test_parts_of_another_summary_are_passed_over() -> None:
    schedule = with_messages(10)
    schedule.apply(SummaryPart(3, [0], [mark_of(10, NORMAL)]))
    schedule.apply(SummaryBegun(3, 0, 1, [], [], []))
    assert pending(schedule) == [(10, 0)]
    assert not schedule.parts_missing


offsets = st.integers(0, (1 << 63) - 1)
sequences = st.integers(0, INT32_MAX)
marks = st.builds(mark_of, st.integers(0, 253_402_300_799_999), st.sampled_from(Lane))
moves = st.lists(st.tuples(sequences, offsets, marks))


@given(
    record=st.one_of(
        st.builds(Cancelled, offsets),
        st.builds(Rescheduled, offsets, st.integers(0, 253_402_300_799_999)),
        st.builds(lambda first, rows: Intended(first, 7, *columns(rows, 3)[1:]), sequences, moves),
        st.builds(lambda rows: Withdrawn(*columns(rows, 3)[1:]), moves),
        st.builds(lambda *head, rows: SummaryBegun(*head, *columns(rows, 3)), offsets, offsets, offsets, rows=moves),
        st.builds(lambda number, rows: SummaryPart(number, *columns(rows, 3)[1:]), offsets, moves),
    )
)
@settings(deadline=None)
def test_every_record_is_read_as_it_was_written(record: ControlRecord) -> None:
    batch = encode_control(record, 1)
    assert read_header(batch).is_control
    [read] = [read_control(one) for one in iterate(batch)]
    assert read == record


def columns(rows: list[tuple[int, ...]], count: int) -> list[list[int]]:
    return [[row[at] for row in rows] for at in range(count)]


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        (b"\0\0\0", b"", "no control record's size"),
        (b"\0\0\0\0", b"\0" * 7, "no control record's size"),
        (b"\0\1\0\0", b"\0" * 8, "version 1"),
        (b"\0\0\0\0", b"\0" * 16, "kind 0"),
        (b"\0\0\0\1", b"\0" * 8, "kind 1"),
        (b"\0\0\0\2", b"\0" * 24, "kind 2"),
        (b"\0\0\0\3", b"\0" * 32, "kind 3"),
        (b"\0\0\0\4", b"\0" * 16, "kind 4"),
        (b"\0\0\0\5", b"\0" * 8, "kind 5"),
        (b"\0\0\0\6", b"\0" * 8, "kind 6"),
        (None, None, "no control record's size"),
    ],
)
def test_what_is_no_control_record_is_refused(key: bytes | None, value: bytes | None, said: str) -> None:
    with pytest.raises(BatchError, match=said):
        read_control(Record(3, 0, key, value))


def test_a_message_is_no_control_record() -> None:
    [record] = iterate(encode([(0, b"key", b"value", ())]))
    with pytest.raises(BatchError):
        read_control(record)


def test_what_a_topic_does_not_wait_for_is_moved_again_when_the_data_has_lost_it() -> None:
    live = with_messages(1, 2)
    first = live.plan_moves(0, 1, 10)
    assert first is not None
    live.apply(first)
    live.settle(1, is_certain=False)
    second = live.plan_moves(0, 2, 10)
    assert second is not None
    again = with_messages(1, 2)
    for record in (first, second):
        again.apply(record)
    assert [move.offset for move in again.moves] == [0, 1]
