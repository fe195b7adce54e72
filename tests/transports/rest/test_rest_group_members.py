"""Members of groups over REST, against a running broker: eager ones, cooperative ones, and both in one group."""

from pathlib import Path

from tests.transports.rest.group_client import (
    GROUP,
    beat_until,
    get,
    identity,
    join,
    post,
    refused,
    rejoin_until,
    topic,
)
from tests.transports.rest.rest_client import Served, run

ALL = ["orders-0", "orders-1", "orders-2", "orders-3"]


def test_the_first_member_has_everything_at_once(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await topic(client)
            joined = await join(client, session_timeout="1m")
            assert joined["member_id"].startswith("app-")
            assert joined["members"] == [joined["leader_id"]] == [joined["member_id"]]
            assert (joined["generation"], joined["partitions"], joined["assigned_partitions"]) == (1, [0, 1, 2, 3], ALL)
            assert (joined["mode"], joined["protocol"], joined["rebalance_required"]) == ("exclusive", "eager", False)
            assert joined["heartbeat_interval"] == "20s"
            beat = await post(client, "heartbeat", identity(joined))
            assert beat == {"rebalance_required": False, "state": "stable", "generation": 1}
            assert await post(client, "leave", identity(joined)) == {"member_id": joined["member_id"], "left": True}
            assert (await get(client))["state"] == "empty"

    run(scenario, tmp_path)


def test_numbers_of_partitions_stand_alone_only_where_one_topic_is_read(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await topic(client, "orders", 1)
            await topic(client, "eu-bills", 2)
            joined = await join(client, topics=["orders", "eu-bills"])
            assert joined["partitions"] == []
            assert sorted(joined["assigned_partitions"]) == ["eu-bills-0", "eu-bills-1", "orders-0"]

    run(scenario, tmp_path)


def test_eager_members_join_again_and_share(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await topic(client)
            first = await join(client)
            second = await join(client)
            assert (second["assigned_partitions"], second["rebalance_required"]) == ([], True)
            first = await rejoin_until(client, first, lambda said: len(said["partitions"]) == 2)
            second = await rejoin_until(client, second, lambda said: len(said["partitions"]) == 2)
            assert sorted(first["partitions"] + second["partitions"]) == [0, 1, 2, 3]
            assert second["members"] == [first["member_id"], second["member_id"]]
            assert second["leader_id"] == first["leader_id"] == first["member_id"]
            await post(client, "leave", identity(second))
            first = await rejoin_until(client, first, lambda said: len(said["partitions"]) == 4)
            assert first["assigned_partitions"] == ALL

    run(scenario, tmp_path)


def test_cooperative_members_give_up_single_partitions(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await topic(client)
            first = await join(client, "join/cooperative", protocol="cooperative")
            assert (first["assigned_partitions"], first["protocol"]) == (ALL, "cooperative")
            second = await join(client, "join/cooperative")
            told = await beat_until(
                client, first, lambda said: bool(said["partitions_to_revoke"]), "heartbeat/cooperative"
            )
            assert (told["rebalance_required"], told["state"], told["protocol"]) == (True, "reconciling", "cooperative")
            assert len(told["partitions_assigned"]) == len(told["partitions_to_revoke"]) == 2
            assert told["revocation_deadline"].endswith("Z")
            one, other = told["partitions_to_revoke"]
            confirmed = {**identity(told | first), "generation": told["generation"]}
            revoked = await post(client, "revoke", {**confirmed, "revoked_partitions": [one]})
            assert revoked == {"status": "pending", "pending_count": 1, "rebalance_state": "revoking"}
            name = f"{other['topic']}-{other['partition']}"
            revoked = await post(client, "revoke", {**confirmed, "revoked_partitions": [name]})
            assert revoked == {"status": "complete", "pending_count": 0, "rebalance_state": "none"}
            beat = await post(client, "heartbeat/cooperative", confirmed)
            assert "revocation_deadline" not in beat
            assert (beat["rebalance_required"], beat["partitions_to_revoke"]) == (False, [])
            gained = await post(client, "heartbeat/cooperative", identity(second))
            assert gained["partitions_assigned"] == [one, other]
            left = await post(client, "leave/cooperative", identity(first))
            assert left == {"member_id": first["member_id"], "status": "left"}

    run(scenario, tmp_path)


def test_eager_and_cooperative_members_share_one_group(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await topic(client)
            eager = await join(client)
            cooperative = await join(client, "join/cooperative")
            eager = await rejoin_until(client, eager, lambda said: len(said["partitions"]) == 2)
            beat = await post(client, "heartbeat/cooperative", identity(cooperative))
            given = [slot["partition"] for slot in beat["partitions_assigned"]]
            assert sorted(given + eager["partitions"]) == [0, 1, 2, 3]
            group = await get(client)
            assert (group["protocol"], group["state"]) == ("mixed", "stable")
            assert [member["protocol"] for member in group["members"]] == ["eager", "cooperative"]
            await post(client, "leave", identity(eager))
            beat = await beat_until(
                client, cooperative, lambda said: len(said["partitions_assigned"]) == 4, "heartbeat/cooperative"
            )
            assert (await get(client))["protocol"] == "cooperative"
            again = await join(client)
            told = await beat_until(
                client, cooperative, lambda said: bool(said["partitions_to_revoke"]), "heartbeat/cooperative"
            )
            body = {**identity(cooperative), "generation": told["generation"]}
            await post(client, "revoke", {**body, "revoked_partitions": told["partitions_to_revoke"]})
            again = await rejoin_until(client, again, lambda said: len(said["partitions"]) == 2)
            assert again["assigned_partitions"] == [
                f"{slot['topic']}-{slot['partition']}" for slot in told["partitions_to_revoke"]
            ]

    run(scenario, tmp_path)


def test_the_word_for_the_protocol_decides_at_the_eager_face(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await topic(client)
            joined = await join(client, protocol="cooperative")
            assert joined["protocol"] == "cooperative"
            assert (await get(client))["members"][0]["protocol"] == "cooperative"

    run(scenario, tmp_path)


def test_an_instance_that_comes_back_takes_the_place_of_its_former_self(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await topic(client)
            former = await join(client, instance_id="till-1")
            present = await join(client, instance_id="till-1")
            assert present["members"] == [present["member_id"]] != [former["member_id"]]
            assert (present["generation"], present["partitions"]) == (former["generation"], [0, 1, 2, 3])
            for call in ("heartbeat", "heartbeat/cooperative", "revoke", "leave", "leave/cooperative"):
                answered = await refused(client.post(f"{GROUP}/{call}", json=identity(former)))
                assert answered == (409, "fenced_instance", "member_id")
            commit = {**identity(former), "offsets": {"orders": {"0": 0}}}
            assert await refused(client.post(f"{GROUP}/commit", json=commit)) == (409, "fenced_instance", "member_id")
            back = await client.post(f"{GROUP}/join", json={
                "client_id": "app", "topics": ["orders"], "instance_id": "till-1", "member_id": former["member_id"],
            })  # fmt: skip
            assert (back.status_code, back.json()["code"]) == (409, "fenced_instance")

    run(scenario, tmp_path)


def test_the_assignment_is_that_of_a_member_or_of_all(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await topic(client, partitions=2)
            member = await join(client, "join/cooperative")
            member_id = member["member_id"]
            slots = [{"topic": "orders", "partition": number, "member_id": member_id} for number in range(2)]
            everybody = await get(client, "/assignment")
            assert everybody == {"generation": 1, "partitions": slots}
            assert await get(client, f"/assignment?member_id={member_id}") == {**everybody, "member_id": member_id}
            for name in ("nobody", ""):
                answered = await refused(client.get(f"{GROUP}/assignment", params={"member_id": name}))
                assert answered == (404, "unknown_member", "member_id")

    run(scenario, tmp_path)


def test_every_path_of_groups_is_also_served_under_v1(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await topic(client)
            member = await post(client, "join", {"client_id": "app", "topics": ["orders"]}, f"/v1{GROUP}")
            assert await get(client, group=f"/v1{GROUP}") == await get(client)
            beat = await post(client, "heartbeat", identity(member), f"/v1{GROUP}")
            assert beat == await post(client, "heartbeat", identity(member))

    run(scenario, tmp_path)
