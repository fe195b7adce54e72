"""What is said of messages, on its way to the broker."""

from goqueue.core.client.failure import Failure
from goqueue.core.client.settling import RECEIPTS_MAX, RELEASE, Saying, Settling, Slip, Verb
from goqueue.core.requests.queues import (
    AckWork,
    ExtendWork,
    NackWork,
    ReceiptRefusal,
    ReceiptRun,
    RejectWork,
    ReleaseWork,
    WorkDone,
)
from goqueue.core.requests.refusals import Code, Outcome, Refusal
from tests.core.client.leased_parts import SECOND

TIMEOUT = 30 * SECOND
NACK = Saying(Verb.NACK, reason="boom")
REJECT = Saying(Verb.REJECT, reason="bad")
LOST = Failure("connection_lost", "gone")


def settled(settling: Settling) -> list[Slip]:
    done, settling.done = settling.done, []
    settling.check()
    return done


def refusal(stem: str, offset: int, code: Code, retry_after_ms: int = 0) -> ReceiptRefusal:
    return ReceiptRefusal(stem, offset, Refusal(code, "no", "", retry_after_ms))


def test_what_is_said_alike_travels_together_as_runs() -> None:
    settling = Settling(TIMEOUT)
    for offset in (3, 4, 5, 9, 10):
        settling.say(Saying(Verb.ACK), "a", offset)
    settling.say(Saying(Verb.ACK), "b", 11)
    settling.say(NACK, "a", 6)
    settling.say(Saying(Verb.NACK, reason="boom"), "a", 7)
    settling.say(Saying(Verb.NACK, delay_ms=5, reason="boom"), "a", 8)
    settling.say(REJECT, "a", 12)
    settling.say(Saying(Verb.EXTEND, timeout_ms=900), "a", 13)
    settling.say(RELEASE, "a", 14)
    settling.check()
    assert settling.take(0, 1) == [
        (1, AckWork([ReceiptRun("a", 3, 3), ReceiptRun("a", 9, 2), ReceiptRun("b", 11)])),
        (2, NackWork([ReceiptRun("a", 6, 2)], None, "boom")),
        (3, NackWork([ReceiptRun("a", 8)], 5, "boom")),
        (4, RejectWork([ReceiptRun("a", 12)], "bad")),
        (5, ExtendWork([ReceiptRun("a", 13)], 900)),
        (6, ReleaseWork([ReceiptRun("a", 14)])),
    ]
    assert settling.take(0, 7) == []
    assert not settling.is_idle


def test_each_is_told_its_own_outcome() -> None:
    settling = Settling(TIMEOUT)
    slip = settling.say(Saying(Verb.ACK), "a", 1)
    assert settling.say(Saying(Verb.ACK), "a", 2) is slip
    settling.take(0, 1)
    settling.answered(0, 1, WorkDone(1, [refusal("a", 2, Code.RECEIPT_EXPIRED)]))
    assert settled(settling) == [slip]
    assert slip.unseen == 1
    assert slip.look("a", 1) is None
    assert (slip.look("a", 2) or LOST).code == "receipt_expired"
    assert slip.unseen == 0
    assert settling.is_idle


def test_a_request_that_is_refused_fails_all_that_it_carried() -> None:
    settling = Settling(TIMEOUT)
    slip = settling.say(NACK, "a", 1)
    settling.say(NACK, "a", 2)
    settling.take(0, 1)
    settling.refused(0, 1, Failure("invalid", "no"))
    assert settled(settling) == [slip]
    assert slip.unseen == 2


def test_what_had_no_answer_is_sent_again_ahead_of_what_was_said_since() -> None:
    settling = Settling(TIMEOUT)
    settling.say(Saying(Verb.ACK), "a", 1)
    settling.take(0, 1)
    settling.say(Saying(Verb.ACK), "a", 2)
    settling.lost()
    settling.check()
    assert settling.take(0, 5) == [(5, AckWork([ReceiptRun("a", 1)])), (6, AckWork([ReceiptRun("a", 2)]))]
    settling.answered(0, 1, WorkDone(1))
    assert not settled(settling)
    settling.answered(0, 5, WorkDone(1))
    settling.answered(0, 6, WorkDone(1))
    assert len(settled(settling)) == 2


def test_the_second_time_a_refusal_may_say_what_the_first_did() -> None:
    for saying, code, is_fine in (
        (NACK, Code.RECEIPT_EXPIRED, True),
        (RELEASE, Code.RECEIPT_EXPIRED, True),
        (REJECT, Code.ALREADY_SETTLED, True),
        (REJECT, Code.RECEIPT_EXPIRED, False),
        (NACK, Code.RECEIPT_INVALID, False),
        (Saying(Verb.ACK), Code.RECEIPT_EXPIRED, False),
    ):
        settling = Settling(TIMEOUT)
        slip = settling.say(saying, "a", 1)
        settling.take(0, 1)
        settling.lost()
        settling.take(0, 2)
        settling.answered(0, 2, WorkDone(0, [refusal("a", 1, code)]))
        settled(settling)
        assert (slip.look("a", 1) is None) == is_fine, (saying, code)
    settling = Settling(TIMEOUT)
    slip = settling.say(NACK, "a", 1)
    settling.take(0, 1)
    settling.answered(0, 1, WorkDone(0, [refusal("a", 1, Code.RECEIPT_EXPIRED)]))
    assert slip.look("a", 1) is not None


def test_a_refusal_after_one_that_says_that_nothing_was_done_is_no_sign_of_success() -> None:
    for code, is_fine in ((Code.UNAVAILABLE, False), (Code.OUTCOME_UNKNOWN, True)):
        settling = Settling(TIMEOUT)
        slip = settling.say(NACK, "a", 1)
        settling.take(0, 1)
        settling.refused(0, 1, Failure(str(code), "later"))
        settling.wake(SECOND)
        settling.take(SECOND, 2)
        settling.answered(SECOND, 2, WorkDone(0, [refusal("a", 1, Code.RECEIPT_EXPIRED)]))
        failure = slip.look("a", 1)
        assert (failure is None) == is_fine, code
        assert failure is None or failure.what_happened is Outcome.NONE


def test_what_cannot_be_done_for_now_is_tried_again_alone_and_not_for_ever() -> None:
    settling = Settling(TIMEOUT)
    slip = settling.say(Saying(Verb.ACK), "a", 1)
    settling.say(Saying(Verb.ACK), "b", 2)
    settling.take(SECOND, 1)
    settling.answered(SECOND, 1, WorkDone(1, [refusal("b", 2, Code.UNAVAILABLE, retry_after_ms=700)]))
    settling.check()
    assert not settled(settling)
    due = settling.deadline()
    assert due == SECOND + 700_000_000
    assert settling.take(due - 1, 2) == []
    assert settling.take(due, 2) == [(2, AckWork([ReceiptRun("b", 2)]))]
    settling.refused(due, 2, Failure("unavailable", "not yet"))
    assert not settled(settling)
    late = SECOND + TIMEOUT
    assert settling.take(late, 3) == [(3, AckWork([ReceiptRun("b", 2)]))]
    settling.refused(late, 3, Failure("unavailable", "still not"))
    assert settled(settling) == [slip]
    assert slip.look("a", 1) is None
    assert (slip.look("b", 2) or LOST).message == "still not"


def test_a_request_has_a_bound() -> None:
    settling = Settling(TIMEOUT)
    for offset in range(RECEIPTS_MAX + 1):
        settling.say(NACK, "a", 2 * offset)
    settling.check()
    assert [len(request.receipts) for _, request in settling.take(0, 1)] == [RECEIPTS_MAX, 1]


def test_closing_fails_what_has_no_answer_and_what_is_said_from_then_on() -> None:
    settling = Settling(TIMEOUT)
    sent = settling.say(Saying(Verb.ACK), "a", 1)
    settling.take(0, 1)
    waiting = settling.say(NACK, "a", 2)
    settling.close("it was left")
    assert settled(settling) == [sent, waiting]
    later = settling.say(REJECT, "a", 3)
    told = [slip.look("a", at) for slip, at in ((sent, 1), (waiting, 2), (later, 3))]
    assert [(why.code, why.what_happened) for why in told if why is not None] == [
        ("dropped", Outcome.UNKNOWN),
        ("dropped", Outcome.NONE),
        ("dropped", Outcome.NONE),
    ]
    assert settling.is_idle
    assert settling.take(0, 2) == []
