"""`goqueue replay`: what a person is told of a capture, and what a script can rely on."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from goqueue.cli.main import goqueue
from goqueue.storage.capture_files import list_captures
from tests.architecture.tree import ROOT
from tests.storage.test_capture_files import captured, last_with_events


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A capture of several files."""
    captured(tmp_path / "captures", turns=120)
    return tmp_path / "captures"


def run(*arguments: object) -> Result:
    """One call of the command line."""
    return CliRunner().invoke(goqueue, ["replay", *map(str, arguments)])


def test_a_capture_that_comes_out_the_same_is_identical(folder: Path) -> None:
    result = run(folder)
    assert result.exit_code == 0
    assert result.output.startswith("identical: ")
    assert f" events, {len(list_captures(str(folder)))} snapshots, " in result.output


def test_one_file_and_the_files_from_one_on_can_be_replayed(folder: Path) -> None:
    count = len(list_captures(str(folder)))
    assert ", 1 snapshot, " in run(list_captures(str(folder))[1].path).output
    assert f", {count - 2} snapshots, " in run(folder, "--from-snapshot", 2).output


def test_a_program_gets_an_object(folder: Path) -> None:
    result = run(folder, "--json")
    said = json.loads(result.output)
    assert said["identical"] is True
    assert said["divergence"] is None
    assert said["events"] > 200


def test_the_first_divergence_is_shown_in_words(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("goqueue.core.cluster.plan.PARTITIONS_MAX", 0)
    result = run(folder)
    assert result.exit_code == 1
    first, told, expected, actual, last, *notes = result.output.splitlines()
    assert first.startswith(f"diverged in {list_captures(str(folder))[0].name} at event ")
    assert ", 2023-11-14 22:" in first
    assert told.startswith("  told      take() after ")
    assert expected.startswith("  expected  writes: 1 Append")
    assert "num_partitions must be" in actual
    assert last.endswith("the capture is of release 1.2.3")
    assert all("of a wall clock" in note for note in notes)
    said = json.loads(run(folder, "--json").output)
    assert said["identical"] is False
    assert said["divergence"]["verb"] == "take"


def test_a_tail_that_was_cut_off_is_told_and_does_not_count(folder: Path) -> None:
    last = last_with_events(folder)
    os.truncate(last, last.stat().st_size - 3)
    result = run(folder)
    assert result.exit_code == 0
    assert result.output.splitlines()[0].startswith(f"{last.name}: it ends within the block at byte ")


def test_damage_is_named_and_counts(folder: Path) -> None:
    first = Path(list_captures(str(folder))[0].path)
    content = bytearray(first.read_bytes())
    content[-1] ^= 1
    first.write_bytes(content)
    result = run(folder)
    assert result.exit_code == 1
    assert "is not as it was written: wrong CRC" in result.output
    assert "identical as far as it could be read: " in result.output


def test_what_is_called_a_capture_and_is_named_otherwise_is_told_and_counts(folder: Path) -> None:
    first, second, *_ = [Path(one.path) for one in list_captures(str(folder))]
    second.rename(folder / "mine.capture")
    result = run(folder)
    assert result.exit_code == 1
    assert "mine.capture: it is not named as captures are" in result.output
    assert f": 1 file is missing before it: {second.name}" in result.output
    assert "2 files with something missing or unreadable" in result.output
    assert json.loads(run(folder, "--json").output)["unread"] == 2
    first.unlink()
    assert "1 run without the first file" in run(folder).output


def test_where_nothing_can_be_replayed_that_is_said(tmp_path: Path) -> None:
    assert "holds no capture" in run(tmp_path).output
    other = tmp_path / "1700000000000-000000.capture"
    other.write_bytes(b"\x7fELF" + bytes(100))
    result = run(other)
    assert result.exit_code == 1
    assert "it is no capture" in result.output
    assert "nothing could be replayed" in result.output
    other.rename(tmp_path / "other")
    assert "is not named as a capture is" in run(tmp_path / "other").output


@pytest.mark.parametrize("seed", ["0", "31337"])
def test_a_capture_is_identical_under_any_hash_seed(folder: Path, seed: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "goqueue", "replay", str(folder), "--json"],
        cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout
    assert json.loads(ran.stdout)["identical"]
