"""A member of a group without a loop: it lives between its calls, and its hooks can do what waits."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from time import monotonic

import pytest

from goqueue import errors
from goqueue.testing import Broker
from goqueue.transports.client.blocking import BlockingConnection
from goqueue.transports.client.blocking_group_consumer import BlockingGroupConsumer
from goqueue.transports.client.connection import connect
from tests.transports.client_loops.on_loops import SECONDS_MAX

Slots = list[tuple[str, int]]
BOTH = [("orders", 0), ("orders", 1)]
MOMENT = timedelta(milliseconds=20)


@pytest.fixture
def broker() -> Iterator[Broker]:
    """A broker with the values 0 to 9, evens and odds in a partition each, in the topic `orders`."""
    with Broker() as broker, connect(broker.address) as gq:
        gq.topics.create("orders", partitions=2)
        with gq.producer() as producer:
            for number in range(10):
                producer.send("orders", b"%d" % number, partition=number % 2)
        yield broker


@pytest.fixture
def gq(broker: Broker) -> Iterator[BlockingConnection]:
    """A connection to it."""
    with connect(broker.address) as gq:
        yield gq


@pytest.fixture
def other(broker: Broker) -> Iterator[BlockingConnection]:
    """Another one."""
    with connect(broker.address) as other:
        yield other


def until(true: Callable[[], bool]) -> None:
    """Wait for something that goes on beside; what never comes fails."""
    due = monotonic() + SECONDS_MAX
    while not true():
        assert monotonic() < due


def committed(gq: BlockingConnection) -> list[int | None]:
    """The group's offsets."""
    return [each.offset for each in gq.groups.offsets("billing", "orders")]


def places(consumer: BlockingGroupConsumer, count: int) -> Slots:
    """Where the next messages are."""
    return sorted((message.topic, message.offset) for message in [next(consumer) for _ in range(count)])


def test_messages_come_one_by_one_and_an_error_leaves_the_one_in_hand_to_come_again(gq: BlockingConnection) -> None:
    with suppress(ZeroDivisionError), gq.group_consumer("billing", "orders", client_id="till") as consumer:
        assert (consumer.member_id[:5], consumer.generation) == ("till-", 1)
        found = [next(consumer) for _ in range(10)]
        assert consumer.assignment == BOTH
        assert sorted(int(message.value or b"") for message in found) == list(range(10))
        assert sum(consumer.lag().values()) == 0
        assert consumer.position("orders", 0) == 5
        _ = 1 / (len(found) - 10)
    assert sorted(offset or 0 for offset in committed(gq)) == [4, 5]
    with gq.group_consumer("billing", "orders") as consumer:
        (rest,) = next(consumer.batches())
        assert (rest.partition, rest.offset) == (found[-1].partition, 4)
        assert consumer.next_batch(timeout=MOMENT) == []
    assert committed(gq) == [5, 5]


def test_leaving_in_order_commits_what_is_in_hand(gq: BlockingConnection) -> None:
    with gq.group_consumer("billing", "orders") as consumer:
        found = [next(consumer) for _ in range(10)]
    assert len(found) == 10
    assert committed(gq) == [5, 5]


def test_what_is_committed_by_hand_is_committed_at_once(gq: BlockingConnection, other: BlockingConnection) -> None:
    with gq.group_consumer("billing", ["orders"], commit="manual") as consumer:
        for message in consumer:
            consumer.commit(message)
            assert sorted(offset or 0 for offset in committed(other)) == [0, 1]
            break
        consumer.commit({("orders", 0): 2, ("orders", 1): 3})
        assert committed(other) == [2, 3]
        with pytest.raises(errors.CommitFailed, match="partition 0 of orders"):
            consumer.commit({("orders", 0): 99})
        consumer.seek("orders", 1, offset=0)
        consumer.pause(("orders", 0))
        batch = consumer.next_batch()
        assert [(each.partition, each.offset) for each in batch] == [(1, offset) for offset in range(5)]
        assert consumer.next_batch(timeout=MOMENT) == []
        consumer.resume(("orders", 0))
        assert {each.partition for each in consumer.next_batch()} == {0}
    assert committed(gq) == [2, 3]


def test_a_member_that_works_long_on_a_message_stays(gq: BlockingConnection, other: BlockingConnection) -> None:
    with gq.group_consumer("billing", "orders", session_timeout=timedelta(seconds=1)) as consumer:
        next(consumer)
        (joined,) = other.groups.describe("billing").members
        long_after = joined.last_heartbeat + timedelta(seconds=2)
        until(lambda: other.groups.describe("billing").members[0].last_heartbeat > long_after)
        (found,) = other.groups.describe("billing").members
        assert found.member_id == joined.member_id == consumer.member_id
        assert other.groups.rebalances("billing").total == 1


def test_partitions_come_and_go_between_calls(gq: BlockingConnection, other: BlockingConnection) -> None:
    with gq.group_consumer("billing", "orders") as first:
        batch = first.next_batch()
        with other.group_consumer("billing", "orders") as second:
            until(lambda: len(other.groups.describe("billing").members) == 2)
            # What is in hand is not let go of: one partition is free, and either that moves, or nothing does yet.
            held = ("orders", batch[0].partition)
            assert held not in second.assignment
            until(lambda: first.next_batch(timeout=MOMENT) == [] and len(second.assignment) == 1)
            assert len(first.assignment) == 1
            assert first.assignment != second.assignment
        until(lambda: first.assignment == BOTH)


def test_hooks_are_told_and_what_they_ask_for_is_done(gq: BlockingConnection, other: BlockingConnection) -> None:
    told: list[tuple[str, Slots]] = []

    def begin(slots: Slots) -> None:
        told.append(("assigned", slots))
        assert {*slots} <= {*consumer.assignment}
        for topic, partition in slots:
            consumer.seek(topic, partition, offset=3)

    def end(slots: Slots) -> None:
        told.append(("revoked", slots))
        consumer.commit(dict.fromkeys(slots, 4))

    consumer = gq.group_consumer("billing", "orders", commit="manual", on_assigned=begin, on_revoked=end)
    with consumer:
        assert places(consumer, 4) == [("orders", 3), ("orders", 3), ("orders", 4), ("orders", 4)]
        assert consumer.next_batch(timeout=MOMENT) == []
        with other.group_consumer("billing", "orders") as second:
            until(lambda: len(second.assignment) == 1)
            (slot,) = second.assignment
            assert next(second).offset == 4
        until(lambda: consumer.assignment == BOTH)
    assert told == [("assigned", BOTH), ("revoked", [slot]), ("assigned", [slot]), ("revoked", BOTH)]
    # The second one left in order, with the message at 4 in hand.
    assert committed(other) == [5 if each == slot else 4 for each in BOTH]


def test_what_a_hook_raises_comes_out_of_the_next_call(gq: BlockingConnection) -> None:
    def begin(slots: Slots) -> None:
        consumer.commit(dict.fromkeys(slots, 1))
        raise LookupError("no place for it")

    consumer = gq.group_consumer("billing", "orders", on_assigned=begin)
    with consumer:
        with pytest.raises(LookupError, match="no place"):
            next(consumer)
        assert len(places(consumer, 10)) == 10


def test_a_hook_cannot_wait_for_more_than_it_asks_for(gq: BlockingConnection) -> None:
    async def begin(slots: Slots) -> None: ...

    with pytest.raises(TypeError, match="a hook is a plain one"):
        gq.group_consumer("billing", "orders", on_assigned=begin)

    consumer = gq.group_consumer("billing", "orders", on_assigned=lambda _slots: consumer.lag())
    with consumer, pytest.raises(RuntimeError, match="Another call"):
        next(consumer)


def test_ctrl_c_leaves_the_group_and_commits_what_is_done(gq: BlockingConnection, other: BlockingConnection) -> None:
    main = threading.main_thread().ident
    assert main is not None
    press = threading.Timer(0.1, signal.pthread_kill, (main, signal.SIGINT))

    def read() -> None:
        with gq.group_consumer("billing", "orders") as consumer:
            places(consumer, 10)
            press.start()
            next(consumer)

    with pytest.raises(KeyboardInterrupt):
        read()
    assert other.groups.describe("billing").members == []
    assert sum(offset or 0 for offset in committed(other)) >= 9


def test_the_pulse_ends_with_its_block(gq: BlockingConnection) -> None:
    with gq.group_consumer("billing", "orders"):
        assert "goqueue-pulse" in [thread.name for thread in threading.enumerate()]
    assert "goqueue-pulse" not in [thread.name for thread in threading.enumerate()]


def test_a_group_that_cannot_be_joined_is_an_error_on_entering(gq: BlockingConnection) -> None:
    with pytest.raises(errors.InvalidRequest), gq.group_consumer("a b", "orders"):
        raise AssertionError
    assert "goqueue-pulse" not in [thread.name for thread in threading.enumerate()]
