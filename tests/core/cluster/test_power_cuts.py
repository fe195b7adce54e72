"""Whole nodes whose machines lose their power: who leads then, and what is still there.

The topics do not sync, so a machine that crashes loses all messages that it has, and a process that is killed none.
"""

import pytest

from goqueue.core.records.batch import split
from goqueue.core.records.record import iterate
from goqueue.core.requests.cluster import ClusterReply, DescribeCluster, ElectLeaders, ElectReply
from goqueue.core.requests.messages import Fetch, Fetched, NewRecord, Publish, Published, PublishReply
from goqueue.core.requests.topics import CreateTopic, TopicReply
from tests.core.driven_cluster import DrivenCluster

DEAD_MS = 3_500


class Stored:
    """Five nodes, of which some have a partition; the others keep the metadata going."""

    def __init__(self, replicas: int = 3, min_isr: int = 1, fsync: str = "none") -> None:
        self.cluster = DrivenCluster(5)
        self.cluster.until(lambda: self.cluster.controller() != "")
        self.cluster.until(lambda: all(len(self.cluster.node(name).peers()) == 4 for name in self.cluster.living()))
        config: dict[str, object] = {"fsync": fsync, "min_insync_replicas": min_isr}
        made = self.cluster.answer("n1", CreateTopic("orders", 1, replicas, config))
        assert isinstance(made, TopicReply)
        self.cluster.until(lambda: self.leader() != "")
        self.replicas = self.cluster.node("n1").led.topics["orders"].topic.placements[0].replicas
        self.bystander = next(name for name in self.cluster.living() if name not in self.replicas)

    def leader(self) -> str:
        """Who leads, as it is agreed on."""
        return self.cluster.leader("orders")

    def publish(self, value: bytes) -> None:
        """Have a message acknowledged by all that are in sync."""
        reply = self.cluster.answer(self.bystander, Publish("orders", [NewRecord(None, value, partition=0)]))
        assert isinstance(reply, PublishReply)
        assert isinstance(reply.results[0], Published), reply

    def end(self, *names: str, crash: bool) -> None:
        """End nodes one after another, each long enough after the one before for that to be known dead."""
        for name in names:
            self.cluster.kill(name, crash=crash)
            self.cluster.advance(DEAD_MS)

    def start(self, *names: str) -> None:
        """Start nodes again, and give them the time that they need to be heard and to elect a leader."""
        for name in names:
            self.cluster.start(name)
        self.cluster.advance(8_000)

    def values(self) -> list[bytes]:
        """All messages."""
        reply = self.cluster.answer(self.bystander, Fetch("orders", 0, 0))
        assert isinstance(reply, Fetched), reply
        return [bytes(one.value or b"") for batch in split(reply.batches) for one in iterate(batch)]

    def why(self) -> str:
        """Why nobody leads."""
        reply = self.cluster.answer(self.bystander, DescribeCluster())
        assert isinstance(reply, ClusterReply)
        assert (reply.offline_count, len(reply.offline)) == (1, 1)
        return reply.offline[0].why


def test_the_last_one_in_sync_that_lost_messages_waits_for_those_that_have_them() -> None:
    """KIP-966: followers leave one after another, the last one loses its power and is back before them."""
    stored = Stored(min_isr=2)
    last, *others = stored.replicas
    stored.publish(b"kept")
    stored.end(*others, crash=False)
    stored.end(last, crash=True)
    stored.start(last)
    assert stored.leader() == ""
    assert stored.why().startswith(f"only {others[1]} has all of orders/0, and does not live: start {others[1]}, or")
    stored.start(others[1])
    assert stored.leader() == others[1]
    assert stored.values() == [b"kept"]


def test_where_one_in_sync_is_enough_the_longest_log_of_all_leads() -> None:
    stored = Stored()
    last, *others = stored.replicas
    stored.publish(b"kept")
    stored.end(*others, crash=False)
    stored.publish(b"with the last one only")
    stored.end(last, crash=True)
    stored.start(last)
    why = stored.why()
    assert why.startswith(f"no replica is known to have all of orders/0 since {last} lost unsynced messages in a crash")
    assert f"start {' and '.join(others)}, and the longest log" in why
    stored.start(others[0])
    assert stored.leader() == "", "the third may have more"
    stored.start(others[1])
    assert stored.leader() in others
    assert stored.values() == [b"kept"]
    stored.publish(b"next")


def test_nodes_that_are_all_killed_at_once_lose_nothing() -> None:
    stored = Stored()
    stored.publish(b"kept")
    for name in stored.cluster.living():
        stored.cluster.kill(name, crash=False)
    stored.cluster.advance(5_000)
    for name in stored.cluster.members:
        stored.cluster.start(name)
    stored.cluster.until(lambda: stored.leader() != "")
    assert stored.values() == [b"kept"]


def test_machines_that_all_lose_their_power_at_once_lose_what_was_not_synced_and_go_on_by_themselves() -> None:
    stored = Stored()
    stored.publish(b"lost")
    for name in stored.cluster.living():
        stored.cluster.kill(name, crash=True)
    for name in stored.cluster.members:
        stored.cluster.start(name)
    stored.cluster.until(lambda: stored.leader() != "", 20_000)
    assert stored.values() == []
    stored.publish(b"next")


@pytest.mark.parametrize("fsync", ["every", "interval"])
def test_the_only_replica_leads_again_by_itself(fsync: str) -> None:
    stored = Stored(replicas=1, fsync=fsync)
    stored.publish(b"long ago")
    stored.cluster.advance(1_500)
    stored.publish(b"just now")
    stored.end(stored.replicas[0], crash=True)
    stored.start(stored.replicas[0])
    assert stored.leader() == stored.replicas[0]
    assert stored.values() == ([b"long ago", b"just now"] if fsync == "every" else [b"long ago"])


def test_with_every_message_on_the_disk_a_power_cut_costs_nobody_anything() -> None:
    stored = Stored(fsync="every")
    last, *others = stored.replicas
    stored.publish(b"kept")
    stored.end(*others, crash=True)
    stored.publish(b"with the last one only")
    stored.end(last, crash=True)
    stored.start(*others)
    assert stored.leader() == ""
    stored.start(last)
    assert stored.leader() == last
    assert stored.values() == [b"kept", b"with the last one only"]


def test_an_operator_does_not_wait_for_who_has_everything() -> None:
    stored = Stored()
    last, *others = stored.replicas
    stored.publish(b"kept")
    stored.end(*others, crash=False)
    stored.publish(b"given up")
    stored.end(last, crash=False)
    stored.start(others[0])
    assert stored.leader() == ""
    elected = stored.cluster.answer(stored.bystander, ElectLeaders("orders", 0, unclean=True))
    assert elected == ElectReply(int(others[0] != stored.replicas[0]), others[0])
    stored.cluster.until(lambda: stored.leader() == others[0])
    stored.cluster.advance(1_000)
    assert stored.values() == [b"kept"]
