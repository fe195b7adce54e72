"""A member of a shared group without a loop: messages by calls, leases and what was said by a thread beside."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from datetime import timedelta

import pytest

from goqueue import errors
from goqueue.testing import Broker
from goqueue.transports.client.blocking import BlockingConnection
from goqueue.transports.client.blocking_work_consumer import BlockingLeasedMessage
from goqueue.transports.client.connection import connect

COUNT = 20
NOW, SOON, PATIENT = timedelta(0), timedelta(milliseconds=50), timedelta(seconds=20)
SHORT = timedelta(milliseconds=1200)


@pytest.fixture
def gq() -> Iterator[BlockingConnection]:
    """A connection to a broker with the values 0 to 19 in the topic `jobs`."""
    with Broker() as broker, connect(broker.address) as gq:
        gq.topics.create("jobs", partitions=2, config={"retry_backoff": "10ms"})
        with gq.producer() as producer:
            for number in range(COUNT):
                producer.send("jobs", b"%d" % number, partition=number % 2)
        yield gq


def numbers(messages: list[BlockingLeasedMessage]) -> list[int]:
    """Which jobs these are, sorted."""
    return sorted(int(message.value or b"") for message in messages)


def left(gq: BlockingConnection) -> int:
    """How many jobs are not settled."""
    return sum(each.lag or 0 for each in gq.groups.offsets("crew", "jobs"))


def one(consumer: object) -> BlockingLeasedMessage:
    """The next one, which is to come."""
    message: BlockingLeasedMessage | None = consumer.next(PATIENT)  # type: ignore[attr-defined]
    assert message is not None
    return message


def test_messages_are_handed_out_settled_and_waited_for(gq: BlockingConnection) -> None:
    with gq.work_consumer("crew", "jobs", prefetch=8) as consumer:
        found = []
        for message in consumer:
            found.append(message)
            settlement = message.ack()
            if len(found) == COUNT:
                break
        settlement.result(PATIENT)
        assert settlement.done
        consumer.flush()
        assert numbers(found) == [*range(COUNT)]
        assert consumer.next(SOON) is None
        assert left(gq) == 0
        assert consumer.held == 0
        assert consumer.member_id


def test_what_was_said_goes_out_while_the_program_does_something_else(gq: BlockingConnection) -> None:
    with gq.work_consumer("crew", "jobs") as consumer:
        message = one(consumer)
        settlement = message.ack()
        due = time.monotonic() + 20
        while not settlement.done:
            assert time.monotonic() < due
            time.sleep(0.01)
        settlement.result()


def test_a_block_prolongs_the_lease_while_the_thread_is_busy(gq: BlockingConnection) -> None:
    with gq.work_consumer("crew", "jobs", visibility_timeout=SHORT, prefetch=1) as consumer:
        message = one(consumer)
        with message.processing() as work:
            time.sleep(3)
        assert not work.lost
        consumer.flush()
        assert left(gq) == COUNT - 1


def test_errors_give_back_and_pass(gq: BlockingConnection) -> None:
    with gq.work_consumer("crew", "jobs", prefetch=1) as consumer:
        first = one(consumer)
        with pytest.raises(ZeroDivisionError), first.processing():
            _ = 1 / 0
        seen = {}
        while (first.partition, first.offset) not in seen:
            message = one(consumer)
            seen[message.partition, message.offset] = message.attempt
            message.ack()
        assert seen[first.partition, first.offset] == 2


def test_refusals_are_raised_where_they_are_looked_at(gq: BlockingConnection) -> None:
    with gq.work_consumer("crew", "jobs", visibility_timeout=SHORT, prefetch=1) as consumer:
        message = one(consumer)
        time.sleep(1.5)
        with pytest.raises(errors.ReceiptExpired):
            message.ack().result()
        message.extend(5).done  # noqa: B018 - nobody looks at it, and nobody is told
        (one(consumer)).release().result()


def test_a_consumer_that_is_told_to_stop_hands_out_nothing_more(gq: BlockingConnection) -> None:
    with gq.work_consumer("crew", "jobs") as consumer:
        found = []
        for message in consumer:
            found.append(message)
            message.reject("no")
            if len(found) == 3:
                consumer.stop()
        assert len(found) <= COUNT


# --- functions


def test_a_function_is_called_with_each_message_until_it_says_stop(gq: BlockingConnection) -> None:
    found: list[int] = []
    failed: list[int] = []

    @gq.subscriber("jobs", group="crew", prefetch=5)
    def work(message: BlockingLeasedMessage) -> None:
        number = int(message.value or b"")
        if number == 7 and message.attempt == 1:
            failed.append(number)
            raise ValueError("not at first")
        found.append(number)
        if len(found) == COUNT:
            gq.stop()

    gq.run()
    assert sorted(found) == [*range(COUNT)]
    assert failed == [7]
    assert left(gq) == 0


def test_two_functions_take_turns(gq: BlockingConnection) -> None:
    found: list[str] = []

    def seen(group: str) -> None:
        found.append(group)
        if len(found) == 2 * COUNT:
            gq.stop()

    @gq.subscriber("jobs", group="crew")
    def one_of(message: BlockingLeasedMessage) -> None:
        seen(f"crew {int(message.value or b'')}")

    @gq.subscriber("jobs", group="audit", ack="ack_first")
    def other(message: BlockingLeasedMessage) -> None:
        seen(f"audit {int(message.value or b'')}")

    gq.run()
    assert len({*found}) == 2 * COUNT


def test_sigterm_ends_it_after_the_message_in_hand(gq: BlockingConnection) -> None:
    found: list[int] = []
    main = threading.main_thread()
    assert threading.current_thread() is main

    @gq.subscriber("jobs", group="crew")
    def work(message: BlockingLeasedMessage) -> None:
        found.append(message.offset)
        os.kill(os.getpid(), signal.SIGTERM)

    before = signal.getsignal(signal.SIGTERM)
    gq.run()
    assert len(found) == 1
    assert signal.getsignal(signal.SIGTERM) == before
    assert left(gq) == COUNT - 1


def test_what_cannot_be_registered(gq: BlockingConnection) -> None:
    async def work(_message: BlockingLeasedMessage) -> None: ...

    with pytest.raises(TypeError, match="plain function"):
        gq.subscriber("jobs", group="crew")(work)
    with pytest.raises(RuntimeError, match="registered"):
        gq.run()
    with pytest.raises(ValueError, match="perhaps"):
        gq.subscriber("jobs", group="crew", ack="perhaps")
