"""One port, two protocols, one table of routes: who speaks what is found out, and answered alike."""

import json
import re
import ssl
from pathlib import Path
from typing import Any

import httpx
import pytest
import trio
import trustme
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from goqueue.transports.http1.limits import SECOND_NS, Http1Limits
from goqueue.transports.http2.frames import PREFACE
from goqueue.transports.trio_server import ServerLimits
from tests.transports.http1.test_http1_server import REQUESTS as ANY_REQUESTS
from tests.transports.port.port_client import PROTOCOLS, BareHttp2, bare_http2, client_of
from tests.transports.rest.rest_client import JSON, Served, orders, publish, run, until

PAGE = "/topics/orders/partitions/0/messages"
SHORT = SECOND_NS // 10

REQUESTS: tuple[tuple[str, str, bytes | None], ...] = (
    ("POST", "/topics", b'{"name": "orders", "num_partitions": 2}'),
    ("POST", "/topics", b'{"name": "orders"}'),
    ("POST", "/topics", b'{"name": 1}'),
    ("POST", "/topics", b"{"),
    ("POST", "/v1/topics/orders/messages", b'{"messages": [{"value": "a"}, {"value": "b", "partition": 9}]}'),
    ("GET", "/topics/orders", None),
    ("HEAD", "/topics/orders", None),
    ("OPTIONS", "/topics", None),
    ("PUT", "/topics", None),
    ("GET", "/nothing/here?x=%ff", None),
    ("GET", PAGE + "?limit=0", None),
    ("GET", PAGE + "?wait=forever", None),
    ("GET", "/topics/%ff", None),
    ("DELETE", "/topics/orders", None),
)


async def answers(served: Served, protocol: str) -> list[tuple[Any, ...]]:
    """What a protocol is answered to one request after another.

    Date, what frames a body, and the ids of topics that are made one after the other differ by nature.
    """
    seen: list[tuple[Any, ...]] = []
    async with client_of(served, protocol) as client:
        for method, path, body in REQUESTS:
            response = await client.request(method, path, content=body, headers=JSON)
            assert response.http_version == protocol.upper()
            assert response.headers["date"].endswith("GMT")
            named = {name: response.headers.get(name) for name in ("content-type", "allow", "retry-after")}
            content = re.sub(rb'"id":"[0-9a-f]+-[0-9a-f]+"', b'"id":""', response.content)
            seen.append((method, path, response.status_code, named, content))
    return seen


def test_both_protocols_are_answered_alike(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        first, second = [await answers(served, protocol) for protocol in PROTOCOLS]
        assert first == second
        assert [status for _, _, status, *_ in first] == [
            201, 409, 400, 400, 200, 200, 200, 204, 405, 404, 400, 400, 400, 200
        ]  # fmt: skip

    run(scenario, tmp_path)


@pytest.mark.parametrize("cut", [1, 3, 14, 18, 23])
def test_the_preface_of_http2_may_come_in_pieces(tmp_path: Path, cut: int) -> None:
    async def scenario(served: Served) -> None:
        stream = await served.raw()
        bare = BareHttp2(stream)
        await stream.send_all(PREFACE[:cut])
        await trio.sleep(0.01)
        await stream.send_all(PREFACE[cut:] + b"\0\0\0\4\0\0\0\0\0" + bare.asked(1, "GET", "/version"))
        status, body = await bare.answer(1)
        assert (status, json.loads(body)["api"]) == (200, "v1")

    run(scenario, tmp_path)


@pytest.mark.parametrize("cut", [1, 2, 10])
def test_a_request_that_begins_like_the_preface_may_come_in_pieces_too(tmp_path: Path, cut: int) -> None:
    sent = b"POST /nowhere HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"

    async def scenario(served: Served) -> None:
        stream = await served.raw()
        await stream.send_all(sent[:cut])
        await trio.sleep(0.01)
        await stream.send_all(sent[cut:])
        assert b"".join([part async for part in stream]).startswith(b"HTTP/1.1 404 ")

    run(scenario, tmp_path)


@pytest.mark.parametrize("sent", [b"", b"P", b"PRI * HTTP/2.0\r\n\r\nSM\r\n"])
def test_who_does_not_say_what_it_speaks_is_let_go(tmp_path: Path, sent: bytes) -> None:
    async def scenario(served: Served) -> None:
        assert await served.exchange(sent) == b""
        await until(lambda: served.server.connection_count == 0)

    run(scenario, tmp_path, ServerLimits(http1=Http1Limits(head_ns=SHORT, idle_ns=SHORT)))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_messages_are_followed_by_either_protocol(tmp_path: Path, protocol: str) -> None:
    async def scenario(served: Served) -> None:
        async with client_of(served, protocol) as client, served.client() as other:
            await orders(other)
            async with client.stream("GET", PAGE, params={"follow": "true", "limit": "3"}) as response:
                assert response.headers["content-type"] == "application/x-ndjson"
                lines = response.aiter_lines()
                for value in ("a", "b", "c"):
                    await publish(other, value)
                    assert json.loads(await anext(lines))["value"] == value
                assert [line async for line in lines] == []
            events = {"accept": "text/event-stream", "last-event-id": "1"}
            async with client.stream("GET", PAGE, params={"follow": "true", "limit": "1"}, headers=events) as response:
                read = (await response.aread()).decode()
                assert read.startswith("id: 2\ndata: {")

    run(scenario, tmp_path)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("accept", ["application/x-ndjson", "text/event-stream"])
def test_followers_are_told_where_to_go_on_when_the_server_goes(tmp_path: Path, protocol: str, accept: str) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as other:
            await orders(other)
            await publish(other, "a", "b")
        async with (
            client_of(served, protocol) as client,
            trio.open_nursery() as nursery,
            client.stream("GET", PAGE, params={"follow": "true"}, headers={"accept": accept}) as response,
        ):
            lines = response.aiter_lines()
            first = await anext(lines)
            nursery.start_soon(served.server.drain, 10 * SECOND_NS)
            rest = [line async for line in lines if line]
        said = json.loads(rest[-1].removeprefix("data: "))
        assert (said["code"], said["next_offset"]) == ("shutting_down", 2)
        if accept == "text/event-stream":
            assert (first, rest[-2]) == ("id: 0", "event: leaving")
        assert served.server.connection_count == 0

    run(scenario, tmp_path)


def test_a_drain_ends_a_connection_of_http2_in_two_steps_and_serves_what_is_in_flight(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await orders(client)
        async with bare_http2(served) as bare, trio.open_nursery() as nursery:
            await bare.ask(1, "GET", PAGE + "?wait=60s")
            await bare.ask(3, "GET", "/version")
            await bare.answer(3)
            nursery.start_soon(served.server.drain, 10 * SECOND_NS)
            assert (await bare.answer(1))[0] == 200
            while await bare.hear():
                pass
            assert bare.goaways == [(1 << 31) - 1, 3]

    run(scenario, tmp_path)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_body_past_the_bound_is_413_by_its_length_alone(tmp_path: Path, protocol: str) -> None:
    async def scenario(served: Served) -> None:
        async with client_of(served, protocol) as client:
            refused = await client.post("/topics", content=b" " * 2000, headers=JSON)
            assert (refused.status_code, refused.json()["code"]) == (413, "too_large")
        if protocol == "http/2":
            async with bare_http2(served) as bare:
                await bare.ask(1, "POST", "/topics", end=False, content_length="2000")
                assert (await bare.answer(1))[0] == 413
                await bare.ask(3, "POST", "/topics", end=False)
                await bare.send(3, b" " * 1001)
                assert (await bare.answer(3))[0] == 413
                await bare.ask(5, "GET", "/version")
                assert (await bare.answer(5))[0] == 200
        assert served.server.bytes_in_flight == 0

    run(scenario, tmp_path, ServerLimits(http1=Http1Limits(body_bytes_max=1000)))


def test_a_body_that_stalls_costs_its_stream_408_and_the_connection_nothing(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with bare_http2(served) as bare:
            await bare.ask(1, "POST", "/topics", end=False)
            await bare.send(1, b'{"name":')
            status, body = await bare.answer(1)
            assert (status, json.loads(body)["code"]) == (408, "request_timeout")
            await bare.ask(3, "GET", "/version")
            assert (await bare.answer(3))[0] == 200
        assert served.server.bytes_in_flight == 0

    run(scenario, tmp_path, ServerLimits(http1=Http1Limits(body_ns=SHORT)))


def test_bodies_of_streams_share_the_room_of_their_address(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with bare_http2(served) as bare:
            await bare.ask(1, "POST", "/topics", end=False, content_type="application/json")
            await bare.send(1, b" " * 400)
            await until(lambda: served.server.bytes_in_flight == 400)
            await bare.ask(3, "POST", "/topics", end=False)
            await bare.send(3, b" " * 101, end=True)
            status, body = await bare.answer(3)
            assert (status, json.loads(body)["code"]) == (503, "overloaded")
            await bare.send(1, b"{}", end=True)
            assert (await bare.answer(1))[0] == 400
            assert served.server.bytes_in_flight == 0

    run(scenario, tmp_path, ServerLimits(bytes_in_flight_max=1000))


@pytest.mark.parametrize("path", ["nowhere", "*x", "/t\xc3\xb6pics"])
def test_a_path_that_is_none_is_refused_by_http2_too(tmp_path: Path, path: str) -> None:
    async def scenario(served: Served) -> None:
        async with bare_http2(served) as bare:
            await bare.ask(1, "GET", path)
            status, body = await bare.answer(1)
            assert (status, json.loads(body)["field"]) == (400, "path")

    run(scenario, tmp_path)


def test_a_client_that_leaves_ends_what_it_followed(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await orders(client)
        async with bare_http2(served) as bare:
            await bare.ask(1, "GET", PAGE + "?follow=true")
            while 1 not in bare.status:
                await bare.hear()
        await until(lambda: served.server.connection_count == 0)

    run(scenario, tmp_path)


def test_over_tls_either_protocol_is_agreed_on_and_the_certificate_may_change(tmp_path: Path) -> None:
    authorities = [trustme.CA(), trustme.CA()]

    def secured(authority: trustme.CA) -> ssl.SSLContext:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        authority.issue_cert("127.0.0.1").configure_cert(context)
        return context

    async def ask(served: Served, authority: trustme.CA, *, http2: bool) -> str:
        trusting = ssl.create_default_context()
        authority.configure_trust(trusting)
        async with httpx.AsyncClient(verify=trusting, http2=http2) as client:
            response = await client.get(f"https://127.0.0.1:{served.port}/version")
            assert response.status_code == 200
            return response.http_version

    async def scenario(served: Served) -> None:
        for authority in authorities:
            served.server.renew_tls(secured(authority))
            assert await ask(served, authority, http2=True) == "HTTP/2"
            assert await ask(served, authority, http2=False) == "HTTP/1.1"
        with pytest.raises(httpx.ConnectError):
            await ask(served, authorities[0], http2=True)
        stream = await served.raw()
        await stream.send_all(b"GET /version HTTP/1.1\r\n\r\n")
        assert b"HTTP" not in b"".join([part async for part in stream])

    run(scenario, tmp_path)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(ANY_REQUESTS, min_size=1, max_size=15))
def test_no_client_of_http2_can_cause_a_500(
    tmp_path_factory: pytest.TempPathFactory, asked: list[tuple[bytes, bytes, bytes, bytes]]
) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await orders(client)
        typed = {"content_type": "application/json"}
        async with bare_http2(served) as bare:
            for at, (method, path, query, body) in enumerate(asked):
                target = b"%b?%b" % (path, query) if query else path
                await bare.ask(2 * at + 1, method.decode(), target.decode("latin-1"), end=False, **typed)
                await bare.send(2 * at + 1, body, end=True)
            for at in range(len(asked)):
                status, _ = await bare.answer(2 * at + 1)
                assert 200 <= status < 500

    run(scenario, tmp_path_factory.mktemp("broker"))
