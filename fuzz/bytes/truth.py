"""What a segment's bytes truly hold, found the plain way, and whether an index or a checkpoint says so too.

Files may be damaged or missing, and then recovery must do without them. They may also be sound and lie, under a right
checksum, which no crash brings about: recovery need not find that out, but must come to no harm. To tell the two apart
one has to know the truth.
"""

from collections.abc import Iterator
from typing import TypeAlias

from crc32c import crc32c

from goqueue.core.errors import BatchError
from goqueue.core.log.index import PAGE_BYTES, IndexKind, decode_page
from goqueue.core.log.segment import NO_TIMESTAMP, Segment
from goqueue.core.records.batch import CRC_COVERS_FROM, Header, locate

Place: TypeAlias = tuple[int, Header]
"""A batch: where it begins, and its header."""

Entry: TypeAlias = tuple[int, int, int]
"""An index entry: key, offset, position."""

_RELATIVE_OFFSET_MAX = (1 << 31) - 1


def walk(stored: bytes, base: int) -> list[Place]:
    """The batches with which a segment begins, as long as each is whole, has its CRC and follows the one before."""
    return list(_walk(stored, base))


def _walk(stored: bytes, base: int) -> Iterator[Place]:
    at, next_offset, epoch = 0, base, -1
    while at < len(stored):
        try:
            header = locate(stored, at)
        except BatchError:
            return
        summed = crc32c(memoryview(stored)[at + CRC_COVERS_FROM : at + header.size])
        if header.last_offset_delta < 0 or summed != header.crc:
            return
        if header.base_offset < next_offset or header.leader_epoch < epoch:
            return
        if header.last_offset - base > _RELATIVE_OFFSET_MAX:
            return
        yield at, header
        at, next_offset, epoch = at + header.size, header.next_offset, header.leader_epoch


def size_of(places: list[Place]) -> int:
    """How many bytes the batches take."""
    return places[-1][0] + places[-1][1].size if places else 0


def latest_of(places: list[Place]) -> int:
    """The largest timestamp in the batches, NO_TIMESTAMP at least."""
    return max([NO_TIMESTAMP, *(header.max_timestamp for _, header in places)])


def entries(kind: IndexKind, base: int, stored: bytes) -> list[Entry] | None:
    """All entries of an index file; None when a page is damaged."""
    found: list[Entry] = []
    for at in range(0, len(stored), PAGE_BYTES):
        page = decode_page(kind, base, stored[at : at + PAGE_BYTES])
        if page is None:
            return None
        found += [(page.key(row), *page.place(row)) for row in range(page.count)]
    return found


def sound_entries(kind: IndexKind, base: int, stored: bytes) -> list[Entry]:
    """The entries of those pages of an index file that are not damaged."""
    pages = (entries(kind, base, stored[at : at + PAGE_BYTES]) for at in range(0, len(stored), PAGE_BYTES))
    return [entry for page in pages if page is not None for entry in page]


def are_true(kind: IndexKind, said: list[Entry], places: list[Place], *, exact: bool = False) -> bool:
    """Whether entries point to the start of batches, in order, and those of times past no later timestamp.

    `exact` times are those of some batch before: what an index says that nobody had to repair.
    """
    ahead = iter(places)
    latest = NO_TIMESTAMP
    for key, offset, position in said:
        for at, header in ahead:
            if at == position:
                break
            latest = max(latest, header.max_timestamp)
        else:
            return False
        if offset != header.base_offset:
            return False
        if key != offset if kind is IndexKind.OFFSET else key < latest or (exact and key != latest):
            return False
        latest = max(latest, header.max_timestamp)
    return True


def is_true(said: Segment, places: list[Place]) -> bool:
    """Whether what is said of a segment holds of so many of its batches as it speaks of."""
    spoken_of = [(at, header) for at, header in places if at < said.size]
    next_offset = spoken_of[-1][1].next_offset if spoken_of else said.base
    return (
        size_of(spoken_of) == said.size
        and next_offset <= said.next_offset
        and said.max_timestamp == latest_of(spoken_of)
    )
