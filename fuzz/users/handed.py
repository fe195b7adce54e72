"""What readers of groups were handed by the library, message by message: the users' side of every promise.

A hand is one block of one reader. A message is handed to it, and it is done with it when it asks for another one, or
says so. Not here: what is wrong with any of it (`fuzz/checkers/handing.py`).
"""

from typing import TYPE_CHECKING

from attrs import define, field

from goqueue.core.groups.state import Slot
from goqueue.fuzz.history import NAME_HEADER
from goqueue.transports.client.messages import Message

if TYPE_CHECKING:
    from goqueue.fuzz.world import World


@define
class Given:
    """A message as it was handed out."""

    topic: str
    partition: int
    offset: int
    name: bytes
    at: int


@define(eq=False)
class Hand:
    """One block of one reader."""

    program: str
    _all: "Handed"
    # Partitions by when they came, and the last offset that was handed of each since then.
    held: dict[Slot, int] = field(factory=dict)
    in_hand: Given | None = None

    def assigned(self, slots: list[Slot]) -> None:
        """These come."""
        for slot in slots:
            if slot in self.held:
                self._all.flaws.append(f"{self.program} was told twice that {slot} comes")
            self.held[slot] = -1

    def revoked(self, slots: list[Slot]) -> None:
        """These go, in order."""
        self._part(slots)

    def lost(self, slots: list[Slot]) -> None:
        """These are lost."""
        self._all.losses += 1
        self._part(slots)

    def _part(self, slots: list[Slot]) -> None:
        for slot in slots:
            if self.held.pop(slot, None) is None:
                self._all.flaws.append(f"{self.program} was told that {slot} goes, and never that it comes")

    def handed(self, message: Message) -> None:
        """A message is handed out."""
        slot = message.topic, message.partition
        given = self.in_hand = Given(*slot, message.offset, name_in(message), self._all.now())
        last = self.held.get(slot)
        if last is None:
            self._all.flaws.append(f"{self.program} was handed {given}, and the partition is not its own")
        elif message.offset <= last:
            self._all.flaws.append(f"{self.program} was handed {given} after offset {last}")
        else:
            self.held[slot] = message.offset
        self._all.take(self.program, given)

    def done(self) -> None:
        """It has done with what it has in hand."""
        given, self.in_hand = self.in_hand, None
        if given is not None:
            self._all.done.add(given.name)


class Handed:
    """All hands of a world; `flaws` are what no order of events excuses."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self.flaws: list[str] = []
        self.losses = 0
        # By message: to whom it was handed.
        self.times: dict[bytes, list[str]] = {}
        self.done: set[bytes] = set()
        # What was handed out and nobody has judged yet.
        self.fresh: list[tuple[str, Given]] = []

    def now(self) -> int:
        """The moment."""
        return self._world.now

    def begin(self, program: str) -> Hand:
        """A reader begins a block."""
        return Hand(program, self)

    def take(self, program: str, given: Given) -> None:
        """A message is handed to a program."""
        self.times.setdefault(given.name, []).append(program)
        self.fresh.append((program, given))
        self._world.count("handed to a reader")


def name_in(message: Message) -> bytes:
    """The name of a message as the library hands it out."""
    value = message.value
    return (message.headers.get(NAME_HEADER) or b"") if value is None else value.partition(b"|")[0]
