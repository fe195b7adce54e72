"""Walking over batches in bytes from a segment file: verifying all of them, or finding some.

`Scan` trusts nothing and is what recovery runs on: it checks each batch's frame and CRC, that offsets and leader epochs
never fall, and grows a `SegmentTail` with what it accepts. `pick` trusts the frames (a stored batch was verified when
it was appended) and is what a read runs on. Both look at a block of bytes that starts at a batch; neither reads a
file.
"""

import struct

from attrs import define
from crc32c import crc32c

from goqueue.core.errors import BatchError
from goqueue.core.log.epochs import EpochCache
from goqueue.core.log.segment import RELATIVE_OFFSET_MAX
from goqueue.core.log.tail import SegmentTail
from goqueue.core.records.batch import CRC_COVERS_FROM, HEADER, HEADER_BYTES, LENGTH_COVERS_FROM, MAGIC

# What a reader must know of a batch to step over it: base offset, length, magic, last offset delta.
_FRAME = struct.Struct(">qi4xb6xi")


@define
class Flaw:
    """Why the bytes at `position` of a segment are not the next batch."""

    position: int
    reason: str
    message: str
    blank: bool = False


class Scan:
    """Verifies the batches of one segment in order and enters each into the tail."""

    __slots__ = ("_epochs", "_tail", "batches", "flaw", "saw_producers")

    def __init__(self, tail: SegmentTail, epochs: EpochCache) -> None:
        self._tail = tail
        self._epochs = epochs
        self.batches = 0
        self.flaw: Flaw | None = None
        self.saw_producers = False

    def feed(self, block: memoryview) -> int:
        """Accept whole batches from the start of `block`; the answer is how many bytes they took.

        It stops before a batch that the block does not hold whole, and for good at a `flaw`.
        """
        if self.flaw is not None:
            return 0
        tail, epochs, unpack = self._tail, self._epochs, HEADER.unpack_from
        offset_max = tail.segment.base + RELATIVE_OFFSET_MAX
        at, end = 0, len(block)
        while at + HEADER_BYTES <= end:
            base, length, epoch, magic, crc, _, last_delta, _, max_timestamp, producer_id, _, _, _ = unpack(block, at)
            size = length + LENGTH_COVERS_FROM
            if magic != MAGIC or size < HEADER_BYTES or last_delta < 0:
                self._frame_flaw(block[at:], magic, length)
                break
            if at + size > end:
                break
            if crc32c(block[at + CRC_COVERS_FROM : at + size]) != crc:
                self._note("crc", f"expected a batch whose content has the CRC-32C {crc:08x}")
                break
            if not tail.segment.next_offset <= base <= offset_max - last_delta or epoch < epochs.latest:
                self._order_flaw(base, epoch)
                break
            epochs.assign(epoch, base)
            tail.add(base, base + last_delta + 1, max_timestamp, size)
            self.batches += 1
            if producer_id >= 0:
                self.saw_producers = True
            at += size
        return at

    def ended(self, rest: memoryview) -> None:
        """The file ends with `rest`, which `feed` did not take: note what that means."""
        if self.flaw is not None or not rest:
            return
        if _is_blank(rest[:HEADER_BYTES]):
            self.flaw = Flaw(self._tail.segment.size, "blank", "expected a batch, found zeros", blank=True)
        else:
            self._note("truncated", f"expected a whole batch, found only {len(rest)} bytes of one")

    def _frame_flaw(self, rest: memoryview, magic: int, length: int) -> None:
        if _is_blank(rest[:HEADER_BYTES]):
            self.flaw = Flaw(self._tail.segment.size, "blank", "expected a batch, found zeros", blank=True)
        elif magic != MAGIC:
            self._note("magic", f"expected a batch with magic {MAGIC}, found {magic}")
        else:
            self._note("length", f"expected a batch, found a length of {length}")

    def _order_flaw(self, base: int, epoch: int) -> None:
        expected, latest = self._tail.segment.next_offset, self._epochs.latest
        if epoch < latest and base >= expected:
            self._note("epochs", f"expected leader epoch {latest} or later, found {epoch}")
        else:
            self._note("offsets", f"expected offset {expected} or a little later, found {base}")

    def _note(self, reason: str, message: str) -> None:
        self.flaw = Flaw(self._tail.segment.size, reason, message)


def _is_blank(view: memoryview) -> bool:
    return not any(view)


@define
class Pick:
    """What `pick` found in a block: batches in [start, stop), where the walk ended, and what it lacked to go on."""

    start: int
    stop: int
    next_offset: int
    wanted_bytes: int


def pick(block: memoryview, offset: int, limit_offset: int, max_bytes: int) -> Pick:
    """The whole batches in `block` from the one that holds `offset` on, up to `limit_offset` and `max_bytes`.

    `start == stop` when there is none yet; `wanted_bytes` is then what the block must hold, from `start`, for the next
    step to succeed, and 0 when the limit forbids one. Raises BatchError when the bytes are no batch.
    """
    unpack = _FRAME.unpack_from
    at, end = 0, len(block)
    start = -1
    next_offset = offset
    while at + HEADER_BYTES <= end:
        base, length, magic, last_delta = unpack(block, at)
        size = length + LENGTH_COVERS_FROM
        if magic != MAGIC or size < HEADER_BYTES:
            raise BatchError("magic", f"expected a batch with magic {MAGIC}, found {magic}", position=at)
        after = base + last_delta + 1
        if start < 0 and after > offset:
            start = at
        if start >= 0:
            if after > limit_offset:
                return Pick(start, at, next_offset, 0)
            if at + size > end or (at > start and at + size - start > max_bytes):
                return Pick(start, at, next_offset, at + size - start)
            next_offset = after
        at += size
    if start < 0:
        # The block ended within batches to be skipped, or at the head of the next: go on from there.
        return Pick(at, at, next_offset, HEADER_BYTES)
    return Pick(start, at, next_offset, at + HEADER_BYTES - start)
