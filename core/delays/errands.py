"""What one partition's delays ask of the node, and how much they may do in a turn.

The service of delays has one row of internal requests for all partitions; here each is known to be of one. And a turn
of the node is everybody's: with a million messages to be read or a hundred thousand due at once, each turn does so much
and goes on in the next, so that others wait for milliseconds.
"""

from attrs import define, field

from goqueue.core.requests.row import Request
from goqueue.core.services.internal_requests import InternalRequests

Slot = tuple[str, int]
"""A topic and a partition."""

# Messages that are looked at, read or written in a turn, of all partitions together.
TURN_MESSAGES = 1_000


@define
class Budget:
    """What is left to be done in a turn."""

    left: int = TURN_MESSAGES

    @property
    def is_spent(self) -> bool:
        """Whether the rest is for the next turn."""
        return self.left <= 0

    def spend(self, count: int) -> None:
        """So many messages were dealt with, and there is a cost of asking at all."""
        self.left -= count + 10


@define(eq=False)
class Errands:
    """The internal requests of one partition; `owners` has the partition of each request of the service."""

    slot: Slot
    _wishes: InternalRequests
    _owners: dict[int, Slot] = field(factory=dict)

    def ask(self, wish: Request) -> int:
        """Ask for something; the number of it."""
        number = self._wishes.ask(wish)
        self._owners[number] = self.slot
        return number
