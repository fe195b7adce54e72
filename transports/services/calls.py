"""One request of whoever calls: what every method here begins with."""

from typing import TypeVar

from goqueue.core.requests.refusals import Refusal
from goqueue.core.requests.row import Request
from goqueue.transports.broker import Broker
from goqueue.transports.grpc.call import current_call
from goqueue.transports.services.refusals import refused

T = TypeVar("T")


async def ask(broker: Broker, wanted: Request | Refusal, kind: type[T]) -> T:
    """The broker's reply to what the current call wants, which is a `kind`; its refusal as a GRPCError."""
    if isinstance(wanted, Refusal):
        raise refused(wanted)
    reply = await broker.ask(current_call.get().caller, wanted)
    if isinstance(reply, kind):
        return reply
    if isinstance(reply, Refusal):
        raise refused(reply)
    raise TypeError(f"{type(wanted).__name__} was answered with {type(reply).__name__}")
