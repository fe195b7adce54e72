"""A node and its idempotent producers: ids, batches that come twice, what outlasts a restart, publishes unawaited."""

import pytest

from goqueue.core.broker.node_options import NodeOptions
from goqueue.core.clock import Clock
from goqueue.core.log.config import Fsync
from goqueue.core.node import Node
from goqueue.core.records.build import encode
from goqueue.core.requests.messages import (
    NO_OFFSET,
    Acks,
    InitProducer,
    NewRecord,
    ProducerReply,
    Publish,
    PublishBatch,
    Published,
    PublishReply,
)
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request
from goqueue.core.requests.topics import CreateTopic
from goqueue.storage.node_disk import NodeDisk
from goqueue.storage.simulated import SimulatedDisk
from goqueue.storage.store import Store
from tests.core.driven_node import CALLER, DrivenNode
from tests.core.log.batches import WALL_MS


def sequenced(producer: ProducerReply, first: int, count: int = 1) -> bytearray:
    """A batch of a producer."""
    entries = [(WALL_MS, None, b"v", ())] * count
    return encode(entries, producer_id=producer.producer_id, producer_epoch=producer.epoch, base_sequence=first)


def batch_of(producer: ProducerReply, first: int, count: int = 1, *, acks: Acks = Acks.ALL) -> PublishBatch:
    """The request that publishes it."""
    return PublishBatch("orders", 0, sequenced(producer, first, count), acks)


class NodeOnDisk:
    """A node with a simulated disk beneath it, each turn carried out whole."""

    def __init__(self, disk: SimulatedDisk) -> None:
        self.disk = disk
        self.node = Node(NodeOptions("node-1", "1.0", 1), Clock(0, WALL_MS), 0)
        self.store = Store(disk)
        self.node_disk = NodeDisk(self.node, self.store)
        self.answers: list[Reply] = []
        self.settle()

    def settle(self) -> None:
        """Turn until nothing happens any more."""
        while True:
            ready = self.node.take(0)
            self.answers += [send.reply for send in ready.sends]
            self.node_disk.act(0, ready)
            work = self.node_disk.take(0)
            for one in work:
                one.run()
                self.node_disk.finish(0, one)
            self.node.check()
            if not ready and not work:
                return

    def answer(self, request: Request) -> Reply:
        """Ask and settle."""
        self.answers.clear()
        self.node.ask(0, 1, CALLER, request)
        self.settle()
        [answer] = self.answers
        return answer

    def crashed(self) -> "NodeOnDisk":
        """The node that starts after the power was gone."""
        self.store.close()
        self.disk.crash()
        return NodeOnDisk(self.disk)

    def closed(self) -> "NodeOnDisk":
        """The node that starts after an orderly end."""
        self.node.close(0)
        self.settle()
        self.store.close()
        return NodeOnDisk(self.disk)

    def producer(self) -> ProducerReply:
        """A fresh producer."""
        reply = self.answer(InitProducer())
        assert isinstance(reply, ProducerReply)
        return reply


def offset_of(reply: Reply) -> int:
    """Where the one batch of a reply went."""
    assert isinstance(reply, PublishReply)
    [published] = reply.results
    assert isinstance(published, Published), published
    return published.offset


def code_of(reply: Reply) -> Code:
    """Why the one batch of a reply was refused."""
    assert isinstance(reply, PublishReply)
    [refusal] = reply.results
    assert isinstance(refusal, Refusal), refusal
    return refusal.code


def test_producers_get_ids_of_their_own() -> None:
    driven = DrivenNode()
    replies = [driven.answer(InitProducer()) for _ in range(600)]
    driven.now += 60_000_000_000
    replies += [driven.answer(InitProducer()) for _ in range(600)]
    assert all(isinstance(reply, ProducerReply) and reply.epoch == 0 for reply in replies)
    assert len({reply.producer_id for reply in replies if isinstance(reply, ProducerReply)}) == 1_200


def test_a_node_that_starts_gives_out_no_id() -> None:
    node = Node(NodeOptions(), Clock(0, WALL_MS), 0)
    node.ask(0, 1, CALLER, InitProducer())
    [send] = node.take(0).sends
    assert isinstance(send.reply, Refusal)
    assert send.reply.code is Code.UNAVAILABLE


def test_a_batch_that_comes_twice_is_stored_once() -> None:
    driven = DrivenNode().with_topic()
    producer = driven.answer(InitProducer())
    assert isinstance(producer, ProducerReply)
    to = [driven.ask(batch_of(producer, first, 2)) for first in (0, 2, 0)]
    answers = driven.settle()
    assert [offset_of(answers[one]) for one in to] == [0, 2, 0]
    assert offset_of(driven.answer(batch_of(producer, 2, 2))) == 2
    assert offset_of(driven.answer(batch_of(producer, 4, 2))) == 4
    assert code_of(driven.answer(batch_of(producer, 9))) is Code.OUT_OF_ORDER


@pytest.mark.parametrize("end", ["crashed", "closed"])
def test_a_producer_goes_on_after_a_restart(end: str) -> None:
    node = NodeOnDisk(SimulatedDisk(7))
    node.answer(CreateTopic("orders", 1))
    producer = node.producer()
    assert [offset_of(node.answer(batch_of(producer, first))) for first in range(7)] == list(range(7))
    node = node.crashed() if end == "crashed" else node.closed()
    assert [offset_of(node.answer(batch_of(producer, first))) for first in range(2, 7)] == list(range(2, 7))
    assert code_of(node.answer(batch_of(producer, 1))) is Code.DUPLICATE
    assert offset_of(node.answer(batch_of(producer, 7))) == 7
    later = node.producer()
    assert later.producer_id > producer.producer_id
    assert offset_of(node.answer(batch_of(later, 0))) == 8


def test_what_a_crash_took_may_be_sent_again() -> None:
    node = NodeOnDisk(SimulatedDisk(7))
    node.answer(CreateTopic("orders", 1))
    producer = node.producer()
    assert offset_of(node.answer(batch_of(producer, 0))) == 0
    for first in (1, 2, 3):
        node.node.ask(0, 1, CALLER, batch_of(producer, first))
    # They are in memory, and in no file.
    node = node.crashed()
    assert code_of(node.answer(batch_of(producer, 2))) is Code.OUT_OF_ORDER
    assert [offset_of(node.answer(batch_of(producer, first))) for first in (1, 2, 3)] == [1, 2, 3]


def test_who_awaits_nothing_is_answered_before_anything_is_written() -> None:
    driven = DrivenNode().with_topic()
    record = NewRecord(None, b"v", timestamp=7)
    quiet = [
        driven.ask(Publish("orders", [record, record], Acks.NONE)),
        driven.ask(PublishBatch("orders", 0, encode([(8, None, b"v", ())]), Acks.NONE)),
    ]
    ready = driven.take()
    assert {send.to: send.reply for send in ready.sends} == {
        quiet[0]: PublishReply([Published(0, NO_OFFSET, 7)] * 2),
        quiet[1]: PublishReply([Published(0, NO_OFFSET, 8)]),
    }
    assert ready.writes
    driven.node.written(0)
    driven.sync(ready.writes)
    assert driven.settle() == {}


@pytest.mark.parametrize("acks", [Acks.LEADER, Acks.ALL])
def test_the_leader_and_all_replicas_are_the_same_on_a_single_node(acks: Acks) -> None:
    driven = DrivenNode().with_topic(fsync=Fsync.EVERY)
    to = driven.ask(Publish("orders", [NewRecord(None, b"v", timestamp=7)], acks))
    ready = driven.write()
    assert ready.sends == []
    driven.sync(ready.writes)
    assert driven.settle() == {to: PublishReply([Published(0, 0, 7)])}


def test_who_awaits_nothing_is_still_told_of_a_topic_that_is_not_there() -> None:
    reply = DrivenNode().answer(Publish("nowhere", [NewRecord(None, b"v")], Acks.NONE))
    assert isinstance(reply, Refusal)
    assert reply.code is Code.TOPIC_NOT_FOUND
