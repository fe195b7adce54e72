"""The edge of a port for those who watch: metrics and health, and nothing that reads or changes data."""

from goqueue.transports.rest.edge import Edge
from goqueue.transports.rest.errors import error_body
from goqueue.transports.rest.exchange import Answer, Question
from goqueue.transports.rest.routes import PREFIX

SERVED = ("/metrics", "/admin/metrics", "/health", "/healthz", "/livez", "/readyz")


class OperationsEdge:
    """See Edge; it hands on to `edge` what is served here."""

    def __init__(self, edge: Edge) -> None:
        self._edge = edge

    async def answer(self, question: Question) -> Answer:
        """See Edge."""
        if question.path.removeprefix(f"/{PREFIX}") in SERVED:
            return await self._edge.answer(question)
        return Answer(404, error_body("not_found", f"this port serves {', '.join(SERVED)}", "path"))

    def leave(self) -> None:
        """See Edge; whoever watches is served to the last."""
