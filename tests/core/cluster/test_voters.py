"""Who is to vote: one change at a time until there are enough, and none that can be done without."""

from collections.abc import Iterable

import pytest

from goqueue.core.cluster.apply import ClusterState
from goqueue.core.cluster.records import NodeStanding
from goqueue.core.cluster.voters import next_change
from goqueue.core.requests.cluster import ForgetNode, ReadmitNode, RegisterNode
from goqueue.core.requests.standing import Standing
from goqueue.core.requests.voters import AddVoter, RemoveVoter
from tests.core.cluster.gathered import Gathered, registration, voter


def change(
    nodes: int, voters: str, dead: str = "", lost: str = "", founders: str = "1", unready: str = ""
) -> AddVoter | RemoveVoter | None:
    """The change that is due among nodes that are named by digits."""
    cluster = Gathered(nodes)
    for one in _names(dead):
        cluster.state.apply(NodeStanding(one, Standing.DEAD))
    return due(cluster, voters, lost, founders, unready)


def due(
    cluster: Gathered, voters: str, lost: str = "", founders: str = "1", unready: str = ""
) -> AddVoter | RemoveVoter | None:
    """The same in a cluster as it is."""
    gone, waiting = _voters(lost), [*_names(unready)]
    return next_change(
        cluster.state, _voters(voters), [*_names(founders)], gone.__contains__, lambda one: one not in waiting
    )


def _names(digits: str) -> Iterable[str]:
    return (f"n{digit}" for digit in digits)


def _voters(digits: str) -> list[str]:
    return [voter(name) for name in _names(digits)]


def add(digit: str) -> AddVoter:
    return AddVoter(voter(f"n{digit}"))


def remove(digit: str) -> RemoveVoter:
    return RemoveVoter(voter(f"n{digit}"))


@pytest.mark.parametrize(
    ("nodes", "voters", "expected"),
    [
        (1, "1", None),
        (2, "1", None),
        (3, "1", add("2")),
        (3, "12", add("3")),
        (3, "123", None),
        (4, "123", None),
        (5, "123", add("4")),
        (5, "1234", add("5")),
        (9, "12345", None),
    ],
)
def test_there_are_one_three_or_five(nodes: int, voters: str, expected: AddVoter | None) -> None:
    assert change(nodes, voters) == expected


def test_founders_come_first() -> None:
    assert change(3, "1", founders="13") == add("3")


@pytest.mark.parametrize("unready", ["2", "3", "23"])
def test_nobody_joins_before_there_are_enough_to_make_the_number_odd(unready: str) -> None:
    assert change(3, "1", unready=unready) is None


def test_the_dead_are_not_made_voters() -> None:
    assert change(3, "1", dead="3") is None


def test_a_voter_that_is_dead_for_long_is_replaced_by_one_that_lives() -> None:
    assert change(4, "123", dead="3") is None
    assert change(4, "123", dead="3", lost="3") == add("4")
    assert change(4, "1234", dead="3", lost="3") == remove("3")


def test_a_dead_voter_stays_where_nobody_can_replace_it() -> None:
    assert change(3, "123", dead="3", lost="3") is None
    assert change(4, "123", dead="3", lost="3", unready="4") is None


@pytest.mark.parametrize("founders", ["1", "123"])
def test_a_voter_whose_node_was_forgotten_leaves_also_if_it_was_a_founder(founders: str) -> None:
    cluster = Gathered(3)
    cluster.die("n3")
    cluster.do(ForgetNode("n3"))
    assert due(cluster, "123", founders=founders) == remove("3")


def test_a_forgotten_node_that_comes_back_with_its_disk_may_vote_again() -> None:
    cluster = Gathered(3)
    cluster.die("n3")
    cluster.do(ForgetNode("n3"))
    cluster.do(registration("n3", 2))
    assert due(cluster, "123") is None
    assert due(cluster, "12") == add("3")


def test_a_voter_that_lost_its_disk_leaves_and_its_node_comes_back_as_another() -> None:
    cluster = Gathered(3)
    cluster.die("n3")
    assert due(cluster, "123") is None
    cluster.do(ReadmitNode("n3"))
    assert due(cluster, "123") == remove("3")
    cluster.do(RegisterNode("n3", 2, "another-disk"))
    assert due(cluster, "123") == remove("3")
    assert due(cluster, "12") == AddVoter("n3/another-disk")


def test_the_only_voter_stays_whatever_became_of_it() -> None:
    cluster = Gathered(2)
    cluster.die("n1")
    cluster.do(ReadmitNode("n1"))
    assert due(cluster, "1") is None


def test_a_founder_that_is_yet_to_come_stays() -> None:
    assert change(2, "123", founders="123") is None


def test_a_summary_remembers_who_was_given_up() -> None:
    cluster = Gathered(3)
    cluster.die("n2", "n3")
    cluster.do(ForgetNode("n3"))
    cluster.do(ReadmitNode("n2"))
    again = ClusterState()
    again.apply(cluster.state.snapshot())
    assert again == cluster.state
    assert again.given_up == _voters("32")
