"""A member's dealings with its group, step by step: what it asks, what it gives up, what it concludes."""

from random import Random

import pytest

from goqueue.core.client.failure import CONNECTION_LOST, Failure
from goqueue.core.client.membership import (
    JOIN_NS,
    LEAVE_ATTEMPTS_MAX,
    Assigned,
    Kept,
    Lost,
    MemberRequest,
    Membership,
    Revoking,
    Standing,
)
from goqueue.core.requests.groups import (
    GroupBeat,
    GroupMode,
    GroupState,
    Joined,
    JoinGroup,
    LeaveGroup,
    Partitions,
    RevokedPartitions,
    RevokePartitions,
    WatchGroup,
)
from goqueue.core.requests.refusals import Code, Refusal

MS = 1_000_000
SESSION_MS = 30_000
CUT = Failure(CONNECTION_LOST, "cut")
A0, A1 = ("a", 0), ("a", 1)


class Driven:
    """A membership, its clock, and the request that is under way."""

    def __init__(self, session_ms: int = SESSION_MS) -> None:
        self.now = 1_000 * MS
        self.it = Membership(JoinGroup("g", ["a"], session_timeout_ms=session_ms), Random(1))
        self.number = 0

    def ask(self) -> MemberRequest:
        """What it asks at the time it wants to."""
        due = self.it.deadline()
        assert due is not None
        self.now = max(self.now, due)
        taken = self.it.take(self.now)
        assert taken is not None
        self.it.check()
        self.number = taken[0]
        return taken[1]

    def hear(self, answer: object, after_ms: int = 1) -> list[object]:
        """It is answered; the news."""
        self.now += after_ms * MS
        self.it.answered(self.now, self.number, answer)  # type: ignore[arg-type]
        return self.news()

    def fail(self, failure: Failure = CUT) -> list[object]:
        """Its request fails."""
        self.it.failed(self.now, self.number, failure)
        return self.news()

    def news(self) -> list[object]:
        """What there is to follow."""
        self.it.check()
        news, self.it.news = self.it.news, []
        return list(news)

    def join(self, assigned: Partitions) -> list[object]:
        """It becomes a member."""
        assert isinstance(self.ask(), JoinGroup)
        return self.hear(Joined("m1", 1, GroupMode.EXCLUSIVE, assigned, {}, 10_000, False, ["m1"], 11))

    def beat(self, generation: int, assigned: Partitions, to_revoke: Partitions, after_ms: int = 1) -> list[object]:
        """Its watch is answered."""
        assert isinstance(self.ask(), WatchGroup)
        return self.hear(beat(generation, assigned, to_revoke), after_ms)


def beat(generation: int, assigned: Partitions, to_revoke: Partitions) -> GroupBeat:
    """The answer to a watch."""
    seen = hash((generation, str(assigned), str(to_revoke)))
    return GroupBeat(generation, GroupState.STABLE, assigned, to_revoke, 0, False, seen)


def test_a_member_joins_watches_and_reads_what_it_is_told() -> None:
    driven = Driven()
    assert driven.join({"a": [0]}) == [Assigned([A0])]
    assert driven.ask() == WatchGroup("g", "m1", 11, 10_000 * MS)
    assert driven.hear(beat(2, {"a": [0, 1]}, {})) == [Assigned([A1])]
    assert list(driven.it.reading) == [A0, A1]
    assert driven.it.generation == 2


def test_what_is_wanted_back_is_confirmed_once_it_is_released() -> None:
    driven = Driven()
    driven.join({"a": [0, 1]})
    assert driven.beat(2, {"a": [0]}, {"a": [1]}) == [Revoking([A1])]
    assert isinstance(driven.ask(), WatchGroup)
    watching = driven.number
    driven.it.released(driven.now, [A1, A0])
    # The watch counts no more: what it is answered may speak of an earlier time.
    assert driven.ask() == RevokePartitions("g", "m1", 2, {"a": [1]})
    driven.it.answered(driven.now, watching, beat(1, {"a": [0, 1]}, {}))
    assert driven.news() == []
    assert driven.hear(RevokedPartitions(0, GroupState.STABLE)) == []
    assert driven.beat(2, {"a": [0]}, {}) == []
    assert list(driven.it.reading) == [A0]


def test_what_is_to_stay_after_all_is_kept() -> None:
    driven = Driven()
    driven.join({"a": [0]})
    driven.beat(2, {}, {"a": [0]})
    assert driven.beat(3, {"a": [0]}, {}) == [Kept([A0])]
    driven.it.released(driven.now, [A0])
    assert list(driven.it.reading) == [A0]


def test_a_confirmation_that_is_lost_is_said_again() -> None:
    driven = Driven()
    driven.join({"a": [0]})
    driven.beat(2, {}, {"a": [0]})
    driven.it.released(driven.now, [A0])
    for _ in range(2):
        assert driven.ask() == RevokePartitions("g", "m1", 2, {"a": [0]})
        driven.fail()
    driven.ask()
    driven.hear(RevokedPartitions(0, GroupState.STABLE))
    # It was ignored: meanwhile the group is further, and asks once more.
    assert driven.beat(4, {}, {"a": [0]}) == []
    assert driven.ask() == RevokePartitions("g", "m1", 4, {"a": [0]})


def test_what_the_coordinator_speaks_of_no_more_is_lost() -> None:
    driven = Driven()
    driven.join({"a": [0, 1]})
    driven.beat(2, {"a": [0]}, {"a": [1]})
    assert driven.beat(2, {"a": [0]}, {}) == [Lost([A1])]


@pytest.mark.parametrize("code", [Code.UNKNOWN_MEMBER, Code.GROUP_NOT_FOUND])
def test_a_member_that_is_not_known_has_lost_all_and_joins_at_once(code: Code) -> None:
    driven = Driven()
    driven.join({"a": [0]})
    driven.ask()
    assert driven.hear(Refusal(code, "who?")) == [Lost([A0])]
    assert driven.it.deadline() == driven.now
    assert driven.ask() == JoinGroup("g", ["a"], session_timeout_ms=SESSION_MS)
    assert not driven.it.is_certain(driven.now)


def test_a_member_that_was_replaced_is_over() -> None:
    driven = Driven()
    driven.join({"a": [0]})
    driven.ask()
    assert driven.hear(Refusal(Code.FENCED_INSTANCE, "another is here")) == [Lost([A0])]
    assert driven.it.standing is Standing.OVER
    assert driven.it.failure == Failure("fenced_instance", "another is here")
    assert driven.it.deadline() is None
    assert driven.it.take(driven.now) is None


def test_a_join_that_makes_no_sense_is_not_tried_again_and_one_that_cannot_be_served_is() -> None:
    driven = Driven()
    driven.ask()
    driven.hear(Refusal(Code.UNAVAILABLE, "too many", retry_after_ms=9_000))
    assert driven.it.trouble is not None
    assert driven.it.deadline() == driven.now + 9_000 * MS
    driven.ask()
    driven.hear(Refusal(Code.WRONG_MODE, "the group is shared", "mode"))
    assert driven.it.failure == Failure("wrong_mode", "the group is shared", "mode")


def test_failures_are_followed_by_longer_and_longer_pauses_and_by_a_look_at_everything() -> None:
    driven = Driven()
    driven.join({"a": [0]})
    pauses, seen = [], []
    for _ in range(10):
        watch = driven.ask()
        assert isinstance(watch, WatchGroup)
        seen.append(watch.seen)
        driven.fail()
        due = driven.it.deadline()
        assert due is not None
        pauses.append(due - driven.now)
    assert seen == [11] + [0] * 9
    assert 25 * MS <= pauses[0] <= 50 * MS
    assert SESSION_MS * MS // 12 <= pauses[-1] <= SESSION_MS * MS // 6
    assert driven.beat(1, {"a": [0]}, {}) == []
    assert driven.it.trouble is None


def test_a_watch_that_is_not_answered_is_given_up_in_good_time() -> None:
    driven = Driven()
    driven.join({"a": [0]})
    driven.ask()
    driven.now += 14_999 * MS
    driven.it.wake(driven.now)
    assert driven.it.live
    driven.now += MS
    driven.it.wake(driven.now)
    assert not driven.it.live
    assert isinstance(driven.ask(), WatchGroup)
    assert driven.it.is_certain(driven.now)


def test_a_member_is_certain_for_its_session_and_never_longer_than_a_revocation_may_take() -> None:
    for session_ms, certain_ms in ((SESSION_MS, SESSION_MS), (600_000, 60_000)):
        driven = Driven(session_ms)
        driven.join({"a": [0]})
        sent = driven.now - MS
        assert driven.it.is_certain(sent + certain_ms * MS - 1)
        assert not driven.it.is_certain(sent + certain_ms * MS)


def test_who_was_silent_for_long_and_finds_the_group_two_divisions_on_begins_anew() -> None:
    driven = Driven()
    driven.join({"a": [0]})
    driven.ask()
    driven.now += 70_000 * MS
    driven.fail()
    assert driven.beat(3, {"a": [0]}, {}) == [Lost([A0]), Assigned([A0])]


@pytest.mark.parametrize(("silence_ms", "generation"), [(20_000, 3), (70_000, 2)])
def test_who_was_silent_but_cannot_have_been_cut_off_goes_on(silence_ms: int, generation: int) -> None:
    driven = Driven()
    driven.join({"a": [0]})
    driven.ask()
    driven.now += silence_ms * MS
    driven.fail()
    assert driven.beat(generation, {"a": [0]}, {}) == []


def test_an_answer_at_once_that_says_nothing_new_is_not_asked_for_again_at_once() -> None:
    driven = Driven()
    driven.join({"a": [0]})
    driven.beat(1, {"a": [0]}, {})
    watch = driven.ask()
    assert isinstance(watch, WatchGroup)
    sent = driven.now
    driven.hear(GroupBeat(1, GroupState.STABLE, {"a": [0]}, {}, 0, False, watch.seen))
    assert driven.it.deadline() == sent + 5_000 * MS
    # What is to be said is said all the same.
    driven.beat(2, {}, {"a": [0]})
    driven.it.released(driven.now, [A0])
    assert driven.it.deadline() == driven.now


def test_a_clock_that_goes_back_stands_still_and_then_goes_on() -> None:
    driven = Driven()
    driven.join({"a": [0]})
    driven.ask()
    driven.now -= 900 * MS
    driven.it.wake(driven.now)
    assert driven.it.is_certain(driven.now)
    due = driven.it.deadline()
    assert due is not None
    assert due - driven.now == 15_000 * MS
    driven.now = due
    driven.it.wake(driven.now)
    assert not driven.it.live


def test_a_clock_that_jumps_ahead_costs_an_attempt_and_no_partition() -> None:
    driven = Driven()
    driven.join({"a": [0]})
    driven.ask()
    driven.now += 3_600_000 * MS
    driven.it.wake(driven.now)
    assert not driven.it.is_certain(driven.now)
    assert driven.beat(1, {"a": [0]}, {}) == []
    assert driven.it.is_certain(driven.now)


def test_leaving_says_so_and_gives_up_after_some_attempts() -> None:
    driven = Driven()
    driven.join({"a": [0]})
    driven.ask()
    driven.it.leave(driven.now)
    assert driven.news() == []
    assert driven.ask() == LeaveGroup("g", "m1")
    driven.hear(None)
    assert driven.it.standing is Standing.OVER
    assert driven.it.failure is None
    driven = Driven()
    driven.join({})
    driven.it.leave(driven.now)
    for _ in range(LEAVE_ATTEMPTS_MAX):
        assert isinstance(driven.ask(), LeaveGroup)
        driven.fail()
    assert driven.it.standing is Standing.OVER


def test_who_leaves_while_it_joins_takes_back_what_it_made() -> None:
    driven = Driven()
    driven.ask()
    driven.it.leave(driven.now)
    assert driven.hear(Joined("m9", 4, GroupMode.EXCLUSIVE, {"a": [0]}, {}, 10_000, False, ["m9"], 5)) == []
    assert driven.ask() == LeaveGroup("g", "m9")
    for is_sent in (False, True):
        driven = Driven()
        if is_sent:
            driven.ask()
        driven.it.leave(driven.now)
        if is_sent:
            driven.now += JOIN_NS
            driven.it.wake(driven.now)
        assert driven.it.standing is Standing.OVER
