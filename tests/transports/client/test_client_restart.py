"""A broker that is killed, or stopped, in the middle of publishing and reading: nothing is lost or comes twice."""

import signal
from collections import defaultdict
from pathlib import Path

import pytest
import trio

import goqueue
from goqueue.transports.client.connection import Connection
from tests.transports.client.broker_process import BrokerProcess, broker_process
from tests.transports.serving import run

PARTITIONS, COUNT = 3, 6000
SIGNALS = pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "stopped"])


async def restart(process: BrokerProcess, number: signal.Signals) -> None:
    """End the broker and start it again."""
    await trio.to_thread.run_sync(process.end, number)
    await trio.to_thread.run_sync(process.start)


async def publish_through_restarts(
    gq: Connection, process: BrokerProcess, number: signal.Signals
) -> list[goqueue.Published]:
    """Publish with keys and without, while the broker goes down twice."""
    pendings, restarted = [], trio.Event()
    async with trio.open_nursery() as nursery, gq.producer() as producer:

        async def restart_twice() -> None:
            for _ in range(2):
                await restart(process, number)
                await producer.publish("restarts", b"done")
            restarted.set()

        for count in range(COUNT):
            key = b"%d" % (count % 50) if count % 3 else None
            pendings.append(await producer.send("orders", b"%d" % count, key=key))
            if count == COUNT // 4:
                nursery.start_soon(restart_twice)
            # Go on until the broker has been gone twice: slowly, so that something is always under way.
            if count % 20 == 0 and count >= COUNT // 4 and not restarted.is_set():
                await trio.sleep(0.005)
        await restarted.wait()
    return [await pending for pending in pendings]


async def read_all(gq: Connection, count: int) -> dict[int, list[goqueue.Message]]:
    """So many messages, by partition, as they come."""
    found: dict[int, list[goqueue.Message]] = defaultdict(list)
    async with gq.consumer("orders", start="earliest") as consumer:
        for _ in range(count):
            message = await anext(consumer)
            assert message.offset == len(found[message.partition])
            assert consumer.position(message.partition) == message.offset + 1
            found[message.partition].append(message)
    return found


@SIGNALS
def test_restarts_lose_nothing_and_repeat_nothing(tmp_path: Path, number: signal.Signals) -> None:
    """Neither to the producer nor to a consumer that reads along."""

    async def test() -> None:
        found: dict[int, list[goqueue.Message]] = {}
        with broker_process(tmp_path) as process:
            async with goqueue.connect(process.address) as gq:
                await gq.topics.create("orders", partitions=PARTITIONS)
                await gq.topics.create("restarts", partitions=1)

                async def read() -> None:
                    found.update(await read_all(gq, COUNT))

                async with trio.open_nursery() as nursery:
                    nursery.start_soon(read)
                    published = await publish_through_restarts(gq, process, number)
                async with gq.consumer("orders", start="earliest", stop="latest") as consumer:
                    assert len([message async for message in consumer]) == COUNT
        orders = [[int(message.value or b"") for message in messages] for messages in found.values()]
        assert sorted(value for order in orders for value in order) == list(range(COUNT))
        assert all(order == sorted(order) for order in orders)
        places = {(message.partition, message.offset): message.value for ms in found.values() for message in ms}
        assert all(places[each.partition, each.offset] == b"%d" % count for count, each in enumerate(published))

    run(test)
