"""A member of a shared group without its network: streams, messages, leases, the end."""

from random import Random

from goqueue.core.client.failure import Failure
from goqueue.core.client.membership import Standing
from goqueue.core.client.settling import Saying, Verb
from goqueue.core.client.work_session import GrantCredit, WorkSession, WorkTerms
from goqueue.core.requests.groups import GroupMode, Joined, JoinGroup, LeaveGroup
from goqueue.core.requests.queues import AckWork, ExtendWork, NackWork, ReceiptRun, ReleaseWork, WorkDone
from goqueue.core.requests.refusals import Code, Refusal
from tests.core.client.leased_parts import NOW_MS, SECOND, Held, batch, make, meant, part, said

JOIN = JoinGroup("crew", ["jobs"], session_timeout_ms=30_000, mode=GroupMode.SHARED)
CUT = Failure("connection_lost", "cut")


def fresh(prefetch: int = 100) -> WorkSession[Held]:
    return WorkSession(WorkTerms(JOIN, prefetch, 1 << 20, 30 * SECOND), Random(7), make)


def joined(prefetch: int = 100) -> WorkSession[Held]:
    """A session that is a member, and has granted all its credit."""
    session = fresh(prefetch)
    session.opened()
    ((number, request),) = session.take(0, is_idle=True)
    assert request == JOIN
    session.answered(0, number, membership("m1"))
    assert session.take(0, is_idle=True) == [(0, GrantCredit(prefetch, 1 << 20))]
    return session


def membership(member_id: str) -> Joined:
    return Joined(member_id, 1, GroupMode.SHARED, {}, {}, 3_000, False, [member_id], 0)


def requests(session: WorkSession[Held], now: int = 0) -> list[object]:
    session.check()
    return [request for _, request in session.take(now, is_idle=False)]


def ack(session: WorkSession[Held], message: Held) -> None:
    session.ack(message.grant, message.offset)


def test_it_joins_and_grants_and_is_given_messages() -> None:
    session = joined()
    assert (session.standing, session.member_id) == (Standing.MEMBER, "m1")
    session.leased(0, part(batch(0, 3), (0, 3)), NOW_MS)
    messages = session.grants.next()
    assert said(messages) == meant(0, 1, 2)
    ack(session, messages[0])
    ack(session, messages[1])
    assert requests(session) == [AckWork([ReceiptRun("s", 0, 2)])]


def test_a_group_that_does_not_want_it_ends_it() -> None:
    session = fresh()
    session.opened()
    ((number, _),) = session.take(0, is_idle=True)
    session.answered(0, number, Refusal(Code.WRONG_MODE, "it is exclusive"))
    assert session.standing is Standing.OVER
    assert session.failure is not None
    assert session.failure.code == "wrong_mode"
    assert session.opens_at() is None


def test_a_join_that_cannot_be_done_for_now_is_tried_again_on_another_stream() -> None:
    session = fresh()
    session.opened()
    ((number, _),) = session.take(0, is_idle=True)
    session.answered(0, number, Refusal(Code.UNAVAILABLE, "not yet", "", 400))
    assert session.opens_at() is not None
    assert (session.opens_at() or 0) >= 400_000_000
    session.opened()
    assert [request for _, request in session.take(SECOND, is_idle=True)] == [JOIN]


def test_a_broker_that_does_not_answer_a_join_is_given_up() -> None:
    session = fresh()
    session.opened()
    session.take(0, is_idle=True)
    due = session.deadline()
    assert due == 10 * SECOND
    assert session.take(due, is_idle=True) == []
    assert (session.opens_at() or 0) > due
    assert session.trouble is not None
    assert session.trouble.code == "deadline_exceeded"


def test_a_lost_stream_loses_nothing() -> None:
    session = joined(10)
    session.leased(0, part(batch(0, 4), (0, 4)), NOW_MS)
    messages = session.grants.next()
    session.leased(0, part(batch(4, 2), (4, 2)), NOW_MS)
    ack(session, messages[0])
    assert requests(session) == [AckWork([ReceiptRun("s", 0, 1)])]
    ack(session, messages[1])
    session.lost(0, CUT)
    session.check()
    again = session.opens_at()
    assert again is not None
    assert again > 0
    session.opened()
    ((number, request),) = session.take(again, is_idle=True)
    assert isinstance(request, JoinGroup)
    assert request.member_id == "m1"
    session.answered(again, number, membership("m1"))
    assert [each for _, each in session.take(again, is_idle=True)] == [
        AckWork([ReceiptRun("s", 0, 1)]),
        AckWork([ReceiptRun("s", 1, 1)]),
        GrantCredit(6, session.credit.bytes_open),
    ]
    assert said(session.grants.next()) == meant(4, 5)


def test_a_group_that_forgot_the_member_is_joined_anew_without_what_was_not_begun() -> None:
    session = joined(10)
    session.leased(0, part(batch(0, 2), (0, 2)), NOW_MS)
    begun = session.grants.next()
    session.leased(0, part(batch(2, 2), (2, 2)), NOW_MS)
    session.lost(0, Failure("unknown_member", "who?"))
    assert session.opens_at() == 0
    session.opened()
    ((number, request),) = session.take(0, is_idle=True)
    assert request == JOIN
    session.answered(0, number, membership("m2"))
    assert session.member_id == "m2"
    assert session.grants.next() == []
    slip = session.ack(begun[0].grant, 0)
    ((number, _), _) = session.take(0, is_idle=True)
    session.answered(0, number, WorkDone(0, []))
    assert slip.is_done


def test_leases_of_what_somebody_works_on_are_prolonged_until_it_is_settled() -> None:
    session = joined()
    session.leased(0, part(batch(0, 2), (0, 2)), NOW_MS)
    messages = session.grants.next()
    tended = session.tend(0, messages[0].grant, 0)
    assert session.deadline() == 15 * SECOND
    assert requests(session, 15 * SECOND) == [ExtendWork([ReceiptRun("s", 0)], 30_000)]
    assert session.deadline() == 30 * SECOND
    assert requests(session, 30 * SECOND) == [ExtendWork([ReceiptRun("s", 0)], 30_000)]
    session.untend(tended)
    assert session.deadline() is None


def test_a_lease_that_cannot_be_prolonged_is_known_to_be_lost() -> None:
    session = joined()
    session.leased(0, part(batch(0, 1), (0, 1)), NOW_MS)
    (message,) = session.grants.next()
    tended = session.tend(0, message.grant, 0)
    ((number, _),) = session.take(15 * SECOND, is_idle=False)
    session.answered(15 * SECOND, number, Refusal(Code.RECEIPT_EXPIRED, "too late"))
    assert session.take(30 * SECOND, is_idle=False) == []
    assert tended.failure is not None
    assert tended.failure.code == "receipt_expired"
    assert session.deadline() is None


def test_what_waits_for_half_of_its_lease_is_handed_back() -> None:
    session = joined()
    session.leased(0, part(batch(0, 2), (0, 2)), NOW_MS)
    assert session.deadline() == 15 * SECOND
    assert requests(session, 15 * SECOND)[:1] == [ReleaseWork([ReceiptRun("s", 0, 2)])]
    assert session.handed_back == 2
    assert session.credit.messages_held == 0


def test_what_came_later_is_not_handed_back_with_what_came_first() -> None:
    session = joined()
    session.leased(0, part(batch(0, 2), (0, 2)), NOW_MS)
    session.leased(10 * SECOND, part(batch(2, 2), (2, 2)), NOW_MS)
    assert requests(session, 15 * SECOND)[:1] == [ReleaseWork([ReceiptRun("s", 0, 2)])]
    assert said(session.grants.next()) == meant(2, 3)


def test_whoever_begins_nothing_more_hands_back_what_waits_and_grants_nothing() -> None:
    session = joined()
    session.leased(0, part(batch(0, 100), (0, 100)), NOW_MS)
    messages = session.grants.next()
    session.leased(0, part(batch(100, 2), (100, 2)), NOW_MS)
    session.retire()
    assert requests(session) == [ReleaseWork([ReceiptRun("s", 100, 2)])]
    session.leased(0, part(batch(102, 1), (102, 1)), NOW_MS)
    for message in messages:
        ack(session, message)
    assert requests(session) == [ReleaseWork([ReceiptRun("s", 102)]), AckWork([ReceiptRun("s", 0, 100)])]


def test_leaving_in_order_hands_back_says_what_is_to_be_said_and_then_leaves() -> None:
    session = joined()
    session.leased(0, part(batch(0, 2), (0, 2)), NOW_MS)
    messages = session.grants.next()
    session.leased(0, part(batch(2, 2), (2, 2)), NOW_MS)
    ack(session, messages[0])
    session.leave()
    found = session.take(0, is_idle=True)
    assert [request for _, request in found] == [AckWork([ReceiptRun("s", 0)]), ReleaseWork([ReceiptRun("s", 2, 2)])]
    # What is on its way is handed back as well.
    session.leased(0, part(batch(4, 1), (4, 1)), NOW_MS)
    for number, _ in found:
        session.answered(0, number, WorkDone(1))
    ((number, request),) = session.take(0, is_idle=True)
    assert request == ReleaseWork([ReceiptRun("s", 4)])
    session.answered(0, number, WorkDone(1))
    ((number, request),) = session.take(0, is_idle=True)
    assert request == LeaveGroup("crew", "m1")
    session.answered(0, number, None)
    assert session.standing is Standing.OVER
    assert session.failure is None
    session.check()


def test_leaving_by_an_error_says_that_what_was_begun_failed() -> None:
    session = joined()
    session.leased(0, part(batch(0, 3), (0, 3)), NOW_MS)
    messages = session.grants.next()
    session.hand_back([(messages[2].grant, 2)])
    ack(session, messages[0])
    session.leave(why="ValueError: no")
    assert requests(session) == [
        ReleaseWork([ReceiptRun("s", 2)]),
        AckWork([ReceiptRun("s", 0)]),
        NackWork([ReceiptRun("s", 1)], None, "ValueError: no"),
    ]


def test_whoever_waits_no_longer_learns_that_it_was_not_said() -> None:
    session = joined()
    session.leased(0, part(batch(0, 1), (0, 1)), NOW_MS)
    (message,) = session.grants.next()
    slip = session.ack(message.grant, 0)
    session.leave()
    session.abandon()
    assert (slip.look("s", 0) or CUT).code == "dropped"
    session.check()


def test_damaged_messages_are_given_back_as_failed() -> None:
    session = joined()
    source = bytearray(batch(0, 2))
    source[-1] ^= 1
    session.leased(0, part(bytes(source), (0, 2)), NOW_MS)
    session.damaged("bytes")
    assert requests(session) == [NackWork([ReceiptRun("s", 0, 2)], None, "bytes")]


def test_a_broker_that_answers_nothing_is_asked_for_nothing_more() -> None:
    session = joined(100)
    for offset in range(64):
        session.leased(0, part(batch(offset, 1), (offset, 1), stem=f"s{offset}"), NOW_MS)
        (message,) = session.grants.next()
        session.settle(Saying(Verb.NACK, reason=str(offset)), message.grant, offset)
        session.take(0, is_idle=False)
    assert session.settling.is_clogged
    assert session.take(0, is_idle=True) == []


def test_too_many_failures_to_join_end_in_pauses_and_not_in_a_storm() -> None:
    session = fresh()
    now, streams = 0, 0
    while now < 60 * SECOND:
        now = max(session.opens_at() or 0, now)
        session.opened()
        session.lost(now, CUT)
        streams += 1
    assert streams < 100
