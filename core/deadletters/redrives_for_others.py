"""Redrives of other nodes: legs in partitions that are led here, worked on for as long as their nodes ask.

A node that has a redrive asks again and again; one that does not ask for `_TERM_NS` has lost it, and its leg ends after
the batch under way. What it has done stays in the ledger, and whoever has the redrive next goes on from there.

A tally of a redrive that nobody asks about may be one that has ended. So the node that leads the first partition, where
redrives are kept, is asked, and the tally closed if it has.
"""

from attrs import define, field

from goqueue.core.deadletters.context import MoverContext
from goqueue.core.deadletters.mover import DeadLetterMover
from goqueue.core.deadletters.redrive_partition import RedrivePartition
from goqueue.core.errors import ProtocolError
from goqueue.core.queues.errands import Slot
from goqueue.core.queues.move_records import DEAD_CODEC, Closed, Job
from goqueue.core.replicas.elsewhere import elsewhere
from goqueue.core.requests.deadletters import Carried, CarryOn, DescribeRedrive, RedriveReply, RedriveState
from goqueue.core.requests.internal import AskNode
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.replies import Reply

_TERM_NS = 10_000_000_000
_LEGS_MAX = 256


@define
class _Doubt:
    """A tally of which it is asked whether its redrive goes on; it is sent, and takes the answer."""

    slot: Slot
    redrive_id: str
    _hired: "RedrivesForOthers"

    def answered(self, now: int, number: int, reply: Reply) -> None:
        """What the node says that should know."""
        self._hired.resolved(self, reply)


@define(eq=False)
class RedrivesForOthers:
    """The legs, by redrive and partition; each with the end of its term."""

    _yard: MoverContext
    _carriers: dict[Slot, DeadLetterMover]
    _legs: dict[tuple[str, Slot], RedrivePartition] = field(factory=dict)
    _terms: dict[tuple[str, Slot], int] = field(factory=dict)
    _over: dict[tuple[str, Slot], None] = field(factory=dict)
    _doubts: dict[tuple[str, Slot], None] = field(factory=dict)

    def carry_on(self, now: int, request: CarryOn) -> Carried | Refusal:
        """Work on a leg, and say how far it is."""
        slot = request.topic, request.partition
        led = self._yard.led.partition(*slot)
        if isinstance(led, Refusal):
            return led
        if self._yard.book(slot) is None or slot not in self._carriers:
            message = f"the ledger of partition {slot[1]} of {slot[0]} is being read"
            return Refusal(Code.UNAVAILABLE, message, retry_after_ms=200)
        try:
            job = DEAD_CODEC.decode(request.job)
        except ProtocolError as error:
            return Refusal(Code.INVALID, str(error), "job")
        if not isinstance(job, Job) or slot[1] not in job.ends:
            return Refusal(Code.INVALID, f"it is no redrive of partition {slot[1]}", "job")
        key = job.redrive_id, slot
        leg = self._legs.get(key)
        if leg is None:
            if len(self._legs) >= _LEGS_MAX:
                return Refusal(Code.UNAVAILABLE, "too many redrives are under way", retry_after_ms=1000)
            leg = self._legs[key] = RedrivePartition(slot, job.redrive_id, self._yard, self._carriers, job)
        leg.job, leg.room = job, request.room
        self._terms[key] = now + _TERM_NS
        if request.is_over:
            self._over[key] = None
            leg.end()
        else:
            self._over.pop(key, None)
            leg.step(now)
        return self._carried(key, leg)

    def _carried(self, key: tuple[str, Slot], leg: RedrivePartition) -> Carried | Refusal:
        tally = leg.tally
        if tally is None:
            return Refusal(Code.UNAVAILABLE, "the ledger is being read", retry_after_ms=200)
        is_done = not leg.is_moving if key in self._over else leg.is_done
        return Carried(tally.position, tally.looked, tally.matched, tally.moved, is_done, leg.trouble)

    # --- going on

    def step(self, now: int, slot: Slot) -> None:
        """Take a partition's legs as far as there is nothing to wait for."""
        for key, leg in self._legs.items():
            if key[1] == slot and key not in self._over:
                leg.step(now)

    def forget_found(self) -> None:
        """Let go of the letters in memory."""
        for leg in self._legs.values():
            leg.forget_found()

    def topics_changed(self) -> None:
        """Legs in partitions that are not led here any more are somebody else's."""
        topics = self._yard.led.topics
        for key in [*self._legs]:
            if key[1][0] not in topics or elsewhere(self._yard.led, *key[1]) is not None:
                self._drop(key)

    def _drop(self, key: tuple[str, Slot]) -> None:
        self._legs.pop(key).end()
        self._over.pop(key, None)
        del self._terms[key]

    def deadline(self) -> int | None:
        """When `wake` has something to do."""
        times = [*self._terms.values(), *(leg.due for leg in self._legs.values() if leg.due)]
        return min(times, default=None)

    def wake(self, now: int) -> None:
        """Go on with what has waited long enough, and end what nobody asks for."""
        for key, leg in [*self._legs.items()]:
            if self._terms[key] <= now:
                self._drop(key)
                self.tidy(key[1])
            elif leg.due and leg.due <= now:
                leg.due = 0
                self._yard.look_at(key[1])

    # --- tallies nobody asks about

    def tidy(self, slot: Slot) -> None:
        """Ask whether redrives go on of which a partition of another node's has tallies."""
        book, away = self._yard.book(slot), elsewhere(self._yard.led, slot[0], 0)
        if book is None or away is None or not away.leader:
            return
        for redrive_id in book.moves.tallies:
            key = redrive_id, slot
            if key not in self._legs and key not in self._doubts:
                self._doubts[key] = None
                doubt = _Doubt(slot, redrive_id, self)
                self._yard.errands.ask(doubt, AskNode(away.leader, DescribeRedrive(redrive_id)))

    def resolved(self, doubt: _Doubt, reply: Reply) -> None:
        """A redrive has ended, goes on, or nobody knows."""
        self._doubts.pop((doubt.redrive_id, doubt.slot), None)
        if isinstance(reply, RedriveReply):
            has_ended = reply.state is not RedriveState.RUNNING
        else:
            has_ended = isinstance(reply, Refusal) and reply.code is Code.REDRIVE_NOT_FOUND
        book = self._yard.book(doubt.slot)
        if has_ended and book is not None and doubt.redrive_id in book.moves.tallies:
            book.moves.keep(Closed(doubt.redrive_id))
            self._yard.touch(book)

    def check(self) -> None:
        """Assert the invariants."""
        assert len(self._legs) <= _LEGS_MAX
        assert self._terms.keys() == self._legs.keys() >= self._over.keys()
        for leg in self._legs.values():
            leg.check()
