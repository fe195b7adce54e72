"""What `goqueue spark check` prints, and what it refuses before any Java starts."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from goqueue.cli.endings import WRONG, Ending
from goqueue.core.capture.errors import CaptureError
from goqueue.spark.captures.code import UnknownCode
from goqueue.spark.checks.job import Summary, Unknown, UnknownCheck
from goqueue.spark.commands.checking import plain, tell
from goqueue.spark.commands.command import spark
from goqueue.spark.commands.facts import is_whole
from goqueue.spark.reports.catalogue import UnknownReport

_FINDING: dict[str, Any] = {
    "check": "lost",
    "promise": "Nothing is lost.",
    "words": "it is gone",
    "evidence": [
        {
            "node": "a", "run": 7, "event": 1234, "time": datetime(2026, 3, 1, 12, tzinfo=UTC), "kind": "visible",
            "words": "to 10",
        },
    ],
}  # fmt: skip


def summary(**changes: Any) -> Summary:  # noqa: ANN401 - whatever a summary has
    """Two checks, of which one found something."""
    known: dict[str, Any] = {
        "checks": ["lost", "early"],
        "findings": {"lost": 2},
        "files": 3,
        "facts": 1200,
        "events": 9,
    }
    return Summary(**(known | changes))


def test_findings_come_with_their_proof_and_counts_by_check(capsys: pytest.CaptureFixture[str]) -> None:
    tell(summary(), [_FINDING])
    assert capsys.readouterr().out.splitlines() == [
        "lost: it is gone",
        "  Nothing is lost.",
        "  2026-03-01 12:00:00.000000  a event 1,234  visible: to 10",
        "… and 1 finding more; --limit shows more of them",
        "CHECK  FINDINGS  UNKNOWN",
        "lost          2        0",
        "early         0        0",
        "1,200 facts of 3 files, 9 events",
    ]


def test_what_is_unknown_or_missing_is_named_and_counted(capsys: pytest.CaptureFixture[str]) -> None:
    told = summary(
        findings={}, unknown={"early": 3}, unknowns=[Unknown("early", "it came", "events 3 to 5")], gaps=["all of b"],
        gap_count=4, faults={"damaged": 2, "tail": 1}, clock_steps=1,
    )  # fmt: skip
    tell(told, [])
    said = capsys.readouterr()
    assert "unknown, early: it came (events 3 to 5)\n… and 2 more that nobody knows\n" in said.out
    assert said.err.splitlines() == [
        "gap: all of b",
        "… and 3 gaps more",
        "2 files: damaged",
        "1 file: tail",
        "1 step of wall clocks: times of different nodes may not agree",
    ]


def test_times_are_texts_for_programs() -> None:
    assert plain({"found": [_FINDING]})["found"][0]["evidence"][0]["time"] == "2026-03-01T12:00:00+00:00"


def test_only_ends_that_a_kill_cut_off_are_no_fault() -> None:
    assert is_whole([])
    assert is_whole(["tail", "tail"])
    assert not is_whole(["tail", "damaged"])


def test_what_cannot_be_had_is_told_before_any_java_starts(tmp_path: Path) -> None:
    def refused(*words: str) -> BaseException:
        ran = CliRunner().invoke(spark, [*words])
        assert ran.exception is not None
        return ran.exception

    neither = refused("check")
    assert isinstance(neither, Ending)
    assert (neither.status, str(neither)) == (
        WRONG,
        "facts of what? Name captures, or a folder with --facts, and not both",
    )
    both = refused("check", str(tmp_path), "--facts", str(tmp_path))
    assert isinstance(both, Ending)
    assert isinstance(refused("check", "--facts", "f", "--code", "no:such"), Ending)
    assert isinstance(refused("check", str(tmp_path)), CaptureError)
    assert isinstance(refused("facts", str(tmp_path), "--to", str(tmp_path / "facts")), CaptureError)
    assert isinstance(refused("report"), Ending)
    assert isinstance(refused("report", "--only", "late", "--facts", str(tmp_path)), UnknownReport)
    for command in ("check", "report"):
        assert str(refused(command, str(tmp_path / "gone"))) == f"{tmp_path / 'gone'}: No such file or directory"
    (tmp_path / "1-000000.capture").touch()
    assert isinstance(refused("check", str(tmp_path), "--only", "losing"), UnknownCheck)
    assert isinstance(refused("check", str(tmp_path), "--code", "no:such"), UnknownCode)
