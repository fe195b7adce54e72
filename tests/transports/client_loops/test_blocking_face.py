"""The client without a loop, against a broker: the same names, and no `await`."""

import threading
from collections.abc import Iterator
from datetime import timedelta

import pytest

from goqueue.core.errors import GoQueueError
from goqueue.testing import Broker
from goqueue.transports.client.blocking import BlockingConnection, BlockingPending
from goqueue.transports.client.connection import connect
from goqueue.transports.client.errors import ClientError
from goqueue.transports.client.messages import Published
from tests.transports.client_loops.on_loops import SECONDS_MAX, unused_address


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as broker:
        yield broker


@pytest.fixture
def gq(broker: Broker) -> Iterator[BlockingConnection]:
    with connect(broker.address) as gq:
        yield gq


def test_topics_come_and_change_and_go(gq: BlockingConnection) -> None:
    created = gq.topics.create("settings", partitions=3, config={"fsync": "interval"})
    assert (created.name, created.partitions, created.config["fsync"]) == ("settings", 3, "interval")
    assert "settings" in [topic.name for topic in gq.topics.list()]
    assert gq.topics.alter("settings", {"retention_hours": 7}).config["retention_hours"] == 7
    assert gq.topics.describe("settings").config["retention_hours"] == 7
    assert [partition.partition for partition in gq.topics.partitions("settings")] == [0, 1, 2]
    gq.topics.delete("settings")
    with pytest.raises(ClientError) as caught:
        gq.topics.describe("settings")
    assert caught.value.code == "topic_not_found"


def test_what_is_published_is_read_again_in_order(gq: BlockingConnection) -> None:
    gq.topics.create("orders", partitions=1)
    with gq.producer() as producer:
        first = producer.publish("orders", "a word", key="k", headers={"h": b"1"})
        pending = [producer.send("orders", b"%d" % number) for number in range(1000)]
    assert (first.topic, first.partition, first.offset) == ("orders", 0, 0)
    assert [each.result().offset for each in pending] == list(range(1, 1001))
    assert all(each.done for each in pending)
    with gq.consumer("orders", start="earliest", stop="latest") as consumer:
        word, *numbers = consumer
        assert list(consumer) == [], "the end stays the end"
    assert (word.value, word.key, word.headers) == (b"a word", b"k", {"h": b"1"})
    assert [message.value for message in numbers] == [b"%d" % number for number in range(1000)]


def test_a_result_is_waited_for(gq: BlockingConnection) -> None:
    gq.topics.create("lingering", partitions=1)
    with gq.producer(linger=timedelta(hours=1)) as producer:
        pending: BlockingPending = producer.send("lingering", b"x")
        done = [pending.done]
        with pytest.raises(TimeoutError, match="still on its way"):
            pending.result(timeout=timedelta(milliseconds=20))
        assert producer.buffered_bytes > 0
        producer.flush()
        done.append(pending.done)
        assert producer.buffered_bytes == 0
        found: Published = pending.result(timeout=timedelta(0))
        assert found.offset == 0
        another = producer.send("lingering", b"y")
    assert done == [False, True]
    assert another.result().offset == 1


def test_an_answer_in_time_is_no_timeout(gq: BlockingConnection) -> None:
    gq.topics.create("in-time", partitions=1)
    with gq.producer() as producer:
        pending = producer.send("in-time", b"x")
        assert pending.result(timeout=timedelta(seconds=SECONDS_MAX)).offset == 0


def test_a_consumer_seeks_and_knows_where_it_is(gq: BlockingConnection) -> None:
    gq.topics.create("seeking", partitions=1)
    with gq.producer() as producer:
        for number in range(100):
            producer.send("seeking", b"%d" % number)
    with gq.consumer("seeking", start=10, stop="latest") as consumer:
        assert next(consumer).offset == 10
        assert consumer.position(0) == 11
        consumer.seek(offset=90)
        assert consumer.position(0) == 90
        assert [message.offset for message in consumer] == list(range(90, 100))


def test_batches_are_lists_of_messages(gq: BlockingConnection) -> None:
    gq.topics.create("batches", partitions=2)
    with gq.producer() as producer:
        for number in range(500):
            producer.send("batches", bytes(100), partition=number % 2)
    with gq.consumer("batches", start="earliest", stop="latest") as consumer:
        batches = list(consumer.batches())
    assert sum(map(len, batches)) == 500
    assert all(len({message.partition for message in batch}) == 1 for batch in batches)


def test_a_consumer_waits_for_what_is_published_later(broker: Broker, gq: BlockingConnection) -> None:
    gq.topics.create("later", partitions=1)

    def publish() -> None:
        with connect(broker.address) as other, other.producer() as producer:
            producer.publish("later", b"at last")

    with gq.consumer("later", start="earliest") as consumer:
        thread = threading.Timer(0.1, publish)
        thread.start()
        assert next(consumer).value == b"at last"
        thread.join(SECONDS_MAX)


def test_a_block_that_fails_raises_its_own_error_and_sends_nothing_more(broker: Broker) -> None:
    def fail() -> None:
        with connect(broker.address) as gq:
            gq.topics.create("dropped", partitions=1)
            with gq.producer(linger=timedelta(hours=1)) as producer:
                producer.send("dropped", b"x")
                raise LookupError("the caller's")

    with pytest.raises(LookupError, match="the caller's"):
        fail()
    with connect(broker.address) as gq, gq.consumer("dropped", start="earliest", stop="latest") as consumer:
        assert list(consumer) == []


def test_nobody_to_connect_to_is_said_at_once() -> None:
    address = unused_address()
    with pytest.raises(GoQueueError, match=f"{address}: .*refused"), connect(address):
        raise AssertionError("nobody listens there")


def test_a_second_thread_at_the_same_time_is_told(broker: Broker, gq: BlockingConnection) -> None:
    gq.topics.create("threads", partitions=1)
    told: list[str] = []

    def intrude() -> None:
        try:
            gq.topics.list()
        except RuntimeError as error:
            told.append(str(error))
        with connect(broker.address) as other, other.producer() as producer:
            producer.publish("threads", b"go on")

    with gq.consumer("threads", start="earliest") as consumer:
        thread = threading.Timer(0.1, intrude)
        thread.start()
        assert next(consumer).value == b"go on"
        thread.join(SECONDS_MAX)
    assert "one thread" in told[0]
