"""The two indexes of a segment, against a plain list of what was entered."""

from bisect import bisect_right

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goqueue.core.log.index import (
    ENTRIES_A_PAGE,
    PAGE_BYTES,
    PROBE_BYTES,
    IndexKind,
    Page,
    PageTail,
    decode_page,
    first_key,
    floor_page,
)
from goqueue.core.log.segment import NO_TIMESTAMP, Segment
from goqueue.core.log.tail import SegmentTail
from tests.core.log.batches import WALL_MS

kinds = pytest.mark.parametrize("kind", IndexKind)

Entry = tuple[int, int, int]
"""Key, offset and position."""

bases = st.sampled_from([0, 1, 1_000, (1 << 32) - 5, 1 << 40, (1 << 62) + 3])


@st.composite
def entries_of(draw: st.DrawFn, kind: IndexKind, base: int, max_size: int = 1_200) -> list[Entry]:
    """Entries as a segment makes them; drawn as a few numbers, since most pages only differ in their steps."""
    count = draw(st.integers(0, max_size))
    steps = draw(st.lists(st.tuples(st.integers(1, 50), st.integers(61, 9_000), st.integers(0, 3)), min_size=1))
    offset, position, timestamp = base, 0, draw(st.integers(0, 1 << 50))
    entries: list[Entry] = []
    for number in range(count):
        offset_step, size, time_step = steps[number % len(steps)]
        offset, position, timestamp = offset + offset_step, position + size, timestamp + time_step
        entries.append((offset if kind is IndexKind.OFFSET else timestamp, offset, position))
    return entries


def written(tail: PageTail, entries: list[Entry]) -> list[bytes]:
    """The full pages that entering them made."""
    pages = [tail.add(*entry) for entry in entries]
    return [page for page in pages if page is not None]


def page_of(kind: IndexKind, base: int, content: bytes) -> Page:
    """A page that must be sound."""
    page = decode_page(kind, base, content)
    assert page is not None
    return page


def floor(kind: IndexKind, base: int, pages: list[bytes], tail: PageTail, key: int) -> tuple[int, int] | None:
    """What a look-up answers: in memory first, then in the pages of the file."""
    known = tail.floor(key)
    if known is not None:
        return known
    number = floor_page(len(pages), key, lambda at: first_key(kind, base, pages[at][:PROBE_BYTES]))
    if number < 0:
        return None
    page = page_of(kind, base, pages[number])
    return page.place(page.floor(key))


# look-ups


@kinds
@given(data=st.data())
@settings(max_examples=40)
def test_a_floor_is_what_a_plain_list_says(kind: IndexKind, data: st.DataObject) -> None:
    base = data.draw(bases)
    entries = data.draw(entries_of(kind, base))
    tail = PageTail(kind, base)
    pages = written(tail, entries)
    keys = [entry[0] for entry in entries]
    assert len(pages) == tail.full_pages == len(entries) // ENTRIES_A_PAGE[kind]
    assert len(tail.keys) == len(entries) % ENTRIES_A_PAGE[kind], "memory holds the page that is filling, no more"
    interesting = st.sampled_from([key + step for key in (keys or [base]) for step in (-1, 0, 1)])
    for key in data.draw(st.lists(interesting, max_size=20)):
        expected = bisect_right(keys, key) - 1
        assert floor(kind, base, pages, tail, key) == (entries[expected][1:] if expected >= 0 else None)


@kinds
@given(data=st.data())
@settings(max_examples=20)
def test_a_page_holds_what_was_entered(kind: IndexKind, data: st.DataObject) -> None:
    base = data.draw(bases)
    entries = data.draw(entries_of(kind, base, max_size=ENTRIES_A_PAGE[kind] - 1).filter(bool))
    tail = PageTail(kind, base)
    written(tail, entries)
    content = tail.encode()
    page = page_of(kind, base, content)
    assert len(content) == PAGE_BYTES
    assert [(page.key(at), *page.place(at)) for at in range(page.count)] == entries
    assert first_key(kind, base, content[:PROBE_BYTES]) == entries[0][0]


@given(st.lists(st.integers(0, 100), unique=True, max_size=30).map(sorted), st.integers(-1, 101), st.data())
def test_a_damaged_first_key_only_makes_the_floor_a_lower_one(firsts: list[int], key: int, data: st.DataObject) -> None:
    damaged = data.draw(st.sets(st.sampled_from(range(len(firsts))) if firsts else st.nothing()))
    found = floor_page(len(firsts), key, lambda at: None if at in damaged else firsts[at])
    sound = bisect_right(firsts, key) - 1
    assert -1 <= found <= sound
    if not damaged:
        assert found == sound


def test_a_look_up_among_many_pages_reads_a_dozen() -> None:
    asked: list[int] = []

    def first_key_of(at: int) -> int:
        asked.append(at)
        return at * 510

    assert floor_page(4_096, 1_000_000, first_key_of) == 1_000_000 // 510
    assert len(asked) <= 13


# a page proves itself


@kinds
def test_every_byte_flipped_in_a_page_is_noticed(kind: IndexKind) -> None:
    tail = PageTail(kind, 1_000)
    written(tail, [(WALL_MS + number, 1_000 + number, 100 * number) for number in range(ENTRIES_A_PAGE[kind] // 2)])
    content = bytearray(tail.encode())
    page_of(kind, 1_000, bytes(content))
    for at in range(PAGE_BYTES):
        for bits in (0x01, 0x80, 0xFF):
            content[at] ^= bits
            assert decode_page(kind, 1_000, content) is None, f"byte {at} ^ {bits:#x}"
            content[at] ^= bits
    page_of(kind, 1_000, bytes(content))


@kinds
@given(size=st.integers(0, PAGE_BYTES - 1))
@settings(max_examples=20)
def test_a_torn_page_is_no_page(kind: IndexKind, size: int) -> None:
    tail = PageTail(kind, 0)
    written(tail, [(number, number, 100 * number) for number in range(ENTRIES_A_PAGE[kind] - 1)])
    content = tail.encode()
    assert decode_page(kind, 0, content[:size]) is None
    last = content.rstrip(b"\x00")
    zeroed = content[:size] + bytes(PAGE_BYTES - size)
    assert (decode_page(kind, 0, zeroed) is None) == (size < len(last))


@kinds
def test_a_page_of_another_segment_or_index_is_no_page(kind: IndexKind) -> None:
    tail = PageTail(kind, 1_000)
    tail.add(1_000, 1_000, 61)
    content = tail.encode()
    other = IndexKind.TIME if kind is IndexKind.OFFSET else IndexKind.OFFSET
    assert decode_page(kind, 1_001, content) is None
    assert decode_page(other, 1_000, content) is None
    assert first_key(kind, 1_001, content[:PROBE_BYTES]) is None
    assert first_key(other, 1_000, content[:PROBE_BYTES]) is None


@kinds
@given(garbage=st.binary(max_size=2 * PROBE_BYTES) | st.binary(min_size=PAGE_BYTES, max_size=PAGE_BYTES))
@settings(max_examples=50)
def test_garbage_is_no_page(kind: IndexKind, garbage: bytes) -> None:
    assert decode_page(kind, 0, garbage) is None
    assert first_key(kind, 0, garbage[: PROBE_BYTES - 1]) is None


@kinds
def test_an_empty_page_is_no_page(kind: IndexKind) -> None:
    content = PageTail(kind, 0).encode()
    assert decode_page(kind, 0, content) is None
    assert first_key(kind, 0, content[:PROBE_BYTES]) is None


def test_keys_and_offsets_that_fall_are_a_broken_invariant() -> None:
    tail = PageTail(IndexKind.OFFSET, 10)
    tail.add(12, 12, 61)
    with pytest.raises(AssertionError):
        tail.add(11, 11, 122)
    with pytest.raises(AssertionError):
        tail.add(9, 9, 122)


# going on after a stop


@kinds
@given(data=st.data())
@settings(max_examples=40)
def test_an_index_resumed_and_cut_goes_on_as_if_it_had_never_stopped(kind: IndexKind, data: st.DataObject) -> None:
    entries = data.draw(entries_of(kind, 0, max_size=2 * ENTRIES_A_PAGE[kind] + 1).filter(bool))
    begun = PageTail(kind, 0)
    pages = written(begun, entries)
    if begun.keys:
        pages.append(begun.encode())
    kept = data.draw(st.integers(1, len(entries)))
    size = entries[kept - 1][2] + 1

    sound = [number for number, page in enumerate(pages) if page_of(kind, 0, page).place(0)[1] < size][-1]
    resumed = PageTail(kind, 0)
    resumed.resume(page_of(kind, 0, pages[sound]), sound)
    resumed.cut(size)
    assert resumed.positions[-1] == entries[kept - 1][2], "what pointed beyond is gone, what did not is not"
    assert len(resumed.keys) <= ENTRIES_A_PAGE[kind]

    more = written(resumed, entries[kept:])
    for number, page in enumerate(more):
        assert page == pages[resumed.full_pages - len(more) + number]
    for key in (entry[0] for entry in entries[:: 1 + len(entries) // 20]):
        last = [entry for entry in entries if entry[0] <= key][-1]
        assert floor(kind, 0, pages[: resumed.full_pages], resumed, key) == last[1:]
    assert resumed.full_pages * ENTRIES_A_PAGE[kind] + len(resumed.keys) == len(entries)


@kinds
def test_a_full_page_read_back_tells_its_last_entry(kind: IndexKind) -> None:
    count = ENTRIES_A_PAGE[kind]
    begun = PageTail(kind, 0)
    [content] = written(begun, [(number, number, 100 * number) for number in range(count)])
    resumed = PageTail(kind, 0)
    resumed.resume(page_of(kind, 0, content), 0)
    assert resumed.floor(count) == (count - 1, 100 * (count - 1))
    assert resumed.add(count, count, 100 * count) is None
    assert (resumed.full_pages, list(resumed.keys)) == (1, [count])


@kinds
def test_a_full_page_read_back_is_cut_like_any_other(kind: IndexKind) -> None:
    count = ENTRIES_A_PAGE[kind]
    [content] = written(PageTail(kind, 0), [(number, number, 100 * number) for number in range(count)])
    resumed = PageTail(kind, 0)
    resumed.resume(page_of(kind, 0, content), 0)
    resumed.cut(250)
    assert list(resumed.positions) == [0, 100, 200]
    assert resumed.full_pages == 0
    resumed.cut(200)
    assert list(resumed.positions) == [0, 100], "a log of 200 bytes has no batch at 200"


# what a growing segment enters


@given(
    st.sampled_from([0, 1, 100, 250, 4096]),
    st.lists(st.tuples(st.integers(1, 5), st.integers(61, 900), st.integers(-1, 50)), max_size=700),
)
@settings(max_examples=40)
def test_a_segment_enters_a_batch_whenever_the_interval_has_passed(
    interval_bytes: int, batches: list[tuple[int, int, int]]
) -> None:
    tail = SegmentTail(Segment(7, 0, 0, 7, NO_TIMESTAMP, WALL_MS), interval_bytes)
    offsets: list[Entry] = []
    times: list[Entry] = []
    offset, position, newest, last_position = 7, 0, NO_TIMESTAMP, 0
    for count, size, timestamp in batches:
        if position and position - last_position >= interval_bytes:
            offsets.append((offset, offset, position))
            last_position = position
            if newest > (times[-1][0] if times else NO_TIMESTAMP):
                times.append((newest, offset, position))
        tail.add(offset, offset + count, timestamp, size)
        offset, position, newest = offset + count, position + size, max(newest, timestamp)
        tail.check()
    assert (tail.segment.next_offset, tail.segment.size, tail.segment.max_timestamp) == (offset, position, newest)
    for kind, expected in ((IndexKind.OFFSET, offsets), (IndexKind.TIME, times)):
        contents = [page.page for page in [*tail.pages, *tail.partial_pages()] if page.kind is kind]
        numbers = [page.number for page in [*tail.pages, *tail.partial_pages()] if page.kind is kind]
        found = [page_of(kind, 7, content) for content in contents]
        assert [(page.key(at), *page.place(at)) for page in found for at in range(page.count)] == expected
        assert numbers == list(range(len(numbers)))
        assert tail.index_sizes()[kind - 1] == len(numbers)


@given(st.sampled_from([0, 100, 250]), st.integers(1, 300), st.data())
@settings(max_examples=40)
def test_a_segment_resumed_at_its_last_entry_enters_the_rest_as_before(
    interval_bytes: int, count: int, data: st.DataObject
) -> None:
    """As recovery does: the indexes are read back and the batches from the last entry on are entered again."""

    def batch_of(number: int) -> tuple[int, int, int, int]:
        return number, number + 1, WALL_MS + number // 3, 100

    whole = SegmentTail(Segment(0, 0, 0, 0, NO_TIMESTAMP, WALL_MS), interval_bytes)
    for number in range(count):
        whole.add(*batch_of(number))
    stopped = SegmentTail(Segment(0, 0, 0, 0, NO_TIMESTAMP, WALL_MS), interval_bytes)
    for number in range(data.draw(st.integers(1, count), label="stopped after")):
        stopped.add(*batch_of(number))
    pages = {(page.kind, page.number): page.page for page in [*stopped.pages, *stopped.partial_pages()]}
    resumed = SegmentTail(Segment(0, 0, 0, 0, NO_TIMESTAMP, WALL_MS), interval_bytes)
    for tail, count_of in zip((resumed.offsets, resumed.times), stopped.index_sizes(), strict=True):
        if count_of:
            tail.resume(page_of(tail.kind, 0, pages[tail.kind, count_of - 1]), count_of - 1)
    at = 0
    if resumed.offsets.positions:
        at = resumed.offsets.positions[-1]
        resumed.resumed(at)
        resumed.segment.size, resumed.segment.next_offset = at, at // 100
        resumed.segment.max_timestamp = resumed.indexed_timestamp
    for number in range(at // 100, count):
        resumed.add(*batch_of(number))
    assert resumed.segment == whole.segment
    pages.update({(page.kind, page.number): page.page for page in [*resumed.pages, *resumed.partial_pages()]})
    expected = {(page.kind, page.number): page.page for page in [*whole.pages, *whole.partial_pages()]}
    assert pages == expected
