"""What the work queues ask of the node, to whom each answer belongs, and what is to be looked at in a turn."""

from typing import Protocol

from attrs import define, field

from goqueue.core.requests.call import Call
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request
from goqueue.core.services.internal_requests import InternalRequests

Slot = tuple[str, int]


class Sender(Protocol):
    """Who asks for something."""

    def answered(self, now: int, number: int, reply: Reply) -> None:
        """The answer to a wish, which may be of no use any more."""


@define(eq=False)
class Errands:
    """The internal requests that are under way; each has one answer."""

    wishes: InternalRequests
    _senders: dict[int, Sender] = field(factory=dict)

    def ask(self, sender: Sender, wish: Request, parent: Call | None = None) -> int:
        """Ask for something, maybe on behalf of a call; the number of it."""
        number = self.wishes.ask(wish, parent)
        self._senders[number] = sender
        return number

    def answered(self, now: int, number: int, reply: Reply) -> None:
        """Pass an answer on to whoever asked."""
        self._senders.pop(number).answered(now, number, reply)


class Streamed(Protocol):
    """What is kept in the ledger of a partition."""

    @property
    def slot(self) -> Slot:
        """Topic and partition."""


@define(eq=False)
class Turn:
    """The ledgers that may have something to write, and those that became usable, unusable or more durable."""

    touched: dict[Slot, None] = field(factory=dict)
    stirred: dict[Slot, None] = field(factory=dict)

    def touch(self, book: Streamed) -> None:
        """There may be something to write."""
        self.touched[book.slot] = None

    def stir(self, book: Streamed) -> None:
        """It is another than it was."""
        self.stirred[book.slot] = None

    def take_touched(self) -> dict[Slot, None]:
        """What was touched since the last call."""
        touched, self.touched = self.touched, {}
        return touched

    def take_stirred(self) -> dict[Slot, None]:
        """What was stirred since the last call."""
        stirred, self.stirred = self.stirred, {}
        return stirred
