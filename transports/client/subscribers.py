"""Functions that are called with messages: registered by `@gq.subscriber(...)`, run by `await gq.run()`.

Each has a work consumer of its own and so many workers, each of which has one message at a time. What becomes of a
message when the function returns or raises, its policy says; what it raises is logged, and the worker goes on.

The end: on SIGTERM, on `stop`, or when `run` is cancelled, nothing more is begun. What was begun is finished, within a
period of grace; then it is interrupted, which hands it back. What was not begun is handed back, and groups are left.
"""

import logging
import signal
from collections.abc import Awaitable, Callable, Iterable
from datetime import timedelta
from functools import partial
from inspect import iscoroutinefunction
from typing import TypeAlias, TypeVar

from attrs import define, field

from goqueue.transports.client.errors import ClientError, CorruptBatch
from goqueue.transports.client.leased_message import LeasedMessage
from goqueue.transports.client.loops import Loop, Task
from goqueue.transports.client.policies import AckPolicy
from goqueue.transports.client.times import nanoseconds_of
from goqueue.transports.client.work_consumer import WorkConsumer

log = logging.getLogger(__name__)

Work: TypeAlias = Callable[[LeasedMessage], Awaitable[object]]
W = TypeVar("W", bound=Callable[..., object])

GRACE = timedelta(seconds=30)
WORKERS_MAX = 10_000


@define
class Subscriber:
    """A function, and how it gets its messages; `consumer` makes what it gets them from."""

    work: Callable[..., object]
    policy: AckPolicy
    workers: int
    consumer: Callable[[], WorkConsumer]

    @property
    def name(self) -> str:
        """What the function is called."""
        return getattr(self.work, "__qualname__", repr(self.work))


@define
class Subscribers:
    """What was registered with a connection."""

    registered: list[Subscriber] = field(factory=list)

    def registrar(
        self, policy: AckPolicy | str, workers: int, consumer: Callable[[], WorkConsumer], *, is_async: bool
    ) -> Callable[[W], W]:
        """What takes a function and gives it back; raises ValueError or TypeError for what makes no sense."""
        if not 1 <= workers <= WORKERS_MAX:
            raise ValueError(f"workers are from 1 to {WORKERS_MAX}, not {workers}")
        chosen = AckPolicy(policy)
        # What is wrong with the options is to be known here and not when it runs.
        consumer()

        def register(work: W) -> W:
            if iscoroutinefunction(work) != is_async:
                kind = "an async function" if is_async else "a plain function: without a loop nothing is awaited"
                raise TypeError(f"a subscriber is {kind}, not {work!r}")
            self.registered.append(Subscriber(work, chosen, workers, consumer))
            return work

        return register

    def all(self) -> list[Subscriber]:
        """All of them, at least one."""
        if not self.registered:
            raise RuntimeError("nothing to run: no function was registered with @subscriber")
        return [*self.registered]


class Crew:
    """The workers of one function."""

    def __init__(self, loop: Loop, subscriber: Subscriber, consumer: WorkConsumer, failed: Callable[[], None]) -> None:
        self._subscriber = subscriber
        self._failed = failed
        self.consumer = consumer
        self.failure: ClientError | None = None
        self.workers: list[Task] = [loop.start(self._run) for _ in range(subscriber.workers)]

    async def until_over(self) -> None:
        """Wait until nobody works any more."""
        for worker in self.workers:
            await worker.wait()

    async def _run(self) -> None:
        while True:
            try:
                message = await self.consumer.next()
            except CorruptBatch as error:
                log.error("%s: %s", self._subscriber.name, error)  # noqa: TRY400 - where it was raised says nothing
                continue
            except ClientError as error:
                self.failure = self.failure or error
                self.consumer.stop()
                self._failed()
                return
            if message is None:
                return
            await self._work_on(message)

    async def _work_on(self, message: LeasedMessage) -> None:
        subscriber = self._subscriber
        work: Work = subscriber.work  # type: ignore[assignment]
        try:
            async with message.processing(subscriber.policy):
                await work(message)
        except Exception:
            log.exception("%s failed with %r, attempt %d", subscriber.name, message, message.attempt)


class Service:
    """All crews of a connection, from joining the groups to leaving them."""

    def __init__(self, loop: Loop, subscribers: Iterable[Subscriber]) -> None:
        self._loop = loop
        self._subscribers = [*subscribers]
        self._crews: list[Crew] = []
        self._stirred = loop.parking()
        self._is_stopping = False

    def stop(self) -> None:
        """Begin nothing more."""
        self._is_stopping = True
        self._stirred.wake()

    async def run(self, grace: timedelta) -> None:
        """Work until it is stopped, or a group cannot be read any more: then that is raised."""
        grace_ns = nanoseconds_of(grace, "grace")
        deaf = self._loop.on_signal(signal.SIGTERM, self.stop)
        try:
            for subscriber in self._subscribers:
                consumer = subscriber.consumer()
                await consumer.__aenter__()
                self._crews.append(Crew(self._loop, subscriber, consumer, self.stop))
            while not self._is_stopping:
                await self._stirred.wait()
        finally:
            deaf()
            await self._loop.sheltered(partial(self._end, grace_ns))
        for crew in self._crews:
            if crew.failure is not None:
                raise crew.failure

    async def _end(self, grace_ns: int) -> None:
        crews, loop = self._crews, self._loop
        for crew in crews:
            crew.consumer.stop()

        async def until_over() -> None:
            for crew in crews:
                await crew.until_over()

        if not await loop.within(loop.now() + grace_ns, until_over):
            for crew in crews:
                for worker in crew.workers:
                    worker.cancel()
            await until_over()
        for crew in crews:
            try:
                await crew.consumer.__aexit__(None, None, None)
            except ClientError as error:
                crew.failure = crew.failure or error
