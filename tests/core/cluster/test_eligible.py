"""Who may lead: members of the ISR, else those of the ELR, else the longest log. The scenarios are those of KIP-966."""

import pytest

from goqueue.core.cluster.draft import draft
from goqueue.core.cluster.duties import EndStandstill, Tidy
from goqueue.core.cluster.records import PartitionPlaced, TopicAltered
from goqueue.core.requests.cluster import ElectLeaders, ForgetNode, LeaveNode, Reassign, ReplicaMove
from goqueue.core.requests.refusals import Code
from goqueue.core.requests.topics import AlterTopic
from tests.core.cluster.gathered import Gathered, registration


def three(*, fsync: str = "none", min_isr: int = 2, **config: object) -> Gathered:
    """Three nodes with a topic between them that n1 leads."""
    cluster = Gathered(3)
    cluster.topic("orders", 1, 3, fsync=fsync, min_insync_replicas=min_isr, **config)
    return cluster


def end_of_standstill(cluster: Gathered, node_id: str) -> EndStandstill:
    """All replicas have told how far their logs reach, and this node's reaches furthest."""
    placed = cluster.at("orders")
    incarnations = {one: cluster.state.nodes[one].incarnation for one in placed.replicas}
    return EndStandstill("orders", 0, placed.leader_epoch, node_id, incarnations)


# --- the ELR


def test_who_leaves_while_too_few_stay_for_an_acknowledgement_stays_eligible() -> None:
    cluster = three()
    cluster.die("n3")
    assert cluster.eligible("orders") == "n1 n2 |  | n1", "n1 and n2 acknowledge what n3 does not have"
    cluster.die("n2")
    assert cluster.eligible("orders") == "n1 | n2 | n1"


def test_who_fell_behind_while_too_few_stay_is_eligible_as_well() -> None:
    cluster = three(min_isr=3)
    cluster.do(cluster.syncing("orders", ["n1"]))
    assert cluster.eligible("orders") == "n1 | n2 n3 | n1"


def test_with_enough_in_sync_nobody_else_is_eligible() -> None:
    cluster = three()
    cluster.die("n3", "n2")
    cluster.begin("n3")
    cluster.do(cluster.syncing("orders", ["n1", "n3"]))
    assert cluster.eligible("orders") == "n1 n3 |  | n1"


def test_an_eligible_replica_leads_when_the_last_one_in_sync_dies() -> None:
    cluster = three()
    cluster.die("n3")
    cluster.die("n2")
    cluster.begin("n2")
    assert cluster.eligible("orders") == "n1 | n2 | n1"
    cluster.die("n1")
    assert cluster.eligible("orders") == "n2 | n1 | n2"


def test_the_last_replica_standing_that_lost_its_power_does_not_lead() -> None:
    """KIP-966: two leave one after another, the last one loses messages and is back first."""
    cluster = three()
    cluster.die("n3")
    cluster.die("n2")
    cluster.die("n1")
    assert cluster.eligible("orders") == "n1 | n2 | -"
    cluster.begin("n1", lost="unsynced")
    assert cluster.eligible("orders") == " | n2 | -"
    cluster.begin("n3")
    assert cluster.eligible("orders") == " | n2 | -", "messages were acknowledged that n3 does not have"
    cluster.begin("n2")
    assert cluster.eligible("orders") == "n2 |  | n2"


def test_an_eligible_replica_that_lost_its_power_is_so_no_more() -> None:
    cluster = three()
    cluster.die("n3", "n2", "n1")
    cluster.begin("n2", lost="unsynced")
    assert cluster.eligible("orders") == "n1 |  | -"
    cluster.begin("n1")
    assert cluster.eligible("orders") == "n1 |  | n1"


def test_a_member_of_the_isr_that_lost_its_power_is_out_of_it_however_many_stay() -> None:
    cluster = three()
    cluster.begin("n1", lost="unsynced")
    assert cluster.eligible("orders") == "n2 n3 |  | n2"
    cluster.begin("n2", lost="unsynced")
    assert cluster.eligible("orders") == "n3 |  | n3"


@pytest.mark.parametrize(("lost", "eligible"), [("", "n1 | n2 | -"), ("unsynced", "n1 | n2 | -"), ("all", " | n2 | -")])
def test_what_was_acknowledged_when_it_was_on_the_disk_survives_a_power_cut_and_nothing_an_older_folder(
    lost: str, eligible: str
) -> None:
    cluster = three(fsync="every")
    cluster.die("n3")
    cluster.die("n2")
    cluster.die("n1")
    before = cluster.at("orders")
    cluster.do(Tidy())
    assert cluster.at("orders") == before
    cluster.begin("n1", lost=lost)
    expected = eligible if lost == "all" else eligible.replace("-", "n1")
    assert cluster.eligible("orders") == expected


def test_a_topic_that_once_acknowledged_what_was_not_synced_is_not_believed_to_have_it() -> None:
    cluster = three(fsync="interval")
    cluster.do(AlterTopic("orders", {"fsync": "every"}))
    cluster.die("n3", "n2", "n1")
    cluster.begin("n1", lost="unsynced")
    assert cluster.eligible("orders") == " | n2 | -"


def test_a_replica_that_a_leader_has_seen_to_lack_something_is_not_eligible() -> None:
    cluster = three()
    cluster.do(cluster.syncing("orders", ["n1", "n2"]))
    cluster.do(cluster.syncing("orders", ["n1"], lost=("n2",)))
    assert cluster.eligible("orders") == "n1 |  | n1"
    cluster = three(min_isr=3)
    cluster.do(cluster.syncing("orders", ["n1"]))
    cluster.do(cluster.syncing("orders", ["n1"], lost=("n3",)))
    assert cluster.eligible("orders") == "n1 | n2 | n1"
    assert cluster.refused(cluster.syncing("orders", ["n1", "n2"], lost=("n2",))).code is Code.INVALID


def test_a_leader_whose_disk_lost_something_hands_over_to_an_eligible_replica() -> None:
    cluster = three(min_isr=3)
    cluster.do(cluster.syncing("orders", ["n1"]))
    cluster.do(cluster.syncing("orders", ["n1"], resigns=True))
    assert cluster.eligible("orders") == "n2 | n3 | n2"


@pytest.mark.parametrize("fsync", ["every", "none"])
def test_a_leader_whose_disk_failed_goes_on_where_the_only_other_eligible_replica_is_away(fsync: str) -> None:
    cluster = three(fsync=fsync)
    cluster.die("n3", "n2")
    assert cluster.eligible("orders") == "n1 | n2 | n1"
    assert cluster.refused(cluster.syncing("orders", ["n1"], resigns=True)).code is Code.INVALID
    cluster.begin("n2")
    cluster.do(cluster.syncing("orders", ["n1"], resigns=True))
    assert cluster.eligible("orders") == ("n2 | n1 | n2" if fsync == "every" else "n2 |  | n2")


def test_a_leader_whose_disk_has_lost_something_waits_for_the_eligible_replica_that_is_away() -> None:
    cluster = three()
    cluster.die("n3", "n2")
    cluster.do(cluster.syncing("orders", ["n1"], resigns=True, lost=("n1",)))
    assert cluster.eligible("orders") == " | n2 | -"


def test_a_leader_alone_whose_disk_has_lost_something_makes_the_partition_stand_still() -> None:
    cluster = three(min_isr=1)
    cluster.do(cluster.syncing("orders", ["n1"]))
    cluster.do(cluster.syncing("orders", ["n1"], resigns=True, lost=("n1",)))
    assert cluster.eligible("orders") == " |  | -"
    strong = three(fsync="every", min_isr=1)
    strong.do(strong.syncing("orders", ["n1"]))
    strong.do(strong.syncing("orders", ["n1"], resigns=True, lost=("n1",)))
    assert strong.eligible("orders") == "n1 |  | n1"


def test_who_stops_in_order_is_eligible_where_too_few_stay() -> None:
    cluster = three()
    cluster.do(LeaveNode("n3", 1))
    cluster.do(LeaveNode("n2", 1))
    assert cluster.eligible("orders") == "n1 | n2 | n1"
    cluster.die("n2")
    cluster.begin("n2")
    assert cluster.eligible("orders") == "n1 | n2 | n1"


def test_fewer_that_have_to_be_in_sync_make_an_elr_void() -> None:
    cluster = three()
    cluster.die("n3", "n2")
    records = cluster.do(AlterTopic("orders", {"min_insync_replicas": 1}))
    assert [type(record) for record in records] == [TopicAltered, PartitionPlaced]
    assert cluster.eligible("orders") == "n1 |  | n1"
    cluster.do(AlterTopic("orders", {"min_insync_replicas": 3}))
    assert cluster.eligible("orders") == "n1 |  | n1"


def test_a_forgotten_node_is_eligible_for_nothing() -> None:
    cluster = three()
    cluster.die("n3", "n2")
    cluster.do(ForgetNode("n2"))
    assert cluster.eligible("orders") == "n1 |  | n1"
    cluster = three()
    cluster.die("n3", "n2", "n1")
    cluster.begin("n3")
    cluster.do(ForgetNode("n1"))
    assert cluster.eligible("orders") == " | n2 | -", "n2 has everything, and is waited for"
    assert cluster.refused(ForgetNode("n2")).field == "accept_loss"


def test_replicas_that_a_move_takes_away_are_eligible_until_it_is_done() -> None:
    cluster = Gathered(4)
    cluster.topic("orders", 1, 3, fsync="none", min_insync_replicas=2)
    cluster.die("n3", "n2")
    cluster.do(Reassign([ReplicaMove("orders", 0, ["n1", "n4"])]))
    assert cluster.eligible("orders") == "n1 | n2 | n1"
    cluster.do(cluster.syncing("orders", ["n1", "n4"]))
    assert cluster.eligible("orders") == "n1 n4 |  | n1"


def test_a_snapshot_says_who_is_eligible() -> None:
    cluster = three()
    cluster.die("n3", "n2")
    again = Gathered()
    again.state.apply(cluster.state.snapshot())
    assert again.state == cluster.state
    assert again.eligible("orders") == "n1 | n2 | n1"


def test_a_registration_that_comes_after_that_of_the_next_process_changes_nothing() -> None:
    cluster = three(fsync="every")
    cluster.begin("n2")
    cluster.begin("n2")
    before = cluster.at("orders")
    assert cluster.refused(registration("n2", 2)).field == "incarnation"
    again = Gathered()
    again.state.apply(cluster.state.snapshot())
    assert again.refused(registration("n2", 2)).field == "incarnation"
    assert cluster.at("orders") == before


# --- nobody has everything


def test_one_replica_leads_again_whatever_it_has_lost() -> None:
    cluster = Gathered(1)
    cluster.topic("orders", fsync="interval")
    cluster.die("n1")
    cluster.begin("n1", lost="unsynced")
    assert cluster.eligible("orders") == "n1 |  | n1"


def test_all_that_are_killed_at_once_come_back_by_themselves() -> None:
    cluster = three(min_isr=1)
    for node_id in ("n1", "n2", "n3"):
        cluster.begin(node_id)
    assert cluster.at("orders").leader == "n3"


def test_when_all_lose_their_power_the_longest_log_leads_once_all_have_told() -> None:
    cluster = three(min_isr=1)
    for node_id in ("n1", "n2", "n3"):
        cluster.begin(node_id, lost="unsynced")
    assert cluster.eligible("orders") == " |  | -"
    assert cluster.at("orders").last == "n3"
    cluster.do(end_of_standstill(cluster, "n2"))
    assert cluster.eligible("orders") == "n2 |  | n2"
    assert cluster.at("orders").last == ""


def test_what_a_replica_told_before_it_began_anew_decides_nothing() -> None:
    cluster = three(min_isr=1)
    for node_id in ("n1", "n2", "n3"):
        cluster.begin(node_id, lost="unsynced")
    late = end_of_standstill(cluster, "n2")
    cluster.begin("n2")
    assert cluster.do(late) == []
    cluster.die("n1")
    assert cluster.do(end_of_standstill(cluster, "n2")) == [], "n1 may have more"
    cluster.begin("n1")
    cluster.do(end_of_standstill(cluster, "n2"))
    assert cluster.do(late) == []


def test_a_topic_that_lets_anybody_lead_is_led_by_who_was_last_to_have_everything() -> None:
    cluster = three(min_isr=1, unclean_leader_election=True)
    cluster.die("n2", "n3")
    cluster.die("n1")
    cluster.begin("n1", lost="unsynced")
    assert cluster.eligible("orders") == "n1 |  | n1"


# --- an operator accepts the loss


def test_an_operator_lets_a_replica_lead_that_may_lack_messages() -> None:
    cluster = three(min_isr=1)
    cluster.die("n2", "n3", "n1")
    nobody = cluster.refused(ElectLeaders("orders", 0, unclean=True))
    assert nobody.code is Code.NOT_ENOUGH_REPLICAS
    cluster.begin("n3")
    assert cluster.eligible("orders") == "n1 |  | -"
    assert cluster.do(ElectLeaders("orders", 0)) == []
    cluster.do(ElectLeaders("orders", 0, unclean=True))
    assert cluster.eligible("orders") == "n3 |  | n3"
    assert draft(cluster.state.topics["orders"], 0).leader_epoch > 2


def test_who_was_last_to_have_everything_is_preferred_and_any_replica_may_be_named() -> None:
    for named, leader in (("", "n3"), ("n2", "n2")):
        cluster = three(min_isr=1)
        for node_id in ("n1", "n2", "n3"):
            cluster.begin(node_id, lost="unsynced")
        cluster.do(ElectLeaders("orders", 0, unclean=True, node_id=named))
        assert cluster.at("orders").leader == leader


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        (ElectLeaders("orders", 0, unclean=True), "unclean"),
        (ElectLeaders("orders", unclean=True), "partition"),
        (ElectLeaders(unclean=True), "partition"),
        (ElectLeaders("orders", 0, unclean=True, node_id="n9"), "unclean"),
    ],
)
def test_loss_is_accepted_for_one_partition_that_nobody_leads(request_: ElectLeaders, field: str) -> None:
    assert cluster_refuses(three(), request_) == field


def test_only_a_replica_that_lives_is_named() -> None:
    cluster = three(min_isr=1)
    cluster.die("n2", "n3", "n1")
    for node_id in ("n2", "n9"):
        assert cluster_refuses(cluster, ElectLeaders("orders", 0, unclean=True, node_id=node_id)) == "node"


def cluster_refuses(cluster: Gathered, request: ElectLeaders) -> str:
    """The field that a refusal names."""
    return cluster.refused(request).field
