"""Where the members of one group are served: its readers, one a partition, and the line of polls that found nothing.

Desks that may have something are lit. Whoever is served goes from one lit reader to the next until there is enough, and
a reader that served goes behind the others: so no partition starves, and a poll costs what it finds, not how many
partitions there are. Whoever came first in line is served first.

Invariants: a dark reader has nothing to give, or is being read; a poll in line has found nothing.
"""

from attrs import define, field

from goqueue.core.queues.errands import Slot
from goqueue.core.queues.reader import QueueReader
from goqueue.core.requests.call import Call
from goqueue.core.requests.queues import LeasedBatches


@define(eq=False)
class Poll:
    """A poll under way: what it still takes, and what it was given."""

    call: Call
    member_id: str
    topics: list[str]
    messages_left: int
    bytes_left: int
    span_ms: int
    deadline: int
    round: int = 0
    parts: list[LeasedBatches] = field(factory=list)

    @property
    def is_full(self) -> bool:
        """Whether nothing more goes in."""
        return self.messages_left <= 0 or self.bytes_left <= 0

    def take(self, part: LeasedBatches) -> None:
        """Be given something."""
        self.parts.append(part)
        self.messages_left -= sum(lease.count for lease in part.leases)
        self.bytes_left -= len(part.batches)


@define(eq=False)
class GroupDispatcher:
    """One group: `max_in_flight` is how much a member may have at once."""

    group: str
    max_in_flight: int = 1000
    readers: dict[Slot, QueueReader] = field(factory=dict)
    lit: dict[Slot, QueueReader] = field(factory=dict)
    line: dict[Call, Poll] = field(factory=dict)
    # Those in line whose time is up, and who are told so once nothing is being read any more.
    late: dict[Call, Poll] = field(factory=dict)
    # Topics whose queues are being made.
    opening: dict[str, None] = field(factory=dict)

    def add(self, reader: QueueReader) -> None:
        """A partition more."""
        assert reader.slot not in self.readers
        self.readers[reader.slot] = reader

    def remove(self, slot: Slot) -> QueueReader | None:
        """A partition less."""
        self.lit.pop(slot, None)
        return self.readers.pop(slot, None)

    def light(self, reader: QueueReader) -> None:
        """A reader may have something."""
        if not reader.reading and not reader.retry_at and not reader.is_dry:
            self.lit[reader.slot] = reader

    def served(self, reader: QueueReader) -> None:
        """A reader has given something, and goes behind the others; or has nothing more to give."""
        self.lit.pop(reader.slot, None)
        self.light(reader)

    def darken(self, reader: QueueReader) -> None:
        """Pass over a reader until it has messages that can be leased."""
        self.lit.pop(reader.slot, None)

    def serves(self, topics: list[str]) -> bool:
        """Whether something can be had of some topics, or soon will be."""
        return bool(self.opening) or any(topic in topics for topic, _ in self.readers)

    @property
    def is_busy(self) -> bool:
        """Whether something is under way that may bring messages."""
        return bool(self.opening) or any(reader.is_reading for reader in self.readers.values())

    def room(self, member_id: str) -> int:
        """How many messages more a member may have."""
        had = sum(reader.queue.ledger.leases.in_flight(member_id) for reader in self.readers.values())
        return max(self.max_in_flight - had, 0)

    def leave_line(self, call: Call) -> Poll | None:
        """A poll is over."""
        self.late.pop(call, None)
        return self.line.pop(call, None)

    def check(self) -> None:
        """Assert the invariants."""
        assert self.late.keys() <= self.line.keys()
        assert self.lit.keys() <= self.readers.keys()
        for poll in self.line.values():
            assert not poll.parts
        for slot, reader in self.readers.items():
            assert reader.slot == slot
            assert slot in self.lit or reader.reading or reader.retry_at or reader.is_dry or not reader.is_informed
            reader.check()
