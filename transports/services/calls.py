"""Who calls, and one request of theirs: what every method here begins with."""

from typing import TypeVar

from goqueue.core.requests.call import Caller
from goqueue.core.requests.refusals import Refusal
from goqueue.core.requests.row import Request
from goqueue.transports.broker import Broker
from goqueue.transports.grpc.call import ServerCall, current_call
from goqueue.transports.services.refusals import refused

T = TypeVar("T")
PROTOCOL = "grpc"
CLIENT_ID = b"goqueue-client-id"
TRACE = b"traceparent"
# These go into logs and ledgers; a header may be kilobytes.
_NAME_BYTES_MAX = 256


def caller_of(call: ServerCall) -> Caller:
    """On whose behalf a call is: by the name that it gives itself, or else by its address."""
    client_id, trace = call.header(CLIENT_ID), call.header(TRACE)
    return Caller(
        client_id=call.peer if client_id is None else client_id[:_NAME_BYTES_MAX].decode("latin-1"),
        protocol=PROTOCOL,
        trace="" if trace is None else trace[:_NAME_BYTES_MAX].decode("latin-1"),
        address=call.peer,
    )


async def ask(broker: Broker, wanted: Request | Refusal, kind: type[T]) -> T:
    """The broker's reply to what the current call wants, which is a `kind`; its refusal as a GRPCError."""
    if isinstance(wanted, Refusal):
        raise refused(wanted)
    reply = await broker.ask(caller_of(current_call.get()), wanted)
    if isinstance(reply, kind):
        return reply
    if isinstance(reply, Refusal):
        raise refused(reply)
    raise TypeError(f"{type(wanted).__name__} was answered with {type(reply).__name__}")
