"""A member of a group without a loop: what `group_consumer.py` offers, with no `await`.

A member has to be heard of, however long its program works on a message. So while its block lasts a thread, the pulse,
gives turns to what goes on beside whenever no call does: heartbeats go out, commits that are due, partitions that are
wanted back go. What is handed out is handed out by calls alone, so a program notices nothing of it but its hooks: they
may be called in that thread, between two calls.

A hook is called in the middle of something, and nothing can be waited for there. What it asks for that waits, a commit
or a seek, is done as soon as it returns, and before anything follows from what it was told.
"""

import threading
from collections.abc import Callable, Coroutine, Mapping
from datetime import datetime, timedelta
from inspect import iscoroutinefunction
from typing import Any, Self, TypeVar

from attrs import define, field

from goqueue.transports.client.blocking_loop import BlockingLoop
from goqueue.transports.client.errors import CorruptBatch
from goqueue.transports.client.group_consumer import GroupConsumer
from goqueue.transports.client.messages import Message
from goqueue.transports.client.times import nanoseconds_of

PULSE_S = 0.05

Slot = tuple[str, int]
Told = Callable[[list[Slot]], object]
T = TypeVar("T")


@define
class BlockingHooks:
    """What the application is told, and what it asked for meanwhile."""

    # The thread that a hook is called in, while it is.
    thread: int = 0
    later: list[Coroutine[Any, Any, None]] = field(factory=list)

    @property
    def are_called_here(self) -> bool:
        """Whether this thread is in the middle of a hook."""
        return self.thread == threading.get_ident()

    def wrap(self, told: Told | None) -> Told | None:
        """A hook for the member, of one of the application's; raises TypeError for an async function."""
        if told is None:
            return None
        if iscoroutinefunction(told):
            raise TypeError(f"{told!r} is an async function; without a loop a hook is a plain one")

        async def call(slots: list[Slot]) -> None:
            self.thread = threading.get_ident()
            try:
                told(slots)
            except BaseException:
                for work in self._taken():
                    work.close()
                raise
            finally:
                self.thread = 0
            for work in self._taken():
                await work

        return call

    def _taken(self) -> list[Coroutine[Any, Any, None]]:
        later, self.later = self.later, []
        return later


class Pulse:
    """The thread that lets a loop's fibers go on between calls."""

    def __init__(self, loop: BlockingLoop) -> None:
        self._loop = loop
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="goqueue-pulse", daemon=True)
        self._thread.start()

    def _beat(self) -> None:
        while not self._ended.wait(PULSE_S):
            self._loop.beat()

    def stop(self) -> None:
        """End it, and wait for that."""
        self._ended.set()
        self._thread.join()


class BlockingGroupConsumer:
    """See GroupConsumer; it is used in `for`."""

    def __init__(self, loop: BlockingLoop, consumer: GroupConsumer, hooks: BlockingHooks) -> None:
        self._loop = loop
        self._consumer = consumer
        self._hooks = hooks
        self._pulse: Pulse | None = None

    def __enter__(self) -> Self:
        """Become a member."""
        self._loop.run(self._consumer.__aenter__())
        self._pulse = Pulse(self._loop)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        """Commit, if that goes by itself, and leave the group."""
        assert self._pulse is not None
        self._pulse.stop()
        self._loop.run(self._consumer.__aexit__(kind, error, trace))

    # --- reading

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Message:
        # What is at hand needs no loop, but that no beat takes it away meanwhile.
        running = self._loop.running
        if running.acquire(blocking=False):
            try:
                for message in self._consumer._messages:
                    return message
            finally:
                running.release()
        try:
            return self._loop.run(self._consumer.__anext__())
        except StopAsyncIteration:
            raise StopIteration from None

    def batches(self) -> "BlockingGroupBatches":
        """See GroupConsumer: `for batch in ...`."""
        return BlockingGroupBatches(self)

    def next_batch(self, timeout: timedelta | None = None) -> list[Message]:
        """The next messages, all of one partition; none if nothing comes within `timeout`."""
        consumer, loop = self._consumer, self._loop
        found: list[Message] = []

        async def receive() -> None:
            found.extend(await consumer.next_batch())

        try:
            if timeout is None:
                loop.run(receive())
            else:
                due = loop.now() + nanoseconds_of(timeout, "timeout")
                loop.run(loop.within(due, receive))
        except StopAsyncIteration:
            pass
        return found

    def pause(self, *partitions: Slot) -> None:
        """See GroupConsumer."""
        self._at_rest(lambda: self._consumer.pause(*partitions))

    def resume(self, *partitions: Slot) -> None:
        """See GroupConsumer."""
        self._at_rest(lambda: self._consumer.resume(*partitions))

    def seek(self, topic: str, partition: int, *, offset: int | None = None, time: datetime | None = None) -> None:
        """See GroupConsumer."""
        self._wait_for(self._consumer.seek(topic, partition, offset=offset, time=time))

    def skip(self, error: CorruptBatch) -> None:
        """See GroupConsumer."""
        self._at_rest(lambda: self._consumer.skip(error))

    def position(self, topic: str, partition: int) -> int:
        """See GroupConsumer."""
        return self._at_rest(lambda: self._consumer.position(topic, partition))

    def lag(self) -> dict[Slot, int]:
        """See GroupConsumer; not for hooks, since it waits."""
        return self._loop.run(self._consumer.lag())

    # --- the group

    def commit(self, what: Message | Mapping[Slot, int] | None = None) -> None:
        """See GroupConsumer."""
        self._wait_for(self._consumer.commit(what))

    @property
    def assignment(self) -> list[Slot]:
        """See GroupConsumer."""
        return self._at_rest(lambda: self._consumer.assignment)

    @property
    def generation(self) -> int:
        """See GroupConsumer."""
        return self._consumer.generation

    @property
    def member_id(self) -> str:
        """See GroupConsumer."""
        return self._consumer.member_id

    def _wait_for(self, work: Coroutine[Any, Any, None]) -> None:
        if self._hooks.are_called_here:
            self._hooks.later.append(work)
        else:
            self._loop.run(work)

    def _at_rest(self, look: Callable[[], T]) -> T:
        """What this comes to while nothing goes on beside."""
        if self._hooks.are_called_here:
            return look()
        self._loop.hold()
        try:
            return look()
        finally:
            self._loop.let_go()


class BlockingGroupBatches:
    """The messages of a member, batch by batch."""

    def __init__(self, consumer: BlockingGroupConsumer) -> None:
        self._consumer = consumer

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> list[Message]:
        batch = self._consumer.next_batch()
        if not batch:
            raise StopIteration
        return batch
