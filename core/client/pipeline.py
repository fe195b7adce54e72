"""What is on its way to one partition: parcels that grow, that wait, and that were sent and have no answer.

Parcels reach the partition in the order in which they became due. With an idempotent producer up to five are in flight,
each with the sequence that follows the one before; the broker takes each once and in that order, whatever is sent
again. The broker remembers where the last five went, so none goes out that is the fifth or more behind one without an
answer. Without such a producer a single parcel is in flight, since two of which the first is refused would change
places.

When a parcel must be sent again the pipeline halts: the answers to all that is in flight are awaited first (the broker
refuses them as out of order), then everything unanswered is sent once more, in order, with the same numbers.

Numbers change in one case (`numbering.py`), and those of batches that came numbered never do. The oldest parcel is
refused as out of order, and nothing in flight can be stored under the numbers that it has: a parcel before it failed
and left a gap, or the broker has forgotten the producer. Then a new epoch begins and sequences count from 0. The broker
shuts the old epoch out, and with it whatever of it may still be on its way. It takes no first sequence but 0, so the
first of an epoch goes first.
"""

from collections import deque
from typing import TYPE_CHECKING

from goqueue.core.client.failure import Failure
from goqueue.core.client.record_batch import SEQUENCES, RecordBatch
from goqueue.core.records.batch import NO_EPOCH, NO_PRODUCER, NO_SEQUENCE, Lane

if TYPE_CHECKING:
    from goqueue.core.client.routing import Route

IN_FLIGHT_MAX = 5
EPOCH_MAX = (1 << 15) - 1


class Pipeline:
    """The way to one partition."""

    __slots__ = (
        "address", "attempts", "awaiting", "epoch", "flight", "flown", "halt", "has_gap", "is_halted", "is_later",
        "is_misplaced", "is_ready", "limit", "message_bytes_max", "open", "partition", "producer_id", "queue",
        "renumbers", "route", "sequence", "topic", "unsent",
    )  # fmt: skip

    def __init__(self, route: "Route", partition: int, address: str, *, is_later: bool = False) -> None:
        self.route = route
        # Whether it goes to the schedule of the partition, whose batches are numbered by themselves.
        self.is_later = is_later
        # How many parcels may be in flight.
        self.limit = route.limit
        self.topic = route.topic
        self.partition = partition
        self.address = address
        self.message_bytes_max = route.message_bytes_max
        # By lane: the parcel that takes the next record.
        self.open: list[RecordBatch | None] = [None] * len(Lane)
        # Due and never sent; the last ones may still be open.
        self.queue: deque[RecordBatch] = deque()
        # Sent at least once, or half of such a one, without an outcome; `awaiting` of them on the current connection.
        self.flight: deque[RecordBatch] = deque()
        self.awaiting = 0
        self.unsent = 0
        # How many were ever in flight in this epoch.
        self.flown = 0
        self.is_ready = False
        self.is_halted = False
        self.is_misplaced = False
        # While halted: not before this time.
        self.halt = 0
        self.attempts = 0
        self.producer_id = NO_PRODUCER
        self.epoch = NO_EPOCH
        self.sequence = NO_SEQUENCE
        self.renumbers = False
        # Whether a parcel of this epoch failed that is certainly not stored.
        self.has_gap = False

    def identify(self, producer_id: int, epoch: int) -> None:
        """Number what comes from here on, and what is in flight, as this producer's from the beginning."""
        assert not self.awaiting
        self.producer_id = producer_id
        self.epoch = epoch
        self.sequence = 0
        self.renumbers = self.has_gap = False
        self.flown = 0
        for parcel in self.flight:
            assert not parcel.may_be_stored
            parcel.is_doubtful = parcel.is_behind_gap = False
            parcel.renumber(producer_id, epoch, self.sequence)
            self.count_on(parcel.count)
            self._number(parcel)

    def launch(self, parcel: RecordBatch) -> None:
        """It is in flight from here on, behind all others."""
        parcel.is_behind_gap = self.has_gap
        self.flight.append(parcel)
        self.unsent += 1
        self._number(parcel)

    def _number(self, parcel: RecordBatch) -> None:
        parcel.flown = self.flown
        self.flown += 1

    @property
    def has_room(self) -> bool:
        """Whether another one may be in flight."""
        return not self.flight or self.flown - self.flight[0].flown < self.limit

    def is_near(self, parcel: RecordBatch) -> bool:
        """Whether one may be sent while the oldest that is in flight has no answer."""
        return parcel.flown - self.flight[0].flown < self.limit

    def count_on(self, count: int) -> None:
        """The sequence after `count` records; 31 bits of it, and then again from 0."""
        self.sequence = (self.sequence + count) & (SEQUENCES - 1)

    def withdraw(self, parcel: RecordBatch) -> None:
        """Its answer is there, or will never come."""
        assert parcel.request_id
        parcel.request_id = 0
        self.awaiting -= 1
        self.unsent += 1

    def remove(self, parcel: RecordBatch) -> None:
        """Nothing will be sent of it any more, wherever it is."""
        assert not parcel.request_id
        if self.open[parcel.lane] is parcel:
            self.open[parcel.lane] = None
        if parcel.content is None:
            if parcel.is_due:
                self.queue.remove(parcel)
        else:
            self.unsent -= 1
            self.flight.remove(parcel)

    def leave_gap(self, parcel: RecordBatch) -> None:
        """A parcel is to be removed that is certainly not stored: nor is any behind it, whatever becomes of them."""
        if parcel.sequence != NO_SEQUENCE and parcel in self.flight:
            self.has_gap = True
            for behind in list(self.flight)[self.flight.index(parcel) + 1 :]:
                behind.is_behind_gap = True

    def replace(self, parcel: RecordBatch, halves: tuple[RecordBatch, RecordBatch]) -> None:
        """Send these two where one was to be sent again, in its place."""
        assert not parcel.request_id
        place = self.flight.index(parcel)
        self.flight[place] = halves[0]
        self.flight.insert(place + 1, halves[1])
        # What is behind them on its way is further away than may be; but none of it is taken before both halves are.
        for half in halves:
            half.flown = parcel.flown
        for each in list(self.flight)[place + 1 :]:
            each.flown += 1
        self.flown += 1
        self.unsent += 1

    def parcels(self) -> list[RecordBatch]:
        """All without an outcome, the oldest first."""
        opened = [parcel for parcel in self.open if parcel is not None and not parcel.is_due]
        return [*self.flight, *self.queue, *opened]

    def halt_until(self, now: int, failure: Failure, delay_ns: int) -> None:
        """Send nothing more before the answers to what is in flight are there and the time has come."""
        self.is_halted = True
        self.halt = max(self.halt, now + max(delay_ns, failure.retry_after_ms * 1_000_000))

    def go_to(self, address: str) -> None:
        """Have another address; a halt was for the one before."""
        assert not self.awaiting
        self.address = address
        self.is_ready = self.is_halted = False
        self.halt = self.attempts = 0

    def check(self) -> None:
        """Assert the invariants."""
        sent = [parcel.request_id > 0 for parcel in self.flight]
        assert sum(sent) == self.awaiting
        assert len(sent) - self.awaiting == self.unsent
        assert self.awaiting <= IN_FLIGHT_MAX
        assert [parcel.flown for parcel in self.flight] == sorted({parcel.flown for parcel in self.flight})
        assert all(parcel.flown < self.flown for parcel in self.flight)
        assert all(parcel.content is not None for parcel in self.flight)
        assert all(parcel.content is None and parcel.is_due for parcel in self.queue)
        assert not any(parcel.is_settled for parcel in self.parcels())
        if self.producer_id != NO_PRODUCER and not self.renumbers:
            self._check_sequences()

    def _check_sequences(self) -> None:
        expected = self.sequence
        for parcel in reversed(self.flight):
            # A parcel that failed in the middle leaves a gap, and never an overlap.
            assert (expected - parcel.sequence - parcel.count) & (SEQUENCES - 1) < SEQUENCES // 2
            expected = parcel.sequence
