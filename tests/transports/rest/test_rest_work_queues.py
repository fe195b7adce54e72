"""Work queues over REST, against a running broker: leases, what becomes of them, and what is told of receipts."""

from pathlib import Path

import pytest
import trio
from msgspec import json

from goqueue.core.queues.receipts import STEM_LETTERS, spelled_receipt
from goqueue.core.records.batch import NO_TIMESTAMP, Codec
from goqueue.core.records.build import encode
from goqueue.core.requests.call import Caller
from goqueue.core.requests.groups import GroupMode, Joined, JoinGroup
from goqueue.core.requests.messages import PublishBatch
from goqueue.core.requests.topics import CreateTopic
from goqueue.storage.meters import StoreMeters
from goqueue.transports.metrics.meters import BrokerMeters
from goqueue.transports.metrics.page import MetricsPage
from goqueue.transports.rest import polling
from goqueue.transports.rest.call import Call
from goqueue.transports.rest.exchange import Question
from tests.transports.rest.group_client import Body, get, join, post, refused
from tests.transports.rest.rest_client import Served, run, until
from tests.transports.rest.work_client import (
    MAIL,
    got,
    poll,
    publish,
    settle,
    take,
    topic,
    values,
    worker,
)
from tests.transports.running import running_broker

RECEIPT_LETTERS = 72
SECOND_NS = 1_000_000_000


def test_what_is_acknowledged_never_comes_again_and_another_group_sees_all(tmp_path: Path) -> None:
    async def first(served: Served) -> None:
        async with served.client() as client:
            await topic(client)
            await publish(client, "a", "b", "c")
            member = await worker(client)
            messages = await take(client, member, 3)
            assert values(messages) == ["a", "b", "c"]
            assert [message["attempt"] for message in messages] == [1, 1, 1]
            assert all(len(message["receipt_handle"]) == RECEIPT_LETTERS for message in messages)
            assert all(message["expires_at"] > message["timestamp"] for message in messages)
            assert await settle(client, "ack", *messages[:2]) == {"acked": 2}
            assert await settle(client, "ack", *messages[:2]) == {"acked": 2}
            assert await poll(client, member) == []
            other = await worker(client, "/groups/audit")
            assert values(await take(client, other, 3, "/groups/audit")) == ["a", "b", "c"]
            await settle(client, "release", messages[2])

    async def after_a_start(served: Served) -> None:
        async with served.client() as client:
            member = await worker(client)
            (message,) = await take(client, member, 1)
            assert message["value"] == "c"
            assert await settle(client, "ack", message) == {"acked": 1}
            assert await poll(client, member) == []
            assert (await get(client, "/offsets", MAIL))["offsets"] == {"orders": {"0": 3}}

    run(first, tmp_path)
    run(after_a_start, tmp_path)


def test_a_message_that_failed_comes_again_and_one_released_as_if_for_the_first_time(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await topic(client)
            await publish(client, "a", "b")
            member = await worker(client)
            one, two = await take(client, member, 2)
            said = await settle(client, "nack", one, reason="busy")
            assert (said["requeued"], said["dead_lettered"]) == (1, 0)
            assert said["next_attempt_at"].endswith("Z")
            assert await settle(client, "release", two) == {"released": 1}
            again = {message["value"]: message for message in await take(client, member, 2)}
            assert {value: message["attempt"] for value, message in again.items()} == {"a": 2, "b": 1}
            said = await settle(client, "nack", again["a"], delay="1h")
            assert said["next_attempt_at"] > again["a"]["expires_at"]
            assert await poll(client, member, timeout="20ms") == []

    run(scenario, tmp_path)


def test_a_lease_ends_and_can_be_made_to_last(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await topic(client)
            await publish(client, "a", "b")
            member = await worker(client)
            (one,) = await take(client, member, 1, visibility_timeout="5m")
            (two,) = await take(client, member, 1, visibility_timeout="20ms")
            said = await settle(client, "visibility", one, timeout="10m")
            assert said["extended"] == 1
            assert said["expires_at"] > one["expires_at"]
            (again,) = await take(client, member, 1)
            assert (again["value"], again["attempt"]) == ("b", 2)
            shown = {"receipt_handle": two["receipt_handle"]}
            assert await refused(client.post("/messages/ack", json=shown)) == (409, "receipt_expired", "receipt_handle")
            assert await settle(client, "ack", one, again) == {"acked": 2}

    run(scenario, tmp_path)


def test_a_rejected_message_is_a_dead_letter(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await topic(client, max_attempts=1)
            await publish(client, "a", "b")
            member = await worker(client)
            one, two = await take(client, member, 2)
            said = await settle(client, "reject", one, reason="no such customer")
            assert said == {"rejected": 1, "dead_lettered_to": "orders.dlq"}
            said = await settle(client, "nack", two)
            assert said == {
                "requeued": 0, "next_attempt_at": None, "dead_lettered": 1, "dead_lettered_to": "orders.dlq",
            }  # fmt: skip

    run(scenario, tmp_path)


def test_where_there_are_no_dead_letters_a_rejected_message_is_dropped(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await topic(client, dlq=False)
            await publish(client, "a")
            member = await worker(client)
            (message,) = await take(client, member, 1)
            assert await settle(client, "reject", message) == {"rejected": 1, "dead_lettered_to": None}
            assert await poll(client, member) == []

    run(scenario, tmp_path)


def test_each_receipt_of_several_is_answered_for_itself(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await topic(client)
            await publish(client, *"abcd")
            member = await worker(client)
            messages = await take(client, member, 4)
            handles = [message["receipt_handle"] for message in messages]
            await settle(client, "ack", messages[1])
            forged = handles[2][:20] + ("A" if handles[2][20] != "A" else "B") + handles[2][21:]
            shown = [handles[0], "nonsense", handles[1], forged, handles[3]]
            answered = await client.post("/messages/nack", json={"receipt_handles": shown})
            said = answered.json()
            assert (answered.status_code, said["requeued"]) == (200, 2)
            assert [(error["receipt_handle"], error["code"], error["field"]) for error in said["errors"]] == [
                ("nonsense", "receipt_invalid", "receipt_handles[1]"),
                (handles[1], "already_settled", "receipt_handles[2]"),
                (forged, "receipt_invalid", "receipt_handles[3]"),
            ]
            assert all(error["error"] for error in said["errors"])

    run(scenario, tmp_path)


# What a call cannot do without, besides a receipt.
TAKEN = {"visibility": {"timeout": "5s"}}


@pytest.mark.parametrize("offset", [1, 1 << 40, (1 << 63) - 1, 1 << 63, (1 << 64) - 1])
def test_who_makes_up_the_receipt_of_what_was_not_leased_does_nothing_by_it(tmp_path: Path, offset: int) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await topic(client)
            await publish(client, "a", "b")
            member = await worker(client)
            (message,) = await take(client, member, 1)
            made_up = spelled_receipt(message["receipt_handle"][:STEM_LETTERS], offset)
            for call in ("ack", "nack", "reject", "visibility", "release"):
                body = {"receipt_handle": made_up, **TAKEN.get(call, {})}
                status, code, field = await refused(client.post(f"/messages/{call}", json=body))
                assert (status, code, field) == (409, "receipt_expired", "receipt_handle")
            assert await settle(client, "ack", message) == {"acked": 1}
            assert values(await take(client, member, 1)) == ["b"]

    run(scenario, tmp_path)


def test_a_receipt_is_refused_where_another_member_is_named_and_taken_without_a_name(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await topic(client)
            await publish(client, "a", "b")
            member, other = await worker(client), await worker(client)
            one, two = await take(client, member, 2)
            for call in ("ack", "nack", "reject", "visibility", "release"):
                body = {"receipt_handle": one["receipt_handle"], "member_id": other, **TAKEN.get(call, {})}
                response = await client.post(f"/messages/{call}", json=body)
                assert response.status_code == 400
                told = response.json()
                assert (told["code"], told["error"]) == (
                    "receipt_invalid", f"the receipt was not given to member {other}"
                )  # fmt: skip
            body = {"receipt_handle": one["receipt_handle"], "member_id": member, "consumer_id": "whoever"}
            assert (await client.post("/messages/ack", json=body)).json() == {"acked": 1}
            assert await settle(client, "ack", two) == {"acked": 1}

    run(scenario, tmp_path)


@pytest.mark.parametrize("call", ["nack", "reject", "visibility", "release"])
def test_what_is_settled_stays_so(tmp_path: Path, call: str) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await topic(client)
            await publish(client, "a")
            member = await worker(client)
            (message,) = await take(client, member, 1)
            await settle(client, "ack", message)
            body = {"receipt_handle": message["receipt_handle"], **TAKEN.get(call, {})}
            answered = await refused(client.post(f"/messages/{call}", json=body))
            assert answered == (409, "already_settled", "receipt_handle")

    run(scenario, tmp_path)


def test_a_group_takes_its_own_receipts_alone(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await topic(client)
            await publish(client, "a")
            member = await worker(client)
            await worker(client, "/groups/audit")
            (message,) = await take(client, member, 1)
            shown = {"receipt_handle": message["receipt_handle"], "consumer_id": "me"}
            for call in ("ack", "nack"):
                answered = await refused(client.post(f"/groups/audit/{call}", json=shown))
                assert answered == (400, "receipt_invalid", "receipt_handle")
            assert await post(client, "ack", shown, MAIL) == {"acked": 1}

    run(scenario, tmp_path)


def test_a_message_goes_to_one_member_alone(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await topic(client, partitions=2)
            await publish(client, *({"value": str(at), "partition": at % 2} for at in range(40)))
            members = [await worker(client) for _ in range(3)]
            found: list[str] = []

            async def work(member: str) -> None:
                while messages := await poll(client, member, max_messages=4):
                    found.extend(values(messages))
                    await settle(client, "ack", *messages)

            async with trio.open_nursery() as nursery:
                for member in members:
                    nursery.start_soon(work, member)
            assert sorted(map(int, found)) == [*range(40)]

    run(scenario, tmp_path)


def test_a_poll_waits_for_a_message_and_is_cut_to_its_count(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await topic(client)
            member = await worker(client)
            found: list[str] = []

            async def wait() -> None:
                found.extend(values(await poll(client, member, timeout="10s", max_messages=2)))

            async with trio.open_nursery() as nursery:
                nursery.start_soon(wait)
                await trio.sleep(0.05)
                await publish(client, "a", "b", "c")
            assert found == ["a", "b"]
            assert values(await take(client, member, 1)) == ["c"]

    run(scenario, tmp_path)


def test_a_poll_that_waits_is_answered_when_the_server_goes(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await topic(client)
            member = await worker(client, session_timeout="30m")
            found: list[list[Body]] = []

            async def wait() -> None:
                found.append(await poll(client, member, timeout="60s"))

            async with trio.open_nursery() as nursery:
                nursery.start_soon(wait)
                await until(lambda: served.server.connection_count > 0)
                await trio.sleep(0.05)
                await served.server.drain(10 * SECOND_NS)
            assert found == [[]]

    run(scenario, tmp_path)


def test_what_an_answer_has_no_room_for_is_the_next_ones_as_if_it_had_not_been_leased(tmp_path: Path) -> None:
    values_packed = encode([(NO_TIMESTAMP, None, bytes(9 << 20), ()) for _ in range(5)], codec=Codec.ZSTD)

    async def scenario() -> None:
        async with running_broker(tmp_path) as broker:
            await broker.ask(Caller(), CreateTopic("orders", 1))
            await broker.ask(Caller(), PublishBatch("orders", 0, values_packed))
            joined = await broker.ask(Caller(), JoinGroup("mail", ["orders"], mode=GroupMode.SHARED))
            assert isinstance(joined, Joined)
            question, query = Question("GET", f"{MAIL}/poll"), {"member_id": joined.member_id, "timeout": 20_000}
            page = MetricsPage(BrokerMeters(), StoreMeters(), lambda: 0)
            call = Call(broker, question, {"group": "mail"}, query, lambda: 0, lambda: False, page)
            given: list[list[tuple[int, int]]] = []
            for _ in range(2):
                messages = json.decode((await polling.poll(call)).body)["messages"]
                given.append([(message["offset"], message["attempt"]) for message in messages])
            assert given == [[(0, 1), (1, 1), (2, 1)], [(3, 1), (4, 1)]]

    async def within() -> None:
        with trio.fail_after(60):
            await scenario()

    trio.run(within)


def test_critical_messages_come_before_those_of_other_priorities(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await topic(client)
            for priority in ("background", "normal", "critical"):
                await publish(client, *({"value": f"{priority} {at}", "priority": priority} for at in range(2)))
            member = await worker(client)
            messages = await take(client, member, 6)
            assert values(messages)[:2] == ["critical 0", "critical 1"]
            assert [message["priority"] for message in messages[:2]] == ["critical"] * 2
            assert sorted(values(messages)) == sorted(
                f"{priority} {at}" for priority in ("background", "normal", "critical") for at in range(2)
            )
            measured = await got(client, "/priority/stats", topic="orders")
            lanes = measured["topics"]["orders"]["partitions"]["0"]
            assert lanes["in_flight"] == [2, 0, 2, 0, 2]
            assert lanes["ready"] == [0, 0, 0, 0, 0]
            assert {*lanes} == {"ready", "in_flight", "enqueue_rate", "dequeue_rate"}
            counted = {"critical": 2, "high": 0, "normal": 2, "low": 0, "background": 2}
            assert measured["messages_by_priority"] == counted
            assert measured["avg_wait_time_by_priority"].keys() == counted.keys()

    run(scenario, tmp_path)


def test_a_message_whose_time_is_over_is_not_given_out(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await topic(client, dlq=False)
            await publish(client, {"value": "short", "ttl": "1ms"}, {"value": "long", "ttl": "1h"})
            await trio.sleep(0.01)
            member = await worker(client)
            assert values(await take(client, member, 1)) == ["long"]
            assert await poll(client, member) == []
            assert (await got(client, "/reliability/stats"))["expired_total"] == 1

    run(scenario, tmp_path)


def test_the_two_kinds_of_groups_are_not_mixed_up(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await topic(client)
            await publish(client, "a")
            alone = await join(client)
            asked = {"member_id": alone["member_id"], "visibility_timeout": "5s"}
            assert (await refused(client.get("/groups/billing/poll", params=asked)))[:2] == (409, "wrong_mode")
            member = await worker(client)
            commit = {"member_id": member, "offsets": {"orders": {"0": 1}}}
            assert (await refused(client.post(f"{MAIL}/commit", json=commit)))[:2] == (409, "wrong_mode")
            nobody = {"member_id": "nobody"}
            assert (await refused(client.get(f"{MAIL}/poll", params=nobody)))[:2] == (404, "unknown_member")
            described = await get(client, "", MAIL)
            assert (described["mode"], described["config"]["max_in_flight"]) == ("shared", 1000)

    run(scenario, tmp_path)


def test_work_is_told_in_numbers(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await topic(client, dlq=False)
            await publish(client, *"abcdef")
            member = await worker(client)
            messages = await take(client, member, 6)
            await settle(client, "ack", *messages[:2])
            await settle(client, "reject", messages[2])
            await settle(client, "visibility", messages[3], timeout="1m")
            await settle(client, "nack", messages[4], delay="1h")
            said = await got(client, "/reliability/stats")
            assert said == {
                "acks_total": 2, "nacks_total": 1, "rejects_total": 1, "dlq_messages": 0, "visibility_extensions": 1,
                "in_flight": 2, "visibility_timeouts": 0, "expired_total": 0, "dead_lettered_total": 0,
                "deliveries_total": 6,
            }  # fmt: skip
            page = (await client.get("/metrics")).text.splitlines()
            assert 'goqueue_broker_messages_acked_total{topic="orders"} 2' in page
            assert "goqueue_broker_messages_nacked_total 1" in page
            assert "goqueue_broker_messages_rejected_total 1" in page
            assert "goqueue_broker_ack_latency_seconds_count 2" in page
            assert 'goqueue_consumer_in_flight{group="mail",topic="orders"} 2' in page
            assert 'goqueue_consumer_retries_pending{group="mail",topic="orders"} 1' in page
            assert 'goqueue_consumer_lag_messages{group="mail",topic="orders"} 3' in page
            assert 'goqueue_broker_messages_consumed_total{topic="orders"} 6' in page

    run(scenario, tmp_path)
