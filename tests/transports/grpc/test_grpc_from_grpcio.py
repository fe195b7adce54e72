"""What gRPC's own C library sees of the server."""

import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import grpc
import pytest
import trio
from google.rpc import status_pb2
from grpc_status import rpc_status

from goqueue.transports.grpc.service import GrpcLimits, GrpcService
from tests.transports.grpc.echo_messages import Parcel
from tests.transports.grpc.echo_service import Echo
from tests.transports.serving import in_thread, run, serving, until

PATH = "/goqueue.testing.v1.Echo/"
MIB = 1 << 20
OPTIONS = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]


class Client:
    """The methods of Echo, the way grpcio calls them."""

    def __init__(self, target: str, **settings: Any) -> None:  # noqa: ANN401 - grpcio's
        self.channel = grpc.insecure_channel(target, options=OPTIONS, **settings)
        kinds = {"serializer": bytes, "parse": lambda data: Parcel().parse(data)}
        serializers = {"request_serializer": kinds["serializer"], "response_deserializer": kinds["parse"]}
        self.unary = self.channel.unary_unary(PATH + "Unary", **serializers)
        self.spread = self.channel.unary_stream(PATH + "Spread", **serializers)
        self.gather = self.channel.stream_unary(PATH + "Gather", **serializers)
        self.chat = self.channel.stream_stream(PATH + "Chat", **serializers)

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *error: object) -> None:
        self.channel.close()


def against(work: Callable[[Client], None], service: Echo | None = None, **settings: Any) -> Echo:  # noqa: ANN401
    """Run a client's work in a thread against a server; the service comes back."""
    service = service or Echo()
    client_settings = settings.pop("client", {})

    async def test() -> None:
        def call() -> None:
            with Client(served.target, **client_settings) as client:
                work(client)

        async with serving(GrpcService([service], **settings)) as served:
            await in_thread(call)

    run(test)
    return service


def failure(call: Callable[[], Any]) -> grpc.RpcError:
    """The error that a call ends with."""
    with pytest.raises(grpc.RpcError) as caught:
        call()
    return caught.value


def test_all_four_kinds_of_methods_work() -> None:
    def work(client: Client) -> None:
        assert client.unary(Parcel(body=b"abc", count=1)) == Parcel(body=b"abc", count=2)
        assert [each.count for each in client.spread(Parcel(count=100, size=10))] == list(range(100))
        assert client.gather(iter([Parcel(body=b"ab")] * 50)) == Parcel(count=50, size=100)
        sent = [Parcel(count=number) for number in range(20)]
        assert list(client.chat(iter(sent))) == sent

    against(work)


def test_a_conversation_goes_back_and_forth() -> None:
    def work(client: Client) -> None:
        answered = threading.Semaphore(0)

        def questions() -> Iterator[Parcel]:
            for number in range(5):
                yield Parcel(count=number)
                assert answered.acquire(timeout=10), "the answer must come before the next question"

        for number, answer in enumerate(client.chat(questions())):
            assert answer.count == number
            answered.release()

    against(work)


def test_streams_without_messages_are_no_error() -> None:
    def work(client: Client) -> None:
        assert list(client.spread(Parcel(count=0))) == []
        assert client.gather(iter([])) == Parcel()
        assert list(client.chat(iter([]))) == []

    against(work)


@pytest.mark.parametrize("size", [8 * MIB, 16 * MIB - 100])
def test_messages_of_megabytes_travel_both_ways(size: int) -> None:
    body = bytes(range(256)) * (size // 256)

    def work(client: Client) -> None:
        assert client.unary(Parcel(body=body)).body == body

    against(work)


def test_a_message_over_the_limit_is_refused_and_the_channel_lives_on() -> None:
    def work(client: Client) -> None:
        error = failure(lambda: client.unary(Parcel(body=bytes(MIB))))
        assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert client.unary(Parcel(count=1)).count == 2

    against(work, limits=GrpcLimits(message_bytes_max=64 * 1024))


def test_an_unknown_method_is_unimplemented() -> None:
    def work(client: Client) -> None:
        for path in ("/goqueue.testing.v1.Echo/Nothing", "/nobody.Home/Unary"):
            error = failure(partial(client.channel.unary_unary(path), b""))
            assert error.code() is grpc.StatusCode.UNIMPLEMENTED
        assert client.unary(Parcel(count=1)).count == 2

    against(work)


def test_bytes_that_are_no_message_are_an_invalid_argument() -> None:
    def work(client: Client) -> None:
        method = client.channel.unary_unary(PATH + "Unary")
        assert failure(lambda: method(b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff")).code() is (
            grpc.StatusCode.INVALID_ARGUMENT
        )

    against(work)


def test_an_error_tells_its_status_message_and_details() -> None:
    def work(client: Client) -> None:
        error = failure(lambda: client.unary(Parcel(note="fail:déjà 100%\nseen")))
        assert error.code() is grpc.StatusCode.FAILED_PRECONDITION
        assert error.details() == "déjà 100%\nseen"
        status: status_pb2.Status = rpc_status.from_call(error)
        assert status.details[0].type_url == "type.googleapis.com/test.Reason"
        assert status.details[0].value == "déjà 100%\nseen".encode()

    against(work)


def test_a_crash_tells_the_log_and_not_the_client(caplog: pytest.LogCaptureFixture) -> None:
    def work(client: Client) -> None:
        error = failure(lambda: client.unary(Parcel(note="crash:secret")))
        assert error.code() is grpc.StatusCode.UNKNOWN
        assert "secret" not in error.details()
        assert client.unary(Parcel(count=1)).count == 2

    against(work)
    assert "secret" in caplog.text


def test_an_error_inside_a_group_is_found() -> None:
    def work(client: Client) -> None:
        assert failure(lambda: client.unary(Parcel(note="crash-group:x"))).code() is grpc.StatusCode.ABORTED

    against(work)


def test_metadata_travels_both_ways() -> None:
    def work(client: Client) -> None:
        metadata = (("given-bin", b"\x00\xff"), ("other", "x"))
        _, call = client.unary.with_call(Parcel(note="metadata"), metadata=metadata)
        assert ("seen-ahead", "yes") in call.initial_metadata()
        assert ("seen-bin", b"\x00\xff") in call.trailing_metadata()

    against(work)


def test_a_deadline_cancels_the_method() -> None:
    def work(client: Client) -> None:
        error = failure(lambda: client.unary(Parcel(note="sleep:30"), timeout=0.1))
        assert error.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        time.sleep(0.3)

    assert against(work).diary == ["sleeping", "cancelled"]


def test_a_deadline_ends_a_stream_in_the_middle() -> None:
    received: list[int] = []

    def work(client: Client) -> None:
        def read() -> None:
            for parcel in client.spread(Parcel(count=1000, note="pause:0.02"), timeout=0.3):
                received.append(parcel.count)  # noqa: PERF401 - each as it comes

        assert failure(read).code() is grpc.StatusCode.DEADLINE_EXCEEDED
        time.sleep(0.3)

    assert against(work).diary == ["spread started", "spread ended"]
    assert 0 < len(received) < 1000


def test_a_cancelled_call_is_cancelled_on_the_server() -> None:
    service = Echo()

    async def test() -> None:
        async with serving(GrpcService([service])) as served:
            client = Client(served.target)
            call = client.unary.future(Parcel(note="sleep:30"))
            await until(lambda: service.diary == ["sleeping"])
            call.cancel()
            await until(lambda: service.diary == ["sleeping", "cancelled"])
            stream = client.spread(Parcel(count=1000, size=10, note="pause:0.01"))
            await in_thread(lambda: next(stream))
            stream.cancel()
            await until(lambda: service.diary[-1] == "spread ended")
            client.channel.close()

    run(test)


def test_a_client_that_vanishes_cancels_its_calls() -> None:
    service = Echo()

    async def test() -> None:
        async with serving(GrpcService([service])) as served:
            client = Client(served.target)
            call = client.unary.future(Parcel(note="sleep:30"))
            await until(lambda: service.diary == ["sleeping"])
            client.channel.close()
            assert call.code() is grpc.StatusCode.CANCELLED
            await until(lambda: service.diary == ["sleeping", "cancelled"])

    run(test)


@pytest.mark.parametrize("compress_replies", [False, True])
@pytest.mark.parametrize("compression", [grpc.Compression.NoCompression, grpc.Compression.Gzip])
def test_compression_is_taken_and_given(compression: grpc.Compression, compress_replies: bool) -> None:
    body = b"again and " * 10_000

    def work(client: Client) -> None:
        assert client.unary(Parcel(body=body)).body == body
        assert client.gather(iter([Parcel(body=body)] * 3)).size == 3 * len(body)
        assert [each.size for each in client.spread(Parcel(count=3, size=100_000))] == [0, 0, 0]

    against(work, compress_replies=compress_replies, client={"compression": compression})


def test_a_bomb_of_gzip_is_refused() -> None:
    def work(client: Client) -> None:
        error = failure(lambda: client.unary(Parcel(body=bytes(10 * MIB))))
        assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED

    against(work, limits=GrpcLimits(message_bytes_max=MIB), client={"compression": grpc.Compression.Gzip})


def test_an_unknown_compression_is_unimplemented_and_the_channel_lives_on() -> None:
    def work(client: Client) -> None:
        error = failure(lambda: client.unary(Parcel(body=bytes(1000)), compression=grpc.Compression.Deflate))
        assert error.code() is grpc.StatusCode.UNIMPLEMENTED
        assert ("grpc-accept-encoding", "identity,gzip") in [*error.initial_metadata(), *error.trailing_metadata()] or (
            "deflate" in error.details()
        )
        assert client.unary(Parcel(count=1)).count == 2

    against(work)


def test_fifteen_hundred_calls_run_at_once_on_one_connection() -> None:
    service = Echo()

    async def test() -> None:
        async with serving(GrpcService([service])) as served:
            client = Client(served.target)
            calls = [client.unary.future(Parcel(note="sleep:1", count=number)) for number in range(1500)]
            await until(lambda: len(service.diary) == 1500)
            assert served.server.connection_count == 1
            answers = await in_thread(lambda: [call.result().count for call in calls])
            assert answers == [number + 1 for number in range(1500)]
            client.channel.close()

    run(test)


def test_a_slow_reader_makes_its_sender_wait() -> None:
    service = Echo()

    async def test() -> None:
        async with serving(GrpcService([service])) as served:
            client = Client(served.target)
            stream = client.spread(Parcel(count=2000, size=100_000))
            await in_thread(lambda: next(stream))
            await trio.sleep(0.5)
            sent_bytes = service.sent * 100_000
            assert sent_bytes < 64 * MIB, "windows and queues bound what leaves without being read"
            await trio.sleep(0.2)
            assert service.sent * 100_000 == sent_bytes
            # Others on the same connection are not held up.
            assert (await in_thread(lambda: client.unary(Parcel(count=1), timeout=10))).count == 2
            assert await in_thread(lambda: sum(1 for _ in stream)) == 1999
            client.channel.close()

    run(test)


def test_a_drained_server_finishes_what_is_in_flight() -> None:
    service = Echo()

    async def test() -> None:
        async with serving(GrpcService([service])) as served:
            client = Client(served.target)
            call = client.unary.future(Parcel(note="sleep:0.5", count=1))
            stream = client.spread(Parcel(count=20, size=10, note="pause:0.02"))
            await until(lambda: len(service.diary) == 2)
            await served.server.drain(10**10)
            assert (await in_thread(call.result)).count == 2
            assert [each.count for each in await in_thread(lambda: list(stream))] == list(range(20))
            assert served.server.connection_count == 0
            client.channel.close()

    run(test)


def test_a_drain_cuts_what_takes_longer_than_the_grace() -> None:
    service = Echo()

    async def test() -> None:
        async with serving(GrpcService([service])) as served:
            client = Client(served.target)
            call = client.unary.future(Parcel(note="sleep:30"))
            await until(lambda: service.diary == ["sleeping"])
            await served.server.drain(10**8)
            assert await in_thread(call.code) is grpc.StatusCode.UNAVAILABLE
            assert service.diary == ["sleeping", "cancelled"]
            client.channel.close()

    run(test)
