"""The seam between what brings requests and what serves them: one request, one response, as bytes and headers.

A transport makes an `Exchange` out of whatever it speaks, HTTP/2 now; an `Application` serves it and returns. gRPC and
plain HTTP are two applications, and `by_content_type` puts them behind one port. The loop stays on the transport's
side of the seam: an application asks an exchange for the time and for a deadline, never a library.

A response is: headers once (`:status` first), parts of the body, then an end with or without trailers. If the client
goes away the exchange is cancelled where it waits, and every further call raises StreamGone.
"""

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

from goqueue.core.records.varint import Readable
from goqueue.transports.callers import Callers
from goqueue.transports.http2.request import GRPC, Headers, Request

Outcome = TypeVar("Outcome")


class Parking(Protocol):
    """One task waits here until another wakes it. A wake-up that comes before the task waits is kept for it."""

    async def wait(self) -> None:
        """Wait for a wake-up."""
        ...

    def wake(self) -> None:
        """Wake whoever waits, or the next one to come."""
        ...


class Exchange(Protocol):
    """One request and the means to answer it."""

    request: Request
    # On whose behalf requests of its connection are.
    callers: Callers

    def now(self) -> int:
        """The transport's clock, in monotonic nanoseconds."""
        ...

    async def receive(self) -> bytes:
        """The next part of the request's body, all that is at hand; empty at its end."""
        ...

    async def divert(self, sink: Callable[[Readable], bool]) -> bool:
        """Give `sink` the parts of the body, within the read that brought each, until it answers False.

        Answers whether the body has ended instead. A part is gone when `sink` returns: it copies what it keeps, or
        keeps a view of it for a moment. It must not raise.
        """
        ...

    def start(self, headers: Headers, *, end: bool = False) -> None:
        """Send the response's headers; `end` if that is all of it."""
        ...

    async def send(self, data: bytes) -> None:
        """Send a part of the response's body; waits while the client takes none."""
        ...

    def put(self, data: Readable) -> bool:
        """Queue a part of the response's body; False asks whoever sends to wait until it is `relieved`.

        The bytes must not change until they have left.
        """
        ...

    async def relieved(self) -> None:
        """Wait until the client has taken enough of what is queued."""
        ...

    async def reserve(self, size: int, least: int) -> int:
        """Wait until the client would take an answer, and there is room for one of `size` bytes or of `least`.

        Answers how much was granted, to be given back by `unreserve`; 0 if there was no room in time.
        """
        ...

    def take_room(self, size: int, least: int) -> int:
        """The same for a stream of answers, without waiting."""
        ...

    def unreserve(self, size: int) -> None:
        """Give back what was granted: the answer is queued, or there is none."""
        ...

    def hold(self, size: int) -> bool:
        """So many bytes of what the client sends are kept, or a negative number no longer; False if it is too much."""
        ...

    async def aside(self, work: Callable[[], Outcome]) -> Outcome:
        """Run what would hold up everybody else in a thread."""
        ...

    def finish(self, trailers: Headers | None = None) -> None:
        """End the response."""
        ...

    def abort(self, code: int) -> None:
        """Break the exchange off with this error code of HTTP/2."""
        ...

    def parking(self) -> Parking:
        """A new place to wait."""
        ...

    async def beside(self, work: Callable[[], Awaitable[None]], *others: Callable[[], Awaitable[None]]) -> None:
        """Run `work` to its end, and the others as long; what any of them raises comes from here, maybe in a group."""
        ...

    async def within(self, deadline: int, work: Callable[[], Awaitable[None]]) -> bool:
        """Run `work` until it is done, or until `deadline` cancels it: False."""
        ...

    async def until_leaving(self, work: Callable[[], Awaitable[None]]) -> bool:
        """Run `work` until it is done, or until the server is about to go and cancels it: False."""
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
