"""Messages over gRPC one call at a time, as grpcio sees them."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import grpc
import pytest
import trio

from goqueue.core.records.record import iterate
from goqueue.core.requests.nodes import DescribeNode, NodeReply
from goqueue.proto import v1
from goqueue.transports.grpc.service import GrpcLimits
from tests.transports.services.served_broker import (
    Client,
    ServedBroker,
    Setting,
    against,
    batch,
    failure,
    values,
    with_broker,
)
from tests.transports.serving import in_thread, until


def test_messages_are_published_one_by_one_and_fetched(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        written = time.time_ns() // 1_000_000 - 60_000
        drafts = [
            v1.NewMessage(b"k", b"first", [v1.Header("h", b"x"), v1.Header("none")], 0, written),
            v1.NewMessage(value=b"second", partition=0),
            v1.NewMessage(value=b"nowhere", partition=9),
        ]
        results = client.publish(v1.PublishRequest("orders", drafts)).results
        assert [each.offset for each in results] == [0, 1, -1]
        assert results[2].refusal.code == "partition_not_found"
        fetched = client.fetch(v1.FetchRequest("orders", 0, 0))
        first, second = iterate(fetched.batches)
        assert (first.key, first.value, first.timestamp) == (b"k", b"first", written)
        assert tuple(first.headers) == (("h", b"x"), ("none", None))
        assert (second.key, second.value) == (None, b"second")
        assert (fetched.next_offset, fetched.high_watermark, fetched.start_offset) == (2, 2, 0)

    against(tmp_path, work)


def test_a_fetch_by_the_id_of_a_topic_is_refused_once_another_one_has_its_name(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        topic = client.describe_topic(v1.DescribeTopicRequest("orders"))
        client.publish_batch(v1.PublishBatchRequest("orders", 1, batch(b"a")))
        assert client.fetch(v1.FetchRequest("orders", 1, 0, topic_id=topic.id)).next_offset == 1
        client.delete_topic(v1.DeleteTopicRequest("orders"))
        again = client.create_topic(v1.CreateTopicRequest("orders", 3))
        assert again.id not in ("", topic.id)
        client.publish_batch(v1.PublishBatchRequest("orders", 1, batch(b"b", b"c")))
        with pytest.raises(grpc.RpcError) as refused:
            client.fetch(v1.FetchRequest("orders", 1, 0, topic_id=topic.id))
        assert refused.value.code() is grpc.StatusCode.FAILED_PRECONDITION
        assert values(client.fetch(v1.FetchRequest("orders", 1, 0)).batches) == [b"b", b"c"]

    against(tmp_path, work)


def test_a_batch_is_published_and_comes_back_as_it_was(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        sent = batch(b"a", b"b", b"c")
        reply = client.publish_batch(v1.PublishBatchRequest("orders", 1, sent, request_id=7))
        assert (reply.request_id, reply.offset) == (7, 0)
        assert client.publish_batch(v1.PublishBatchRequest("orders", 1, sent)).offset == 3
        fetched = client.fetch(v1.FetchRequest("orders", 1, 3))
        assert values(fetched.batches) == [b"a", b"b", b"c"]
        assert fetched.batches[21:] == sent[21:], "nothing that the CRC covers has changed"
        assert fetched.next_offset == 6

    against(tmp_path, work)


def test_a_fetch_of_nothing_answers_at_once_or_waits_for_news(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        assert client.fetch(v1.FetchRequest("orders", 0, 0)).batches == b""
        waiting = client.fetch.future(v1.FetchRequest("orders", 0, 0, wait_ms=30_000))
        client.publish_batch(v1.PublishBatchRequest("orders", 0, batch(b"news")))
        assert values(waiting.result(timeout=30).batches) == [b"news"]

    against(tmp_path, work)


def test_an_offset_is_found_by_time(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        now = time.time_ns() // 1_000_000
        drafts = [v1.NewMessage(value=b"x", partition=0, timestamp_ms=now + step) for step in (0, 1000, 2000)]
        client.publish(v1.PublishRequest("orders", drafts))
        found = client.find_offset(v1.FindOffsetRequest("orders", 0, now + 500))
        assert (found.offset, found.timestamp_ms) == (1, now + 1000)
        late = client.find_offset(v1.FindOffsetRequest("orders", 0, now + 5000))
        assert (late.offset, late.timestamp_ms) == (3, -1)

    against(tmp_path, work)


def test_producers_get_numbers_of_their_own(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        first, second = (client.init_producer(v1.InitProducerRequest()) for _ in range(2))
        assert first.producer_id != second.producer_id
        assert first.producer_epoch == 0

    against(tmp_path, work)


def _flipped() -> bytes:
    spoilt = bytearray(batch(b"abc"))
    spoilt[-1] ^= 1
    return bytes(spoilt)


@pytest.mark.parametrize(
    ("name", "request_", "status"),
    [
        ("publish_batch", v1.PublishBatchRequest("orders", 0, b"garbage"), "INVALID_ARGUMENT"),
        ("publish_batch", v1.PublishBatchRequest("orders", 0, _flipped()), "INVALID_ARGUMENT"),
        ("publish_batch", v1.PublishBatchRequest("orders", 0, batch(b"x") + b"tail"), "INVALID_ARGUMENT"),
        ("publish_batch", v1.PublishBatchRequest("orders", 0, batch(b"x"), v1.Acks.try_value(9)), "INVALID_ARGUMENT"),
        ("publish_batch", v1.PublishBatchRequest("orders", 0, b""), "INVALID_ARGUMENT"),
        ("publish_batch", v1.PublishBatchRequest("orders", 2, batch(b"x")), "NOT_FOUND"),
        ("publish_batch", v1.PublishBatchRequest("nowhere", 0, batch(b"x")), "NOT_FOUND"),
        ("publish_batch", bytes(v1.PublishBatchRequest("orders", 0, batch(b"x")))[:-3], "INVALID_ARGUMENT"),
        ("publish", v1.PublishRequest("nowhere", [v1.NewMessage(value=b"x")]), "NOT_FOUND"),
        ("publish", v1.PublishRequest("orders"), "INVALID_ARGUMENT"),
        ("fetch", v1.FetchRequest("orders", 0, 1), "OUT_OF_RANGE"),
        ("fetch", v1.FetchRequest("orders", 0, -1), "INVALID_ARGUMENT"),
        ("fetch", v1.FetchRequest("orders", 2, 0), "NOT_FOUND"),
        ("fetch", b"\xff\xff", "INVALID_ARGUMENT"),
        ("find_offset", v1.FindOffsetRequest("", 0, 0), "INVALID_ARGUMENT"),
        ("find_offset", v1.FindOffsetRequest("nowhere", 0, 0), "NOT_FOUND"),
    ],
)
def test_what_cannot_be_done_has_the_status_that_says_why(
    tmp_path: Path, name: str, request_: object, status: str
) -> None:
    def work(client: Client) -> None:
        error = failure(lambda: getattr(client, name)(request_))
        assert error.code() is getattr(grpc.StatusCode, status), error
        assert error.details()

    against(tmp_path, work)


def test_a_message_over_the_bound_is_refused_and_the_channel_lives(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        error = failure(lambda: client.publish_batch(v1.PublishBatchRequest("orders", 0, bytes(100_000))))
        assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert client.publish_batch(v1.PublishBatchRequest("orders", 0, batch(b"x"))).offset == 0

    against(tmp_path, work, Setting(services={"limits": GrpcLimits(message_bytes_max=50_000)}))


def test_eight_megabytes_go_in_and_come_out_also_compressed(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        sent = batch(bytes(8 << 20))
        for number, compression in enumerate((None, grpc.Compression.Gzip)):
            reply = client.publish_batch(v1.PublishBatchRequest("orders", 0, sent), compression=compression)
            assert reply.offset == number
        fetched = client.fetch(v1.FetchRequest("orders", 0, 0, bytes_max=1))
        assert fetched.batches[21:] == sent[21:]

    against(tmp_path, work)


def test_fifteen_hundred_calls_at_once_are_all_served(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        request = v1.PublishRequest("orders", [v1.NewMessage(value=b"x", partition=0)])
        calls = [client.publish.future(request) for _ in range(1500)]
        offsets = sorted(call.result(timeout=50).results[0].offset for call in calls)
        assert offsets == list(range(1500))

    against(tmp_path, work)


def test_clients_side_by_side_lose_nothing(tmp_path: Path) -> None:
    async def scenario(broker: ServedBroker) -> None:
        def work(name: bytes) -> None:
            with Client(broker.target, ("grpc.use_local_subchannel_pool", 1)) as client:
                for number in range(20):
                    client.publish_batch(v1.PublishBatchRequest("orders", number % 2, batch(name + b"%d" % number)))

        def all_of_them() -> None:
            with ThreadPoolExecutor(8) as threads:
                list(threads.map(work, [b"%d-" % each for each in range(8)]))

        await in_thread(all_of_them)

        def read(client: Client) -> None:
            found = [
                value
                for partition in (0, 1)
                for value in values(client.fetch(v1.FetchRequest("orders", partition, 0)).batches)
            ]
            assert sorted(found) == sorted(b"%d-%d" % (each, number) for each in range(8) for number in range(20))

        await broker.calls(read)

    with_broker(tmp_path, scenario)


def test_a_cancelled_fetch_is_taken_back(tmp_path: Path) -> None:
    async def scenario(broker: ServedBroker) -> None:
        begun = threading.Event()

        def work(client: Client) -> None:
            waiting = client.fetch.future(v1.FetchRequest("orders", 0, 0, wait_ms=60_000))
            begun.wait(30)
            waiting.cancel()
            assert client.describe_node(v1.DescribeNodeRequest()).topics == 1

        async def watch() -> None:
            await until(lambda: broker.runtime.waiting_count > 0)
            begun.set()
            await until(lambda: broker.runtime.waiting_count == 0)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(watch)
            await broker.calls(work)
        assert isinstance(await broker.ask(DescribeNode()), NodeReply)

    with_broker(tmp_path, scenario)


def test_a_deadline_ends_a_fetch_that_waits(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        wait = partial(client.fetch, v1.FetchRequest("orders", 0, 0, wait_ms=60_000), timeout=0.2)
        assert failure(wait).code() is grpc.StatusCode.DEADLINE_EXCEEDED

    against(tmp_path, work)
