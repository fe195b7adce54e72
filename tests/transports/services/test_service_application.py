"""The whole application, as tools see it: health, reflection, clients of other makes."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import grpc
import pytest
import trio
from google.protobuf.descriptor_pool import DescriptorPool
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase
from grpclib.client import Channel
from grpclib.exceptions import GRPCError

from goqueue.proto import v1
from goqueue.transports.http2.limits import SECOND_NS
from tests.transports.services.served_broker import Client, ServedBroker, Setting, against, batch, values, with_broker
from tests.transports.serving import in_thread

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


def test_health_names_what_is_served(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        stub = health_pb2_grpc.HealthStub(client.channel)
        names = ["", "goqueue.v1.Topics", "goqueue.v1.Messages", "goqueue.v1.Groups"]
        found = [stub.Check(health_pb2.HealthCheckRequest(service=name)).status for name in names]
        assert found == [SERVING] * 4

    against(tmp_path, work)


def test_who_watches_hears_that_the_broker_leaves(tmp_path: Path) -> None:
    async def scenario(broker: ServedBroker) -> None:
        watching = trio.Event()
        token = trio.lowlevel.current_trio_token()

        def work(client: Client) -> None:
            stub = health_pb2_grpc.HealthStub(client.channel)
            replies = stub.Watch(health_pb2.HealthCheckRequest(service="goqueue.v1.Messages"))
            assert next(replies).status == SERVING
            token.run_sync_soon(watching.set)
            assert next(replies).status == NOT_SERVING
            replies.cancel()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(broker.calls, work)
            await watching.wait()
            broker.application.leave()

    with_broker(tmp_path, scenario)


def test_reflection_describes_the_contract(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        described = ProtoReflectionDescriptorDatabase(client.channel)
        ours = {name for name in described.get_services() if name.startswith("goqueue.")}
        assert ours == {f"goqueue.v1.{name}" for name in ("Topics", "Messages", "Groups", "Delays", "DeadLetters")}
        service = DescriptorPool(described).FindServiceByName("goqueue.v1.Messages")
        stream = service.FindMethodByName("PublishStream")
        assert stream.input_type.full_name == "goqueue.v1.PublishBatchRequest"
        assert [field.name for field in stream.output_type.fields] == [
            "request_id",
            "offset",
            "timestamp_ms",
            "refusal",
        ]

    against(tmp_path, work)


@pytest.mark.parametrize(
    "options",
    [
        (("grpc.http2.max_frame_size", 1 << 20),),
        (("grpc.http2.bdp_probe", 0), ("grpc.http2.lookahead_bytes", 65_535)),
        (("grpc.optimization_target", "throughput"),),
        (("grpc.default_compression_algorithm", 2),),
    ],
)
def test_channel_options_change_nothing(tmp_path: Path, options: tuple[tuple[str, object], ...]) -> None:
    async def scenario(broker: ServedBroker) -> None:
        def work(client: Client) -> None:
            sent = [v1.PublishBatchRequest("orders", 0, batch(bytes(300_000)), request_id=at) for at in range(1, 9)]
            assert [each.offset for each in client.publish_stream(iter(sent))] == list(range(8))
            replies = client.subscribe(v1.SubscribeRequest([v1.Position("orders", 0)]))
            found = 0
            while found < 8:
                found += len(values(next(replies).batches))
            replies.cancel()

        await broker.calls(work, *options)

    with_broker(tmp_path, scenario)


def test_grpclib_publishes_and_reads(tmp_path: Path) -> None:
    async def talk(port: int) -> None:
        channel = Channel("127.0.0.1", port)
        try:
            topics, messages = v1.TopicsStub(channel), v1.MessagesStub(channel)
            assert (await topics.create_topic(v1.CreateTopicRequest("books", 1))).partitions == 1

            async def sent() -> AsyncIterator[v1.PublishBatchRequest]:
                for number in range(20):
                    yield v1.PublishBatchRequest("books", 0, batch(b"%d" % number), request_id=number)

            replies = [reply async for reply in messages.publish_stream(sent())]
            assert [(each.request_id, each.offset) for each in replies] == [(each, each) for each in range(20)]
            fetched = await messages.fetch(v1.FetchRequest("books", 0, 15))
            assert values(fetched.batches) == [b"15", b"16", b"17", b"18", b"19"]
            with pytest.raises(GRPCError, match="there is no topic"):
                await messages.fetch(v1.FetchRequest("nowhere", 0, 0))
        finally:
            channel.close()

    async def scenario(broker: ServedBroker) -> None:
        await in_thread(lambda: asyncio.run(talk(broker.port)))

    with_broker(tmp_path, scenario, Setting(topics=()))


def test_calls_in_flight_end_well_in_a_drain_and_later_ones_are_refused(tmp_path: Path) -> None:
    async def scenario(broker: ServedBroker) -> None:
        def work(client: Client) -> None:
            waiting = client.fetch.future(v1.FetchRequest("orders", 0, 0, wait_ms=500))
            token.run_sync_soon(begun.set)
            assert waiting.result(timeout=30).batches == b""

        begun = trio.Event()
        token = trio.lowlevel.current_trio_token()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(broker.calls, work)
            await begun.wait()
            while not broker.runtime.waiting_count:  # noqa: ASYNC110 - it happens in another thread
                await trio.sleep(0.005)
            await broker.server.drain(30 * SECOND_NS)

        def late(client: Client) -> None:
            with pytest.raises(grpc.RpcError) as caught:
                client.fetch(v1.FetchRequest("orders", 0, 0), timeout=5)
            assert caught.value.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)

        await broker.calls(late)

    with_broker(tmp_path, scenario)
