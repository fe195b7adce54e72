"""Calls of work queues as a member makes them, over HTTP, each with the answer that is due."""

from typing import Any

import httpx
import trio

from tests.transports.rest.group_client import Body, post
from tests.transports.rest.group_client import topic as made_topic

MAIL = "/groups/mail"


async def topic(client: httpx.AsyncClient, name: str = "orders", partitions: int = 1, **config: object) -> None:
    """Make a topic whose messages are tried again at once."""
    await made_topic(client, name, partitions)
    settings = {"config": {"retry_backoff": "1ms", **config}}
    changed = await client.patch(f"/topics/{name}", json=settings)
    assert changed.status_code == 200, changed.text


async def publish(client: httpx.AsyncClient, *messages: str | Body, name: str = "orders") -> list[Body]:
    """The results of messages that are taken."""
    drafts = [{"value": message} if isinstance(message, str) else message for message in messages]
    sent = await client.post(f"/topics/{name}/messages", json={"messages": drafts})
    assert sent.status_code == 200, sent.text
    results: list[Body] = sent.json()["results"]
    assert all("error" not in result for result in results), results
    return results


async def worker(client: httpx.AsyncClient, group: str = MAIL, *topics: str, **settings: object) -> str:
    """A new member of a shared group."""
    wanted = {"client_id": "worker", "topics": [*topics] or ["orders"], "mode": "shared", **settings}
    joined = await post(client, "join", wanted, group)
    assert joined["mode"] == "shared"
    assert joined["partitions"] == []
    return str(joined["member_id"])


async def poll(client: httpx.AsyncClient, member: str, group: str = MAIL, **more: str | int) -> list[Body]:
    """The messages of one poll."""
    said = await client.get(f"{group}/poll", params={"member_id": member, **more})
    assert said.status_code == 200, said.text
    messages: list[Body] = said.json()["messages"]
    assert said.json() == {"messages": messages, "rebalance_required": False}
    return messages


async def take(client: httpx.AsyncClient, member: str, count: int, group: str = MAIL, **more: str | int) -> list[Body]:
    """The next so many messages."""
    found: list[Body] = []
    while len(found) < count:
        found += await poll(client, member, group, timeout="5s", max_messages=count - len(found), **more)
    return found


async def settle(client: httpx.AsyncClient, call: str, *messages: Body, **more: object) -> Body:
    """The answer to what is said of some messages."""
    shown = [message["receipt_handle"] for message in messages]
    answered = await client.post(f"/messages/{call}", json={"receipt_handles": shown, **more})
    assert answered.status_code == 200, answered.text
    said: Body = answered.json()
    return said


async def got(client: httpx.AsyncClient, path: str, **more: Any) -> Body:  # noqa: ANN401 - of a query
    """What a path says that is there."""
    answered = await client.get(path, params=more)
    assert answered.status_code == 200, answered.text
    said: Body = answered.json()
    return said


async def got_until(client: httpx.AsyncClient, path: str, name: str, value: object) -> Body:
    """What a path says once a field of it is as it should be."""
    while True:
        said = await got(client, path)
        if said[name] == value:
            return said
        await trio.sleep(0.01)


def values(messages: list[Body]) -> list[str]:
    """The values of messages."""
    return [message["value"] for message in messages]
