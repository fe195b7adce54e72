"""Moves of partitions, and leaders that go back to where they belong."""

import pytest

from goqueue.core.cluster.plans import answer
from goqueue.core.requests.cluster import Drain, ElectLeaders, ElectReply, Reassign, ReplicaMove
from goqueue.core.requests.refusals import Code
from tests.core.cluster.gathered import Gathered


def quartet() -> Gathered:
    """Four nodes, and a partition on the first two."""
    cluster = Gathered(4)
    cluster.topic("orders", 1, 2)
    return cluster


def move(*replicas: str) -> Reassign:
    """A move of the one partition."""
    return Reassign([ReplicaMove("orders", 0, [*replicas])])


def test_a_move_adds_first_and_takes_away_last() -> None:
    cluster = quartet()
    cluster.do(move("n3", "n4"))
    placed = cluster.at("orders")
    assert (placed.adding, placed.removing) == (["n3", "n4"], ["n1", "n2"])
    assert cluster.brief("orders") == "n3 n4 n1 n2 | n1 n2 | n1 1"
    cluster.do(cluster.syncing("orders", ["n1", "n2", "n3"]))
    assert cluster.brief("orders") == "n3 n4 n1 n2 | n3 n1 n2 | n1 1"
    cluster.do(cluster.syncing("orders", ["n1", "n2", "n3", "n4"]))
    assert cluster.brief("orders") == "n3 n4 | n3 n4 | n3 2"


def test_a_move_that_only_takes_away_is_complete_at_once() -> None:
    cluster = quartet()
    cluster.do(move("n2"))
    assert cluster.brief("orders") == "n2 | n2 | n2 2"


def test_a_move_that_only_orders_anew_is_complete_at_once_and_leaves_the_leader() -> None:
    cluster = quartet()
    cluster.do(move("n2", "n1"))
    assert cluster.brief("orders") == "n2 n1 | n1 n2 | n1 1"


def test_a_move_is_taken_back_with_all_that_it_added() -> None:
    cluster = quartet()
    cluster.do(move("n3", "n4"))
    cluster.do(cluster.syncing("orders", ["n1", "n2", "n3"]))
    cluster.do(move())
    assert cluster.brief("orders") == "n1 n2 | n1 n2 | n1 1"
    assert (cluster.at("orders").adding, cluster.at("orders").removing) == ([], [])


def test_a_move_that_is_not_under_way_is_not_taken_back() -> None:
    assert quartet().refused(move()).code is Code.INVALID


def test_a_move_is_not_taken_back_when_only_the_new_ones_have_everything() -> None:
    cluster = quartet()
    cluster.do(move("n3", "n4"))
    cluster.do(cluster.syncing("orders", ["n1", "n3"]))
    cluster.die("n1")
    assert cluster.at("orders").leader == "n3"
    assert cluster.refused(move()).field == "replicas"


def test_a_move_may_be_turned_to_another_goal() -> None:
    cluster = quartet()
    cluster.do(move("n3", "n2"))
    cluster.do(move("n4", "n2"))
    placed = cluster.at("orders")
    assert (placed.replicas, placed.adding, placed.removing) == (["n4", "n2", "n1"], ["n4"], ["n1"])


def test_a_move_to_where_it_is_changes_nothing() -> None:
    assert quartet().do(move("n1", "n2")) == []


def test_a_replica_that_leaves_does_not_lead_where_another_can() -> None:
    cluster = quartet()
    cluster.do(move("n2", "n3"))
    cluster.do(Drain("n2"))
    cluster.die("n1")
    assert cluster.brief("orders") == "n2 n3 n1 | n2 | n2 2"


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (Reassign([]), Code.INVALID),
        (move("n3", "n3"), Code.INVALID),
        (move("n9"), Code.NODE_NOT_FOUND),
        (Reassign([ReplicaMove("nowhere", 0, ["n1"])]), Code.TOPIC_NOT_FOUND),
        (Reassign([ReplicaMove("orders", 5, ["n1"])]), Code.PARTITION_NOT_FOUND),
        (Reassign([ReplicaMove("orders", 0, ["n1"]), ReplicaMove("orders", 0, ["n2"])]), Code.INVALID),
    ],
)
def test_a_move_that_cannot_be_is_refused(request_: Reassign, code: Code) -> None:
    assert quartet().refused(request_).code is code


def test_nothing_is_moved_to_the_dead() -> None:
    cluster = quartet()
    cluster.die("n3")
    assert cluster.refused(move("n3")).code is Code.INVALID


def test_all_moves_of_a_request_are_begun_or_none() -> None:
    cluster = quartet()
    cluster.refused(Reassign([ReplicaMove("orders", 0, ["n3"]), ReplicaMove("nowhere", 0, ["n1"])]))
    assert cluster.brief("orders") == "n1 n2 | n1 n2 | n1 1"


def test_first_replicas_lead_again_where_they_are_in_sync() -> None:
    cluster = quartet()
    cluster.begin("n1")
    assert cluster.brief("orders") == "n1 n2 | n2 | n2 2"
    assert cluster.do(ElectLeaders()) == []
    assert answer(cluster.state, ElectLeaders()) == ElectReply(1)
    cluster.do(cluster.syncing("orders", ["n1", "n2"]))
    cluster.do(ElectLeaders("orders", 0))
    assert cluster.brief("orders") == "n1 n2 | n1 n2 | n1 3"
    assert answer(cluster.state, ElectLeaders("orders", 0)) == ElectReply(0, "n1")


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (ElectLeaders("nowhere"), Code.TOPIC_NOT_FOUND),
        (ElectLeaders("", 1), Code.TOPIC_NOT_FOUND),
        (ElectLeaders("orders", 3), Code.PARTITION_NOT_FOUND),
    ],
)
def test_leaders_are_elected_of_what_there_is(request_: ElectLeaders, code: Code) -> None:
    assert quartet().refused(request_).code is code
