"""From a publish to the consumer's code, at a steady pace."""

import time
from datetime import timedelta
from functools import partial

import trio

import goqueue
from goqueue.cli.bench.figures import Bar, Entry, Figure
from goqueue.cli.bench.served_broker import served
from goqueue.cli.bench.sizes import Sizes
from goqueue.cli.bench.workbench import Workbench, quantile

_PAUSE_NS = 1_000_000
_PADDING = bytes(1016)


def entries(_sizes: Sizes) -> list[Entry]:
    """The figure of this file."""
    bars = [Bar("p50_ms", below=1.0), Bar("p99_ms", below=5.0)]
    return [Entry("end_to_end", "publish to the consumer's code, 1,000 messages a second, fsync none", paced, bars)]


def paced(workbench: Workbench) -> Figure:
    """A producer that publishes a message every millisecond, and a consumer that follows, in one process."""
    with workbench.folder() as folder, served(folder) as broker:
        broker.create("paced", fsync="none")
        taken = sorted(trio.run(partial(_flow, broker.grpc_address, workbench.sizes.paced)))
    p50, p99 = quantile(taken, 0.5) / 1e6, quantile(taken, 0.99) / 1e6
    return Figure(p50, "ms", p50_ms=p50, p99_ms=p99, note="linger 0; the clock is read before send and after receipt")


async def _flow(address: str, count: int) -> list[int]:
    taken: list[int] = []

    async def follow(task_status: trio.TaskStatus[None]) -> None:
        async with goqueue.connect(address) as gq, gq.consumer("paced", start="earliest") as consumer:
            task_status.started()
            async for message in consumer:
                taken.append(time.monotonic_ns() - int.from_bytes((message.value or b"")[:8], "big"))
                if len(taken) == count:
                    return

    async with trio.open_nursery() as nursery:
        await nursery.start(follow)
        async with goqueue.connect(address) as gq, gq.producer(linger=timedelta(0)) as producer:
            due = time.monotonic_ns()
            for _ in range(count):
                await producer.send("paced", time.monotonic_ns().to_bytes(8, "big") + _PADDING)
                due += _PAUSE_NS
                await trio.sleep(max(due - time.monotonic_ns(), 0) / 1e9)
    return taken[count // 10 :]
