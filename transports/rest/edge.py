"""The REST edge itself: a question to its endpoint, an answer or an error back.

Invariant: `answer` returns for any question whatever. An exception from an endpoint is a defect of ours: it is logged
and answered with 500, and nobody else notices.
"""

import logging
from collections.abc import Callable
from typing import Protocol

from goqueue.storage.meters import StoreMeters
from goqueue.transports.http1.gate import HttpError
from goqueue.transports.metrics.meters import BrokerMeters
from goqueue.transports.metrics.page import MetricsPage
from goqueue.transports.rest.call import Answering, Call
from goqueue.transports.rest.entrance import entrance, entrance_page
from goqueue.transports.rest.errors import INTERNAL, RETRY_AFTER_S, RestError, error_body
from goqueue.transports.rest.exchange import Answer, Question
from goqueue.transports.rest.openapi import document
from goqueue.transports.rest.page import page
from goqueue.transports.rest.parameters import read_query
from goqueue.transports.rest.routes import PREFIX, MethodNotAllowed, allowed, match

log = logging.getLogger(__name__)

OPENAPI_PATHS = {"/openapi.json", f"/{PREFIX}/openapi.json"}
PAGE_PATHS = {"/docs", f"/{PREFIX}/docs"}
ROOT_PATHS = {"/", f"/{PREFIX}", f"/{PREFIX}/"}
READING_METHODS = ("GET", "HEAD")
HTML = "text/html; charset=utf-8"
VARIES = (("Vary", "Accept"),)


class Edge(Protocol):
    """What a port of HTTP asks."""

    async def answer(self, question: Question) -> Answer:
        """The answer to a question, whatever it is."""
        ...

    def leave(self) -> None:
        """The server begins to go: what is in flight should come to its end."""
        ...


class Rest:
    """Serves the table of routes on behalf of one broker; `wall_ms` is the time of day, `metrics` the page of those.

    `leaving` is called when the server begins to go.
    """

    def __init__(
        self,
        broker: Answering,
        wall_ms: Callable[[], int],
        metrics: MetricsPage | None = None,
        leaving: Callable[[], None] = lambda: None,
    ) -> None:
        self._draining = False
        self._leaving = leaving
        self._broker = broker
        self._wall_ms = wall_ms
        self._metrics = metrics or MetricsPage(BrokerMeters(), StoreMeters(), lambda: 0)

    async def answer(self, question: Question) -> Answer:
        """See Edge."""
        try:
            return await self._answer(question)
        except RestError as error:
            return error_answer(error)
        except Exception:
            log.exception("%s %s failed", question.method, question.path)
            return Answer(500, error_body(INTERNAL, "the broker failed to answer; its log says why"))

    async def _answer(self, question: Question) -> Answer:
        method, path = question.method, question.path
        if method == "OPTIONS":
            return _options(path)
        if method == "HEAD":
            method = "GET"
        if path in OPENAPI_PATHS or path in PAGE_PATHS or path in ROOT_PATHS:
            return _described(method, path, question)
        route, names = match(method, path)
        query = read_query(route.query, question) if question.query or route.has_required_query else {}
        call = Call(self._broker, question, names, query, self._wall_ms, self._is_draining, self._metrics)
        return await route.serve(call)

    def leave(self) -> None:
        """See Edge."""
        self._draining = True
        self._leaving()

    def _is_draining(self) -> bool:
        return self._draining


def error_answer(error: RestError) -> Answer:
    """An error as an answer."""
    headers: list[tuple[str, str]] = []
    if error.retry_after_s:
        headers.append(("Retry-After", str(error.retry_after_s)))
    if isinstance(error, MethodNotAllowed):
        headers.append(("Allow", ", ".join(_with_head(error.methods))))
    return Answer(
        error.status, error_body(error.code, error.message, error.field, error.next_offset), headers=tuple(headers)
    )


def rejection(error: HttpError) -> Answer:
    """The answer to a request that did not get as far as to be a question."""
    headers = (("Retry-After", str(RETRY_AFTER_S)),) if error.status_hint == 503 else ()
    return Answer(error.status_hint, error_body(error.code, str(error), error.field), headers=headers)


def _described(method: str, path: str, question: Question) -> Answer:
    if method not in READING_METHODS:
        raise MethodNotAllowed(method, path, ("GET",))
    if path in OPENAPI_PATHS:
        return Answer(200, document())
    if path in PAGE_PATHS:
        return Answer(200, page(), HTML)
    # Browsers name HTML in Accept; programs that do not say what they take are given JSON.
    if "text/html" in question.header(b"accept"):
        return Answer(200, entrance_page(), HTML, headers=VARIES)
    return Answer(200, entrance(), headers=VARIES)


def _options(path: str) -> Answer:
    described = path in OPENAPI_PATHS or path in PAGE_PATHS or path in ROOT_PATHS
    methods = ("GET",) if described or path == "*" else allowed(path)
    if not methods:
        raise RestError(404, "not_found", f"there is nothing at {path[:200]}", "path")
    return Answer(204, headers=(("Allow", ", ".join(_with_head(methods))),))


def _with_head(methods: tuple[str, ...]) -> tuple[str, ...]:
    return (*methods, *(("HEAD",) if "GET" in methods else ()), "OPTIONS")
