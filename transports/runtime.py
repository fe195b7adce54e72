"""The one loop that drives a node: everything that came in is one turn, with one write for each stream and one sync.

Requests of all connections gather while a turn runs; the next turn takes them together. What touches the disk is the
business of `storage/node_disk.py`; what of it waits runs in threads here. A request costs no task, channel or lock of
its own, only that its caller is parked until the answer is there.
"""

import math
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import outcome
import trio
from attrs import define

from goqueue.core.clock import Clock
from goqueue.core.node import Node, NodeOptions
from goqueue.core.verbs import Caller, Code, Refusal, Reply, Request
from goqueue.storage.disk import Disk
from goqueue.storage.jobs import StreamJob
from goqueue.storage.node_disk import NodeDisk, Opening, Reading, Removal
from goqueue.storage.open_log import system_wall_ms
from goqueue.storage.store import Store
from goqueue.storage.threads import DiskThreads

_CLOCK_NS = 1_000_000_000
_ASIDE_MAX = 8


@define
class _Waiting:
    task: trio.lowlevel.Task


class Runtime:
    """A node on a disk, alive as long as `run` is."""

    def __init__(self, disk: Disk, options: NodeOptions, report: Callable[[str], None] = lambda _: None) -> None:
        self._disk = disk
        self._options = options
        self._report = report
        self._inbox: list[tuple[int, Caller, Request]] = []
        self._waiting: dict[int, _Waiting] = {}
        self._next_to = 0
        self._kicked = trio.Event()
        self._closing = False
        self._aside = trio.CapacityLimiter(_ASIDE_MAX)
        self._node: Node
        self._node_disk: NodeDisk
        self._threads: DiskThreads
        self._nursery: trio.Nursery

    # --- for the protocols

    async def ask(self, caller: Caller, request: Request) -> Reply:
        """The answer to a request. When the caller is cancelled the answer is dropped; what was written stays."""
        if self._closing:
            return Refusal(Code.SHUTTING_DOWN, "the node is shutting down", retry_after_ms=1000)
        self._next_to += 1
        to = self._next_to
        self._inbox.append((to, caller, request))
        self._waiting[to] = _Waiting(trio.lowlevel.current_task())
        self._kicked.set()

        def abort(_raise_cancel: object) -> trio.lowlevel.Abort:
            del self._waiting[to]
            self._node.forget(to)
            return trio.lowlevel.Abort.SUCCEEDED

        reply: Reply = await trio.lowlevel.wait_task_rescheduled(abort)
        return reply

    # --- the loop

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Drive the node until cancelled; ready once every topic's partitions have been looked at.

        Whatever ends it, the logs are closed in order before it returns.
        """
        store = await trio.to_thread.run_sync(Store, self._disk)
        try:
            token = trio.lowlevel.current_trio_token()
            # A broker that is gone takes no notice of a job that ends after it.
            self._threads = DiskThreads(partial(_deliver, token, self._job_done))
            now = time.monotonic_ns()
            self._node = Node(self._options, Clock(now, system_wall_ms()), now)
            self._node_disk = NodeDisk(self._node, store, self._report)
            async with trio.open_nursery() as nursery:
                self._nursery = nursery
                await self._boot()
                task_status.started()
                try:
                    await self._turns()
                finally:
                    with trio.CancelScope(shield=True):
                        await self._close()
                    nursery.cancel_scope.cancel()
        finally:
            store.close()

    async def _boot(self) -> None:
        """Turn until the metadata is read and every partition has been looked at."""
        while not self._node.is_started():
            self._turn(time.monotonic_ns())
            await self._pause(None)

    async def _turns(self) -> None:
        clock_due = 0
        while True:
            now = time.monotonic_ns()
            if now >= clock_due:
                self._node.clock.moved(now, system_wall_ms())
                clock_due = now + _CLOCK_NS
            self._turn(now)
            await self._pause(clock_due)

    async def _pause(self, until: int | None) -> None:
        """Wait until something comes in, or until something is due."""
        dues = [due for due in (self._node.deadline(), self._node_disk.deadline(), until) if due is not None]
        wait_s = max(min(dues) - time.monotonic_ns(), 0) / 1e9 if dues else math.inf
        with trio.move_on_after(wait_s):
            await self._kicked.wait()
        if self._kicked.is_set():
            self._kicked = trio.Event()

    def _turn(self, now: int) -> None:
        inbox, self._inbox = self._inbox, []
        for to, caller, request in inbox:
            if to in self._waiting:
                self._node.ask(now, to, caller, request)
        self._node.wake(now)
        while ready := self._node.take(now):
            self._node_disk.act(now, ready)
            for send in ready.sends:
                waiting = self._waiting.pop(send.to, None)
                if waiting is not None:
                    trio.lowlevel.reschedule(waiting.task, outcome.Value(send.reply))
        for work in self._node_disk.take(now):
            if isinstance(work, StreamJob):
                self._threads.submit(work)
            else:
                self._nursery.start_soon(self._run_aside, work)

    # --- disks

    def _job_done(self, job: StreamJob) -> None:
        self._node_disk.finish(time.monotonic_ns(), job)
        self._kicked.set()

    async def _run_aside(self, work: Opening | Removal | Reading) -> None:
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(work.run, limiter=self._aside)
        self._node_disk.finish(time.monotonic_ns(), work)
        self._kicked.set()

    # --- the end

    async def _close(self) -> None:
        """Finish what is under way, leave checkpoints, and answer whoever still waits."""
        self._closing = True
        now = time.monotonic_ns()
        self._turn(now)
        self._node.close(now)
        self._turn(now)
        while self._node_disk.pending():
            await self._pause(time.monotonic_ns() + _CLOCK_NS)
            self._turn(time.monotonic_ns())
        for waiting in self._waiting.values():
            refusal = Refusal(Code.SHUTTING_DOWN, "the node is shutting down", retry_after_ms=1000)
            trio.lowlevel.reschedule(waiting.task, outcome.Value(refusal))
        self._waiting.clear()
        await trio.to_thread.run_sync(self._threads.close)


def _deliver(token: trio.lowlevel.TrioToken, receive: Callable[[StreamJob], None], job: StreamJob) -> None:
    with suppress(trio.RunFinishedError):
        token.run_sync_soon(receive, job)
