"""Who is certain to be a member of a group, as far as can be told from what was said and answered."""

from goqueue.core.groups.verbs import GroupMode, Joined, JoinGroup
from goqueue.core.verbs import Code, Refusal
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


def test_a_request_that_was_answered_takes_nobodys_place() -> None:
    memberships = Memberships()
    memberships.asked(1, 0, JOIN)
    memberships.answered(1, 1, 0, 0, JOIN, joined("first"))
    memberships.asked(2, _S, JOIN)
    memberships.answered(2, 2, _S, _S, JOIN, joined("second"))
    seat = memberships.seat("g", "second")
    assert seat is not None
    assert seat.lives(_S)
