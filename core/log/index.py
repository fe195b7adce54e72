"""Two sparse indexes of a segment: offset -> position, and timestamp -> position.

An entry is made about every 4 KB of log. Both are a sequence of 4 KB pages, and each page proves itself: a magic, its
kind, the segment it belongs to, a count and a CRC-32C. A page that was torn, lost or left over from another file is
therefore seen as such, and the part of the log that it covered is read again instead.

    page    magic 4 | kind 2 | count 2 | crc 4 | base (low 32 bits) 4 | entries
    offset  relative offset 4 | position 4                      510 a page
    time    timestamp 8 | relative offset 4 | position 4        255 a page

An offset entry (o, p) says: the batch at p starts at offset o. A time entry (t, o, p) says: no batch before p holds a
timestamp above t, and the batch at p starts at o. Keys never fall, so both are searched by bisection. Finished pages
live in the file only; memory holds the one page that is still filling, whatever the size of the log.

Searching is pure: `floor_page` and `Page` look at bytes that somebody else read.
"""

import struct
from array import array
from bisect import bisect_right
from collections.abc import Callable
from enum import IntEnum

from crc32c import crc32c

PAGE_BYTES = 4096
_PAGE_HEAD = struct.Struct("<4sHHII")
_MAGIC = b"GQIX"
_CRC_AT = 8


class IndexKind(IntEnum):
    """Which of a segment's two indexes; the value stands in every page."""

    OFFSET = 1
    TIME = 2


_ENTRY = {IndexKind.OFFSET: struct.Struct("<II"), IndexKind.TIME: struct.Struct("<qII")}
ENTRIES_A_PAGE = {kind: (PAGE_BYTES - _PAGE_HEAD.size) // entry.size for kind, entry in _ENTRY.items()}
# What a search reads of a page to learn its first key.
PROBE_BYTES = _PAGE_HEAD.size + 8


class Page:
    """The entries of one index page, read where they lie."""

    __slots__ = ("_unpack", "base", "count", "kind", "view")

    def __init__(self, kind: IndexKind, base: int, count: int, view: memoryview) -> None:
        self.kind = kind
        self.base = base
        self.count = count
        self.view = view
        self._unpack = _ENTRY[kind].unpack_from

    def key(self, at: int) -> int:
        """The offset or the timestamp by which entry `at` is found."""
        first = self._unpack(self.view, _PAGE_HEAD.size + at * _ENTRY[self.kind].size)[0]
        return int(first + self.base if self.kind is IndexKind.OFFSET else first)

    def place(self, at: int) -> tuple[int, int]:
        """(offset, position) of the batch that entry `at` points to."""
        row = self._unpack(self.view, _PAGE_HEAD.size + at * _ENTRY[self.kind].size)
        return row[-2] + self.base, row[-1]

    def floor(self, key: int) -> int:
        """Index of the last entry whose key is at most `key`; -1 when there is none."""
        return bisect_right(range(self.count), key, key=self.key) - 1


class PageTail:
    """The page of one index that is still filling, and how many full ones came before it."""

    __slots__ = ("base", "full_pages", "keys", "kind", "offsets", "positions")

    def __init__(self, kind: IndexKind, base: int) -> None:
        self.kind = kind
        self.base = base
        self.full_pages = 0
        self.keys = array("q")
        self.offsets = array("Q")
        self.positions = array("Q")

    def add(self, key: int, offset: int, position: int) -> bytes | None:
        """Enter a key; when that fills the page, return its bytes and begin the next."""
        assert offset >= self.base
        assert not self.keys or key >= self.keys[-1]
        if len(self.keys) == ENTRIES_A_PAGE[self.kind]:
            # Only a page that was read back is full before it is added to, and it lies in the file already.
            self.full_pages += 1
            self.clear()
        self.keys.append(key)
        self.offsets.append(offset)
        self.positions.append(position)
        if len(self.keys) < ENTRIES_A_PAGE[self.kind]:
            return None
        page = self.encode()
        self.full_pages += 1
        self.clear()
        return page

    def resume(self, page: Page, number: int) -> None:
        """Continue a page that was read back, as page `number` of the file; even a full one may yet be `cut`."""
        self.full_pages = number
        self.clear()
        for at in range(page.count):
            offset, position = page.place(at)
            self.keys.append(page.key(at))
            self.offsets.append(offset)
            self.positions.append(position)

    def clear(self) -> None:
        """Forget the entries of the page that is filling."""
        del self.keys[:], self.offsets[:], self.positions[:]

    def cut(self, size: int) -> None:
        """Drop the entries of this page that point at or beyond `size` bytes of log."""
        keep = bisect_right(self.positions, size - 1)
        del self.keys[keep:], self.offsets[keep:], self.positions[keep:]

    def encode(self) -> bytes:
        """The page as it stands, padded to its full size."""
        return encode_page(self.kind, self.base, self.keys, self.offsets, self.positions)

    def floor(self, key: int) -> tuple[int, int] | None:
        """(offset, position) of the last entry here at or below `key`; None when an earlier page would know."""
        at = bisect_right(self.keys, key) - 1
        return (self.offsets[at], self.positions[at]) if at >= 0 else None

    def floor_position(self, key: int) -> int:
        """A place at or before the one that `floor` asks for; -1 when only the pages in the file know it."""
        known = self.floor(key)
        if known is not None:
            return known[1]
        return -1 if self.full_pages else 0


def encode_page(
    kind: IndexKind, base: int, keys: "array[int]", offsets: "array[int]", positions: "array[int]"
) -> bytes:
    """One page of an index file."""
    page = bytearray(PAGE_BYTES)
    pack, step, at = _ENTRY[kind].pack_into, _ENTRY[kind].size, _PAGE_HEAD.size
    for key, offset, position in zip(keys, offsets, positions, strict=True):
        if kind is IndexKind.OFFSET:
            pack(page, at, offset - base, position)
        else:
            pack(page, at, key, offset - base, position)
        at += step
    _PAGE_HEAD.pack_into(page, 0, _MAGIC, kind, len(keys), 0, base & 0xFFFFFFFF)
    struct.pack_into("<I", page, _CRC_AT, _page_crc(page))
    return bytes(page)


def _page_crc(page: bytes | bytearray | memoryview) -> int:
    view = memoryview(page)
    return crc32c(view[_CRC_AT + 4 :], crc32c(view[:_CRC_AT]))


def decode_page(kind: IndexKind, base: int, page: bytes | bytearray | memoryview) -> Page | None:
    """The entries of a page, or None when it is not a sound page of this index."""
    if len(page) != PAGE_BYTES:
        return None
    magic, found_kind, count, crc, found_base = _PAGE_HEAD.unpack_from(page)
    if magic != _MAGIC or found_kind != kind or found_base != base & 0xFFFFFFFF:
        return None
    if not 0 < count <= ENTRIES_A_PAGE[kind]:
        return None
    return Page(kind, base, count, memoryview(page)) if _page_crc(page) == crc else None


def first_key(kind: IndexKind, base: int, probe: bytes | bytearray) -> int | None:
    """The first key of a page from its first PROBE_BYTES; None when they are not of a page of this index."""
    if len(probe) < PROBE_BYTES:
        return None
    magic, found_kind, count, _, found_base = _PAGE_HEAD.unpack_from(probe)
    if magic != _MAGIC or found_kind != kind or found_base != base & 0xFFFFFFFF or count == 0:
        return None
    (first,) = struct.unpack_from("<I" if kind is IndexKind.OFFSET else "<q", probe, _PAGE_HEAD.size)
    return int(first + base if kind is IndexKind.OFFSET else first)


def floor_page(pages: int, key: int, first_key_of: Callable[[int], int | None]) -> int:
    """Number of the last page whose first key is at most `key`, by bisection; -1 when there is none.

    `first_key_of` may answer None for a page that is damaged; the search then stays below it, which is safe: a lower
    floor only means that more of the log is walked.
    """
    low, high = 0, pages
    while low < high:
        middle = (low + high) // 2
        first = first_key_of(middle)
        if first is not None and first <= key:
            low = middle + 1
        else:
            high = middle
    return low - 1
