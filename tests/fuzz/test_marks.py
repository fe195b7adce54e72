"""Marks are counted where the product reaches them, and change nothing."""

from collections import Counter

from click.testing import CliRunner

from goqueue.cli.main import goqueue
from goqueue.core.log.log import Log
from goqueue.fuzz.case import Case, live_through
from goqueue.fuzz.drawing import cluster_profiles, single_profiles
from goqueue.fuzz.marks.catalogue import MARKS
from goqueue.fuzz.marks.mark import Mark, counting
from goqueue.fuzz.marks.survey import Survey, surveyed


class Counted:
    """Something that is watched."""

    def add(self, number: int) -> int:
        """A call."""
        return number + 1


def test_a_mark_is_counted_before_a_call_or_after_it_and_gone_in_the_end() -> None:
    add = Counted.add
    marks = (
        Mark("called with an even number", Counted, "add", lambda _, number: number % 2 == 0),
        Mark("more than two", Counted, "add", lambda result, _, __: result > 2, is_after=True),
    )
    with counting(marks) as seen:
        assert [Counted().add(number) for number in range(4)] == [1, 2, 3, 4]
    assert seen == Counter({"called with an even number": 2, "more than two": 2})
    assert Counted.add is add


def test_marks_change_nothing_in_a_world() -> None:
    truncate = Log.truncate
    verdict, marks = surveyed(Case(3, nodes=1))
    assert verdict == live_through(Case(3, nodes=1))
    assert set(marks) <= {mark.name for mark in MARKS}
    assert Log.truncate is truncate


def test_a_survey_tells_shares_by_kinds_of_worlds() -> None:
    survey, name = Survey(), MARKS[0].name
    survey.add("logs power", [name])
    survey.add("logs clocks", [])
    survey.add("", [])
    head, worlds, first, *_ = survey.lines()
    assert head.split() == ["clocks", "logs", "power", "unmixed", "all"]
    assert worlds.split()[1:] == ["1", "2", "1", "1", "3"]
    assert first.removeprefix(name).split() == ["0%", "50%", "100%", "0%", "33%"]


def test_the_command_prints_a_line_for_each_mark() -> None:
    result = CliRunner().invoke(goqueue, ["sim", "--seeds", "3..5", "--nodes", "1", "--marks"])
    assert result.exit_code == 0, result.output
    assert [line for mark in MARKS for line in result.output.splitlines() if line.startswith(f"{mark.name} ")]


def test_each_kind_of_work_meets_each_kind_of_trouble() -> None:
    singles = {
        f"{name} {trouble}"
        for name, work in single_profiles.WORK.items()
        for trouble in single_profiles.TROUBLE
        if work.troubles.get(trouble) != 0
    }
    clusters = {f"{name} {trouble}" for name in cluster_profiles.WORK for trouble in cluster_profiles.TROUBLE}
    for met, nodes, seeds in ((singles, 1, 3_000), (clusters, 3, 600)):
        assert {Case(seed, nodes=nodes).options().profile for seed in range(seeds)} == {"", *met}
