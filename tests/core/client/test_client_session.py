"""A producer's session step by step: what leaves when, and what each answer leads to."""

from random import Random

import pytest

from goqueue.core.client.failure import DELIVERY_TIMEOUT, DROPPED, Failure
from goqueue.core.client.place import LATE_NS, LOOK_NS
from goqueue.core.client.record_batch import RECORD_BYTES_MAX, RecordBatch
from goqueue.core.client.routing import Layout
from goqueue.core.client.session import GROWTH_MAX, Session
from goqueue.core.client.terms import Terms
from goqueue.core.records.batch import Lane, read_header
from goqueue.core.requests.messages import Due
from goqueue.core.requests.refusals import Outcome

MS = 1_000_000


def begun(partitions: int = 1, leaders: list[str] | None = None, **terms: int | bool) -> Session:
    """A session that knows a topic and its own number."""
    session = Session(Terms(**{"batch_bytes": 1000, **terms}), Random(1))  # type: ignore[arg-type]
    session.route(0, Layout("orders", leaders or [""] * partitions, "murmur3", 1 << 20))
    session.identify(7, 0)
    return session


def add(session: Session, now: int = 0, size: int = 100, partition: int = 0, lane: Lane = Lane.NORMAL) -> RecordBatch:
    """Add one record; the parcel that took it."""
    pipeline = session.routes["orders"].pipelines[partition]
    parcel = pipeline.open[lane]
    if parcel is None or parcel.size + size > parcel.bytes_max:
        parcel = session.open(now, pipeline, lane)
    session.add(parcel, (1, None, b"x" * (size - RECORD_BYTES_MAX), ()), size)
    return parcel


def numbers(parcel: RecordBatch) -> tuple[int, int, int]:
    """Producer, epoch and sequence in a parcel's bytes."""
    assert parcel.content is not None
    header = read_header(parcel.content)
    return header.producer_id, header.producer_epoch, header.base_sequence


def refuse(session: Session, parcel: RecordBatch, code: str, now: int = 0) -> None:
    session.refused(now, "", parcel.request_id, Failure(code, "said the broker"))


def test_a_record_lingers_and_then_leaves() -> None:
    session = begun(linger_ns=5 * MS)
    add(session)
    assert session.take(1, "") == []
    assert session.deadline() == 5 * MS
    session.wake(5 * MS)
    assert len(session.take(5 * MS, "")) == 1


def test_a_parcel_that_is_full_leaves_at_once() -> None:
    session = begun()
    parcel = add(session, size=1000)
    assert session.take(0, "") == [parcel]


def test_without_lingering_everything_leaves_at_once() -> None:
    session = begun(linger_ns=0)
    parcel = add(session, size=50)
    assert session.take(0, "") == [parcel]


def test_what_comes_within_the_linger_travels_together() -> None:
    session = begun()
    first = add(session)
    assert add(session) is first
    session.flush()
    assert [parcel.count for parcel in session.take(0, "")] == [2]


def test_a_parcel_grows_while_its_partition_has_no_room_in_flight() -> None:
    session = begun()
    for _ in range(5):
        add(session, size=1000)
        session.take(0, "")
    parcel = add(session, size=1000)
    assert session.take(0, "") == []
    assert all(add(session, size=100) is parcel for _ in range(100))
    assert parcel.bytes_max == 1000 * GROWTH_MAX


def test_at_most_five_are_in_flight_and_their_sequences_follow_one_another() -> None:
    session = begun()
    taken = []
    for _ in range(7):
        add(session, size=1000)
        add(session, size=100)
        taken += session.take(0, "")
    assert [numbers(parcel) for parcel in taken] == [(7, 0, sequence) for sequence in (0, 2, 4, 6, 8)]
    session.acknowledged(0, "", taken[0].request_id, 0)
    assert len(session.take(0, "")) == 1


def test_none_goes_further_ahead_of_the_oldest_than_the_broker_remembers() -> None:
    session = begun()
    taken = []
    for _ in range(8):
        add(session, size=1000)
        taken += session.take(0, "")
    # The oldest is stored as well, for all that is known: nobody heard so, and it comes again.
    for parcel in taken[1:]:
        session.acknowledged(0, "", parcel.request_id, 1)
    assert session.take(0, "") == []
    refuse(session, taken[0], "outcome_unknown")
    deadline = session.deadline()
    assert deadline is not None
    session.wake(deadline)
    assert session.take(deadline, "") == [taken[0]]
    session.acknowledged(deadline, "", taken[0].request_id, 0)
    assert session.take(deadline, "")


def test_what_waits_for_the_oldest_goes_on_when_that_is_given_up() -> None:
    session = begun(delivery_timeout_ns=1_000 * MS)
    taken = []
    for count in range(8):
        add(session, now=500 * MS if count else 0, size=1000)
        taken += session.take(500 * MS, "")
    for parcel in taken[1:]:
        session.acknowledged(600 * MS, "", parcel.request_id, 1)
    assert session.take(600 * MS, "") == []
    session.wake(1_000 * MS)
    assert taken[0].failure is not None
    assert session.take(1_000 * MS, "")


def test_batches_that_came_numbered_go_no_further_ahead_either() -> None:
    session = begun(is_numbered=True)
    pipeline = session.routes["orders"].pipelines[0]
    for sequence in range(7):
        session.hand_in(0, pipeline, numbered_batch(sequence))
    taken = session.take(0, "")
    assert len(taken) == 5
    session.acknowledged(0, "", taken[1].request_id, 1)
    assert session.take(0, "") == []
    session.acknowledged(0, "", taken[0].request_id, 0)
    assert len(session.take(0, "")) == 2


def numbered_batch(sequence: int) -> bytearray:
    """A batch of one record that somebody has numbered."""
    session = begun()
    for _ in range(sequence + 1):
        add(session, size=1000)
        (parcel,) = session.take(0, "")
        content = parcel.content
        session.acknowledged(0, "", parcel.request_id, 0)
    assert content is not None
    return bytearray(content)


def test_without_a_number_one_is_in_flight() -> None:
    session = begun(is_idempotent=False)
    add(session, size=1000)
    (first,) = session.take(0, "")
    assert numbers(first) == (-1, -1, -1)
    add(session, size=1000)
    assert session.take(0, "") == []
    session.acknowledged(0, "", first.request_id, 0)
    assert len(session.take(0, "")) == 1


def test_nothing_leaves_before_the_producer_has_its_number() -> None:
    session = Session(Terms(linger_ns=0), Random(1))
    session.route(0, Layout("orders", [""], "murmur3", 1 << 20))
    parcel = add(session)
    assert session.take(0, "") == []
    wanted = [session.wants_identity]
    session.identify(7, 3)
    wanted.append(session.wants_identity)
    assert wanted == [True, False]
    assert session.take(0, "") == [parcel]
    assert numbers(parcel) == (7, 3, 0)


def test_after_a_passing_refusal_all_is_sent_again_in_order_with_the_same_numbers() -> None:
    session = begun()
    taken = []
    for _ in range(3):
        add(session, size=1000)
        taken += session.take(0, "")
    before = [numbers(parcel) for parcel in taken]
    refuse(session, taken[0], "unavailable")
    session.wake(10_000 * MS)
    assert session.take(10_000 * MS, "") == [], "two answers are missing"
    for parcel in taken[1:]:
        refuse(session, parcel, "out_of_order_sequence", 10_000 * MS)
    deadline = session.deadline()
    assert deadline is not None
    session.wake(deadline)
    assert session.take(deadline, "") == taken
    assert [numbers(parcel) for parcel in taken] == before


def test_the_broker_says_when_to_come_back() -> None:
    session = begun(linger_ns=0)
    parcel = add(session)
    session.take(0, "")
    session.refused(0, "", parcel.request_id, Failure("unavailable", "starting", retry_after_ms=7000))
    assert session.deadline() == 7000 * MS


def test_a_gap_left_by_a_parcel_that_failed_begins_a_new_epoch() -> None:
    session = begun()
    taken = []
    for _ in range(3):
        add(session, size=1000)
        taken += session.take(0, "")
    refuse(session, taken[0], "too_large")
    for parcel in taken[1:]:
        refuse(session, parcel, "out_of_order_sequence")
    assert [parcel.is_settled for parcel in taken] == [True, False, False]
    session.wake(session.deadline() or 0)
    assert session.take(1, "") == taken[1:]
    assert [numbers(parcel) for parcel in taken[1:]] == [(7, 1, 0), (7, 1, 1)]


def test_a_parcel_that_is_too_large_is_halved_until_one_record_fails_alone() -> None:
    session = begun(batch_bytes=300)
    parcel = add(session)
    for size in (100, 90):
        assert add(session, size=size) is parcel
    assert session.take(0, "") == [parcel]
    behind = add(session, size=300)
    assert session.take(0, "") == [behind]
    refuse(session, parcel, "too_large")
    refuse(session, behind, "out_of_order_sequence")
    session.wake(session.deadline() or 0)
    first, rest, last = session.take(1, "")
    assert last is behind
    assert [numbers(each) for each in (first, rest, behind)] == [(7, 0, 0), (7, 0, 1), (7, 0, 3)]
    assert [each.count for each in (first, rest)] == [1, 2]
    session.acknowledged(1, "", first.request_id, 40)
    assert parcel not in session.settled
    refuse(session, rest, "too_large", 1)
    refuse(session, behind, "out_of_order_sequence", 1)
    session.wake(session.deadline() or 0)
    second, third, last = session.take(2, "")
    session.acknowledged(2, "", second.request_id, 41)
    refuse(session, third, "too_large", 2)
    session.check()
    assert parcel.is_settled
    assert [parcel.offset_of(0), parcel.offset_of(1)] == [40, 41]
    looked = [parcel.look(place) for place in range(3)]
    assert [failure and failure.code for failure in looked] == [None, None, "too_large"]
    assert [each.unseen for each in (parcel, rest, third)] == [0, 0, 0], "it was looked at through the whole"
    assert session.settled == [first, second, third, rest, parcel]
    assert session.buffered == behind.size


def test_a_lost_connection_costs_no_number() -> None:
    session = begun()
    add(session, size=1000)
    (parcel,) = session.take(0, "")
    old = parcel.request_id
    session.lost(0, "")
    assert session.take(0, "") == [parcel]
    assert numbers(parcel) == (7, 0, 0)
    session.acknowledged(0, "", old, 5)
    assert not parcel.is_settled, "an answer from the old connection is not this one's"
    session.acknowledged(0, "", parcel.request_id, 9)
    assert parcel.offset == 9


def test_a_duplicate_whose_place_is_forgotten_is_published_without_an_offset() -> None:
    session = begun()
    add(session, size=1000)
    (parcel,) = session.take(0, "")
    refuse(session, parcel, "duplicate_sequence")
    assert (parcel.is_settled, parcel.failure, parcel.offset, session.buffered) == (True, None, -1, 0)


def sent(session: Session, count: int) -> list[RecordBatch]:
    """So many parcels in flight."""
    parcels = []
    for _ in range(count):
        add(session, size=1000)
        parcels += session.take(0, "")
    assert len(parcels) == count
    return parcels


def again(session: Session, now: int) -> int:
    """Let pauses pass, and find the same leader as before; the time by then."""
    now += 10_000 * MS
    session.route(now, Layout("orders", [""] * len(session.routes["orders"].pipelines), "murmur3", 1 << 20))
    session.wake(now)
    return now


def test_a_producer_that_whoever_leads_calls_fenced_is_over() -> None:
    session = begun()
    parcel, now = add(session, size=1000), 0
    for _ in range(3):
        assert session.take(now, "") == [parcel]
        assert session.failure is None
        refuse(session, parcel, "producer_fenced", now)
        assert list(session.misplaced) == ["orders"]
        now = again(session, now)
    assert session.take(now, "") == [parcel]
    other = add(session, now)
    refuse(session, parcel, "producer_fenced", now)
    assert session.failure is not None
    assert [each.failure and each.failure.code for each in (parcel, other)] == ["producer_fenced"] * 2
    assert session.buffered == 0


def test_what_may_be_stored_keeps_its_numbers_whatever_is_said_of_them() -> None:
    """The module of `numbering` has the story: the second refusal is that of a leader that was replaced."""
    session = begun()
    parcels = sent(session, 2)
    session.acknowledged(0, "", parcels[0].request_id, 0)
    session.lost(0, "")
    assert session.take(0, "") == parcels[1:]
    refuse(session, parcels[1], "out_of_order_sequence")
    session.wake(10_000 * MS)
    assert session.take(10_000 * MS, "") == []
    assert list(session.misplaced) == ["orders"]
    now = again(session, 10_000 * MS)
    assert session.take(now, "") == parcels[1:]
    assert numbers(parcels[1]) == (7, 0, 1)
    session.acknowledged(now, "", parcels[1].request_id, 1)
    assert parcels[1].offset == 1
    session.check()


def test_what_follows_a_batch_that_is_certainly_not_stored_gets_other_numbers_though_its_answers_were_lost() -> None:
    session = begun()
    parcels = sent(session, 3)
    refuse(session, parcels[0], "invalid_request")
    session.lost(0, "")
    assert session.take(0, "") == parcels[1:]
    refuse(session, parcels[1], "out_of_order_sequence")
    refuse(session, parcels[2], "out_of_order_sequence")
    session.wake(10_000 * MS)
    assert session.take(10_000 * MS, "") == parcels[1:]
    assert [numbers(each) for each in parcels[1:]] == [(7, 1, 0), (7, 1, 1)]


def test_a_topic_that_is_forgotten_and_found_again_begins_another_epoch() -> None:
    session = begun()
    first = add(session, size=1000)
    session.take(0, "")
    session.acknowledged(0, "", first.request_id, 0)
    session.unroute("orders", Failure("topic_not_found", "said a node that knows little"))
    session.route(0, Layout("orders", [""], "murmur3", 1 << 20))
    second = add(session, size=1000)
    assert session.take(0, "") == [second]
    assert numbers(second) == (7, 1, 0)


@pytest.mark.parametrize(
    ("code", "outcome"),
    [("unavailable", Outcome.NONE), ("outcome_unknown", Outcome.UNKNOWN), (None, Outcome.UNKNOWN)],
)
def test_what_fails_at_last_says_what_all_its_attempts_may_have_done(code: str | None, outcome: Outcome) -> None:
    session = begun()
    (parcel,) = sent(session, 1)
    never_sent = add(session, size=100)
    if code is None:
        session.lost(0, "")
    else:
        refuse(session, parcel, code)
    session.abandon(Failure(DROPPED, "left"))
    assert parcel.failure is not None
    assert parcel.failure.what_happened is outcome
    assert never_sent.failure is not None
    assert never_sent.failure.what_happened is Outcome.NONE


def test_messages_for_later_are_numbered_by_themselves_and_told_when_they_are_due() -> None:
    session = begun()
    route = session.routes["orders"]
    later = route.postpone(route.pipelines[0])
    assert route.postpone(route.pipelines[0]) is later
    parcel = session.open(0, later, Lane.NORMAL, Due.AFTER)
    for delay_ms in (50, 2_000, 1):
        session.add(parcel, (delay_ms, None, b"x", ()), 400)
    now = add(session, size=1000)
    assert session.take(0, "") == [parcel, now]
    assert numbers(parcel) == numbers(now) == (7, 0, 0)
    session.acknowledged(0, "", parcel.request_id, 5, 1_000_002_000)
    due = [parcel.due_ms_of(at, delay_ms) for at, delay_ms in enumerate((50, 2_000, 1))]
    assert due == [1_000_000_050, 1_000_002_000, 1_000_000_001]
    assert [parcel.offset_of(at) for at in range(3)] == [5, 6, 7]
    session.check()


def test_a_topic_that_was_moved_is_looked_for_and_followed() -> None:
    session = begun(leaders=["a:1"])
    add(session, size=1000)
    (parcel,) = session.take(0, "a:1")
    session.refused(0, "a:1", parcel.request_id, Failure("topic_not_found", "gone"))
    assert list(session.misplaced) == ["orders"]
    session.wake(10_000 * MS)
    assert session.take(10_000 * MS, "a:1") == []
    session.route(10_000 * MS, Layout("orders", ["b:1"], "murmur3", 1 << 20))
    session.wake(10_000 * MS)
    assert session.addresses() == ["b:1"]
    assert session.take(10_000 * MS, "a:1") == []
    assert session.take(10_000 * MS, "b:1") == [parcel]


def test_a_leader_that_leads_no_more_is_left_for_the_next_one_with_the_same_numbers() -> None:
    session = begun(leaders=["a:1"])
    sent = []
    for _ in range(3):
        add(session, size=1000)
        sent += session.take(0, "a:1")
    before = [numbers(parcel) for parcel in sent]
    session.refused(0, "a:1", sent[0].request_id, Failure("not_leader", "another one leads"))
    assert list(session.misplaced) == ["orders"]
    session.route(0, Layout("orders", ["b:1"], "murmur3", 1 << 20))
    session.wake(10_000 * MS)
    assert session.take(10_000 * MS, "b:1") == sent
    assert [numbers(parcel) for parcel in sent] == before
    assert len(session.take(10_000 * MS, "a:1")) == 0


def test_a_new_leader_is_sent_to_at_once_whatever_pause_the_one_before_had_asked_for() -> None:
    session = begun(leaders=["a:1"])
    add(session, size=1000)
    (parcel,) = session.take(0, "a:1")
    session.refused(0, "a:1", parcel.request_id, Failure("not_enough_replicas", "wait", retry_after_ms=60_000))
    assert session.take(0, "a:1") == []
    session.route(0, Layout("orders", ["b:1"], "murmur3", 1 << 20))
    assert session.take(0, "b:1") == [parcel]
    session.check()
    session.refused(0, "b:1", parcel.request_id, Failure("not_enough_replicas", "wait"))
    session.wake(100 * MS)
    assert session.take(100 * MS, "b:1") == [parcel], "the pause is the first of a row"


def test_a_connection_that_is_lost_may_mean_that_another_one_leads() -> None:
    session = begun(partitions=2, leaders=["a:1", "b:1"])
    add(session, size=1000)
    (parcel,) = session.take(0, "a:1")
    session.lost(0, "b:1")
    assert session.misplaced == {}, "nothing is to be sent there"
    session.lost(0, "a:1")
    assert list(session.misplaced) == ["orders"]
    session.route(0, Layout("orders", ["b:1", "b:1"], "murmur3", 1 << 20))
    assert session.take(0, "b:1") == [parcel]
    session.check()


def test_who_leads_is_asked_when_an_answer_is_late_and_again_when_that_did_not_help() -> None:
    session = begun(leaders=["a:1"])
    add(session, size=1000)
    session.take(0, "a:1")
    assert session.deadline() == LATE_NS
    session.wake(LATE_NS - 1)
    assert session.misplaced == {}
    session.wake(LATE_NS)
    assert list(session.misplaced) == ["orders"]
    session.route(LATE_NS, Layout("orders", ["a:1"], "murmur3", 1 << 20))
    assert session.take(LATE_NS, "a:1") == []
    assert session.deadline() == LATE_NS + LOOK_NS
    session.wake(LATE_NS + LOOK_NS)
    assert list(session.misplaced) == ["orders"]


def test_who_leads_is_asked_when_a_broker_refuses_again_and_again() -> None:
    session = begun()
    add(session, size=1000)
    for attempt in range(3):
        assert session.misplaced == {}
        (parcel,) = session.take(attempt * 10_000 * MS, "")
        refuse(session, parcel, "unavailable", attempt * 10_000 * MS)
        session.wake((attempt + 1) * 10_000 * MS)
    assert list(session.misplaced) == ["orders"]


def test_who_leads_is_not_asked_where_any_broker_will_do() -> None:
    session = begun()
    add(session, size=1000)
    session.take(0, "")
    session.lost(0, "")
    assert session.misplaced == {}


@pytest.mark.parametrize("code", ["not_enough_replicas", "outcome_unknown", "not_coordinator"])
def test_what_a_cluster_cannot_do_for_now_is_tried_again(code: str) -> None:
    session = begun()
    add(session, size=1000)
    (parcel,) = session.take(0, "")
    refuse(session, parcel, code)
    assert session.take(0, "") == []
    session.wake(10_000 * MS)
    assert session.take(10_000 * MS, "") == [parcel]
    assert not parcel.is_settled


def test_a_topic_that_is_gone_fails_what_waits_for_it() -> None:
    session = begun()
    parcel = add(session)
    session.unroute("orders", Failure("topic_not_found", "there is no topic 'orders'"))
    assert parcel.failure is not None
    assert session.routes == {}


def test_no_answer_in_time_says_whether_the_messages_may_have_arrived() -> None:
    session = begun(delivery_timeout_ns=100 * MS, request_timeout_ns=1000 * MS)
    add(session, size=1000)
    (sent,) = session.take(0, "")
    session.lost(0, "")
    waiting = add(session, 1)
    session.wake(101 * MS)
    failures = [sent.failure, waiting.failure]
    assert [failure and failure.code for failure in failures] == [DELIVERY_TIMEOUT] * 2
    assert failures[0] is not None
    assert failures[1] is not None
    assert "may have arrived" in failures[0].message
    assert "partition 0 of orders" in failures[1].message
    assert "may have arrived" not in failures[1].message


def test_a_connection_that_owes_an_answer_for_too_long_is_given_up() -> None:
    session = begun(request_timeout_ns=1000 * MS)
    add(session, size=1000)
    (parcel,) = session.take(0, "")
    session.wake(999 * MS)
    assert session.resets == []
    session.wake(1000 * MS)
    assert session.resets == [""]
    assert session.take(1001 * MS, "") == [parcel]


def test_lanes_travel_apart() -> None:
    session = begun(linger_ns=0)
    parcels = [add(session, lane=Lane.NORMAL), add(session, lane=Lane.CRITICAL)]
    taken = session.take(0, "")
    assert taken == parcels
    assert [read_header(parcel.content or b"").lane for parcel in taken] == [Lane.NORMAL, Lane.CRITICAL]


@pytest.mark.parametrize("batch_bytes", [1, 5000])
def test_a_parcel_never_grows_past_what_the_topic_takes(batch_bytes: int) -> None:
    session = Session(Terms(batch_bytes=batch_bytes), Random(1))
    session.route(0, Layout("orders", [""], "murmur3", 4000))
    parcel = add(session)
    assert parcel.bytes_max <= 4000
