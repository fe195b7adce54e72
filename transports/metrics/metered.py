"""A broker that is measured on the way: the same calls, and counters that know how long they took.

A publish is measured from the request to its answer. So is a fetch that may not wait; one that may would tell how long
there was no news. What readers are given is counted here for those who get whole batches; REST, which gives single
messages, counts for itself.
"""

import time
from collections.abc import Callable

from goqueue.core.calls import Reply, Request
from goqueue.core.errors import BatchError
from goqueue.core.groups.verbs import Polled, PollGroup
from goqueue.core.records.batch import locate
from goqueue.core.verbs import (
    Caller,
    Fetch,
    Fetched,
    Publish,
    PublishBatch,
    Published,
    PublishReply,
    Refusal,
)
from goqueue.transports.broker import Broker
from goqueue.transports.metrics.meters import BrokerMeters

MEASURED = (Publish, PublishBatch, Fetch, PollGroup)
ALL_WELL = {Published}


class MeteredBroker:
    """See Broker."""

    def __init__(self, broker: Broker, meters: BrokerMeters) -> None:
        self._broker = broker
        self._meters = meters
        self.forget = broker.forget
        self.room = broker.room
        self.when_leaving = broker.when_leaving

    @property
    def is_roomy(self) -> bool:
        """See Broker."""
        return self._broker.is_roomy

    async def ask(self, caller: Caller, request: Request) -> Reply:
        """See Broker."""
        if type(request) not in MEASURED:
            return await self._broker.ask(caller, request)
        since = time.monotonic_ns()
        reply = await self._broker.ask(caller, request)
        self._measure(caller, request, reply, since)
        return reply

    def post(self, caller: Caller, request: Request, receive: Callable[[Reply], None]) -> int:
        """See Broker."""
        if type(request) not in MEASURED:
            return self._broker.post(caller, request, receive)
        since = time.monotonic_ns()

        def measure(reply: Reply) -> None:
            self._measure(caller, request, reply, since)
            receive(reply)

        return self._broker.post(caller, request, measure)

    def _measure(self, caller: Caller, request: Request, reply: Reply, since: int) -> None:
        meters = self._meters
        if isinstance(request, Fetch):
            if request.wait_ns <= 0:
                meters.fetch_latency.observe(time.monotonic_ns() - since)
            if isinstance(reply, Fetched) and reply.batches and not caller.protocol.startswith("http"):
                meters.count_consumed(request.topic, reply.next_offset - request.offset, len(reply.batches))
            return
        if isinstance(request, PollGroup):
            if isinstance(reply, Polled) and not caller.protocol.startswith("http"):
                for part in reply.parts:
                    meters.count_consumed(part.topic, part.end_offset - part.first_offset, len(part.batches))
            return
        meters.publish_latency.observe(time.monotonic_ns() - since)
        if isinstance(reply, Refusal):
            meters.count_failed(reply.code, _message_count(request))
        elif isinstance(reply, PublishReply) and set(map(type, reply.results)) != ALL_WELL:
            each = _message_count(request) if isinstance(request, PublishBatch) else 1
            for result in reply.results:
                if isinstance(result, Refusal):
                    meters.count_failed(result.code, each)


def _message_count(request: Request) -> int:
    """How many messages a publish is about; a batch that tells no count is one."""
    if isinstance(request, Publish):
        return len(request.records)
    assert isinstance(request, PublishBatch)
    try:
        return max(locate(request.batch).record_count, 1)
    except BatchError:
        return 1
