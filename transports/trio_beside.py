"""Tasks that live as long as one piece of work does, for calls that read and write at the same time."""

from collections.abc import Awaitable, Callable

import trio


async def beside(work: Callable[[], Awaitable[None]], *others: Callable[[], Awaitable[None]]) -> None:
    """Run `work` to its end, and the others as long; what any of them raises comes in an ExceptionGroup."""
    async with trio.open_nursery() as nursery:
        for other in others:
            nursery.start_soon(other)
        await work()
        nursery.cancel_scope.cancel()
