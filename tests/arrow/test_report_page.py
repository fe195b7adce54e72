"""The page: escaped, alone, and honest about what was not read."""

import re
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner

from goqueue.cli.endings import Ending
from goqueue.spark.commands.command import spark
from goqueue.spark.reports import coverage
from goqueue.spark.reports.catalogue import REPORTS, UnknownReport, chosen
from goqueue.spark.reports.page import page
from goqueue.spark.reports.plots import line
from goqueue.spark.reports.section import Cell, Section, Table, shortened
from goqueue.spark.reports.units import COUNT
from tests.arrow.facts_made import BEGAN

HOSTILE = "<script>alert('x')</script>\"&<img src=//evil onerror=x>"


class Outline(HTMLParser):
    """The tags of a page and what they refer to."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.references: list[str] = []
        self.handlers: list[str] = []
        self.said: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.references += [value or "" for name, value in attrs if name in ("href", "src", "xlink:href", "action")]
        self.handlers += [name for name, _ in attrs if name.startswith("on")]

    def handle_data(self, data: str) -> None:
        self.said.append(data)


def read() -> Section:
    return Section("coverage", "What was read", "What?", ["Something."])


def test_whatever_things_are_called_the_page_says_it_and_does_nothing_else() -> None:
    table = Table(HOSTILE, [HOSTILE, "count"], [(HOSTILE, 3)])
    picture = line(HOSTILE, {HOSTILE: [(0, 1.0), (1, 2.0)]}, COUNT, 1)
    section = Section("load", HOSTILE, HOSTILE, [HOSTILE], [picture], [table], HOSTILE)
    outline = Outline(page(HOSTILE, read(), [section], [HOSTILE]))
    assert not {"script", "img", "link", "iframe", "object", "base"} & set(outline.tags)
    assert outline.handlers == []
    assert outline.references == ["#coverage", "#load"]
    assert outline.said.count(HOSTILE) >= 8


def test_a_page_asks_nothing_of_a_network() -> None:
    html = page("t", read(), [Section("load", "Load", "What?", pictures=[line("t", {"a": [(0, 1.0)]}, COUNT, 1)])])
    assert "http" not in html.replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"url\(|@import", html)


def test_warnings_come_before_everything() -> None:
    html = page("t", read(), [], ["Files are missing."])
    assert html.index("Files are missing.") < html.index("<nav>")


def test_numbers_stand_to_the_right_gaps_are_shown_and_long_words_wrap() -> None:
    words = "it ends in the middle of a block, which a node that was killed may leave"
    rows: list[Sequence[Cell]] = [("a", 1234567, "2.5 ms", words), ("b", None, "-", "short")]
    html = page("t", read(), [Section("x", "X", "?", tables=[Table("T", ["n", "c", "d", "w"], rows)])])
    assert '<td class="number">1,234,567</td>' in html
    assert '<td class="number">2.5 ms</td>' in html
    assert '<td class="number">-</td>' in html
    assert f'<td class="long">{words}</td>' in html
    assert "<td>a</td>" in html


def test_a_table_that_is_cut_says_how_long_it_was() -> None:
    section = Section("x", "X", "?", tables=[shortened("T", ["n"], [(index,) for index in range(2_000)], limit=10)])
    html = page("t", read(), [section])
    assert "T (the first 10 of 2,000)" in html
    assert html.count("<td") == 10


def row(what: str, **columns: object) -> dict[str, Any]:
    empty = dict.fromkeys(coverage._COLUMNS)
    return empty | {"what": what, "node": "n1", "run": 7} | columns


def covered(*rows: dict[str, Any]) -> pa.Table:
    time, number = pa.timestamp("us", tz="UTC"), pa.int64()
    types = {"begin": time, "end": time} | dict.fromkeys(("run", "files", "events", "bytes", "facts", "value"), number)
    schema = pa.schema([(name, types.get(name, pa.string())) for name in coverage._COLUMNS])
    return pa.Table.from_pylist(list(rows), schema=schema)


RUN = row("run", begin=BEGAN, end=BEGAN, files=2, events=9_000, bytes=1_000, facts=50)


def test_what_was_damaged_is_missing_or_off_is_counted_and_warned_of() -> None:
    answer = covered(
        RUN,
        row("fault", value=3, cause="damaged", words="a block has another sum"),
        row("fault", value=4, cause="foreign", words="it is no capture"),
        row("gap", value=5, words="events 5 to 8 of run 7 of n1"),
        row("step", begin=BEGAN, value=-2_500),
    )
    assert coverage.warnings(answer) == [
        "2 files could not be read to the end: answers may be incomplete.",
        "1 gap in what nodes did: answers say nothing of what happened there.",
        "1 step of wall clocks: what is told by the time of day may be off by it.",
    ]
    section = coverage.section(answer)
    assert section.words[1:] == [
        "2 files could not be read to the end.", "1 gap in what nodes did.", "1 step of wall clocks.",
    ]  # fmt: skip
    tables = {table.title: table.rows for table in section.tables}
    assert tables["Files not read to the end"][0] == ("n1", "7", 3, "damaged", "a block has another sum")
    assert tables["Gaps"] == [("n1", "events 5 to 8 of run 7 of n1")]
    assert tables["Steps of wall clocks"] == [("n1", "12:00:00.000", "-2,500 ms")]


def test_beyond_what_is_told_there_are_more() -> None:
    faults = [row("fault", value=number, cause="damaged", words="w") for number in range(coverage._TOLD_MAX)]
    answer = covered(RUN, *faults)
    assert coverage.warnings(answer) == ["1,000 or more files could not be read to the end: answers may be incomplete."]
    assert coverage.section(answer).words[1] == "1,000 or more files could not be read to the end."


def test_all_is_well_without_a_warning() -> None:
    assert coverage.warnings(covered(RUN)) == []
    assert coverage.section(covered(RUN)).words[1] == "0 files could not be read to the end."


@pytest.mark.parametrize("rows", [(), (row("run", node="", run=-1, files=3, events=0, bytes=9, facts=0),)])
def test_where_nothing_could_be_read_the_page_opens_with_that(rows: tuple[dict[str, Any], ...]) -> None:
    answer = covered(*rows)
    assert coverage.warnings(answer)[0] == "Nothing was read, so nothing on this page says anything."
    section = coverage.section(answer)
    assert section.words[0] == "Nothing was read."
    assert [table.title for table in section.tables] == []
    if rows:
        assert section.words[1] == "3 files could not be read at all, nor is it known whose."


def test_reports_are_chosen_by_name_in_the_order_of_the_page() -> None:
    assert list(chosen(["lag", "load"])) == ["load", "lag"]
    assert list(chosen(None)) == list(chosen([])) == list(REPORTS)


def test_an_unknown_report_is_named_with_those_that_there_are() -> None:
    with pytest.raises(UnknownReport, match=r"there is no report 'speed'; there are: load, latency, failovers, .*hot"):
        chosen(["load", "speed"])


@pytest.mark.parametrize("report", REPORTS.values(), ids=list(REPORTS))
def test_every_report_says_what_it_answers_and_how(report: ModuleType) -> None:
    assert report.QUESTION.endswith("?")
    assert report.METHOD.endswith(".")
    assert report.answer.__doc__


def test_a_page_into_a_folder_that_is_not_there_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    to = tmp_path / "nowhere" / "report.html"
    ran = CliRunner().invoke(spark, ["report", str(tmp_path), "--to", str(to)])
    assert isinstance(ran.exception, Ending)
    assert str(ran.exception) == f"there is no folder {to.parent} for the page"
