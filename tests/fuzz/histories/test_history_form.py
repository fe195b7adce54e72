"""Histories on disk: what is written is read back alike, and what cannot be right is refused with the line."""

import json
from random import Random

import pytest

from goqueue.fuzz.histories.form import ASKED, TOLD, HistoryError, header_line, lines_of, read_history
from goqueue.fuzz.histories.judge import judge
from goqueue.fuzz.histories.operation import Terms, Verb
from goqueue.fuzz.histories.recorder import Recorder
from tests.fuzz.histories.model import correct_story


def test_a_history_is_read_back_as_it_was() -> None:
    story = correct_story(Random(3), 200)
    lines = [*lines_of(story.recorder.history)]
    again = read_history(lines)
    assert [*lines_of(again)] == lines
    assert judge(again) == story.verdict()


def test_a_history_is_written_while_it_happens() -> None:
    lines: list[str] = []
    recorder = Recorder(Terms(about={"seed": 7}), lambda: 5, lambda: 9, lines.append)
    operation = recorder.begin("x", Verb.DELETE, topic="t")
    assert [json.loads(line).get("type") for line in lines] == [None, "invoke"]
    recorder.fail(operation, "topic_not_found")
    assert json.loads(lines[-1]) == {"type": "fail", "op": 0, "time": 5, "error": "topic_not_found"}
    assert read_history(lines).terms.about == {"seed": 7}


def test_an_operation_without_an_end_is_of_unknown_outcome() -> None:
    story = correct_story(Random(3), 20)
    lines = [line for line in lines_of(story.recorder.history) if '"ok"' not in line]
    assert {one.end for one in read_history(lines).operations} <= {"info", "fail"}


def test_every_verb_has_a_form() -> None:
    assert ASKED.keys() == {*Verb}
    assert TOLD.keys() <= {*Verb}


def test_the_page_shows_lines_of_a_history_and_every_verb(pytestconfig: pytest.Config) -> None:
    page = (pytestconfig.rootpath / "docs" / "chaos.md").read_text()
    shown = [line.strip() for line in page.splitlines() if line.startswith('    {"')]
    history = read_history(shown)
    assert history.terms.groups["workers"].max_attempts == 5
    assert [one.verb for one in history.operations] == ["publish"]
    form = page[page.index("## The form of a history") :]
    for verb, fields in ASKED.items():
        row = next(line for line in form.splitlines() if line.startswith("| `") and f"`{verb}`" in line.split("|")[1])
        assert all(f"`{name}`" in row for name in {*fields, *TOLD.get(verb, ())}), row


HEADER = header_line(Terms())
BEGIN = '{"type":"invoke","op":0,"process":"x","verb":"delete","time":5,"wall":1,"asked":{"topic":"t"}}'


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([], "the history is empty"),
        (["{}"], "line 1: expected the header of a history"),
        ([HEADER.replace('"version":1', '"version":2')], "of version 2, and only 1 is known"),
        ([HEADER.replace('"power_cuts":false', '"power_cuts":3')], "'power_cuts' cannot be 3"),
        ([HEADER.replace('"groups":{}', '"groups":{"g":{}}')], "the group 'g' has max_attempts"),
        ([HEADER, "nonsense"], "line 2 is not JSON"),
        ([HEADER, "[]"], "line 2 is no JSON object"),
        ([HEADER, '{"op":0,"time":5}'], "line 2: there is no 'type'"),
        ([HEADER, BEGIN.replace("delete", "explode")], "there is no verb 'explode'"),
        ([HEADER, BEGIN.replace('"topic"', '"subject"')], "delete asks topic; found subject"),
        ([HEADER, BEGIN.replace('"t"', "7")], "delete asks 'topic', which cannot be 7"),
        ([HEADER, BEGIN, BEGIN], "line 3: operations are numbered in order, and 0 does not come next"),
        ([HEADER, '{"type":"ok","op":0,"time":5}'], "operation 0 ends, and was not begun"),
        ([HEADER, BEGIN, '{"type":"ok","op":0,"time":4,"told":{}}'], "ends before it was begun"),
        ([HEADER, BEGIN, '{"type":"maybe","op":0,"time":6}'], "'maybe' is none of these"),
        ([HEADER, BEGIN, '{"type":"ok","op":0,"time":6,"told":{"x":1}}'], "delete is told nothing; found x"),
    ],
)
def test_what_is_no_history_is_refused_with_the_line(lines: list[str], said: str) -> None:
    with pytest.raises(HistoryError) as error:
        read_history(lines)
    assert said in str(error.value)
