"""What tests of work queues have in common: jobs that say which they are, and what is left of them."""

from datetime import timedelta

from goqueue.transports.client.connection import Connection
from goqueue.transports.client.leased_message import LeasedMessage
from goqueue.transports.client.loops import Loop
from goqueue.transports.client.work_consumer import WorkConsumer
from tests.transports.client_loops.on_loops import until

COUNT = 30
NOW = timedelta(0)
SOON = timedelta(milliseconds=50)
PATIENT = timedelta(seconds=20)
Place = tuple[int, int]


async def fill(gq: Connection, partitions: int = 2, count: int = COUNT, **config: str | int) -> None:
    """So many jobs in all, spread over the partitions, in batches of five."""
    await gq.topics.create("jobs", partitions=partitions, config=config)
    await publish(gq, partitions, 0, count)


async def publish(gq: Connection, partitions: int, begin: int, end: int) -> None:
    """Jobs that say which they are."""
    async with gq.producer() as producer:
        for number in range(begin, end):
            await producer.send("jobs", b"%d" % number, key=b"k%d" % (number % 4), partition=number % partitions)
            if number % (5 * partitions) == 5 * partitions - 1:
                await producer.flush()


async def take(consumer: WorkConsumer, count: int) -> list[LeasedMessage]:
    """The next so many."""
    return [await one(consumer) for _ in range(count)]


async def one(consumer: WorkConsumer) -> LeasedMessage:
    """The next one, which is to come."""
    message = await consumer.next(PATIENT)
    assert message is not None, "nothing came"
    return message


def numbers(messages: list[LeasedMessage]) -> list[int]:
    """Which jobs these are, sorted."""
    return sorted(int(message.value or b"") for message in messages)


async def left(gq: Connection, group: str = "crew") -> int:
    """How many jobs are not settled for a group."""
    return sum(each.lag or 0 for each in await gq.groups.offsets(group, "jobs"))


async def settled(gq: Connection, count: int, group: str = "crew") -> None:
    """Wait until so many of the jobs are left."""
    while (found := await left(gq, group)) != count:
        assert found >= 0
        await gq._brokers.loop.pause(2_000_000)


async def held(loop: Loop, consumer: WorkConsumer, count: int) -> None:
    """Wait until a consumer holds so many."""
    await until(loop, lambda: consumer.held == count)
