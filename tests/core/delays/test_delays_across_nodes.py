"""Delayed messages among three nodes: kept back, asked about and moved by whoever leads their partition, once."""

import pytest

from goqueue.core.log.thresholds import Thresholds
from goqueue.core.requests.delays import (
    CancelDelayed,
    DelayedMessage,
    DelayedMessages,
    GetDelayed,
    ListDelayed,
    RescheduleDelayed,
)
from goqueue.core.requests.messages import Acks, NewRecord, Publish, Published, PublishReply
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.topics import DescribePartitions, PartitionReply
from tests.core.driven_cluster import DrivenCluster, DrivenMember
from tests.core.test_clustered_nodes import read, with_topic

PARTITIONS = 3


def later(
    cluster: DrivenCluster, name: str, delay_ms: int, *values: bytes, partition: int | None = None
) -> list[Published]:
    """Messages that are kept back for so long."""
    records = [NewRecord(None, value, partition=partition, delay_ms=delay_ms) for value in values]
    reply = cluster.answer(name, Publish("orders", records))
    assert isinstance(reply, PublishReply), reply
    found = [one for one in reply.results if isinstance(one, Published)]
    assert len(found) == len(values), reply
    return found


def listed(cluster: DrivenCluster, name: str, limit: int = 100) -> list[DelayedMessage]:
    """All messages that are kept back, page by page."""
    found: list[DelayedMessage] = []
    after = None
    while True:
        reply = cluster.answer(name, ListDelayed("orders", limit, after))
        assert isinstance(reply, DelayedMessages), reply
        found += reply.messages
        after = reply.after
        if after is None:
            return found


def delivered(cluster: DrivenCluster) -> list[bytes]:
    """What is in the topic, of all partitions."""
    name = cluster.living()[0]
    return sorted(value for number in range(PARTITIONS) for value in read(cluster, name, partition=number))


def test_a_message_is_kept_back_and_moved_by_the_leader_whoever_was_asked() -> None:
    cluster = with_topic(partitions=PARTITIONS)
    for name in cluster.living():
        for number in range(PARTITIONS):
            later(cluster, name, 2_000, f"{name}-{number}".encode(), partition=number)
    cluster.advance(1_000)
    assert delivered(cluster) == []
    cluster.advance(1_500)
    assert delivered(cluster) == sorted(
        f"{name}-{number}".encode() for name in cluster.living() for number in range(PARTITIONS)
    )
    assert {cluster.leader("orders", number) for number in range(PARTITIONS)} == {"n1", "n2", "n3"}


@pytest.mark.parametrize("limit", [1, 2, 100])
def test_a_list_has_the_messages_of_all_nodes_in_the_order_in_which_they_are_due(limit: int) -> None:
    cluster = with_topic(partitions=PARTITIONS)
    for at in range(7):
        later(cluster, "n1", 60_000 + 1_000 * ((at * 5) % 7), b"%d" % at, partition=at % PARTITIONS)
    for name in cluster.living():
        found = listed(cluster, name, limit)
        assert len(found) == 7
        assert [message.due_ms for message in found] == sorted(message.due_ms for message in found)
        assert len({(message.partition, message.offset) for message in found}) == 7


def test_a_message_can_be_read_put_off_and_cancelled_through_any_node() -> None:
    cluster = with_topic(partitions=PARTITIONS)
    for number in range(PARTITIONS):
        for name in cluster.living():
            [first, second] = later(cluster, name, 1_000, b"first", b"second", partition=number)
            shown = cluster.answer(name, GetDelayed("orders", number, first.offset))
            assert isinstance(shown, DelayedMessage)
            assert shown.value == b"first"
            assert cluster.answer(name, CancelDelayed("orders", number, first.offset)) is None
            moved = cluster.answer(name, RescheduleDelayed("orders", number, second.offset, delay_ms=60_000))
            assert isinstance(moved, DelayedMessage)
            gone = cluster.answer(name, GetDelayed("orders", number, first.offset))
            assert isinstance(gone, Refusal)
            assert gone.code is Code.DELAYED_NOT_FOUND
    cluster.advance(3_000)
    assert delivered(cluster) == []
    assert len(listed(cluster, "n1")) == PARTITIONS * 3


def test_what_a_dead_leader_kept_back_is_delivered_and_cancelled_by_the_next() -> None:
    cluster = with_topic()
    kept = later(cluster, "n1", 20_000, b"one", b"two", b"three", partition=0)
    assert cluster.answer("n2", CancelDelayed("orders", 0, kept[0].offset)) is None
    cluster.kill(cluster.leader("orders"))
    cluster.until(lambda: cluster.leader("orders") != "")
    name = cluster.living()[0]
    assert [message.offset for message in listed(cluster, name)] == [one.offset for one in kept[1:]]
    assert cluster.answer(name, CancelDelayed("orders", 0, kept[1].offset)) is None
    cluster.advance(25_000)
    assert read(cluster, name) == [b"three"]
    assert listed(cluster, name) == []


@pytest.mark.parametrize("moment_ms", [-40, -20, -10, -3, -1, 0, 1, 2, 3, 5, 10])
def test_a_leader_that_dies_while_it_moves_messages_has_them_moved_once(moment_ms: int) -> None:
    cluster = with_topic()
    values = [b"%d" % at for at in range(20)]
    later(cluster, "n1", 1_000, *values, partition=0)
    due = listed(cluster, "n1")[0].due_ms
    first = cluster.leader("orders")
    wall_ms = cluster.node(first).clock.wall_ms(cluster.now)
    cluster.advance(due + moment_ms - wall_ms)
    cluster.kill(first)
    cluster.advance(200)
    cluster.start(first)
    cluster.until(lambda: cluster.leader("orders") != "")
    cluster.advance(5_000)
    assert sorted(read(cluster, cluster.leader("orders"))) == sorted(values)
    assert listed(cluster, first) == []


def test_a_leader_that_is_cut_off_moves_nothing_that_the_next_one_moves_too() -> None:
    cluster = with_topic()
    later(cluster, "n1", 2_000, b"one", b"two", partition=0)
    first = cluster.leader("orders")
    cluster.isolate(first)
    cluster.advance(10_000)
    cluster.heal()
    cluster.until(lambda: cluster.leader("orders") not in ("", first))
    cluster.advance(3_000)
    for name in cluster.living():
        assert read(cluster, name) == [b"one", b"two"]


def test_a_leader_that_was_out_of_office_for_long_moves_what_is_due_as_soon_as_it_leads_again() -> None:
    """All nodes are cut off from each other, so that nobody else leads meanwhile."""
    cluster = with_topic()
    later(cluster, "n1", 5_000, b"one", partition=0)
    leader = cluster.leader("orders")
    for name in cluster.living():
        cluster.isolate(name)
    cluster.advance(40_000)
    assert not cluster.node(leader).led.is_in_office
    cluster.heal()
    cluster.until(lambda: cluster.node(leader).led.is_in_office)
    cluster.advance(1_000)
    assert cluster.leader("orders") == leader
    assert read(cluster, leader) == [b"one"]


def test_a_schedule_with_segments_that_others_do_not_have_yet_is_read_as_soon_as_they_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing of them can be read meanwhile: a leader that looks there for a summary takes that for damage."""
    monkeypatch.setattr(DrivenMember, "thresholds", Thresholds(side_segment_bytes=1_000))
    cluster = with_topic(replicas=2, min_insync_replicas=2)
    leader = cluster.leader("orders")
    # The first one has the schedule made, and may be refused meanwhile.
    cluster.ask(leader, Publish("orders", [NewRecord(None, b"first", delay_ms=1)]))
    cluster.advance(2_000)
    later(cluster, leader, 3_000, b"due", partition=0)
    [other] = [name for name in cluster.node(leader).peers() if name in replicas(cluster)]
    cluster.kill(other)
    values = [b"%03d" % at + bytes(300) for at in range(20)]
    for value in values:
        cluster.ask(leader, Publish("orders", [NewRecord(None, value, delay_ms=60_000)], acks=Acks.LEADER))
    cluster.advance(40_000)
    cluster.start(other)
    cluster.until(lambda: len(in_sync(cluster)) == 2)
    cluster.advance(1_500)
    assert b"due" in read(cluster, leader)
    cluster.advance(60_000)
    assert sorted(one for one in read(cluster, leader) if one != b"first") == sorted([b"due", *values])


def replicas(cluster: DrivenCluster) -> list[str]:
    """The nodes that have the partition."""
    return described(cluster).replicas


def in_sync(cluster: DrivenCluster) -> list[str]:
    """Those of them that have all of it."""
    return described(cluster).isr


def described(cluster: DrivenCluster) -> PartitionReply:
    """What is said of the partition."""
    reply = cluster.answer(cluster.living()[0], DescribePartitions("orders"))
    assert isinstance(reply, list)
    [found] = reply
    assert isinstance(found, PartitionReply)
    return found
