"""Admits requests or refuses them, and counts what came of them."""

from attrs import define, field

from goqueue.core.gate.producer_pace import ProducerPace
from goqueue.core.requests.call import Call
from goqueue.core.requests.messages import InitProducer
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request
from goqueue.core.requests.table import name


@define(eq=False)
class Gate:
    """The gate of one node; so far it admits everybody, and gives out producer ids at a pace."""

    # Of clients, since the node began: requests by class, and refusals by code.
    requests: dict[type[Request], int] = field(factory=dict)
    refusals: dict[Code, int] = field(factory=dict)
    _producer_pace: ProducerPace = field(factory=ProducerPace)

    def counted(self) -> tuple[dict[str, int], dict[str, int]]:
        """Return how many requests there were by name, and how many refusals by code."""
        return {name(kind): count for kind, count in self.requests.items()}, {
            code.value: count for code, count in self.refusals.items()
        }

    def admit(self, now: int, call: Call, request: Request) -> Refusal | None:
        """Return why a request does not go on; None admits it."""
        kind = type(request)
        if not call.is_part:
            self.requests[kind] = self.requests.get(kind, 0) + 1
            if kind is InitProducer:
                return self._producer_pace.refusal(now, call.caller)
        return None

    def answered(self, reply: Reply) -> None:
        """Count the answer to a client."""
        if isinstance(reply, Refusal):
            self.refusals[reply.code] = self.refusals.get(reply.code, 0) + 1
