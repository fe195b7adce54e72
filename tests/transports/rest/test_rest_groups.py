"""Groups as a whole over REST, against a running broker: what there is, their settings, their end, what was counted."""

from pathlib import Path
from typing import Any

import pytest

from tests.transports.rest.group_client import GROUP, get, identity, join, post, refused, rejoin_until, topic
from tests.transports.rest.rest_client import Served, run

DEFAULTS = {
    "assignor": "sticky", "start": "earliest", "key_ordered": False, "visibility_timeout": "30s", "max_attempts": 4,
    "retry_backoff": "1s", "max_in_flight": 1000, "offsets_retention": "7d",
}  # fmt: skip


def test_a_group_is_listed_described_and_removed_once_it_is_empty(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            assert (await client.get("/groups")).json() == {"groups": []}
            await topic(client, partitions=2)
            joined = await join(client, instance_id="till-1", session_timeout="90s", assignor="range")
            group = await get(client)
            assert (await client.get("/groups")).json() == {"groups": ["billing"]}
            assert (await client.get("/groups?details=true")).json() == {"groups": [group]}
            (member,) = group.pop("members")
            assert member.pop("last_heartbeat").endswith("Z")
            assert member == {
                "member_id": joined["member_id"], "client_id": "app", "instance_id": "till-1", "protocol": "eager",
                "topics": ["orders"], "assigned_partitions": ["orders-0", "orders-1"], "partitions_to_revoke": [],
                "session_timeout": "90s",
            }  # fmt: skip
            assert group == {
                "group_id": "billing", "state": "stable", "generation": 1, "protocol": "eager", "mode": "exclusive",
                "assignment_strategy": "range", "leader_id": joined["member_id"], "topics": ["orders"],
                "config": DEFAULTS,
                "expires_at": None,
            }  # fmt: skip
            assert await refused(client.delete(GROUP)) == (409, "group_not_empty", "group")
            await post(client, "leave", identity(joined))
            empty = await get(client)
            assert (empty["state"], empty["protocol"], empty["leader_id"], empty["members"]) == (
                "empty",
                "none",
                "",
                [],
            )
            gone = await client.delete(GROUP)
            assert (gone.status_code, gone.json()) == (200, {"group_id": "billing", "deleted": True})
            assert await refused(client.get(GROUP)) == (404, "group_not_found", "group")

    run(scenario, tmp_path)


def test_settings_are_given_in_config_or_by_their_names(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await topic(client)
            await join(client, max_attempts=7, start="latest", config={"assignor": "range", "max_attempts": 2})
            config = (await get(client))["config"]
            assert config == {**DEFAULTS, "max_attempts": 7, "start": "latest", "assignor": "range"}
            altered = await client.patch(GROUP, json={"config": {"start": None}, "retry_backoff": "2m"})
            assert altered.status_code == 200
            assert altered.json()["config"] == {**config, "start": "earliest", "retry_backoff": "2m"}
            assert (await get(client))["config"] == altered.json()["config"]
            # Who joins a group that is there finds its settings.
            await join(client, max_attempts=9)
            assert (await get(client))["config"]["max_attempts"] == 7

    run(scenario, tmp_path)


def test_a_mode_is_chosen_once(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await topic(client)
            shared = await join(client, mode="shared")
            assert (shared["mode"], shared["assigned_partitions"]) == ("shared", [])
            assert (await join(client))["mode"] == "shared"
            body = {"client_id": "app", "topics": ["orders"], "mode": "exclusive"}
            assert await refused(client.post(f"{GROUP}/join", json=body)) == (409, "wrong_mode", "mode")
            assert await refused(client.patch(GROUP, json={"mode": "exclusive"})) == (409, "wrong_mode", "mode")
            assert (await client.patch(GROUP, json={"mode": "shared", "max_in_flight": 5})).status_code == 200
            assert (await get(client))["config"]["max_in_flight"] == 5

    run(scenario, tmp_path)


def test_rebalances_are_counted_for_a_group_and_for_all(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await topic(client)
            never = (await client.get("/rebalance/stats")).json()
            assert (never["total_rebalances"], never["last_rebalance_at"], never["rebalances_by_reason"]) == (
                0,
                None,
                {},
            )
            first = await join(client)
            await join(client)
            await rejoin_until(client, first, lambda said: len(said["partitions"]) == 2)
            stats = await get(client, "/rebalance/stats")
            assert stats == (await client.get("/rebalance/stats")).json()
            assert stats["last_rebalance_at"].endswith("Z")
            assert stats["rebalances_by_reason"] == {"member_joined": 2}
            assert (stats["total_rebalances"], stats["successful_rebalances"], stats["failed_rebalances"]) == (2, 2, 0)
            assert (stats["total_partitions_assigned"], stats["total_partitions_revoked"]) == (6, 2)
            assert stats["total_revocation_timeouts"] == 0
            assert stats["average_rebalance_duration_ms"] >= 0
            assert stats["last_rebalance_duration_ms"] >= 0
            assert (await get(client, "/cooperative"))["rebalance_metrics"] == stats

    run(scenario, tmp_path)


def test_a_group_is_described_as_cooperative_clients_know_it(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await topic(client, partitions=1)
            joined = await join(client, "join/cooperative")
            described = await get(client, "/cooperative")
            (member,) = described.pop("members")
            assert (member["member_id"], member["protocol"]) == (joined["member_id"], "cooperative")
            assert described.pop("rebalance_metrics")["total_rebalances"] == 1
            assert described == {
                "id": "billing", "state": "stable", "generation": 1, "protocol": "cooperative",
                "assignment_strategy": "sticky", "rebalance_state": "none", "topics": ["orders"],
                "member_assignments": {joined["member_id"]: [{"topic": "orders", "partition": 0}]},
            }  # fmt: skip

    run(scenario, tmp_path)


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "", None), ("DELETE", "", None), ("PATCH", "", {"start": "latest"}), ("PATCH", "", {"mode": "shared"}),
        ("GET", "/offsets", None), ("GET", "/assignment", None), ("GET", "/cooperative", None),
        ("GET", "/rebalance/stats", None), ("POST", "/offsets/reset", {"topic": "orders", "to": "latest"}),
    ],
)  # fmt: skip
def test_a_group_that_is_not_there_is_404(tmp_path: Path, method: str, path: str, body: dict[str, Any] | None) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await topic(client)
            answered = await refused(client.request(method, f"{GROUP}{path}", json=body))
            assert answered == (404, "group_not_found", "group")

    run(scenario, tmp_path)
