"""`goqueue sim --planted`: looks for known bugs among the worlds that anybody gets, and says what came of it."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from goqueue.cli.main import goqueue
from goqueue.core.partition.partition import Partition
from goqueue.fuzz.case import Case, live_through
from goqueue.fuzz.plants import seeking
from goqueue.fuzz.plants.catalogue import plants
from goqueue.fuzz.plants.plant import Plant
from goqueue.fuzz.plants.seeking import finder_of

PAGE = Path(__file__).parents[2] / "docs" / "simulation.md"
KEYS = ["bug", "promise", "found", "worlds", "seed", "checker", "tags"]


def said_by(*arguments: str) -> Result:
    """What `goqueue sim --planted` prints."""
    return CliRunner().invoke(goqueue, ["sim", "--planted", *arguments])


@pytest.fixture
def harmless(monkeypatch: pytest.MonkeyPatch) -> str:
    """A bug that is none, looked for in a few worlds."""
    monkeypatch.setitem(plants(), "harmless", Plant("harmless", "Nothing changes.", lambda replace: None))
    monkeypatch.setattr(seeking, "WORLDS_MAX", {1: 2, 3: 1})
    return "harmless"


def broken(partition: Partition) -> None:
    """Stands in for an invariant that does not hold."""
    raise AssertionError("always")


def rows_of(text: str) -> list[list[str]]:
    """The cells of a table in Markdown, without its titles."""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:]]


def test_a_bug_is_found_with_the_seed_that_shows_it() -> None:
    result = said_by("--seed", "1", "--only", "a-second-answer", "--json")
    assert result.exit_code == 0
    found = json.loads(result.stdout)
    assert [*found] == KEYS
    assert found["bug"] == "a-second-answer"
    assert found["promise"] == "Every request is answered once."
    assert found["found"] is True
    assert found["seed"] == 1 + found["worlds"] - 1
    assert "1 of 1 bugs found, in worlds from seed 1 on" in result.stderr
    assert live_through(Case(found["seed"], nodes=1, plant="a-second-answer")).violation is not None


def test_two_processes_find_what_one_finds() -> None:
    chosen = ("--seed", "1", "--only", "a-second-answer", "--only", "lost-on-reopening")
    assert said_by(*chosen).output == said_by(*chosen, "--jobs", "2").output


def test_a_bug_that_is_not_found_is_a_failure(harmless: str) -> None:
    result = said_by("--only", harmless, "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout) == {
        "bug": harmless, "promise": "Nothing changes.", "found": False, "worlds": 2, "seed": None, "checker": "",
        "tags": [],
    }  # fmt: skip
    table = said_by("--only", harmless, "--only", "a-second-answer", "--seed", "1")
    assert table.exit_code == 1
    assert re.search(r"^harmless +Nothing changes\. +2 +- +nobody$", table.stdout, re.MULTILINE)
    assert "1 of 2 bugs found, in worlds from seed 1 on" in table.stdout


def test_a_world_that_is_broken_by_itself_finds_nothing(harmless: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Partition, "check", broken)
    result = said_by("--only", harmless, "--seed", "5")
    assert result.exit_code == 1
    assert "a promise is broken without any bug: goqueue sim --seed 5 --nodes 1" in result.stdout
    assert "a promise is broken without any bug: goqueue sim --seed 6 --nodes 1" in result.stdout


def test_first_seeds_are_drawn_and_named(harmless: str) -> None:
    said = [said_by("--only", harmless).stdout for _ in range(2)]
    first, second = (re.search(r"from seed (\d+) on: --seed \1 repeats it", one) for one in said)
    assert first is not None
    assert second is not None
    assert first[1] != second[1]


def test_whoever_finds_a_bug_is_named() -> None:
    verdict = live_through(Case(0, plant="acknowledged-before-the-sync"))
    assert finder_of(verdict) == "Watermark"
    assert finder_of(live_through(Case(0, plant="vote-not-saved"))) == "Votes"
    # A checker may have the name of a part of the product that dies of a bug.
    verdict.place, verdict.module = "Process.receive:1 > Agreement.opened:2", "goqueue.core.cluster.agreement"
    assert finder_of(verdict) == "core.cluster.agreement"
    verdict.violation = "Violation: what clients saw: lost"
    assert finder_of(verdict) == "history"


def test_a_bug_that_there_is_not_is_refused() -> None:
    for option in (["--planted", "--only"], ["--seed", "1", "--plant"]):
        result = CliRunner().invoke(goqueue, ["sim", *option, "nothing"])
        assert result.exit_code == 2
        assert "there is no bug 'nothing'" in result.output


def test_the_page_names_exactly_the_bugs_there_are() -> None:
    rows = rows_of(PAGE.read_text().partition("<!-- planted:")[2].partition("<!-- planted: end")[0])
    assert [row[:3] for row in rows] == [
        [f"`{plant.name}`", plant.promise, str(plant.nodes)]
        for plant in sorted(plants().values(), key=lambda plant: plant.nodes)
    ]


def test_the_table_is_put_into_a_page_that_has_marks_for_it(harmless: str, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    marks = ("<!-- planted: made by `goqueue sim --planted --markdown` -->", "<!-- planted: end -->")
    page.write_text("\n".join(("before", *marks, "after", "")))
    for _ in range(2):
        said_by("--only", harmless, "--seed", "1", "--markdown", str(page))
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("\nafter\n")
    assert rows_of(text) == [["`harmless`", "Nothing changes.", "1", "2", "-", "nobody", ""]]
    printed = said_by("--only", harmless, "--seed", "1", "--markdown", "-").stdout
    assert rows_of(printed) == rows_of(text)
    page.write_text("nothing\n")
    result = said_by("--only", harmless, "--markdown", str(page))
    assert result.exit_code == 1
    assert "has no place for the table" in result.output


def test_bugs_are_imported_when_somebody_asks_for_them() -> None:
    asked = "import sys, goqueue.fuzz.command; print(sorted(one for one in sys.modules if 'fuzz.plants' in one))"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert "goqueue.fuzz.plants.catalogue" in done.stdout
    assert "goqueue.fuzz.plants.log" not in done.stdout


def test_a_bug_says_what_it_is() -> None:
    for plant in plants().values():
        assert re.fullmatch(r"[a-z-]+", plant.name)
        assert re.fullmatch(r"[A-Z`].*\.", plant.promise), plant.promise
        assert plant.nodes in seeking.WORLDS_MAX
