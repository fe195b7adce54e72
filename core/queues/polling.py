"""Polls of the members of shared groups: who is served next, and what is read for them.

A poll is looked at when it comes, and again when something may have changed: there are new messages, a retry is due, a
lease is over, a key is free, or what was read has come. It is answered as soon as it was given anything; what would
have to be read for more is read then, for whoever comes next. `QueueReader` and `GroupDispatcher` are where that
happens.

What is given counts as delivered from here on. Whoever keeps the ledger lets the answers go when they are durable, and
hands back what nobody waits for any more.

Invariants: a poll is in one line until it is answered or forgotten; what all readers keep together is bounded.
"""

from collections.abc import Callable

from attrs import define, field

from goqueue.core.partition.lane_runs import Run
from goqueue.core.queues.dispatcher import GroupDispatcher, Poll
from goqueue.core.queues.errands import Errands, Slot
from goqueue.core.queues.fetch_buffer import FetchBuffer, Ways
from goqueue.core.queues.reader import QueueReader
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
    dispatchers: dict[str, GroupDispatcher] = field(factory=dict)
    answers: list[Answered] = field(factory=list)
    count: int = 0
    empty_count: int = 0
    _by_call: dict[Call, GroupDispatcher] = field(factory=dict)
    _by_read: dict[int, QueueReader] = field(factory=dict)
    # Whom to look at in this turn.
    _due: dict[str, GroupDispatcher] = field(factory=dict)
    _deadlines: Alarms[Call] = field(factory=Alarms)
    # Desks that could not be read, by when to try again.
    _pauses: Alarms[tuple[str, Slot]] = field(factory=Alarms)
    # Desks with something at hand, the one longest so first, and how many bytes they have.
    _shelved: dict[tuple[str, Slot], tuple[QueueReader, int]] = field(factory=dict)
    _shelved_bytes: int = 0

    # --- what is asked

    def dispatcher(self, group: str) -> GroupDispatcher:
        """Where a group is served."""
        dispatcher = self.dispatchers.get(group)
        if dispatcher is None:
            dispatcher = self.dispatchers[group] = GroupDispatcher(group)
        return dispatcher

    def poll(self, now: int, dispatcher: GroupDispatcher, poll: Poll) -> None:
        """Take a poll; it is looked at in the next `turn`."""
        if len(self._by_call) >= _POLLS_MAX:
            refusal = Refusal(Code.UNAVAILABLE, f"{_POLLS_MAX} polls are under way", retry_after_ms=1000)
            self._say(poll.call, refusal, [])
            return
        dispatcher.line[poll.call] = poll
        self._by_call[poll.call] = dispatcher
        if poll.deadline <= now:
            dispatcher.late[poll.call] = poll
        else:
            self._deadlines.set(poll.call, poll.deadline)
        self._due[dispatcher.group] = dispatcher

    def forget(self, call: Call) -> None:
        """Nobody waits for a poll any more."""
        dispatcher = self._by_call.get(call)
        if dispatcher is not None:
            self._leave(dispatcher, call)

    def end_round(self, dispatcher: GroupDispatcher, member_id: str, number: int) -> None:
        """Another node has what it wanted elsewhere: the polls that it has here for that come to nothing."""
        for poll in [*dispatcher.line.values()]:
            if poll.round == number and poll.member_id == member_id:
                self._finish(dispatcher, poll)

    def refuse(self, dispatcher: GroupDispatcher, member_id: str | None, refusal: Refusal) -> None:
        """End the polls of a member, or of all members."""
        for poll in [*dispatcher.line.values()]:
            if member_id is None or poll.member_id == member_id:
                self._leave(dispatcher, poll.call)
                self._say(poll.call, refusal, [])

    def end(self, dispatcher: GroupDispatcher, refusal: Refusal) -> None:
        """A group is no more, and its readers are closed."""
        assert not dispatcher.readers
        self.refuse(dispatcher, None, refusal)
        del self.dispatchers[dispatcher.group]
        self._due.pop(dispatcher.group, None)

    def _leave(self, dispatcher: GroupDispatcher, call: Call) -> None:
        dispatcher.leave_line(call)
        self._deadlines.drop(call)
        del self._by_call[call]

    def _say(self, call: Call, answer: PolledWork | Refusal, slots: list[Slot], round_: int = 0) -> None:
        self.answers.append(Answered(call, answer, slots, round_))
        self.count += 1
        self.empty_count += isinstance(answer, PolledWork) and not answer.parts

    # --- readers

    def open(self, reader: QueueReader) -> None:
        """A partition can be read by a group."""
        dispatcher = self.dispatcher(reader.group)
        dispatcher.add(reader)
        self.stir(reader)

    def close(self, reader: QueueReader) -> None:
        """A partition cannot be read by a group any more."""
        dispatcher = self.dispatchers[reader.group]
        dispatcher.remove(reader.slot)
        self._by_read.pop(reader.reading, None)
        self._pauses.drop((reader.group, reader.slot))
        self._clear(reader)
        # Who waited for a read of it may have nothing to wait for.
        self._due[dispatcher.group] = dispatcher

    def stir(self, reader: QueueReader) -> None:
        """A reader may have something more to give."""
        dispatcher = self.dispatchers[reader.group]
        dispatcher.light(reader)
        self.rouse(dispatcher)

    def rouse(self, dispatcher: GroupDispatcher) -> None:
        """Those in line may be served."""
        if dispatcher.line:
            self._due[dispatcher.group] = dispatcher

    def reread(self, reader: QueueReader) -> None:
        """What was read of a partition may be another by now."""
        self._by_read.pop(reader.reading, None)
        reader.reading = 0
        self._clear(reader)
        self.stir(reader)

    def _clear(self, reader: QueueReader) -> None:
        _, size = self._shelved.pop((reader.group, reader.slot), (reader, 0))
        self._shelved_bytes -= size
        reader.clear()

    def forget_found(self) -> None:
        """Let go of what is at hand."""
        for reader, _ in [*self._shelved.values()]:
            self._clear(reader)

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
        for dispatcher in due.values():
            is_known = self._is_known(dispatcher.group)
            for poll in [*dispatcher.line.values()]:
                if not dispatcher.lit or not is_known:
                    break
                if poll.call in dispatcher.line:
                    self._serve(now, dispatcher, poll)
            if dispatcher.late and not dispatcher.is_busy:
                for poll in [*dispatcher.late.values()]:
                    self._finish(dispatcher, poll)

    def _serve(self, now: int, dispatcher: GroupDispatcher, poll: Poll) -> None:
        room = dispatcher.room(poll.member_id)
        for reader in [*dispatcher.lit.values()]:
            if poll.is_full or room <= 0:
                break
            if reader.slot[0] in poll.topics:
                before = poll.messages_left
                self._give(now, dispatcher, reader, poll, room)
                room -= before - poll.messages_left
        if poll.parts and poll.call in dispatcher.line:
            self._finish(dispatcher, poll)

    def _give(self, now: int, dispatcher: GroupDispatcher, reader: QueueReader, poll: Poll, room: int) -> None:
        """Give a poll what a reader has at hand, and have read what it has not."""
        while not poll.is_full and room > 0:
            wanted = reader.wanted(now, poll.member_id, min(poll.messages_left, room))
            buffer = reader.buffer(wanted[0][0]) if wanted else None
            if buffer is None:
                if wanted:
                    self._read(dispatcher, reader, wanted[0][0])
                elif reader.book.lanes.retry_at > now:
                    self._pause(now, dispatcher, reader)
                break
            before = reader.progress
            room -= self._lease(now, reader, buffer, wanted, poll)
            if reader.progress == before:
                break
        dispatcher.served(reader)

    def _lease(self, now: int, reader: QueueReader, buffer: FetchBuffer, wanted: list[Run], poll: Poll) -> int:
        """Lease to a poll what is on a buffer of what it wants: how many messages."""
        queue, settings = reader.queue, reader.queue.settings
        ways = Ways(settings.key_ordered, settings.ttl_ms, reader.wall_ms(now))
        offers = buffer.offers(wanted, poll.bytes_left, ways)
        grant = queue.lease(now, poll.member_id, offers, poll.span_ms)
        if grant is None:
            return 0
        part = LeasedBatches(*reader.slot, buffer.bytes_of(grant.runs), grant.runs)
        poll.take(part)
        return sum(run.count for run in grant.runs)

    def _finish(self, dispatcher: GroupDispatcher, poll: Poll) -> None:
        self._leave(dispatcher, poll.call)
        slots = [*dict.fromkeys((part.topic, part.partition) for part in poll.parts)]
        self._say(poll.call, PolledWork(poll.parts), slots, poll.round)

    # --- reading

    def _read(self, dispatcher: GroupDispatcher, reader: QueueReader, offset: int) -> None:
        assert not reader.reading
        reader.reading = self._errands.ask(self, reader.fetch(offset))
        self._by_read[reader.reading] = reader
        dispatcher.darken(reader)

    def answered(self, now: int, number: int, reply: Reply) -> None:
        """What a read has brought."""
        reader = self._by_read.pop(number, None)
        if reader is None:
            return
        reader.reading = 0
        dispatcher = self.dispatchers[reader.group]
        if isinstance(reply, Fetched):
            if reader.fetched(reply):
                self._keep(reader)
                self.stir(reader)
            else:
                self._pause(now, dispatcher, reader)
        elif isinstance(reply, Refusal):
            # Where retention has overtaken the read, the queue follows.
            if reply.code is not Code.OFFSET_OUT_OF_RANGE:
                message = f"{reader.slot[0]}-{reader.slot[1]} cannot be read: {reply.message}"
                self._tell(reader, Refusal(reply.code, message, reply.field, reply.retry_after_ms))
            self._pause(now, dispatcher, reader)
        self._due[dispatcher.group] = dispatcher

    def _tell(self, reader: QueueReader, refusal: Refusal) -> None:
        """A partition cannot be read: whoever is first to wait for it and has nothing is told."""
        dispatcher = self.dispatchers[reader.group]
        for poll in dispatcher.line.values():
            if reader.slot[0] in poll.topics and not poll.parts:
                self._leave(dispatcher, poll.call)
                self._say(poll.call, refusal, [])
                return

    def _pause(self, now: int, dispatcher: GroupDispatcher, reader: QueueReader) -> None:
        reader.retry_at = now + _PAUSE_NS
        self._pauses.set((reader.group, reader.slot), reader.retry_at)
        dispatcher.darken(reader)

    def _keep(self, reader: QueueReader) -> None:
        """Count what a reader has at hand, and have others let go of theirs where it is too much."""
        key = (reader.group, reader.slot)
        self._shelved_bytes -= self._shelved.pop(key, (reader, 0))[1]
        self._shelved[key] = reader, reader.size
        self._shelved_bytes += reader.size
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
            dispatcher = self._by_call[call]
            dispatcher.late[call] = dispatcher.line[call]
            self._due[dispatcher.group] = dispatcher
        for group, slot in self._pauses.due(now):
            reader = self.dispatchers[group].readers[slot]
            reader.retry_at = 0
            self.stir(reader)

    def check(self) -> None:
        """Assert the invariants."""
        self._deadlines.check()
        self._pauses.check()
        assert {call for dispatcher in self.dispatchers.values() for call in dispatcher.line} == self._by_call.keys()
        reading = {
            reader.reading
            for dispatcher in self.dispatchers.values()
            for reader in dispatcher.readers.values()
            if reader.reading
        }
        assert reading == self._by_read.keys()
        assert sum(size for _, size in self._shelved.values()) == self._shelved_bytes
        for group, dispatcher in self.dispatchers.items():
            assert dispatcher.group == group
            assert not dispatcher.late or group in self._due or dispatcher.is_busy
            for reader in dispatcher.readers.values():
                assert bool(reader.retry_at) == ((group, reader.slot) in self._pauses)
            dispatcher.check()
