"""A program that reads as a member of a group by the library's group consumer, and keeps what it was handed.

It commits as its policy says: the library by itself, the program after every message, or after every few. What it has
done with is what it was handed before it asked for more.
"""

from datetime import timedelta
from random import Random
from typing import TYPE_CHECKING

from goqueue.core.groups.state import Slot
from goqueue.fuzz.users.handed import Hand, Handed
from goqueue.fuzz.users.loop import SimulatedLoop
from goqueue.fuzz.users.program import MS, Program
from goqueue.transports.client.brokers import Brokers
from goqueue.transports.client.errors import ClientError, CorruptBatch, OffsetOutOfRange
from goqueue.transports.client.group_consumer import AUTO, MANUAL, GroupConsumer, group_terms
from goqueue.transports.client.handover import Hooks
from goqueue.transports.client.messages import Message

if TYPE_CHECKING:
    from goqueue.fuzz.world import World

GROUP = "r0"
_P_CALM_COMMIT = 0.1


class Reader(Program):
    """See the module."""

    def __init__(self, world: "World", name: str, random: Random) -> None:
        super().__init__(world, name, random)
        self.group = GROUP
        self.handed: Handed = world.handed
        options = world.options
        self.topics = [f"t{number}" for number in range(options.topics)]
        self._instance_id = name if random.random() < 0.4 else ""
        self._session = timedelta(milliseconds=random.randint(1_000, max(options.session_ms_max, 1_000)))
        self.every = random.choice((0, 0, 1, 3))
        self._interval = timedelta(milliseconds=random.choice((10, 10, 500, 5_000)))
        self._hand: Hand | None = None

    def died(self) -> None:
        """What it had in hand it is not done with."""
        self._hand = None

    async def work(self, loop: SimulatedLoop, brokers: Brokers) -> None:
        """Be a member for a while."""
        self._hand = hand = self.handed.begin(self.name)
        hooks = Hooks(hand.assigned, self._revoked, hand.lost)
        terms = group_terms(
            self.group, self.topics, self._instance_id, self.name, self._session, self.random.choice(("", "sticky")),
            "earliest", MANUAL if self.every else AUTO, self._interval, hooks,
        )  # fmt: skip
        messages = self.random.choice((3, 30, 1_000_000))
        consumer = GroupConsumer(brokers, terms)
        async with consumer:
            while (messages or self.is_calm) and not self.is_ending:
                messages -= 1
                if not await self._one(loop, consumer, hand):
                    break
            # Whoever leaves the block in order is done with what it has in hand.
            hand.done()

    def _revoked(self, slots: list[Slot]) -> None:
        assert self._hand is not None
        self._hand.revoked(slots)

    async def _one(self, loop: SimulatedLoop, consumer: GroupConsumer, hand: Hand) -> bool:
        found: list[Message] = []

        async def ask() -> None:
            hand.done()
            found.append(await consumer.__anext__())

        try:
            while not found and not self.is_ending:
                await loop.within(loop.now() + 300 * MS, ask)
                if not found and self.every and self.is_calm:
                    await self._commit(consumer)
        except OffsetOutOfRange:
            # A disk has lost the partition's end: read the others on, or begin again where the group is.
            self.world.count("reader out of range")
            return self.random.random() < 0.5
        except CorruptBatch as error:
            self.world.count("reader skips")
            consumer.skip(error)
            return True
        except StopAsyncIteration:
            return False
        if not found:
            return False
        (message,) = found
        hand.handed(message)
        await self.think(loop)
        # Once all is calm there may be thousands left to read, and the last of them is committed in any case.
        if self.every and self.random.random() < (_P_CALM_COMMIT if self.is_calm else 1 / self.every):
            hand.done()
            await self._commit(consumer)
        return True

    async def _commit(self, consumer: GroupConsumer) -> None:
        try:
            await consumer.commit()
        except ClientError as error:
            self.world.count(f"commit met {type(error).__name__}")
