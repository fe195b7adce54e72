"""One producer and one group member of the client library, and every moment at which either of them made progress.

The producer sends a small message to each partition in turn at a steady pace, whether earlier ones are acknowledged or
not. The member reads all partitions. Progress is counted by partition: a partition that stands still while the others
go on is an outage of that partition, and the longest gap of any partition is the gap of the client.

Not here: faults, and what a gap means (`cluster_outages.py`).
"""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from itertools import pairwise

import trio
from attrs import define, field

import goqueue
from goqueue.cli.bench.cluster_history import WHOLE, Acknowledged, History, Name, Seen
from goqueue.transports.client.errors import ClientError
from goqueue.transports.client.group_consumer import GroupConsumer
from goqueue.transports.client.messages import Message
from goqueue.transports.client.producer import Pending

_INTERVAL_S = 0.03
_IN_FLIGHT_MAX = 10_000
_DELIVERY = timedelta(minutes=2)
_PATIENCE_S = 60.0
_GROUP = "outage"


@define(eq=False)
class OutageLoad:
    """The two clients at work."""

    address: str
    topic: str
    partitions: int
    history: History = field(factory=History)
    # What the member was given, and errors that the clients raised where they should have gone on by themselves.
    delivered: set[Name] = field(factory=set)
    errors: list[str] = field(factory=list)
    # By partition, in monotonic nanoseconds.
    acknowledged_at: list[list[int]] = field(init=False)
    delivered_at: list[list[int]] = field(init=False)
    _stopping: trio.Event = field(factory=trio.Event, init=False)
    # Set and replaced whenever something was acknowledged or delivered, or the producer has ended.
    _news: trio.Event = field(factory=trio.Event, init=False)
    _has_sent_all: bool = field(default=False, init=False)

    def __attrs_post_init__(self) -> None:
        self.acknowledged_at = [[] for _ in range(self.partitions)]
        self.delivered_at = [[] for _ in range(self.partitions)]

    def producer_gap(self, begin_ns: int, end_ns: int) -> tuple[int, int]:
        """The longest time within a span in which some partition acknowledged nothing, by its begin and its end."""
        return _longest_gap(self.acknowledged_at, begin_ns, end_ns)

    def member_gap(self, begin_ns: int, end_ns: int) -> tuple[int, int]:
        """The longest time within a span in which the member was given nothing of some partition; likewise."""
        return _longest_gap(self.delivered_at, begin_ns, end_ns)

    def has_progressed(self, moment_ns: int) -> bool:
        """Whether every partition has acknowledged and delivered something after a moment."""
        return all(times and times[-1] > moment_ns for times in [*self.acknowledged_at, *self.delivered_at])

    async def until_flowing(self, moment_ns: int) -> None:
        """Wait until every partition has progressed after a moment; TimeoutError if one does not for long."""
        with trio.move_on_after(_PATIENCE_S):
            while not self.has_progressed(moment_ns):
                await self._news.wait()
            return
        raise TimeoutError(f"some partition made no progress for {_PATIENCE_S:.0f} s: {self.errors}")

    def stop(self) -> None:
        """Send nothing more, and read no further than what was acknowledged."""
        self._stopping.set()

    def _tell(self) -> None:
        self._news.set()
        self._news = trio.Event()

    def undelivered(self) -> list[str]:
        """A line for each acknowledged message that the member was never given."""
        return [
            f"undelivered: number {n} of key {key}"
            for key, n in sorted(self.history.acknowledged.keys() - self.delivered)
        ]

    async def produce(self) -> None:
        """Send until told to stop, and wait for all answers."""
        channels = [trio.open_memory_channel[tuple[Name, int, Pending]](_IN_FLIGHT_MAX) for _ in range(self.partitions)]
        try:
            async with (
                goqueue.connect(self.address) as gq,
                gq.producer(delivery_timeout=_DELIVERY) as producer,
                trio.open_nursery() as nursery,
            ):
                for _, outcomes in channels:
                    nursery.start_soon(self._note, outcomes)
                number, due = 0, trio.current_time()
                while not self._stopping.is_set():
                    for partition, (pending, _) in enumerate(channels):
                        name = f"key-{partition}", number
                        self.history.sent[name] = sent = time.monotonic_ns()
                        value = f"{number} ".encode().ljust(100, b".")
                        message = await producer.send(self.topic, value, key=name[0], partition=partition)
                        await pending.send((name, sent, message))
                    number, due = number + 1, due + _INTERVAL_S
                    with trio.move_on_at(due):
                        await self._stopping.wait()
                for pending, _ in channels:
                    pending.close()
        except* ClientError as errors:
            self.errors += [f"the producer: {error!r}" for error in errors.exceptions]
        finally:
            self._has_sent_all = True
            self._tell()

    async def _note(self, outcomes: trio.MemoryReceiveChannel[tuple[Name, int, Pending]]) -> None:
        async for name, sent, pending in outcomes:
            try:
                published = await pending
            except ClientError as error:
                self.history.refused[name] = str(error)
                continue
            at = time.monotonic_ns()
            self.history.acknowledged[name] = Acknowledged(published.partition, published.offset, sent, at)
            self.acknowledged_at[published.partition].append(at)
            self._tell()

    async def consume(self) -> None:
        """Read as a member of a group until told to stop and all that was acknowledged has come."""
        try:
            async with (
                goqueue.connect(self.address) as gq,
                gq.group_consumer(_GROUP, self.topic) as member,
                trio.open_nursery() as nursery,
            ):
                nursery.start_soon(self._read, member)
                await self._stopping.wait()
                with trio.move_on_after(_PATIENCE_S):
                    while not self._has_sent_all or self.undelivered():
                        await self._news.wait()
                nursery.cancel_scope.cancel()
        except* ClientError as errors:
            self.errors += [f"the member: {error!r}" for error in errors.exceptions]

    async def _read(self, member: GroupConsumer) -> None:
        async for batch in member.batches():
            at = time.monotonic_ns()
            self.delivered.update(_name(message) for message in batch)
            self.delivered_at[batch[0].partition].append(at)
            self._tell()

    async def read_whole(self) -> None:
        """Read all there is, once; nothing may be sent meanwhile."""
        self.history.readings[WHOLE] = reading = []
        async with (
            goqueue.connect(self.address) as gq,
            gq.consumer(self.topic, start="earliest", stop="latest") as consumer,
        ):
            async for batch in consumer.batches():
                reading += [Seen(message.partition, message.offset, _name(message)) for message in batch]


@asynccontextmanager
async def outage_load(address: str, topic: str, partitions: int) -> AsyncIterator[OutageLoad]:
    """Both clients, in progress; at the end of the block they stop, and the whole topic is read."""
    load = OutageLoad(address, topic, partitions)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(load.produce)
        nursery.start_soon(load.consume)
        await load.until_flowing(0)
        yield load
        load.stop()
    await load.read_whole()


def _longest_gap(moments: list[list[int]], begin_ns: int, end_ns: int) -> tuple[int, int]:
    gaps: list[tuple[int, int]] = []
    for times in moments:
        gaps += pairwise([begin_ns, *(at for at in times if begin_ns < at < end_ns), end_ns])
    return max(gaps, key=lambda gap: gap[1] - gap[0])


def _name(message: Message) -> Name:
    key, value = message.key, message.value
    assert key is not None
    assert value is not None
    return bytes(key).decode(), int(bytes(value).split(b" ", 1)[0])
