"""Who is to vote: one change at a time until there are enough, and none that can be done without."""

from collections.abc import Iterable

import pytest

from goqueue.core.cluster.records import NodeStanding, Standing
from goqueue.core.cluster.voters import next_change
from goqueue.core.quorum.verbs import AddVoter, RemoveVoter
from tests.core.cluster.gathered import Gathered


def change(
    nodes: int, voters: str, dead: str = "", lost: str = "", founders: str = "1", unready: str = ""
) -> AddVoter | RemoveVoter | None:
    """The change that is due among nodes that are named by digits."""
    cluster = Gathered(nodes)
    for one in _names(dead):
        cluster.state.apply(NodeStanding(one, Standing.DEAD))
    gone, waiting = [*_names(lost)], [*_names(unready)]
    return next_change(
        cluster.state, [*_names(voters)], [*_names(founders)], gone.__contains__, lambda one: one not in waiting
    )


def _names(digits: str) -> Iterable[str]:
    return (f"n{digit}" for digit in digits)


@pytest.mark.parametrize(
    ("nodes", "voters", "expected"),
    [
        (1, "1", None),
        (2, "1", None),
        (3, "1", AddVoter("n2")),
        (3, "12", AddVoter("n3")),
        (3, "123", None),
        (4, "123", None),
        (5, "123", AddVoter("n4")),
        (5, "1234", AddVoter("n5")),
        (9, "12345", None),
    ],
)
def test_there_are_one_three_or_five(nodes: int, voters: str, expected: AddVoter | None) -> None:
    assert change(nodes, voters) == expected


def test_founders_come_first() -> None:
    assert change(3, "1", founders="13") == AddVoter("n3")


def test_who_has_just_come_is_waited_for() -> None:
    assert change(3, "1", unready="23") is None


def test_the_dead_are_not_made_voters() -> None:
    assert change(3, "1", dead="3") is None


def test_a_voter_that_is_dead_for_long_is_replaced_by_one_that_lives() -> None:
    assert change(4, "123", dead="3") is None
    assert change(4, "123", dead="3", lost="3") == AddVoter("n4")
    assert change(4, "1234", dead="3", lost="3") == RemoveVoter("n3")


def test_a_dead_voter_stays_where_nobody_can_replace_it() -> None:
    assert change(3, "123", dead="3", lost="3") is None


def test_a_voter_whose_node_was_forgotten_leaves() -> None:
    assert change(2, "129") == RemoveVoter("n9")


def test_a_founder_that_is_yet_to_come_stays() -> None:
    assert change(2, "123", founders="123") is None
