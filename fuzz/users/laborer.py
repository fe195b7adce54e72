"""A program that works through a shared group by the library's work consumer, and keeps what it was told.

It acknowledges, has things tried again, rejects, hands back and extends; it takes its time, for longer than a lease
lasts, under the library's care or without; and it waits now and then for what became of what it said.
"""

from contextlib import suppress
from datetime import timedelta
from random import Random
from typing import TYPE_CHECKING

from attrs import define

from goqueue.core.client.work_session import WorkTerms
from goqueue.core.requests.groups import GroupMode, JoinGroup
from goqueue.fuzz.users.handed import name_in
from goqueue.fuzz.users.loop import SimulatedLoop
from goqueue.fuzz.users.program import MS, Program
from goqueue.fuzz.workloads.worker import shared_config
from goqueue.transports.client.brokers import Brokers
from goqueue.transports.client.errors import ClientError, CorruptBatch
from goqueue.transports.client.leased_message import LeasedMessage, Settlement
from goqueue.transports.client.policies import AckPolicy
from goqueue.transports.client.work_consumer import ConsumerPlan, WorkConsumer

if TYPE_CHECKING:
    from goqueue.fuzz.world import World

Lease = tuple[str, int]
"""A message under a lease: the stem of its receipt, and its offset."""


@define(eq=False)
class Said:
    """What was said of a message, and is not known to have been heard."""

    lease: Lease
    verb: str
    settlement: Settlement
    since: int


class Laborer(Program):
    """See the module."""

    def __init__(self, world: "World", name: str, random: Random) -> None:
        super().__init__(world, name, random)
        options = world.options
        self.group = f"w{random.randrange(options.shared_groups)}"
        self._session_ms = random.randint(1_000, max(options.session_ms_max, 1_000))
        # Memory is short in some: room for one message, or for less.
        self._prefetch = random.choice((1, 2, 10, 200))
        self._prefetch_bytes = random.choice((1, 500, 1 << 20))
        self._policy = random.choice((*AckPolicy, AckPolicy.MANUAL))
        # What it was handed, all its lives; what it said; what it was told, for checkers to look at and to clear.
        self.leases: set[Lease] = set()
        self.said: list[Said] = []
        self.flaws: list[str] = []
        self.told: list[Said] = []
        # Messages that the library looks after at the moment.
        self.tended: dict[Lease, bytes] = {}
        self.fresh: list[tuple[Lease, bytes, int]] = []

    def died(self) -> None:
        """What it had in hand is gone."""
        self.said.clear()
        self.tended.clear()

    def _plan(self) -> ConsumerPlan:
        topics = [f"t{number}" for number in range(self.options.topics)]
        join = JoinGroup(
            self.group, topics, "", "", self.name, self._session_ms, GroupMode.SHARED, "", False,
            shared_config(self.options, self.group),
        )  # fmt: skip
        terms = WorkTerms(join, self._prefetch, self._prefetch_bytes, self._timeout_ns)
        return ConsumerPlan(terms, AckPolicy.ACK if self.is_calm else self._policy)

    async def work(self, loop: SimulatedLoop, brokers: Brokers) -> None:
        """Be a member for a while."""
        messages = self.random.choice((3, 30, 1_000_000))
        plan, was_calm = self._plan(), self.is_calm
        try:
            async with WorkConsumer(brokers, plan) as consumer:
                while (messages or self.is_calm) and not self.is_ending and was_calm == self.is_calm:
                    messages -= 1
                    await self._one(loop, consumer, plan.policy)
        finally:
            self.tended.clear()
            self.look()

    async def _one(self, loop: SimulatedLoop, consumer: WorkConsumer, policy: AckPolicy) -> None:
        try:
            message = await consumer.next(timedelta(milliseconds=300))
        except CorruptBatch:
            self.world.count("laborer met what cannot be read")
            return
        self.look()
        if message is None:
            return
        if consumer.held > self._prefetch:
            self.flaws.append(f"{self.name} holds {consumer.held} messages, and asked for {self._prefetch} at most")
        lease = message.claim.grant.stem, message.offset
        if lease in self.leases:
            self.flaws.append(f"{self.name} was handed {message} twice under the lease {lease}")
        self.leases.add(lease)
        self.world.count("handed to a laborer")
        self.fresh.append((lease, name_in(message), self.world.now))
        if policy is AckPolicy.MANUAL:
            await self._work_on(loop, message, lease)
        else:
            await self._take_time(loop)

    async def _take_time(self, loop: SimulatedLoop, share: float = 0.1) -> None:
        """Now and then it takes longer than a lease lasts."""
        if not self.is_calm and self.random.random() < share:
            await loop.pause(int(self.random.random() * 2 * self.options.visibility_ms * MS))
        else:
            await self.think(loop)

    async def _work_on(self, loop: SimulatedLoop, message: LeasedMessage, lease: Lease) -> None:
        if self.random.random() < 0.5:
            async with message.processing(AckPolicy.MANUAL):
                self.tended[lease] = name_in(message)
                await self._take_time(loop, 0.25)
                self.tended.pop(lease, None)
                self._say(message, lease)
        else:
            await self._take_time(loop)
            self._say(message, lease)
        if self.said and self.random.random() < 0.2:
            await self._await(loop, self.said[-1].settlement)

    async def _await(self, loop: SimulatedLoop, settlement: Settlement) -> None:
        """Wait a while for what becomes of what was said; whatever it is, it is looked at later."""
        with suppress(ClientError):
            await loop.within(loop.now() + 1_000 * MS, settlement.wait)

    def _say(self, message: LeasedMessage, lease: Lease) -> None:
        random = self.random
        if random.random() < 0.1:
            message.extend(timedelta(milliseconds=random.choice((1, 100, 2_000))))
        drawn = random.random()
        if drawn < 0.6:
            self._note(lease, "ack", message.ack())
        elif drawn < 0.75:
            delay = random.choice((None, timedelta(0), timedelta(milliseconds=300)))
            self._note(lease, "nack", message.nack(delay, "no"))
        elif drawn < 0.8:
            self._note(lease, "reject", message.reject("never"))
        elif drawn < 0.9:
            self._note(lease, "release", message.release())
        # And now and then it says nothing at all, or everything twice.
        if random.random() < 0.05:
            self._note(lease, "ack", message.ack())

    def _note(self, lease: Lease, verb: str, settlement: Settlement) -> None:
        self.said.append(Said(lease, verb, settlement, self.world.now))

    def look(self) -> None:
        """See what was heard of what it said."""
        left: list[Said] = []
        for said in self.said:
            if not said.settlement.done:
                left.append(said)
                continue
            try:
                said.settlement.result()
            except ClientError as error:
                self.world.count(f"{said.verb} met {error.code}")
            else:
                self.world.count(f"{said.verb} heard")
                self.told.append(said)
        self.said = left
