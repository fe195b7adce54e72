"""A poll says what a heartbeat would: that a member is to join again, or to let go of something."""

from goqueue.core.requests.groups import GroupBeat, GroupHeartbeat, JoinGroup, Polled, PollGroup, RevokePartitions
from tests.core.groups.polled_groups import PolledGroups, S, offsets


def said_by_poll(groups: PolledGroups, member: str) -> bool:
    """What an answer says of joining again, which is what a heartbeat would be answered."""
    answer = groups.answer(PollGroup("g", member))
    beat = groups.answer(GroupHeartbeat("g", member, 0))
    assert isinstance(answer, Polled)
    assert isinstance(beat, GroupBeat)
    assert answer.rebalance_required == beat.rebalance_required
    return answer.rebalance_required


def rejoin(groups: PolledGroups, member: str) -> None:
    """An eager member joins again."""
    groups.answer(JoinGroup("g", ["t"], member, eager=True))


def test_a_poll_tells_an_eager_member_to_join_again_and_that_once_it_has_what_it_is_to_have() -> None:
    groups = PolledGroups(t=2)
    groups.add("t", 0, 3)
    groups.add("t", 1, 3)
    first = groups.join("t", eager=True)
    assert not said_by_poll(groups, first)
    second = groups.join("t", eager=True)
    assert said_by_poll(groups, first)
    rejoin(groups, first)
    assert not said_by_poll(groups, first)
    assert said_by_poll(groups, second)
    rejoin(groups, second)
    assert not said_by_poll(groups, second)


def test_after_a_start_an_empty_poll_tells_an_eager_member_to_join_again() -> None:
    groups = PolledGroups(t=1)
    groups.add("t", 0, 3)
    member = groups.join("t", eager=True)
    groups.polls.end_all()
    groups.coordinator.restore(groups.now, groups.journal)
    assert groups.answer(PollGroup("g", member)) == Polled([], rebalance_required=True)
    rejoin(groups, member)
    answer = groups.answer(PollGroup("g", member))
    assert isinstance(answer, Polled)
    assert (offsets(answer.parts), answer.rebalance_required) == ([0, 1, 2], False)


def test_a_poll_tells_a_cooperative_member_that_there_is_something_to_let_go_of() -> None:
    groups = PolledGroups(t=2)
    first = groups.join("t")
    second = groups.join("t")
    assert said_by_poll(groups, first)
    assert not said_by_poll(groups, second)
    groups.answer(RevokePartitions("g", first, 2, {"t": [0, 1]}))
    assert not said_by_poll(groups, first)


def test_a_poll_that_a_second_one_ends_tells_it_too() -> None:
    groups = PolledGroups(t=1)
    member = groups.join("t", eager=True)
    to = groups.ask(PollGroup("g", member, wait_ns=5 * S))
    groups.turn()
    groups.make(t=2)
    groups.wait(2 * S)
    assert to not in groups.answers
    groups.ask(PollGroup("g", member, wait_ns=5 * S))
    groups.turn()
    assert groups.answers.pop(to) == Polled([], rebalance_required=True)
