"""Connections as they are on a real socket: slow, rude, gone, many, and how the server goes."""

import contextlib
import json
from pathlib import Path

import httpx
import pytest
import trio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from goqueue.transports.http1.limits import SECOND_NS, Http1Limits
from goqueue.transports.trio_server import ServerLimits
from tests.transports.rest.rest_client import JSON, Served, orders, publish, run, until

TYPED = b"Host: localhost\r\nContent-Type: application/json\r\n"
GET = b"GET /version HTTP/1.1\r\nHost: localhost\r\n\r\n"
LAST = GET.replace(b"Host", b"Connection: close\r\nHost")
FOLLOW = b"GET /topics/orders/partitions/0/messages?follow=true HTTP/1.1\r\nHost: localhost\r\n\r\n"
SHORT = SECOND_NS // 10


def farewell(received: bytes) -> tuple[str, int]:
    """Code and offset of the one line that ends a stream, itself one chunk."""
    size, line, *end = received.split(b"\r\n")
    assert (int(size, 16), end) == (len(line), [b"0", b"", b""])
    said = json.loads(line)
    return said["code"], said["next_offset"]


def hasty(**more: int) -> ServerLimits:
    """Limits that a test can wait for."""
    return ServerLimits(http1=Http1Limits(**more))


def test_requests_sent_ahead_are_answered_in_order(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        bodies = [b'{"name":"t%d"}' % at for at in range(20)]
        sent = b"".join(b"POST /topics HTTP/1.1\r\n%bContent-Length: %d\r\n\r\n%b" % (TYPED, len(b), b) for b in bodies)
        answered = await served.exchange(sent + LAST)
        assert answered.count(b"HTTP/1.1 201 Created") == 20
        places = [answered.index(b'"t%d"' % at) for at in range(20)]
        assert places == sorted(places)

    run(scenario, tmp_path)


def test_an_answer_does_not_wait_for_the_request_behind_it(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await orders(client)
        stream = await served.raw()
        await stream.send_all(GET + FOLLOW.replace(b"follow=true", b"wait=60s"))
        assert (await stream.receive_some(1000)).startswith(b"HTTP/1.1 200 OK")

    run(scenario, tmp_path)


@pytest.mark.parametrize(
    ("sent", "status", "code"),
    [
        (b"GET / HTTP/1.1\nHost: a\n\n", 400, "bad_request"),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: b\r\n\r\n", 400, "bad_request"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400, "bad_request"),
        (b"GET / HTTP/1.1\r\nX: " + b"a" * 40_000, 431, "headers_too_large"),
        (
            b"POST /topics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n" + b"x" * 100_000,
            413,
            "too_large",
        ),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r!", 505, "version_not_supported"),
    ],
)
def test_what_is_no_request_is_answered_with_json_and_a_close(
    tmp_path: Path, sent: bytes, status: int, code: str
) -> None:
    async def scenario(served: Served) -> None:
        head, _, body = (await served.exchange(sent)).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 %d " % status)
        assert b"\r\nConnection: close\r\n" in head
        said = json.loads(body)
        assert (set(said), said["code"]) == ({"error", "code", "field", "outcome"}, code)

    run(scenario, tmp_path)


def test_an_idle_connection_is_left_without_a_word(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        assert await served.exchange(b"") == b""
        assert (await served.exchange(GET)).count(b"HTTP/1.1") == 1

    run(scenario, tmp_path, hasty(idle_ns=SHORT))


def test_a_head_that_drips_is_cut_off_with_408(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        stream = await served.raw()

        async def drip() -> None:
            with contextlib.suppress(trio.BrokenResourceError):
                for _ in range(10_000):
                    await stream.send_all(b"x")
                    await trio.sleep(0.01)

        async with trio.open_nursery() as nursery:
            await stream.send_all(b"GET /ver")
            nursery.start_soon(drip)
            answered = b"".join([part async for part in stream])
            nursery.cancel_scope.cancel()
        assert answered.startswith(b"HTTP/1.1 408 ")

    run(scenario, tmp_path, hasty(head_ns=SHORT))


def test_a_body_that_stalls_is_cut_off_with_408_and_its_room_comes_back(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        answered = await served.exchange(b"POST /topics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{")
        assert answered.startswith(b"HTTP/1.1 408 ")
        await until(lambda: served.server.connection_count == 0)
        assert served.server.bytes_in_flight == 0

    run(scenario, tmp_path, hasty(body_ns=SHORT))


def test_a_client_is_told_to_go_on_before_its_body(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        stream = await served.raw()
        body = b'{"name":"orders"}'
        head = b"POST /topics HTTP/1.1\r\n%bExpect: 100-continue\r\nContent-Length: %d\r\n\r\n" % (TYPED, len(body))
        await stream.send_all(head)
        assert await stream.receive_some(1000) == b"HTTP/1.1 100 Continue\r\n\r\n"
        await stream.send_all(body)
        assert (await stream.receive_some(1000)).startswith(b"HTTP/1.1 201 Created\r\n")
        await stream.aclose()

    run(scenario, tmp_path)


def test_a_slow_reader_holds_back_its_own_stream_and_nobody_else(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await orders(client)
            for _ in range(40):
                await publish(client, *["x" * 10_000] * 20)
            stream = await served.raw()
            await stream.send_all(FOLLOW)
            for _ in range(20):
                assert (await client.get("/version")).status_code == 200
            assert served.server.bytes_in_flight < 2 << 20
            await trio.aclose_forcefully(stream)
            await until(lambda: served.server.connection_count == 1)
            assert served.server.bytes_in_flight == 0

    run(scenario, tmp_path)


def test_a_stream_ends_when_the_client_leaves(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await orders(client)
            stream = await served.raw()
            await stream.send_all(FOLLOW)
            assert (await stream.receive_some(1000)).startswith(b"HTTP/1.1 200 OK")
            assert served.server.connection_count == 2
            await stream.aclose()
            await until(lambda: served.server.connection_count == 1)

    run(scenario, tmp_path)


def test_a_bound_on_bytes_in_flight_refuses_bodies_with_503(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        holding = await served.raw()
        await holding.send_all(b"POST /topics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900\r\n\r\n{" + b" " * 400)
        await until(lambda: served.server.bytes_in_flight > 0)
        async with served.client() as client:
            refused = await client.post("/topics", content=b" " * 200, headers=JSON)
            assert (refused.status_code, refused.json()["code"]) == (503, "overloaded")
            assert int(refused.headers["retry-after"]) >= 1
        await holding.aclose()
        await until(lambda: served.server.bytes_in_flight == 0)
        async with served.client() as client:
            assert (await client.post("/topics", content=b" " * 200, headers=JSON)).status_code == 400

    run(scenario, tmp_path, ServerLimits(bytes_in_flight_max=1000))


def test_a_drain_lets_idle_connections_go_and_ends_streams_properly(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{served.port}") as client:
            await orders(client)
            idle, stream = await served.raw(), await served.raw()
            await stream.send_all(FOLLOW)
            assert (await stream.receive_some(1000)).startswith(b"HTTP/1.1 200 OK")
            await served.server.drain(10 * SECOND_NS)
            assert await idle.receive_some(10) == b""
            assert farewell(b"".join([part async for part in stream])) == ("shutting_down", 0)
            assert served.server.connection_count == 0
        with pytest.raises(OSError, match="connect"):
            await served.raw()

    run(scenario, tmp_path)


def test_a_drain_ends_the_wait_of_the_request_in_flight_and_says_close(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await orders(client)
        stream = await served.raw()
        await stream.send_all(FOLLOW.replace(b"follow=true", b"wait=60s"))
        await trio.sleep(0.05)
        await served.server.drain(10 * SECOND_NS)
        answered = b"".join([part async for part in stream])
        assert answered.startswith(b"HTTP/1.1 200 OK")
        assert b"\r\nConnection: close\r\n" in answered

    run(scenario, tmp_path)


def test_a_drain_that_takes_too_long_is_cut(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        stream = await served.raw()
        await stream.send_all(b"POST /topics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{")
        await until(lambda: served.server.bytes_in_flight > 0)
        await served.server.drain(SHORT)
        assert b"".join([part async for part in stream]) == b""

    run(scenario, tmp_path)


PATHS = st.sampled_from(
    [
        b"/topics", b"/topics/orders", b"/topics/orders/publish", b"/topics/orders/messages",
        b"/topics/orders/partitions", b"/topics/orders/partitions/0/messages",
        b"/v1/topics/%6frders", b"/topics/%ff", b"/stats", b"/docs", b"*",
    ]
)  # fmt: skip
WORDS = st.sampled_from(
    [
        b'{"name":', b'"orders"', b'{"messages":[', b'{"value":', b'"x"', b"}", b"]}", b",", b'"partition":', b"0",
        b"-1", b"null", b'"encoding":"base64"', b'"acks":"none"', b'"config":{', b'"\\ud800"', b"\xff",
        b'"headers":{"a":"b"}', b"1e999",
    ]
)  # fmt: skip
QUERIES = st.lists(
    st.sampled_from(
        [b"offset=0", b"offset=1", b"limit=1", b"wait=1ms", b"to_time=2026-01-01T00:00:00Z", b"x=%ff", b"%", b"=", b"&"]
    ),
    max_size=3,
).map(b"&".join)  # fmt: skip
REQUESTS = st.tuples(
    st.sampled_from([b"GET", b"POST", b"PATCH", b"HEAD", b"OPTIONS", b"TRACE"]), PATHS, QUERIES,
    st.lists(WORDS, max_size=6).map(b"".join),
)  # fmt: skip


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(REQUESTS, max_size=20), st.binary(max_size=60))
def test_no_client_can_cause_a_500(
    tmp_path_factory: pytest.TempPathFactory, asked: list[tuple[bytes, bytes, bytes, bytes]], rest: bytes
) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await orders(client)
        sent = b"".join(
            b"%b %b?%b HTTP/1.1\r\n%bContent-Length: %d\r\n\r\n%b" % (method, path, query, TYPED, len(body), body)
            for method, path, query, body in asked
            if path != b"*"
        )
        answered = await served.exchange(sent + LAST)
        assert b"HTTP/1.1 5" not in answered
        stream = await served.raw()
        await stream.send_all(sent + rest)
        await stream.send_eof()
        assert b"HTTP/1.1 500" not in b"".join([part async for part in stream])

    run(scenario, tmp_path_factory.mktemp("broker"))
