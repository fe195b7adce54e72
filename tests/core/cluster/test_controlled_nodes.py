"""Nodes that a controller looks after: stopped, moved to, given back their leaders, made voters, forgotten."""

from goqueue.core.cluster.apply import Placement
from goqueue.core.requests.cluster import (
    ClusterReply,
    DescribeCluster,
    DescribeReassignments,
    ElectLeaders,
    ForgetNode,
    Reassign,
    ReassignmentsReply,
    ReplicaMove,
)
from goqueue.core.requests.messages import Fetch, Fetched, NewRecord, Publish, Published, PublishReply
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.standing import Standing
from goqueue.core.requests.topics import AddPartitions, CreateTopic, TopicReply
from tests.core.driven_cluster import DrivenCluster

MS = 1_000_000


def founded(count: int = 3) -> DrivenCluster:
    """Nodes that all know each other."""
    cluster = DrivenCluster(count)
    cluster.until(lambda: cluster.controller() != "")
    cluster.until(lambda: all(len(cluster.node(name).peers()) == count - 1 for name in cluster.living()))
    return cluster


def with_topic(cluster: DrivenCluster, partitions: int = 1, replicas: int = 3) -> None:
    """Make a topic, and wait until somebody leads it."""
    made = cluster.answer(cluster.living()[0], CreateTopic("orders", partitions, replicas))
    assert isinstance(made, TopicReply), made
    cluster.until(lambda: all(cluster.leader("orders", number) for number in range(partitions)))


def publish(cluster: DrivenCluster, name: str, value: bytes, partition: int = 0) -> None:
    """Have a message acknowledged by all, as a client does that sends again what passes."""
    result: object = None
    for _ in range(50):
        reply = cluster.answer(name, Publish("orders", [NewRecord(None, value, partition=partition)]))
        assert isinstance(reply, PublishReply)
        [result] = reply.results
        if not (isinstance(result, Refusal) and result.retry_after_ms):
            break
        cluster.advance(result.retry_after_ms)
    assert isinstance(result, Published), result


def place(cluster: DrivenCluster, name: str, partition: int = 0) -> Placement:
    """The place of a partition, as a node knows it."""
    return cluster.node(name).led.topics["orders"].topic.placements[partition]


def described(cluster: DrivenCluster, name: str) -> ClusterReply:
    """The cluster, as a node knows it."""
    reply = cluster.answer(name, DescribeCluster())
    assert isinstance(reply, ClusterReply)
    return reply


def test_a_planned_stop_costs_less_than_a_third_of_a_second() -> None:
    cluster = founded()
    with_topic(cluster)
    leaving = cluster.leader("orders")
    other = next(name for name in cluster.living() if name != leaving)
    publish(cluster, other, b"before")
    begun = cluster.now
    cluster.node(leaving).leave(cluster.now)
    publish(cluster, other, b"meanwhile")
    cluster.until(lambda: cluster.node(leaving).has_left)
    publish(cluster, other, b"after")
    assert cluster.now - begun < 300 * MS
    assert place(cluster, other).leader != leaving
    assert leaving not in place(cluster, other).isr
    cluster.kill(leaving)
    publish(cluster, other, b"without it")


def test_who_has_left_comes_again_as_any_other() -> None:
    cluster = founded()
    with_topic(cluster)
    leaving = cluster.leader("orders")
    cluster.node(leaving).leave(cluster.now)
    cluster.until(lambda: cluster.node(leaving).has_left)
    cluster.kill(leaving)
    cluster.start(leaving)
    other = next(name for name in cluster.living() if name != leaving)
    cluster.until(lambda: len(place(cluster, other).isr) == 3)
    assert {node.standing for node in described(cluster, other).nodes} == {Standing.LIVE}


def _led_by_the_controller() -> tuple[DrivenCluster, str]:
    """Nodes of which one decides and leads a partition as well."""
    cluster = founded()
    with_topic(cluster)
    controller = cluster.controller()
    cluster.answer(controller, Reassign([ReplicaMove("orders", 0, _first(cluster, controller))]))
    cluster.answer(controller, ElectLeaders())
    cluster.until(lambda: cluster.leader("orders") == controller)
    return cluster, controller


def test_where_a_process_has_certainly_ended_nobody_waits_for_it() -> None:
    cluster, controller = _led_by_the_controller()
    cluster.kill(controller)
    begun, other = cluster.now, cluster.living()[0]
    for name in cluster.living():
        cluster.node(name).peer_gone(cluster.now, controller)
    publish(cluster, other, b"a")
    assert cluster.now - begun < 1_500 * MS


def test_the_death_of_leader_and_controller_is_overcome_in_five_seconds() -> None:
    cluster, controller = _led_by_the_controller()
    cluster.kill(controller)
    begun, other = cluster.now, cluster.living()[0]
    publish(cluster, other, b"a")
    assert cluster.now - begun < 5_000 * MS
    assert cluster.controller() not in ("", controller)


def _first(cluster: DrivenCluster, name: str) -> list[str]:
    return [name, *(one for one in cluster.living() if one != name)]


def test_first_replicas_lead_again_when_they_have_lived_for_a_while() -> None:
    cluster = founded()
    with_topic(cluster)
    first = place(cluster, "n1").replicas[0]
    cluster.kill(first)
    other = cluster.living()[0]
    cluster.until(lambda: place(cluster, other).leader not in ("", first))
    cluster.start(first)
    cluster.until(lambda: place(cluster, other).leader == first, 90_000)
    publish(cluster, other, b"a")


def test_a_partition_moves_to_other_nodes_with_all_that_it_has() -> None:
    cluster = founded(4)
    with_topic(cluster, 1, 2)
    old = place(cluster, "n1").replicas
    new = [name for name in cluster.living() if name not in old]
    for number in range(5):
        publish(cluster, "n1", b"%d" % number)
    assert cluster.answer("n1", Reassign([ReplicaMove("orders", 0, new)])) is None
    cluster.until(lambda: place(cluster, "n1").replicas == new)
    assert place(cluster, "n1").leader in new
    moves = cluster.answer("n1", DescribeReassignments())
    assert moves == ReassignmentsReply([])
    for name in old:
        cluster.kill(name)
    reply = cluster.answer(new[0], Fetch("orders", 0, 0))
    assert isinstance(reply, Fetched)
    assert reply.high_watermark == 5


def test_a_move_to_a_node_that_is_away_waits_and_is_taken_back() -> None:
    cluster = founded()
    with_topic(cluster, 1, 1)
    [old] = place(cluster, "n1").replicas
    away = next(name for name in cluster.living() if name != old)
    cluster.isolate(away)
    assert cluster.answer(old, Reassign([ReplicaMove("orders", 0, [away])])) is None
    publish(cluster, old, b"a")
    reply = cluster.answer(old, DescribeReassignments())
    assert isinstance(reply, ReassignmentsReply)
    assert [(move.adding, move.removing) for move in reply.moves] == [([away], [old])]
    assert cluster.answer(old, Reassign([ReplicaMove("orders", 0)])) is None
    assert place(cluster, old).replicas == [old]
    publish(cluster, old, b"b")


def test_partitions_are_added_while_messages_flow() -> None:
    cluster = founded()
    with_topic(cluster, 1, 2)
    publish(cluster, "n2", b"a")
    assert cluster.answer("n3", AddPartitions("orders", 4)) is None
    cluster.until(lambda: all(cluster.leader("orders", number) for number in range(4)))
    for number in range(4):
        publish(cluster, "n2", b"b", number)
    assert all(len(place(cluster, "n1", number).replicas) == 2 for number in range(4))


def test_nodes_that_join_become_voters() -> None:
    cluster = DrivenCluster(1)
    cluster.until(lambda: cluster.controller() == "n1")
    for name in ("n2", "n3"):
        cluster.add(name, [])
        for other in cluster.living():
            if other != name:
                cluster.node(name).peer_met(cluster.now, other)
                cluster.node(other).peer_met(cluster.now, name)
    cluster.until(lambda: described(cluster, "n3").voters == ["n1", "n2", "n3"], 60_000)
    cluster.kill("n1")
    cluster.until(lambda: cluster.controller() in ("n2", "n3"))


def test_a_node_that_is_forgotten_is_missed_by_nobody() -> None:
    cluster = founded(4)
    with_topic(cluster, 1, 3)
    gone = next(name for name in place(cluster, "n1").replicas if name != cluster.controller())
    cluster.kill(gone)
    alive = cluster.living()[0]
    cluster.until(lambda: gone not in place(cluster, alive).isr)
    assert cluster.answer(alive, ForgetNode(gone)) is None
    cluster.until(lambda: sorted(place(cluster, alive).isr) == sorted(cluster.living()), 60_000)
    assert gone not in [node.node_id for node in described(cluster, alive).nodes]


def test_who_lives_is_not_forgotten_whoever_is_asked() -> None:
    cluster = founded()
    reply = cluster.answer("n3", ForgetNode("n2"))
    assert isinstance(reply, Refusal)
    assert reply.code is Code.INVALID
