"""PublishStream, as grpcio and grpclib see it, with DATA past h2 and through it."""

import queue
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import grpc
import pytest
import trio

from goqueue.proto import v1
from goqueue.transports.grpc.service import GrpcLimits
from goqueue.transports.http2.limits import KIB, SECOND_NS, Limits
from tests.transports.services.served_broker import (
    Client,
    ServedBroker,
    Setting,
    StallingDisk,
    against,
    batch,
    values,
    with_broker,
)
from tests.transports.serving import until

PATHS = [Limits(), Limits(plain_data=False), Limits(frame_bytes_max=16 * KIB, stream_window_bytes=64 * KIB)]
both_paths = pytest.mark.parametrize("limits", PATHS, ids=["past h2", "through h2", "in small frames"])


class Feed:
    """Requests of a stream, given one after another while it runs."""

    def __init__(self) -> None:
        self._given: queue.SimpleQueue[object] = queue.SimpleQueue()

    def give(self, *requests: object) -> None:
        """Send these."""
        for request in requests:
            self._given.put(request)

    def end(self) -> None:
        """Send no more."""
        self._given.put(None)

    def __iter__(self) -> Iterator[object]:
        return iter(self._given.get, None)


def requests(count: int, *, partitions: int = 2, padding: bytes = b"") -> list[v1.PublishBatchRequest]:
    """A batch for one partition after another, numbered from 1."""
    return [
        v1.PublishBatchRequest("orders", number % partitions, batch(b"%d" % number + padding), request_id=number)
        for number in range(1, count + 1)
    ]


@both_paths
def test_every_batch_is_answered_and_kept_in_order(tmp_path: Path, limits: Limits) -> None:
    def work(client: Client) -> None:
        replies = list(client.publish_stream(iter(requests(300, padding=b"." * 3000))))
        assert sorted(each.request_id for each in replies) == list(range(1, 301))
        by_partition = defaultdict(list)
        for each in replies:
            by_partition[each.request_id % 2].append((each.request_id, each.offset))
        for partition, answered in by_partition.items():
            assert answered == sorted(answered), "replies keep the order of their partition"
            assert [offset for _, offset in answered] == list(range(150))
            found = values(client.fetch(v1.FetchRequest("orders", partition, 0)).batches)
            assert [int(value.rstrip(b".")) for value in found] == [number for number, _ in answered]

    against(tmp_path, work, Setting(connection=limits))


@both_paths
def test_large_batches_arrive_whole(tmp_path: Path, limits: Limits) -> None:
    def work(client: Client) -> None:
        large = [batch(b"%d" % number) if number % 2 else batch(bytes(700_000)) for number in range(8)]
        sent = [v1.PublishBatchRequest("orders", 0, each, request_id=at) for at, each in enumerate(large)]
        replies = list(client.publish_stream(iter(sent)))
        assert [each.offset for each in replies] == list(range(8))
        found = client.fetch(v1.FetchRequest("orders", 0, 0, bytes_max=8 << 20)).batches
        assert b"".join(each[21:] for each in large) == b"".join(_crc_covered(found))

    against(tmp_path, work, Setting(connection=limits))


def _crc_covered(batches: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(batches):
        size = 12 + int.from_bytes(batches[at + 8 : at + 12], "big")
        yield batches[at + 21 : at + size]
        at += size


@both_paths
def test_what_is_refused_is_said_inline_and_the_stream_goes_on(tmp_path: Path, limits: Limits) -> None:
    def work(client: Client) -> None:
        fine = batch(b"fine")
        sent = [
            v1.PublishBatchRequest("orders", 0, fine, request_id=1),
            v1.PublishBatchRequest("nowhere", 0, fine, request_id=2),
            v1.PublishBatchRequest("orders", 7, fine, request_id=3),
            v1.PublishBatchRequest("orders", 0, b"garbage", request_id=4),
            v1.PublishBatchRequest("orders", 0, fine, v1.Acks.try_value(5), request_id=5),
            v1.PublishBatchRequest("", 0, fine, request_id=6),
            v1.PublishBatchRequest("orders", 0, request_id=7),
            v1.PublishBatchRequest("orders", 0, fine, request_id=8),
        ]
        replies = {each.request_id: each for each in client.publish_stream(iter(sent))}
        codes = [replies[number].refusal.code for number in range(1, 9)]
        assert codes == [
            "",
            "topic_not_found",
            "partition_not_found",
            "corrupt_batch",
            "invalid_request",
            "invalid_request",
            "invalid_request",
            "",
        ]
        assert (replies[1].offset, replies[8].offset, replies[2].offset) == (0, 1, -1)
        assert replies[5].refusal.field == "acks"

    against(tmp_path, work, Setting(connection=limits))


@both_paths
@pytest.mark.parametrize("flaw", [b"\x0a\x05abc", b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", b"\x0a\x01\xff"])
def test_what_is_no_request_ends_the_stream_after_the_answers_before_it(
    tmp_path: Path, limits: Limits, flaw: bytes
) -> None:
    def work(client: Client) -> None:
        replies = client.publish_stream(iter([*requests(3), flaw, *requests(3)]))
        assert sorted(next(replies).request_id for _ in range(3)) == [1, 2, 3]
        with pytest.raises(grpc.RpcError) as caught:
            next(replies)
        assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT

    against(tmp_path, work, Setting(connection=limits))


@both_paths
def test_a_batch_over_the_bound_ends_the_stream_after_the_answers_before_it(tmp_path: Path, limits: Limits) -> None:
    def work(client: Client) -> None:
        replies = client.publish_stream(iter([*requests(2), v1.PublishBatchRequest("orders", 0, bytes(60_000))]))
        assert sorted(next(replies).request_id for _ in range(2)) == [1, 2]
        with pytest.raises(grpc.RpcError) as caught:
            next(replies)
        assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED

    services = {"limits": GrpcLimits(message_bytes_max=50_000)}
    against(tmp_path, work, Setting(connection=limits, services=services))


def test_a_request_may_be_spelled_oddly(tmp_path: Path) -> None:
    fine = batch(b"fine")
    parts = {
        "topic": b"\x0a\x06orders",
        "partition": b"\x10\x81\x00",  # 1, longer than it must be
        "batch": b"\x1a" + bytes((len(fine),)) + fine,
        "request_id": b"\x28\x09",
        "unknown": b"\x9a\x3f\x03abc",
    }
    assert len(fine) < 128

    def work(client: Client) -> None:
        orders = [
            ["request_id", "batch", "partition", "topic"],
            ["topic", "partition", "batch", "unknown", "request_id"],
            ["topic", "topic", "partition", "batch", "request_id"],
        ]
        sent = [b"".join(parts[name] for name in order) for order in orders]
        replies = list(client.publish_stream(iter(sent)))
        assert [(each.request_id, each.offset, each.refusal.code) for each in replies] == [
            (9, 0, ""),
            (9, 1, ""),
            (9, 2, ""),
        ]

    against(tmp_path, work)


@both_paths
def test_a_stream_may_be_compressed(tmp_path: Path, limits: Limits) -> None:
    def work(client: Client) -> None:
        sent = [v1.PublishBatchRequest("orders", 0, batch(bytes(size)), request_id=size) for size in (10, 50_000, 20)]
        replies = list(client.publish_stream(iter(sent), compression=grpc.Compression.Gzip))
        assert [(each.request_id, each.offset) for each in replies] == [(10, 0), (50_000, 1), (20, 2)]

    against(tmp_path, work, Setting(connection=limits))


def test_a_client_that_goes_leaves_nothing_behind(tmp_path: Path) -> None:
    async def scenario(broker: ServedBroker) -> None:
        def work(client: Client) -> None:
            feed = Feed()
            feed.give(*requests(4))
            replies = client.publish_stream(iter(feed))
            next(replies)
            replies.cancel()
            feed.end()

        await broker.calls(work)
        await until(lambda: broker.server.connection_count == 0 and broker.runtime.waiting_count == 0)
        assert broker.runtime.held_bytes == 0

    with_broker(tmp_path, scenario)


def stalled(tmp_path: Path, bound: Callable[[ServedBroker], int], setting: Setting) -> None:
    """A client sends far more than may be unanswered while the disk stalls; then the disk goes on."""
    disk = StallingDisk(str(tmp_path))
    setting.disk = disk
    count, size = 200, 50_000

    async def scenario(broker: ServedBroker) -> None:
        answered = 0

        def work(client: Client) -> None:
            nonlocal answered
            body = bytes(size)
            sent = (v1.PublishBatchRequest("orders", 0, batch(body), request_id=at) for at in range(1, count + 1))
            for number, reply in enumerate(client.publish_stream(sent)):
                assert (reply.offset, reply.request_id, reply.refusal.code) == (number, number + 1, "")
                answered += 1

        disk.stall()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(broker.calls, work)
            await until(lambda: broker.runtime.held_bytes >= bound(broker))
            for _ in range(20):
                await trio.sleep(0.01)
                # What one read brings may pass the bound, not more.
                assert broker.runtime.held_bytes <= bound(broker) + size + 1000
            assert answered == 0
            disk.go_on()
        assert answered == count
        assert broker.runtime.held_bytes == 0

    try:
        with_broker(tmp_path, scenario, setting)
    finally:
        disk.go_on()


@both_paths
def test_a_stalled_disk_stops_a_stream_at_its_bound(tmp_path: Path, limits: Limits) -> None:
    services = {"unanswered_bytes_max": 500_000}
    stalled(tmp_path, lambda _: 500_000, Setting(connection=limits, services=services))


@both_paths
def test_a_stalled_disk_stops_all_streams_at_the_brokers_bound(tmp_path: Path, limits: Limits) -> None:
    stalled(tmp_path, lambda _: 400_000, Setting(connection=limits, admission_bytes_max=400_000))


def test_a_drain_answers_what_was_taken_and_says_that_the_node_leaves(tmp_path: Path) -> None:
    async def scenario(broker: ServedBroker) -> None:
        answered = trio.Event()
        token = trio.lowlevel.current_trio_token()

        def work(client: Client) -> None:
            feed = Feed()
            feed.give(*requests(5))
            replies = client.publish_stream(iter(feed))
            found = [next(replies).request_id for _ in range(5)]
            token.run_sync_soon(answered.set)
            with pytest.raises(grpc.RpcError) as caught:
                next(replies)
            feed.end()
            assert sorted(found) == [1, 2, 3, 4, 5]
            assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
            assert "about to stop" in caught.value.details()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(broker.calls, work)
            await answered.wait()
            broker.application.leave()
            await broker.server.drain(30 * SECOND_NS)

    with_broker(tmp_path, scenario)
