"""Nodes whose data folder was emptied: they vote and confirm nothing, and come back when an operator says so."""

from goqueue.core.requests.cluster import ClusterReply, DescribeCluster, ForgetNode, ReadmitNode
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.topics import CreateTopic, ListTopics, TopicReply
from tests.core.cluster.test_controlled_nodes import described, founded, place, publish, with_topic
from tests.core.driven_cluster import DrivenCluster


def topics(cluster: DrivenCluster, name: str) -> list[str]:
    """The topics that a node knows, once it has heard from a controller."""
    found = cluster.answer(name, ListTopics())
    assert isinstance(found, list)
    return [one.name for one in found if isinstance(one, TopicReply)]


def absence(cluster: DrivenCluster, name: str) -> str:
    """Why a node is no part of the cluster, as it says itself."""
    reply = cluster.members[name].answers[cluster.ask(name, DescribeCluster())]
    assert isinstance(reply, ClusterReply)
    return reply.absence


def wiped(cluster: DrivenCluster, name: str) -> None:
    """A node begins again with an empty folder, and is told that it is not let in."""
    cluster.wipe(name)
    cluster.start(name)
    cluster.meet(name)
    cluster.until(lambda: "readmit" in cluster.node(name).problem)


def test_what_was_agreed_with_a_voter_outlives_the_voters_disk() -> None:
    cluster = founded()
    first = cluster.controller()
    second, third = (name for name in cluster.living() if name != first)
    cluster.kill(third)
    cluster.until(lambda: described(cluster, first).nodes[int(third[1:]) - 1].standing == "dead")
    assert isinstance(cluster.answer(first, CreateTopic("orders", 1, 2)), TopicReply)
    cluster.wipe(second)
    cluster.kill(first)
    cluster.start(second)
    cluster.start(third)
    cluster.meet(second)
    cluster.advance(20_000)
    assert cluster.controller() == "", "whoever lacks what was agreed is elected by a voter that has forgotten it"
    cluster.start(first)
    cluster.meet(first)
    cluster.until(lambda: cluster.controller() != "")
    assert topics(cluster, third) == ["orders"]
    assert cluster.controller() != second


def test_a_node_that_lost_its_folder_comes_back_when_it_is_readmitted() -> None:
    cluster = founded()
    with_topic(cluster)
    victim = next(name for name in cluster.living() if name != cluster.controller())
    other = next(name for name in cluster.living() if name != victim)
    publish(cluster, other, b"before")
    wiped(cluster, victim)
    assert "readmit" in absence(cluster, victim)
    cluster.until(lambda: victim not in place(cluster, other).isr)
    publish(cluster, other, b"meanwhile")
    assert cluster.answer(other, ReadmitNode(victim)) is None
    assert cluster.answer(other, ReadmitNode(victim)) is None, "to say it twice does no harm"
    cluster.until(lambda: len(place(cluster, other).isr) == 3, 30_000)
    cluster.until(lambda: described(cluster, other).voters == ["n1", "n2", "n3"], 30_000)
    assert described(cluster, other).missing_voters == []
    assert all(node.is_voter for node in described(cluster, other).nodes)
    assert absence(cluster, victim) == ""
    cluster.kill(other)
    cluster.until(lambda: cluster.controller() != "", 30_000)
    publish(cluster, victim, b"after")


def test_a_node_that_lost_its_folder_may_be_forgotten_and_join_anew() -> None:
    cluster = founded()
    with_topic(cluster, 1, 2)
    victim = next(name for name in cluster.living() if name != cluster.controller())
    other = next(name for name in cluster.living() if name != victim)
    cluster.wipe(victim)
    cluster.until(lambda: described(cluster, other).nodes[int(victim[1:]) - 1].standing == "dead")
    assert cluster.answer(other, ForgetNode(victim)) is None
    cluster.until(lambda: victim not in described(cluster, other).voters, 30_000)
    cluster.start(victim)
    cluster.meet(victim)
    cluster.until(lambda: described(cluster, other).voters == ["n1", "n2", "n3"], 30_000)
    assert absence(cluster, victim) == ""


def test_who_runs_is_not_readmitted_and_who_is_unknown_is_not_either() -> None:
    cluster = founded()
    for name, code in (("n2", Code.INVALID), ("n9", Code.NODE_NOT_FOUND)):
        reply = cluster.answer("n1", ReadmitNode(name))
        assert isinstance(reply, Refusal)
        assert reply.code is code


def test_what_only_an_emptied_node_had_is_lost_only_if_that_is_accepted() -> None:
    cluster = founded()
    with_topic(cluster, 1, 1)
    victim = cluster.leader("orders")
    other = next(name for name in cluster.living() if name != victim)
    publish(cluster, other, b"lost")
    wiped(cluster, victim)
    cluster.until(lambda: place(cluster, other).leader == "")
    reply = cluster.answer(other, ReadmitNode(victim))
    assert isinstance(reply, Refusal)
    assert (reply.code, reply.field) == (Code.INVALID, "accept_loss")
    assert "orders/0" in reply.message
    cluster.advance(10_000)
    assert place(cluster, other).leader == ""
    epoch = place(cluster, other).leader_epoch
    assert cluster.answer(other, ReadmitNode(victim, accept_loss=True)) is None
    cluster.until(lambda: cluster.leader("orders") == victim, 30_000)
    assert place(cluster, other).leader_epoch > epoch
    publish(cluster, other, b"after")


def test_a_majority_that_lost_its_folders_founds_no_other_cluster() -> None:
    cluster = founded()
    with_topic(cluster)
    cluster.kill("n1")
    for name in ("n2", "n3"):
        cluster.wipe(name)
    for name in ("n2", "n3"):
        cluster.start(name)
    cluster.meet("n2")
    cluster.advance(20_000)
    assert cluster.controller() == ""
    assert "founders" in absence(cluster, "n2")
    cluster.start("n1")
    cluster.meet("n1")
    cluster.advance(20_000)
    assert [cluster.node(name).is_controller for name in cluster.living()] == [False] * 3


def test_a_cluster_begins_when_its_last_founder_is_there() -> None:
    cluster = DrivenCluster(3)
    cluster.kill("n3")
    cluster.advance(10_000)
    assert cluster.controller() == ""
    assert "n3" in absence(cluster, "n1")
    cluster.start("n3")
    cluster.until(lambda: cluster.controller() != "")
    cluster.until(lambda: absence(cluster, "n1") == "")


def test_one_voter_becomes_three_within_a_moment() -> None:
    """Between the second voter and the third one stop would leave nobody to decide."""
    cluster = DrivenCluster(1)
    cluster.until(lambda: cluster.controller() == "n1")
    for name in ("n2", "n3"):
        cluster.add(name, [])
        cluster.meet(name)
    cluster.until(lambda: len(described(cluster, "n1").voters) > 1, 60_000)
    begun = cluster.now
    cluster.until(lambda: len(described(cluster, "n1").voters) == 3)
    assert cluster.now - begun < 200_000_000


def test_a_second_voter_waits_for_a_third() -> None:
    cluster = DrivenCluster(1)
    cluster.until(lambda: cluster.controller() == "n1")
    cluster.add("n2", [])
    cluster.meet("n2")
    cluster.advance(60_000)
    assert described(cluster, "n1").voters == ["n1"]


def test_a_founder_that_begins_anew_by_itself_stays_apart_from_those_who_joined_it() -> None:
    cluster = DrivenCluster(1)
    cluster.until(lambda: cluster.controller() == "n1")
    for name in ("n2", "n3"):
        cluster.add(name, [])
        cluster.meet(name)
    cluster.until(lambda: described(cluster, "n2").voters == ["n1", "n2", "n3"], 60_000)
    with_topic(cluster, 1, 3)
    cluster_id = cluster.node("n2").cluster_id
    cluster.wipe("n1")
    cluster.start("n1")
    cluster.meet("n1")
    cluster.until(lambda: any(cluster.node(name).is_controller for name in ("n2", "n3")))
    cluster.advance(10_000)
    assert cluster.node("n1").cluster_id not in ("", cluster_id)
    assert cluster.node("n1").is_controller, "it follows a leader of the other cluster"
    assert [cluster.node(name).cluster_id for name in ("n2", "n3")] == [cluster_id] * 2
    assert (topics(cluster, "n1"), topics(cluster, "n2")) == ([], ["orders"])
    publish(cluster, "n2", b"after")
