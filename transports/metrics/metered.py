"""A broker that is measured on the way: the same calls, and counters that know how long they took.

A publish is measured from the request to its answer. So is a fetch that may not wait; one that may would tell how long
there was no news. What readers are given is counted here for those who get whole batches; REST, which gives single
messages, counts for itself.

What a batch says of itself is read before it is handed on, for when the answer comes its bytes may be another's.
"""

import time
from collections.abc import Callable

from goqueue.core.errors import BatchError
from goqueue.core.records.batch import HEADER_BYTES, Header, Lane, locate, read_header
from goqueue.core.records.claims import is_possible
from goqueue.core.requests.call import Caller
from goqueue.core.requests.groups import Polled
from goqueue.core.requests.messages import Fetch, Fetched, NewRecord, Publish, PublishBatch, Published, PublishReply
from goqueue.core.requests.queues import PolledWork
from goqueue.core.requests.refusals import Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request
from goqueue.core.requests.table import MEASURED
from goqueue.transports.broker import Broker
from goqueue.transports.metrics.meters import BrokerMeters

ALL_WELL = {Published}


class MeteredBroker:
    """See Broker."""

    def __init__(self, broker: Broker, meters: BrokerMeters) -> None:
        self._broker = broker
        self._meters = meters
        self.forget = broker.forget
        self.is_roomy = broker.is_roomy
        self.room = broker.room
        self.when_leaving = broker.when_leaving

    async def ask(self, caller: Caller, request: Request) -> Reply:
        """See Broker."""
        if type(request) not in MEASURED:
            return await self._broker.ask(caller, request)
        since, header = time.monotonic_ns(), _header(request)
        reply = await self._broker.ask(caller, request)
        self._measure(caller, request, reply, since, header)
        return reply

    def post(self, caller: Caller, request: Request, receive: Callable[[Reply], None]) -> int:
        """See Broker."""
        if type(request) not in MEASURED:
            return self._broker.post(caller, request, receive)
        since, header = time.monotonic_ns(), _header(request)
        meters = self._meters

        def measure(reply: Reply) -> None:
            if header is not None and type(reply) is PublishReply and type(reply.results[0]) is Published:
                # A batch has one answer, and nearly every batch this one.
                meters.publish_latency.observe(time.monotonic_ns() - since)
                meters.count_prioritized(header.lane, header.record_count)
            else:
                self._measure(caller, request, reply, since, header)
            receive(reply)

        return self._broker.post(caller, request, measure)

    def _measure(self, caller: Caller, request: Request, reply: Reply, since: int, header: Header | None) -> None:
        if isinstance(request, Publish | PublishBatch):
            self._measure_publish(request, reply, since, header)
        elif isinstance(request, Fetch):
            self._measure_fetch(caller, request, reply, since)
        elif not caller.protocol.startswith("http"):
            self._measure_poll(reply)

    def _measure_fetch(self, caller: Caller, request: Fetch, reply: Reply, since: int) -> None:
        if request.wait_ns <= 0:
            self._meters.fetch_latency.observe(time.monotonic_ns() - since)
        if isinstance(reply, Fetched) and reply.batches and not caller.protocol.startswith("http"):
            self._meters.count_consumed(request.topic, reply.next_offset - request.offset, len(reply.batches))

    def _measure_poll(self, reply: Reply) -> None:
        if isinstance(reply, Polled):
            for part in reply.parts:
                self._meters.count_consumed(part.topic, part.end_offset - part.first_offset, len(part.batches))
        elif isinstance(reply, PolledWork):
            for leased in reply.parts:
                self._meters.count_consumed(leased.topic, sum(run.count for run in leased.leases), len(leased.batches))

    def _measure_publish(
        self, request: Publish | PublishBatch, reply: Reply, since: int, header: Header | None
    ) -> None:
        meters = self._meters
        meters.publish_latency.observe(time.monotonic_ns() - since)
        if isinstance(reply, Refusal):
            meters.count_failed(reply.code, _message_count(request))
        elif isinstance(reply, PublishReply):
            if set(map(type, reply.results)) != ALL_WELL:
                each = _message_count(request) if isinstance(request, PublishBatch) else 1
                for result in reply.results:
                    if isinstance(result, Refusal):
                        meters.count_failed(result.code, each)
            elif header is not None:
                meters.count_prioritized(header.lane, header.record_count)
            if isinstance(request, Publish):
                self._count_lanes(request.records, reply.results)

    def _count_lanes(self, records: list[NewRecord], results: list[Published | Refusal]) -> None:
        lanes = [record.lane for record, result in zip(records, results, strict=True) if type(result) is Published]
        normal = lanes.count(Lane.NORMAL)
        self._meters.count_prioritized(Lane.NORMAL, normal)
        if normal < len(lanes):
            for lane in lanes:
                if lane is not Lane.NORMAL:
                    self._meters.count_prioritized(lane, 1)


def _header(request: Request) -> Header | None:
    """What a batch says of itself, if that can be read; whether it is true, its being taken shows."""
    if isinstance(request, PublishBatch) and len(request.batch) >= HEADER_BYTES:
        return read_header(request.batch)
    return None


def _message_count(request: Publish | PublishBatch) -> int:
    """How many messages a publish is about; a batch that tells no count is one."""
    if isinstance(request, Publish):
        return len(request.records)
    try:
        header = locate(request.batch)
    except BatchError:
        return 1
    # One that was refused for what it claims would make the counter say the same.
    return max(header.record_count, 1) if is_possible(header) else 1
