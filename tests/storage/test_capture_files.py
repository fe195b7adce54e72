"""A capture on a disk: rotated, bounded, and told apart from what is damaged, cut off or somebody else's."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from goqueue.storage.capture import Capture, CaptureLimits
from goqueue.storage.capture_files import (
    CaptureFile,
    Replay,
    list_captures,
    parse_name,
    read_events,
    read_heading,
    replay,
)
from tests.architecture.tree import ROOT
from tests.core.capture.traffic import VOCABULARY, Traffic, fresh_node
from tests.core.log.batches import WALL_MS

SMALL = CaptureLimits(file_bytes=8_000, total_bytes=1 << 30)
BLOCK_NS = 100_000_000


def captured(
    folder: Path, turns: int = 200, seed: int = 1, limits: CaptureLimits = SMALL, *, in_place: bool = True
) -> list[str]:
    """Some traffic, captured; answers what was reported."""
    said: list[str] = []
    capture = Capture(str(folder), limits, said.append, in_place=in_place)
    traffic = Traffic(seed, capture.start(fresh_node(), 0, WALL_MS))
    for _ in range(turns):
        traffic.turn()
        capture.turn(traffic.now, WALL_MS + traffic.now // 1_000_000)
    capture.close()
    capture.wait()
    return said


def replayed(folder: Path) -> Replay:
    """What comes of replaying a folder."""
    return replay(list_captures(str(folder)), VOCABULARY)


def files(folder: Path) -> list[Path]:
    """The capture's files, oldest first."""
    return [Path(one.path) for one in list_captures(str(folder))]


def last_with_events(folder: Path) -> Path:
    """The last file, once those are gone that hold nothing but a snapshot."""
    last = list_captures(str(folder))[-1]
    while replay([last], VOCABULARY).events == 0:
        os.unlink(last.path)
        last = list_captures(str(folder))[-1]
    return Path(last.path)


@pytest.mark.parametrize("in_place", [True, False])
def test_a_capture_is_identical_over_all_its_files(tmp_path: Path, *, in_place: bool) -> None:
    assert captured(tmp_path / "new" / "captures", in_place=in_place) == []
    outcome = replayed(tmp_path / "new" / "captures")
    assert outcome.is_identical
    assert outcome.faults == []
    assert outcome.files == outcome.snapshots > 3
    assert outcome.events > 500
    assert outcome.versions == ["1.2.3"]


def test_each_file_is_identical_alone(tmp_path: Path) -> None:
    captured(tmp_path)
    alone = [replay([one], VOCABULARY) for one in list_captures(str(tmp_path))]
    assert all(outcome.is_identical for outcome in alone)
    assert sum(outcome.events for outcome in alone) == replayed(tmp_path).events


def test_events_can_be_read_without_a_node(tmp_path: Path) -> None:
    captured(tmp_path)
    found = list_captures(str(tmp_path))
    events = [event for one in found for event in read_events(one, VOCABULARY)]
    assert [event.number for event in events] == list(range(len(events)))
    assert len(events) == replayed(tmp_path).events
    assert events[0].verb == "take"
    assert {event.verb for event in events} > {"ask", "take", "wake", "written", "synced", "deadline", "opened"}
    assert [read_heading(one).sequence for one in found] == list(range(len(found)))
    assert read_heading(found[0]).node_id == "node-7"


def test_the_oldest_files_go_when_all_are_over_their_bound(tmp_path: Path) -> None:
    captured(tmp_path / "all")
    captured(tmp_path / "few", limits=CaptureLimits(file_bytes=8_000, total_bytes=60_000))
    kept, everything = files(tmp_path / "few"), files(tmp_path / "all")
    assert [one.name for one in kept] == [one.name for one in everything[-len(kept) :]]
    assert 1 < len(kept) < len(everything)
    assert sum(one.stat().st_size for one in kept) <= 60_000
    assert replayed(tmp_path / "few").is_identical


def test_runs_of_several_processes_lie_side_by_side(tmp_path: Path) -> None:
    captured(tmp_path, turns=60, seed=1)
    captured(tmp_path, turns=60, seed=2)
    runs = {one.run for one in list_captures(str(tmp_path))}
    assert runs == {WALL_MS, WALL_MS + 1}
    outcome = replayed(tmp_path)
    assert outcome.is_identical
    assert outcome.faults == []


def test_what_is_noted_is_on_its_way_to_the_disk_after_a_moment(tmp_path: Path) -> None:
    capture = Capture(str(tmp_path), in_place=True)
    traffic = Traffic(1, capture.start(fresh_node(), 0, WALL_MS))
    [file] = files(tmp_path)
    begun = file.stat().st_size
    capture.turn(BLOCK_NS - 1, WALL_MS)
    assert file.stat().st_size == begun
    traffic.turn()
    capture.turn(BLOCK_NS, WALL_MS)
    assert file.stat().st_size > begun
    capture.close()


# --- what is not as it was written


def test_a_tail_that_was_cut_off_is_told_and_the_rest_counts(tmp_path: Path) -> None:
    captured(tmp_path)
    last = last_with_events(tmp_path)
    whole = replayed(tmp_path)
    for cut in (1, 30):
        os.truncate(last, last.stat().st_size - cut)
        outcome = replayed(tmp_path)
        assert outcome.is_identical
        [fault] = outcome.faults
        assert (fault.name, fault.is_tail) == (last.name, True)
        assert "it ends within the block at byte" in fault.why
        assert whole.events - 100 < outcome.events < whole.events


def test_a_file_that_ends_early_and_has_a_successor_is_no_mere_tail(tmp_path: Path) -> None:
    captured(tmp_path)
    second = files(tmp_path)[1]
    os.truncate(second, second.stat().st_size - 1)
    outcome = replayed(tmp_path)
    assert not outcome.is_identical
    assert outcome.divergence is None
    assert [fault.name for fault in outcome.faults] == [second.name]
    assert outcome.snapshots == outcome.files


def test_a_flipped_bit_is_named_and_the_replay_goes_on_at_the_next_file(tmp_path: Path) -> None:
    captured(tmp_path)
    whole = replayed(tmp_path)
    second = files(tmp_path)[1]
    content = bytearray(second.read_bytes())
    content[len(content) // 2] ^= 8
    second.write_bytes(content)
    outcome = replayed(tmp_path)
    assert not outcome.is_identical
    assert outcome.divergence is None
    [fault] = outcome.faults
    assert fault.name == second.name
    assert "wrong CRC" in fault.why
    assert 0 < outcome.events < whole.events


def test_a_file_that_is_missing_is_told(tmp_path: Path) -> None:
    captured(tmp_path)
    second = files(tmp_path)[1]
    second.unlink()
    outcome = replayed(tmp_path)
    assert not outcome.is_identical
    assert [fault.why for fault in outcome.faults] == [f"1 file is missing before it: {second.name}"]


def test_a_foreign_file_and_one_under_another_name_are_refused(tmp_path: Path) -> None:
    captured(tmp_path, turns=30)
    [first, *_] = files(tmp_path)
    foreign = tmp_path / "1700000000001-000000.capture"
    foreign.write_bytes(b"SQLite format 3\x00" + bytes(100))
    renamed = tmp_path / "1700000000002-000000.capture"
    renamed.write_bytes(first.read_bytes())
    (tmp_path / "notes.txt").write_text("not a capture")
    assert parse_name(str(tmp_path / "notes.txt")) is None
    outcome = replayed(tmp_path)
    assert {fault.name: fault.why for fault in outcome.faults} == {
        foreign.name: "it is no capture: a first line 'goqueue-capture 1\\n' was expected",
        renamed.name: f"its heading says that it is {first.name}",
    }


def test_events_of_a_release_that_wrote_them_otherwise_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    captured(tmp_path, turns=30)
    monkeypatch.setattr("goqueue.storage.capture_files.FORMS", "PublishBatch: topic")
    outcome = replayed(tmp_path)
    assert not outcome.is_identical
    assert outcome.events == 0
    assert all("its events are those of another release" in fault.why for fault in outcome.faults)


def test_a_file_that_is_gone_is_told(tmp_path: Path) -> None:
    outcome = replay([CaptureFile(str(tmp_path / "gone"), "gone", 1, 0)], VOCABULARY)
    assert not outcome.is_identical
    assert "No such file" in outcome.faults[0].why


# --- a disk that fails


def test_a_disk_that_fails_ends_the_capture_with_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    capture = Capture(str(tmp_path / "captures"), SMALL, said.append, in_place=True)
    node = fresh_node()
    recorder = capture.start(node, 0, WALL_MS)
    traffic = Traffic(1, recorder)
    open_still = 0
    for turn in range(100):
        if turn == 50:
            os.close(capture._writer._descriptor)
        traffic.turn()
        open_still += capture.turn(traffic.now, WALL_MS)
    assert 50 <= open_still < 70
    assert said == [f"the capture in {tmp_path / 'captures'} has ended: Bad file descriptor"]
    assert recorder.pending_bytes < 64 << 10
    assert not capture.is_open
    assert capture.close() is node


def test_what_no_disk_raises_ends_the_capture_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a thread of its own it would end the thread, and the capture would go on into nothing."""
    said: list[str] = []
    capture = Capture(str(tmp_path / "captures"), SMALL, said.append, in_place=True)
    traffic = Traffic(1, capture.start(fresh_node(), 0, WALL_MS))

    def fail(_: bytes) -> None:
        raise ZeroDivisionError("planted")

    monkeypatch.setattr(capture._writer, "write", fail)
    for _ in range(100):
        traffic.turn()
        capture.turn(traffic.now, WALL_MS)
    assert said == [f"the capture in {tmp_path / 'captures'} has ended: ZeroDivisionError('planted')"]
    assert not capture.is_open


def test_a_folder_that_cannot_be_made_is_an_error_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(OSError, match=r"Not a directory|File exists"):
        Capture(str(tmp_path / "file" / "captures")).start(fresh_node(), 0, WALL_MS)


WRITER = """
import sys
from goqueue.storage.capture import Capture, CaptureLimits
from tests.core.capture.traffic import Traffic, fresh_node
capture = Capture(sys.argv[1], CaptureLimits(20_000, 1 << 30))
traffic = Traffic(3, capture.start(fresh_node(), 0, 1_700_000_000_000))
print("begun", flush=True)
while True:
    traffic.turn()
    capture.turn(traffic.now, 1_700_000_000_000 + traffic.now // 1_000_000)
"""


def test_what_a_killed_process_leaves_is_identical_up_to_its_end(tmp_path: Path) -> None:
    folder = tmp_path / "captures"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "123"}
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(folder)], cwd=ROOT, env=environment, stdout=subprocess.PIPE
    ) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"begun\n"
        give_up = time.monotonic() + 60
        while len(files(folder)) < 3 and time.monotonic() < give_up:
            time.sleep(0.01)
        writer.send_signal(signal.SIGKILL)
    outcome = replayed(folder)
    assert outcome.is_identical
    # The newest file may have been cut off before its snapshot was whole.
    assert outcome.snapshots >= 2
    assert all(fault.is_tail for fault in outcome.faults)
