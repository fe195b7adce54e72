"""Reading a topic from somewhere on: messages one by one or batch by batch, with nothing lost and nothing twice.

A consumer stands somewhere in every partition that it reads and moves on with what it hands out. It keeps that place
itself, so a broker that comes back, or another one, is asked to go on from exactly there. Where to begin is found out
once, on entering the block: "latest" is what was the end then, however long the first connection takes. Who reads
all partitions and has no stop also reads those that are added later, from their beginning.

What came and was not asked for waits as bytes; what the broker has beyond that waits at the broker, since the stream's
window closes. Nothing runs beside the caller.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from operator import length_hint
from typing import TypeAlias

from attrs import define
from grpclib.exceptions import GRPCError

from goqueue.core.client.backoff import Backoff
from goqueue.core.client.failure import CONNECTION_LOST, PASSING, Failure
from goqueue.core.client.fetching import Cursor, Fetching
from goqueue.core.errors import BatchError
from goqueue.core.verbs import Code
from goqueue.proto import v1
from goqueue.proto.wire import WireError
from goqueue.transports.client import lost
from goqueue.transports.client.brokers import Brokers
from goqueue.transports.client.channel import CallStream
from goqueue.transports.client.errors import (
    CODEC,
    ClientError,
    CorruptBatch,
    PartitionNotFound,
    bad_reply,
    error_of,
    failure_of,
    refusal_failure,
)
from goqueue.transports.client.loops import SECOND_NS
from goqueue.transports.client.messages import Message
from goqueue.transports.client.times import MILLISECOND, milliseconds_of, wall_ms
from goqueue.transports.client.topics import Partition, Topics

SUBSCRIBE = "/goqueue.v1.Messages/Subscribe"
EARLIEST, LATEST = "earliest", "latest"
# How much is handed out before others, the network among them, get their turn.
TURN_BYTES = 256 << 10
# How often partitions are looked for that were added to the topic.
LOOK_NS = 30 * SECOND_NS

Start: TypeAlias = str | int | datetime | timedelta
Stop: TypeAlias = str | int | datetime | None


@define
class _Moment:
    """A point in time, in milliseconds since 1970."""

    ms: int


@define
class ConsumerTerms:
    """What a consumer was asked to be, checked: a place is a word, an offset or a moment."""

    topic: str
    start: str | int | _Moment
    stop: str | int | _Moment | None
    partitions: list[int] | None


def consumer_terms(topic: str, start: Start, stop: Stop, partitions: int | Sequence[int] | None) -> ConsumerTerms:
    """The terms of a consumer out of what a user said; raises ValueError or TypeError."""
    if isinstance(partitions, int):
        partitions = [partitions]
    chosen = None if partitions is None else sorted(dict.fromkeys(partitions))
    if chosen is not None and (not chosen or chosen[0] < 0):
        raise ValueError(f"partitions are numbers from 0 on, at least one, not {partitions!r}")
    until = None if stop is None else _place(stop, "stop", (LATEST,))
    return ConsumerTerms(topic, _place(start, "start", (EARLIEST, LATEST)), until, chosen)


class Consumer:
    """Reads messages; made by `consumer()` of a connection, used as a block and in `async for`."""

    def __init__(self, brokers: Brokers, terms: ConsumerTerms) -> None:
        self._brokers = brokers
        self._loop = brokers.loop
        self._terms = terms
        self._fetching: Fetching[Message] = Fetching([], Message)
        self._stream: CallStream | None = None
        self._subscribed: list[Cursor] = []
        self._backoff = Backoff(brokers.random)
        self._attempts = 0
        # The batch that is being handed out, and what is left of it.
        self._batch: list[Message] = []
        self._messages: Iterator[Message] = iter(())
        self._cursor: Cursor | None = None
        self._handed_bytes = 0
        # Whether partitions are read that are added later, and when to look for them.
        self._follows = terms.partitions is None and terms.stop is None
        self._look_at = 0

    async def __aenter__(self) -> "Consumer":
        self._fetching = Fetching(await self._cursors(), Message)
        self._look_at = self._loop.now() + LOOK_NS
        return self

    async def __aexit__(self, *_error: object) -> None:
        self._leave()

    # --- reading

    def __aiter__(self) -> "Consumer":
        return self

    async def __anext__(self) -> Message:
        for message in self._messages:
            return message
        await self._refill()
        return next(self._messages)

    def batches(self) -> "Batches":
        """The messages as lists, each of one partition and as long as a batch: `async for batch in ...`."""
        return Batches(self)

    async def next_batch(self) -> list[Message]:
        """What is left of the current batch, or the next one; raises StopAsyncIteration at the end."""
        batch = list(self._messages)
        if not batch:
            await self._refill()
            batch = list(self._messages)
        return batch

    def position(self, partition: int) -> int:
        """The offset of the next message of this partition; what was handed out lies before it."""
        cursor = self._find(partition)
        if cursor is self._cursor:
            left = length_hint(self._messages)
            return self._batch[-left].offset if left else self._batch[-1].offset + 1
        return cursor.position

    async def seek(
        self, *, offset: int | None = None, time: datetime | None = None, partition: int | None = None
    ) -> None:
        """Go on from an offset, or from the first message at or after a time, in one partition or in all."""
        if (offset is None) == (time is None):
            raise TypeError("seek takes either an offset or a time")
        place = _place(offset if time is None else time, "offset" if time is None else "time", ())
        cursors = self._fetching.cursors if partition is None else [self._find(partition)]
        found = [await self._offset(place, cursor.partition) for cursor in cursors]
        # What is left of the current batch stays, if it is of a partition that does not move.
        if self._cursor in cursors:
            self._batch, self._messages, self._cursor = [], iter(()), None
        for cursor, at in zip(cursors, found, strict=True):
            self._fetching.seek(cursor, at)
        self._leave()

    async def _refill(self) -> None:
        """Make the next batch the current one; raises StopAsyncIteration when there never will be one."""
        self._hand_over()
        fetching = self._fetching
        if self._handed_bytes >= TURN_BYTES:
            self._handed_bytes = 0
            await self._loop.pause(0)
        while True:
            found = self._next()
            if found is not None:
                cursor, batch = found
                self._cursor, self._batch, self._messages = cursor, batch, iter(batch)
                return
            if fetching.is_done:
                self._leave()
                raise StopAsyncIteration
            await self._receive()

    def _next(self) -> tuple[Cursor, list[Message]] | None:
        try:
            found = self._fetching.next()
        except BatchError as error:
            self._leave()
            raise CorruptBatch(f"{self._terms.topic}: {error}", str(Code.CORRUPT_BATCH)) from error
        if found is None:
            return None
        cursor, batch, size = found
        self._handed_bytes += size
        return cursor, batch

    def _hand_over(self) -> None:
        """What is left of the current batch begins where the cursor goes on."""
        if self._cursor is not None:
            self._fetching.handed(self._cursor, self.position(self._cursor.partition))
            self._cursor = None

    # --- the stream

    async def _receive(self) -> None:
        """Wait for something from the broker; whatever goes wrong in passing, begin again from where we are."""
        if self._follows and self._loop.now() >= self._look_at:
            await self._look_again()
        try:
            stream = self._stream or await self._subscribe()
            bodies = await self._bodies(stream)
        except (GRPCError, lost.ConnectionLost) as error:
            await self._begin_again(failure_of(error))
            return
        if bodies is None:
            return
        if not bodies:
            await self._begin_again(Failure(str(Code.UNAVAILABLE), "the broker ended the subscription"))
        for body in bodies:
            reply = self._read(body)
            if reply.batches:
                self._attempts = 0
                self._fetching.received(self._subscribed[reply.position], reply.batches, reply.next_offset)
            elif reply.leaving:
                await self._begin_again(Failure(str(Code.SHUTTING_DOWN), "the broker is about to stop"))
                return
            elif reply.refusal.code:
                await self._begin_again(refusal_failure(reply.refusal))
                return

    def _read(self, body: bytes) -> v1.SubscribeReply:
        try:
            reply: v1.SubscribeReply = CODEC.decode(v1.SubscribeReply, body)
        except WireError as error:
            self._leave()
            raise bad_reply("SubscribeReply", error, self._terms.topic) from error
        if reply.position >= len(self._subscribed):
            self._leave()
            why = f"it is for position {reply.position} of {len(self._subscribed)}"
            raise bad_reply("SubscribeReply", why, self._terms.topic)
        return reply

    async def _look_again(self) -> None:
        """Read what partitions were added since, from their beginning."""
        topics, cursors = Topics(self._brokers), self._fetching.cursors
        try:
            for found in await topics.partitions(self._terms.topic):
                # One that is not open yet is passed over, and with it those behind: they are read next time.
                if found.partition == len(cursors):
                    start = found.start_offset
                    cursors.append(Cursor(self._terms.topic, found.partition, start, start))
                    self._leave()
        except ClientError:
            # What is wrong with the topic the subscription says as well, and what is wrong in passing comes right.
            pass
        self._look_at = self._loop.now() + LOOK_NS

    async def _bodies(self, stream: CallStream) -> list[bytes] | None:
        """What came; None if nothing did before it is time to look for partitions."""
        if not self._follows or stream.at_hand:
            return await stream.receive()
        came: list[list[bytes]] = []

        async def listen() -> None:
            came.append(await stream.receive())

        await self._loop.within(self._look_at, listen)
        return came[0] if came else None

    async def _subscribe(self) -> CallStream:
        self._subscribed = self._fetching.wanted()
        assert self._subscribed
        positions = [
            v1.Position(topic=cursor.topic, partition=cursor.partition, offset=cursor.fetched)
            for cursor in self._subscribed
        ]
        channel = await self._brokers.channel()
        stream = self._stream = channel.stream(SUBSCRIBE)
        await stream.send(CODEC.encode(v1.SubscribeRequest(positions=positions)))
        await stream.finish()
        return stream

    async def _begin_again(self, failure: Failure) -> None:
        """Pause before the next subscription, if that can help; else raise what is the matter."""
        self._leave()
        self._look_at = 0
        if failure.code not in PASSING:
            raise error_of(failure, self._terms.topic)
        self._attempts += 1
        delay_ns = self._backoff.delay_ns(self._attempts)
        if failure.code != CONNECTION_LOST:
            delay_ns = max(delay_ns, failure.retry_after_ms * 1_000_000)
        await self._loop.pause(delay_ns)

    def _leave(self) -> None:
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.leave()

    # --- places

    async def _cursors(self) -> list[Cursor]:
        """Where to begin and where to stop, in every partition."""
        terms = self._terms
        topics = Topics(self._brokers)
        count = (await topics.describe(terms.topic)).partitions
        chosen = range(count) if terms.partitions is None else terms.partitions
        if chosen[-1] >= count:
            said = f"{terms.topic} has partitions 0 to {count - 1}, not {chosen[-1]}"
            raise PartitionNotFound(said, str(Code.PARTITION_NOT_FOUND), "partition")
        found = {partition.partition: partition for partition in await topics.partitions(terms.topic)}
        return [await self._cursor_of(number, found.get(number)) for number in chosen]

    async def _cursor_of(self, partition: int, found: Partition | None) -> Cursor:
        terms, stop, stop_ms = self._terms, None, None
        start = await self._offset(terms.start, partition, found)
        if terms.stop is not None:
            is_ahead = isinstance(terms.stop, _Moment) and terms.stop.ms > wall_ms()
            if is_ahead:
                assert isinstance(terms.stop, _Moment)
                stop_ms = terms.stop.ms
            else:
                stop = await self._offset(terms.stop, partition, found)
        return Cursor(terms.topic, partition, start, start, stop, stop_ms)

    async def _offset(self, place: str | int | _Moment, partition: int, found: Partition | None = None) -> int:
        """The offset of a place."""
        if isinstance(place, int):
            return place
        if found is not None and place == EARLIEST:
            return found.start_offset
        if found is not None and place == LATEST:
            return found.high_watermark
        timestamp = place.ms if isinstance(place, _Moment) else 0 if place == EARLIEST else (1 << 63) - 1
        request = v1.FindOffsetRequest(self._terms.topic, partition, timestamp)
        reply = await self._brokers.call("Messages/FindOffset", request, v1.FindOffsetReply, self._terms.topic)
        return int(reply.offset)

    def _find(self, partition: int) -> Cursor:
        for cursor in self._fetching.cursors:
            if cursor.partition == partition:
                return cursor
        raise ValueError(f"this consumer does not read partition {partition} of {self._terms.topic}")


class Batches:
    """The messages of a consumer, batch by batch."""

    def __init__(self, consumer: Consumer) -> None:
        self._consumer = consumer

    def __aiter__(self) -> "Batches":
        return self

    async def __anext__(self) -> list[Message]:
        return await self._consumer.next_batch()


def _place(given: Start | None, name: str, words: tuple[str, ...]) -> str | int | _Moment:
    """A place that a user named, checked."""
    if isinstance(given, datetime):
        return _Moment(milliseconds_of(given, name))
    if isinstance(given, timedelta):
        if given < timedelta(0):
            raise ValueError(f"{name} is that long ago, so not negative: {given}")
        return _Moment(wall_ms() - given // MILLISECOND)
    if isinstance(given, int) and not isinstance(given, bool):
        if given < 0:
            raise ValueError(f"{name} is an offset from 0 on, not {given}")
        return given
    if isinstance(given, str) and given in words:
        return given
    choices = [*(repr(word) for word in words), "an offset", "an aware datetime"]
    raise ValueError(f"{name} is {', '.join(choices)}, not {given!r}")
