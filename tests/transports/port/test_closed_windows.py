"""Clients of HTTP/2 that ask and take nothing: nothing is made for them, and others are served meanwhile."""

from pathlib import Path

import trio
import trio.testing

from goqueue.transports.http2.frames import PREFACE
from goqueue.transports.trio_server import ServerLimits
from tests.transports.http2.wire import Peer, settings, window
from tests.transports.port.port_client import BareHttp2
from tests.transports.rest.rest_client import Served, orders, publish, run, until

PAGE = "/topics/orders/partitions/0/messages"
INITIAL_WINDOW = 4
MIB = 1 << 20


async def filled(served: Served) -> None:
    """A topic with a megabyte."""
    async with served.client() as client:
        await orders(client)
        for _ in range(10):
            await publish(client, *["x" * 10_000] * 10)


def test_an_answer_is_made_once_the_window_is_open(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        await filled(served)
        stream = await served.raw()
        client = BareHttp2(stream)
        await stream.send_all(PREFACE + settings({INITIAL_WINDOW: 0}))
        for number in range(1, 101, 2):
            await client.ask(number, "GET", PAGE)
        await until(lambda: served.server.buffer_budget.stream_count == 50)
        async with served.client() as other:
            assert len((await other.get(PAGE)).json()["messages"]) == 100
        assert served.server.buffer_budget.held_bytes == 0
        await stream.send_all(settings({INITIAL_WINDOW: 2 * MIB}) + window(0, 100 * MIB))
        while len(client.ended) < 50:
            assert await client.hear()
        assert set(client.status.values()) == {200}

    run(scenario, tmp_path)


def test_what_watches_the_node_is_answered_while_there_is_no_room_for_anything(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        await filled(served)
        budget = served.server.buffer_budget
        stream = await served.raw()
        peer = Peer()
        head = [(b":method", b"GET"), (b":scheme", b"http"), (b":path", PAGE.encode()), (b":authority", b"localhost")]
        asked = b"".join(peer.headers(number, head) for number in range(1, 101, 2))
        await stream.send_all(PREFACE + settings({}) + asked)
        await until(lambda: budget.waiting_count > 0 or budget.newcomer_bytes > 0)
        async with served.client() as client:
            for path in ("/healthz", "/health", "/livez", "/readyz", "/metrics"):
                assert (await client.get(path)).status_code == 200
        with trio.move_on_after(0):
            await stream.aclose()

    run(scenario, tmp_path, ServerLimits(buffer_bytes_max=4 * MIB))


def test_requests_without_room_are_told_when_to_come_again(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        await filled(served)
        budget = served.server.buffer_budget
        budget.held_bytes += budget.bytes_max
        async with served.client() as client:
            refused = await client.get(PAGE)
            assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
            assert refused.json()["code"] == "overloaded"
            assert (await client.get("/healthz")).status_code == 200
            assert budget.shed_count == 1
            budget.held_bytes -= budget.bytes_max
            assert (await client.get(PAGE)).status_code == 200

    run(scenario, tmp_path)


def test_a_request_that_waits_for_messages_holds_no_room(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        await filled(served)
        budget = served.server.buffer_budget
        found: list[int] = []

        async def wait() -> None:
            async with served.client() as client:
                page = (await client.get(PAGE, params={"offset": 100, "wait": "30s"})).json()
                found.append(len(page["messages"]))

        async with trio.open_nursery() as nursery:
            for _ in range(20):
                nursery.start_soon(wait)
            await until(lambda: served.server.connection_count == 20)
            await trio.testing.wait_all_tasks_blocked(0.1)
            assert budget.held_bytes == 0
            async with served.client() as client:
                await publish(client, "news")
        assert found == [1] * 20

    run(scenario, tmp_path)
