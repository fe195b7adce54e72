"""What tests of groups have in common: messages that say where they are, members, and how far a group has come."""

from collections.abc import Callable
from datetime import timedelta

from goqueue.transports.client.connection import Connection
from goqueue.transports.client.group_consumer import GroupConsumer
from goqueue.transports.client.loops import Loop
from goqueue.transports.client.messages import Message
from tests.transports.client_loops.on_loops import until

COUNT = 20
QUICK = timedelta(milliseconds=10)
NEVER = timedelta(hours=1)
Slots = list[tuple[str, int]]


async def fill(gq: Connection, partitions: int = 4, count: int = COUNT) -> None:
    """So many messages in each partition, in batches of five."""
    await gq.topics.create("orders", partitions=partitions)
    await publish(gq, range(partitions), 0, count)


async def publish(gq: Connection, partitions: range, begin: int, end: int) -> None:
    """Messages that say which they are."""
    async with gq.producer() as producer:
        for number in range(begin, end):
            for partition in partitions:
                await producer.send("orders", b"%d" % number, partition=partition)
            if number % 5 == 4:
                await producer.flush()


async def take(consumer: GroupConsumer, count: int) -> list[Message]:
    """The next so many."""
    return [await anext(consumer) for _ in range(count)]


def places(messages: list[Message]) -> list[tuple[int, int]]:
    """Where messages were, sorted."""
    return sorted((message.partition, message.offset) for message in messages)


def every(partitions: range, begin: int = 0, end: int = COUNT) -> list[tuple[int, int]]:
    """All places there are."""
    return [(partition, offset) for partition in partitions for offset in range(begin, end)]


async def committed(gq: Connection, group: str = "billing") -> list[int | None]:
    """The group's offsets, by partition."""
    return [each.offset for each in await gq.groups.offsets(group, "orders")]


async def assigned(loop: Loop, consumer: GroupConsumer, count: int) -> None:
    """Wait until a member has so many partitions."""
    await until(loop, lambda: len(consumer.assignment) == count)


def beside(loop: Loop, consumer: GroupConsumer, found: list[Message]) -> Callable[[], None]:
    """Read on beside the test; what ends it."""

    async def read() -> None:
        while True:
            found.append(await anext(consumer))

    return loop.start(read).cancel


def crash(consumer: GroupConsumer) -> None:
    """End a member as the end of its process would: without a word, and nobody hears of it."""
    assert consumer._attendance is not None
    consumer._attendance.stop()
    consumer._leave()
    consumer._subscriptions.leave()
