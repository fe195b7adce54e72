"""The broker that tests run inside their own process: on every loop, in memory or in a folder, and entered again."""

import asyncio
import json
import socket
import threading
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
import trio

from goqueue.testing import Broker
from goqueue.transports.client.channel import open_channel, split_address
from goqueue.transports.client.loops import Loop
from tests.transports.client_loops.on_loops import LOOPS, SECONDS_MAX, drive, on_every_loop

HEALTH = "/grpc.health.v1.Health/Check"
SERVING = b"\x08\x01"


def create(broker: Broker, topic: str) -> int:
    """Create a topic by REST; the status."""
    body = json.dumps({"name": topic}).encode()
    request = Request(f"{broker.http_url}/topics", body, {"content-type": "application/json"})
    with urlopen(request, timeout=SECONDS_MAX) as response:
        return int(response.status)


def topics(broker: Broker) -> list[str]:
    """The names of all topics, by REST."""
    with urlopen(f"{broker.http_url}/topics", timeout=SECONDS_MAX) as response:
        found: dict[str, list[str]] = json.load(response)
    return found["topics"]


async def aside(kind: str, work: Any, *arguments: object) -> Any:  # noqa: ANN401 - whatever it comes to
    """Run something blocking in a thread of this loop's."""
    if kind == "trio":
        return await trio.to_thread.run_sync(work, *arguments)
    return await asyncio.to_thread(work, *arguments)


@on_every_loop
def test_it_speaks_grpc_and_rest(kind: str) -> None:
    async def test(loop: Loop) -> None:
        channel = await open_channel(loop, broker.address)
        assert await channel.call(HEALTH, b"") == SERVING
        await channel.close()

    with Broker() as broker:
        drive(kind, test)
        assert create(broker, "orders") == 201
        assert topics(broker) == ["orders"]


@pytest.mark.parametrize("kind", ["trio", "asyncio"])
def test_it_runs_inside_a_loop(kind: str) -> None:
    async def test(loop: Loop) -> None:
        async with Broker() as broker:
            channel = await open_channel(loop, broker.address)
            assert await channel.call(HEALTH, b"") == SERVING
            await channel.close()
            assert await aside(kind, create, broker, "orders") == 201
            assert await aside(kind, topics, broker) == ["orders"]

    drive(kind, test)


@pytest.mark.parametrize("in_folder", [False, True])
def test_entered_again_it_has_the_same_port_and_contents(tmp_path: Path, in_folder: bool) -> None:
    broker = Broker(tmp_path if in_folder else None)
    with broker:
        address = broker.address
        assert create(broker, "orders") == 201
    with broker:
        assert broker.address == address
        assert topics(broker) == ["orders"]
    assert any(tmp_path.iterdir()) == in_folder


def test_another_one_over_the_same_folder_finds_what_was_there(tmp_path: Path) -> None:
    with Broker(tmp_path) as broker:
        create(broker, "orders")
    with Broker(str(tmp_path)) as broker:
        assert topics(broker) == ["orders"]


def test_two_of_them_have_nothing_in_common() -> None:
    with Broker() as one, Broker() as other:
        assert one.address != other.address
        create(one, "orders")
        assert topics(other) == []


@pytest.mark.parametrize("kind", LOOPS)
def test_a_port_that_is_taken_is_an_error_and_leaves_nothing_behind(kind: str) -> None:
    async def enter() -> None:
        async with Broker(port=port):
            pass

    def enter_blocking() -> None:
        with Broker(port=port):
            pass

    run = {"trio": lambda: trio.run(enter), "asyncio": lambda: asyncio.run(enter()), "blocking": enter_blocking}[kind]
    before = threading.active_count()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(OSError, match="in use"):
            run()
    if kind == "blocking":
        assert threading.active_count() == before


def test_leaving_ends_its_thread_whatever_is_under_way() -> None:
    before = threading.active_count()
    with Broker() as broker, socket.create_connection(split_address(broker.address)) as idle:
        idle.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
    assert threading.active_count() <= before + 1  # an idle thread that trio keeps for later


def test_an_error_of_the_block_comes_out_as_it_is() -> None:
    async def fail() -> None:
        async with Broker():
            raise LookupError("the test's own")

    with pytest.raises(LookupError, match="own"):
        trio.run(fail)
    with pytest.raises(LookupError, match="own"):
        asyncio.run(fail())
    with pytest.raises(LookupError, match="own"), Broker():
        raise LookupError("the test's own")
