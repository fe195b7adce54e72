"""Subscribe, as grpcio sees it; and a reader that takes nothing, by our own client."""

import time
from collections import defaultdict
from contextlib import aclosing
from pathlib import Path

import grpc
import pytest
import trio

from goqueue.core.requests.messages import PublishBatch
from goqueue.core.requests.refusals import Code
from goqueue.core.requests.topics import CreateTopic, DeleteTopic
from goqueue.proto import v1
from goqueue.transports.http2.limits import KIB, SECOND_NS, Limits
from goqueue.transports.trio_grpc_client import TrioStub, open_channel
from tests.transports.services.served_broker import (
    Client,
    ServedBroker,
    Setting,
    against,
    batch,
    values,
    with_broker,
)
from tests.transports.serving import until


class MessagesClient(TrioStub, v1.MessagesStub):
    """Messages by our own client, which reads no more than it is asked for."""


def publish(client: Client, partition: int, *contents: bytes) -> None:
    """Publish these as one batch."""
    client.publish_batch(v1.PublishBatchRequest("orders", partition, batch(*contents)))


def test_what_is_there_comes_first_and_then_whatever_is_added(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        publish(client, 0, b"a", b"b")
        replies = client.subscribe(v1.SubscribeRequest([v1.Position("orders", 0), v1.Position("orders", 1)]))
        first = next(replies)
        assert (first.position, values(first.batches), first.next_offset) == (0, [b"a", b"b"], 2)
        assert (first.high_watermark, first.start_offset) == (2, 0)
        for number in range(5):
            publish(client, 1, b"%d" % number)
            reply = next(replies)
            assert (reply.position, values(reply.batches)) == (1, [b"%d" % number])
        replies.cancel()

    against(tmp_path, work)


def test_every_way_to_begin_begins_there(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        now = time.time_ns() // 1_000_000
        for step in range(4):
            draft = v1.NewMessage(value=b"%d" % step, partition=0, timestamp_ms=now + step * 1000)
            client.publish(v1.PublishRequest("orders", [draft]))
        starts = [
            v1.Position("orders", 0),
            v1.Position("orders", 0, earliest=True),
            v1.Position("orders", 0, offset=2),
            v1.Position("orders", 0, timestamp_ms=now + 500),
            v1.Position("orders", 0, timestamp_ms=now + 60_000),
            v1.Position("orders", 0, latest=True),
        ]
        replies = client.subscribe(v1.SubscribeRequest(starts))
        found: dict[int, list[bytes]] = defaultdict(list)
        while len(found) < 4:
            reply = next(replies)
            found[reply.position] += values(reply.batches)
        everything = [b"0", b"1", b"2", b"3"]
        assert found == {0: everything, 1: everything, 2: everything[2:], 3: everything[1:]}
        publish(client, 0, b"news")
        while len(found) < 6 or any(each[-1] != b"news" for each in found.values()):
            reply = next(replies)
            found[reply.position] += values(reply.batches)
        assert found[4] == found[5] == [b"news"]
        replies.cancel()

    against(tmp_path, work)


def test_a_position_that_is_refused_ends_alone(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        starts = [v1.Position("nowhere", 0), v1.Position("orders", 9), v1.Position("orders", 0, offset=5)]
        ended = {each.position: each.refusal.code for each in client.subscribe(v1.SubscribeRequest(starts))}
        assert ended == {0: "topic_not_found", 1: "partition_not_found", 2: "offset_out_of_range"}
        replies = client.subscribe(v1.SubscribeRequest([*starts, v1.Position("orders", 1)]))
        assert {next(replies).position for _ in range(3)} == {0, 1, 2}
        publish(client, 1, b"goes on")
        assert values(next(replies).batches) == [b"goes on"]
        replies.cancel()

    against(tmp_path, work)


@pytest.mark.parametrize(
    "request_",
    [
        v1.SubscribeRequest(),
        v1.SubscribeRequest([v1.Position("", 0)]),
        v1.SubscribeRequest([v1.Position("orders", 0, offset=-1)]),
        v1.SubscribeRequest([v1.Position("orders", 0, latest=False)]),
        b"\x0a\x05ab",
    ],
)
def test_a_subscription_that_cannot_be_meant_is_an_invalid_argument(tmp_path: Path, request_: object) -> None:
    def work(client: Client) -> None:
        with pytest.raises(grpc.RpcError) as caught:
            next(client.subscribe(request_))
        assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT

    against(tmp_path, work)


def test_replies_keep_to_the_size_asked_for_and_cut_no_batch(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        for _ in range(10):
            publish(client, 0, bytes(30_000))
        replies = client.subscribe(v1.SubscribeRequest([v1.Position("orders", 0)], bytes_max=70_000))
        counts: list[int] = []
        while sum(counts) < 10:
            counts.append(len(values(next(replies).batches)))
        assert counts == [2] * 5
        small = client.subscribe(v1.SubscribeRequest([v1.Position("orders", 0)], bytes_max=1))
        assert len(values(next(small).batches)) == 1
        replies.cancel()
        small.cancel()

    against(tmp_path, work)


def test_a_topic_that_goes_ends_its_positions(tmp_path: Path) -> None:
    async def scenario(broker: ServedBroker) -> None:
        def work(client: Client) -> None:
            replies = list(client.subscribe(v1.SubscribeRequest([v1.Position("orders", 0), v1.Position("orders", 1)])))
            assert sorted((each.position, each.refusal.code) for each in replies) == [
                (0, Code.TOPIC_NOT_FOUND),
                (1, Code.TOPIC_NOT_FOUND),
            ]

        async with trio.open_nursery() as nursery:
            nursery.start_soon(broker.calls, work)
            await until(lambda: broker.runtime.waiting_count == 2)
            await broker.ask(DeleteTopic("orders"))

    with_broker(tmp_path, scenario)


def test_a_client_that_goes_leaves_no_fetch_behind(tmp_path: Path) -> None:
    async def scenario(broker: ServedBroker) -> None:
        def work(client: Client) -> None:
            publish(client, 0, b"x")
            replies = client.subscribe(v1.SubscribeRequest([v1.Position("orders", 0), v1.Position("orders", 1)]))
            next(replies)
            replies.cancel()

        await broker.calls(work)
        await until(lambda: broker.runtime.waiting_count == 0)

    with_broker(tmp_path, scenario)


def test_a_deadline_ends_a_subscription(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        replies = client.subscribe(v1.SubscribeRequest([v1.Position("orders", 0)]), timeout=0.2)
        with pytest.raises(grpc.RpcError) as caught:
            next(replies)
        assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED

    against(tmp_path, work)


def test_a_drain_tells_every_position_where_to_go_on(tmp_path: Path) -> None:
    async def scenario(broker: ServedBroker) -> None:
        def work(client: Client) -> None:
            publish(client, 0, b"a", b"b")
            starts = [v1.Position("orders", 0), v1.Position("orders", 1), v1.Position("nowhere", 0)]
            replies = list(client.subscribe(v1.SubscribeRequest(starts)))
            last = [(each.position, each.next_offset) for each in replies if each.leaving]
            assert last == [(0, 2), (1, 0)]

        async with trio.open_nursery() as nursery:
            nursery.start_soon(broker.calls, work)
            await until(lambda: broker.runtime.waiting_count == 2)
            await broker.server.drain(30 * SECOND_NS)

    with_broker(tmp_path, scenario)


def test_a_slow_reader_holds_back_its_own_subscription_and_no_memory(tmp_path: Path) -> None:
    limits = Limits(stream_queue_bytes_max=64 * KIB)
    total, size = 160, 100_000

    async def scenario(broker: ServedBroker) -> None:
        content = batch(bytes(size))
        for _ in range(total):
            await broker.ask(PublishBatch("orders", 0, bytearray(content)))
        window = Limits(stream_window_bytes=64 * KIB)
        async with open_channel("127.0.0.1", broker.port, limits=window) as channel:
            request = v1.SubscribeRequest([v1.Position("orders", 0), v1.Position("orders", 1)], bytes_max=200_000)
            async with aclosing(MessagesClient(channel).subscribe(request)) as replies:  # type: ignore[arg-type, type-var]
                count = len(values((await anext(replies)).batches))
                # Nobody reads: what the server holds for this client stays under the bound and one reply.
                await until(lambda: broker.server.held_bytes > 0)
                for _ in range(20):
                    await trio.sleep(0.01)
                    assert broker.server.held_bytes <= 64 * KIB + 2 * (size + 1000) + 1000
                await broker.ask(CreateTopic("meanwhile", 1))
                while count < total:
                    count += len(values((await anext(replies)).batches))
                assert count == total

    with_broker(tmp_path, scenario, Setting(connection=limits))
