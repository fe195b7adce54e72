"""The bytes of one simulated file: what is on the platter, what reads see, and what lies between the two.

Not the open handle (`simulated.py`), nor its name (`simulated_folder.py`).

Theory. An inode keeps two images, `durable` and `content`, and `pending`, the changes made to the second since it was
last synced. To sync is to apply pending changes to `durable`; to crash is to apply a chosen part of them and forget the
rest. The choice follows what kernels do:

- Writeback works in pages but a disk promises sectors, so each sector holds one of the states it went through: a prefix
  of the writes that touched it, of a length drawn for that sector alone. So a write may be torn, and later writes be
  there while earlier ones are not.
- The length is metadata, kept in a journal, so it goes through its states in order, whatever the sectors do. Hence
  sectors that arrived beyond the length are out of sight, and a length that arrived before its sectors shows zeros.
- A truncation counts when the journal has it. If not, the bytes behind the cut are still there, but those in the cut's
  own sector may be zeros, as the page cache zeroes them there and writes that sector back for its own reasons.

A failed sync marks pages clean that never reached the disk. Their writes leave `pending` for good, but stay in
`content` until the cache is dropped; the lengths they caused stay pending. A page that was written again since is
dirty, so it stays in the cache with what was lost of it, and a sync brings to the disk only what was written again.

Invariants: `durable` with all of `pending` applied is as long as `content`, and equals it unless `has_gone`; pending
changes are numbered from `first_pending` on without a gap.
"""

from collections.abc import Callable
from random import Random
from threading import Lock
from typing import Protocol, TypeAlias

import attrs

SECTOR_BYTES = 512
PAGE_BYTES = 4096

# How much of what was not synced survives, drawn anew for each thing that has to be decided; 0 is nothing, 1 all.
Chance: TypeAlias = Callable[[], float]


class Digest(Protocol):
    """What `hashlib` returns."""

    def update(self, content: bytes | bytearray, /) -> None:
        """Takes more bytes in."""


@attrs.define
class Write:
    """Bytes put at a position."""

    position: int
    content: bytes

    def sectors(self) -> range:
        """The sectors it touches."""
        end = self.position + len(self.content)
        return range(self.position // SECTOR_BYTES, (end - 1) // SECTOR_BYTES + 1)

    def pages(self) -> range:
        """The pages of the cache that it makes dirty."""
        end = self.position + len(self.content)
        return range(self.position // PAGE_BYTES, (end - 1) // PAGE_BYTES + 1)

    def size_after(self, size: int) -> int:
        """The length that it leaves of a file `size` long."""
        return max(size, self.position + len(self.content))

    def apply(self, image: bytearray) -> None:
        """Makes the change."""
        overwrite(image, self.position, self.content)


@attrs.define
class Resize:
    """The length set: a truncation or an allocation."""

    size: int

    def sectors(self) -> range:
        """The sector that it cuts in two."""
        return range(self.size // SECTOR_BYTES, self.size // SECTOR_BYTES + 1)

    def size_after(self, size: int) -> int:
        """The length that it leaves, whatever it was."""
        return self.size

    def apply(self, image: bytearray) -> None:
        """Makes the change."""
        resize(image, self.size)


Change: TypeAlias = Write | Resize


def resize(image: bytearray, size: int) -> None:
    """Cuts the image, or grows it with zeros."""
    if size < len(image):
        del image[size:]
    else:
        image.extend(bytes(size - len(image)))


def overwrite(image: bytearray, position: int, content: bytes) -> None:
    """Puts bytes into the image, with zeros before them where it is too short."""
    if position > len(image):
        resize(image, position)
    image[position : position + len(content)] = content


class Inode:
    """A file's bytes; lives as long as a name or a handle refers to it."""

    __slots__ = (
        "_syncing",
        "cold_end",
        "cold_start",
        "content",
        "durable",
        "first_pending",
        "handles",
        "has_gone",
        "linked",
        "lock_owner",
        "pending",
    )

    def __init__(self) -> None:
        self.durable = bytearray()
        self.content = bytearray()
        self.pending: list[Change] = []
        self.first_pending = 0
        self.has_gone = False
        # The one stretch that a non-blocking read does not find in memory; empty when start >= end.
        self.cold_start = 0
        self.cold_end = 0
        self.handles = 0
        self.linked = True
        self.lock_owner: object | None = None
        self._syncing = Lock()

    def write(self, position: int, content: bytes) -> None:
        """Puts bytes in, not durable yet."""
        overwrite(self.content, position, content)
        self.pending.append(Write(position, content))
        if self.cold_end:
            self.warm(position, position + len(content))

    def resize(self, size: int) -> None:
        """Sets the length, not durable yet."""
        resize(self.content, size)
        self.pending.append(Resize(size))

    def begin_sync(self) -> int:
        """The number of the first change that a sync starting at this moment does not cover."""
        with self._syncing:
            return self.first_pending + len(self.pending)

    def finish_sync(self, end: int) -> None:
        """Makes the changes before `end` durable."""
        # A sync may run in a thread beside writes, which only append, and beside another sync, which this excludes.
        with self._syncing:
            count = max(0, end - self.first_pending)
            assert count <= len(self.pending)
            for change in self.pending[:count]:
                change.apply(self.durable)
            del self.pending[:count]
            self.first_pending += count

    def fail_sync(self, end: int) -> None:
        """Loses the writes before `end`: no later sync brings them to the disk, though reads still find them."""
        with self._syncing:
            size = len(self.durable)
            for index in range(max(0, end - self.first_pending)):
                change = self.pending[index]
                size = change.size_after(size)
                if isinstance(change, Write):
                    self.pending[index] = Resize(size)
                    self.has_gone = True

    def forget_cached(self, position: int) -> None:
        """Drops clean pages from `position` on, and with them whatever only the cache had."""
        start = -(-position // PAGE_BYTES) * PAGE_BYTES
        if self.has_gone:
            reread = self._reread()
            dirty = {page for change in self.pending if isinstance(change, Write) for page in change.pages()}
            for page in range(start // PAGE_BYTES, -(-len(reread) // PAGE_BYTES)):
                if page not in dirty:
                    stretch = slice(page * PAGE_BYTES, (page + 1) * PAGE_BYTES)
                    self.content[stretch] = reread[stretch]
            self.has_gone = self.content != reread
        self.cold_start = min(start, self.cold_start) if self.cold_start < self.cold_end else start
        self.cold_end = len(self.content)

    def _reread(self) -> bytearray:
        """What reads would find if nothing that failed syncs lost were in the cache."""
        image = bytearray(self.durable)
        for change in self.pending:
            change.apply(image)
        assert len(image) == len(self.content)
        return image

    def warm(self, start: int, end: int) -> None:
        """Notes that a stretch is in memory; one amid a cold stretch is not worth remembering."""
        if start <= self.cold_start:
            self.cold_start = max(self.cold_start, end)
        elif end >= self.cold_end:
            self.cold_end = min(self.cold_end, start)

    def is_warm(self, start: int, end: int) -> bool:
        """Whether all of a stretch is in memory."""
        return self.cold_start >= self.cold_end or end <= self.cold_start or start >= self.cold_end

    def rot(self, position: int, bit: int) -> None:
        """Flips a bit on the platter, which reads see unless an unsynced write covers it."""
        cached = position < len(self.content) and self.content[position] == self.durable[position]
        self.durable[position] ^= 1 << bit
        if cached:
            self.content[position] = self.durable[position]

    def crash(self, random: Random, chance: Chance) -> None:
        """Keeps what the platter had and what `chance` lets survive of the changes since."""
        if self.pending:
            self._settle(random, chance(), chance())
        if self.pending or self.has_gone:
            self.content = bytearray(self.durable)
        self.pending.clear()
        self.has_gone = False
        self.cold_start, self.cold_end = 0, len(self.content)

    def _settle(self, random: Random, p_sectors: float, p_size: float) -> None:
        """Applies to `durable` the surviving part of the pending changes."""
        newest = self._newest_versions(random, p_sectors)
        journaled = round(len(self.pending) * p_size)
        size = self._surviving_size(random, journaled, p_size)
        for index, change in enumerate(self.pending):
            if isinstance(change, Write):
                _write_sectors(self.durable, change, index, newest)
            elif index < journaled:
                resize(self.durable, change.size)
            elif newest[change.size // SECTOR_BYTES] >= index:
                _blank_sector_from(self.durable, change.size)
        resize(self.durable, size)

    def _newest_versions(self, random: Random, p_sectors: float) -> dict[int, int]:
        """For each sector with pending changes the index of the last that it holds, -1 for none."""
        touched: dict[int, list[int]] = {}
        for index, change in enumerate(self.pending):
            for sector in change.sectors():
                touched.setdefault(sector, []).append(index)
        newest = {}
        for sector, indexes in touched.items():
            kept = len(indexes)
            while kept and random.random() >= p_sectors:
                kept -= 1
            newest[sector] = indexes[kept - 1] if kept else -1
        return newest

    def _surviving_size(self, random: Random, journaled: int, p_size: float) -> int:
        """The length after the journaled changes, or on its way to the next one, as a long write grows it in steps."""
        size = len(self.durable)
        for change in self.pending[:journaled]:
            size = change.size_after(size)
        if journaled == len(self.pending) or not p_size:
            return size
        grown = self.pending[journaled].size_after(size)
        if grown <= size:
            return size
        boundary = random.randint(size // SECTOR_BYTES, grown // SECTOR_BYTES) * SECTOR_BYTES
        return max(size, boundary)

    def copy(self) -> "Inode":
        """The same bytes and fates, without handles."""
        twin = Inode()
        twin.durable = bytearray(self.durable)
        twin.content = bytearray(self.content)
        twin.pending = list(self.pending)
        twin.has_gone = self.has_gone
        twin.cold_start, twin.cold_end = self.cold_start, self.cold_end
        return twin

    def digest_into(self, digest: Digest) -> None:
        """Feeds all that may ever be read of this file."""
        sizes = (len(self.durable), len(self.content), self.has_gone, self.cold_start, self.cold_end)
        digest.update(repr((sizes, self.pending)).encode())
        digest.update(self.durable)
        digest.update(self.content)

    def check(self) -> None:
        """Asserts the invariants of this module; for tests, as it costs a copy."""
        assert self.has_gone or self._reread() == self.content


def _write_sectors(image: bytearray, write: Write, index: int, newest: dict[int, int]) -> None:
    """Writes the parts of a write whose sectors hold a version as new as this one."""
    end = write.position + len(write.content)
    for sector in write.sectors():
        if newest[sector] < index:
            continue
        start = max(write.position, sector * SECTOR_BYTES)
        stop = min(end, (sector + 1) * SECTOR_BYTES)
        overwrite(image, start, write.content[start - write.position : stop - write.position])


def _blank_sector_from(image: bytearray, position: int) -> None:
    stop = min(len(image), -(-position // SECTOR_BYTES) * SECTOR_BYTES)
    if stop > position:
        image[position:stop] = bytes(stop - position)
