"""Nodes that come, begin anew, die, are drained, stop and are forgotten, and what becomes of partitions."""

import pytest

from goqueue.core.cluster.duties import DeclareDead
from goqueue.core.cluster.plans import answer
from goqueue.core.cluster.records import NodeRegistered, NodeRemoved, NodeStanding, PartitionPlaced, TopicCreated
from goqueue.core.requests.cluster import (
    Drain,
    DrainReply,
    ForgetNode,
    LeaveNode,
    LeaveReply,
    RegisteredReply,
    RegisterNode,
)
from goqueue.core.requests.refusals import Code
from goqueue.core.requests.standing import Standing
from tests.core.cluster.gathered import WALL_MS, Gathered, registration


def test_a_node_that_registers_is_known_to_all() -> None:
    cluster = Gathered(1)
    [record] = cluster.do(registration("n2"))
    assert record == NodeRegistered("n2", 1, "disk-of-n2", "", "n2:7000", "", "", "1.0", WALL_MS)
    assert cluster.state.nodes["n2"].standing is Standing.LIVE
    assert answer(cluster.state, registration("n2")) == RegisteredReply("", Standing.LIVE)


def test_to_register_twice_is_to_register_once() -> None:
    assert Gathered(2).do(registration("n2")) == []


def test_a_node_that_is_reached_elsewhere_is_registered_anew_and_stays_as_it_was() -> None:
    cluster = Gathered(2)
    cluster.do(Drain("n2"))
    moved = registration("n2")
    moved.internal = "elsewhere:7000"
    cluster.do(moved)
    assert cluster.state.nodes["n2"].internal == "elsewhere:7000"
    assert cluster.state.nodes["n2"].standing is Standing.DRAINING


def test_the_controller_registers_first_and_what_was_there_is_its_own() -> None:
    cluster = Gathered()
    cluster.state.apply(TopicCreated("orders", 1, 2, "{}", WALL_MS))
    assert cluster.refused(registration("n2")).code is Code.UNAVAILABLE
    cluster.do(registration("n1"))
    assert [cluster.brief("orders", number) for number in (0, 1)] == ["n1 | n1 | n1 1", "n1 | n1 | n1 1"]
    cluster.do(registration("n2"))


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        (RegisterNode("n2", 2, "another-disk"), "disk_id"),
        (RegisterNode("n2", 2, "disk-of-n2", cluster_id="another"), "cluster_id"),
        (RegisterNode("", 2, "disk"), "node_id"),
    ],
)
def test_who_is_not_what_it_says_is_refused_and_told_what_to_do(request_: RegisterNode, field: str) -> None:
    cluster = Gathered(2)
    cluster.state.cluster_id = "this-one"
    refusal = cluster.refused(request_)
    assert (refusal.code, refusal.field) == (Code.INVALID, field)


def test_a_process_that_begins_anew_is_in_no_isr_that_has_another() -> None:
    cluster = Gathered(3)
    cluster.topic("orders", 1, 3)
    assert cluster.brief("orders") == "n1 n2 n3 | n1 n2 n3 | n1 1"
    cluster.begin("n2")
    assert cluster.brief("orders") == "n1 n2 n3 | n1 n3 | n1 1"
    cluster.begin("n1")
    assert cluster.brief("orders") == "n1 n2 n3 | n3 | n3 2"


def test_a_process_that_begins_anew_alone_in_the_isr_leads_under_another_epoch() -> None:
    cluster = Gathered(1)
    cluster.topic("orders")
    cluster.begin("n1")
    assert cluster.brief("orders") == "n1 | n1 | n1 2"


def test_when_all_begin_anew_the_last_of_the_isr_leads() -> None:
    cluster = Gathered(3)
    cluster.topic("orders", 1, 3)
    for node_id in ("n1", "n3", "n2"):
        cluster.begin(node_id)
    assert cluster.brief("orders") == "n1 n2 n3 | n2 | n2 3"


def test_the_places_of_a_process_change_in_one_step_with_its_registration() -> None:
    cluster = Gathered(2)
    cluster.topic("orders", 1, 2)
    records = cluster.begin("n1")
    assert [type(record) for record in records] == [NodeRegistered, PartitionPlaced]


def test_a_dead_node_leads_nothing_and_is_in_no_isr_that_has_another() -> None:
    cluster = Gathered(3)
    cluster.topic("orders", 1, 3)
    cluster.die("n1")
    assert cluster.brief("orders") == "n1 n2 n3 | n2 n3 | n2 2"
    assert cluster.state.nodes["n1"].standing is Standing.DEAD
    cluster.die("n3")
    assert cluster.brief("orders") == "n1 n2 n3 | n2 | n2 2"


def test_who_has_everything_and_dies_is_waited_for() -> None:
    cluster = Gathered(3)
    cluster.topic("orders", 1, 2)
    cluster.die("n1", "n2")
    assert cluster.brief("orders") == "n1 n2 | n2 | - 3"
    cluster.begin("n1")
    assert cluster.brief("orders") == "n1 n2 | n2 | - 3"
    cluster.begin("n2")
    assert cluster.brief("orders") == "n1 n2 | n2 | n2 4"


def test_who_was_only_cut_off_registers_as_the_same_process_and_leads_again() -> None:
    cluster = Gathered(2)
    cluster.topic("orders")
    cluster.die("n1")
    assert cluster.brief("orders") == "n1 | n1 | - 2"
    cluster.do(registration("n1"))
    assert cluster.brief("orders") == "n1 | n1 | n1 3"
    assert cluster.state.nodes["n1"].standing is Standing.LIVE


def test_an_unclean_leader_is_elected_where_the_topic_says_so() -> None:
    cluster = Gathered(2)
    cluster.topic("clean", 1, 2)
    cluster.topic("hasty", 1, 2, unclean_leader_election=True)
    cluster.die("n2")
    cluster.die("n1")
    assert cluster.brief("clean") == "n1 n2 | n1 | - 2"
    cluster.begin("n2")
    assert cluster.brief("clean") == "n1 n2 | n1 | - 2"
    assert cluster.brief("hasty") == "n2 n1 | n2 | n2 4"


@pytest.mark.parametrize("request_", [DeclareDead("n2", 7), DeclareDead("n9", 1)])
def test_only_the_process_that_was_not_heard_of_is_dead(request_: DeclareDead) -> None:
    assert Gathered(2).do(request_) == []


def test_nobody_dies_twice() -> None:
    cluster = Gathered(2)
    cluster.die("n2")
    assert cluster.do(DeclareDead("n2", 1)) == []


def test_a_drained_node_keeps_its_replicas_and_leads_nothing() -> None:
    cluster = Gathered(3)
    cluster.topic("orders", 3, 3)
    cluster.do(Drain("n1"))
    assert cluster.state.nodes["n1"].standing is Standing.DRAINING
    assert [cluster.at("orders", number).leader for number in range(3)] == ["n2", "n2", "n3"]
    assert all(len(cluster.at("orders", number).isr) == 3 for number in range(3))
    assert answer(cluster.state, Drain("n1")) == DrainReply(0)


def test_a_drained_node_leads_on_what_no_other_can() -> None:
    cluster = Gathered(2)
    cluster.topic("orders")
    cluster.do(Drain("n1"))
    assert cluster.brief("orders") == "n1 | n1 | n1 1"
    assert answer(cluster.state, Drain("n1")) == DrainReply(1)


def test_two_drained_nodes_do_not_hand_over_to_each_other() -> None:
    cluster = Gathered(2)
    cluster.topic("orders", 1, 2)
    cluster.do(Drain("n2"))
    cluster.do(Drain("n1"))
    assert cluster.brief("orders") == "n1 n2 | n1 n2 | n1 1"


def test_a_drained_node_leads_when_the_only_other_one_dies() -> None:
    cluster = Gathered(2)
    cluster.topic("orders", 1, 2)
    cluster.do(Drain("n2"))
    cluster.die("n1")
    assert cluster.brief("orders") == "n1 n2 | n2 | n2 2"


def test_a_node_that_is_drained_no_more_lives() -> None:
    cluster = Gathered(2)
    cluster.do(Drain("n2"))
    assert cluster.do(Drain("n2", is_on=False)) == [NodeStanding("n2", Standing.LIVE)]
    assert cluster.do(Drain("n2", is_on=False)) == []


def test_who_does_not_live_is_not_drained() -> None:
    cluster = Gathered(2)
    cluster.die("n2")
    assert cluster.refused(Drain("n2")).code is Code.INVALID
    assert cluster.refused(Drain("n9")).code is Code.NODE_NOT_FOUND


def test_a_planned_stop_makes_nobody_wait() -> None:
    cluster = Gathered(3)
    cluster.topic("orders", 1, 3)
    cluster.topic("single", 3, 1)
    cluster.do(LeaveNode("n1", 1))
    assert cluster.brief("orders") == "n1 n2 n3 | n2 n3 | n2 2"
    assert [cluster.at("single", number).leader for number in range(3)] == ["n2", "n3", "n1"]
    assert answer(cluster.state, LeaveNode("n1", 1)) == LeaveReply(1)
    assert cluster.do(LeaveNode("n1", 1)) == []


def test_who_has_stopped_and_comes_again_is_as_any_other() -> None:
    cluster = Gathered(2)
    cluster.do(LeaveNode("n2", 1))
    cluster.die("n2")
    cluster.begin("n2")
    assert cluster.state.nodes["n2"].standing is Standing.LIVE


def test_only_the_registered_process_leaves() -> None:
    assert Gathered(2).refused(LeaveNode("n2", 9)).code is Code.NODE_NOT_FOUND


def test_the_replicas_of_a_forgotten_node_go_to_others() -> None:
    cluster = Gathered(4)
    cluster.topic("orders", 1, 3)
    cluster.die("n3")
    cluster.do(ForgetNode("n3"))
    assert "n3" not in cluster.state.nodes
    placed = cluster.at("orders")
    assert (placed.replicas, placed.isr, placed.adding) == (["n1", "n2", "n4"], ["n1", "n2"], ["n4"])


def test_a_forgotten_node_is_missed_where_there_is_nobody_else() -> None:
    cluster = Gathered(3)
    cluster.topic("orders", 1, 3)
    cluster.die("n3")
    assert cluster.do(ForgetNode("n3"))[-1] == NodeRemoved("n3")
    assert cluster.brief("orders") == "n1 n2 | n1 n2 | n1 1"


def test_what_only_a_forgotten_node_had_is_lost_only_if_that_is_accepted() -> None:
    cluster = Gathered(3)
    cluster.topic("single", 3, 1)
    cluster.topic("orders", 1, 2)
    cluster.die("n2", "n1")
    refusal = cluster.refused(ForgetNode("n1"))
    assert (refusal.code, refusal.field) == (Code.INVALID, "accept_loss")
    assert "single/0" in refusal.message
    cluster.do(ForgetNode("n1", accept_loss=True))
    assert cluster.brief("single", 0) == "n3 | n3 | n3 3"
    assert cluster.brief("orders") == "n2 n3 | n3 | n3 3"


def test_who_lives_is_not_forgotten() -> None:
    cluster = Gathered(2)
    assert cluster.refused(ForgetNode("n2")).code is Code.INVALID
    assert cluster.refused(ForgetNode("n9")).code is Code.NODE_NOT_FOUND


def test_a_forgotten_id_may_be_used_with_another_folder() -> None:
    cluster = Gathered(2)
    cluster.die("n2")
    cluster.do(ForgetNode("n2"))
    cluster.do(RegisterNode("n2", 1, "a-new-disk"))
    assert cluster.state.nodes["n2"].disk_id == "a-new-disk"
