"""One redrive or purge under way: partition after partition, from where its tallies say that it has come to.

Everything that counts is in the ledgers: the job with partition 0, and with each partition how far the job has come
there, told by the record that moved or dropped the letters. What is here can be lost at any time. A dry run counts in
memory and begins anew.

A redrive reads letters until it has a batch, and gives that to the partition's carrier when it is its turn. Its rate is
kept by pauses between batches, which are small when the rate is.

It ends when the last partition's records are durable: then the job says what came of it, and is over when that is
durable as well.
"""

from attrs import define, evolve, field

from goqueue.core.calls import Reply
from goqueue.core.dead.carrier import Carrier, Freight
from goqueue.core.dead.picking import BYTES_MAX, Bounds, Sifted
from goqueue.core.dead.reading import Reading
from goqueue.core.dead.records import Job, Passed, Tally
from goqueue.core.dead.targets import Targets
from goqueue.core.dead.verbs import RedriveState
from goqueue.core.dead.yard import Yard
from goqueue.core.verbs import Code
from goqueue.core.work.book import Book
from goqueue.core.work.errands import Slot
from goqueue.core.work.records import packed_runs

# A redrive with a rate moves a tenth of a second's worth at a time.
_BATCHES_A_SECOND = 10
_PAUSE_NS = 1_000_000_000
# How long the end waits for a batch under way, whose target may be out of reach.
_PATIENCE_NS = 5_000_000_000
_NO_LIMIT = 1 << 62


@define(eq=False)
class Redrive:
    """A job that is being carried out; `due` is when it may go on, 0 while no time is waited for."""

    topic: str
    redrive_id: str
    _yard: Yard
    _carriers: dict[Slot, Carrier]
    # Which count of batches of its ledger makes durable what is known of the job.
    kept: int = 0
    due: int = 0
    is_over: bool = False
    # How it is to end, and why; and until when a batch under way is waited for.
    _ending: tuple[RedriveState, str] | None = None
    _patience_end: int = 0
    _home_load: int = 0
    _order: list[int] = field(factory=list)
    _at: int = 0
    _book: Book | None = None
    _load: int = 0
    _reading: Reading | None = None
    _sifted: Sifted | None = None
    # What count of batches makes durable what was written last, 0 when that is not awaited.
    _after: int = 0
    _dry: dict[int, Tally] = field(factory=dict)

    @property
    def home(self) -> Slot:
        """The partition whose ledger keeps the job."""
        return self.topic, 0

    @property
    def slot(self) -> Slot:
        """The partition whose turn it is."""
        return (self.topic, self._order[self._at]) if self._at < len(self._order) else self.home

    @property
    def job(self) -> Job | None:
        """What was asked for; None while that cannot be known."""
        book = self._yard.book(self.home)
        return None if book is None else book.moves.jobs.get(self.redrive_id)

    @property
    def is_sure(self) -> bool:
        """Whether what is known of the job is durable."""
        book = self._yard.book(self.home)
        return book is not None and book.durable >= self.kept

    def counted(self, job: Job) -> Tally:
        """All that was counted so far, as far as it can be known now; its position means nothing."""
        total = Tally()
        for number in job.ends:
            tally = self._tally(job, number)
            if tally is not None:
                total.looked += tally.looked
                total.matched += tally.matched
                total.moved += tally.moved
        return total

    def _tally(self, job: Job, number: int) -> Tally | None:
        if job.is_dry_run:
            return self._dry.get(number) or Tally(job.starts[number])
        book = self._yard.book((self.topic, number))
        return None if book is None else book.moves.tallies.get(self.redrive_id) or Tally(job.starts[number])

    def _knows_all(self, job: Job) -> bool:
        """Whether the ledgers of all partitions can be looked into."""
        return all(self._tally(job, number) is not None for number in job.ends)

    # --- going on

    def cancel(self, now: int) -> None:
        """Come to an end."""
        self._end(now, RedriveState.CANCELLED, "")
        self._yard.look_at(self.home)

    def _end(self, now: int, state: RedriveState, why: str) -> None:
        if self._ending is None:
            self._ending, self._patience_end = (state, why), now + _PATIENCE_NS
            self._reset()

    def forget_found(self) -> None:
        """Let go of the letters in memory."""
        self._reading = self._sifted = None
        self._yard.look_at(self.home)

    def _reset(self) -> None:
        self._reading = self._sifted = None
        self.due = self._after = 0

    def step(self, now: int) -> None:
        """Go as far as there is nothing to wait for."""
        book, job = self._yard.book(self.home), self.job
        if book is None or job is None or self.is_over:
            return
        if book.load != self._home_load:
            self._home_load, self.kept = book.load, self.kept if not self._home_load else 0
        self._order = sorted(job.ends)
        if job.state is not RedriveState.RUNNING:
            self.is_over = self.is_sure
        elif self._ending is not None:
            self._conclude(now, job)
        elif self._at >= len(self._order):
            self._end(now, RedriveState.DONE, "")
            self._conclude(now, job)
        else:
            self._walk(now, job)

    def _walk(self, now: int, job: Job) -> None:
        """Go on in the partition whose turn it is."""
        slot = self.slot
        book, carrier = self._yard.book(slot), self._carriers.get(slot)
        if book is None or carrier is None:
            self._reset()
            return
        if book is not self._book or book.load != self._load:
            self._reset()
            self._book, self._load = book, book.load
        trouble = carrier.troubles.pop(self.redrive_id, "")
        if trouble:
            self._end(now, RedriveState.FAILED, trouble)
            self._conclude(now, job)
        elif self._sifted is not None:
            self._hand_over(now, job, book, carrier, self._sifted)
        elif self._reading is None and not carrier.carries(self.redrive_id):
            self._go_on(now, job, slot, book, carrier)

    def _go_on(self, now: int, job: Job, slot: Slot, book: Book, carrier: Carrier) -> None:
        """Look for the next letters, or leave the partition when that was all."""
        tally = self._tally(job, slot[1])
        assert tally is not None
        if job.limit and not self._knows_all(job):
            return
        room = job.limit - self.counted(job).matched if job.limit else _NO_LIMIT
        if tally.position >= job.ends[slot[1]] or room <= 0:
            self._leave(book)
        elif now >= self.due:
            self.due = 0
            targets = None
            if not job.is_purge and not job.is_dry_run:
                targets = Targets(self._yard.led, job.topic, job.to)
                room = min(room, max(job.rate // _BATCHES_A_SECOND, 1)) if job.rate else room
            bounds = Bounds(carrier.letters_max, BYTES_MAX)
            at_ms = self._yard.clock.wall_ms(now)
            moves, end = book.moves, job.ends[slot[1]]
            pick = Sifted(slot[1], job.sieve(), targets, at_ms, end, moves.gone, evolve(tally), room, bounds)
            self._reading = Reading(self._yard.errands, self._yard.led, self, *slot, pick)
            self._reading.go()
            self._read_on(now)

    def _leave(self, book: Book) -> None:
        """Go to the next partition, once what was written to this one's ledger is durable."""
        if not self._after:
            self._after = book.appended + (not book.moves.has_taken)
        if book.durable >= self._after:
            self._at += 1
            self._reset()
            self._yard.look_at(self.home)

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
        self._yard.look_at(self.home)
        refusal = reading.refusal
        if refusal is not None and refusal.code is Code.DAMAGED:
            self._end(now, RedriveState.FAILED, refusal.message)
        elif refusal is not None or book is None or book.load != self._load or not book.is_ready:
            self.due = now + _PAUSE_NS
        else:
            assert isinstance(reading.pick, Sifted)
            self._found(now, book, reading.pick)

    def _found(self, now: int, book: Book, sifted: Sifted) -> None:
        """Letters were found, or none."""
        job = self.job
        tally = sifted.tally
        if job is None:
            return
        if job.is_dry_run:
            self._dry[sifted.number] = tally
        elif sifted.consignment.offsets:
            self._sifted = sifted
        elif sifted.why:
            self._end(now, RedriveState.FAILED, sifted.why)
        else:
            tally.moved += sum(end - start for start, end in sifted.passed)
            gone = packed_runs(sifted.passed)
            book.moves.keep(Passed(self.redrive_id, tally.position, tally.looked, tally.matched, tally.moved, gone))
            self._yard.touch(book)

    def _hand_over(self, now: int, job: Job, book: Book, carrier: Carrier, sifted: Sifted) -> None:
        """Have a batch moved, when it is its turn."""
        if not carrier.is_free or book.moves.intent is not None:
            carrier.wanted_by[self.redrive_id] = None
            return
        carrier.wanted_by.pop(self.redrive_id, None)
        self._sifted = None
        offsets = sifted.consignment.offsets
        if any(offset in book.moves.gone for offset in offsets):
            # Another redrive was faster.
            self._yard.look_at(self.home)
            return
        if job.rate:
            self.due = now + len(offsets) * 1_000_000_000 // job.rate
        carrier.send(now, Freight(sifted.consignment, sifted.at_ms, job=self.redrive_id, tally=sifted.tally))

    # --- the end

    def _conclude(self, now: int, job: Job) -> None:
        """Say what came of it, once nothing of it is under way."""
        assert self._ending is not None
        carriers = [self._carriers.get((self.topic, number)) for number in job.ends]
        for carrier in carriers:
            if carrier is not None:
                carrier.wanted_by.pop(self.redrive_id, None)
        is_busy = any(carrier is not None and carrier.carries(self.redrive_id) for carrier in carriers)
        if (is_busy or not self._knows_all(job)) and now < self._patience_end:
            self.due = self._patience_end
            return
        self.due = 0
        book = self._yard.book(self.home)
        assert book is not None
        state, why = self._ending
        counted, wall_ms = self.counted(job), self._yard.clock.wall_ms(now)
        book.moves.keep(
            evolve(
                job,
                state=state,
                looked=counted.looked,
                matched=counted.matched,
                moved=counted.moved,
                ended_ms=wall_ms,
                error=why,
            )
        )
        self.kept = self._yard.touch(book)

    def check(self) -> None:
        """Assert the invariants."""
        assert self._reading is None or self._sifted is None
        assert not self.is_over or self._reading is None
