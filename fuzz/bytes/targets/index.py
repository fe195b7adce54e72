"""The pages of an index file, whole or damaged, and the search among them.

A head chooses the kind and the upper half of the segment's base, of which pages hold only the lower. Invariants, for
any bytes:
- a page decodes or is None; the entries of one that decodes encode to the same entries;
- a probe of a sound page knows the key of its first entry;
- a search answers a page that there is, whose first key is at most the key that is searched; among sound pages in order
  it is the last such, and within a page in order the entry is;
- a page in order can be resumed, cut and searched, and says the same as before.
"""

import struct
from array import array
from itertools import pairwise
from random import Random

from goqueue.core.log.index import (
    ENTRIES_A_PAGE,
    PAGE_BYTES,
    PROBE_BYTES,
    IndexKind,
    Page,
    PageTail,
    decode_page,
    encode_page,
    first_key,
    floor_page,
)
from goqueue.fuzz.bytes.sealing import seal_pages
from goqueue.fuzz.bytes.target import Havoc, Target

_HEAD = struct.Struct(">BI")
_BASE_POSITION = 12
_ENTRIES_POSITION = 16
_BASE_HIGH_MAX = (1 << 31) - 1


def check(content: bytes) -> None:
    """All invariants, for `content` as a head and pages."""
    if len(content) < _HEAD.size + _ENTRIES_POSITION:
        return
    chosen, high = _HEAD.unpack_from(content)
    kind, stored = IndexKind(1 + chosen % 2), content[_HEAD.size :]
    (low,) = struct.unpack_from("<I", stored, _BASE_POSITION)
    base = min(high, _BASE_HIGH_MAX) << 32 | low
    pieces = [stored[at : at + PAGE_BYTES] for at in range(0, len(stored), PAGE_BYTES)]
    pages = [decode_page(kind, base, piece) for piece in pieces]
    for page, piece in zip(pages, pieces, strict=True):
        if page is not None:
            _check_page(page, piece)
    _check_search(kind, base, pieces, pages)


def _keys(page: Page) -> list[int]:
    return [page.key(at) for at in range(page.count)]


def _in_order(page: Page) -> bool:
    positions = [page.place(at)[1] for at in range(page.count)]
    return all(a <= b for a, b in pairwise(_keys(page))) and all(a < b for a, b in pairwise(positions))


def _check_page(page: Page, piece: bytes) -> None:
    assert len(piece) == PAGE_BYTES
    assert 0 < page.count <= ENTRIES_A_PAGE[page.kind]
    places = [page.place(at) for at in range(page.count)]
    offsets, positions = array("Q", (offset for offset, _ in places)), array("Q", (position for _, position in places))
    again = encode_page(page.kind, page.base, array("q", _keys(page)), offsets, positions)
    end = _ENTRIES_POSITION + page.count * (8 if page.kind is IndexKind.OFFSET else 16)
    assert again[_ENTRIES_POSITION:end] == piece[_ENTRIES_POSITION:end]
    assert (again == piece) == (not any(piece[end:]))
    assert first_key(page.kind, page.base, piece[:PROBE_BYTES]) == page.key(0)
    for key in (page.key(0) - 1, page.key(0), page.key(page.count // 2), page.key(page.count - 1) + 1):
        assert -1 <= page.floor(key) < page.count
    if _in_order(page):
        _check_page_in_order(page, positions)


def _check_page_in_order(page: Page, positions: "array[int]") -> None:
    keys = _keys(page)
    tail = PageTail(page.kind, page.base)
    tail.resume(page, 3)
    # A page that is full may count as one that lies in the file, or as the one that is filling.
    a_page = ENTRIES_A_PAGE[page.kind]
    assert tail.full_pages * a_page + len(tail.keys) == 3 * a_page + page.count
    for key in (keys[0] - 1, keys[0], keys[len(keys) // 2], keys[-1], keys[-1] + 1):
        expected = max((at for at in range(page.count) if keys[at] <= key), default=-1)
        assert page.floor(key) == expected
        if tail.keys:
            assert tail.floor(key) == (page.place(expected) if expected >= 0 else None)
    if tail.keys:
        tail.cut(positions[page.count // 2])
        assert len(tail.keys) == page.count // 2


def _check_search(kind: IndexKind, base: int, pieces: list[bytes], pages: list[Page | None]) -> None:
    firsts = [first_key(kind, base, piece[:PROBE_BYTES]) for piece in pieces]
    known = [first for first in firsts if first is not None]
    in_order = len(known) == len(firsts) and all(a <= b for a, b in pairwise(known))
    for key in (-1, base, *(first + step for first in known for step in (-1, 0, 1))):
        number = floor_page(len(pieces), key, firsts.__getitem__)
        assert -1 <= number < len(pieces)
        found = firsts[number] if number >= 0 else None
        assert number < 0 or (found is not None and found <= key)
        if in_order:
            assert number == sum(first <= key for first in known) - 1
    for page, first in zip(pages, firsts, strict=True):
        assert page is None or first == page.key(0)


def _seeds() -> list[bytes]:
    base = (3 << 32) + 1000
    stored = []
    for kind in IndexKind:
        for count in (1, 5, ENTRIES_A_PAGE[kind] + 7):
            tail = PageTail(kind, base)
            full = [tail.add(base + 2 * n, base + 2 * n, 90 * n) for n in range(1, count + 1)]
            pages = [*(page for page in full if page is not None), tail.encode()]
            stored.append(_HEAD.pack(kind - 1, base >> 32) + b"".join(pages))
    return stored


def _mutate(content: bytes, size_max: int, random: Random, havoc: Havoc) -> bytes:
    head, pages = content[: _HEAD.size], content[_HEAD.size :]
    if not pages or random.random() < 0.1:
        return havoc(content, size_max, random)
    start = random.randrange(0, len(pages), PAGE_BYTES)
    # Most of a page is padding, so aim at its beginning.
    end = start + random.choice((16, 64, 256, PAGE_BYTES))
    changed = pages[:start] + havoc(pages[start:end], PAGE_BYTES, random) + pages[end:]
    whole = changed.ljust(-(-len(changed) // PAGE_BYTES) * PAGE_BYTES, b"\x00")[: max(len(pages), PAGE_BYTES)]
    return (head + (whole if random.random() < 0.2 else seal_pages(whole)))[:size_max]


TARGET = Target("index", check, _seeds, _mutate, size_max=3 * PAGE_BYTES)
