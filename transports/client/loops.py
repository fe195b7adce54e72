"""The seam between the client's code and whatever runs it: trio, asyncio, or nobody but the caller.

The client is written once, as `async def`, and imports none of them: it gets a `Loop` and asks it for the time, for a
place to wait, for a task. `running_loop` finds out which one is meant.

Rules that hold on all three, and that code above the seam may lean on:
- Nothing but `Parking.wait`, `Task.wait`, `within` and `pause` waits. Whatever does not wait is not interrupted.
- Whoever was woken looks again at what it waited for: wake-ups may be too many, never too few.
- A task is cancelled by an error that comes out of where it waits, once. `finally` runs; what it awaits then may be
  cancelled at once (on trio it is), so tidying up does not wait.
- A task that fails with anything else ends the whole loop, and the loop's block raises its error: a fault of ours is
  not kept quiet. What is expected to go wrong, a task catches itself.
"""

import asyncio
import ssl
import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Protocol, Self

if TYPE_CHECKING:
    from goqueue.transports.client.link import Link

SECOND_NS = 1_000_000_000


class Parking(Protocol):
    """A place where tasks wait for something to change."""

    async def wait(self) -> None:
        """Wait for the next wake-up; one that came while nobody waited counts."""
        ...

    def wake(self) -> None:
        """Wake all who wait, or else the next one to come."""
        ...


class Task(Protocol):
    """Work that goes on beside."""

    def cancel(self) -> None:
        """End it where it waits; harmless if it is over."""
        ...

    async def wait(self) -> None:
        """Wait until it is over, however it ended."""
        ...


class Carrier(Protocol):
    """What moves a link's bytes: a socket and what reads and writes it."""

    def kick(self) -> None:
        """There is something to write."""
        ...

    def flush(self) -> None:
        """Somebody waits for what there is to write: write it now as far as that needs no waiting."""
        ...

    async def close(self) -> None:
        """Close the socket; nothing is read or written any more."""
        ...


class Loop(Protocol):
    """What runs the client, for as long as its block lasts: leaving the block cancels all tasks."""

    async def __aenter__(self) -> Self:
        """Begin; only inside the block can anything be started."""
        ...

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> bool | None:
        """Cancel what runs beside, and wait until it is over."""
        ...

    def now(self) -> int:
        """Monotonic nanoseconds."""
        ...

    def parking(self) -> Parking:
        """A new place to wait."""
        ...

    def start(self, work: Callable[[], Awaitable[object]]) -> Task:
        """Run something beside."""
        ...

    async def within(self, deadline: int, work: Callable[[], Awaitable[object]]) -> bool:
        """Run `work` until it is done, or until `deadline` cancels it: False."""
        ...

    async def pause(self, duration_ns: int) -> None:
        """Wait for this long."""
        ...

    async def sheltered(self, work: Callable[[], Awaitable[object]]) -> None:
        """Run something to its end though the caller was cancelled; `work` sees to it that it ends."""
        ...

    def on_signal(self, number: int, told: Callable[[], None]) -> Callable[[], None]:
        """Tell of a signal from here on, until what this gives is called; only the main thread hears of signals."""
        ...

    async def dial(self, host: str, port: int, tls: ssl.SSLContext | None, link: "Link") -> Carrier:
        """Connect, and move the link's bytes from then on; raises OSError, and ssl.SSLError among them."""
        ...


def running_loop() -> Loop:
    """A loop on top of what the caller runs in, trio or asyncio; raises RuntimeError where nothing runs."""
    # Whoever runs in trio has imported it; for others it would be 60 ms.
    trio = sys.modules.get("trio")
    if trio is not None and trio.lowlevel.in_trio_task():
        from goqueue.transports.client.trio_loop import TrioLoop  # noqa: PLC0415 - see above

        return TrioLoop()
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        raise RuntimeError(
            "This needs a running loop, trio's or asyncio's. Without one, use `with` where this says `async with`."
        ) from None
    from goqueue.transports.client.asyncio_loop import AsyncioLoop  # noqa: PLC0415 - only where it is used

    return AsyncioLoop()
