"""Reading: which segment and place a request names, what it keeps out, and where the next one goes on."""

import pytest

from goqueue.core.clock import Clock
from goqueue.core.log.config import UNLIMITED, Cleanup, Fsync, LogConfig
from goqueue.core.log.cursors import Cursors
from goqueue.core.log.effects import FindTime, Read
from goqueue.core.log.errors import OffsetOutOfRange
from goqueue.core.log.index import ENTRIES_A_PAGE, IndexKind
from goqueue.core.log.log import Log, LogState
from goqueue.core.log.segment import Segment, segment_name
from goqueue.core.log.tail import SegmentTail
from tests.core.log.batches import FIRST, STREAM, WALL_MS, batch, empty_log, filled_log, settings_of, stamped

MUCH = 1 << 20


def three_segments() -> Log:
    """Offsets [0, 4), [4, 8) and [8, 10), two records a batch and 100 bytes each, a millisecond apart."""
    return filled_log(settings_of(segment_bytes=200), *(batch(2, timestamp=WALL_MS + number) for number in range(5)))


def read_of(log: Log, offset: int, limit_offset: int | None = None) -> Read:
    """The request for an offset that can be read."""
    read = log.read(offset, MUCH, limit_offset)
    assert read is not None
    return read


# by offset


def test_an_empty_log_has_nothing_to_read_yet() -> None:
    assert empty_log().read(0, MUCH) is None
    assert empty_log(at=500).read(500, MUCH) is None


def test_at_its_end_a_log_has_nothing_to_read_yet() -> None:
    assert three_segments().read(10, MUCH) is None


@pytest.mark.parametrize("offset", [-1, 3, 11])
def test_an_offset_outside_the_log_is_refused_with_its_bounds(offset: int) -> None:
    log = three_segments()
    log.delete_before(0, 4)
    with pytest.raises(OffsetOutOfRange, match="from 4 up to 10") as caught:
        log.read(offset, MUCH)
    assert (caught.value.offset, caught.value.start, caught.value.end) == (offset, 4, 10)


@pytest.mark.parametrize(("offset", "base", "end"), [(0, 0, 4), (3, 0, 4), (4, 4, 8), (7, 4, 8)])
def test_a_sealed_segment_is_read_to_its_end_by_way_of_its_index(offset: int, base: int, end: int) -> None:
    assert read_of(three_segments(), offset) == Read(STREAM, segment_name(base, 0), offset, -1, 200, end, 10, MUCH)


@pytest.mark.parametrize("offset", [8, 9])
def test_the_active_segment_is_read_as_far_as_it_was_written(offset: int) -> None:
    assert read_of(three_segments(), offset) == Read(STREAM, segment_name(8, 0), offset, 0, 100, 10, 10, MUCH)


def test_a_read_does_not_see_what_still_waits_in_memory() -> None:
    log = filled_log(settings_of(), batch(2))
    log.append(0, batch(2))
    assert read_of(log, 0) == Read(STREAM, FIRST, 0, 0, 100, 4, 2, MUCH)
    assert log.read(2, MUCH) is None, "or the reader would be told to go on behind it"
    assert log.read(4, MUCH) is None
    log.take(0)
    assert read_of(log, 2) == Read(STREAM, FIRST, 2, 0, 200, 4, 4, MUCH)


def test_a_segment_sealed_in_this_turn_is_read_as_far_as_it_was_written() -> None:
    log = filled_log(settings_of(segment_bytes=200), batch())
    log.append(0, batch())
    log.append(0, batch())
    assert [segment.next_offset for segment in log.segments] == [2, 3]
    assert read_of(log, 0) == Read(STREAM, FIRST, 0, -1, 100, 2, 1, MUCH)
    assert log.read(1, MUCH) is None
    assert log.read(2, MUCH) is None, "its file is not there yet"
    find = log.find_time(0)
    assert find is not None
    assert find.segments == [(FIRST, 100)]


def test_what_is_sealed_but_not_written_is_not_compacted() -> None:
    config = LogConfig(fsync=Fsync.NONE, cleanup=Cleanup.COMPACT, dirty_ratio=0.0, segment_bytes=200)
    log = empty_log(config)
    for _ in range(3):
        log.append(0, batch())
    assert log.compaction(0) is None
    log.take(0)
    assert log.compaction(0) is not None


def test_a_limit_keeps_out_what_lies_at_or_above_it() -> None:
    log = three_segments()
    assert read_of(log, 3, limit_offset=7).limit_offset == 7
    assert read_of(log, 3, limit_offset=700).limit_offset == 10
    assert log.read(7, MUCH, limit_offset=7) is None
    assert log.read(8, MUCH, limit_offset=7) is None


def test_a_read_in_the_gap_before_a_segment_begins_with_it() -> None:
    log = empty_log(settings_of(segment_bytes=100))
    log.replicate(0, stamped(0))
    log.replicate(0, stamped(50))
    log.replicate(0, stamped(90))
    log.take(0)
    assert [segment.base for segment in log.segments] == [0, 1, 51]
    assert read_of(log, 30).segment == segment_name(1, 0)


def test_a_place_in_the_page_that_is_filling_is_known_without_the_index_file() -> None:
    log = filled_log(settings_of(index_interval_bytes=250), *(batch() for _ in range(8)))
    # Entries at 300 and 600: the first batch after each 250 bytes.
    assert [read_of(log, offset).position for offset in range(8)] == [0, 0, 0, 300, 300, 300, 600, 600]


def test_a_place_in_a_page_that_left_memory_is_looked_up_in_the_index_file() -> None:
    count = ENTRIES_A_PAGE[IndexKind.OFFSET] + 2
    log = filled_log(settings_of(index_interval_bytes=0), *(batch() for _ in range(count)))
    assert read_of(log, 5).position == -1
    assert read_of(log, count - 1).position == 100 * (count - 1)


def test_a_reader_that_goes_on_where_it_ended_needs_no_look_up() -> None:
    log = three_segments()
    log.read_done(read_of(log, 0), 2, 100)
    assert read_of(log, 2).position == 100
    log.read_done(read_of(log, 8), 10, 100)
    log.append(0, batch())
    log.take(0)
    assert read_of(log, 10).position == 100


def test_a_place_is_only_taken_for_the_segment_it_was_made_for() -> None:
    log = three_segments()
    log.read_done(read_of(log, 0), 4, 200)
    assert read_of(log, 4).position == -1
    log.read_done(read_of(log, 4), 6, 100)
    log.delete_before(0, 6)
    assert read_of(log, 6).position == 100


def test_the_memory_of_places_is_bounded_and_forgets_the_oldest() -> None:
    cursors = Cursors()
    for offset in range(1_000):
        cursors.note(offset, FIRST, offset * 10)
    assert len(cursors) == 256
    assert cursors.position(999 - 256, FIRST) is None
    assert cursors.position(1_000 - 256, FIRST) == (1_000 - 256) * 10


def test_a_place_used_again_is_young_again() -> None:
    cursors = Cursors()
    for offset in [*range(256), 7]:
        cursors.note(offset, FIRST, offset)
    assert cursors.position(0, FIRST) == 0, "it took no other's room"
    for offset in range(1_000, 1_008):
        cursors.note(offset, FIRST, offset)
    assert cursors.position(7, FIRST) == 7
    assert cursors.position(8, FIRST) is None


def test_after_a_compaction_a_place_in_the_old_segment_is_none_in_the_new_one() -> None:
    cursors = Cursors()
    cursors.note(2, FIRST, 100)
    assert cursors.position(2, segment_name(0, 1)) is None


def test_places_in_segments_that_are_gone_are_forgotten() -> None:
    cursors = Cursors()
    cursors.note(1, FIRST, 100)
    cursors.note(9, segment_name(8, 0), 100)
    cursors.forget([FIRST])
    assert cursors.position(1, FIRST) is None
    assert cursors.position(9, segment_name(8, 0)) == 100
    cursors.clear()
    assert len(cursors) == 0


# by time


def test_a_time_after_every_record_finds_nothing() -> None:
    assert three_segments().find_time(WALL_MS + 5) is None
    assert empty_log().find_time(0) is None


@pytest.mark.parametrize(
    ("timestamp", "bases"),
    [(0, [0, 4, 8]), (WALL_MS + 1, [0, 4, 8]), (WALL_MS + 2, [4, 8]), (WALL_MS + 3, [4, 8]), (WALL_MS + 4, [8])],
)
def test_a_time_is_looked_for_only_where_a_record_is_late_enough(timestamp: int, bases: list[int]) -> None:
    find = three_segments().find_time(timestamp)
    sizes = {0: 200, 4: 200, 8: 100}
    assert find == FindTime(STREAM, timestamp, 0, [(segment_name(base, 0), sizes[base]) for base in bases], 0)


def test_a_time_is_not_looked_for_below_the_start() -> None:
    log = three_segments()
    log.delete_before(0, 5)
    find = log.find_time(0)
    assert find is not None
    assert (find.from_offset, [name for name, _ in find.segments]) == (5, [segment_name(4, 0), segment_name(8, 0)])


def test_a_time_is_not_looked_for_in_a_segment_that_a_crash_kept_from_going() -> None:
    segments = [Segment(0, 0, 100, 2, WALL_MS, 0), Segment(2, 0, 100, 4, WALL_MS, 0)]
    tail = SegmentTail(Segment(4, 0, 0, 4, -1, 0), 250)
    log = Log(STREAM, settings_of(), Clock(0, WALL_MS), LogState(segments, tail, start_offset=2))
    find = log.find_time(0)
    assert find is not None
    assert find.segments == [(segment_name(2, 0), 100)]


def test_an_earlier_segment_may_hold_the_later_times() -> None:
    late, early = batch(timestamp=WALL_MS + 1_000), batch(timestamp=WALL_MS)
    log = filled_log(settings_of(segment_bytes=100), late, early)
    find = log.find_time(WALL_MS + 500)
    assert find is not None
    assert find.segments == [(FIRST, 100)]
    assert find.position == -1, "a sealed segment's index is in its file"


def test_a_search_by_time_begins_where_everything_before_is_too_early() -> None:
    log = filled_log(settings_of(index_interval_bytes=200), *(batch(timestamp=WALL_MS + number) for number in range(8)))
    # Entries at 200, 400 and 600 say that nothing before them is later than 1, 3 and 5.
    places = []
    for number in range(8):
        find = log.find_time(WALL_MS + number)
        assert find is not None
        places.append(find.position)
    assert places == [0, 0, 200, 200, 400, 400, 600, 600]


def test_a_time_in_a_page_that_left_memory_is_looked_up_in_the_index_file() -> None:
    count = ENTRIES_A_PAGE[IndexKind.TIME] + 2
    log = filled_log(
        settings_of(index_interval_bytes=0), *(batch(timestamp=WALL_MS + number) for number in range(count))
    )
    early, late = log.find_time(WALL_MS + 7), log.find_time(WALL_MS + count - 1)
    assert early is not None
    assert late is not None
    assert (early.position, late.position) == (-1, 100 * (count - 1))


def test_a_search_by_time_ends_where_the_disk_does() -> None:
    log = filled_log(settings_of(), batch())
    log.append(0, batch(timestamp=WALL_MS + 9))
    find = log.find_time(WALL_MS + 9)
    assert find is not None
    assert find.segments == [(FIRST, 100)]


def test_without_timestamps_there_is_no_time_to_be_found() -> None:
    log = filled_log(LogConfig(fsync=Fsync.NONE, retention_ms=UNLIMITED), batch(timestamp=-1))
    assert log.find_time(0) is None
