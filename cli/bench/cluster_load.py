"""Load on a cluster as users put it there: producers and readers of the client library, and a history of all they saw.

Each stream of a load is a producer of its own with a key of its own, so a partition that nobody leads for a while holds
up nobody else's. It sends at a steady pace, whether earlier messages are acknowledged or not, until it is told to stop;
then it waits for what is under way. Readers read from the beginning on until they are told to stop.
"""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import trio
from attrs import define, field

import goqueue
from goqueue.cli.bench.cluster_history import WHOLE, Acknowledged, History, Name, Seen
from goqueue.transports.client.connection import Connection
from goqueue.transports.client.errors import ClientError
from goqueue.transports.client.messages import Message
from goqueue.transports.client.producer import Pending, Producer

_IN_FLIGHT_MAX = 10_000
_DELIVERY = timedelta(minutes=1)
# What a reader may take to reach what was there when it was told to stop.
_PATIENCE_S = 30.0


@define
class Pace:
    """How much is sent: so many streams, each with a message of this size every so often."""

    streams: int = 4
    interval_s: float = 0.01
    value_bytes: int = 100
    readers: int = 1


@define(eq=False)
class Load:
    """Clients at work."""

    address: str
    topic: str
    pace: Pace
    history: History = field(factory=History)
    # Errors that clients raised where they should have gone on by themselves.
    errors: list[str] = field(factory=list)
    _stopping: trio.Event = field(factory=trio.Event, init=False)
    # Set and replaced whenever something was acknowledged or read, or somebody has ended.
    _news: trio.Event = field(factory=trio.Event, init=False)
    _sending: int = field(default=0, init=False)

    @property
    def is_flowing(self) -> bool:
        """Whether every stream has had an acknowledgement."""
        return len({name[0] for name in self.history.acknowledged}) == self.pace.streams

    def uses(self, partition: int) -> bool:
        """Whether any stream has its messages in a partition."""
        return any(one.partition == partition for one in self.history.acknowledged.values())

    async def until_flowing(self) -> None:
        """Wait until every stream has had an acknowledgement."""
        while not self.is_flowing:
            await self._news.wait()

    async def until_acknowledged(self, moment_ns: int, partition: int, *, within_s: float) -> int:
        """When a message of a partition was acknowledged that was sent after a moment; TimeoutError if none is."""
        with trio.move_on_after(within_s):
            while True:
                at = self.history.first_after(moment_ns, partition)
                if at is not None:
                    return at
                await self._news.wait()
        raise TimeoutError(f"nothing was acknowledged by partition {partition} within {within_s:.0f} s")

    def stop(self) -> None:
        """Send nothing more, and read no further than what is there."""
        self._stopping.set()

    def _tell(self) -> None:
        self._news.set()
        self._news = trio.Event()

    # --- sending

    async def stream(self, number: int) -> None:
        """Send until told to stop, and wait for all answers."""
        key = f"key-{number}"
        self._sending += 1
        try:
            async with goqueue.connect(self.address) as gq, gq.producer(delivery_timeout=_DELIVERY) as producer:
                ways_in, ways_out = trio.open_memory_channel[tuple[Name, int, Pending]](_IN_FLIGHT_MAX)
                async with trio.open_nursery() as nursery, ways_in:
                    nursery.start_soon(self._note, ways_out)
                    await self._send(producer, key, ways_in)
        except ClientError as error:
            self.errors.append(f"the producer of {key}: {error!r}")
        finally:
            self._sending -= 1
            self._tell()

    async def _send(
        self, producer: Producer, key: str, ways_in: trio.MemorySendChannel[tuple[Name, int, Pending]]
    ) -> None:
        number, due = 0, trio.current_time()
        while not self._stopping.is_set():
            name = key, number
            self.history.sent[name] = sent = time.monotonic_ns()
            value = f"{number} ".encode().ljust(self.pace.value_bytes, b".")
            await ways_in.send((name, sent, await producer.send(self.topic, value, key=key)))
            number, due = number + 1, due + self.pace.interval_s
            with trio.move_on_at(due):
                await self._stopping.wait()

    async def _note(self, ways_out: trio.MemoryReceiveChannel[tuple[Name, int, Pending]]) -> None:
        async for name, sent, pending in ways_out:
            try:
                published = await pending
            except ClientError as error:
                self.history.refused[name] = str(error)
            else:
                at = time.monotonic_ns()
                self.history.acknowledged[name] = Acknowledged(published.partition, published.offset, sent, at)
            self._tell()

    # --- reading

    async def read(self, number: int) -> None:
        """Read on until all is read that was acknowledged when everybody had stopped sending."""
        reading = self.history.readings.setdefault(f"reader-{number}", [])
        try:
            async with goqueue.connect(self.address) as gq, trio.open_nursery() as nursery:
                nursery.start_soon(self._read_on, gq, reading)
                await self._stopping.wait()
                with trio.move_on_after(_PATIENCE_S):
                    while self._sending or not self._has_all(reading):
                        await self._news.wait()
                if not self._has_all(reading):
                    count, wanted = len(reading), len(self.history.acknowledged)
                    self.errors.append(f"reader {number} has {count} messages of {wanted} and came no further")
                nursery.cancel_scope.cancel()
        except* ClientError as errors:
            self.errors += [f"a reader: {error!r}" for error in errors.exceptions]

    async def _read_on(self, gq: Connection, reading: list[Seen]) -> None:
        async with gq.consumer(self.topic, start="earliest") as consumer:
            async for batch in consumer.batches():
                reading += [_seen(message) for message in batch]
                self._tell()

    def _has_all(self, reading: list[Seen]) -> bool:
        return len(reading) >= len(self.history.acknowledged)

    async def read_whole(self) -> None:
        """Read all there is, once; nothing may be sent meanwhile."""
        self.history.readings[WHOLE] = reading = []
        async with (
            goqueue.connect(self.address) as gq,
            gq.consumer(self.topic, start="earliest", stop="latest") as consumer,
        ):
            async for batch in consumer.batches():
                reading += [_seen(message) for message in batch]


@asynccontextmanager
async def loaded(address: str, topic: str, pace: Pace) -> AsyncIterator[Load]:
    """A load that flows; at the end of the block it stops, and the whole topic is read."""
    load = Load(address, topic, pace)
    async with trio.open_nursery() as nursery:
        for number in range(pace.streams):
            nursery.start_soon(load.stream, number)
        for number in range(pace.readers):
            nursery.start_soon(load.read, number)
        await load.until_flowing()
        yield load
        load.stop()
    await load.read_whole()


def _seen(message: Message) -> Seen:
    key, value = message.key, message.value
    assert key is not None
    assert value is not None
    return Seen(message.partition, message.offset, (bytes(key).decode(), int(bytes(value).split(b" ", 1)[0])))
