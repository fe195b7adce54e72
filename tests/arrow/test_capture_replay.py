"""Captures replayed as tasks do it: whole, damaged, cut off, of others, and with something changed."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from goqueue.core.broker.publishes import Publishes
from goqueue.core.capture.errors import CaptureError
from goqueue.core.capture.frames import Heading, encode_beginning
from goqueue.spark.captures.code import UnknownCode, check_code, running
from goqueue.spark.captures.files import find_captures, read_blocks_of, read_heading_of
from goqueue.spark.captures.outcome import FileOutcome, outcome_of, rows_of
from goqueue.spark.captures.summary import ReplaySummary
from goqueue.spark.captures.task import replay_file, replayed, work_for
from goqueue.storage.capture import Capture
from goqueue.storage.capture_files import list_captures, name_of
from tests.core.capture.traffic import Traffic, fresh_node
from tests.core.log.batches import WALL_MS
from tests.storage.test_capture_files import captured, last_with_events

NOTHING_CHANGED = "contextlib:nullcontext"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A capture of several files, of which nothing is wrong."""
    folder = tmp_path_factory.mktemp("whole")
    captured(folder, turns=120, seed=6)
    return folder


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    """A copy of it, to be spoiled."""
    return Path(shutil.copytree(whole, tmp_path / "captures"))


def summary(*paths: Path, code: str = "", **settings: str) -> ReplaySummary:
    """What comes of replaying all captures at some paths, file by file, by way of Arrow."""
    works = work_for(find_captures(map(str, paths)), code, settings)
    rows = [row for batch in replayed(works) for row in batch.to_pylist()]
    return ReplaySummary([outcome_of(row) for row in rows], 0.0, settings, code)


def causes(found: ReplaySummary) -> list[tuple[str, str]]:
    """What is wrong with which file."""
    return [(Path(one.path).name, trouble.cause) for one in found.files for trouble in one.troubles]


@contextmanager
def silent(topic: str) -> Iterator[None]:
    """A core that answers nobody who publishes to a topic."""
    publish = Publishes.publish_batch

    def publish_batch(self: Publishes, now: int, to: int, request: object) -> None:
        if getattr(request, "topic", "") != topic:
            publish(self, now, to, request)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Publishes, "publish_batch", publish_batch)
        yield


@contextmanager
def reluctant() -> Iterator[None]:
    """A change that cannot be made."""
    assert not __name__, "planted"
    yield


def test_every_file_is_replayed_and_compared_with_the_next(whole: Path) -> None:
    found = summary(whole)
    names = [one.name for one in list_captures(str(whole))]
    assert found.is_identical
    assert [Path(one.path).name for one in found.files] == names
    assert [one.borders for one in found.files] == [1] * (len(names) - 1) + [0]
    assert found.events > 500
    assert (found.nodes, found.versions) == (["node-7"], ["1.2.3"])
    ends = [one.first_event + one.events for one in found.files]
    assert [one.first_event for one in found.files[1:]] == ends[:-1]
    assert found.beheaded == 0
    assert found.clock_steps > 0
    assert causes(found) == []


def test_one_file_may_be_meant_or_folders_of_folders(whole: Path, tmp_path: Path) -> None:
    shutil.copytree(whole, tmp_path / "a" / "node-1")
    shutil.copytree(whole, tmp_path / "a" / "node-2")
    one = list_captures(str(whole))[1].path
    assert len(find_captures([str(tmp_path / "a")])) == 2 * len(find_captures([str(whole)]))
    [alone] = find_captures([one])
    assert (alone.path, alone.sequence, alone.size_bytes) == (one, 1, Path(one).stat().st_size)
    assert len(find_captures([one, one])) == 1


@pytest.mark.parametrize("made", [True, False])
def test_a_path_without_captures_is_an_error(tmp_path: Path, *, made: bool) -> None:
    if made:
        (tmp_path / "nothing").mkdir()
        with pytest.raises(CaptureError, match="nothing holds no capture"):
            find_captures([str(tmp_path / "nothing")])
    else:
        with pytest.raises(FileNotFoundError):
            find_captures([str(tmp_path / "nothing")])


def test_blocks_and_headings_can_be_read_at_a_path(whole: Path) -> None:
    [first, *_] = find_captures([str(whole)])
    assert [kind.name for kind, _ in read_blocks_of(first.path)][:3] == ["HEADING", "SNAPSHOT", "EVENTS"]
    assert read_heading_of(first.path).node_id == "node-7"


# --- what is wrong with files


def test_a_tail_that_was_cut_off_is_told_and_does_not_count(folder: Path) -> None:
    last = last_with_events(folder)
    last.write_bytes(last.read_bytes()[:-1])
    found = summary(folder)
    assert causes(found) == [(last.name, "tail")]
    assert found.is_identical


def test_a_file_that_is_cut_off_before_another_one_is_truncated(folder: Path) -> None:
    second = Path(list_captures(str(folder))[1].path)
    second.write_bytes(second.read_bytes()[:-1])
    found = summary(folder)
    assert (second.name, "truncated") in causes(found)
    assert not found.is_identical


def test_damage_is_told_of_the_file_that_has_it(folder: Path) -> None:
    second = Path(list_captures(str(folder))[1].path)
    content = bytearray(second.read_bytes())
    content[-1] ^= 1
    second.write_bytes(content)
    found = summary(folder)
    assert causes(found) == [(second.name, "damaged")]
    [words] = [trouble.words for one in found.files for trouble in one.troubles]
    assert "is not as it was written" in words
    assert sum(one.is_identical for one in found.files) == len(found.files) - 1


@pytest.mark.parametrize(
    ("content", "cause", "words"),
    [
        (b"PAR1 something else", "foreign", "it is no capture"),
        (b"goqueue-capture 9\n", "version", "it has format version 9"),
        (b"", "tail", "it ends within its first line"),
    ],
)
def test_what_is_called_a_capture_and_is_none_is_told(folder: Path, content: bytes, cause: str, words: str) -> None:
    name = name_of(WALL_MS + 5, 0)
    (folder / name).write_bytes(content)
    found = summary(folder)
    assert causes(found) == [(name, cause)]
    [said] = [trouble.words for one in found.files for trouble in one.troubles]
    assert words in said


def test_a_file_under_another_name_is_told(folder: Path) -> None:
    first = Path(list_captures(str(folder))[0].path)
    first.rename(folder / "mine.capture")
    assert ("mine.capture", "foreign") in causes(summary(folder))


def test_a_file_of_a_release_with_other_events_is_told(folder: Path) -> None:
    heading = Heading(WALL_MS + 5, 0, 0, "node-9", "9.9.9", "3.11", WALL_MS, 0, False, "other forms")
    name = name_of(WALL_MS + 5, 0)
    (folder / name).write_bytes(encode_beginning(heading, b"nothing"))
    found = summary(folder)
    assert causes(found) == [(name, "version")]
    assert not found.is_identical


def test_a_file_without_a_snapshot_is_told(folder: Path) -> None:
    second = Path(list_captures(str(folder))[-1].path)
    content = second.read_bytes()
    line = content.index(b"\n") + 1
    heading_end = line + 20 + int.from_bytes(content[line + 4 : line + 8], "little")
    snapshot_end = heading_end + 20 + int.from_bytes(content[heading_end + 4 : heading_end + 8], "little")
    first = Path(list_captures(str(folder))[0].path).read_bytes()
    begun = first.index(b"\n") + 1
    at = begun
    for _ in range(2):
        at += 20 + int.from_bytes(first[at + 4 : at + 8], "little")
    second.write_bytes(content[:heading_end] + (content[snapshot_end:] or first[at:]))
    assert (second.name, "no_snapshot") in causes(summary(folder))


def test_files_that_are_missing_are_told_and_a_missing_beginning_is_noted(folder: Path) -> None:
    files = [Path(one.path) for one in list_captures(str(folder))]
    for lost in (files[0], files[2], files[3]):
        lost.unlink()
    found = summary(folder)
    assert causes(found) == [(files[4].name, "gap")]
    [words] = [trouble.words for one in found.files for trouble in one.troubles]
    assert words == f"2 files are missing before it: {files[2].name} to {files[3].name}"
    assert found.beheaded == 1
    assert not found.is_identical


def test_captures_of_several_releases_are_noted(whole: Path, tmp_path: Path) -> None:
    node = fresh_node()
    node.options.version = "2.0.0"
    capture = Capture(str(tmp_path), in_place=True)
    Traffic(1, capture.start(node, 0, WALL_MS)).turn()
    capture.close()
    found = summary(whole, tmp_path)
    assert found.versions == ["1.2.3", "2.0.0"]
    assert "captures of several releases: 1.2.3, 2.0.0" in found.lines()


def test_a_file_of_another_process_is_no_successor(folder: Path, tmp_path: Path) -> None:
    captured(tmp_path / "other", turns=120, seed=2)
    [work, *_] = work_for(find_captures([str(folder)]))
    work.successor = list_captures(str(tmp_path / "other"))[1].path
    assert not replay_file(work).is_identical


# --- other code, other settings


def test_a_change_of_the_code_is_found(whole: Path) -> None:
    found = summary(whole, code=f"{__name__}:silent:orders")
    assert found.is_identical, "the captured node did what it did"
    assert found.differing > 0
    assert any(one.kind == "sends: PublishReply" and one.old > 0 for one in found.counts)
    assert any(one.words for file in found.files for one in file.differences)
    lines = found.lines()
    assert f"the changed node says something else in {found.differing:,} turns" in lines
    assert found.structure()["differing"] == found.differing


def test_code_that_changes_nothing_differs_nowhere(whole: Path) -> None:
    found = summary(whole, code=NOTHING_CHANGED)
    assert (found.differing, found.counts) == (0, [])


def test_a_change_of_code_is_undone(whole: Path) -> None:
    before = Publishes.publish_batch
    with running(f"{__name__}:silent:orders"):
        assert Publishes.publish_batch is not before
    assert Publishes.publish_batch is before
    with running(""):
        assert Publishes.publish_batch is before


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("colour", "'colour' is not module:function"),
        ("no.such.module:f", "names nothing that can be imported"),
        ("json:no_such_function", "names nothing that can be imported"),
        ("json:dumps:text", "gives a str, not a context manager"),
        ("json:loads:text", "cannot be had: JSONDecodeError"),
    ],
)
def test_code_that_is_none_is_an_error(code: str, said: str) -> None:
    with pytest.raises(UnknownCode, match=said), running(code):
        pytest.fail("it ran")


def test_code_that_cannot_be_imported_is_found_before_any_task_runs() -> None:
    check_code("")
    check_code(NOTHING_CHANGED)
    with pytest.raises(UnknownCode, match="names nothing"):
        check_code("no.such.module:f")
    with pytest.raises(UnknownCode, match="cannot be put in force: AssertionError: planted"):
        check_code(f"{__name__}:reluctant")


def test_a_change_of_settings_is_found(whole: Path) -> None:
    found = summary(whole, **{"topic.*.max_message_bytes": "1024"})
    assert found.is_identical
    assert any(one.kind == "sends: PublishReply" and one.new > 0 for one in found.counts)


def test_a_change_of_what_nobody_knows_is_told_and_so_is_one_that_changes_nothing(whole: Path) -> None:
    found = summary(whole, **{"topic.nobodys.max_attempts": "9", "node.session_timeout_ms": "99"})
    assert found.is_identical
    assert found.unmet == ["topic.nobodys.max_attempts"]
    lines = found.lines()
    assert "--set topic.nobodys.max_attempts: no capture knows topic.nobodys, so nothing was changed" in lines
    assert "the changed node says the same, everywhere" in lines
    assert not any("changed node" in line for line in summary(whole).lines())


def test_an_outcome_is_the_same_after_its_way_through_arrow(whole: Path) -> None:
    [work, *_] = work_for(find_captures([str(whole)]), f"{__name__}:silent:orders")
    outcome = replay_file(work)
    assert outcome_of(rows_of([outcome]).to_pylist()[0]) == outcome
    assert outcome_of(rows_of([FileOutcome("x")]).to_pylist()[0]) == FileOutcome("x")
