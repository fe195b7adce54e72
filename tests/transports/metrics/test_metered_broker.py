"""What is counted on the way to a broker, for requests of either kind."""

import time
from pathlib import Path

import trio

from goqueue.core.records.batch import Lane
from goqueue.core.records.build import encode
from goqueue.core.requests.call import Caller
from goqueue.core.requests.groups import GroupMode, Joined, JoinGroup, Polled, PollGroup
from goqueue.core.requests.messages import Fetch, Fetched, NewRecord, Publish, PublishBatch, PublishReply
from goqueue.core.requests.queues import PolledWork, PollWork
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.topics import CreateTopic, ListTopics
from goqueue.transports.metrics.metered import MeteredBroker
from goqueue.transports.metrics.meters import BrokerMeters, Consumed
from tests.transports.running import running_broker


def batch(lane: Lane = Lane.NORMAL) -> bytearray:
    """Two messages of today, since older ones are past their time."""
    stamp = time.time_ns() // 1_000_000
    return encode([(stamp, None, b"a", ()), (stamp, None, b"b", ())], lane=lane)


def run(folder: Path, meters: BrokerMeters, *requests: PublishBatch | Publish | Fetch | ListTopics) -> list[Reply]:
    """What a broker with the topic `orders` answers, to each request twice: asked and posted."""
    replies: list[Reply] = []

    async def scenario() -> None:
        with trio.fail_after(60):
            async with running_broker(folder) as runtime:
                await runtime.ask(Caller(), CreateTopic("orders", 1))
                broker = MeteredBroker(runtime, meters)
                for request in requests:
                    replies.append(await broker.ask(Caller(protocol="grpc"), request))
                    if isinstance(request, PublishBatch):
                        request.batch = batch()
                    count = len(replies)
                    broker.post(Caller(protocol="http/2"), request, replies.append)
                    while len(replies) == count:  # noqa: ASYNC110 - the answer comes by itself
                        await trio.sleep(0.001)

    trio.run(scenario)
    return replies


def test_what_members_poll_is_counted_unless_the_transport_counts_messages_itself(tmp_path: Path) -> None:
    meters = BrokerMeters()

    async def scenario() -> None:
        with trio.fail_after(60):
            async with running_broker(tmp_path) as runtime:
                await runtime.ask(Caller(), CreateTopic("orders", 1))
                await runtime.ask(Caller(), PublishBatch("orders", 0, batch()))
                broker = MeteredBroker(runtime, meters)
                for group, protocol in (("one", "grpc"), ("two", "http/1.1")):
                    joined = await broker.ask(Caller(), JoinGroup(group, ["orders"]))
                    assert isinstance(joined, Joined)
                    polled = await broker.ask(Caller(protocol=protocol), PollGroup(group, joined.member_id))
                    assert isinstance(polled, Polled)
                    assert len(polled.parts) == 1

    trio.run(scenario)
    assert meters.consumed == {"orders": Consumed(2, len(batch()))}
    assert sum(meters.publish_latency.counts) == sum(meters.fetch_latency.counts) == 0


def test_what_members_of_shared_groups_lease_is_counted_likewise(tmp_path: Path) -> None:
    meters = BrokerMeters()

    async def scenario() -> None:
        with trio.fail_after(60):
            async with running_broker(tmp_path) as runtime:
                await runtime.ask(Caller(), CreateTopic("orders", 1))
                await runtime.ask(Caller(), PublishBatch("orders", 0, batch()))
                broker = MeteredBroker(runtime, meters)
                for group, protocol in (("one", "grpc"), ("two", "http/1.1")):
                    joined = await broker.ask(Caller(), JoinGroup(group, ["orders"], mode=GroupMode.SHARED))
                    assert isinstance(joined, Joined)
                    request = PollWork(group, joined.member_id, 1, wait_ns=10_000_000_000)
                    polled = await broker.ask(Caller(protocol=protocol), request)
                    assert isinstance(polled, PolledWork)
                    assert len(polled.parts) == 1

    trio.run(scenario)
    assert meters.consumed == {"orders": Consumed(1, len(batch()))}


def test_publishes_and_fetches_are_measured_and_nothing_else(tmp_path: Path) -> None:
    meters = BrokerMeters()
    replies = run(tmp_path, meters, PublishBatch("orders", 0, batch()), Fetch("orders", 0, 1), ListTopics())
    assert [type(reply) for reply in replies[:4]] == [PublishReply, PublishReply, Fetched, Fetched]
    assert (sum(meters.publish_latency.counts), sum(meters.fetch_latency.counts)) == (2, 2)
    fetched = replies[2]
    assert isinstance(fetched, Fetched)
    # What REST was given is counted by REST, message by message.
    assert meters.consumed == {"orders": Consumed(3, len(fetched.batches))}
    assert meters.failed == {}


def test_a_fetch_that_may_wait_tells_nothing_about_the_broker(tmp_path: Path) -> None:
    meters = BrokerMeters()
    run(tmp_path, meters, Fetch("orders", 0, 0, wait_ns=1_000_000))
    assert sum(meters.fetch_latency.counts) == 0
    assert meters.consumed == {}


def test_refused_messages_are_counted_by_code(tmp_path: Path) -> None:
    meters = BrokerMeters()
    records = [NewRecord(None, b"a", partition=7), NewRecord(None, b"b"), NewRecord(None, b"c", partition=8)]
    lost = PublishBatch("none", 0, batch())
    replies = run(tmp_path, meters, Publish("orders", records), Publish("none", records), Fetch("none", 0, 0), lost)
    assert isinstance(replies[4], Refusal)
    assert meters.failed == {Code.PARTITION_NOT_FOUND: 4, Code.TOPIC_NOT_FOUND: 6 + 4}
    assert sum(meters.publish_latency.counts) == 6
    assert meters.consumed == {}


def test_messages_are_counted_by_priority_when_they_were_taken(tmp_path: Path) -> None:
    meters = BrokerMeters()
    lanes = (Lane.NORMAL, Lane.HIGH, Lane.HIGH, Lane.LOW)
    records = [NewRecord(None, b"a", lane=lane) for lane in lanes]
    records.append(NewRecord(None, b"b", partition=7, lane=Lane.CRITICAL))
    refused = PublishBatch("orders", 7, batch(Lane.CRITICAL))
    run(tmp_path, meters, Publish("orders", records), refused)
    counted = dict(meters.prioritized)
    # Every request of `run` is asked twice.
    assert counted == {Lane.NORMAL: 2, Lane.CRITICAL: 0, Lane.HIGH: 4, Lane.LOW: 2, Lane.BACKGROUND: 0}
    run(tmp_path / "batches", meters, PublishBatch("orders", 0, batch(Lane.BACKGROUND)))
    # The second time `run` sends a batch of its own, which is of no special lane.
    assert (meters.prioritized[Lane.BACKGROUND], meters.prioritized[Lane.NORMAL]) == (2, 2 + 2)
