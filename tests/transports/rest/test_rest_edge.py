"""The edge when the broker behind it is at fault, and what it answers by itself."""

import json
import logging
import re

import pytest
import trio

from goqueue import __version__
from goqueue.core.requests.call import Caller
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request
from goqueue.transports.request_headers import RequestHeaders
from goqueue.transports.rest.edge import Rest
from goqueue.transports.rest.exchange import Answer, Question


class Defective:
    """A broker with a bug."""

    async def ask(self, caller: Caller, request: Request) -> Reply:
        """Fail."""
        raise ZeroDivisionError


class Refusing:
    """A broker that refuses everything for one reason."""

    def __init__(self, refusal: Refusal) -> None:
        self._refusal = refusal

    async def ask(self, caller: Caller, request: Request) -> Reply:
        """Refuse."""
        return self._refusal


def answered(broker: Defective | Refusing, question: Question) -> Answer:
    return trio.run(Rest(broker, lambda: 0).answer, question)


def test_a_defect_is_answered_with_500_and_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        answer = answered(Defective(), Question("GET", "/topics"))
    assert (answer.status, json.loads(answer.body)["code"]) == (500, "internal_error")
    assert len(caplog.records) == 1
    assert caplog.records[0].exc_info is not None


@pytest.mark.parametrize("code", Code)
def test_every_refusal_has_its_status_code_sentence_and_field(code: Code) -> None:
    answer = answered(Refusing(Refusal(code, "because", "there", 1500)), Question("GET", "/topics"))
    assert 400 <= answer.status < 500 or answer.status in (503, 504, 507)
    told = {"error": "because", "code": code, "field": "there", "outcome": code.outcome}
    assert json.loads(answer.body) == told
    assert ("Retry-After", "2") in answer.headers


@pytest.mark.parametrize(("path", "status"), [("/health", "fail"), ("/readyz", "fail")])
def test_a_node_that_refuses_is_not_well(path: str, status: str) -> None:
    answer = answered(Refusing(Refusal(Code.SHUTTING_DOWN, "going")), Question("GET", path))
    assert (answer.status, json.loads(answer.body)["status"]) == (503, status)


def test_the_root_says_what_answers_and_where_to_go_on() -> None:
    for path in ("/", "/v1", "/v1/"):
        program = RequestHeaders([(b"accept", b"*/*")])
        said = json.loads(answered(Defective(), Question("GET", path, headers=program)).body)
        assert (said["name"], said["version"]) == ("goqueue", __version__)
        assert {"/docs", "/openapi.json", "/healthz"} <= set(said["paths"])
        browser = RequestHeaders([(b"accept", b"text/html,application/xhtml+xml;q=0.9,*/*;q=0.8")])
        page = answered(Defective(), Question("GET", path, headers=browser))
        assert page.content_type.startswith("text/html")
        assert set(re.findall(r'href="([^"]+)"', page.body.decode())) == {path[1:] for path in said["paths"]}
        assert ("Vary", "Accept") in page.headers


@pytest.mark.parametrize("path", ["/", "/docs", "/v1/docs", "/openapi.json", "/v1/openapi.json"])
def test_the_description_needs_no_broker_and_only_get(path: str) -> None:
    assert answered(Defective(), Question("GET", path)).status == 200
    assert answered(Defective(), Question("HEAD", path)).status == 200
    assert answered(Defective(), Question("OPTIONS", path)).headers == (("Allow", "GET, HEAD, OPTIONS"),)
    assert answered(Defective(), Question("POST", path)).status == 405
