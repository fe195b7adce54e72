"""What the controller brings into order of its own accord."""

from goqueue.core.cluster.duties import NameCluster, Tidy
from goqueue.core.cluster.records import ClusterNamed, NodeStanding, TopicRemoved
from goqueue.core.requests.cluster import Drain
from goqueue.core.requests.metadata import FinishDelete, MakeOwnTopic
from goqueue.core.requests.refusals import Code
from goqueue.core.requests.standing import Standing
from goqueue.core.requests.topics import CreateTopic, DeleteTopic
from tests.core.cluster.gathered import Gathered, registration


def test_where_all_is_well_there_is_nothing_to_do() -> None:
    cluster = Gathered(3)
    cluster.topic("orders", 4, 3)
    assert cluster.do(Tidy(["n1", "n2", "n3"])) == []


def test_a_partition_without_a_leader_gets_one_who_lives() -> None:
    cluster = Gathered(2)
    cluster.topic("orders", 1, 2)
    cluster.die("n2", "n1")
    cluster.state.apply(NodeStanding("n1", Standing.LIVE))
    cluster.do(Tidy())
    assert cluster.brief("orders") == "n1 n2 | n1 | n1 3"


def test_a_node_that_is_to_lead_nothing_hands_over_when_another_can() -> None:
    cluster = Gathered(2)
    cluster.topic("orders", 1, 2)
    cluster.do(Drain("n2"))
    cluster.do(Drain("n1"))
    cluster.do(Drain("n2", is_on=False))
    cluster.do(Tidy())
    assert cluster.brief("orders") == "n1 n2 | n1 n2 | n2 2"


def test_first_replicas_lead_again_only_when_they_have_lived_for_a_while() -> None:
    cluster = Gathered(2)
    cluster.topic("orders", 1, 2)
    cluster.begin("n1")
    cluster.do(cluster.syncing("orders", ["n1", "n2"]))
    assert cluster.do(Tidy(["n2"])) == []
    cluster.do(Tidy(["n1", "n2"]))
    assert cluster.brief("orders") == "n1 n2 | n1 n2 | n1 3"


def test_few_leaders_move_in_a_round() -> None:
    cluster = Gathered(2)
    cluster.topic("orders", 100, 2)
    cluster.begin("n1")
    for number in range(100):
        cluster.do(cluster.syncing("orders", ["n1", "n2"], number))
    assert 0 < len(cluster.do(Tidy(["n1"]))) < 50


def test_the_brokers_own_topics_get_more_replicas_when_the_cluster_grows() -> None:
    cluster = Gathered(1)
    cluster.do(MakeOwnTopic("__groups", 1, {}))
    cluster.topic("orders")
    cluster.do(registration("n2"))
    cluster.do(registration("n3"))
    cluster.do(Tidy())
    assert cluster.brief("__groups") == "n1 n2 n3 | n1 | n1 1"
    assert cluster.at("__groups").adding == ["n2", "n3"]
    assert cluster.at("orders").replicas == ["n1"]
    cluster.do(cluster.syncing("__groups", ["n1", "n2", "n3"]))
    assert cluster.brief("__groups") == "n1 n2 n3 | n1 n2 n3 | n1 1"
    assert cluster.at("__groups").adding == []


def test_a_cluster_is_named_once() -> None:
    cluster = Gathered(1)
    assert cluster.do(NameCluster("one")) == [ClusterNamed("one")]
    assert cluster.do(NameCluster("other")) == []


def test_a_name_is_free_when_all_that_had_the_topic_have_removed_it() -> None:
    cluster = Gathered(3)
    cluster.topic("orders", 1, 2)
    cluster.do(DeleteTopic("orders"))
    refusal = cluster.refused(CreateTopic("orders", 1, 1))
    assert (refusal.code, "n1, n2" in refusal.message) == (Code.UNAVAILABLE, True)
    assert cluster.do(FinishDelete("orders", "n3")) == []
    assert cluster.do(FinishDelete("orders", "n2")) == [TopicRemoved("orders", 1, "n2")]
    assert cluster.do(FinishDelete("orders", "n2")) == []
    cluster.do(FinishDelete("orders", "n1"))
    cluster.topic("orders")
