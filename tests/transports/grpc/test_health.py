"""The health service, asked by gRPC's own client."""

import threading

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from goqueue.transports.grpc.health import Health
from goqueue.transports.grpc.service import GrpcService
from tests.transports.serving import in_thread, run, serving, until

Answer = health_pb2.HealthCheckResponse


def test_a_server_says_whether_it_wants_calls() -> None:
    health = Health()

    async def test() -> None:
        async with serving(GrpcService([health])) as served:
            with grpc.insecure_channel(served.target) as channel:
                check = health_pb2_grpc.HealthStub(channel).Check
                request = health_pb2.HealthCheckRequest
                assert (await in_thread(lambda: check(request()))).status == Answer.SERVING
                health.tell("queue", serving=False)
                assert (await in_thread(lambda: check(request(service="queue")))).status == Answer.NOT_SERVING
                with pytest.raises(grpc.RpcError) as caught:
                    await in_thread(lambda: check(request(service="nobody")))
                assert caught.value.code() is grpc.StatusCode.NOT_FOUND
                health.retire()
                assert (await in_thread(lambda: check(request()))).status == Answer.NOT_SERVING

    run(test)


def test_who_watches_hears_of_each_change_once() -> None:
    health = Health()
    heard: list[int] = []

    def listen(watch: grpc.Call) -> None:
        try:
            for answer in watch:
                heard.append(answer.status)  # noqa: PERF401 - each as it comes
        except grpc.RpcError:
            return

    async def test() -> None:
        async with serving(GrpcService([health])) as served:
            with grpc.insecure_channel(served.target) as channel:
                watch = health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest(service="queue"))
                listener = threading.Thread(target=listen, args=(watch,))
                listener.start()
                await until(lambda: len(heard) == 1)
                health.tell("queue", serving=True)
                await until(lambda: len(heard) == 2)
                health.tell("other", serving=True)
                health.tell("queue", serving=True)
                health.tell("queue", serving=False)
                await until(lambda: len(heard) == 3)
                watch.cancel()
                await in_thread(listener.join)

    run(test)
    assert heard == [Answer.SERVICE_UNKNOWN, Answer.SERVING, Answer.NOT_SERVING]
