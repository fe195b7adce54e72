"""A message to every partition, again and again: `python -m goqueue.cli.bench.group_trickle ADDRESS TOPIC COUNT MS`.

So that somebody who reads can tell a partition that flows from one that does not. It goes on until standard input ends.
"""

import sys

import trio

import goqueue


async def _trickle(address: str, topic: str, count: int, pause_ms: int) -> None:
    async def until_told() -> None:
        async for _ in trio.wrap_file(sys.stdin):
            pass
        nursery.cancel_scope.cancel()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(until_told)
        async with goqueue.connect(address) as gq, gq.producer() as producer:
            print("ready", flush=True)
            while True:
                for partition in range(count):
                    await producer.send(topic, b"x", partition=partition)
                await trio.sleep(pause_ms / 1e3)


if __name__ == "__main__":
    trio.run(_trickle, sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
