"""Standard output for much: written in large blocks, or at once where somebody watches."""

import os
from collections.abc import Sequence

STDOUT = 1
BLOCK_BYTES = 256 << 10


class Closed(Exception):
    """Whoever read the output wants no more, as `head` does not."""


class Spool:
    """Bytes on their way to a descriptor."""

    def __init__(self, descriptor: int = STDOUT, *, at_once: bool = False) -> None:
        self._descriptor = descriptor
        self._at_once = at_once
        self._pieces: list[bytes] = []
        self._bytes = 0

    def write(self, lines: Sequence[bytes], end: bytes) -> int:
        """Write lines, each with an end; how many bytes that is."""
        piece = end.join(lines) + end
        self._pieces.append(piece)
        self._bytes += len(piece)
        if self._at_once or self._bytes >= BLOCK_BYTES:
            self.flush()
        return len(piece)

    def flush(self) -> None:
        """Write what waits. Raises Closed if nobody reads."""
        left = memoryview(b"".join(self._pieces))
        self._pieces.clear()
        self._bytes = 0
        try:
            while left:
                left = left[os.write(self._descriptor, left) :]
        except BrokenPipeError:
            raise Closed from None
