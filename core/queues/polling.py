"""Polls of the members of shared groups: who is served next, and what is read for them.

A poll is looked at when it comes, and again when something may have changed: there are new messages, a retry is due, a
lease is over, a key is free, or what was read has come. It is answered as soon as it was given anything; what would
have to be read for more is read then, for whoever comes next. `Desk` and `Hall` are where that happens.

What is given counts as delivered from here on. Whoever keeps the ledger lets the answers go when they are durable, and
hands back what nobody waits for any more.

Invariants: a poll is in one line until it is answered or forgotten; what all desks keep together is bounded.
"""

from collections.abc import Callable

from attrs import define, field

from goqueue.core.partition.lane_runs import Run
from goqueue.core.queues.desk import Desk
from goqueue.core.queues.errands import Errands, Slot
from goqueue.core.queues.hall import Hall, Poll
from goqueue.core.queues.shelf import Shelf, Ways
from goqueue.core.requests.call import Call
from goqueue.core.requests.messages import Fetched
from goqueue.core.requests.queues import LeasedBatches, PolledWork
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.timers.alarms import Alarms

MESSAGES_MAX = 100_000
BYTES_MAX = 64 << 20
_POLLS_MAX = 20_000
_SHELVED_BYTES_MAX = 64 << 20
_PAUSE_NS = 1_000_000_000


@define(eq=False)
class Answered:
    """A poll that is over: what it came to, and the partitions whose ledgers know of it."""

    call: Call
    answer: PolledWork | Refusal
    slots: list[Slot]
    round: int = 0


@define(eq=False)
class Polls:
    """The polls of all shared groups."""

    _errands: Errands
    # Whether a group is known, and so how its queues are to be served.
    _is_known: Callable[[str], bool]
    halls: dict[str, Hall] = field(factory=dict)
    answers: list[Answered] = field(factory=list)
    count: int = 0
    empty_count: int = 0
    _by_call: dict[Call, Hall] = field(factory=dict)
    _by_read: dict[int, Desk] = field(factory=dict)
    # Whom to look at in this turn.
    _due: dict[str, Hall] = field(factory=dict)
    _deadlines: Alarms[Call] = field(factory=Alarms)
    # Desks that could not be read, by when to try again.
    _pauses: Alarms[tuple[str, Slot]] = field(factory=Alarms)
    # Desks with something at hand, the one longest so first, and how many bytes they have.
    _shelved: dict[tuple[str, Slot], tuple[Desk, int]] = field(factory=dict)
    _shelved_bytes: int = 0

    # --- what is asked

    def hall(self, group: str) -> Hall:
        """Where a group is served."""
        hall = self.halls.get(group)
        if hall is None:
            hall = self.halls[group] = Hall(group)
        return hall

    def poll(self, now: int, hall: Hall, poll: Poll) -> None:
        """Take a poll; it is looked at in the next `turn`."""
        if len(self._by_call) >= _POLLS_MAX:
            refusal = Refusal(Code.UNAVAILABLE, f"{_POLLS_MAX} polls are under way", retry_after_ms=1000)
            self._say(poll.call, refusal, [])
            return
        hall.line[poll.call] = poll
        self._by_call[poll.call] = hall
        if poll.deadline <= now:
            hall.late[poll.call] = poll
        else:
            self._deadlines.set(poll.call, poll.deadline)
        self._due[hall.group] = hall

    def forget(self, call: Call) -> None:
        """Nobody waits for a poll any more."""
        hall = self._by_call.get(call)
        if hall is not None:
            self._leave(hall, call)

    def end_round(self, hall: Hall, member_id: str, number: int) -> None:
        """Another node has what it wanted elsewhere: the polls that it has here for that come to nothing."""
        for poll in [*hall.line.values()]:
            if poll.round == number and poll.member_id == member_id:
                self._finish(hall, poll)

    def refuse(self, hall: Hall, member_id: str | None, refusal: Refusal) -> None:
        """End the polls of a member, or of all members."""
        for poll in [*hall.line.values()]:
            if member_id is None or poll.member_id == member_id:
                self._leave(hall, poll.call)
                self._say(poll.call, refusal, [])

    def end(self, hall: Hall, refusal: Refusal) -> None:
        """A group is no more, and its desks are closed."""
        assert not hall.desks
        self.refuse(hall, None, refusal)
        del self.halls[hall.group]
        self._due.pop(hall.group, None)

    def _leave(self, hall: Hall, call: Call) -> None:
        hall.leave_line(call)
        self._deadlines.drop(call)
        del self._by_call[call]

    def _say(self, call: Call, answer: PolledWork | Refusal, slots: list[Slot], round_: int = 0) -> None:
        self.answers.append(Answered(call, answer, slots, round_))
        self.count += 1
        self.empty_count += isinstance(answer, PolledWork) and not answer.parts

    # --- desks

    def open(self, desk: Desk) -> None:
        """A partition can be read by a group."""
        hall = self.hall(desk.group)
        hall.add(desk)
        self.stir(desk)

    def close(self, desk: Desk) -> None:
        """A partition cannot be read by a group any more."""
        hall = self.halls[desk.group]
        hall.remove(desk.slot)
        self._by_read.pop(desk.reading, None)
        self._pauses.drop((desk.group, desk.slot))
        self._clear(desk)
        # Who waited for a read of it may have nothing to wait for.
        self._due[hall.group] = hall

    def stir(self, desk: Desk) -> None:
        """A desk may have something more to give."""
        hall = self.halls[desk.group]
        hall.light(desk)
        self.rouse(hall)

    def rouse(self, hall: Hall) -> None:
        """Those in line may be served."""
        if hall.line:
            self._due[hall.group] = hall

    def reread(self, desk: Desk) -> None:
        """What was read of a partition may be another by now."""
        self._by_read.pop(desk.reading, None)
        desk.reading = 0
        self._clear(desk)
        self.stir(desk)

    def _clear(self, desk: Desk) -> None:
        _, size = self._shelved.pop((desk.group, desk.slot), (desk, 0))
        self._shelved_bytes -= size
        desk.clear()

    def forget_found(self) -> None:
        """Let go of what is at hand."""
        for desk, _ in [*self._shelved.values()]:
            self._clear(desk)

    @property
    def is_due(self) -> bool:
        """Whether a turn has something to do."""
        return bool(self._due or self.answers)

    def take_answers(self) -> list[Answered]:
        """The polls that are over."""
        answers, self.answers = self.answers, []
        return answers

    # --- serving

    def turn(self, now: int) -> None:
        """Serve whom something has changed for."""
        due, self._due = self._due, {}
        for hall in due.values():
            is_known = self._is_known(hall.group)
            for poll in [*hall.line.values()]:
                if not hall.lit or not is_known:
                    break
                if poll.call in hall.line:
                    self._serve(now, hall, poll)
            if hall.late and not hall.is_busy:
                for poll in [*hall.late.values()]:
                    self._finish(hall, poll)

    def _serve(self, now: int, hall: Hall, poll: Poll) -> None:
        room = hall.room(poll.member_id)
        for desk in [*hall.lit.values()]:
            if poll.is_full or room <= 0:
                break
            if desk.slot[0] in poll.topics:
                before = poll.messages_left
                self._give(now, hall, desk, poll, room)
                room -= before - poll.messages_left
        if poll.parts and poll.call in hall.line:
            self._finish(hall, poll)

    def _give(self, now: int, hall: Hall, desk: Desk, poll: Poll, room: int) -> None:
        """Give a poll what a desk has at hand, and have read what it has not."""
        while not poll.is_full and room > 0:
            wanted = desk.wanted(now, poll.member_id, min(poll.messages_left, room))
            shelf = desk.shelf(wanted[0][0]) if wanted else None
            if shelf is None:
                if wanted:
                    self._read(hall, desk, wanted[0][0])
                elif desk.book.lanes.retry_at > now:
                    self._pause(now, hall, desk)
                break
            before = desk.progress
            room -= self._lease(now, desk, shelf, wanted, poll)
            if desk.progress == before:
                break
        hall.served(desk)

    def _lease(self, now: int, desk: Desk, shelf: Shelf, wanted: list[Run], poll: Poll) -> int:
        """Lease to a poll what is on a shelf of what it wants: how many messages."""
        queue, settings = desk.queue, desk.queue.settings
        ways = Ways(settings.key_ordered, settings.ttl_ms, desk.wall_ms(now))
        offers = shelf.offers(wanted, poll.bytes_left, ways)
        grant = queue.lease(now, poll.member_id, offers, poll.span_ms)
        if grant is None:
            return 0
        part = LeasedBatches(*desk.slot, shelf.bytes_of(grant.runs), grant.runs)
        poll.take(part)
        return sum(run.count for run in grant.runs)

    def _finish(self, hall: Hall, poll: Poll) -> None:
        self._leave(hall, poll.call)
        slots = [*dict.fromkeys((part.topic, part.partition) for part in poll.parts)]
        self._say(poll.call, PolledWork(poll.parts), slots, poll.round)

    # --- reading

    def _read(self, hall: Hall, desk: Desk, offset: int) -> None:
        assert not desk.reading
        desk.reading = self._errands.ask(self, desk.fetch(offset))
        self._by_read[desk.reading] = desk
        hall.darken(desk)

    def answered(self, now: int, number: int, reply: Reply) -> None:
        """What a read has brought."""
        desk = self._by_read.pop(number, None)
        if desk is None:
            return
        desk.reading = 0
        hall = self.halls[desk.group]
        if isinstance(reply, Fetched):
            if desk.fetched(reply):
                self._keep(desk)
                self.stir(desk)
            else:
                self._pause(now, hall, desk)
        elif isinstance(reply, Refusal):
            # Where retention has overtaken the read, the queue follows.
            if reply.code is not Code.OFFSET_OUT_OF_RANGE:
                message = f"{desk.slot[0]}-{desk.slot[1]} cannot be read: {reply.message}"
                self._tell(desk, Refusal(reply.code, message, reply.field, reply.retry_after_ms))
            self._pause(now, hall, desk)
        self._due[hall.group] = hall

    def _tell(self, desk: Desk, refusal: Refusal) -> None:
        """A partition cannot be read: whoever is first to wait for it and has nothing is told."""
        hall = self.halls[desk.group]
        for poll in hall.line.values():
            if desk.slot[0] in poll.topics and not poll.parts:
                self._leave(hall, poll.call)
                self._say(poll.call, refusal, [])
                return

    def _pause(self, now: int, hall: Hall, desk: Desk) -> None:
        desk.retry_at = now + _PAUSE_NS
        self._pauses.set((desk.group, desk.slot), desk.retry_at)
        hall.darken(desk)

    def _keep(self, desk: Desk) -> None:
        """Count what a desk has at hand, and have others let go of theirs where it is too much."""
        key = (desk.group, desk.slot)
        self._shelved_bytes -= self._shelved.pop(key, (desk, 0))[1]
        self._shelved[key] = desk, desk.size
        self._shelved_bytes += desk.size
        while self._shelved_bytes > _SHELVED_BYTES_MAX and len(self._shelved) > 1:
            self._clear(next(iter(self._shelved.values()))[0])

    # --- time

    def deadline(self) -> int | None:
        """When `wake` has something to do."""
        polls, pauses = self._deadlines.deadline(), self._pauses.deadline()
        return polls if pauses is None else pauses if polls is None else min(polls, pauses)

    def wake(self, now: int) -> None:
        """Note whose time is up, and try again what could not be read."""
        for call in self._deadlines.due(now):
            hall = self._by_call[call]
            hall.late[call] = hall.line[call]
            self._due[hall.group] = hall
        for group, slot in self._pauses.due(now):
            desk = self.halls[group].desks[slot]
            desk.retry_at = 0
            self.stir(desk)

    def check(self) -> None:
        """Assert the invariants."""
        self._deadlines.check()
        self._pauses.check()
        assert {call for hall in self.halls.values() for call in hall.line} == self._by_call.keys()
        reading = {desk.reading for hall in self.halls.values() for desk in hall.desks.values() if desk.reading}
        assert reading == self._by_read.keys()
        assert sum(size for _, size in self._shelved.values()) == self._shelved_bytes
        for group, hall in self.halls.items():
            assert hall.group == group
            assert not hall.late or group in self._due or hall.is_busy
            for desk in hall.desks.values():
                assert bool(desk.retry_at) == ((group, desk.slot) in self._pauses)
            hall.check()
