"""The table of all codes in the documentation is what the broker does."""

from pathlib import Path

from goqueue.core.requests.refusals import Code, Outcome
from goqueue.transports.rest import errors as rest
from goqueue.transports.services import refusals as grpc

PAGE = Path(__file__).parents[2] / "docs" / "errors.md"
WORDS = {"nothing": Outcome.NONE, "unknown": Outcome.UNKNOWN, "it was done before": Outcome.DONE}


def test_every_code_is_in_the_table_with_its_statuses_and_its_outcome() -> None:
    told = {}
    for line in PAGE.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 5 and cells[1].isdigit():
            told[cells[0].strip("`")] = int(cells[1]), cells[2].strip("`"), WORDS[cells[3]]
    assert told == {str(code): (rest.STATUS[code], grpc.STATUS[code].name, code.outcome) for code in Code}


def test_of_what_is_refused_for_the_time_being_only_one_code_leaves_open_what_happened() -> None:
    assert [code for code in Code if code.outcome is Outcome.UNKNOWN] == [Code.OUTCOME_UNKNOWN]
    assert rest.outcome_of("internal_error") is Outcome.UNKNOWN
    assert rest.outcome_of("malformed_json") is Outcome.NONE
