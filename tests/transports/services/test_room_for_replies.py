"""Calls that read messages, while there is no room for replies and once there is some."""

import threading
from pathlib import Path

import grpc
import pytest
import trio
from google.rpc import status_pb2

from goqueue.core.requests.refusals import Code
from goqueue.proto import v1
from goqueue.transports.services.reading import ROOM_BYTES_LEAST
from tests.transports.services.served_broker import Client, ServedBroker, batch, failure, values, with_broker
from tests.transports.serving import until

ORDERS = v1.PublishBatchRequest(topic="orders", batch=batch(count=100, size=1000))


def subscribed(client: Client) -> list[bytes]:
    """All that a subscription from the start brings, up to a hundred messages."""
    found: list[bytes] = []
    request = v1.SubscribeRequest(positions=[v1.Position(topic="orders", earliest=True)])
    for reply in client.subscribe(request, timeout=30):
        found += values(reply.batches)
        if len(found) >= 100:
            return found
    return found


@pytest.mark.parametrize("wait_ms", [0, 100])
def test_a_fetch_without_room_is_told_to_come_again(tmp_path: Path, wait_ms: int) -> None:
    async def scenario(served: ServedBroker) -> None:
        budget = served.server.buffer_budget

        def work(client: Client) -> None:
            client.publish_batch(ORDERS)
            budget.held_bytes += budget.bytes_max
            error = failure(lambda: client.fetch(v1.FetchRequest(topic="orders", wait_ms=wait_ms)))
            assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
            details = status_pb2.Status.FromString(dict(error.trailing_metadata())["grpc-status-details-bin"])
            refusal = v1.Refusal().parse(details.details[0].value)
            assert (refusal.code, refusal.retry_after_ms) == (str(Code.UNAVAILABLE), 1000)
            budget.held_bytes -= budget.bytes_max
            assert len(values(client.fetch(v1.FetchRequest(topic="orders", wait_ms=wait_ms)).batches)) == 100

        await served.calls(work)
        assert budget.held_bytes == 0

    with_broker(tmp_path, scenario)


def test_a_fetch_that_waits_holds_no_room_and_is_given_what_comes(tmp_path: Path) -> None:
    async def scenario(served: ServedBroker) -> None:
        found: list[int] = []

        def wait(client: Client) -> None:
            found.append(len(values(client.fetch(v1.FetchRequest(topic="orders", wait_ms=30_000)).batches)))

        def work(client: Client) -> None:
            thread = threading.Thread(target=wait, args=[client])
            thread.start()
            waiting.wait()
            client.publish_batch(ORDERS)
            thread.join()

        waiting = threading.Event()

        async def let_go() -> None:
            try:
                await until(lambda: served.runtime.waiting_count == 1)
                assert served.server.buffer_budget.held_bytes == 0
            finally:
                waiting.set()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(served.calls, work)
            nursery.start_soon(let_go)
        assert found == [100]

    with_broker(tmp_path, scenario)


def test_a_subscription_without_room_rests_and_goes_on(tmp_path: Path) -> None:
    async def scenario(served: ServedBroker) -> None:
        budget = served.server.buffer_budget
        found: list[bytes] = []

        def work(client: Client) -> None:
            client.publish_batch(ORDERS)
            budget.held_bytes += budget.bytes_max
            found.extend(subscribed(client))

        async def make_room() -> None:
            await until(lambda: budget.waiting_count == 1)
            assert found == []
            budget.held_bytes -= budget.bytes_max
            budget.relieve()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(served.calls, work)
            nursery.start_soon(make_room)
        assert len(found) == 100
        await until(lambda: budget.held_bytes == 0)

    with_broker(tmp_path, scenario)


def test_of_many_subscriptions_that_wait_for_the_same_room_each_has_its_turn(tmp_path: Path) -> None:
    async def scenario(served: ServedBroker) -> None:
        budget, found = served.server.buffer_budget, list[int]()

        def work(client: Client) -> None:
            client.publish_batch(ORDERS)
            budget.held_bytes += budget.bytes_max
            threads = [threading.Thread(target=lambda: found.append(len(subscribed(client)))) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

        async def make_room() -> None:
            await until(lambda: budget.waiting_count == 4)
            # Enough for one of them at a time.
            budget.held_bytes -= ROOM_BYTES_LEAST
            budget.relieve()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(served.calls, work)
            nursery.start_soon(make_room)
        assert found == [100] * 4
        await until(lambda: budget.held_bytes == budget.bytes_max - ROOM_BYTES_LEAST)

    with_broker(tmp_path, scenario)
