"""A pool of large buffers for reads, lent without being asked back.

A fresh bytearray of a megabyte costs its zeroing and a page fault every 4 KB, more than reading into it. A reply that
is made of slices has no single moment when the last of them was sent, so nobody returns a buffer: the pool looks at
the reference count of its own. A memoryview, its slices, slices of slices and casts all hold one reference to the
bytearray beneath until the last of them is gone; a name or a container holds its own. A count as low as in an idle
pool therefore means that nobody can see the bytes.

Invariants: a buffer is lent again only when nothing but the pool refers to it; the pool keeps at most
`count_max * buffer_bytes`. Not thread safe: two threads may find the same buffer idle. One pool a thread.
"""

import sys


def _references(buffers: list[bytearray], index: int) -> int:
    return sys.getrefcount(buffers[index])


# Asked rather than written down: how many references a call itself adds depends on the interpreter.
_IDLE_REFERENCES = _references([bytearray(1)], 0)


class BufferPool:
    """Up to `count_max` buffers of `buffer_bytes`, made when first needed."""

    __slots__ = ("_buffers", "buffer_bytes", "count_max")

    def __init__(self, buffer_bytes: int = 1 << 20, count_max: int = 16) -> None:
        assert buffer_bytes > 0
        assert count_max >= 0
        self.buffer_bytes = buffer_bytes
        self.count_max = count_max
        self._buffers: list[bytearray] = []

    def take(self, size: int) -> bytearray:
        """At least `size` bytes of anything, for the caller alone until it drops every reference; not to be resized.

        A buffer of the pool when one is idle or may be added, or else a fresh one of exactly `size`.
        """
        if size > self.buffer_bytes:
            return bytearray(size)
        # From the front: few buffers stay warm in the processor's cache, the rest is for bursts.
        for index in range(len(self._buffers)):
            if _references(self._buffers, index) == _IDLE_REFERENCES:
                buffer = self._buffers[index]
                assert len(buffer) == self.buffer_bytes
                return buffer
        if len(self._buffers) == self.count_max:
            return bytearray(size)
        buffer = bytearray(self.buffer_bytes)
        self._buffers.append(buffer)
        return buffer

    def is_crowded(self) -> bool:
        """Whether so many buffers are lent that nobody should keep one for little."""
        return self.lent() * 2 > self.count_max

    def lent(self) -> int:
        """How many buffers of the pool somebody can still see."""
        return sum(_references(self._buffers, index) > _IDLE_REFERENCES for index in range(len(self._buffers)))
