"""What web pages can reach of a broker on the machine of whoever visits them, by both protocols and on every port."""

import json
from pathlib import Path
from typing import Any

import pytest
import trio

from goqueue.transports.grpc.service import GrpcService
from goqueue.transports.rest.edge import Edge
from goqueue.transports.rest.exchange import Answer, Question
from goqueue.transports.rest.guarded import REMEMBERED_BYTES_MAX, REMEMBERED_MAX, GuardedEdge
from goqueue.transports.rest.operations import OperationsEdge, UncountedEdge
from goqueue.transports.rest.web_access import WebAccess
from goqueue.transports.trio_server import Server
from tests.transports.grpc.echo_service import Echo
from tests.transports.port.port_client import PROTOCOLS, client_of
from tests.transports.rest.rest_client import JSON, Served, orders, publish, run

CONSOLE = "https://console.example"
PAGE = "/topics/orders/partitions/0/messages"
PROBES = ("/health", "/healthz", "/livez", "/readyz", "/metrics", "/", "/docs", "/topics", "/nowhere")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_page_whose_name_leads_to_this_machine_reads_nothing(tmp_path: Path, protocol: str) -> None:
    async def scenario(served: Served) -> None:
        async with client_of(served, protocol) as client:
            await orders(client)
            await publish(client, "secret")
            for path in (*PROBES, PAGE):
                refused = await client.get(path, headers={"host": f"evil.example:{served.port}"})
                assert (refused.status_code, refused.json()["code"]) == (421, "host_not_allowed"), path
                assert "secret" not in refused.text
            for host in ("localhost", f"127.0.0.1:{served.port}", "[::1]:1"):
                assert "secret" in (await client.get(PAGE, headers={"host": host})).text

    run(scenario, tmp_path)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""]
)
def test_what_a_form_of_any_page_can_send_publishes_nothing(tmp_path: Path, protocol: str, kind: str) -> None:
    body = b'{"value": "forged", "ignored": "="}'

    async def scenario(served: Served) -> None:
        async with client_of(served, protocol) as client:
            await orders(client)
            for path in ("/topics/orders/publish", "/topics/orders/messages", "/topics", "/dlq/orders.dlq/redrive"):
                typed = {"content-type": kind} if kind else {}
                refused = await client.post(path, content=body, headers=typed)
                assert (refused.status_code, refused.json()["field"]) == (415, "content-type")
                assert "content-type: application/json" in refused.json()["error"]
                foreign = {**JSON, "origin": "http://evil.example", "sec-fetch-site": "cross-site"}
                refused = await client.post(path, content=body, headers=foreign)
                assert (refused.status_code, refused.json()["code"]) == (403, "origin_not_allowed")
            assert (await client.get("/topics/orders")).json()["total_messages"] == 0

    run(scenario, tmp_path, application=GrpcService([Echo()]))


@pytest.mark.parametrize("kind", ["application/json", "Application/JSON ; charset=utf-8", "application/problem+json"])
def test_json_by_any_of_its_types_is_taken(tmp_path: Path, kind: str) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await orders(client)
            sent = await client.post(
                "/topics/orders/publish", content=b'{"value": "a"}', headers={"content-type": kind}
            )
            assert sent.status_code == 200

    run(scenario, tmp_path)


def test_what_a_page_makes_a_browser_fetch_is_refused_and_its_links_are_not(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await orders(client)
            fetched = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image"}
            linked = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
            assert (await client.get("/docs", headers=linked)).status_code == 200
            assert (await client.get("/topics", headers=linked)).status_code == 200
            assert (await client.get("/topics", headers=fetched)).status_code == 403
            joined = (await client.post("/groups/g/join", json={"client_id": "a", "topics": ["orders"]})).json()
            poll = f"/groups/g/poll?member_id={joined['member_id']}"
            # A poll moves on, so not even a link may lead to it.
            assert (await client.get(poll, headers=linked)).status_code == 403
            assert (await client.get(poll, headers={**linked, "sec-fetch-site": "none"})).status_code == 200

    run(scenario, tmp_path)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_no_answer_can_be_taken_for_another_type(tmp_path: Path, protocol: str) -> None:
    async def scenario(served: Served) -> None:
        async with client_of(served, protocol) as client:
            await orders(client)
            await publish(client, "<script>")
            answers = [await client.get(path) for path in (*PROBES, PAGE, PAGE + "?follow=true&limit=1", "/%ff")]
            answers.append(await client.get("/topics", headers={"host": "evil.example"}))
            answers.append(await client.options("/topics"))
            assert {answer.headers["x-content-type-options"] for answer in answers} == {"nosniff"}

    run(scenario, tmp_path)


async def preflight(client: Any, origin: str, method: str = "POST") -> Any:  # noqa: ANN401 - httpx's
    """The question of a browser whether a page may publish."""
    asked = {
        "origin": origin, "access-control-request-method": method, "access-control-request-headers": "content-type",
        "access-control-request-private-network": "true", "sec-fetch-mode": "cors",
    }  # fmt: skip
    return await client.options("/topics/orders/publish", headers=asked)


def allowed(response: Any) -> dict[str, str]:  # noqa: ANN401 - httpx's
    """The headers of CORS in an answer."""
    return {name: text for name, text in response.headers.items() if name.startswith("access-control")}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_without_origins_no_page_is_told_that_it_may_ask(tmp_path: Path, protocol: str) -> None:
    async def scenario(served: Served) -> None:
        async with client_of(served, protocol) as client:
            answer = await preflight(client, CONSOLE)
            assert (answer.status_code, allowed(answer)) == (403, {})
            answer = await client.get("/topics", headers={"origin": f"http://127.0.0.1:{served.port}"})
            assert (answer.status_code, allowed(answer)) == (200, {})
            assert "vary" not in answer.headers

    run(scenario, tmp_path)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_an_origin_that_was_given_may_ask_send_and_read(tmp_path: Path, protocol: str) -> None:
    async def scenario(served: Served) -> None:
        async with client_of(served, protocol) as client:
            await orders(client)
            answer = await preflight(client, CONSOLE)
            assert answer.status_code == 204
            assert allowed(answer) == {
                "access-control-allow-origin": CONSOLE,
                "access-control-expose-headers": "Retry-After",
                "access-control-allow-methods": "POST, OPTIONS",
                "access-control-allow-headers": (
                    "Authorization, Content-Type, Last-Event-ID, X-API-Key, X-Lenient, X-Tenant-ID"
                ),
                "access-control-max-age": "600",
                "access-control-allow-private-network": "true",
            }
            cors = {"origin": CONSOLE, "sec-fetch-site": "cross-site", "sec-fetch-mode": "cors"}
            sent = await client.post("/topics/orders/publish", json={"value": "a"}, headers=cors)
            assert (sent.status_code, sent.headers["access-control-allow-origin"]) == (200, CONSOLE)
            assert sent.headers["vary"] == "Origin"
            missing = await client.get("/topics/none", headers=cors)
            assert (missing.status_code, missing.headers["access-control-allow-origin"]) == (404, CONSOLE)
            # A cache must not give to one page what was said to another.
            assert (await client.get("/topics")).headers["vary"] == "Origin"
            assert (await preflight(client, "https://evil.example")).status_code == 403

    run(scenario, tmp_path, access=WebAccess([], [CONSOLE]))


@pytest.mark.parametrize("kind", [OperationsEdge, UncountedEdge])
def test_every_edge_of_a_server_is_behind_the_same_rules(tmp_path: Path, kind: type[OperationsEdge]) -> None:
    async def scenario(served: Served) -> None:
        edge: Edge = kind(served.edge)
        listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
        async with trio.open_nursery() as nursery:
            await nursery.start(Server(None, edge).serve, listeners)
            other = Served(served.server, listeners[0].socket.getsockname()[1], edge)
            async with other.client() as client:
                for path in ("/metrics", "/healthz", "/nowhere"):
                    refused = await client.get(path, headers={"host": "evil.example"})
                    assert (refused.status_code, json.loads(refused.text)["field"]) == (421, "host")
                assert (await client.get("/healthz")).status_code == 200
            nursery.cancel_scope.cancel()

    run(scenario, tmp_path)


def test_verdicts_are_remembered_within_bounds() -> None:
    class Silent:
        """An edge that has nothing to say."""

        async def answer(self, question: Question) -> Answer:
            """Say nothing."""
            return Answer(204)

        def leave(self) -> None:
            """Stay."""

    guarded = GuardedEdge(Silent(), WebAccess())

    async def ask() -> None:
        for at in range(3 * REMEMBERED_MAX):
            for host in (b"host-%d" % at, b"long-%d" % at + b"x" * REMEMBERED_BYTES_MAX):
                assert (await guarded.answer(Question("GET", "/", host=host))).status == 421

    trio.run(ask)
    assert 0 < guarded.remembered <= REMEMBERED_MAX


def test_a_probe_that_says_an_address_of_the_broker_or_no_name_at_all_is_answered(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        stream = await trio.open_tcp_stream("127.0.0.7", served.port)
        await stream.send_all(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.7\r\nConnection: close\r\n\r\n")
        assert (await stream.receive_some(1000)).startswith(b"HTTP/1.1 200 OK")
        await stream.aclose()
        answered = await served.exchange(b"GET /healthz HTTP/1.0\r\n\r\n")
        assert answered.startswith(b"HTTP/1.1 200 OK")

    run(scenario, tmp_path, host="0.0.0.0")
