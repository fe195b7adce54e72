"""Who is certain to be a member of a group, as far as can be told from what was said and answered."""

from goqueue.core.requests.groups import GroupBeat, GroupMode, GroupState, Joined, JoinGroup, WatchGroup
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.fuzz.memberships import Memberships

_S = 1_000_000_000
JOIN = JoinGroup("g", ["t"], instance_id="reader", session_timeout_ms=10_000)


def joined(member_id: str) -> Joined:
    """What a member is told."""
    return Joined(member_id, 1, GroupMode.EXCLUSIVE, {"t": [0]}, {}, 3_000, True, [member_id], 0)


def test_who_joins_while_an_earlier_request_of_its_name_is_under_way_may_be_replaced_by_that() -> None:
    memberships = Memberships()
    memberships.asked(1, 0, JOIN)
    memberships.asked(2, _S, JOIN)
    memberships.answered(2, 2, _S, _S, JOIN, joined("second"))
    seat = memberships.seat("g", "second")
    assert seat is not None
    assert not seat.lives(_S)
    memberships.answered(1, 2, 0, _S, JOIN, None)
    assert seat.lives(_S)


def test_a_request_of_which_nobody_knows_what_became_may_take_a_place_later() -> None:
    memberships = Memberships()
    memberships.asked(1, 0, JOIN)
    memberships.answered(1, 1, 0, 0, JOIN, Refusal(Code.OUTCOME_UNKNOWN, "it may have been carried out"))
    memberships.asked(2, _S, JOIN)
    memberships.answered(2, 2, _S, _S, JOIN, joined("second"))
    seat = memberships.seat("g", "second")
    assert seat is not None
    assert not seat.lives(_S)


def test_an_answer_that_comes_late_does_not_say_who_took_whose_place() -> None:
    memberships = Memberships()
    memberships.asked(1, 0, JOIN)
    memberships.asked(2, _S, JOIN)
    memberships.answered(2, 2, _S, _S, JOIN, joined("second"))
    memberships.answered(1, 2, 0, _S, JOIN, joined("first"))
    seats = [memberships.seat("g", name) for name in ("first", "second")]
    assert all(seat is not None and not seat.ended and not seat.lives(_S) for seat in seats)
    beat = WatchGroup("g", "second")
    memberships.asked(3, 2 * _S, beat)
    memberships.answered(3, 3, 2 * _S, 2 * _S, beat, GroupBeat(1, GroupState.STABLE, {"t": [0]}, {}, 0, False, 0))
    assert [seat is not None and seat.lives(2 * _S) for seat in seats] == [False, True]


def test_who_joins_after_another_was_answered_has_taken_its_place() -> None:
    memberships = Memberships()
    memberships.asked(1, 0, JOIN)
    memberships.answered(1, 1, 0, 0, JOIN, joined("first"))
    memberships.asked(2, _S, JOIN)
    memberships.answered(2, 2, _S, _S, JOIN, joined("second"))
    seat = memberships.seat("g", "first")
    assert seat is not None
    assert seat.ended == 2


def test_a_request_that_was_answered_takes_nobodys_place() -> None:
    memberships = Memberships()
    memberships.asked(1, 0, JOIN)
    memberships.answered(1, 1, 0, 0, JOIN, joined("first"))
    memberships.asked(2, _S, JOIN)
    memberships.answered(2, 2, _S, _S, JOIN, joined("second"))
    seat = memberships.seat("g", "second")
    assert seat is not None
    assert seat.lives(_S)
