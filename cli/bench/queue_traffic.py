"""Other people's traffic, in a process of its own: `python -m goqueue.cli.bench.queue_traffic ADDRESS TOPIC`.

A message every two milliseconds, and a consumer that follows. Once standard input ends it prints a JSON list: for each
message when it was published, in nanoseconds since 1970, and how long after that the consumer had it.
"""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import trio
from attrs import define

import goqueue
from goqueue.cli.bench.workbench import BenchError

_PAUSE_NS = 2_000_000
_PADDING = bytes(1016)
_END_S = 30.0

# When a message was published, and how long it took.
Sample = tuple[int, int]


@define
class Traffic:
    """The running process."""

    process: subprocess.Popen[str]

    def end(self) -> list[Sample]:
        """Let it end; what it measured. Raises BenchError if it measured nothing."""
        said, _ = self.process.communicate(timeout=_END_S)
        samples = [(int(sent), int(taken)) for sent, taken in json.loads(said or "[]")]
        if not samples:
            raise BenchError("other traffic came to nothing")
        return samples


@contextmanager
def others(address: str, topic: str) -> Iterator[Traffic]:
    """Traffic that flows when the block begins, and is gone at its end."""
    command = [sys.executable, "-m", "goqueue.cli.bench.queue_traffic", address, topic]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # noqa: S603 - ours
    try:
        assert process.stdout is not None
        if not process.stdout.readline():
            raise BenchError("other traffic could not begin")
        yield Traffic(process)
    finally:
        process.kill()
        process.communicate()


async def _flow(address: str, topic: str) -> list[Sample]:
    """What was measured until standard input ended."""
    samples: list[Sample] = []

    async def follow(task_status: trio.TaskStatus[None]) -> None:
        async with goqueue.connect(address) as gq, gq.consumer(topic, start="earliest") as consumer:
            task_status.started()
            async for message in consumer:
                sent = int.from_bytes((message.value or b"")[:8], "big")
                if not samples:
                    print("flows", flush=True)
                samples.append((sent, time.time_ns() - sent))

    async def until_told() -> None:
        async for _ in trio.wrap_file(sys.stdin):
            pass
        nursery.cancel_scope.cancel()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(until_told)
        await nursery.start(follow)
        nursery.start_soon(_publish, address, topic)
    return samples


async def _publish(address: str, topic: str) -> None:
    async with goqueue.connect(address) as gq, gq.producer(linger=timedelta(0)) as producer:
        due = time.monotonic_ns()
        while True:
            await producer.send(topic, time.time_ns().to_bytes(8, "big") + _PADDING)
            due += _PAUSE_NS
            await trio.sleep(max(due - time.monotonic_ns(), 0) / 1e9)


if __name__ == "__main__":
    print(json.dumps(trio.run(_flow, sys.argv[1], sys.argv[2])))
