"""A real broker inside the test process, on a folder of its own."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import trio

from goqueue.core.broker.node_options import NodeOptions
from goqueue.storage.files import FileDisk
from goqueue.transports.runtime import Runtime


@asynccontextmanager
async def running_broker(path: Path) -> AsyncIterator[Runtime]:
    """The broker, ready; it is stopped in order at the end."""
    async with trio.open_nursery() as nursery:
        runtime = Runtime(FileDisk(str(path)), NodeOptions(version="test"), print)
        await nursery.start(runtime.run)
        try:
            yield runtime
        finally:
            nursery.cancel_scope.cancel()
