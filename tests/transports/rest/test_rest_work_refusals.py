"""What cannot be meant of leases, delays and dead letters: each a 400 that names the field, as its user wrote it."""

from pathlib import Path
from typing import Any

import pytest

from tests.transports.rest.group_client import refused
from tests.transports.rest.rest_client import Served, orders, run

RECEIPT = "A" * 48


@pytest.mark.parametrize(
    ("path", "body", "code", "field"),
    [
        ("/messages/ack", {}, "invalid_request", "receipt_handle"),
        ("/messages/ack", {"receipt_handle": 5}, "invalid_request", "receipt_handle"),
        ("/messages/ack", {"receipt_handles": []}, "invalid_request", "receipt_handles"),
        ("/messages/ack", {"receipt_handles": ["a", 5]}, "invalid_request", "receipt_handles[1]"),
        ("/messages/ack", {"receipt_handles": [RECEIPT] * 10_001}, "invalid_request", "receipt_handles"),
        ("/messages/ack", {"receipt_handle": "a", "receipt_handles": ["a"]}, "invalid_request", "receipt_handles"),
        ("/messages/ack", {"receipt_handle": "nonsense"}, "receipt_invalid", "receipt_handle"),
        ("/messages/ack", {"receipt_handles": ["nonsense"]}, "receipt_invalid", "receipt_handles[0]"),
        ("/groups/billing/ack", {"receipt_handle": ""}, "receipt_invalid", "receipt_handle"),
        ("/messages/nack", {"receipt_handle": RECEIPT, "delay": "-1s"}, "invalid_request", "delay"),
        ("/messages/nack", {"receipt_handle": RECEIPT, "delay": "366d"}, "invalid_request", "delay"),
        ("/messages/nack", {"receipt_handle": RECEIPT, "delay": 5}, "invalid_request", "delay"),
        ("/groups/billing/nack", {"receipt_handle": "é" * 48}, "receipt_invalid", "receipt_handle"),
        ("/messages/reject", {"receipt_handle": RECEIPT, "reason": 5}, "invalid_request", "reason"),
        ("/messages/reject", {"receipt_handle": RECEIPT, "reason": "x" * 1001}, "invalid_request", "reason"),
        ("/messages/nack", {"receipt_handle": RECEIPT, "reason": "x" * 1001}, "invalid_request", "reason"),
        ("/messages/visibility", {"receipt_handle": RECEIPT}, "invalid_request", "timeout"),
        ("/messages/visibility", {"receipt_handle": RECEIPT, "timeout": "soon"}, "invalid_request", "timeout"),
        ("/messages/visibility", {"receipt_handle": RECEIPT, "timeout": "13h"}, "invalid_request", "timeout"),
        ("/messages/release", {}, "invalid_request", "receipt_handle"),
        ("/topics/orders/delayed/0/5", {}, "invalid_request", "delay"),
        ("/topics/orders/delayed/0/5", {"delay": "x"}, "invalid_request", "delay"),
        ("/topics/orders/delayed/0/5", {"deliverAt": "x"}, "invalid_request", "deliverAt"),
        ("/topics/orders/delayed/0/5", {"delay": "1s", "deliverAt": "2030-01-01T00:00:00Z"}, "invalid_request",
         "deliverAt"),
        ("/topics/orders/delayed/x/5", {"delay": "1s"}, "invalid_request", "partition"),
        ("/topics/orders/delayed/0/x", {"delay": "1s"}, "invalid_request", "offset"),
        ("/dlq/orders.dlq/redrive", {"rate": -1}, "invalid_request", "rate"),
        ("/dlq/orders.dlq/redrive", {"limit": "many"}, "invalid_request", "limit"),
        ("/dlq/orders.dlq/redrive", {"since": "yesterday"}, "invalid_request", "since"),
        ("/dlq/orders.dlq/redrive", {"headers": {"a": 5}}, "invalid_request", "headers[...]"),
        ("/dlq/orders.dlq/redrive", {"key": "*", "encoding": "base64"}, "invalid_request", "key"),
        ("/dlq/orders.dlq/purge", {"until": "2026-02-30T00:00:00Z"}, "invalid_request", "until"),
        ("/dlq/orders.dlq/purge", {"dry_run": "yes"}, "invalid_request", "dry_run"),
    ],
)  # fmt: skip
def test_a_body_that_cannot_be_meant_is_refused_with_the_field(
    tmp_path: Path, path: str, body: dict[str, Any], code: str, field: str
) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            assert await refused(client.post(path, json=body)) == (400, code, field)

    run(scenario, tmp_path)


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("/groups/billing/poll?member_id=a&visibility_timeout=0s", "visibility_timeout"),
        ("/groups/billing/poll?member_id=a&visibility_timeout=13h", "visibility_timeout"),
        ("/groups/billing/poll?member_id=a&visibility_timeout=-1s", "visibility_timeout"),
        ("/topics/orders/delayed?limit=0", "limit"),
        ("/topics/orders/delayed?limit=1001", "limit"),
        ("/topics/orders/delayed?after=x", "after"),
        ("/topics/orders/delayed?after=1.2", "after"),
        ("/topics/orders/delayed?after=1.2.-3", "after"),
        ("/topics/orders/delayed/x?partition=0", "offset"),
        ("/topics/orders/delayed/5?partition=x", "partition"),
        ("/topics/orders/delayed/5", "partition"),
        ("/topics/orders/delayed/99999999999999999999/5", "partition"),
        ("/dlq/orders.dlq/messages?limit=x", "limit"),
        ("/dlq/orders.dlq/messages?limit=1001", "limit"),
        ("/dlq/orders.dlq/messages?header=x", "header"),
        ("/dlq/orders.dlq/messages?since=x", "since"),
        ("/dlq/orders.dlq/messages?until=x", "until"),
        ("/dlq/orders.dlq/messages?after=0", "after"),
        ("/dlq/orders.dlq/messages?after=0.x", "after"),
        ("/dlq/orders.dlq/messages?after=4294967296.0", "after"),
    ],
)
def test_a_query_that_cannot_be_meant_is_refused_with_the_field(tmp_path: Path, path: str, field: str) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await orders(client, num_partitions=2)
            assert await refused(client.get(path)) == (400, "invalid_request", field)

    run(scenario, tmp_path)


def test_a_poll_of_a_shared_group_is_no_head(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            answered = await client.head("/groups/billing/poll?member_id=a&visibility_timeout=5s")
            assert answered.status_code == 400

    run(scenario, tmp_path)
