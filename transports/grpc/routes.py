"""From a call's path to what serves it: the classes that betterproto generates, mounted as they are.

A service names its methods in `__mapping__`. One generated detail is replaced: what betterproto does with a stream of
replies leaves the generator open when a call is cancelled, so that its `finally` runs whenever memory is tidied.
"""

from collections.abc import AsyncIterable, Awaitable, Callable, Iterable, Mapping
from typing import Any, Protocol

from attrs import define
from grpclib.const import Handler


class Service(Protocol):
    """What betterproto's `*Base` classes have in common."""

    def __mapping__(self) -> Mapping[str, Handler]:
        """Paths, and what serves them."""
        ...


@define(frozen=True)
class Route:
    """One method of a service."""

    path: str
    serve: Callable[[Any], Awaitable[None]]
    client_streaming: bool
    server_streaming: bool
    request_type: Any
    reply_type: Any


def routes_of(services: Iterable[Service]) -> dict[bytes, Route]:
    """All methods of these services, by path."""
    routes: dict[bytes, Route] = {}
    for service in services:
        vars(service)["_call_rpc_handler_server_stream"] = send_replies
        for path, entry in service.__mapping__().items():
            assert path.encode() not in routes, f"{path} is served twice"
            routes[path.encode()] = Route(
                path,
                entry.func,
                entry.cardinality.client_streaming,
                entry.cardinality.server_streaming,
                entry.request_type,
                entry.reply_type,
            )
    return routes


async def send_replies(method: Callable[[Any], Any], call: Any, request: Any) -> None:  # noqa: ANN401 - as generated
    """Send what a method yields, and close it whatever happens."""
    replies = method(request)
    if not isinstance(replies, AsyncIterable):
        # A method without a `yield` is a coroutine: a stream without replies.
        await replies
        return
    try:
        async for reply in replies:
            await call.send_message(reply)
    finally:
        close = getattr(replies, "aclose", None)
        if close is not None:
            await close()
