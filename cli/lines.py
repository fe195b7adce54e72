"""Lines of a file or a pipe, in blocks: reading them one by one would take longer than publishing them.

What comes slowly is not held back: a block is whatever is there. A line that the file ends without counts, an empty
rest does not. Memory is bounded by the longest line that is taken.
"""

import os
import select
from collections.abc import Iterator

from goqueue.cli.endings import Ending

BLOCK_BYTES = 256 << 10
LINE_BYTES_MAX = 64 << 20
# Whoever writes at all fast has the next block ready within that.
PATIENCE_S = 0.005


class Lines:
    """The lines of an open file, without their ends."""

    def __init__(self, descriptor: int, delimiter: bytes = b"\n") -> None:
        self._descriptor = descriptor
        self._delimiter = delimiter
        self._count = 0

    def __iter__(self) -> Iterator[list[bytes]]:
        rest: list[bytes] = []
        rest_bytes = 0
        while block := os.read(self._descriptor, BLOCK_BYTES):
            first, *lines = block.split(self._delimiter)
            rest.append(first)
            rest_bytes += len(first)
            if rest_bytes > LINE_BYTES_MAX:
                raise Ending(f"line {self._count + 1} is longer than {LINE_BYTES_MAX >> 20} MiB")
            if lines:
                lines.insert(0, b"".join(rest))
                rest = [lines.pop()]
                rest_bytes = len(rest[0])
                self._count += len(lines)
                yield lines
        if rest_bytes:
            yield [b"".join(rest)]

    @property
    def has_more(self) -> bool:
        """Whether there is something to read, or the end, within a moment."""
        return bool(select.select([self._descriptor], [], [], PATIENCE_S)[0])
