"""Parts of what segment files hold: by offset, by time, in pieces, here and elsewhere; and what need not be read."""

from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import fs

from goqueue.core.records.batch import Codec
from goqueue.core.records.build import Entry, encode
from goqueue.spark import places
from goqueue.spark.records.columns import ARROW_SCHEMA
from goqueue.spark.records.edges import EARLIEST, LATEST, Edges, Moment, UnreadableError
from goqueue.spark.records.planning import SegmentPlan, plan
from goqueue.spark.records.ranges import check_partitions, plan_between
from goqueue.spark.records.rows import read_rows
from goqueue.spark.records.wanted import Wanted
from goqueue.storage.errors import DamageError
from goqueue.storage.files import FileDisk
from goqueue.storage.layout import FormatError
from tests.arrow.plain_rows import Row, rows_from, rows_of, segment_rows
from tests.storage.logbook import NOW_MS, abandon, content, everything, flip, in_stream, log_file, opened, stored

# Batches of three records, some of which bear no time, some an earlier one than those before, some headers.
BATCHES = 700
BATCH_BYTES = 173


def entry(number: int) -> Entry:
    """A record whose time is unlike its neighbours', and null for every seventh."""
    moment = -1 if number % 7 == 0 else NOW_MS + number * 10 - number % 5 * 40
    return moment, b"%d" % number, b"v" * (number % 40), [("n", b"%d" % number)] if number % 3 == 0 else ()


def written(
    disk: FileDisk, segment_bytes: int = 1 << 20, *, codec: Codec = Codec.NONE, close: bool = True
) -> list[Row]:
    """A stream with an index entry a batch, so that a page of the index is full after some hundred; its rows."""
    log = opened(disk, segment_bytes=segment_bytes, index_interval_bytes=1)
    for number in range(BATCHES):
        log.append(encode([entry(3 * number + at) for at in range(3)], codec=codec))
    log.flush()
    rows = rows_from(stored(log))
    if close:
        log.close()
    else:
        abandon(log)
    return rows


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder of several segments."""
    path = tmp_path_factory.mktemp("ranges")
    written(FileDisk(str(path)), 30_000, codec=Codec.ZSTD)
    return path


@pytest.fixture(scope="module")
def one_segment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder of one segment."""
    path = tmp_path_factory.mktemp("segment")
    written(FileDisk(str(path)))
    return path


def read(plans: list[SegmentPlan], **options: bool) -> list[Row]:
    """The rows of some plans, each read by itself."""
    return [row for planned in plans for row in segment_rows(planned, **options)]


def passing(rows: list[Row], wanted: Wanted) -> list[Row]:
    """The rows that are wanted, looked at one by one."""
    times = {row[2]: -1 if row[3] is None else row[3] // 1000 for row in rows}
    return [
        row
        for row in rows
        if wanted.first_offset <= row[2] < wanted.end_offset and wanted.since_ms <= times[row[2]] < wanted.until_ms
    ]


offsets = st.integers(0, 3 * BATCHES + 20)
times = st.integers(NOW_MS - 100, NOW_MS + 30 * BATCHES + 100)
ranges = st.builds(
    Wanted,
    first_offset=offsets | st.just(0),
    end_offset=offsets | st.just(Wanted().end_offset),
    since_ms=times | st.sampled_from([-1, 0]),
    until_ms=times | st.just(Wanted().until_ms),
)


@given(ranges)
@settings(max_examples=60)
def test_what_is_wanted_is_read_and_nothing_else(folder: Path, one_segment: Path, wanted: Wanted) -> None:
    for data in (folder, one_segment):
        expected = passing(rows_of(data), wanted)
        if wanted.until_ms < Wanted().until_ms and wanted.since_ms < 0:
            # Only a record with a time can lie before one.
            wanted.since_ms = 0
            expected = passing(expected, wanted)
        assert read(plan(str(data), wanted=wanted)) == expected
        assert read(plan(str(data), wanted=wanted, whole=True), skip_damaged=True) == expected


def test_segments_in_which_nothing_wanted_can_be_are_not_opened(tmp_path: Path) -> None:
    disk = FileDisk(str(tmp_path))
    rows = written(disk, 30_000, close=False)
    bases = [planned.segment.base for planned in plan(str(tmp_path))]
    assert len(bases) > 3
    late = Wanted(first_offset=bases[-1] + 1)
    early = Wanted(end_offset=bases[1])
    young = Wanted(since_ms=NOW_MS + bases[-1] * 10 + 100)
    for wanted, wanted_bases in ((late, bases[-1:]), (early, bases[:1]), (young, bases[-1:])):
        assert [planned.segment.base for planned in plan(str(tmp_path), wanted=wanted)] == wanted_bases
    for base in bases[1:-1]:
        disk.remove(log_file(base))
    assert read(plan(str(tmp_path), wanted=late)) == passing(rows, late)
    assert read(plan(str(tmp_path), wanted=early)) == passing(rows, early)
    with pytest.raises(DamageError, match="the file is gone"):
        read(plan(str(tmp_path)))


def test_reading_begins_where_the_index_leads_to_and_ends_where_no_more_is_wanted(one_segment: Path) -> None:
    rows = rows_of(one_segment)
    for wanted in (Wanted(first_offset=1803, end_offset=1806), Wanted(since_ms=NOW_MS + 18_030, end_offset=1830)):
        [planned] = plan(str(one_segment), wanted=wanted)
        assert planned.begin_bytes > planned.segment.size // 2
        assert 1790 < planned.begin_offset <= 1803
        assert segment_rows(planned) == passing(rows, wanted)


def test_a_large_segment_is_cut_at_batches_and_read_by_several(one_segment: Path) -> None:
    [whole] = plan(str(one_segment))
    pieces = plan(str(one_segment), piece_bytes=whole.segment.size // 3)
    assert len(pieces) == 2
    assert [piece.begin_bytes for piece in pieces[1:]] == [piece.segment.size for piece in pieces[:-1]]
    assert read(pieces) == rows_of(one_segment)
    assert read(plan(str(one_segment), piece_bytes=whole.segment.size // 3, whole=True)) == rows_of(one_segment)
    wanted = Wanted(first_offset=1600)
    [last] = plan(str(one_segment), wanted=wanted, piece_bytes=whole.segment.size // 3)
    assert segment_rows(last) == passing(rows_of(one_segment), wanted)


def test_each_piece_says_what_is_damaged_in_it(tmp_path: Path) -> None:
    disk = FileDisk(str(tmp_path))
    rows = written(disk)
    [whole] = plan(str(tmp_path))
    first, second = plan(str(tmp_path), piece_bytes=whole.segment.size // 3)
    flip(disk, log_file(0), second.begin_bytes - 5)
    with pytest.raises(DamageError, match="The CRC is"):
        segment_rows(first)
    assert segment_rows(second) == passing(rows, Wanted(first_offset=second.begin_offset))


@pytest.mark.parametrize(
    ("ending", "wanted"), [(".index", Wanted(first_offset=1900)), (".timeindex", Wanted(since_ms=NOW_MS + 19_200))]
)
def test_an_index_that_is_wrong_costs_time_and_nothing_else(tmp_path: Path, ending: str, wanted: Wanted) -> None:
    disk = FileDisk(str(tmp_path))
    rows = written(disk)
    index = in_stream(f"{0:020d}{ending}")

    def begun() -> int:
        [planned] = plan(str(tmp_path), wanted=wanted)
        assert segment_rows(planned) == passing(rows, wanted)
        return planned.begin_bytes

    led = begun()
    flip(disk, index, len(content(disk, index)) - 100)
    misled = begun()
    disk.remove(index)
    assert led > misled > begun() == 0


def test_beyond_what_is_certain_no_index_is_believed(tmp_path: Path) -> None:
    disk = FileDisk(str(tmp_path))
    rows = written(disk, close=False)
    disk.remove(in_stream("synced"))
    disk.remove(in_stream("checkpoint"))
    [planned] = plan(str(tmp_path), wanted=Wanted(first_offset=1900), piece_bytes=20_000)
    assert planned.begin_bytes == 0
    assert segment_rows(planned) == rows[1900:]


def first_at(rows: list[Row], moment_ms: int) -> int:
    """The offset of the first record that is late enough."""
    return next((row[2] for row in rows if row[3] is not None and row[3] >= moment_ms * 1000), len(rows))


@given(times, times)
@settings(max_examples=40)
def test_a_moment_is_the_first_record_at_or_after_it(folder: Path, one: int, other: int) -> None:
    rows = rows_of(folder)
    plans = plan_between(str(folder), starting=Edges(Moment(one)), ending=Edges(Moment(other)))
    assert read(plans) == rows[first_at(rows, one) : first_at(rows, other)]


def test_edges_may_differ_by_partition(folder: Path) -> None:
    rows = rows_of(folder)
    starting = Edges(EARLIEST, {("orders", 0): 100, ("orders", 1): 7})
    ending = Edges(LATEST, {("orders", 0): 110})
    assert read(plan_between(str(folder), starting=starting, ending=ending)) == rows[100:110]
    assert read(plan_between(str(folder), starting=Edges(2000))) == rows[2000:]
    assert not plan_between(str(folder), starting=Edges(2000), ending=Edges(3))
    assert not plan_between(str(folder), starting=Edges(Moment(NOW_MS * 2)))
    assert not plan_between(str(folder), wanted=Wanted(partitions=(1, 2)))
    assert not plan_between(str(folder), wanted=Wanted(topics=("audit",)))


def test_a_start_that_is_gone_or_not_there_yet_is_named(tmp_path: Path) -> None:
    log = opened(FileDisk(str(tmp_path)), segment_bytes=2000)
    for number in range(20):
        log.append(encode([entry(5 * number + at) for at in range(5)]))
    log.log.delete_before(0, 33)
    log.flush()
    abandon(log)
    folder = str(tmp_path)
    with pytest.raises(UnreadableError, match="orders/0: the records from offset 7 up to 33 are not there any more"):
        plan_between(folder, starting=Edges(7))
    assert [row[2] for row in read(plan_between(folder, starting=Edges(7), skip_missing=True))] == [*range(33, 100)]
    assert [row[2] for row in read(plan_between(folder, starting=Edges(99)))] == [99]
    assert not read(plan_between(folder, starting=Edges(101)))
    with pytest.raises(UnreadableError, match="orders/0 ends at offset 100, before 101, where reading was to begin"):
        plan_between(folder, starting=Edges(EARLIEST, {("orders", 0): 101}))
    with pytest.raises(UnreadableError, match="orders has no partition 3; it has 1, from 0 on"):
        check_partitions(folder, ["orders"], [0, 3])
    with pytest.raises(UnreadableError, match="orders has no partition 1; it has 1, from 0 on"):
        check_partitions(folder, ["orders"], [], Edges(EARLIEST), Edges(LATEST, {("orders", 1): 5}))


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> str:
    """The scheme under which this machine's files are those of a store that Arrow reads."""
    monkeypatch.setattr(places, "open_system", lambda kind, authority: (fs.LocalFileSystem(), f"/{authority}"))
    return "s3:/"


def test_a_folder_elsewhere_is_read_like_one_here(folder: Path, elsewhere: str) -> None:
    before = everything(FileDisk(str(folder)))
    rows = rows_of(folder)
    place = elsewhere + str(folder)
    assert read(plan(place)) == rows
    assert read(plan(place), skip_damaged=True) == rows
    wanted = Wanted(first_offset=900, since_ms=NOW_MS + 9_500)
    assert read(plan(place, wanted=wanted)) == passing(rows, wanted)
    with pytest.raises(UnreadableError, match="holds no topic 'audit'; it holds orders"):
        plan(place, ["audit"])
    assert everything(FileDisk(str(folder))) == before


def test_what_is_wrong_elsewhere_is_named_as_it_was_asked_for(tmp_path: Path, elsewhere: str) -> None:
    disk = FileDisk(str(tmp_path))
    written(disk)
    flip(disk, log_file(0), 100)
    place = elsewhere + str(tmp_path)
    with pytest.raises(DamageError, match=f"{place}/{log_file(0)}: damaged at byte 0: The CRC is"):
        read(plan(place))
    disk.remove("FORMAT") if disk.exists("FORMAT") else None
    with pytest.raises(FormatError, match=f"{place} is not a GoQueue data folder"):
        plan(place)


def test_columns_and_headers_stay_together_when_rows_are_left_out(one_segment: Path) -> None:
    schema = pa.schema([ARROW_SCHEMA.field(name) for name in ("headers", "value", "offset", "key")])
    wanted = Wanted(first_offset=301, end_offset=1400, since_ms=NOW_MS + 3_500, until_ms=NOW_MS + 12_000)
    found = [
        row
        for planned in plan(str(one_segment), wanted=wanted)
        for batch in read_rows(planned, schema)
        for row in batch.to_pylist()
    ]
    assert found
    for row in found:
        number = row["offset"]
        _, key, value, headers = entry(number)
        assert (row["key"], row["value"]) == (key, value)
        assert [(one["key"], one["value"]) for one in row["headers"]] == list(headers)
