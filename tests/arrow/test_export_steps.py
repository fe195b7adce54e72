"""Exports are exactly once whatever breaks off: every step of one is made the last, and the next one makes it good."""

import itertools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from goqueue.spark.exporting.export import MANIFESTS, STAGING, Export, unfinished
from goqueue.spark.exporting.folder import LocalFolder
from goqueue.spark.exporting.manifest import (
    ExportError,
    Span,
    TopicExportedError,
    decode_manifest,
    name_of,
    number_of,
)

T = TypeVar("T")
_TOKENS = itertools.count()


class Stopped(Exception):
    """The process is no more."""


class Mortal(LocalFolder):
    """A folder whose user dies before, or after, one of its changes."""

    def __init__(self, path: str, changes_left: int, *, afterwards: bool = False) -> None:
        super().__init__(path)
        self.changes_left = changes_left
        self._afterwards = afterwards

    def _change(self, change: Callable[[], T]) -> T:
        self.changes_left -= 1
        if self.changes_left < 0 and not self._afterwards:
            raise Stopped
        came = change()
        if self.changes_left < 0:
            raise Stopped
        return came

    def commit(self, name: str, content: bytes) -> bool:
        return self._change(lambda: super(Mortal, self).commit(name, content))

    def move(self, source: str, target: str) -> None:
        self._change(lambda: super(Mortal, self).move(source, target))

    def remove(self, inside: str) -> None:
        self._change(lambda: super(Mortal, self).remove(inside))


def staging(topic: Mapping[int, list[int]], root: Path) -> Callable[[Mapping[int, int], str], dict[int, Span]]:
    """Writes what Spark would: a file for each partition and hour, an hour being ten offsets here."""

    def stage(starts: Mapping[int, int], inside: str) -> dict[int, Span]:
        folder = root / STAGING / inside.rpartition("/")[2]
        spans = {}
        for partition, offsets in topic.items():
            new = [offset for offset in offsets if offset >= starts.get(partition, 0)]
            if not new:
                continue
            spans[partition] = Span(new[0], new[-1] + 1, len(new))
            for hour, of_hour in itertools.groupby(new, lambda offset: offset // 10):
                held = folder / "date=2026-01-01" / f"hour={hour:02d}"
                held.mkdir(parents=True, exist_ok=True)
                table = pa.table({"offset": list(of_hour)})
                pq.write_table(table, held / f"part-{partition}.parquet")
        if spans:
            (folder / "_SUCCESS").touch()
        return spans

    return stage


def exported(root: Path) -> dict[int, list[int]]:
    """What a reader of Parquet finds: names that begin with `_` are passed over."""
    found: dict[int, list[int]] = {}
    for file in sorted(root.rglob("*.parquet")):
        if any(part.startswith(("_", ".")) for part in file.relative_to(root).parts):
            continue
        partition = int(file.stem.rpartition("-")[2])
        found.setdefault(partition, []).extend(pq.read_table(file).column("offset").to_pylist())
    return {partition: sorted(offsets) for partition, offsets in found.items()}


def export(folder: LocalFolder, root: Path, topic: Mapping[int, list[int]], **named: bool) -> None:
    """One export of everything that the topic holds."""
    beginnings = {partition: offsets[0] if offsets else 0 for partition, offsets in topic.items()}
    Export(folder, "orders").run(staging(topic, root), beginnings, f"t{next(_TOKENS)}", **named)


TOPIC_THEN = {0: list(range(25)), 1: list(range(7))}
TOPIC_LATER = {0: list(range(41)), 1: list(range(7)), 2: [0, 3, 4]}


def test_what_is_new_is_exported_once(tmp_path: Path) -> None:
    folder = LocalFolder(str(tmp_path))
    for topic in (TOPIC_THEN, TOPIC_THEN, TOPIC_LATER, TOPIC_LATER):
        export(folder, tmp_path, topic)
        assert exported(tmp_path) == topic
    assert folder.names(MANIFESTS) == ["00000001.json", "00000002.json"]
    assert folder.names(STAGING) == []
    last = Export(folder, "orders").last()
    assert last is not None
    assert last.spans == {0: Span(25, 41, 16), 1: Span(7, 7, 0), 2: Span(0, 5, 3)}
    assert sorted(last.files) == sorted(
        one for one in folder.walk(".") if one.endswith(".parquet") and "00000002-" in one
    )


@pytest.mark.parametrize("afterwards", [False, True])
def test_an_export_that_dies_at_any_step_is_made_good_by_the_next(tmp_path: Path, afterwards: bool) -> None:
    deaths = 0
    for changes in itertools.count():
        root = tmp_path / str(changes)
        export(LocalFolder(str(root)), root, TOPIC_THEN)
        try:
            export(Mortal(str(root), changes, afterwards=afterwards), root, TOPIC_LATER)
        except Stopped:
            deaths += 1
            found = exported(root)
            assert all(len(set(offsets)) == len(offsets) for offsets in found.values())
        else:
            break
        export(LocalFolder(str(root)), root, TOPIC_LATER)
        assert exported(root) == TOPIC_LATER
        export(LocalFolder(str(root)), root, TOPIC_LATER)
        assert LocalFolder(str(root)).names(STAGING) == []
    # A commit, a move for each of the files, and the end of the staging folder.
    assert deaths >= 5


@pytest.mark.parametrize("is_writing", [False, True])
def test_of_two_exports_at_once_one_is_told_that_it_was_too_slow(tmp_path: Path, is_writing: bool) -> None:
    folder = LocalFolder(str(tmp_path))
    stage = staging(TOPIC_THEN, tmp_path)

    def overtaken(starts: Mapping[int, int], inside: str) -> dict[int, Span]:
        spans = stage(starts, inside)
        export(folder, tmp_path, TOPIC_THEN)
        if is_writing:
            raise FileNotFoundError(inside)
        return spans

    with pytest.raises(ExportError, match=r"another export into .* was faster; this one has changed nothing"):
        Export(folder, "orders").run(overtaken, {0: 0, 1: 0}, "slow")
    assert exported(tmp_path) == TOPIC_THEN
    assert folder.names(STAGING) == []


def test_what_is_committed_and_not_in_its_place_is_counted(tmp_path: Path) -> None:
    folder = LocalFolder(str(tmp_path))
    for changes, files in ((0, 0), (1, 4), (2, 3)):
        root = tmp_path / str(changes)
        with pytest.raises(Stopped):
            export(Mortal(str(root), changes), root, TOPIC_THEN)
        assert unfinished(LocalFolder(str(root))) == files
        export(LocalFolder(str(root)), root, TOPIC_THEN)
        assert unfinished(LocalFolder(str(root))) == 0
    assert unfinished(folder) == 0


def test_what_was_removed_before_it_was_exported_is_an_error_or_noted(tmp_path: Path) -> None:
    folder = LocalFolder(str(tmp_path))
    export(folder, tmp_path, {0: list(range(5))})
    left = {0: list(range(9, 12))}
    with pytest.raises(ExportError, match="orders/0: offsets 5 to 9 were removed before they were exported"):
        export(folder, tmp_path, left)
    export(folder, tmp_path, left, allow_gaps=True)
    last = Export(folder, "orders").last()
    assert last is not None
    assert (last.missed, last.spans) == ({0: [5, 9]}, {0: Span(9, 12, 3)})


def test_a_folder_holds_one_topic(tmp_path: Path) -> None:
    export(LocalFolder(str(tmp_path)), tmp_path, TOPIC_THEN)
    with pytest.raises(ExportError, match="holds the topic 'orders', not 'payments'"):
        Export(LocalFolder(str(tmp_path)), "payments").last()


def test_a_topic_that_was_made_again_is_another_one_wherever_it_ends(tmp_path: Path) -> None:
    folder = LocalFolder(str(tmp_path))
    stage = staging(TOPIC_THEN, tmp_path)
    # A copy of a data folder may not say which topic it holds; whoever does is believed from then on.
    for topic_id in ("", "", "18bcfe56800-1", "18bcfe56800-1"):
        export_of = Export(folder, "orders", topic_id=topic_id)
        ends = export_of.ends()
        longer = {partition: list(range(ends.get(partition, 0), ends.get(partition, 0) + 5)) for partition in range(2)}
        export_of.run(staging(longer, tmp_path), {0: 0, 1: 0}, f"t{next(_TOKENS)}")
        last = export_of.last()
        assert last is not None
        assert last.topic_id == topic_id
    said = "the topic 'orders' with the id 18bcfe56800-1; it was deleted and made again since, and has the id 1a-2"
    with pytest.raises(TopicExportedError, match=said):
        Export(folder, "orders", topic_id="1a-2").run(stage, {0: 0, 1: 0}, "again")
    with pytest.raises(ExportError, match="with the id 18bcfe56800-1, and what is to be exported does not say which"):
        Export(folder, "orders").last()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "x is no manifest of an export"),
        (b"{}", "x is no manifest of an export: KeyError"),
        (b'{"version": 1}', "x has version 1; this release reads version 2: export into another folder"),
        (b'{"version": 2}', "x is no manifest of an export: KeyError"),
        (b"[1]", "x is no manifest of an export: TypeError"),
    ],
)
def test_a_file_that_is_no_manifest_is_named(content: bytes, said: str) -> None:
    with pytest.raises(ExportError, match=said):
        decode_manifest("x", content)


def test_manifests_are_told_by_their_names() -> None:
    assert [number_of(name) for name in (name_of(7), "00000007.json.draft", "notes.json", "7", "")] == [7] + [None] * 4


def test_a_commit_is_whole_and_happens_once(tmp_path: Path) -> None:
    folder = LocalFolder(str(tmp_path))
    assert [folder.commit("a/b.json", content) for content in (b"1", b"2")] == [True, False]
    assert (folder.read("a/b.json"), folder.names("a")) == (b"1", ["b.json"])
