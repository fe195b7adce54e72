"""Room for one answer while it is made, for whoever asks the broker on behalf of a client and sees no connection.

A transport that serves a request names the room for its answer as the `current_room`; the broker that the endpoints
ask (`trio_patience.py`) enters it before it asks for messages. What was entered is left when the answer is there, which
from then on counts by its own bytes.
"""

from collections.abc import Awaitable, Callable
from contextvars import ContextVar

# Waits for room of a size, or a smaller one; how much was granted, 0 for none.
Reserve = Callable[[int, int], Awaitable[int]]

current_room: ContextVar["AnswerRoom | None"] = ContextVar("current_room", default=None)


class AnswerRoom:
    """What the making of one answer takes."""

    __slots__ = ("_give", "_held_bytes", "_reserve", "is_stream")

    def __init__(self, give: Callable[[int], None], reserve: Reserve) -> None:
        self._give = give
        self._reserve = reserve
        self._held_bytes = 0
        # Of an answer in parts only the latest is being made.
        self.is_stream = False

    async def enter(self, size: int) -> bool:
        """Wait for room for an answer of this size, unless it has as much already; False if there is none."""
        if self.is_stream or self._held_bytes < size:
            self.leave()
            self._held_bytes = await self._reserve(size, size)
        return self._held_bytes > 0

    def leave(self) -> None:
        """Give the room back."""
        held, self._held_bytes = self._held_bytes, 0
        if held:
            self._give(held)
