"""Commits of many callers: what travels together, and what each is told."""

from hypothesis import given
from hypothesis import strategies as st

from goqueue.core.client.committing import Commit, Committing
from goqueue.core.client.failure import Failure

P0, P1 = ("a", 0), ("a", 1)
FENCED, FAR = Failure("fenced_generation", "not yours"), Failure("offset_out_of_range", "too far")


def test_what_comes_while_one_is_under_way_travels_together_afterwards() -> None:
    committing = Committing()
    first = committing.add({P0: 3})
    assert committing.take() == {P0: 3}
    second, third = committing.add({P0: 5}), committing.add({P0: 4, P1: 7})
    assert committing.take() == {}
    committing.answered({})
    assert (first.is_settled, second.is_settled) == (True, False)
    assert committing.take() == {P0: 5, P1: 7}
    committing.answered({P1: FENCED})
    assert second.is_settled
    assert not second.failures
    assert third.failures == {P1: FENCED}
    assert committing.take() == {}


def test_nothing_to_commit_is_done_at_once() -> None:
    committing = Committing()
    assert committing.add({}).is_settled
    assert committing.take() == {}


def test_whoever_wants_too_much_fails_alone() -> None:
    committing = Committing()
    modest, greedy = committing.add({P0: 4}), committing.add({P0: 400})
    assert committing.take() == {P0: 400}
    committing.answered({P0: FAR})
    assert greedy.failures == {P0: FAR}
    assert modest.open == {P0: 4}
    assert committing.take() == {P0: 4}
    committing.answered({})
    assert modest.is_settled
    assert not modest.failures


def test_a_request_that_fails_fails_all_that_it_carried() -> None:
    committing = Committing()
    first = committing.add({P0: 1, P1: 1})
    committing.take()
    later = committing.add({P0: 2})
    committing.failed(FENCED)
    assert first.failures == {P0: FENCED, P1: FENCED}
    assert committing.take() == {P0: 2}
    assert not later.is_settled


def test_what_waits_for_a_lost_partition_is_not_sent() -> None:
    committing = Committing()
    commit = committing.add({P0: 1, P1: 2})
    committing.abandon(FENCED, [P0])
    assert committing.take() == {P1: 2}
    committing.answered({})
    assert commit.failures == {P0: FENCED}
    rest = committing.add({P1: 3})
    committing.abandon(FENCED)
    assert rest.failures == {P1: FENCED}
    assert committing.take() == {}


ROUNDS = st.lists(
    st.one_of(
        st.dictionaries(st.sampled_from([P0, P1]), st.integers(0, 20), min_size=1),
        st.just("carry"),
        st.just("cut"),
    ),
    max_size=30,
)


@given(ROUNDS)
def test_every_commit_is_told_what_a_broker_with_an_end_would_have_said_to_it_alone(rounds: list[object]) -> None:
    """The broker refuses what lies beyond its end, and requests that are cut fail whole."""
    end, committing, commits = 10, Committing(), list[Commit]()
    cut: list[Commit] = []
    for each in [*rounds, *["carry"] * 60]:
        if isinstance(each, dict):
            commits.append(committing.add(each))
        elif sent := committing.take():
            committing.check()
            if each == "carry":
                committing.answered({slot: FAR for slot, offset in sent.items() if offset > end})
            else:
                cut += [commit for commit in commits if not commit.is_settled]
                committing.failed(FENCED)
        committing.check()
    for commit in commits:
        assert commit.is_settled
        if commit not in cut:
            assert commit.failures == {slot: FAR for slot, offset in commit.offsets.items() if offset > end}
