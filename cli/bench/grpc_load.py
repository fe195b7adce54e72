"""Load over gRPC from a client that does next to nothing: messages made beforehand, replies counted and looked at."""

import contextlib
import time
from collections.abc import AsyncIterator

from goqueue.cli.bench.workbench import BenchError
from goqueue.core.records.batch import read_header, split
from goqueue.proto import v1
from goqueue.proto.codec import StrictCodec
from goqueue.transports.client.channel import Channel, open_channel
from goqueue.transports.client.trio_loop import TrioLoop

PUBLISH = "/goqueue.v1.Messages/Publish"
PUBLISH_STREAM = "/goqueue.v1.Messages/PublishStream"
SUBSCRIBE = "/goqueue.v1.Messages/Subscribe"

codec = StrictCodec(views=True)


@contextlib.asynccontextmanager
async def channel(address: str) -> AsyncIterator[Channel]:
    """One connection to a broker."""
    async with TrioLoop() as loop:
        opened = await open_channel(loop, address)
        try:
            yield opened
        finally:
            await opened.close()


async def publish_stream(address: str, messages: list[bytes], count: int, window: int) -> float:
    """Send `count` batches in turn, at most `window` of them unanswered; the seconds that took."""
    async with channel(address) as connection, connection.stream(PUBLISH_STREAM) as call:
        begun = time.perf_counter()
        sent = answered = 0
        while answered < count:
            while sent < count and sent - answered < window:
                await call.send(messages[sent % len(messages)])
                sent += 1
            for reply in await call.receive():
                _check(codec.decode(v1.PublishBatchReply, reply).refusal)
                answered += 1
        await call.finish()
        return time.perf_counter() - begun


async def subscribe(address: str, topic: str, records: int, bytes_max: int) -> float:
    """Read a partition from its start, up to so many records; the seconds that took."""
    request = v1.SubscribeRequest(positions=[v1.Position(topic=topic, earliest=True)], bytes_max=bytes_max)
    async with channel(address) as connection, connection.stream(SUBSCRIBE) as call:
        begun = time.perf_counter()
        await call.send(codec.encode(request))
        await call.finish()
        found = 0
        while found < records:
            for message in await call.receive():
                reply = codec.decode(v1.SubscribeReply, message)
                _check(reply.refusal)
                found += sum(read_header(batch).record_count for batch in split(reply.batches))
        return time.perf_counter() - begun


async def publish_one_by_one(address: str, topic: str, value: bytes, count: int) -> list[int]:
    """Publish one message at a time, each by a call of its own; how long each took, in nanoseconds."""
    request = codec.encode(v1.PublishRequest(topic=topic, messages=[v1.NewMessage(value=value)], acks=v1.Acks(1)))
    taken: list[int] = []
    async with channel(address) as connection:
        for _ in range(count):
            begun = time.perf_counter_ns()
            reply = codec.decode(v1.PublishReply, await connection.call(PUBLISH, request, None))
            taken.append(time.perf_counter_ns() - begun)
            _check(reply.results[0].refusal)
    return taken


def _check(refusal: v1.Refusal | None) -> None:
    if refusal is not None and refusal.code:
        raise BenchError(f"the broker refuses: {refusal.message}")
