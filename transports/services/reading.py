"""Messages asked for by one call, once there is room for the reply.

A call that may wait for messages holds no room meanwhile: it is asked without waiting first, and if there is nothing,
again with waiting, and then for little.
"""

from typing import TypeVar

from attrs import evolve
from grpclib.const import Status
from grpclib.exceptions import GRPCError

from goqueue.core.requests.messages import Fetch, Fetched
from goqueue.core.requests.queues import PolledWork, PollWork
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.transports.broker import Broker
from goqueue.transports.grpc.call import OVERLOADED, ServerCall
from goqueue.transports.services.calls import ask
from goqueue.transports.services.refusals import detail, refused

T = TypeVar("T", Fetched, PolledWork)

# What a reply is begun with at least, and what one may bring that comes without room being held for it.
ROOM_BYTES_LEAST = 1 << 20
_OVERLOADED = Refusal(Code.UNAVAILABLE, OVERLOADED, retry_after_ms=1000)


async def ask_for_messages(call: ServerCall, broker: Broker, wanted: Fetch | PollWork | Refusal, kind: type[T]) -> T:
    """The messages of a reply; the room for them is held until the call ends."""
    if isinstance(wanted, Refusal):
        raise refused(wanted)
    size = wanted.max_bytes if isinstance(wanted, Fetch) else wanted.bytes_max
    granted = await call.reserve(max(size, 1), min(max(size, 1), ROOM_BYTES_LEAST))
    if not granted:
        raise GRPCError(Status.RESOURCE_EXHAUSTED, OVERLOADED, [detail(_OVERLOADED)])
    reply = await ask(broker, _sized(wanted, min(size, granted), 0), kind)
    if wanted.wait_ns <= 0 or not _is_empty(reply):
        return reply
    call.unreserve()
    return await ask(broker, _sized(wanted, min(size, ROOM_BYTES_LEAST), wanted.wait_ns), kind)


def _sized(wanted: Fetch | PollWork, size: int, wait_ns: int) -> Fetch | PollWork:
    if isinstance(wanted, Fetch):
        return evolve(wanted, max_bytes=size, wait_ns=wait_ns)
    return evolve(wanted, bytes_max=size, wait_ns=wait_ns)


def _is_empty(reply: Fetched | PolledWork) -> bool:
    return not (len(reply.batches) if isinstance(reply, Fetched) else reply.parts)
