"""Where new partitions go: spread over racks and nodes, leaders in balance, dead letters with what died."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goqueue.core.cluster.apply import ClusterState
from goqueue.core.cluster.plan import AUTOMATIC
from goqueue.core.cluster.plans import Plans
from goqueue.core.cluster.records import PartitionPlaced
from goqueue.core.requests.cluster import Drain
from goqueue.core.requests.metadata import MakeOwnTopic
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.topics import AddPartitions, AlterTopic, CreateTopic
from tests.core.cluster.gathered import Gathered


def spread(cluster: Gathered, topic: str) -> list[list[str]]:
    """The replicas of every partition."""
    placements = cluster.state.topics[topic].placements
    return [placements[number].replicas for number in sorted(placements)]


@given(nodes=st.integers(1, 6), partitions=st.integers(1, 40), replicas=st.integers(1, 6))
def test_leaders_and_replicas_are_in_balance(nodes: int, partitions: int, replicas: int) -> None:
    cluster = Gathered(nodes)
    cluster.topic("orders", partitions, min(replicas, nodes))
    places = spread(cluster, "orders")
    leaders = Counter(dict.fromkeys(cluster.state.nodes, 0)) + Counter(place[0] for place in places)
    held = Counter(one for place in places for one in place)
    assert max(leaders.values()) - min(leaders[one] for one in cluster.state.nodes) <= 1
    assert max(held.values()) - min(held[one] for one in cluster.state.nodes) <= 1 + (min(replicas, nodes) > 1)
    assert all(len(set(place)) == min(replicas, nodes) for place in places)


def test_what_a_dead_node_led_is_taken_over_by_many() -> None:
    cluster = Gathered(4)
    cluster.topic("orders", 12, 2)
    cluster.die("n1")
    leaders = Counter(placed.leader for placed in cluster.state.topics["orders"].placements.values())
    assert leaders == {"n2": 4, "n3": 4, "n4": 4}


@pytest.mark.parametrize(("racks", "replicas", "expected"), [("aabbcc", 3, 3), ("aabb", 2, 2), ("aaab", 3, 2)])
def test_no_rack_is_used_twice_while_there_are_others(racks: str, replicas: int, expected: int) -> None:
    cluster = Gathered(len(racks), racks)
    cluster.topic("orders", 12, replicas)
    for place in spread(cluster, "orders"):
        assert len({cluster.state.nodes[one].rack for one in place}) == expected


def test_new_topics_even_out_what_is_there() -> None:
    cluster = Gathered(2)
    cluster.topic("first", 3)
    cluster.topic("second", 3)
    both = [*spread(cluster, "first"), *spread(cluster, "second")]
    assert Counter(place[0] for place in both) == {"n1": 3, "n2": 3}


def test_there_are_at_most_as_many_replicas_as_nodes() -> None:
    refusal = Gathered(2).refused(CreateTopic("orders", 1, 3))
    assert (refusal.code, refusal.field) == (Code.INVALID, "replication_factor")


def test_without_a_word_there_are_as_many_replicas_as_by_default_or_as_nodes() -> None:
    cluster = Gathered(2)
    plans = Plans("n1", 1, 3).table()
    plan = plans[CreateTopic](cluster.state, CreateTopic("orders"), 0)
    assert not isinstance(plan, Refusal)
    assert [record.replicas for record in plan if isinstance(record, PartitionPlaced)] == [["n1", "n2"]]
    assert not isinstance(plans[CreateTopic](ClusterState(), CreateTopic("orders"), 0), Refusal)


@pytest.mark.parametrize("request_", [CreateTopic("orders", 1, 2), MakeOwnTopic("__groups", 1, {})])
def test_while_a_cluster_is_founded_its_nodes_are_waited_for(request_: CreateTopic | MakeOwnTopic) -> None:
    plans = Plans("n1", 1, 1, 3).table()
    plan = plans[type(request_)](ClusterState(), request_, 0)
    assert isinstance(plan, Refusal)
    assert (plan.code, plan.retry_after_ms > 0) == (Code.UNAVAILABLE, True)
    assert not isinstance(plans[type(request_)](Gathered(2).state, request_, 0), Refusal)


def test_a_topic_waits_for_nodes_that_live() -> None:
    cluster = Gathered(3)
    cluster.die("n3")
    refusal = cluster.refused(CreateTopic("orders", 1, 3))
    assert (refusal.code, refusal.retry_after_ms > 0) == (Code.NOT_ENOUGH_REPLICAS, True)
    cluster.topic("orders", 4, 2)
    assert all("n3" not in place for place in spread(cluster, "orders"))


def test_a_drained_node_gets_replicas_only_where_it_is_needed_and_leads_none() -> None:
    cluster = Gathered(3)
    cluster.do(Drain("n1"))
    cluster.topic("two", 4, 2)
    cluster.topic("three", 4, 3)
    assert all("n1" not in place for place in spread(cluster, "two"))
    assert all("n1" in place[1:] for place in spread(cluster, "three"))


def test_dead_letters_are_where_what_died_was() -> None:
    cluster = Gathered(4)
    cluster.topic("orders", 4, 3)
    cluster.die("n2")
    cluster.topic("orders.dlq", 4, 3)
    assert spread(cluster, "orders.dlq") == spread(cluster, "orders")
    for number in range(4):
        assert cluster.at("orders.dlq", number).leader == cluster.at("orders", number).leader
        assert "n2" not in cluster.at("orders.dlq", number).isr


def test_dead_letters_under_another_name_are_there_as_well() -> None:
    cluster = Gathered(4)
    cluster.topic("orders", 4, 2)
    cluster.do(AlterTopic("orders", {"dlq_topic": "graveyard"}))
    cluster.topic("graveyard", 4, 1)
    assert spread(cluster, "graveyard") == spread(cluster, "orders")


@pytest.mark.parametrize(("nodes", "replicas"), [(1, 1), (2, 2), (3, 3), (5, 3)])
def test_the_brokers_own_topics_have_three_replicas_where_there_are_so_many_nodes(nodes: int, replicas: int) -> None:
    cluster = Gathered(nodes)
    cluster.do(MakeOwnTopic("__groups", 1, {}))
    assert len(cluster.at("__groups").replicas) == replicas


def test_added_partitions_have_as_many_replicas_as_the_others() -> None:
    cluster = Gathered(3)
    cluster.topic("orders", 2, 2)
    before = spread(cluster, "orders")
    cluster.do(AddPartitions("orders", 5))
    places = spread(cluster, "orders")
    assert places[:2] == before
    assert [len(place) for place in places] == [2] * 5
    assert cluster.state.topics["orders"].partitions == 5


def test_a_node_alone_adds_partitions_that_are_nowhere_in_particular() -> None:
    cluster = Gathered()
    cluster.do(CreateTopic("orders", 1))
    cluster.do(AddPartitions("orders", 2))
    assert (cluster.state.topics["orders"].partitions, spread(cluster, "orders")) == (2, [])


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (AddPartitions("orders", 2), Code.INVALID),
        (AddPartitions("orders", 1), Code.INVALID),
        (AddPartitions("orders", 100_000), Code.INVALID),
        (AddPartitions("nowhere", 2), Code.TOPIC_NOT_FOUND),
        (AddPartitions("__groups", 2), Code.INVALID),
    ],
)
def test_partitions_are_only_added_and_within_bounds(request_: AddPartitions, code: Code) -> None:
    cluster = Gathered(1)
    cluster.topic("orders", 2)
    assert cluster.refused(request_).code is code


@pytest.mark.parametrize(("nodes", "replicas", "waits_for"), [(1, 1, None), (2, 2, None), (3, 3, 2), (5, 3, 2)])
def test_a_topic_gets_three_replicas_and_waits_for_two_where_nobody_says(
    nodes: int, replicas: int, waits_for: int | None
) -> None:
    cluster = Gathered(nodes, replicas_default=AUTOMATIC)
    cluster.topic("orders", 1, 0)
    assert len(cluster.at("orders").replicas) == replicas
    assert cluster.state.topics["orders"].config.get("min_insync_replicas") == waits_for


def test_what_the_maker_of_a_topic_says_goes_before_the_usual_replicas() -> None:
    cluster = Gathered(5, replicas_default=AUTOMATIC)
    cluster.topic("orders", 1, 0, min_insync_replicas=1)
    assert cluster.state.topics["orders"].config["min_insync_replicas"] == 1
    cluster.topic("events", 1, 4)
    assert len(cluster.at("events").replicas) == 4
    assert cluster.state.topics["events"].config["min_insync_replicas"] == 3
