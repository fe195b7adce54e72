"""The loop of one program: what the client library asks of trio or asyncio, on the clock of a world."""

import ssl
from collections.abc import Awaitable, Callable
from random import Random
from typing import TYPE_CHECKING, Self

from goqueue.fuzz.users.turns import Turns, pause, within
from goqueue.transports.client.fibers import Fiber, FiberParking
from goqueue.transports.client.link import Link

if TYPE_CHECKING:
    from goqueue.fuzz.users.wires import SimulatedCarrier
    from goqueue.fuzz.world import World

# The clock of a program shows this at the beginning of the world.
_ORIGIN_NS = 1_000_000_000_000


class SimulatedLoop:
    """See Loop."""

    def __init__(self, world: "World", name: str, random: Random) -> None:
        self._world = world
        self.name = name
        self.kicked: list[SimulatedCarrier] = []
        self.turns = Turns(world, random, self._flush)

    def _flush(self) -> None:
        while self.kicked:
            kicked, self.kicked = self.kicked, []
            for carrier in kicked:
                carrier.flush()

    def end(self) -> None:
        """The program is gone, without a word."""
        self.turns.end()
        self.kicked.clear()

    @property
    def is_over(self) -> bool:
        """Whether the program is gone."""
        return self.turns.is_over

    async def __aenter__(self) -> Self:
        """See Loop."""
        return self

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> bool | None:
        """See Loop."""
        return None

    def now(self) -> int:
        """See Loop."""
        return _ORIGIN_NS + self._world.now

    def parking(self) -> FiberParking:
        """See Loop."""
        return self.turns.parking()

    def start(self, work: Callable[[], Awaitable[object]]) -> Fiber:
        """See Loop."""

        async def beside() -> None:
            await work()

        return self.turns.start(beside())

    async def within(self, deadline: int, work: Callable[[], Awaitable[object]]) -> bool:
        """See Loop."""
        return await within(self.turns, deadline - _ORIGIN_NS, work)

    async def pause(self, duration_ns: int) -> None:
        """See Loop."""
        await pause(self.turns, self._world.now + duration_ns)

    async def sheltered(self, work: Callable[[], Awaitable[object]]) -> None:
        """See Loop: a task is interrupted once, and then waits like any other."""
        await work()

    def on_signal(self, number: int, told: Callable[[], None]) -> Callable[[], None]:
        """See Loop; nobody sends signals here."""
        return lambda: None

    async def dial(self, host: str, port: int, tls: ssl.SSLContext | None, link: Link) -> "SimulatedCarrier":
        """See Loop."""
        return await self._world.program_wires.dial(self, host, link)
