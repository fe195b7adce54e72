"""Three nodes that are one broker: found, asked anywhere, cut, killed, started again, grown."""

import pytest

from goqueue.core.records.batch import split
from goqueue.core.records.record import iterate
from goqueue.core.requests.cluster import (
    ClusterFigures,
    ClusterReply,
    DescribeCluster,
    DescribeReassignments,
    Drain,
    DrainReply,
    MeasureCluster,
    Reassign,
    ReassignmentsReply,
    ReplicaMove,
)
from goqueue.core.requests.messages import Fetch, Fetched, NewRecord, Publish, Published, PublishReply
from goqueue.core.requests.refusals import Refusal
from goqueue.core.requests.topics import (
    AlterTopic,
    CreateTopic,
    DeleteTopic,
    DescribePartitions,
    PartitionReply,
    TopicReply,
)
from goqueue.storage.claims import claim
from tests.core.driven_cluster import DrivenCluster, DrivenMember


def with_topic(name: str = "orders", partitions: int = 1, replicas: int = 3, **config: object) -> DrivenCluster:
    cluster = DrivenCluster(3)
    cluster.until(lambda: cluster.controller() != "" and all_registered(cluster))
    made = cluster.answer("n1", CreateTopic(name, partitions, replicas, config))
    assert isinstance(made, TopicReply)
    cluster.until(lambda: all(cluster.leader(name, number) for number in range(partitions)))
    return cluster


def all_registered(cluster: DrivenCluster) -> bool:
    return all(len(cluster.node(name).peers()) == len(cluster.members) - 1 for name in cluster.living())


def publish(cluster: DrivenCluster, name: str, *values: bytes, topic: str = "orders", partition: int = 0) -> list[int]:
    """The offsets of messages that are acknowledged by all."""
    reply = cluster.answer(name, Publish(topic, [NewRecord(None, value, partition=partition) for value in values]))
    assert isinstance(reply, PublishReply), reply
    offsets = [one.offset for one in reply.results if isinstance(one, Published)]
    assert len(offsets) == len(values), reply
    return offsets


def read(cluster: DrivenCluster, name: str, topic: str = "orders", partition: int = 0) -> list[bytes]:
    """The values of all messages in a partition, asked of one node."""
    values: list[bytes] = []
    offset = 0
    while True:
        reply = cluster.answer(name, Fetch(topic, partition, offset))
        assert isinstance(reply, Fetched), reply
        if reply.next_offset == offset:
            return values
        for batch in split(reply.batches):
            values += [bytes(record.value or b"") for record in iterate(batch)]
        offset = reply.next_offset


def partitions_of(cluster: DrivenCluster, name: str, topic: str = "orders") -> list[PartitionReply]:
    reply = cluster.answer(name, DescribePartitions(topic))
    assert isinstance(reply, list)
    return [one for one in reply if isinstance(one, PartitionReply)]


def test_three_nodes_agree_on_one_controller_and_know_each_other() -> None:
    cluster = DrivenCluster(3)
    cluster.until(lambda: cluster.controller() != "" and all_registered(cluster), 5_000)
    ids = {cluster.node(name).cluster_id for name in cluster.living()}
    assert len(ids) == 1
    assert ids != {""}
    reply = cluster.answer("n2", DescribeCluster())
    assert isinstance(reply, ClusterReply)
    assert [node.node_id for node in reply.nodes] == ["n1", "n2", "n3"]


def test_any_node_takes_any_request() -> None:
    cluster = with_topic(partitions=3)
    for number, name in enumerate(("n1", "n2", "n3")):
        for partition in range(3):
            assert publish(cluster, name, b"%d" % number, partition=partition) == [number]
    for name in ("n1", "n2", "n3"):
        assert [read(cluster, name, partition=partition) for partition in range(3)] == [[b"0", b"1", b"2"]] * 3


def test_a_publish_to_several_partitions_is_answered_in_order() -> None:
    cluster = with_topic(partitions=3)
    records = [NewRecord(None, b"%d" % at, partition=at % 3) for at in range(9)]
    reply = cluster.answer("n1", Publish("orders", records))
    assert isinstance(reply, PublishReply)
    assert [(one.partition, one.offset) for one in reply.results if isinstance(one, Published)] == [
        (at % 3, at // 3) for at in range(9)
    ]


def test_what_is_acknowledged_outlives_the_leader() -> None:
    cluster = with_topic()
    leader = cluster.leader("orders")
    publish(cluster, leader, b"1", b"2")
    cluster.kill(leader)
    [other, *_] = cluster.living()
    cluster.until(lambda: cluster.leader("orders") not in ("", leader), 6_000)
    assert publish(cluster, other, b"3") == [2]
    assert read(cluster, other) == [b"1", b"2", b"3"]


def test_a_node_that_comes_back_catches_up_and_is_in_sync_again() -> None:
    cluster = with_topic()
    leader = cluster.leader("orders")
    publish(cluster, leader, b"1")
    cluster.kill(leader)
    [other, *_] = cluster.living()
    cluster.until(lambda: cluster.leader("orders") not in ("", leader), 6_000)
    publish(cluster, other, b"2")
    cluster.start(leader)
    cluster.until(lambda: sorted(partitions_of(cluster, other)[0].isr) == ["n1", "n2", "n3"])
    replica = cluster.node(leader).led.held("logs/orders/0")
    assert replica is not None
    assert replica.log.next_offset == 2


def lag_of(cluster: DrivenCluster, name: str) -> dict[str, int]:
    figures = cluster.answer(name, MeasureCluster())
    assert isinstance(figures, ClusterFigures)
    return figures.replication_lag


def test_a_follower_that_is_gone_shows_in_what_its_leader_says_of_the_topic() -> None:
    cluster = with_topic()
    leader = cluster.leader("orders")
    publish(cluster, leader, b"1")
    cluster.until(lambda: lag_of(cluster, leader) == {"orders": 0})
    away = next(name for name in cluster.living() if name not in (leader, cluster.controller()))
    cluster.kill(away)
    publish(cluster, leader, b"2", b"3")
    assert lag_of(cluster, leader) == {"orders": 2}
    cluster.start(away)
    cluster.until(lambda: lag_of(cluster, leader) == {"orders": 0})


def test_without_the_controller_another_one_makes_topics() -> None:
    cluster = with_topic()
    controller = cluster.controller()
    cluster.kill(controller)
    [other, *_] = cluster.living()
    reply = cluster.answer(other, CreateTopic("more", 1, 2), within_ms=8_000)
    assert isinstance(reply, TopicReply)


def test_a_leader_that_is_cut_off_acknowledges_nothing_and_gives_up_what_nobody_else_has() -> None:
    cluster = with_topic()
    leader = cluster.leader("orders")
    publish(cluster, leader, b"1")
    cluster.isolate(leader)
    lonely = cluster.ask(leader, Publish("orders", [NewRecord(None, b"lost", partition=0)]))
    others = [name for name in cluster.living() if name != leader]
    cluster.until(lambda: any("logs/orders/0" in cluster.node(name).led.streams for name in others), 8_000)
    publish(cluster, others[0], b"2")
    cluster.advance(1_000)
    reply = cluster.members[leader].answers.get(lonely)
    assert not isinstance(reply, PublishReply) or isinstance(reply.results[0], Refusal)
    cluster.heal()
    cluster.until(lambda: sorted(partitions_of(cluster, others[0])[0].isr) == ["n1", "n2", "n3"])
    assert read(cluster, leader) == [b"1", b"2"]


def test_a_topic_that_was_made_again_while_a_node_was_away_is_not_the_old_one() -> None:
    cluster = with_topic()
    publish(cluster, "n1", b"old")
    away = next(name for name in cluster.living() if name not in (cluster.leader("orders"), cluster.controller()))
    [other, *_] = [name for name in cluster.living() if name != away]
    cluster.kill(away)
    cluster.advance(5_000)
    assert cluster.answer(other, DeleteTopic("orders")) is None
    assert isinstance(cluster.answer(other, CreateTopic("orders", 1, 2)), TopicReply)
    cluster.until(lambda: cluster.leader("orders") != "")
    publish(cluster, other, b"new")
    cluster.start(away)
    cluster.advance(5_000)
    assert read(cluster, away) == [b"new"]


def test_what_was_deleted_or_moved_while_a_node_was_away_goes_when_it_is_back() -> None:
    cluster = DrivenCluster(4)
    cluster.until(lambda: cluster.controller() != "" and all_registered(cluster))
    for name in ("orders", "moved", "kept"):
        assert isinstance(cluster.answer("n1", CreateTopic(name, 1, 4 if name == "orders" else 2)), TopicReply)
    cluster.until(lambda: all(cluster.leader(name) for name in ("orders", "moved", "kept")))
    [here] = [one.replicas for one in partitions_of(cluster, "n1", "moved")]
    away = next(name for name in here if name != cluster.controller())
    stayed = [name for name in cluster.members if name != away]
    cluster.kill(away)
    cluster.advance(5_000)
    assert cluster.answer(stayed[0], DeleteTopic("orders")) is None
    there = [name for name in stayed if name not in here][:2]
    assert cluster.answer(stayed[0], Reassign([ReplicaMove("moved", 0, there)])) is None
    cluster.until(lambda: sorted(partitions_of(cluster, stayed[0], "moved")[0].replicas) == there, 60_000)
    assert {"logs/orders/0", "logs/moved/0"} <= folders(cluster, away)
    # No topic of this cluster ever had that id: somebody may want what is there back.
    claim(cluster.members[away].disk, "logs/strange/0", 1_000)
    kept = {folder for folder in folders(cluster, away) if folder.startswith(("logs/kept", "logs/strange"))}
    cluster.start(away)
    cluster.advance(10_000)
    assert folders(cluster, away) & {"logs/orders/0", "logs/moved/0"} == set()
    assert kept <= folders(cluster, away)


def test_what_was_deleted_while_a_node_was_cut_off_goes_even_if_the_name_is_another_topics_elsewhere() -> None:
    cluster = DrivenCluster(4)
    cluster.until(lambda: cluster.controller() != "" and all_registered(cluster))
    for name in ("gone", "again"):
        assert isinstance(cluster.answer("n1", CreateTopic(name, 1, 4)), TopicReply)
    cluster.until(lambda: all(folders(cluster, node) >= {"logs/gone/0", "logs/again/0"} for node in cluster.members))
    away = next(name for name in cluster.living() if name != cluster.controller())
    stayed = [name for name in cluster.members if name != away]
    cluster.isolate(away)
    cluster.advance(5_000)
    for name in ("gone", "again"):
        assert cluster.answer(stayed[0], DeleteTopic(name)) is None
    assert isinstance(cluster.answer(stayed[0], CreateTopic("again", 1, 2)), TopicReply)
    assert away not in partitions_of(cluster, stayed[0], "again")[0].replicas
    cluster.heal()
    cluster.advance(10_000)
    assert folders(cluster, away) & {"logs/gone/0", "logs/again/0"} == set()


def test_what_was_deleted_while_a_node_was_away_goes_also_if_the_next_topic_of_the_name_is_being_removed() -> None:
    cluster = DrivenCluster(5)
    cluster.until(lambda: cluster.controller() != "" and all_registered(cluster))
    assert isinstance(cluster.answer("n1", CreateTopic("orders", 1, 5)), TopicReply)
    cluster.until(lambda: all("logs/orders/0" in folders(cluster, node) for node in cluster.members))
    away = next(name for name in cluster.living() if name != cluster.controller())
    cluster.kill(away)
    cluster.advance(5_000)
    first = cluster.living()[0]
    assert cluster.answer(first, DeleteTopic("orders")) is None
    assert isinstance(cluster.answer(first, CreateTopic("orders", 1, 2)), TopicReply)
    replicas = partitions_of(cluster, first, "orders")[0].replicas
    assert away not in replicas
    late = next(name for name in replicas if name != cluster.controller())
    asked = next(name for name in cluster.living() if name != late)
    cluster.kill(late)
    cluster.ask(asked, DeleteTopic("orders"))
    cluster.start(away)
    cluster.until(lambda: cluster.node(away)._agreement.is_current)
    assert late in cluster.node(away)._agreement.state.holders["orders"], "the name is still to be freed"
    cluster.advance(3_000)
    assert "logs/orders/0" not in folders(cluster, away)


def folders(cluster: DrivenCluster, name: str) -> set[str]:
    """The folders of partitions on a node's disk, whether it lives or not."""
    paths = cluster.members[name].disk.paths()
    return {"/".join(path.split("/")[:3]) for path in paths if path.startswith("logs/")}


def test_one_node_grows_into_three_and_loses_nothing() -> None:
    cluster = DrivenCluster(1)
    cluster.until(lambda: cluster.controller() == "n1")
    cluster.answer("n1", CreateTopic("orders", 1, 1))
    publish(cluster, "n1", b"1")
    for name in ("n2", "n3"):
        cluster.add(name, [])
        for other in cluster.living():
            if other != name:
                cluster.node(name).peer_met(cluster.now, other)
    cluster.until(lambda: all_registered(cluster), 10_000)
    cluster.until(lambda: len(voters(cluster)) == 3, 60_000)
    assert read(cluster, "n3") == [b"1"]
    cluster.kill("n1")
    reply = cluster.answer("n2", CreateTopic("more", 1, 2), within_ms=10_000)
    assert isinstance(reply, TopicReply)


def voters(cluster: DrivenCluster) -> list[str]:
    reply = cluster.answer("n1", DescribeCluster())
    assert isinstance(reply, ClusterReply)
    return reply.voters


def test_a_node_that_is_drained_leads_nothing_and_misses_nothing() -> None:
    cluster = with_topic(partitions=3)
    name = cluster.leader("orders", 0)
    publish(cluster, name, b"1")
    reply = cluster.answer("n1", Drain(name))
    assert isinstance(reply, DrainReply)
    cluster.until(lambda: all(cluster.leader("orders", number) not in ("", name) for number in range(3)), 5_000)
    publish(cluster, name, b"2")
    assert read(cluster, name) == [b"1", b"2"]


@pytest.mark.parametrize("name", ["n1", "n2", "n3"])
def test_a_topic_with_more_replicas_than_nodes_is_refused_wherever_it_is_asked_for(name: str) -> None:
    cluster = with_topic()
    reply = cluster.answer(name, CreateTopic("more", 1, 4))
    assert isinstance(reply, Refusal)
    assert "replication_factor" in reply.field


def test_a_move_is_told_of_while_it_is_under_way_and_keeps_everything() -> None:
    cluster = DrivenCluster(4)
    cluster.until(lambda: cluster.controller() != "" and all_registered(cluster))
    cluster.answer("n1", CreateTopic("orders", 1, 2))
    cluster.until(lambda: cluster.leader("orders") != "")
    for at in range(20):
        publish(cluster, "n1", b"%d" % at)
    [here] = [one.replicas for one in partitions_of(cluster, "n1")]
    there = [name for name in cluster.members if name not in here]
    assert cluster.answer("n1", Reassign([ReplicaMove("orders", 0, there)])) is None
    cluster.until(lambda: sorted(partitions_of(cluster, "n1")[0].replicas) == sorted(there), 30_000)
    reply = cluster.answer("n1", DescribeReassignments())
    assert isinstance(reply, ReassignmentsReply)
    assert reply.moves == []
    assert read(cluster, "n1") == [b"%d" % at for at in range(20)]
    cluster.advance(2_000)
    for name in here:
        assert cluster.node(name).led.held("logs/orders/0") is None
        assert not [path for path in cluster.members[name].disk.paths() if path.startswith("logs/orders/0")]


def test_where_the_leader_stays_a_dead_replica_holds_up_nobody() -> None:
    """A leader must not ask for a replica again that is taken out for dead, and wait for it meanwhile."""
    cluster = with_topic()
    leader = cluster.leader("orders")
    publish(cluster, leader, b"1")
    victim = next(name for name in cluster.living() if name not in (leader, cluster.controller()))
    cluster.kill(victim)
    for name in cluster.living():
        cluster.node(name).peer_gone(cluster.now, victim)
    begun = cluster.now
    publish(cluster, leader, b"2")
    assert cluster.now - begun < 100_000_000


def test_a_topic_that_comes_to_be_synced_now_and_then_is_so_on_all_replicas() -> None:
    """Also what was there before, and though nothing comes that a follower would write."""
    cluster = with_topic(fsync="none")
    publish(cluster, "n1", b"1", b"2")
    cluster.advance(1_000)
    assert not isinstance(cluster.answer("n1", AlterTopic("orders", {"fsync": "interval"})), Refusal)
    cluster.advance(1_000)
    for name in cluster.living():
        held = cluster.node(name).led.held("logs/orders/0")
        assert held is not None
        assert held.log.next_offset == 2
        assert held.log.synced_offset == 2, name


def test_a_planned_stop_holds_up_nobody() -> None:
    cluster = with_topic(partitions=3)
    name = cluster.leader("orders", 0)
    other = next(one for one in cluster.living() if one != name)
    for partition in range(3):
        publish(cluster, other, b"before", partition=partition)
    cluster.node(name).leave(cluster.now)
    begun = cluster.now
    for partition in range(3):
        publish(cluster, other, b"meanwhile", partition=partition)
    cluster.until(lambda: cluster.node(name).has_left, 5_000)
    cluster.kill(name)
    for partition in range(3):
        publish(cluster, other, b"after", partition=partition)
    assert cluster.now - begun < 300_000_000
    assert read(cluster, other) == [b"before", b"meanwhile", b"after"]


def test_a_node_under_a_known_name_with_another_folder_is_told_why_it_stays_outside() -> None:
    cluster = with_topic()
    cluster.kill("n3")
    cluster.members["n3"] = DrivenMember("n3", [], "", lambda node: node, disk_id="another")
    cluster.start("n3")
    for other in ("n1", "n2"):
        cluster.node("n3").peer_met(cluster.now, other)
    cluster.until(lambda: cluster.node("n3").problem != "", 20_000)
    assert "n3" in cluster.node("n3").problem
    assert cluster.leader("orders") != "n3"


def test_a_node_that_is_cut_off_names_no_leaders() -> None:
    cluster = with_topic()
    cluster.isolate("n1")
    cluster.advance(4_000)
    to = cluster.ask("n1", DescribePartitions("orders"))
    reply = cluster.members["n1"].answers[to]
    assert isinstance(reply, Refusal)
    assert reply.retry_after_ms > 0
    cluster.heal()
    cluster.advance(5_000)
    assert partitions_of(cluster, "n1")[0].leader == cluster.leader("orders")
