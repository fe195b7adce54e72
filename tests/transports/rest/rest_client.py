"""A real broker behind a real port, for as long as a test needs it, and the clients to call it with."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import trio
from attrs import define, field

from goqueue.transports.exchange import Application
from goqueue.transports.metrics.metered import MeteredBroker
from goqueue.transports.metrics.meters import BrokerMeters
from goqueue.transports.metrics.page import MetricsPage
from goqueue.transports.rest.edge import Edge, Rest
from goqueue.transports.rest.web_access import WebAccess
from goqueue.transports.trio_patience import PatientBroker
from goqueue.transports.trio_server import Server, ServerLimits
from tests.transports.running import running_broker

JSON = {"content-type": "application/json"}


@define
class Served:
    """A server that runs, and where."""

    server: Server
    port: int
    edge: Edge
    opened: list[trio.SocketStream] = field(factory=list)

    def client(self) -> httpx.AsyncClient:
        """An HTTP client of someone else's making."""
        return httpx.AsyncClient(base_url=f"http://127.0.0.1:{self.port}", timeout=30)

    async def raw(self) -> trio.SocketStream:
        """A bare connection, for what no decent client sends."""
        stream = await trio.open_tcp_stream("127.0.0.1", self.port)
        self.opened.append(stream)
        return stream

    async def exchange(self, sent: bytes) -> bytes:
        """All that is answered to some bytes until the server closes."""
        stream = await self.raw()
        await stream.send_all(sent)
        return b"".join([part async for part in stream])


@asynccontextmanager
async def serving(
    folder: Path,
    limits: ServerLimits | None = None,
    application: Application | None = None,
    access: WebAccess | None = None,
    host: str = "127.0.0.1",
) -> AsyncIterator[Served]:
    """Run a broker on a folder and serve it."""
    async with running_broker(folder) as broker, trio.open_nursery() as nursery:
        meters = BrokerMeters()
        page = MetricsPage(meters, broker.store_meters, lambda: server.connection_count)
        patient = PatientBroker(MeteredBroker(broker, meters))
        rest = Rest(patient, lambda: time.time_ns() // 1_000_000, page, patient.leave)
        server = Server(application, rest, limits=limits, access=access)
        listeners = await trio.open_tcp_listeners(0, host=host)
        await nursery.start(server.serve, listeners)
        served = Served(server, listeners[0].socket.getsockname()[1], rest)
        try:
            yield served
        finally:
            nursery.cancel_scope.cancel()
            for stream in served.opened:
                stream.socket.close()


Scenario = Callable[[Served], Awaitable[None]]


def run(
    scenario: Scenario,
    folder: Path,
    limits: ServerLimits | None = None,
    application: Application | None = None,
    access: WebAccess | None = None,
    host: str = "127.0.0.1",
) -> None:
    """Run a scenario against a server of its own; what does not end within a minute hangs."""

    async def within() -> None:
        with trio.fail_after(60):
            async with serving(folder, limits, application, access, host) as served:
                await scenario(served)

    trio.run(within)


async def until(holds: Callable[[], bool]) -> None:
    """Wait for something that a server comes to by itself."""
    while not holds():  # noqa: ASYNC110 - nothing in the product announces it
        await trio.sleep(0.01)


async def orders(client: httpx.AsyncClient, **more: object) -> None:
    """Make the topic `orders` with one partition."""
    made = await client.post("/topics", json={"name": "orders", "num_partitions": 1, **more})
    assert made.status_code == 201, made.text


async def publish(client: httpx.AsyncClient, *values: str) -> None:
    """Publish some values to the topic `orders`."""
    sent = await client.post("/topics/orders/messages", json={"messages": [{"value": value} for value in values]})
    assert sent.status_code == 200, sent.text
