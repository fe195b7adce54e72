"""Segments: their names, and which of them holds an offset, against the plainest way to say so."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goqueue.core.log.segment import NO_TIMESTAMP, Segment, parse_segment_name, segment_name
from goqueue.core.log.segments import SegmentList
from goqueue.core.log.tail import SegmentTail

bases = st.integers(0, (1 << 63) - 1)
generations = st.integers(0, 1_000)


def segment(base: int, next_offset: int, generation: int = 0, size: int = 100) -> Segment:
    return Segment(base, generation, size, next_offset, NO_TIMESTAMP, 0)


def tail_of(active: Segment) -> SegmentTail:
    return SegmentTail(active, 4096)


def list_of(*segments: Segment) -> SegmentList:
    """A list of segments, the last one active."""
    *sealed, active = segments
    return SegmentList(sealed, tail_of(active))


@st.composite
def lists(draw: st.DrawFn) -> SegmentList:
    """Segments in order; between them, gaps that a compaction left."""
    segments, offset = [], draw(st.integers(0, 5))
    for gap, count in draw(st.lists(st.tuples(st.integers(0, 4), st.integers(1, 5)), max_size=6)):
        segments.append(segment(offset + gap, offset + gap + count))
        offset += gap + count
    count = draw(st.integers(0, 3))
    return list_of(*segments, segment(offset, offset + count, size=100 * count))


# names


@given(bases, generations)
def test_a_name_says_base_and_generation(base: int, generation: int) -> None:
    assert parse_segment_name(segment_name(base, generation)) == (base, generation)
    assert segment(base, base, generation).name == segment_name(base, generation)


@given(bases, bases, generations, generations)
def test_names_sort_as_their_bases_do(one: int, other: int, first: int, second: int) -> None:
    if one != other:
        assert (segment_name(one, first) < segment_name(other, second)) == (one < other)


def test_what_compaction_has_not_touched_has_no_generation_in_its_name() -> None:
    assert segment_name(42, 0) == "00000000000000000042"
    assert segment_name(42, 3) == "00000000000000000042.3"


@pytest.mark.parametrize(
    "name",
    [
        "",
        "42",
        "00000000000000000042.",
        "00000000000000000042.0",
        "00000000000000000042.03",
        "00000000000000000042.x",
        "00000000000000000042.-1",
        "00000000000000000042.1.1",
        "0000000000000000004x",
        "000000000000000000042",
        "-0000000000000000042",
        " 0000000000000000042",
        "٠٠٠٠٠٠٠٠٠٠٠٠٠٠٠٠٠٠٤٢",
        "0000000000000000000²",
        "checkpoint",
    ],
)
def test_any_other_name_is_no_segments(name: str) -> None:
    assert parse_segment_name(name) is None


@given(st.text("0123456789.-x", max_size=24) | st.text(max_size=24))
def test_a_name_is_parsed_only_if_it_would_be_made(name: str) -> None:
    parsed = parse_segment_name(name)
    assert parsed is None or segment_name(*parsed) == name


# finding


@given(lists(), st.integers(0, 60))
def test_an_offset_is_in_the_first_segment_that_does_not_end_before_it(segments: SegmentList, offset: int) -> None:
    expected = [each for each in segments.sealed if each.next_offset > offset]
    assert segments.at(offset) is (expected[0] if expected else segments.tail.segment)
    segments.check()


@given(lists(), st.integers(0, 60))
def test_a_split_parts_what_begins_below_from_what_does_not(segments: SegmentList, offset: int) -> None:
    first, *rest = segments.all()
    below, above = segments.split(offset)
    assert below == [first, *(each for each in rest if each.base < offset)]
    assert [*below, *above] == [first, *rest]


@given(lists(), st.data())
def test_the_oldest_can_be_dropped(segments: SegmentList, data: st.DataObject) -> None:
    before = segments.all()
    count = data.draw(st.integers(0, len(segments.sealed)))
    assert segments.drop(count) == before[:count]
    assert segments.all() == before[count:]
    assert segments.first_base == before[count].base
    assert segments.oldest is before[count]
    segments.check()


@given(lists(), st.data())
def test_a_run_is_replaced_by_what_it_became(segments: SegmentList, data: st.DataObject) -> None:
    before = segments.all()
    first = data.draw(st.integers(0, len(segments.sealed)))
    last = data.draw(st.integers(first, len(segments.sealed)))
    old = before[first:last]
    merges = data.draw(st.booleans(), label="something stays")
    new = [segment(old[0].base, old[-1].next_offset, generation=1)] if old and merges else []
    assert segments.replace(old, new) is bool(old)
    assert segments.all() == [*before[:first], *(new if old else old), *before[last:]]
    segments.check()
    for offset in range(before[-1].next_offset + 1):
        assert segments.at(offset) in segments.all()


def test_what_is_no_run_any_more_is_not_replaced() -> None:
    a, b, c = segment(0, 5), segment(5, 9), segment(9, 12)
    segments = list_of(a, b, c, segment(12, 12, size=0))
    new = [segment(0, 9, generation=1)]
    assert segments.replace([a, c], new) is False
    assert segments.replace([b, a], new) is False
    assert segments.replace([segments.tail.segment], new) is False
    segments.drop(1)
    assert segments.replace([a, b], new) is False
    assert segments.all()[:-1] == [b, c]


def test_sealing_goes_on_in_the_opened_segment() -> None:
    first, opened = segment(0, 5), tail_of(segment(5, 5, size=0))
    segments = list_of(first)
    segments.seal(opened)
    assert (segments.sealed, segments.tail) == ([first], opened)
    assert segments.at(4) is first
    assert segments.at(5) is opened.segment
    segments.check()


@pytest.mark.parametrize(
    "segments",
    [
        [segment(0, 5), segment(4, 9)],
        [segment(5, 9), segment(0, 5)],
        [segment(0, 5, size=0), segment(5, 9)],
        [segment(5, 4)],
        [segment(-1, 4)],
    ],
    ids=["overlap", "disorder", "empty-but-not", "backwards", "negative"],
)
def test_the_check_finds_what_must_not_be(segments: list[Segment]) -> None:
    with pytest.raises(AssertionError):
        list_of(*segments).check()
