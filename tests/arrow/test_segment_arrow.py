"""From the files of a data folder to rows: every record that counts once and in order, and damage with its place."""

from pathlib import Path

import pyarrow as pa
import pytest

from goqueue.core.log.config import Cleanup
from goqueue.core.records.batch import CONTROL, Codec, Lane, read_header
from goqueue.core.records.build import Entry, encode
from goqueue.core.records.compression import compress
from goqueue.core.records.control import ControlMarker, encode_marker
from goqueue.core.records.varint import INT64_MAX
from goqueue.spark.records.columns import ARROW_SCHEMA, COLUMNS
from goqueue.spark.records.edges import UnreadableError
from goqueue.spark.records.planning import plan
from goqueue.spark.records.rows import read_rows
from goqueue.storage.errors import DamageError
from goqueue.storage.files import FileDisk
from goqueue.storage.layout import FormatError
from goqueue.storage.open_log import OpenLog
from tests.arrow.plain_rows import Row, rows_from, rows_of, segment_rows
from tests.core.records.samples import EMPTY_RECORD, PLAIN, framed
from tests.storage.logbook import (
    NOW_MS,
    Hands,
    abandon,
    content,
    cut_file,
    everything,
    flip,
    in_stream,
    log_file,
    log_files,
    numbered,
    opened,
    overwrite,
    stored,
)

ENTRIES: list[Entry] = [
    (NOW_MS, b"key", b"value", ()),
    (NOW_MS + 5, None, b"", [("origin", b"web"), ("origin", None)]),
    (-1, b"", None, ()),
    (NOW_MS - 9, b"k" * 300, b"v" * 20_000, [("", b"x")]),
    (1 << 62, b"far", b"ahead", ()),
]


@pytest.fixture
def disk(tmp_path: Path) -> FileDisk:
    return FileDisk(str(tmp_path))


def brick(number: int) -> bytearray:
    """A batch of one record that is 200 bytes long."""
    batch = encode([(NOW_MS, None, b"%06d" % number + b"." * 124, ())])
    assert len(batch) == 200
    return batch


def written(disk: FileDisk, count: int = 20, segment_bytes: int = 2000) -> list[bytes]:
    """A stream of some segments of ten batches each, closed in order; its batches."""
    log = opened(disk, segment_bytes=segment_bytes)
    for number in range(count):
        log.append(brick(number))
    log.flush()
    batches = stored(log)
    log.close()
    return batches


def reopened(disk: FileDisk) -> OpenLog:
    """The stream again, without a thought of closing it."""
    return opened(disk, segment_bytes=1 << 20)


@pytest.mark.parametrize("codec", Codec)
@pytest.mark.parametrize("run_bytes", [1 << 20, 64])
def test_every_record_is_a_row_whatever_its_codec(disk: FileDisk, codec: Codec, run_bytes: int) -> None:
    log = reopened(disk)
    log.append(encode(ENTRIES, codec=codec), leader_epoch=1)
    log.append(encode(ENTRIES[:1], lane=Lane.BACKGROUND, producer_id=1 << 40, producer_epoch=0, base_sequence=0), 4)
    log.append(encode(ENTRIES * 3, codec=codec, append_ms=NOW_MS), leader_epoch=4)
    log.flush()
    rows = rows_of(Path(disk.root), run_bytes=run_bytes)
    assert rows == rows_from(stored(log))
    assert [row[2] for row in rows] == list(range(21))
    assert rows[1] == ("orders", 0, 1, (NOW_MS + 5) * 1000, None, b"", rows[1][6], 0, None, 1)
    assert rows[1][6] == [{"key": "origin", "value": b"web"}, {"key": "origin", "value": None}]
    assert rows[2][3:6] == (None, b"", None)
    assert rows[4][3] == (INT64_MAX // 1000) * 1000
    assert rows[5][7:] == (4, 1 << 40, 4)
    log.close()


def test_segments_are_read_one_by_one_in_order(disk: FileDisk) -> None:
    batches = written(disk, 40)
    plans = plan(disk.root)
    assert [f"{planned.segment.name}.log" for planned in plans] == log_files(disk)
    assert len(plans) > 3
    assert [row for planned in plans for row in segment_rows(planned)] == rows_from(batches)


def test_streams_beneath_a_partition_and_other_folders_are_not_topics(disk: FileDisk) -> None:
    batches = written(disk)
    for path in (in_stream("schedule"), "logs/orders/01", "logs/orders/notes", "meta"):
        disk.make_folder(path)
        for name in log_files(disk):
            overwrite(disk, f"{path}/{name}", 0, content(disk, in_stream(name)))
    assert rows_of(Path(disk.root)) == rows_from(batches)


def test_only_the_topic_that_is_asked_for_is_read(disk: FileDisk) -> None:
    written(disk, 1)
    for topic, partition in (("audit", 10), ("audit", 2)):
        disk.make_folder(f"logs/{topic}/{partition}")
        overwrite(disk, f"logs/{topic}/{partition}/{0:020d}.log", 0, bytes(numbered(partition)))
    assert [(one.topic, one.partition) for one in plan(disk.root)] == [("audit", 2), ("audit", 10), ("orders", 0)]
    planned = plan(disk.root, ["audit"])
    assert [row[:2] for one in planned for row in segment_rows(one)] == [("audit", 2), ("audit", 10)]
    with pytest.raises(UnreadableError, match=r"no topic 'ordres'; it holds audit, orders"):
        plan(disk.root, ["ordres"])


def test_columns_come_as_they_are_asked_for(disk: FileDisk) -> None:
    batches = written(disk)
    schema = pa.schema([ARROW_SCHEMA.field("value"), ARROW_SCHEMA.field("offset")])
    found = [batch for planned in plan(disk.root) for batch in read_rows(planned, schema)]
    assert all(batch.schema == schema for batch in found)
    values = [(row[5], row[2]) for row in rows_from(batches)]
    assert [tuple(row.values()) for batch in found for row in batch.to_pylist()] == values
    assert list(COLUMNS) == ARROW_SCHEMA.names


def test_rows_do_not_change_when_the_next_ones_are_read(disk: FileDisk) -> None:
    batches = written(disk, 100, segment_bytes=1 << 20)
    [planned] = plan(disk.root)
    kept = list(read_rows(planned, ARROW_SCHEMA, run_bytes=1000))
    assert len(kept) > 10
    assert pa.Table.from_batches(kept).column("value").to_pylist() == [row[5] for row in rows_from(batches)]


def test_batches_that_decompress_to_much_are_not_unpacked_all_at_once(disk: FileDisk) -> None:
    log = reopened(disk)
    for number in range(10):
        log.append(encode([(NOW_MS, None, b"%d" % number * 100_000, ())], codec=Codec.ZSTD))
    log.flush()
    log.close()
    [planned] = plan(disk.root)
    assert planned.segment.size < 50_000
    found = list(read_rows(planned, ARROW_SCHEMA, run_bytes=150_000))
    assert [batch.num_rows for batch in found] == [2] * 5


def test_control_batches_are_left_out_unless_asked_for(disk: FileDisk) -> None:
    log = reopened(disk)
    log.append(numbered(0))
    log.append(encode_marker(ControlMarker(commit=True, coordinator_epoch=1), NOW_MS, 5, 0))
    log.append(numbered(2))
    log.flush()
    assert [row[2] for row in rows_of(Path(disk.root))] == [0, 2]
    assert [row[2] for row in rows_of(Path(disk.root), run_bytes=100)] == [0, 2]
    rows = rows_of(Path(disk.root), control=True)
    assert rows == rows_from(stored(log))
    assert rows[1][4] == b"\x00\x00\x00\x01"
    assert read_header(stored(log)[1]).attributes & CONTROL
    log.close()


@pytest.mark.parametrize("start", [1, 12, 25])
def test_records_that_were_deleted_are_no_rows_though_their_bytes_are_there(disk: FileDisk, start: int) -> None:
    log = opened(disk, segment_bytes=2000)
    for number in range(12):
        log.append(numbered(number, 100, count=5))
    log.flush()
    rows = rows_from(stored(log))
    log.log.delete_before(0, start)
    log.flush()
    log.close()
    assert rows_of(Path(disk.root)) == rows[start:]


def test_what_compaction_replaced_is_not_read_again(disk: FileDisk) -> None:
    hands = Hands()
    log = opened(disk, hands, segment_bytes=2000, cleanup=Cleanup.COMPACT)
    for number in range(40):
        log.append(numbered(number, 100, key=b"%d" % (number % 7)))
    log.flush()
    before = everything(disk)
    hands.pass_by(1000)
    assert log.compact()
    batches = stored(log)
    log.close()
    assert any(planned.segment.generation for planned in plan(disk.root))
    assert rows_of(Path(disk.root)) == rows_from(batches)
    assert len(rows_from(batches)) < 20
    # Files that a crash kept from being removed, and new ones that no checkpoint has called valid yet.
    for name in [path for path in before if path.endswith(".log") and not disk.exists(path)]:
        overwrite(disk, name, 0, before[name])
    overwrite(disk, log_file(0, 9), 0, bytes(numbered(99)))
    assert rows_of(Path(disk.root)) == rows_from(batches)


def test_without_a_checkpoint_rewritten_segments_are_refused_and_others_read(disk: FileDisk) -> None:
    batches = written(disk)
    overwrite(disk, in_stream("checkpoint"), 0, b"rotten")
    assert rows_of(Path(disk.root)) == rows_from(batches)
    overwrite(disk, log_file(0, 1), 0, content(disk, log_file(0)))
    with pytest.raises(UnreadableError, match=r"rewritten segments such as 0{20}\.1\.log, but no checkpoint"):
        plan(disk.root)


@pytest.mark.parametrize("tail", [b"\x00" * 5000, b"\x00" * 7, b"garbage" * 20, b"\x01" * 30, bytes(brick(7))[:190]])
def test_a_torn_tail_and_reserved_room_are_the_end(disk: FileDisk, tail: bytes) -> None:
    log = reopened(disk)
    for number in range(5):
        log.append(brick(number))
    log.flush()
    batches = stored(log)
    abandon(log)
    overwrite(disk, log_file(0), 1000, tail)
    assert rows_of(Path(disk.root)) == rows_from(batches)


def test_a_segment_is_read_as_far_as_its_file_went_when_it_was_planned(disk: FileDisk) -> None:
    log = reopened(disk)
    log.append(brick(0))
    log.flush()
    [planned] = plan(disk.root)
    log.append(brick(1))
    log.flush()
    assert segment_rows(planned) == rows_from(stored(log))[:1]
    assert rows_of(Path(disk.root)) == rows_from(stored(log))
    log.close()


def sentence(folder: Path) -> str:
    """Why the folder cannot be read."""
    with pytest.raises(DamageError) as caught:
        rows_of(folder)
    return str(caught.value)


def without(rows: list[Row], *offsets: int) -> list[Row]:
    """All rows but these."""
    return [row for row in rows if row[2] not in offsets]


def test_damage_in_a_sealed_segment_names_file_and_byte_and_can_be_stepped_over(
    disk: FileDisk, caplog: pytest.LogCaptureFixture
) -> None:
    rows = rows_from(written(disk))
    flip(disk, log_file(0), 650)
    said = sentence(Path(disk.root))
    assert said.startswith(f"{disk.root}/{log_file(0)}: damaged at byte 600: The CRC is ")
    assert "damaged=skip" in said
    assert rows_of(Path(disk.root), skip_damaged=True) == without(rows, 3)
    assert rows_of(Path(disk.root), skip_damaged=True, run_bytes=500) == without(rows, 3)
    assert (
        f"{disk.root}/{log_file(0)}: left out what is at byte 600: there is no sound batch up to byte 800"
        in caplog.text
    )


def test_acknowledged_batches_of_the_growing_segment_may_not_be_damaged(disk: FileDisk) -> None:
    log = reopened(disk)
    for number in range(5):
        log.append(brick(number))
        log.flush()
    rows = rows_from(stored(log))
    abandon(log)
    flip(disk, log_file(0), 650)
    assert f"{log_file(0)}: damaged at byte 600" in sentence(Path(disk.root))
    assert rows_of(Path(disk.root), skip_damaged=True) == without(rows, 3)


@pytest.mark.parametrize("file", ["synced", "checkpoint"])
def test_the_checkpoint_and_the_mark_each_vouch_for_the_growing_segment(disk: FileDisk, file: str) -> None:
    written(disk, 5)
    disk.remove(in_stream(file))
    flip(disk, log_file(0), 650)
    assert f"{log_file(0)}: damaged at byte 600" in sentence(Path(disk.root))


def test_offsets_are_held_against_their_neighbours(disk: FileDisk) -> None:
    rows = rows_from(written(disk))
    # The lowest bits of the base offset of the batch at byte 600, 3, and of that at byte 1000, 5.
    flip(disk, log_file(0), 607, bit=0)
    assert "damaged at byte 600: expected offsets from 3 on" in sentence(Path(disk.root))
    flip(disk, log_file(0), 607, bit=0)
    flip(disk, log_file(0), 1007, bit=6)
    assert "damaged at byte 1000: expected offsets from 5 on and below 10, found 69" in sentence(Path(disk.root))
    assert rows_of(Path(disk.root), skip_damaged=True) == without(rows, 5)


def test_the_end_of_a_growing_segment_is_held_against_the_synced_mark(disk: FileDisk) -> None:
    log = reopened(disk)
    for number in range(3):
        log.append(brick(number))
    log.flush()
    abandon(log)
    flip(disk, log_file(0), 407, bit=3)
    assert "damaged at byte 600: expected offsets up to 3, found them up to 11" in sentence(Path(disk.root))


@pytest.mark.parametrize("size", [0, 700, 800])
def test_a_sealed_segment_that_is_too_short_is_damaged(
    disk: FileDisk, size: int, caplog: pytest.LogCaptureFixture
) -> None:
    rows = rows_from(written(disk))
    cut_file(disk, log_file(0), size)
    assert f"{log_file(0)}: damaged at byte {size // 200 * 200}: " in sentence(Path(disk.root))
    kept = rows_of(Path(disk.root), skip_damaged=True)
    assert kept == without(rows, *range(size // 200, 10))
    assert f"left out what is at byte {size // 200 * 200}: there is no sound batch from here on" in caplog.text


def rolled(disk: FileDisk) -> list[Row]:
    """Rows of segments from offsets 0, 10 and 20, the last two of which the checkpoint does not know."""
    written(disk, 5, segment_bytes=1 << 20)
    log = opened(disk, segment_bytes=2000)
    for number in range(5, 25):
        log.append(brick(number))
    log.write()
    rows = rows_from(stored(log))
    abandon(log)
    assert [planned.segment.base for planned in plan(disk.root)] == [0, 10, 20]
    return rows


@pytest.mark.parametrize("reserved", [0, 40, 4000])
def test_a_segment_that_another_one_follows_may_end_in_reserved_room(disk: FileDisk, reserved: int) -> None:
    rows = rolled(disk)
    overwrite(disk, log_file(10), 2000, bytes(reserved))
    assert rows_of(Path(disk.root)) == rows


def test_a_segment_that_another_one_follows_may_not_be_torn(disk: FileDisk) -> None:
    rolled(disk)
    overwrite(disk, log_file(10), 2000, b"garbage" * 10)
    assert f"{log_file(10)}: damaged at byte 2000: " in sentence(Path(disk.root))
    disk.remove(in_stream("checkpoint"))
    assert f"{log_file(10)}: damaged at byte 2000: " in sentence(Path(disk.root))


def test_a_segment_that_does_not_reach_the_next_one_is_damaged(disk: FileDisk) -> None:
    rolled(disk)
    cut_file(disk, log_file(10), 1600)
    assert "damaged at byte 1600: expected batches up to offset 20, found them up to 18" in sentence(Path(disk.root))


@pytest.mark.parametrize("base", [0, 10])
def test_a_file_that_is_gone_is_said_to_be(disk: FileDisk, base: int) -> None:
    rows = rows_from(written(disk))
    plans = plan(disk.root)
    disk.remove(log_file(base))
    with pytest.raises(DamageError, match=rf"{base:020d}.log: damaged at byte 0: the file is gone"):
        [row for planned in plans for row in segment_rows(planned)]
    left = [row for planned in plans for row in segment_rows(planned, skip_damaged=True)]
    assert left == without(rows, *range(base, base + 10))


def test_a_lost_active_segment_is_missed(disk: FileDisk) -> None:
    written(disk)
    disk.remove(log_file(10))
    assert f"{log_file(10)}: damaged at byte 0: the file is gone" in sentence(Path(disk.root))


def test_a_mark_from_before_a_truncation_vouches_for_nothing(disk: FileDisk) -> None:
    log = reopened(disk)
    for number in range(5):
        log.append(brick(number))
    log.flush()
    stale = content(disk, in_stream("synced"))
    log.truncate(3)
    rows = rows_from(stored(log))
    log.close()
    overwrite(disk, in_stream("synced"), 0, stale)
    assert len(rows) == 3
    assert rows_of(Path(disk.root)) == rows


def packed(records: bytes) -> bytes:
    """A batch of one record under LZ4, with a right CRC, of whatever bytes."""
    return bytes(framed(compress(Codec.LZ4, records), PLAIN._replace(attributes=Codec.LZ4)))


@pytest.mark.parametrize(
    ("batch", "reason"),
    [
        (packed(EMPTY_RECORD + b"x"), "1 bytes follow the last record"),
        (packed(b"\x0c\x01" + EMPTY_RECORD[2:]), "has unknown attributes"),
        (packed(b"\x14\x00\x00\x00\x01\x01\x02\x02\xff\x01\x00"), "header's key is not UTF-8"),
        (bytes(framed(b"\x04\x22\x4d\x18 not lz4", PLAIN._replace(attributes=Codec.LZ4))), "not valid lz4"),
    ],
)
def test_records_that_make_no_sense_under_a_right_crc_cost_their_batch(
    disk: FileDisk, batch: bytes, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    log = reopened(disk)
    for one in (numbered(0), bytearray(batch), numbered(2)):
        log.append(one)
    log.flush()
    position = len(numbered(0))
    assert f"{log_file(0)}: damaged at byte {position}: " in (said := sentence(Path(disk.root)))
    assert reason in said
    assert [row[2] for row in rows_of(Path(disk.root), skip_damaged=True)] == [0, 2]
    assert f"left out what is at byte {position}: " in caplog.text
    log.close()


def test_a_length_that_claims_too_much_is_damage_and_no_reason_to_allocate(disk: FileDisk) -> None:
    written(disk)
    overwrite(disk, log_file(0), 608, (0x7FFFFFFF).to_bytes(4))
    assert "damaged at byte 600: A batch needs 2147483659 bytes" in sentence(Path(disk.root))


@pytest.mark.parametrize("exists", [True, False])
def test_a_folder_of_another_kind_is_refused_and_left_as_it_is(tmp_path: Path, exists: bool) -> None:
    folder = tmp_path / "elsewhere"
    if exists:
        folder.mkdir()
    with pytest.raises(FormatError, match="is not a GoQueue data folder: it holds no file FORMAT"):
        plan(str(folder))
    assert list(tmp_path.glob("**/*")) == ([folder] if exists else [])


def test_reading_writes_nothing(disk: FileDisk) -> None:
    log = reopened(disk)
    log.append(numbered(0))
    log.flush()
    abandon(log)
    before = everything(disk)
    rows_of(Path(disk.root))
    rows_of(Path(disk.root), skip_damaged=True)
    assert everything(disk) == before


def test_a_folder_without_topics_has_no_segments(disk: FileDisk) -> None:
    overwrite(disk, "FORMAT", 0, b"goqueue data, format 1\n")
    assert plan(disk.root) == []
    disk.make_folder("logs")
    assert plan(disk.root) == []
    with pytest.raises(UnreadableError, match="it holds none"):
        plan(disk.root, ["orders"])
