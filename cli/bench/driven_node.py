"""A node on a real data folder, driven by turns as a broker drives it, without a loop, a task or a socket.

A turn is that of `transports/runtime.py`: the requests that came in, what time brings about, the effects until nothing
more comes at once, the answers, the jobs that can begin, and when the next turn is due. What waits for the disk runs in
threads.
"""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TypeVar

from goqueue import __version__
from goqueue.cli.bench.workbench import BenchError
from goqueue.core.broker.node_options import NodeOptions
from goqueue.core.clock import Clock
from goqueue.core.node import Node
from goqueue.core.requests.call import Caller
from goqueue.core.requests.messages import PublishReply
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request
from goqueue.core.services.secrets import Secrets
from goqueue.storage.files import FileDisk
from goqueue.storage.jobs import StreamJob
from goqueue.storage.node_disk import NodeDisk, Work
from goqueue.storage.open_log import system_wall_ms
from goqueue.storage.store import Store
from goqueue.storage.threads import DiskThreads
from goqueue.transports.boot_clock import boot_ns

_CLOCK_NS = 1_000_000_000
_WAIT_S = 0.002
_ASIDE_MAX = 8
# What sets a benchmark up may be refused for a moment, as where a partition is being opened.
_PATIENCE_NS = 60_000_000_000
_FOR_A_MOMENT = frozenset({Code.UNAVAILABLE, Code.NOT_LEADER})

T = TypeVar("T")


class DrivenNode:
    """A node that is alone. Leaving the `with` lets go of its folder as a killed process does."""

    def __init__(self, folder: Path, secrets: Secrets) -> None:
        now = boot_ns()
        self._store = Store(FileDisk(str(folder)))
        self._node = Node(NodeOptions("node-1", __version__, secrets=secrets), Clock(now, system_wall_ms()), now)
        self._disk = NodeDisk(self._node, self._store)
        self._finished: SimpleQueue[Work] = SimpleQueue()
        self._threads = DiskThreads(self._finished.put)
        # For what opens and removes streams, and reads from the disk.
        self._aside = ThreadPoolExecutor(_ASIDE_MAX)
        self._replies: dict[int, Reply] = {}
        self._next_to = 0
        self._clock_due = 0

    def __enter__(self) -> "DrivenNode":
        while not self._node.is_started(boot_ns()):
            self._wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._threads.close()
        self._aside.shutdown()
        while not self._finished.empty():
            work = self._finished.get()
            if isinstance(work, StreamJob):
                self._store.finish(work)
        self._store.abandon()

    # --- a turn

    def answer(self, caller: Caller, request: Request) -> Reply:
        """The answer to a request that one turn is enough for."""
        self._next_to = to = self._next_to + 1
        self._turn(((to, caller, request),))
        return self._replies.pop(to)

    def _turn(self, inbox: Iterable[tuple[int, Caller, Request]]) -> None:
        now = boot_ns()
        node, disk, replies = self._node, self._disk, self._replies
        if now >= self._clock_due:
            node.clock_moved(now, system_wall_ms())
            self._clock_due = now + _CLOCK_NS
        for to, caller, request in inbox:
            node.ask(now, to, caller, request)
        node.wake(now)
        while ready := node.take(now):
            disk.act(now, ready)
            for send in ready.sends:
                replies[send.to] = send.reply
            if ready.is_last:
                break
        for work in disk.take(now):
            if isinstance(work, StreamJob):
                self._threads.submit(work)
            else:
                self._aside.submit(self._run, work)
        node.deadline()
        disk.deadline()
        while not self._finished.empty():
            disk.finish(now, self._finished.get())

    def _run(self, work: Work) -> None:
        work.run()
        self._finished.put(work)

    # --- setting up

    def demand(self, request: Request, kind: type[T]) -> T:
        """The answer to one request, which is to be of a kind."""
        (reply,) = self.demand_all([(Caller(), request)], kind)
        return reply

    def demand_all(self, requests: Iterable[tuple[Caller, Request]], kind: type[T]) -> list[T]:
        """The answers to requests of one turn, in their order; those that are refused for a moment are asked again."""
        until = boot_ns() + _PATIENCE_NS
        asked = dict(enumerate(requests))
        answers: dict[int, T] = {}
        while len(answers) < len(asked):
            missing = [number for number in asked if number not in answers]
            for number, reply in zip(missing, self._answers([asked[each] for each in missing], until), strict=True):
                refusal = _refusal(reply)
                if refusal is None and isinstance(reply, kind):
                    answers[number] = reply
                elif refusal is None or refusal.code not in _FOR_A_MOMENT or boot_ns() > until:
                    raise BenchError(f"the node answers a {type(asked[number][1]).__name__} with {reply}")
            if len(answers) < len(asked):
                self._wait()
        return [answers[number] for number in asked]

    def _answers(self, requests: list[tuple[Caller, Request]], until: int) -> list[Reply]:
        numbers = range(self._next_to + 1, self._next_to + 1 + len(requests))
        self._next_to += len(requests)
        self._turn((to, *asked) for to, asked in zip(numbers, requests, strict=True))
        while any(to not in self._replies for to in numbers):
            if boot_ns() > until:
                raise BenchError(f"the node has not answered a {type(requests[0][1]).__name__} for a minute")
            self._wait()
        return [self._replies.pop(to) for to in numbers]

    def settle(self) -> None:
        """Turn until nothing waits for the disk."""
        self._turn(())
        while self._disk.pending():
            self._wait()

    def _wait(self) -> None:
        """Let a moment go by, or less where a job ends, and take a turn."""
        try:
            job = self._finished.get(timeout=_WAIT_S)
        except Empty:
            pass
        else:
            self._disk.finish(boot_ns(), job)
        self._turn(())


def _refusal(reply: Reply) -> Refusal | None:
    """Why a request was refused, or the batch in it."""
    said = reply.results[0] if isinstance(reply, PublishReply) else reply
    return said if isinstance(said, Refusal) else None
