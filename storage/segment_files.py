"""The three files of one segment: the batches, and the two indexes by which a place in them is found.

A look-up bisects the pages of an index file where they lie, so it costs a dozen small reads and no memory. With
`cached=True` nothing here waits for the disk: the answer None means that the caller must ask again from a thread. A
page that is damaged only makes the answer a lower one, which is always right: more of the log is walked.

The files are closed when the last user lets go of this object: whoever reads a segment while it is removed reads on.
"""

from collections.abc import Sequence

from goqueue.core.log.effects import Buffer, IndexPage
from goqueue.core.log.index import PAGE_BYTES, PROBE_BYTES, IndexKind, Page, decode_page, first_key, floor_page
from goqueue.core.log.segment import parse_segment_name
from goqueue.core.records.batch import HEADER_BYTES, MAGIC, read_header
from goqueue.storage.disk import Disk, File
from goqueue.storage.layout import INDEX_ENDINGS, LOG_ENDING

_RESERVE_LEAST_BYTES = 1 << 20
_RESERVE_MOST_BYTES = 64 << 20


class ColdError(Exception):
    """Something wanted is not in memory, and the caller may not wait for it."""


class SegmentFiles:
    """The open files of one segment."""

    __slots__ = (
        "_disk",
        "_ending",
        "_indexes",
        "base",
        "folder",
        "log",
        "name",
        "reserved_bytes",
        "written_bytes",
    )

    def __init__(self, disk: Disk, folder: str, name: str, *, create: bool = False, ending: str = "") -> None:
        parsed = parse_segment_name(name)
        assert parsed is not None
        self.folder = folder
        self.name = name
        self.base = parsed[0]
        self._ending = ending
        self._indexes: dict[IndexKind, File] = {}
        self._disk = disk
        self.log = disk.open(f"{folder}/{name}{LOG_ENDING}{ending}", create=create)
        self.reserved_bytes = self.log.size()
        self.written_bytes = self.reserved_bytes

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Close the files early; only for who is certainly the last user."""
        for file in [*getattr(self, "_indexes", {}).values(), getattr(self, "log", None)]:
            if file is not None:
                file.close()

    def write(self, buffers: Sequence[Buffer], position: int) -> None:
        """Write batches at a position of the log file."""
        self.written_bytes = position + self.log.write(buffers, position)

    def write_pages(self, pages: Sequence[IndexPage]) -> None:
        """Write index pages to their places."""
        for page in pages:
            self._made_index(page.kind).write([page.page], page.number * PAGE_BYTES)

    def sync_indexes(self) -> None:
        """Force to the disk what was written to the indexes here; runs in a thread, so it opens none."""
        for index in list(self._indexes.values()):
            index.sync()

    def read_back(self) -> None:
        """Have later reads see what the disk has, where the page cache differs from it since a sync failed.

        The sync comes first: a page with anything still to be written stays in the cache whole, with what was lost of
        it. The whole file is dropped: the system keeps a page, or a run of pages, that is dropped in part.
        """
        for file in (self.log, *map(self._index, IndexKind)):
            if file is not None:
                file.sync()
                file.forget_cached(0)

    def cut_index(self, kind: IndexKind, pages: int) -> None:
        """Keep only the first pages of an index."""
        index = self._index(kind)
        if index is not None and index.size() != pages * PAGE_BYTES:
            index.truncate(pages * PAGE_BYTES)

    def _index(self, kind: IndexKind) -> File | None:
        """An index if there is one: who only reads makes none, since the disk may be full, or the segment removed."""
        index = self._indexes.get(kind)
        if index is None and self._disk.exists(self._index_path(kind)):
            index = self._made_index(kind)
        return index

    def _made_index(self, kind: IndexKind) -> File:
        index = self._indexes.get(kind)
        if index is None:
            opened = self._disk.open(self._index_path(kind), create=True)
            # A thread may look something up here at the same time as the loop: one of two openings goes.
            index = self._indexes.setdefault(kind, opened)
            if index is not opened:
                opened.close()
        return index

    def _index_path(self, kind: IndexKind) -> str:
        return f"{self.folder}/{self.name}{INDEX_ENDINGS[kind]}{self._ending}"

    # --- reserving room

    def reserve_wanted(self) -> int:
        """The size to which the log file should be allocated by now; 0 when it has room enough.

        Room is reserved in steps that grow with the file, so that a busy segment appends into allocated blocks and
        thousands of idle ones take nothing.
        """
        if self.written_bytes < _RESERVE_LEAST_BYTES:
            return 0
        step = min(self.written_bytes, _RESERVE_MOST_BYTES)
        if self.reserved_bytes - self.written_bytes > step // 2:
            return 0
        return self.written_bytes + step

    # --- looking up

    def floor_position(self, kind: IndexKind, key: int, *, cached: bool) -> int:
        """A position at or before the place that `key` asks for; 0 is always right. Raises ColdError.

        The batch there is held against the entry: an index may be sound and yet be that of another log.
        """
        number = self._floor_page_number(kind, key, cached=cached)
        while number >= 0:
            page = self.page(kind, number, cached=cached)
            at = page.floor(key) if page is not None else -1
            if page is not None and at >= 0:
                offset, position = page.place(at)
                return position if self.begins_at(offset, position, cached=cached) else 0
            number -= 1
        return 0

    def begins_at(self, offset: int, position: int, *, cached: bool = False) -> bool:
        """Whether the bytes at a position of the log are the head of a batch with that offset. Raises ColdError."""
        head = bytearray(HEADER_BYTES)
        count = self.log.read_cached_into(head, position) if cached else self.log.read_into(head, position)
        if count is None:
            raise ColdError
        header = read_header(head)
        return count == HEADER_BYTES and header.magic == MAGIC and header.base_offset == offset

    def page_count(self, kind: IndexKind) -> int:
        """How many pages an index file has, a torn last one included."""
        index = self._index(kind)
        return -(-index.size() // PAGE_BYTES) if index is not None else 0

    def page(self, kind: IndexKind, number: int, *, cached: bool = False) -> Page | None:
        """One page of an index; None when it is damaged. Raises ColdError."""
        buffer = bytearray(PAGE_BYTES)
        return decode_page(kind, self.base, buffer) if self._fill(kind, buffer, number, cached) else None

    def _floor_page_number(self, kind: IndexKind, key: int, *, cached: bool) -> int:
        probe = bytearray(PROBE_BYTES)

        def key_of(number: int) -> int | None:
            return first_key(kind, self.base, probe) if self._fill(kind, probe, number, cached) else None

        return floor_page(self.page_count(kind), key, key_of)

    def _fill(self, kind: IndexKind, buffer: bytearray, number: int, cached: bool) -> bool:
        index, position = self._index(kind), number * PAGE_BYTES
        if index is None:
            return False
        count = index.read_cached_into(buffer, position) if cached else index.read_into(buffer, position)
        if count is None:
            raise ColdError
        return count == len(buffer)
