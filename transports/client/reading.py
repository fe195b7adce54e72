"""What handing out messages takes, whoever decides what is read: the batch in hand, and how the next one comes.

Nothing is done for a message but to give it out: places are worked out from the batch when somebody asks.

Invariant: the cursor of the batch in hand stays at the batch's beginning until the next batch is asked for.
"""

from collections.abc import Iterator
from operator import length_hint
from typing import Self

from goqueue.core.client.fetching import Cursor, Fetching, UnreadableBatch
from goqueue.transports.client.brokers import Brokers
from goqueue.transports.client.errors import CorruptBatch, unreadable
from goqueue.transports.client.messages import Message
from goqueue.transports.client.subscriptions import Refused, Subscriptions

# How much is handed out before others, the network among them, get their turn.
TURN_BYTES = 256 << 10


class Reader:
    """Hands out messages in `async for`, one by one or batch by batch; what it reads, those derived from it decide."""

    def __init__(self, brokers: Brokers, name: str, refused: Refused | None = None) -> None:
        self._brokers = brokers
        self._loop = brokers.loop
        self._name = name
        self._fetching: Fetching[Message] = Fetching([], Message)
        self._subscriptions = Subscriptions(brokers, self._fetching, name, refused)
        # The batch that is being handed out, and what is left of it.
        self._batch: list[Message] = []
        self._messages: Iterator[Message] = iter(())
        self._cursor: Cursor | None = None
        # Where in it the list begins that was handed out at once; -1 where messages go one by one.
        self._list_at = -1
        self._handed_bytes = 0

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Message:
        for message in self._messages:
            return message
        await self._refill()
        return next(self._messages)

    def batches(self) -> "Batches":
        """The messages as lists, each of one partition and as long as a batch: `async for batch in ...`."""
        return Batches(self)

    async def next_batch(self) -> list[Message]:
        """What is left of the current batch, or the next one; raises StopAsyncIteration at the end."""
        batch = list(self._messages)
        if not batch:
            await self._refill()
            batch = list(self._messages)
        self._list_at = len(self._batch) - len(batch)
        return batch

    # --- what those derived from it say

    async def _attend(self) -> int | None:
        """See to what is due before the next batch; until when at most to wait for one."""
        return None

    @property
    def _is_over(self) -> bool:
        """Whether nothing more will come."""
        return False

    def skip(self, error: CorruptBatch) -> None:
        """Go on behind the records that could not be read, as this consumer has said of them."""
        found = [one for one in self._fetching.cursors if (one.topic, one.partition) == (error.topic, error.partition)]
        if not found or error.offset is None or error.next_offset is None:
            raise ValueError(f"no partition that is read here: {error}")
        [cursor] = found
        if cursor.position == error.offset:
            self._fetching.seek(cursor, error.next_offset)
            self._subscriptions.leave()

    # --- the batch in hand

    async def _refill(self) -> None:
        """Make the next batch the current one; raises StopAsyncIteration when there never will be one."""
        self._hand_over()
        if self._handed_bytes >= TURN_BYTES:
            self._handed_bytes = 0
            await self._loop.pause(0)
        while True:
            until = await self._attend()
            found = self._next()
            if found is not None:
                cursor, batch = found
                self._cursor, self._batch, self._messages, self._list_at = cursor, batch, iter(batch), -1
                return
            if self._is_over:
                self._subscriptions.leave()
                raise StopAsyncIteration
            await self._subscriptions.receive(until)

    def _next(self) -> tuple[Cursor, list[Message]] | None:
        try:
            found = self._fetching.next()
        except UnreadableBatch as error:
            # It may have been damaged on its way: whoever goes on is sent it again.
            cursor = error.cursor
            self._fetching.seek(cursor, cursor.position)
            self._subscriptions.leave()
            raise unreadable(cursor.topic, cursor.partition, error.offset, error.next_offset, error) from error
        if found is None:
            return None
        cursor, batch, size = found
        self._handed_bytes += size
        return cursor, batch

    def _hand_over(self) -> None:
        """What is left of the current batch begins where the cursor goes on."""
        if self._cursor is not None:
            self._fetching.handed(self._cursor, self._position_of(self._cursor))
            self._cursor = None

    def _position_of(self, cursor: Cursor) -> int:
        """The offset of the next message; what was handed out lies before it."""
        if cursor is not self._cursor:
            return cursor.position
        left = length_hint(self._messages)
        return self._batch[-left].offset if left else self._batch[-1].offset + 1

    def _forget_batch(self) -> None:
        """What is left of the batch in hand is not handed out."""
        self._batch, self._messages, self._cursor = [], iter(()), None


class Batches:
    """The messages of a reader, batch by batch."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def __aiter__(self) -> "Batches":
        return self

    async def __anext__(self) -> list[Message]:
        return await self._reader.next_batch()
