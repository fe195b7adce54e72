"""A redrive's work in one partition, where that is led: letters are read, and given to its carrier batch by batch.

Whoever has the redrive says what the job is and how many letters may match here, and has the leg take steps. What the
leg has done lies in the partition's ledger: how far the job has come there is told by the record that moved or dropped
the letters. What is here can be lost at any time. A dry run counts in memory and begins anew.

A rate is kept by pauses between batches, which are small when the rate is.
"""

from attrs import define, evolve

from goqueue.core.deadletters.context import MoverContext
from goqueue.core.deadletters.freight import Freight
from goqueue.core.deadletters.mover import DeadLetterMover
from goqueue.core.deadletters.picking import BYTES_MAX, Bounds, Sifted
from goqueue.core.deadletters.reading import Reading
from goqueue.core.queues.errands import Slot
from goqueue.core.queues.move_records import Job, Passed, Tally
from goqueue.core.queues.queue_ledger import QueueLedger
from goqueue.core.queues.records import packed_runs
from goqueue.core.queues.targets import Targets
from goqueue.core.requests.refusals import Code
from goqueue.core.requests.replies import Reply

# A redrive with a rate moves a tenth of a second's worth at a time.
_BATCHES_A_SECOND = 10
_PAUSE_NS = 1_000_000_000
NO_LIMIT = 1 << 62


@define(eq=False)
class RedrivePartition:
    """A partition of a job; `due` is when it may go on, 0 while no time is waited for.

    `is_done` says that all of it here is durable, and `trouble` why it cannot be.
    """

    slot: Slot
    redrive_id: str
    _yard: MoverContext
    _carriers: dict[Slot, DeadLetterMover]
    job: Job
    room: int = NO_LIMIT
    due: int = 0
    is_done: bool = False
    trouble: str = ""
    _book: QueueLedger | None = None
    _load: int = 0
    _reading: Reading | None = None
    _sifted: Sifted | None = None
    # What count of batches makes durable what was written last, 0 when that is not awaited.
    _after: int = 0
    _dry: Tally | None = None

    @property
    def tally(self) -> Tally | None:
        """How far it has come; None while that cannot be known."""
        start = self.job.starts[self.slot[1]]
        if self.job.is_dry_run:
            return self._dry or Tally(start)
        book = self._yard.book(self.slot)
        return None if book is None else book.moves.tallies.get(self.redrive_id) or Tally(start)

    @property
    def is_moving(self) -> bool:
        """Whether a batch of it is under way."""
        carrier = self._carriers.get(self.slot)
        return carrier is not None and carrier.carries(self.redrive_id)

    def end(self) -> None:
        """Begin nothing more; what is under way goes on."""
        self.reset()
        carrier = self._carriers.get(self.slot)
        if carrier is not None:
            carrier.wanted_by.pop(self.redrive_id, None)

    def reset(self) -> None:
        """Forget what was read."""
        self._reading = self._sifted = None
        self.due = self._after = 0

    def forget_found(self) -> None:
        """Let go of the letters in memory."""
        self._reading = self._sifted = None
        self._yard.look_at(self.slot)

    # --- going on

    def step(self, now: int) -> None:
        """Go as far as there is nothing to wait for."""
        if self.due <= now:
            self.due = 0
        book, carrier = self._yard.book(self.slot), self._carriers.get(self.slot)
        if self.trouble or self.is_done:
            return
        if book is None or carrier is None:
            self.reset()
            return
        if book is not self._book or book.load != self._load:
            self.reset()
            self._book, self._load = book, book.load
        trouble = carrier.troubles.pop(self.redrive_id, "")
        if trouble:
            self.trouble = trouble
        elif self._sifted is not None:
            self._hand_over(now, book, carrier, self._sifted)
        elif self._reading is None and not carrier.carries(self.redrive_id):
            self._go_on(now, book, carrier)

    def _go_on(self, now: int, book: QueueLedger, carrier: DeadLetterMover) -> None:
        """Look for the next letters, or be done when that was all."""
        job, number, tally = self.job, self.slot[1], self.tally
        assert tally is not None
        room = self.room - tally.matched
        if tally.position >= job.ends[number] or room <= 0:
            self._finish(book)
        elif not self.due:
            targets = None
            if not job.is_purge and not job.is_dry_run:
                targets = Targets(self._yard.led, job.topic, job.to)
                room = min(room, max(job.rate // _BATCHES_A_SECOND, 1)) if job.rate else room
            bounds = Bounds(carrier.letters_max, BYTES_MAX)
            at_ms = self._yard.clock.wall_ms(now)
            moves, end = book.moves, job.ends[number]
            pick = Sifted(number, job.sieve(), targets, at_ms, end, moves.gone, evolve(tally), room, bounds)
            self._reading = Reading(self._yard.errands, self._yard.led, self, *self.slot, pick)
            self._reading.go()
            self._read_on(now)

    def _finish(self, book: QueueLedger) -> None:
        """Be done, once what was written to the ledger is durable."""
        if not self._after:
            self._after = book.appended + (not book.moves.has_taken)
        if book.durable >= self._after:
            self.is_done = True
            self.reset()
            self._yard.look_at(self.slot)

    # --- letters

    def answered(self, now: int, number: int, reply: Reply) -> None:
        """The answer to a read, which may be of no use any more."""
        if self._reading is not None and number == self._reading.asked:
            self._reading.answered(reply)
            self._read_on(now)

    def _read_on(self, now: int) -> None:
        reading, book = self._reading, self._book
        assert reading is not None
        if not reading.has_ended:
            return
        self._reading = None
        self._yard.look_at(self.slot)
        refusal = reading.refusal
        if refusal is not None and refusal.code is Code.DAMAGED:
            self.trouble = refusal.message
        elif refusal is not None or book is None or book.load != self._load or not book.is_ready:
            self.due = now + _PAUSE_NS
        else:
            assert isinstance(reading.pick, Sifted)
            self._found(book, reading.pick)

    def _found(self, book: QueueLedger, sifted: Sifted) -> None:
        """Letters were found, or none."""
        tally = sifted.tally
        if self.job.is_dry_run:
            self._dry = tally
        elif sifted.consignment.offsets:
            self._sifted = sifted
        elif sifted.why:
            self.trouble = sifted.why
        else:
            tally.moved += sum(end - start for start, end in sifted.passed)
            gone = packed_runs(sifted.passed)
            book.moves.keep(Passed(self.redrive_id, tally.position, tally.looked, tally.matched, tally.moved, gone))
            self._yard.touch(book)

    def _hand_over(self, now: int, book: QueueLedger, carrier: DeadLetterMover, sifted: Sifted) -> None:
        """Have a batch moved, when it is its turn."""
        if not carrier.is_free or book.moves.intent is not None:
            carrier.wanted_by[self.redrive_id] = None
            return
        carrier.wanted_by.pop(self.redrive_id, None)
        self._sifted = None
        offsets = sifted.consignment.offsets
        if any(offset in book.moves.gone for offset in offsets):
            # Another redrive was faster.
            self._yard.look_at(self.slot)
            return
        if self.job.rate:
            self.due = now + len(offsets) * 1_000_000_000 // self.job.rate
        carrier.send(now, Freight(sifted.consignment, sifted.at_ms, job=self.redrive_id, tally=sifted.tally))

    def check(self) -> None:
        """Assert the invariants."""
        assert self._reading is None or self._sifted is None
        assert not self.is_done or self._reading is None
