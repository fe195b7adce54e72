"""Edges that serve a part of the table: a port for those who watch, and a broker that is not to be counted."""

from goqueue.transports.rest.edge import Edge
from goqueue.transports.rest.errors import error_body
from goqueue.transports.rest.exchange import Answer, Question
from goqueue.transports.rest.routes import PREFIX

COUNTED = ("/metrics", "/admin/metrics")
SERVED = (*COUNTED, "/health", "/healthz", "/livez", "/readyz")


def is_operation(path: str) -> bool:
    """Whether those ask for it who watch the node, who are answered however much others want."""
    return path.removeprefix(f"/{PREFIX}") in SERVED


class OperationsEdge:
    """See Edge; it hands on to `edge` what is served here."""

    def __init__(self, edge: Edge) -> None:
        self._edge = edge

    async def answer(self, question: Question) -> Answer:
        """See Edge."""
        if is_operation(question.path):
            return await self._edge.answer(question)
        return Answer(404, error_body("not_found", f"this port serves {', '.join(SERVED)}", "path"))

    def leave(self) -> None:
        """See Edge; whoever watches is served to the last."""


class UncountedEdge:
    """See Edge; everything but the metrics."""

    def __init__(self, edge: Edge) -> None:
        self._edge = edge

    async def answer(self, question: Question) -> Answer:
        """See Edge."""
        if question.path.removeprefix(f"/{PREFIX}") in COUNTED:
            return Answer(404, error_body("not_found", "metrics are switched off, by metrics.enabled", "path"))
        return await self._edge.answer(question)

    def leave(self) -> None:
        """See Edge."""
        self._edge.leave()
