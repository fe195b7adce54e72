"""Calls of groups as a member makes them, over HTTP, each with the answer that is due."""

from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import trio

GROUP = "/groups/billing"
Body = dict[str, Any]


async def topic(client: httpx.AsyncClient, name: str = "orders", partitions: int = 4) -> None:
    """Make a topic."""
    made = await client.post("/topics", json={"name": name, "num_partitions": partitions})
    assert made.status_code == 201, made.text


async def post(client: httpx.AsyncClient, call: str, body: Body, group: str = GROUP) -> Body:
    """The answer to a call that succeeds."""
    answered = await client.post(f"{group}/{call}", json=body)
    assert answered.status_code == 200, answered.text
    said: Body = answered.json()
    return said


async def get(client: httpx.AsyncClient, path: str = "", group: str = GROUP) -> Body:
    """What a path says that is there."""
    answered = await client.get(f"{group}{path}")
    assert answered.status_code == 200, answered.text
    said: Body = answered.json()
    return said


async def join(client: httpx.AsyncClient, face: str = "join", **more: object) -> Body:
    """Join the group as a reader of `orders`, unless `more` says otherwise."""
    return await post(client, face, {"client_id": "app", "topics": ["orders"], **more})


def identity(member: Body) -> Body:
    """A member's id and generation, as its calls name them."""
    return {"member_id": member["member_id"], "generation": member["generation"]}


async def beat_until(
    client: httpx.AsyncClient, member: Body, holds: Callable[[Body], bool], call: str = "heartbeat"
) -> Body:
    """Send heartbeats until an answer is as it should be; that answer."""
    while True:
        said = await post(client, call, identity(member))
        if holds(said):
            return said
        await trio.sleep(0.01)


async def rejoin_until(client: httpx.AsyncClient, member: Body, holds: Callable[[Body], bool]) -> Body:
    """Join again whenever a heartbeat asks for it, as an eager member does, until the assignment is as it should be."""
    while not holds(member):
        await beat_until(client, member, lambda said: bool(said["rebalance_required"]))
        member = await join(client, member_id=member["member_id"])
    return member


async def refused(asked: Awaitable[httpx.Response]) -> tuple[int, str, str]:
    """Status, code and field of a call that is refused."""
    answered = await asked
    said = answered.json()
    assert set(said) == {"error", "code", "field", "outcome"}, said
    assert said["error"]
    return answered.status_code, said["code"], said["field"]
