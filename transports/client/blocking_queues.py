"""Delayed messages and dead letters without a loop: what `delayed.py` and `dead_letters.py` offer, with no `await`."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import TypeAlias

from goqueue.transports.client.blocking_loop import BlockingLoop
from goqueue.transports.client.dead_letters import (
    ALL,
    PAUSE,
    After,
    DeadLetter,
    DeadLetterPage,
    DeadLetters,
    DeadTopic,
    LetterFilter,
    Redrive,
)
from goqueue.transports.client.delayed import Delayed, DelayedMessage, DelayedPage, Place

# Within the class `list` is a method.
_TopicList: TypeAlias = list[DeadTopic]
_RedriveList: TypeAlias = list[Redrive]


class BlockingDelayed:
    """See Delayed."""

    def __init__(self, loop: BlockingLoop, delayed: Delayed) -> None:
        self._loop = loop
        self._delayed = delayed

    def list(self, topic: str, *, limit: int = 100, after: Place | None = None) -> DelayedPage:
        """See Delayed."""
        return self._loop.run(self._delayed.list(topic, limit=limit, after=after))

    def all(self, topic: str) -> Iterator[DelayedMessage]:
        """See Delayed."""
        after: Place | None = None
        while True:
            page = self.list(topic, limit=1000, after=after)
            yield from page.messages
            after = page.after
            if after is None:
                return

    def get(self, topic: str, partition: int, offset: int) -> DelayedMessage:
        """See Delayed."""
        return self._loop.run(self._delayed.get(topic, partition, offset))

    def cancel(self, topic: str, partition: int, offset: int) -> None:
        """See Delayed."""
        self._loop.run(self._delayed.cancel(topic, partition, offset))

    def reschedule(
        self,
        topic: str,
        partition: int,
        offset: int,
        *,
        delay: timedelta | None = None,
        deliver_at: datetime | None = None,
    ) -> DelayedMessage:
        """See Delayed."""
        return self._loop.run(self._delayed.reschedule(topic, partition, offset, delay=delay, deliver_at=deliver_at))


class BlockingDeadLetters:
    """See DeadLetters."""

    def __init__(self, loop: BlockingLoop, letters: DeadLetters) -> None:
        self._loop = loop
        self._letters = letters

    def list(self) -> _TopicList:
        """See DeadLetters."""
        return self._loop.run(self._letters.list())

    def peek(
        self, topic: str, which: LetterFilter = ALL, *, limit: int = 100, after: After | None = None
    ) -> DeadLetterPage:
        """See DeadLetters."""
        return self._loop.run(self._letters.peek(topic, which, limit=limit, after=after))

    def all(self, topic: str, which: LetterFilter = ALL) -> Iterator[DeadLetter]:
        """See DeadLetters."""
        after: After | None = None
        while True:
            page = self.peek(topic, which, limit=1000, after=after)
            yield from page.letters
            after = page.after
            if after is None:
                return

    def redrive(
        self, topic: str, which: LetterFilter = ALL, *, to: str = "", rate: int = 0, limit: int = 0,
        dry_run: bool = False,
    ) -> Redrive:  # fmt: skip
        """See DeadLetters."""
        return self._loop.run(self._letters.redrive(topic, which, to=to, rate=rate, limit=limit, dry_run=dry_run))

    def purge(self, topic: str, which: LetterFilter = ALL, *, dry_run: bool = False) -> Redrive:
        """See DeadLetters."""
        return self._loop.run(self._letters.purge(topic, which, dry_run=dry_run))

    def status(self, redrive_id: str) -> Redrive:
        """See DeadLetters."""
        return self._loop.run(self._letters.status(redrive_id))

    def wait(self, redrive: Redrive | str, pause: timedelta = PAUSE) -> Redrive:
        """See DeadLetters."""
        return self._loop.run(self._letters.wait(redrive, pause))

    def redrives(self, topic: str = "") -> _RedriveList:
        """See DeadLetters."""
        return self._loop.run(self._letters.redrives(topic))

    def cancel(self, redrive: Redrive | str) -> Redrive:
        """See DeadLetters."""
        return self._loop.run(self._letters.cancel(redrive))
