"""A broker for tests: in the test's own process, on ports of its own, ready within milliseconds.

It is the broker itself, with all that it decides and keeps; only its disk is in memory, unless it is given a folder. On
trio it runs as tasks beside the test; on asyncio, and where no loop runs, in a thread. Leaving the block stops it in
order. It may be entered again: same port, same contents, which is what a broker's restart looks like to its clients.
"""

import asyncio
import logging
import os
import secrets
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Self

import trio

from goqueue.core.broker.node_options import NodeOptions
from goqueue.storage.disk import Disk
from goqueue.storage.files import FileDisk
from goqueue.storage.open_log import system_wall_ms
from goqueue.storage.simulated import SimulatedDisk
from goqueue.storage.simulated_faults import Conditions
from goqueue.transports.client.loops import running_loop
from goqueue.transports.client.trio_loop import TrioLoop
from goqueue.transports.rest.edge import Rest
from goqueue.transports.runtime import Runtime
from goqueue.transports.services.application import application
from goqueue.transports.trio_server import Server

HOST = "127.0.0.1"

log = logging.getLogger(__name__)


class Broker:
    """A broker for as long as its block lasts: `with` anywhere, `async with` on trio and on asyncio.

    Its contents are in memory, or in the folder `path`, which stays. `port` is one that is free unless it is given.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None, *, port: int = 0) -> None:
        # Memory has no room to reserve: a file is as long as what was written to it.
        memory = SimulatedDisk(conditions=Conditions(reserves=False))
        self._disk: Disk = memory if path is None else FileDisk(os.fspath(path))
        self._port = port
        self._running = False
        self._loop: TrioLoop | None = None
        self._thread: threading.Thread | None = None
        self._token: trio.lowlevel.TrioToken | None = None
        self._stopping: trio.Event | None = None
        self._failure: BaseException | None = None

    @property
    def address(self) -> str:
        """Where it speaks gRPC: what `goqueue.connect` takes."""
        assert self._running, "the broker's block was not entered"
        return f"{HOST}:{self._port}"

    @property
    def http_url(self) -> str:
        """Where it speaks REST."""
        return f"http://{self.address}"

    def __enter__(self) -> Self:
        """Start it in a thread."""
        assert not self._running, "the broker runs already"
        ready = threading.Event()
        self._failure = None
        self._thread = threading.Thread(target=self._live_alone, args=(ready,), name="goqueue broker", daemon=True)
        self._thread.start()
        ready.wait()
        self._raise_failure()
        return self

    def __exit__(self, *_error: object) -> None:
        """Stop it; raises what it failed with, if it did."""
        assert self._thread is not None
        assert self._token is not None
        assert self._stopping is not None
        with suppress(trio.RunFinishedError):
            self._token.run_sync_soon(self._stopping.set)
        self._thread.join()
        self._raise_failure()

    async def __aenter__(self) -> Self:
        """Start it: on trio beside the caller, on asyncio in a thread."""
        loop = running_loop()
        if not isinstance(loop, TrioLoop):
            return await asyncio.to_thread(self.__enter__)
        assert not self._running, "the broker runs already"
        self._loop = await loop.__aenter__()
        started = trio.Event()
        try:
            self._loop.start(partial(self._live, started.set))
            await started.wait()
        except BaseException as error:
            await self._loop.__aexit__(type(error), error, None)
            raise
        return self

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> bool | None:
        """Stop it; raises what it failed with, if it did."""
        loop, self._loop = self._loop, None
        if loop is not None:
            return await loop.__aexit__(kind, error, trace)
        await asyncio.to_thread(self.__exit__)
        return None

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _live_alone(self, ready: threading.Event) -> None:
        """The whole life of a broker that has the thread to itself."""

        async def live() -> None:
            self._token, self._stopping = trio.lowlevel.current_trio_token(), trio.Event()
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._live, ready.set)
                await self._stopping.wait()
                nursery.cancel_scope.cancel()

        try:
            trio.run(live)
        except BaseException as error:  # noqa: BLE001 - whatever it is, whoever entered the block raises it
            while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
                error = error.exceptions[0]
            self._failure = error
        finally:
            ready.set()

    async def _live(self, ready: Callable[[], None]) -> None:
        """Serve until cancelled."""
        listeners = await trio.open_tcp_listeners(self._port, host=HOST)
        self._port = listeners[0].socket.getsockname()[1]
        runtime = Runtime(self._disk, NodeOptions("testing", "testing", seed=secrets.randbits(64)), log.warning)
        try:
            async with trio.open_nursery() as nursery:
                await nursery.start(runtime.run)
                server = Server(application(runtime), Rest(runtime, system_wall_ms))
                await nursery.start(server.serve, listeners)
                self._running = True
                ready()
        finally:
            self._running = False
            for listener in listeners:
                listener.socket.close()
