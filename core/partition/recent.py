"""The newest small batches of all partitions, in memory: whoever follows the end of a log asks no disk.

Large batches are not kept: for them one read from the page cache costs little beside what is sent, and memory that
goes back at once is used again while it is warm. Where several followers want each batch before it is written, larger
ones are worth their room. All partitions share one bound, and the oldest batch of all goes
first; so an idle partition's tail is forgotten, and takes nothing.

Invariants: the batches kept of a stream lie one behind the other without a gap, up to the last one entered; what all
of them take together is at most `bytes_max`.
"""

from collections import deque

from attrs import define, field

from goqueue.core.log.effects import Buffer

_BATCH_BYTES_MAX = 32 << 10


@define
class _Kept:
    stream: str
    offset: int
    next_offset: int
    batch: Buffer


@define
class RecentBatches:
    """A bounded memory of what was appended last."""

    bytes_max: int
    batch_bytes_max: int = _BATCH_BYTES_MAX
    _size: int = 0
    _all: deque[_Kept] = field(factory=deque)
    _by_stream: dict[str, deque[_Kept]] = field(factory=dict)

    def add(self, stream: str, offset: int, next_offset: int, batch: Buffer) -> None:
        """A batch was appended, and nobody changes its bytes any more."""
        tail = self._by_stream.get(stream)
        if tail and tail[-1].next_offset != offset:
            self.forget(stream)
            tail = None
        if len(batch) > self.batch_bytes_max:
            self.forget(stream)
            return
        if tail is None:
            tail = self._by_stream[stream] = deque()
        # A view may hold much more memory than it shows.
        kept = _Kept(stream, offset, next_offset, bytes(batch) if isinstance(batch, memoryview) else batch)
        tail.append(kept)
        self._all.append(kept)
        self._size += len(batch)
        while self._size > self.bytes_max:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        oldest = self._all.popleft()
        self._size -= len(oldest.batch)
        tail = self._by_stream.get(oldest.stream)
        # What was forgotten with its stream is only counted until it comes up here.
        if tail and tail[0] is oldest:
            tail.popleft()
            if not tail:
                del self._by_stream[oldest.stream]

    def clear(self) -> None:
        """Forget everything."""
        self._all.clear()
        self._by_stream.clear()
        self._size = 0

    def forget(self, stream: str) -> None:
        """What was appended to a stream may not be what is there, or is of no interest."""
        self._by_stream.pop(stream, None)

    def read(self, stream: str, offset: int, bytes_max: int, limit: int) -> tuple[Buffer, int] | None:
        """Whole batches from `offset` on that end at or before `limit`, and where to go on; None if not all is here."""
        found, next_offset = self.batches(stream, offset, bytes_max, limit)
        if not found:
            return None
        return (found[0] if len(found) == 1 else b"".join(found)), next_offset

    def batches(self, stream: str, offset: int, bytes_max: int, limit: int) -> tuple[list[Buffer], int]:
        """The same, batch by batch; none of them if not all is here."""
        tail = self._by_stream.get(stream)
        if tail is None or offset < tail[0].offset:
            return [], offset
        found: list[Buffer] = []
        size, next_offset = 0, offset
        for kept in _from(tail, offset):
            if kept.next_offset > limit or (found and size + len(kept.batch) > bytes_max):
                break
            found.append(kept.batch)
            size += len(kept.batch)
            next_offset = kept.next_offset
        return found, next_offset

    def check(self) -> None:
        """Assert the invariants."""
        assert self._size == sum(len(kept.batch) for kept in self._all) <= self.bytes_max
        for tail in self._by_stream.values():
            assert tail
            assert all(one.next_offset == two.offset for one, two in zip(tail, list(tail)[1:], strict=False))


def _from(tail: deque[_Kept], offset: int) -> list[_Kept]:
    """Those that end after `offset`; a reader at the end of the log finds its few without looking at all."""
    wanted: list[_Kept] = []
    for kept in reversed(tail):
        if kept.next_offset <= offset:
            break
        wanted.append(kept)
    wanted.reverse()
    return wanted
