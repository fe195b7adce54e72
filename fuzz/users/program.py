"""A program that uses the client library: it lives, dies and lives again, under one name.

Each life has a loop and a connection of its own. What a program does with the connection is its `work`; what the
library raises there ends the block, and the program begins another one some time later. Once nothing fails any more it
does what it should until it is told to end, and then it leaves in order.
"""

from abc import ABC, abstractmethod
from random import Random
from typing import TYPE_CHECKING

from goqueue.fuzz.options import Options
from goqueue.fuzz.users.loop import SimulatedLoop
from goqueue.transports.client.brokers import Brokers
from goqueue.transports.client.errors import ClientError

if TYPE_CHECKING:
    from goqueue.fuzz.world import World

MS = 1_000_000
_PORT = 9000
_REST_NS = 500 * MS
# How long one call of the library may take, with all its attempts.
_TIMEOUTS_NS = (2_000 * MS, 10_000 * MS, 30_000 * MS)


class Program(ABC):
    """See the module."""

    # How long it does something else at most between two calls once nothing fails any more.
    calm_think_ns = 5 * MS

    def __init__(self, world: "World", name: str, random: Random) -> None:
        self.world = world
        self.name = name
        self.random = random
        self.life = 0
        self.is_calm = False
        self.calm_since: int | None = None
        # Whether it is to end, and has.
        self.is_ending = False
        self.is_over = False
        # What ended its blocks, by the names of the errors.
        self.errors: dict[str, int] = {}
        self.loop: SimulatedLoop | None = None
        self._timeout_ns = random.choice(_TIMEOUTS_NS)

    @property
    def options(self) -> Options:
        """Those of the world."""
        return self.world.options

    def draw_topic(self) -> str:
        """One of the topics there may be."""
        return f"t{self.random.randrange(self.options.topics)}"

    # --- lives

    def begin(self) -> None:
        """Let it live soon."""
        self.world.later(self._some(_REST_NS), self._live)
        if self.options.p_stray:
            self.world.later(self._lifetime_ns(), self._crash)

    def _lifetime_ns(self) -> int:
        return self._some(int(400 * MS / self.options.p_stray))

    def _some(self, most_ns: int) -> int:
        return int(self.random.random() * most_ns)

    def _live(self, _: object = None) -> None:
        if self.is_ending:
            self.is_over = True
            return
        self.life += 1
        loop = self.loop = SimulatedLoop(self.world, self.name, self.world.random(f"{self.name}/{self.life}/turns"))
        addresses = [f"{process.host}:{_PORT}" for process in self.world.processes]
        self.random.shuffle(addresses)
        if len(addresses) > 1 and not (self.options.grows or "address" in self.options.calamities):
            # Where nodes leave for good or are reached elsewhere, whoever knew of those alone would find nobody.
            addresses = addresses[: self.random.randint(1, len(addresses))]
        brokers = Brokers(
            loop, addresses, timeout_ns=self._timeout_ns, random=self.world.random(f"{self.name}/{self.life}"),
            clock=loop.now,
        )  # fmt: skip
        loop.turns.start(self._run(loop, brokers))

    def _crash(self, _: object) -> None:
        """The program is killed, and another one begins some time later."""
        if self.is_calm or self.is_over:
            return
        self.world.later(self._lifetime_ns(), self._crash)
        if self.loop is not None and not self.loop.is_over:
            self.world.count("program killed")
            self.loop.end()
            self.world.program_wires.program_died(self.name)
            self.died()
            self.world.later(self._some(2 * _REST_NS), self._live)

    def end(self) -> None:
        """The world ends."""
        if self.loop is not None and not self.loop.is_over:
            self.loop.end()

    def calm(self) -> None:
        """Do as one should from here on."""
        self.is_calm, self.calm_since = True, self.world.now

    def finish(self) -> None:
        """Leave in order."""
        self.is_ending = True

    # --- what it does

    async def _run(self, loop: SimulatedLoop, brokers: Brokers) -> None:
        while not self.is_ending:
            try:
                await self.work(loop, brokers)
            except ClientError as error:
                name = type(error).__name__
                self.errors[name] = self.errors.get(name, 0) + 1
                self.world.count(f"program met {name}")
            await loop.pause(self._some(_REST_NS))
        await brokers.close()
        self.is_over = True

    @abstractmethod
    async def work(self, loop: SimulatedLoop, brokers: Brokers) -> None:
        """Use the library until there is reason to begin anew, or to end."""

    def died(self) -> None:  # noqa: B027 - some have nothing in hand
        """What the program had in memory is gone."""

    async def think(self, loop: SimulatedLoop) -> None:
        """Do something else for a while."""
        await loop.pause(self._some(self.calm_think_ns if self.is_calm else self.options.think_ns))
