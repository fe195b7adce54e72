"""The seam between what brings requests and what serves them: one request, one response, as bytes and headers.

A transport makes an `Exchange` out of whatever it speaks, HTTP/2 now; an `Application` serves it and returns. gRPC and
plain HTTP are two applications, and `by_content_type` puts them behind one port. The loop stays on the transport's
side of the seam: an application asks an exchange for the time and for a deadline, never a library.

A response is: headers once (`:status` first), parts of the body, then an end with or without trailers. If the client
goes away the exchange is cancelled where it waits, and every further call raises StreamGone.
"""

from collections.abc import Awaitable, Callable
from typing import Protocol

from goqueue.transports.http2.request import GRPC, Headers, Request


class Exchange(Protocol):
    """One request and the means to answer it."""

    request: Request

    def now(self) -> int:
        """The transport's clock, in monotonic nanoseconds."""
        ...

    async def receive(self) -> bytes:
        """The next part of the request's body, all that is at hand; empty at its end."""
        ...

    def start(self, headers: Headers, *, end: bool = False) -> None:
        """Send the response's headers; `end` if that is all of it."""
        ...

    async def send(self, data: bytes) -> None:
        """Send a part of the response's body; waits while the client takes none."""
        ...

    def finish(self, trailers: Headers | None = None) -> None:
        """End the response."""
        ...

    def abort(self, code: int) -> None:
        """Break the exchange off with this error code of HTTP/2."""
        ...

    async def within(self, deadline: int, work: Callable[[], Awaitable[None]]) -> bool:
        """Run `work` until it is done, or until `deadline` cancels it: False."""
        ...


Application = Callable[[Exchange], Awaitable[None]]


def by_content_type(grpc: Application, plain: Application) -> Application:
    """One application out of two: requests that carry gRPC go to the first, all others to the second."""

    async def choose(exchange: Exchange) -> None:
        content_type = exchange.request.header(b"content-type") or b""
        await (grpc if content_type.startswith(GRPC) else plain)(exchange)

    return choose


async def not_found(exchange: Exchange) -> None:
    """The application of a port that serves no plain HTTP: 404, whatever is asked."""
    exchange.start(((b":status", b"404"), (b"content-length", b"0")), end=True)
