"""Where the members of one group are served: its desks, one a partition, and the line of polls that found nothing.

Desks that may have something are lit. Whoever is served goes from one lit desk to the next until there is enough, and a
desk that served goes behind the others: so no partition starves, and a poll costs what it finds, not how many
partitions there are. Whoever came first in line is served first.

Invariants: a dark desk has nothing to give, or is being read; a poll in line has found nothing.
"""

from attrs import define, field

from goqueue.core.queues.desk import Desk
from goqueue.core.queues.errands import Slot
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
class Hall:
    """One group: `max_in_flight` is how much a member may have at once."""

    group: str
    max_in_flight: int = 1000
    desks: dict[Slot, Desk] = field(factory=dict)
    lit: dict[Slot, Desk] = field(factory=dict)
    line: dict[Call, Poll] = field(factory=dict)
    # Those in line whose time is up, and who are told so once nothing is being read any more.
    late: dict[Call, Poll] = field(factory=dict)
    # Topics whose queues are being made.
    opening: dict[str, None] = field(factory=dict)

    def add(self, desk: Desk) -> None:
        """A partition more."""
        assert desk.slot not in self.desks
        self.desks[desk.slot] = desk

    def remove(self, slot: Slot) -> Desk | None:
        """A partition less."""
        self.lit.pop(slot, None)
        return self.desks.pop(slot, None)

    def light(self, desk: Desk) -> None:
        """A desk may have something."""
        if not desk.reading and not desk.retry_at and not desk.is_dry:
            self.lit[desk.slot] = desk

    def served(self, desk: Desk) -> None:
        """A desk has given something, and goes behind the others; or has nothing more to give."""
        self.lit.pop(desk.slot, None)
        self.light(desk)

    def darken(self, desk: Desk) -> None:
        """A desk has nothing to give for now."""
        self.lit.pop(desk.slot, None)

    def serves(self, topics: list[str]) -> bool:
        """Whether something can be had of some topics, or soon will be."""
        return bool(self.opening) or any(topic in topics for topic, _ in self.desks)

    @property
    def is_busy(self) -> bool:
        """Whether something is under way that may bring messages."""
        return bool(self.opening) or any(desk.is_reading for desk in self.desks.values())

    def room(self, member_id: str) -> int:
        """How many messages more a member may have."""
        had = sum(desk.queue.ledger.leases.in_flight(member_id) for desk in self.desks.values())
        return max(self.max_in_flight - had, 0)

    def leave_line(self, call: Call) -> Poll | None:
        """A poll is over."""
        self.late.pop(call, None)
        return self.line.pop(call, None)

    def check(self) -> None:
        """Assert the invariants."""
        assert self.late.keys() <= self.line.keys()
        assert self.lit.keys() <= self.desks.keys()
        for poll in self.line.values():
            assert not poll.parts
        for slot, desk in self.desks.items():
            assert desk.slot == slot
            assert slot in self.lit or desk.reading or desk.retry_at or desk.is_dry or not desk.is_informed
            desk.check()
