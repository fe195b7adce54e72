"""What all moves of dead letters stand on: what the node leads, the ledgers, a way to ask, and what was counted."""

from typing import Protocol

from attrs import define, field

from goqueue.core.clock import Clock
from goqueue.core.queues.errands import Errands, Slot
from goqueue.core.queues.queue_ledger import QueueLedger
from goqueue.core.replicas.replica_set import ReplicaSet


class Ledgers(Protocol):
    """Who has the ledgers."""

    books: dict[Slot, QueueLedger]
    # Those that may be another than they were when this was last emptied.
    doomed: dict[Slot, None]
    # How many dead letters of each group arrived where they belong.
    buried_by: dict[str, int]

    def touch(self, slot: Slot) -> None:
        """Something in a ledger is to be written."""


@define(eq=False)
class MoverContext:
    """The common ground of carriers, redrives and readers; `looked_at` are the partitions that may go on."""

    clock: Clock
    led: ReplicaSet
    ledgers: Ledgers
    errands: Errands
    looked_at: dict[Slot, None] = field(factory=dict)
    # Whether a ledger is to be written that was not when the service began its turn.
    has_touched: bool = False
    # By group: dead letters that were dropped or gone.
    dropped_by: dict[str, int] = field(factory=dict)

    def book(self, slot: Slot) -> QueueLedger | None:
        """The ledger of a partition, while it can be used."""
        book = self.ledgers.books.get(slot)
        return book if book is not None and book.is_ready else None

    def touch(self, book: QueueLedger, group: str = "") -> int:
        """The moves of a ledger were changed, or a group's queue; which count of batches makes that durable."""
        if group:
            book.touch(group)
        self.ledgers.touch(book.slot)
        self.has_touched = True
        return book.appended + 1

    def look_at(self, slot: Slot) -> None:
        """Have a partition looked at in this turn."""
        self.looked_at[slot] = None

    def count_buried(self, group: str, count: int) -> None:
        """Dead letters of a group arrived where they belong."""
        buried_by = self.ledgers.buried_by
        buried_by[group] = buried_by.get(group, 0) + count

    def count_dropped(self, group: str, count: int) -> None:
        """Dead letters of a group were kept nowhere."""
        self.dropped_by[group] = self.dropped_by.get(group, 0) + count
