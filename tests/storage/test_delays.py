"""Delayed messages through a node and its disk: kept back, asked about, put off, and delivered in order."""

from itertools import pairwise

import pytest

from goqueue.core.capture.snapshot import restored, snapshot
from goqueue.core.delays.publishing import DUE_MS_MAX
from goqueue.core.records.batch import Lane, read_header, split
from goqueue.core.requests.delays import CancelDelayed, DelayedMessage, GetDelayed, ListDelayed, RescheduleDelayed
from goqueue.core.requests.messages import (
    NO_OFFSET,
    Acks,
    Fetch,
    Fetched,
    NewRecord,
    Publish,
    Published,
    PublishReply,
    Side,
)
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.topics import AlterTopic, CreateTopic, DeleteTopic
from tests.core.capture.traffic import VOCABULARY
from tests.storage.delayed_broker import (
    LATE_MS,
    TOPIC,
    begun,
    cancel,
    delayed,
    delivered,
    get,
    jump,
    measured,
    page,
    pending,
    put_off,
    schedule,
    send,
)
from tests.storage.driven_broker import WALL_MS

HOUR_MS = 3_600_000
YEAR_MS = 365 * 24 * HOUR_MS


# --- in time


def test_a_delayed_message_is_seen_when_it_is_due_and_not_before() -> None:
    broker = begun()
    [answer] = send(broker, delayed(b"later", 5_000))
    assert answer == Published(0, 0, WALL_MS + 5_000, WALL_MS + 5_000)
    broker.later(4.999)
    assert delivered(broker) == []
    broker.later((1 + LATE_MS) / 1000)
    assert delivered(broker) == [b"later"]


def test_the_alarm_of_the_node_is_set_for_what_is_due_first() -> None:
    broker = begun()
    schedule(broker, 60_000, 10_000, 80_000)
    turns = 0
    while (due := broker.node.deadline()) is not None and not delivered(broker):
        broker.now = max(broker.now, due)
        broker.settle()
        turns += 1
        assert turns < 10
    assert broker.now == (10_000 + LATE_MS) * 1_000_000
    assert delivered(broker) == [b"10000"]


def test_messages_come_in_order_of_their_times_and_not_of_their_publishing() -> None:
    broker = begun()
    schedule(broker, 3_000, 1_000, 2_000, 1_000)
    broker.later(10)
    assert delivered(broker) == [b"1000", b"1000", b"2000", b"3000"]
    assert [record.offset for record in broker.records(TOPIC)] == [0, 1, 2, 3]


def test_a_message_is_delivered_as_it_was_published_and_bears_the_time_it_was_due() -> None:
    broker = begun()
    headers = (("trace", b"1"), ("empty", None), ("trace", b"2"))
    send(broker, NewRecord(b"key", b"value", headers, 0, 7, delay_ms=50), NewRecord(None, None, delay_ms=60))
    broker.later(1)
    first, second = broker.records(TOPIC)
    assert (first.key, first.value, first.headers, first.timestamp) == (b"key", b"value", headers, WALL_MS + 50)
    assert (second.key, second.value, second.headers, second.timestamp) == (None, None, (), WALL_MS + 60)


def test_messages_of_one_publish_go_each_its_own_way() -> None:
    broker = begun()
    answers = send(broker, delayed(b"b", 1_000), NewRecord(None, b"a", partition=0), delayed(b"x", -1))
    assert [type(answer) for answer in answers] == [Published, Published, Refusal]
    assert [one.due_ms for one in answers if isinstance(one, Published)] == [WALL_MS + 1_000, -1]
    assert delivered(broker) == [b"a"]
    broker.later(2)
    assert delivered(broker) == [b"a", b"b"]


def test_what_is_not_kept_back_does_not_wait_for_the_schedule_of_what_is() -> None:
    broker = begun()
    first = broker.ask(Publish(TOPIC, [delayed(b"later", 1_000), delayed(b"1", 0)]))
    second = broker.ask(Publish(TOPIC, [delayed(b"2", 0)]))
    third = broker.ask(Publish(TOPIC, [delayed(b"later still", 2_000)]))
    broker.settle()
    replies = [broker.taken(to) for to in (first, second, third)]
    results = [result for reply in replies if isinstance(reply, PublishReply) for result in reply.results]
    assert [one.due_ms - WALL_MS for one in results if isinstance(one, Published) and one.due_ms >= 0] == [1_000, 2_000]
    assert delivered(broker) == [b"1", b"2"]
    broker.later(3)
    assert delivered(broker) == [b"1", b"2", b"later", b"later still"]


def test_a_time_that_is_past_is_as_good_as_none() -> None:
    broker = begun()
    [answer] = send(broker, NewRecord(None, b"old", due_ms=WALL_MS - HOUR_MS))
    assert answer == Published(0, 0, WALL_MS)
    assert delivered(broker) == [b"old"]
    assert pending(broker) == []


def test_there_is_no_horizon() -> None:
    broker = begun()
    send(broker, delayed(b"in ten years", 10 * YEAR_MS), NewRecord(None, b"never", due_ms=DUE_MS_MAX))
    broker.later(9.999 * YEAR_MS / 1000)
    assert delivered(broker) == []
    broker.later(0.002 * YEAR_MS / 1000)
    assert delivered(broker) == [b"in ten years"]
    assert len(pending(broker)) == 1


def test_a_delay_of_a_millisecond_is_kept() -> None:
    broker = begun()
    schedule(broker, 1)
    assert delivered(broker) == []
    broker.later((1 + LATE_MS) / 1000)
    assert delivered(broker) == [b"1"]


def test_who_wants_no_acknowledgement_is_answered_at_once() -> None:
    broker = begun()
    schedule(broker, HOUR_MS)
    reply = broker.answer(Publish(TOPIC, [delayed(b"later", 1_000)], Acks.NONE))
    assert reply == PublishReply([Published(0, NO_OFFSET, WALL_MS + 1_000, WALL_MS + 1_000)])
    broker.later(2)
    assert delivered(broker) == [b"later"]


@pytest.mark.parametrize("fsync", ["every", "interval", "none"])
def test_it_is_so_whatever_a_topic_says_of_its_disk(fsync: str) -> None:
    broker = begun(fsync=fsync)
    schedule(broker, 2_000, 1_000)
    broker.later(1.5)
    assert delivered(broker) == [b"1000"]
    broker.later(5)
    assert delivered(broker) == [b"1000", b"2000"]


def test_lanes_are_kept_and_what_is_due_at_once_is_a_batch_a_lane() -> None:
    broker = begun()
    lanes = [Lane.HIGH, Lane.NORMAL, Lane.HIGH, Lane.LOW, Lane.NORMAL]
    send(broker, *(delayed(b"%d" % at, 1_000, lane=lane) for at, lane in enumerate(lanes)))
    broker.later(2)
    reply = broker.answer(Fetch(TOPIC, 0, 0))
    assert isinstance(reply, Fetched)
    headers = [read_header(batch) for batch in split(reply.batches)]
    assert [(header.lane, header.record_count) for header in headers] == [
        (Lane.NORMAL, 2),
        (Lane.HIGH, 2),
        (Lane.LOW, 1),
    ]
    assert delivered(broker) == [b"1", b"4", b"0", b"2", b"3"]


def test_each_partition_has_its_own_schedule() -> None:
    broker = begun()
    broker.answer(CreateTopic("many", 3))
    results = send(
        broker, *(NewRecord(None, b"%d" % at, partition=at, delay_ms=1_000) for at in (2, 0, 1)), topic="many"
    )
    assert [(one.partition, one.offset) for one in results if isinstance(one, Published)] == [(2, 0), (0, 0), (1, 0)]
    reply = broker.answer(ListDelayed("many", 2))
    assert [(one.partition, one.offset) for one in reply.messages] == [(0, 0), (1, 0)]  # type: ignore[union-attr]
    broker.later(2)
    for number in range(3):
        fetched = broker.answer(Fetch("many", number, 0))
        assert isinstance(fetched, Fetched)
        assert read_header(fetched.batches).record_count == 1


def test_a_burst_comes_in_batches_and_other_requests_come_between() -> None:
    broker = begun()
    for _ in range(6):
        send(broker, *(delayed(b"%d" % at, 10_000) for at in range(2_000)))
    assert page(broker).count == 12_000
    broker.now += (10_000 + LATE_MS) * 1_000_000
    seen = []
    for _ in range(60):
        broker.turn()
        seen.append(broker.node.led.ends(TOPIC, 0))
    counts = [end for _, end in filter(None, seen)]
    assert counts[-1] == 12_000
    assert max(later - earlier for earlier, later in pairwise(counts)) <= 1_500
    assert delivered(broker) == [b"%d" % at for _ in range(6) for at in range(2_000)]


# --- bad input


@pytest.mark.parametrize(
    ("record", "field"),
    [
        (NewRecord(None, b"x", delay_ms=-1), "delay_ms"),
        (NewRecord(None, b"x", delay_ms=-(1 << 70)), "delay_ms"),
        (NewRecord(None, b"x", delay_ms=1 << 70), "delay_ms"),
        (NewRecord(None, b"x", delay_ms=DUE_MS_MAX - WALL_MS + 1), "delay_ms"),
        (NewRecord(None, b"x", due_ms=DUE_MS_MAX + 1), "due_ms"),
        (NewRecord(None, b"x", due_ms=-1), "due_ms"),
        (NewRecord(None, b"x", delay_ms=5, due_ms=WALL_MS + 5), "delay_ms"),
    ],
)
def test_a_delay_that_makes_no_sense_is_refused_by_name(record: NewRecord, field: str) -> None:
    broker = begun()
    [refusal] = send(broker, record)
    assert isinstance(refusal, Refusal)
    assert (refusal.code, refusal.field) == (Code.INVALID, field)
    assert delivered(broker) == []


def test_a_message_that_the_data_could_not_take_is_not_kept_back() -> None:
    broker = begun(max_message_bytes=1024)
    answers = send(
        broker, delayed(b"x" * 1024, 10), delayed(b"y", 10), delayed(b"z", 10, headers=(("h", b"x" * 1024),))
    )
    assert [one.code if isinstance(one, Refusal) else None for one in answers] == [Code.TOO_LARGE, None, Code.TOO_LARGE]
    broker.later(1)
    assert delivered(broker) == [b"y"]


def test_a_message_that_was_taken_is_delivered_though_the_limit_is_lower_by_then() -> None:
    broker = begun(max_message_bytes=1 << 20)
    send(broker, delayed(b"x" * 100_000, 1_000))
    broker.answer(AlterTopic(TOPIC, {"max_message_bytes": 1024}))
    broker.later(2)
    assert delivered(broker) == [b"x" * 100_000]


@pytest.mark.parametrize("limit", [0, -1, 1001])
def test_a_page_has_bounds(limit: int) -> None:
    refusal = begun().answer(ListDelayed(TOPIC, limit))
    assert isinstance(refusal, Refusal)
    assert (refusal.code, refusal.field) == (Code.INVALID, "limit")


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (ListDelayed("none"), Code.TOPIC_NOT_FOUND),
        (GetDelayed("none", 0, 0), Code.TOPIC_NOT_FOUND),
        (CancelDelayed(TOPIC, 1, 0), Code.PARTITION_NOT_FOUND),
        (CancelDelayed(TOPIC, -1, 0), Code.PARTITION_NOT_FOUND),
        (GetDelayed(TOPIC, 0, 0), Code.DELAYED_NOT_FOUND),
        (RescheduleDelayed(TOPIC, 0, -7, 1), Code.DELAYED_NOT_FOUND),
    ],
)
@pytest.mark.parametrize("has_schedule", [False, True])
def test_what_is_not_there_is_said_to_be_missing(request_: object, code: Code, has_schedule: bool) -> None:
    broker = begun()
    if has_schedule:
        schedule(broker, 1)
        broker.later(1)
    refusal = broker.answer(request_)  # type: ignore[arg-type]
    assert isinstance(refusal, Refusal)
    assert refusal.code is code


@pytest.mark.parametrize(
    ("delay_ms", "due_ms", "field"), [(-1, None, "delay_ms"), (1, 1, "delay_ms"), (0, DUE_MS_MAX + 1, "due_ms")]
)
def test_putting_off_to_a_time_that_makes_no_sense_is_refused(delay_ms: int, due_ms: int | None, field: str) -> None:
    broker = begun()
    [offset] = schedule(broker, 1_000)
    refusal = broker.answer(RescheduleDelayed(TOPIC, 0, offset, delay_ms, due_ms))
    assert isinstance(refusal, Refusal)
    assert (refusal.code, refusal.field) == (Code.INVALID, field)
    assert pending(broker) == [(1_000, offset)]


# --- asked about


def test_pending_messages_are_listed_by_their_times_page_by_page() -> None:
    broker = begun()
    schedule(broker, *(1_000 * (7 * at % 10 + 1) for at in range(10)), 5_000)
    found: list[tuple[int, int]] = []
    after = None
    while True:
        reply = page(broker, 4, after)
        assert reply.count == 11
        found += [(one.due_ms - WALL_MS, one.offset) for one in reply.messages]
        after = reply.after
        if after is None:
            break
    assert found == sorted(found) == pending(broker)
    assert len(found) == 11


def test_a_page_goes_on_where_the_last_ended_though_messages_come_and_go() -> None:
    broker = begun()
    schedule(broker, 10_000, 20_000, 30_000, 40_000)
    first = page(broker, 2)
    cancel(broker, 1)
    schedule(broker, 5_000, 25_000)
    assert [one.offset for one in page(broker, 10, first.after).messages] == [6, 2, 3]


def test_a_message_is_shown_with_what_is_in_it() -> None:
    broker = begun()
    record = NewRecord(b"key", b"value", (("h", b"1"),), 0, lane=Lane.LOW, delay_ms=1_000)
    send(broker, delayed(b"other", 2_000), record)
    offset = page(broker).messages[0].offset
    assert get(broker, offset) == DelayedMessage(
        TOPIC, 0, offset, WALL_MS + 1_000, Lane.LOW, b"key", b"value", (("h", b"1"),)
    )


def test_what_was_counted_is_told() -> None:
    broker = begun()
    offsets = schedule(broker, 1_000, 3_000, HOUR_MS, HOUR_MS)
    cancel(broker, offsets[2])
    put_off(broker, offsets[1], 2_000)
    broker.later(10)
    told = measured(broker)
    assert (told.pending, told.timers) == ({TOPIC: 1}, 1)
    assert (told.delivered, told.cancelled, told.rescheduled) == (2, 1, 1)
    assert told.delay_ms_total == 3_000
    assert sum(told.lateness.counts) == 2


# --- cancelled and put off


def test_a_cancelled_message_never_comes_and_cannot_be_cancelled_again() -> None:
    broker = begun()
    first, second = schedule(broker, 1_000, 2_000)
    assert cancel(broker, first) is None
    assert cancel(broker, first) is Code.DELAYED_NOT_FOUND
    broker.later(5)
    assert delivered(broker) == [b"2000"]
    assert cancel(broker, second) is Code.DELAYED_NOT_FOUND


def test_a_message_is_put_off_and_brought_forward() -> None:
    broker = begun()
    first, second = schedule(broker, 10_000, 20_000)
    moved = put_off(broker, first, 30_000)
    assert (moved.offset, moved.due_ms) == (first, WALL_MS + 30_000)
    broker.later(1)
    assert put_off(broker, second, 1_000).due_ms == WALL_MS + 2_000
    broker.later(1.1)
    assert delivered(broker) == [b"20000"]
    broker.later(27.8)
    assert delivered(broker) == [b"20000"]
    broker.later(0.2)
    assert [(record.value, record.timestamp) for record in broker.records(TOPIC)][1] == (b"10000", WALL_MS + 30_000)


def test_a_message_brought_forward_to_now_comes_now() -> None:
    broker = begun()
    [offset] = schedule(broker, HOUR_MS)
    reply = broker.answer(RescheduleDelayed(TOPIC, 0, offset, due_ms=0))
    assert isinstance(reply, DelayedMessage)
    assert reply.due_ms == WALL_MS
    broker.later(LATE_MS / 1000)
    assert delivered(broker) == [b"%d" % HOUR_MS]


def test_what_is_being_moved_can_neither_be_cancelled_nor_put_off() -> None:
    broker = begun()
    [offset] = schedule(broker, 1_000)
    # The intention is written somewhat before the time.
    broker.later(0.99)
    assert delivered(broker) == []
    assert cancel(broker, offset) is Code.DELAYED_NOT_FOUND
    refusal = broker.answer(RescheduleDelayed(TOPIC, 0, offset, 1_000))
    assert isinstance(refusal, Refusal)
    assert refusal.code is Code.DELAYED_NOT_FOUND
    broker.later(0.1)
    assert delivered(broker) == [b"1000"]


def test_of_a_cancellation_and_a_move_in_one_turn_one_wins() -> None:
    broker = begun()
    [offset] = schedule(broker, 1_000)
    broker.now += 1_000_000_000
    to = broker.ask(CancelDelayed(TOPIC, 0, offset))
    broker.settle()
    assert broker.taken(to) is None
    broker.later(1)
    assert delivered(broker) == []


def test_the_expiry_of_a_message_moves_with_it() -> None:
    broker = begun()
    expires = (("goqueue.expires", b"%d" % (WALL_MS + 10_000)), ("other", b"1"))
    send(broker, delayed(b"x", 5_000, headers=expires), delayed(b"y", 5_000, headers=(("goqueue.expires", b"?"),)))
    put_off(broker, 0, 7_000)
    put_off(broker, 1, 7_000)
    broker.later(8)
    first, second = broker.records(TOPIC)
    assert first.headers == (("goqueue.expires", b"%d" % (WALL_MS + 12_000)), ("other", b"1"))
    assert second.headers == (("goqueue.expires", b"?"),)


# --- clocks


def test_a_clock_set_forward_makes_due_what_is_past_by_it() -> None:
    broker = begun()
    schedule(broker, HOUR_MS, 2 * HOUR_MS)
    jump(broker, HOUR_MS + LATE_MS)
    assert delivered(broker) == [b"%d" % HOUR_MS]


@pytest.mark.parametrize("by_ms", [-HOUR_MS, -900])
def test_a_clock_set_back_keeps_messages_back(by_ms: int) -> None:
    broker = begun()
    schedule(broker, 5_000)
    broker.later(4)
    jump(broker, by_ms)
    broker.later((1_000 - by_ms) / 1000 - 0.001)
    assert delivered(broker) == []
    broker.later(0.001 + LATE_MS / 1000)
    assert delivered(broker) == [b"5000"]


def test_a_clock_set_back_keeps_back_even_what_was_about_to_move() -> None:
    broker = begun()
    schedule(broker, 5_000)
    broker.later(4.99)
    jump(broker, -HOUR_MS)
    broker.later(HOUR_MS / 1000)
    assert delivered(broker) == []
    broker.later(0.02)
    assert delivered(broker) == [b"5000"]


def test_what_was_about_to_move_when_the_clock_was_set_back_holds_up_nothing() -> None:
    broker = begun()
    schedule(broker, 5_000, 5_001)
    broker.later(4.99)
    jump(broker, -24 * HOUR_MS)
    schedule(broker, 1_000)
    assert page(broker).count == 3
    broker.later(2)
    assert delivered(broker) == [b"1000"]
    broker.later(24 * HOUR_MS / 1000)
    assert delivered(broker) == [b"1000", b"5000", b"5001"]


def test_messages_are_published_with_delays_while_the_clock_is_behind() -> None:
    broker = begun()
    schedule(broker, 5_000)
    jump(broker, -HOUR_MS)
    schedule(broker, 1_000)
    broker.later(2)
    assert delivered(broker) == [b"1000"]


# --- topics that go


def test_a_deleted_topic_takes_its_schedule_along() -> None:
    broker = begun()
    schedule(broker, 1_000, 2_000)
    broker.answer(DeleteTopic(TOPIC))
    assert isinstance(broker.answer(ListDelayed(TOPIC)), Refusal)
    assert measured(broker).pending == {}
    broker.answer(CreateTopic(TOPIC, 1))
    assert pending(broker) == []
    schedule(broker, 3_000)
    broker.later(5)
    assert delivered(broker) == [b"3000"]


def test_whoever_waits_when_a_topic_is_deleted_is_told() -> None:
    broker = begun()
    [offset] = schedule(broker, 1_000)
    asked = [broker.ask(DeleteTopic(TOPIC)), broker.ask(CancelDelayed(TOPIC, 0, offset))]
    asked.append(broker.ask(Publish(TOPIC, [delayed(b"x", 5)])))
    broker.settle()
    assert set(asked) <= set(broker.answered())


def test_a_publish_that_has_a_topic_given_its_schedule_is_answered_when_the_topic_goes() -> None:
    broker = begun()
    to = broker.ask(Publish(TOPIC, [delayed(b"x", 5)]))
    deleting = broker.ask(DeleteTopic(TOPIC))
    broker.settle()
    assert {to, deleting} <= set(broker.answered())


def test_the_schedule_is_no_clients_to_write() -> None:
    broker = begun()
    schedule(broker, 1_000)
    fetched = broker.answer(Fetch(TOPIC, 0, 0, side=Side.SCHEDULE))
    assert isinstance(fetched, Fetched)
    assert read_header(fetched.batches).record_count == 1
    refusals = send(broker, NewRecord(None, b"x", partition=7, delay_ms=5))
    assert isinstance(refusals[0], Refusal)
    assert refusals[0].code is Code.PARTITION_NOT_FOUND


# --- whatever else befalls a node


def test_a_node_with_delayed_messages_is_captured_and_comes_back() -> None:
    broker = begun()
    schedule(broker, 1_000, 1_010, 5_000)
    # Of two messages the contents have been read, which no capture holds.
    broker.later(0.98)
    broker.node.forget_recent(broker.now)
    broker.settle()
    broker.node.forget_recent(broker.now)
    content = snapshot(VOCABULARY, broker.node)
    again = restored(VOCABULARY, content)
    assert snapshot(VOCABULARY, again) == content
    broker.node = again
    broker.disk.drive(again)
    broker.later(0.1)
    assert delivered(broker) == [b"1000", b"1010"]
    broker.later(5)
    assert delivered(broker) == [b"1000", b"1010", b"5000"]


def test_nobody_is_answered_who_does_not_wait_any_more() -> None:
    broker = begun()
    schedule(broker, HOUR_MS)
    to = broker.ask(GetDelayed(TOPIC, 0, 0))
    broker.node.forget(to)
    broker.settle()
    assert broker.answered() == []
    assert get(broker, 0).value == b"%d" % HOUR_MS


def test_requests_about_a_message_that_was_not_read_yet_wait_for_it() -> None:
    broker = begun()
    schedule(broker, HOUR_MS)
    published = broker.ask(Publish(TOPIC, [delayed(b"x", 1_000)]))
    while published not in broker.answered():
        broker.turn()
    asked = [broker.ask(GetDelayed(TOPIC, 0, 1)), broker.ask(CancelDelayed(TOPIC, 0, 1))]
    broker.settle()
    shown, cancelled = (broker.taken(to) for to in asked)
    assert isinstance(shown, DelayedMessage | Refusal)
    assert cancelled is None
    broker.later(2)
    assert delivered(broker) == []
