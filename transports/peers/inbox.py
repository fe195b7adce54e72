"""How much of what peers have sent waits for the node's next turn: bounded in bytes, for all peers together.

A frame may decompress to much more than it took on its way, a letter takes more when it was read, and many come between
two turns. So a connection goes on only when there is room; until then the peer's own queue fills, and gives up the
oldest.
"""

import trio


class Inbox:
    """The bytes of messages that came and that the node has not taken; one letter always fits."""

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._has_room = trio.Event()
        self.held_bytes = 0

    @property
    def is_full(self) -> bool:
        """Whether whoever has more to bring has to wait."""
        return self.held_bytes >= self._bytes_max

    def put(self, size: int) -> None:
        """Messages have come that take so many bytes."""
        self.held_bytes += size

    def empty(self) -> None:
        """The node has taken all of them."""
        self.held_bytes = 0
        if not self._has_room.is_set():
            self._has_room.set()

    async def room(self) -> None:
        """Wait until there is room."""
        while self.is_full:
            if self._has_room.is_set():
                self._has_room = trio.Event()
            await self._has_room.wait()
