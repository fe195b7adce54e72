"""The port as curl sees it, by both protocols and over TLS, and gRPC beside REST on the same connection's port."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from goqueue.transports.grpc.service import GrpcService
from goqueue.transports.trio_grpc_client import open_channel
from tests.transports.grpc.echo_messages import EchoStub, Parcel
from tests.transports.grpc.echo_service import Echo
from tests.transports.port.port_client import client_of
from tests.transports.rest.rest_client import Served, orders, run
from tests.transports.serving import in_thread

TYPED = ("-H", "content-type: application/json")


def speaks_http2() -> bool:
    """Whether there is a curl here that speaks HTTP/2."""
    if shutil.which("curl") is None:
        return False
    return "HTTP2" in subprocess.run(["curl", "--version"], capture_output=True, text=True, check=True).stdout


@pytest.mark.skipif(not speaks_http2(), reason="there is no curl here that speaks HTTP/2")
@pytest.mark.parametrize(("option", "version"), [("--http1.1", "1.1"), ("--http2-prior-knowledge", "2")])
def test_curl_publishes_and_reads_and_follows(tmp_path: Path, option: str, version: str) -> None:
    async def scenario(served: Served) -> None:
        async def curl(path: str, *options: str) -> str:
            command = ["curl", option, "-sS", "-N", "-m", "20", *options, f"http://127.0.0.1:{served.port}{path}"]
            ran = await in_thread(lambda: subprocess.run(command, capture_output=True, text=True, check=True))
            return ran.stdout

        assert await curl(
            "/topics", *TYPED, "-d", '{"name": "orders", "num_partitions": 1}', "-w", "%{http_version}"
        ) == ('{"name":"orders","partitions":1,"created":true}' + version)
        assert "offset" in await curl("/topics/orders/publish", *TYPED, "-d", '{"value": "one coffee"}')
        page = "/topics/orders/partitions/0/messages"
        assert json.loads(await curl(page))["next_offset"] == 1
        assert json.loads(await curl(f"{page}?follow=true&limit=1"))["value"] == "one coffee"
        assert f"HTTP/{version} 404" in await curl("/topics/none", "-I")

    run(scenario, tmp_path)


def test_the_content_type_brings_grpc_to_its_services_on_the_same_port(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with client_of(served, "http/2") as client:
            await orders(client)
        async with open_channel("127.0.0.1", served.port) as channel:
            echo = EchoStub(channel)  # type: ignore[arg-type]
            assert await echo.unary(Parcel(count=1, body=b"x")) == Parcel(count=2, body=b"x")

    run(scenario, tmp_path, application=GrpcService([Echo()]))
