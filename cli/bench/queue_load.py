"""Messages that are due later, published ahead of time, and received by somebody who does next to nothing else."""

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import trio
from attrs import define

from goqueue.cli.bench.grpc_load import PUBLISH, SUBSCRIBE, channel, codec
from goqueue.cli.bench.workbench import BenchError
from goqueue.core.records.batch import read_header, split
from goqueue.proto import v1
from goqueue.proto.fields import UNSET, fields_of, made
from goqueue.transports.client.channel import Channel

_A_CALL = 500
_IN_FLIGHT = 4
_BYTES_MAX = 1 << 20
_PADDING = bytes(1016)


@define
class Arrival:
    """When the first and the last of some messages came, in nanoseconds since 1970."""

    first: int
    last: int


@asynccontextmanager
async def crew() -> AsyncIterator[trio.Nursery]:
    """A nursery whose first failure is raised as it is, so that a run ends with a sentence."""
    try:
        async with trio.open_nursery() as nursery:
            yield nursery
    except ExceptionGroup as group:
        first: Exception = group
        while isinstance(first, ExceptionGroup):
            first = first.exceptions[0]
        raise first from group


async def publish_kept(address: str, topic: str, dues: Sequence[int]) -> None:
    """Publish messages of 1,024 bytes, each of which says when it is due, in milliseconds since 1970.

    What is due by then is published at once; who minds looks at the clock afterwards.
    """
    places = iter(range(0, len(dues), _A_CALL))

    async def publish_some(connection: Channel) -> None:
        for place in places:
            await _publish(connection, topic, dues[place : place + _A_CALL])

    async with channel(address) as connection, crew() as nursery:
        for _ in range(_IN_FLIGHT):
            nursery.start_soon(publish_some, connection)


async def _publish(connection: Channel, topic: str, dues: Sequence[int]) -> None:
    messages = [made(v1.NewMessage, value=due.to_bytes(8, "big") + _PADDING, deliver_at_ms=due) for due in dues]
    request = codec.encode(made(v1.PublishRequest, topic=topic, messages=messages))
    reply = codec.decode(v1.PublishReply, await connection.call(PUBLISH, request, None))
    for result in reply.results:
        if fields_of(result)["refusal"] is not UNSET:
            raise BenchError(f"the broker refuses: {result.refusal.message}")


async def receive(address: str, topic: str, count: int) -> Arrival:
    """Read a partition from its start until so many came."""
    request = v1.SubscribeRequest(positions=[v1.Position(topic=topic, earliest=True)], bytes_max=_BYTES_MAX)
    first = found = 0
    async with channel(address) as connection, connection.stream(SUBSCRIBE) as call:
        await call.send(codec.encode(request))
        await call.finish()
        while found < count:
            for message in await call.receive():
                reply = codec.decode(v1.SubscribeReply, message)
                found += sum(read_header(batch).record_count for batch in split(reply.batches))
                if found and not first:
                    first = time.time_ns()
        return Arrival(first, time.time_ns())
