"""What worlds reach of the core is measured, and what they do not is named with its function and its line."""

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from goqueue.cli.main import goqueue
from goqueue.fuzz.reach import CORE, Reach, Unreached, unreached_in
from goqueue.fuzz.unreached import OUT_OF_REACH, told, why_not


def said_by(*arguments: str) -> Result:
    """What `goqueue sim` prints of worlds of one node."""
    return CliRunner().invoke(goqueue, ["sim", "--nodes", "1", *arguments])


def never_called(output: str) -> set[str]:
    """The lines that name a function which no world has called."""
    return {line for line in output.splitlines() if line.endswith(": never called")}


def branch(path: str, function: str, source: str, then: str) -> Unreached:
    """One that was not taken."""
    return Unreached(path, function, 7, source, then, 8)


def test_branches_that_no_world_takes_are_named() -> None:
    result = said_by("2", "--coverage")
    assert result.exit_code == 0
    assert "core/broker/peering.py\n" in result.output
    assert "Node.peer_gone, line " in result.output
    assert "branches and functions of the core were never reached." in result.output
    assert "captures are written by --capture" in result.output


def test_what_is_reached_is_not_named(tmp_path: Path) -> None:
    reach = Reach(str(tmp_path))
    reach.begin()
    said_by("1")
    reach.end()
    found = unreached_in(str(tmp_path))
    names = {(one.path, one.function) for one in found if one.is_function}
    assert ("core/node.py", "Node.ask") not in names
    assert ("core/node.py", "Node.peers") in names
    source = (CORE / "node.py").read_text(encoding="utf-8").splitlines()
    for one in found:
        if one.path == "core/node.py":
            assert source[one.line - 1].strip() == one.source


def test_processes_are_measured_together() -> None:
    alone, together = said_by("1", "--coverage"), said_by("3", "--coverage", "--jobs", "2")
    assert alone.output.startswith("1 worlds kept")
    assert together.output.startswith("3 worlds kept")
    assert never_called(together.output) < never_called(alone.output)


def test_worlds_of_one_node_and_clusters_are_measured_together() -> None:
    command = ["sim", "2", "--clusters", "1", "--minutes", "0.1", "--coverage"]
    result = CliRunner().invoke(goqueue, command)
    assert result.exit_code == 0
    assert result.output.startswith("3 worlds kept")
    assert "  Peering.hear, line" not in result.output
    assert "  Publishes.publish, line" not in result.output
    assert CliRunner().invoke(goqueue, [*command, "--nodes", "3"]).exit_code == 2


def test_what_cannot_be_reached_is_counted_with_its_reason() -> None:
    hard = branch("core/capture/frames.py", "read", "if wrong:", "return None")
    open_ = branch("core/node.py", "Node.ask", "if odd:", "return None")
    assert why_not(hard)
    assert not why_not(open_)
    text = told([hard, open_])
    assert "core/node.py\n  Node.ask\n    7: if odd:\n      never leads to 8: return None" in text
    assert "core/capture/frames.py" not in text
    assert "1 branches and functions" in text


@pytest.mark.parametrize("where", [where for where, _, _ in OUT_OF_REACH])
def test_every_reason_is_about_files_that_there_are(where: str) -> None:
    pattern = where.partition("::")[0].removeprefix("core/")
    assert [*CORE.rglob(pattern)]


def test_without_the_package_it_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "coverage", None)
    result = said_by("1", "--coverage")
    assert result.exit_code == 2
    assert "--coverage needs the package coverage" in result.output
