"""A redrive or a purge: one walk over the letters that a topic of dead letters had when it began, by partitions.

All that counts is in ledgers: the job with partition 0, and with each partition how far the job has come there. So the
redrive lives where partition 0 is led, and has a leg in each partition: one that takes steps here, or a word with the
node that leads the partition. What is here can be lost at any time; whoever leads partition 0 next begins at the first
partition again, and finds it done.

It ends when the last partition's records are durable: then the job says what came of it, and is over when that is
durable as well.
"""

from attrs import define, evolve, field

from goqueue.core.deadletters.context import MoverContext
from goqueue.core.deadletters.mover import DeadLetterMover
from goqueue.core.deadletters.redrive_partition import NO_LIMIT, RedrivePartition
from goqueue.core.deadletters.remote_redrive import RemoteRedrive
from goqueue.core.queues.errands import Slot
from goqueue.core.queues.move_records import Job, Tally
from goqueue.core.replicas.elsewhere import elsewhere
from goqueue.core.requests.deadletters import RedriveState

# How long the end waits for a batch under way, whose target may be out of reach.
_PATIENCE_NS = 5_000_000_000


@define(eq=False)
class Redrive:
    """A job that is being carried out."""

    topic: str
    redrive_id: str
    _yard: MoverContext
    _carriers: dict[Slot, DeadLetterMover]
    # Which count of batches of its ledger makes durable what is known of the job.
    kept: int = 0
    is_over: bool = False
    # How it is to end, and why; and until when a batch under way is waited for, 0 while it is not.
    _ending: tuple[RedriveState, str] | None = None
    _patience_end: int = 0
    _waits_until: int = 0
    _home_load: int = 0
    _order: list[int] = field(factory=list)
    _at: int = 0
    _legs: dict[int, RedrivePartition | RemoteRedrive] = field(factory=dict)

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

    @property
    def due(self) -> int:
        """When it may go on, 0 while no time is waited for."""
        times = [self._waits_until] if self._waits_until else []
        for number, leg in self._legs.items():
            if leg.due and (self._ending or number == self.slot[1]):
                times.append(leg.due)
        return min(times, default=0)

    def counted(self, job: Job) -> Tally:
        """All that was counted so far, as far as it can be known now; its position means nothing."""
        total = Tally()
        for number in sorted(job.ends):
            tally = self._leg(job, number).tally
            if tally is not None:
                total.looked += tally.looked
                total.matched += tally.matched
                total.moved += tally.moved
        return total

    def _leg(self, job: Job, number: int) -> RedrivePartition | RemoteRedrive:
        """The work in a partition, by whoever leads it at the moment."""
        slot, leg = (self.topic, number), self._legs.get(number)
        away = elsewhere(self._yard.led, *slot)
        if away is None:
            if not isinstance(leg, RedrivePartition):
                leg = self._legs[number] = RedrivePartition(slot, self.redrive_id, self._yard, self._carriers, job)
        elif not isinstance(leg, RemoteRedrive) or leg.node != away.leader:
            leg = self._legs[number] = RemoteRedrive(
                slot, away.leader, self._yard, job, None if leg is None else leg.tally
            )
        leg.job = job
        return leg

    # --- going on

    def cancel(self, now: int) -> None:
        """Come to an end."""
        self._end(now, RedriveState.CANCELLED, "")
        self._yard.look_at(self.home)

    def _end(self, now: int, state: RedriveState, why: str) -> None:
        if self._ending is None:
            self._ending, self._patience_end = (state, why), now + _PATIENCE_NS
            self._rest()

    def _rest(self) -> None:
        """Wait for nothing, until something happens."""
        self._waits_until = 0
        for leg in self._legs.values():
            leg.reset()

    def forget_found(self) -> None:
        """Let go of the letters in memory."""
        for leg in self._legs.values():
            leg.forget_found()

    def step(self, now: int) -> None:
        """Go as far as there is nothing to wait for."""
        book, job = self._yard.book(self.home), self.job
        if book is None or job is None or self.is_over:
            self._rest()
            return
        if book.load != self._home_load:
            self._home_load, self.kept = book.load, self.kept if not self._home_load else 0
        self._order = sorted(job.ends)
        if job.state is not RedriveState.RUNNING:
            self._rest()
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
        leg = self._leg(job, self._order[self._at])
        if leg.is_done:
            self._at += 1
            self._yard.look_at(self.home)
            return
        room = self._room(job)
        if room is None:
            leg.due = 0
            return
        leg.room = room
        leg.step(now)
        if leg.trouble:
            self._end(now, RedriveState.FAILED, leg.trouble)
            self._conclude(now, job)

    def _room(self, job: Job) -> int | None:
        """How many letters may match in the partition whose turn it is; None while that cannot be known."""
        if not job.limit:
            return NO_LIMIT
        room = job.limit
        # None was looked at behind that partition.
        for at, number in enumerate(self._order[: self._at]):
            leg = self._leg(job, number)
            if leg.tally is None:
                self._go_back(at, leg)
                return None
            room -= leg.tally.matched
        return room

    def _go_back(self, at: int, leg: RedrivePartition | RemoteRedrive) -> None:
        """A partition that was done has another leader, who has to be asked how much was done there."""
        if not leg.is_done:
            self._at = at
            self._yard.look_at(self.home)

    # --- the end

    def _conclude(self, now: int, job: Job) -> None:
        """Say what came of it, once nothing of it is under way."""
        assert self._ending is not None
        legs = [self._leg(job, number) for number in self._order]
        for leg in legs:
            leg.end()
            if isinstance(leg, RemoteRedrive):
                leg.step(now)
        if any(leg.is_moving or leg.tally is None for leg in legs) and now < self._patience_end:
            self._waits_until = self._patience_end
            return
        self._waits_until = 0
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
        for number, leg in self._legs.items():
            leg.check()
            assert leg.slot == (self.topic, number)
