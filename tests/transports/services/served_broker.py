"""A broker with its gRPC services on a port, and the generated stubs' methods as grpcio calls them from a thread."""

import re
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
import trio
from attrs import Factory, define

from goqueue.core.broker.node_options import NodeOptions
from goqueue.core.records.batch import split
from goqueue.core.records.build import BatchBuilder
from goqueue.core.records.record import iterate
from goqueue.core.requests.call import Caller
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request
from goqueue.core.requests.topics import CreateTopic
from goqueue.proto import v1
from goqueue.storage.files import FileDisk, RealFile
from goqueue.transports.http2.limits import Limits
from goqueue.transports.runtime import Runtime
from goqueue.transports.services.application import BrokerApplication, application
from goqueue.transports.trio_server import Server
from tests.transports.serving import SECONDS_MAX, ServerLimits, in_thread, serving

CALLER = Caller("test")
OPTIONS = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
KINDS = {(False, False): "unary_unary", (False, True): "unary_stream", (True, True): "stream_stream"}


class Client:
    """Every method of goqueue.v1, by its name in snake case; those of Delays and DeadLetters behind the service's."""

    def __init__(self, target: str, *options: tuple[str, Any], compression: Any = None) -> None:  # noqa: ANN401 - grpcio's
        self.channel = grpc.insecure_channel(target, options=[*OPTIONS, *options], compression=compression)
        for service in (v1.TopicsBase(), v1.MessagesBase(), v1.GroupsBase(), v1.DelaysBase(), v1.DeadLettersBase()):
            for path, entry in service.__mapping__().items():
                kind = KINDS[entry.cardinality.client_streaming, entry.cardinality.server_streaming]
                _, of, method_name = re.split(r"[./]", path)[-3:]
                name = f"{of}_{method_name}" if of in ("Delays", "DeadLetters") else method_name
                name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
                method = getattr(self.channel, kind)(
                    path,
                    request_serializer=lambda message: message if isinstance(message, bytes) else bytes(message),
                    response_deserializer=_parser(entry.reply_type),
                )
                setattr(self, name, method)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - a method of grpcio's
        raise AttributeError(name)

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *error: object) -> None:
        self.channel.close()


def _parser(kind: type[Any]) -> Callable[[bytes], Any]:
    return lambda content: kind().parse(content)


@define
class ServedBroker:
    """A broker that runs, and where its services are."""

    runtime: Runtime
    application: BrokerApplication
    server: Server
    port: int

    @property
    def target(self) -> str:
        """Its address, as gRPC writes it."""
        return f"127.0.0.1:{self.port}"

    async def ask(self, request: Request) -> Reply:
        """What the broker says to a request, with no transport between."""
        return await self.runtime.ask(CALLER, request)

    async def calls(self, work: Callable[[Client], None], *options: tuple[str, Any], **more: Any) -> None:  # noqa: ANN401
        """Run a client's work in a thread."""

        def call() -> None:
            with Client(self.target, *options, **more) as client:
                work(client)

        await in_thread(call)


class StallingDisk(FileDisk):
    """A disk on which nothing becomes durable while `stalled`."""

    def __init__(self, root: str) -> None:
        super().__init__(root)
        self._goes_on = threading.Event()
        self._goes_on.set()

    def stall(self) -> None:
        """Keep every sync waiting."""
        self._goes_on.clear()

    def go_on(self) -> None:
        """Let them all go."""
        self._goes_on.set()

    def open(self, path: str, *, create: bool = False, read_only: bool = False) -> Any:  # noqa: ANN401 - a file
        """A file of this disk."""
        return _StallingFile(super().open(path, create=create, read_only=read_only), self._goes_on)


class _StallingFile:
    def __init__(self, file: RealFile, goes_on: threading.Event) -> None:
        self._file = file
        self._goes_on = goes_on

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever a file has
        return getattr(self._file, name)

    def finish_sync(self, token: int) -> None:
        """Wait for the disk."""
        self._goes_on.wait()
        self._file.finish_sync(token)


@define
class Setting:
    """How a broker under test differs from others."""

    topics: tuple[str, ...] = ("orders",)
    partitions: int = 2
    disk: FileDisk | None = None
    admission_bytes_max: int = 256 << 20
    services: dict[str, Any] = Factory(dict)
    connection: Limits = Factory(Limits)


@asynccontextmanager
async def served_broker(folder: Path, setting: Setting) -> AsyncIterator[ServedBroker]:
    """A broker with some topics, behind a port."""
    disk = setting.disk or FileDisk(str(folder))
    async with trio.open_nursery() as nursery:
        options = NodeOptions(version="test")
        runtime = Runtime(disk, options, print, admission_bytes_max=setting.admission_bytes_max)
        await nursery.start(runtime.run)
        mounted = application(runtime, **setting.services)
        async with serving(mounted, limits=ServerLimits(connection=setting.connection)) as served:
            broker = ServedBroker(runtime, mounted, served.server, served.port)
            for topic in setting.topics:
                await broker.ask(CreateTopic(topic, setting.partitions))
            yield broker
        nursery.cancel_scope.cancel()


def with_broker(
    folder: Path, scenario: Callable[[ServedBroker], Awaitable[None]], setting: Setting | None = None
) -> None:
    """Run a scenario against a broker of its own; one that hangs fails."""

    async def bounded() -> None:
        with trio.fail_after(SECONDS_MAX):
            async with served_broker(folder, setting or Setting()) as broker:
                await scenario(broker)

    trio.run(bounded)


def against(folder: Path, work: Callable[[Client], None], setting: Setting | None = None) -> None:
    """Run a client's work against a broker of its own."""
    with_broker(folder, lambda broker: broker.calls(work), setting)


def failure(call: Callable[[], Any]) -> grpc.RpcError:
    """The error that a call ends with."""
    with pytest.raises(grpc.RpcError) as caught:
        call()
    return caught.value


def batch(*values: bytes, count: int = 0, size: int = 100) -> bytes:
    """A batch of these values, or of `count` values of some size."""
    builder, at_ms = BatchBuilder(), time.time_ns() // 1_000_000
    for value in values or (b"v" * size,) * count:
        builder.add(at_ms, None, value, ())
    return bytes(builder.build())


def values(batches: bytes) -> list[bytes]:
    """The values of all records in some batches."""
    return [bytes(record.value or b"") for each in split(batches) for record in iterate(each)]
