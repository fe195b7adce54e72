"""What waits to go out to a peer: whole frames, bounded in bytes; the oldest give way.

Letters may be lost: whoever wrote them sends them again in time. To wait for room instead would hold up the node.
"""

from collections import deque

from attrs import define

from goqueue.core.records.varint import Readable


@define
class _Waiting:
    pieces: list[Readable]
    size: int
    letters: int
    # A part of it has gone out, so the rest has to.
    is_begun: bool = False


class Outbox:
    """Frames in order, up to `bytes_max` of them."""

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._waiting: deque[_Waiting] = deque()
        self.held_bytes = 0

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def put(self, pieces: list[Readable], letters: int, *, is_begun: bool = False) -> int:
        """Add a frame, or what is left of one; how many letters had to go for it, its own among them maybe."""
        size = sum(map(len, pieces))
        self._waiting.append(_Waiting(pieces, size, letters, is_begun))
        self.held_bytes += size
        dropped = 0
        while self.held_bytes > self._bytes_max and (at := self._first_whole()) is not None:
            gone = self._waiting[at]
            del self._waiting[at]
            self.held_bytes -= gone.size
            dropped += gone.letters
        return dropped

    def _first_whole(self) -> int | None:
        at = 1 if self._waiting and self._waiting[0].is_begun else 0
        return at if at < len(self._waiting) else None

    def take(self, bytes_max: int) -> list[Readable]:
        """The pieces of the frames in front: one at least, and no more of them than make up so many bytes."""
        pieces: list[Readable] = []
        size = 0
        while self._waiting and (not pieces or size + self._waiting[0].size <= bytes_max):
            frame = self._waiting.popleft()
            self.held_bytes -= frame.size
            size += frame.size
            pieces += frame.pieces
        return pieces
