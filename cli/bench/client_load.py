"""Load through the client library, as a user's program would put it on a broker: record by record."""

import time

import goqueue
from goqueue.cli.bench.workbench import BenchError


async def publish_records(address: str, topic: str, value: bytes, count: int) -> float:
    """Hand over so many records one at a time; the seconds until all of them are acknowledged."""
    async with goqueue.connect(address) as gq, gq.producer() as producer:
        # Finding the broker and the topic is not what is measured.
        await producer.publish(topic, value)
        begun = time.perf_counter()
        send = producer.send
        for _ in range(count):
            await send(topic, value)
        await producer.flush()
        return time.perf_counter() - begun


async def fetch_records(address: str, topic: str, count: int) -> float:
    """Iterate over a topic from its start; the seconds that took."""
    async with goqueue.connect(address) as gq, gq.consumer(topic, start="earliest") as consumer:
        begun = time.perf_counter()
        left = count
        async for message in consumer:
            if message.value is None:
                raise BenchError(f"offset {message.offset} of {topic} has no value")
            left -= 1
            if not left:
                return time.perf_counter() - begun
    raise BenchError(f"{topic} ended {left} records early")
