"""Groups over REST as time passes: the broker is restarted, a member falls silent, a topic comes later."""

from pathlib import Path

import trio

from tests.transports.rest.group_client import (
    GROUP,
    get,
    identity,
    join,
    post,
    refused,
    rejoin_until,
    topic,
)
from tests.transports.rest.rest_client import Served, run


def test_a_group_and_its_members_outlive_the_broker(tmp_path: Path) -> None:
    member = {}

    async def before(served: Served) -> None:
        async with served.client() as client:
            await topic(client, partitions=2)
            await client.post("/topics/orders/messages", json={"messages": [{"value": "a", "partition": 0}] * 3})
            member.update(await join(client, max_attempts=7))
            await post(client, "commit", {**identity(member), "offsets": {"orders": {"0": 2}}})

    async def after(served: Served) -> None:
        async with served.client() as client:
            polled = await get(client, f"/poll?member_id={member['member_id']}")
            assert polled == {"messages": [], "rebalance_required": True}
            again = await join(client, member_id=member["member_id"])
            assert (again["generation"], again["partitions"]) == (member["generation"], [0, 1])
            group = await get(client)
            assert group["config"]["max_attempts"] == 7
            assert [each["member_id"] for each in group["members"]] == [member["member_id"]]
            assert group["members"][0]["assigned_partitions"] == member["assigned_partitions"]
            assert (await get(client, "/offsets"))["lag"] == {"orders": {"0": 1, "1": 0}}
            polled = await get(client, f"/poll?member_id={member['member_id']}&timeout=5s")
            assert [(each["partition"], each["offset"]) for each in polled["messages"]] == [(0, 2)]

    run(before, tmp_path)
    run(after, tmp_path)


def test_a_member_that_falls_silent_is_gone(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await topic(client)
            member = await join(client, session_timeout="1s")
            while (await get(client))["state"] != "empty":  # noqa: ASYNC110 - the end of a session is not announced
                await trio.sleep(0.05)
            answered = await refused(client.post(f"{GROUP}/heartbeat", json=identity(member)))
            assert answered == (404, "unknown_member", "member_id")

    run(scenario, tmp_path)


def test_a_topic_that_comes_later_is_given_out(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            member = await join(client)
            assert (member["partitions"], member["generation"]) == ([], 1)
            await topic(client, partitions=3)
            member = await rejoin_until(client, member, lambda said: len(said["partitions"]) == 3)
            assert (member["partitions"], member["generation"]) == ([0, 1, 2], 2)
            assert (await client.delete("/topics/orders")).status_code == 200
            member = await rejoin_until(client, member, lambda said: not said["partitions"])
            assert await get(client, "/offsets") == {"offsets": {}, "lag": {}}

    run(scenario, tmp_path)
