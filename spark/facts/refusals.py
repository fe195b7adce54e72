"""Refusals: what clients were denied, and what of.

A publish that is refused is told with its answer, see `publishing.py`.
"""

from goqueue.core.node import Node
from goqueue.core.requests.messages import Publish, PublishBatch
from goqueue.core.requests.refusals import Refusal
from goqueue.spark.facts.listening import CLIENT, Errand, Hears, Listener
from goqueue.spark.facts.publishing import Earlier


class Refusals(Listener):
    """Notes `refused`."""

    def hears(self) -> Hears:
        """All answers."""
        return Hears(answered={object: self._answered})

    def _answered(self, node: Node, errand: Errand, reply: object) -> None:
        if not isinstance(reply, Refusal) or errand.way != CLIENT:
            return
        request = errand.request
        if isinstance(request, Publish | PublishBatch | Earlier):
            return
        self.notebook.note(
            "refused", topic=getattr(request, "topic", None), partition=getattr(request, "partition", None),
            group=getattr(request, "group", None), client=errand.caller.client_id or None, since=errand.at,
            cause=reply.code.value, detail=type(request).__name__,
        )  # fmt: skip
