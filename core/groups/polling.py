"""Messages for members that ask for what comes next: where each of them is in each partition, and who waits for news.

A member's place in a partition is kept in memory only. It begins at the committed offset, moves on with what is handed
out, and lasts as long as the member's tenure of the partition: what it reads next is not what it has committed, and
neither a commit nor a reset moves it. Who lost an answer on its way leaves and joins again.

A poll goes round the member's partitions, one read at a time, until it is full or has seen all of them; the next one
begins behind the partition that filled it, so none starves. Places move when the answer is given and not before, so a
poll that comes to nothing, for whatever reason, skips nothing. A partition that the member loses meanwhile is taken out
of the answer.

Partitions that other nodes lead are read by way of these. Where they begin and end is sounded before the first read,
scouts bring the news of them, and where one cannot be read for a passing reason the others are: its readers hear
nothing of it for a while, and no error (`OffsetLookup`).

Invariants: a member has one poll at most, and each is answered once or forgotten; a place belongs to a tenure that
lasts; whoever waits is found under each partition that it has; nothing is kept of members that are gone.
"""

from collections import deque

from attrs import define, field

from goqueue.core.groups import describe, plan, rebalance
from goqueue.core.groups.coordinator import Coordinator
from goqueue.core.groups.offset_lookup import PASSING, OffsetLookup
from goqueue.core.groups.plan import Ends
from goqueue.core.groups.reader import Place, Poll, Reader
from goqueue.core.groups.sessions import MemberKey
from goqueue.core.groups.state import Slot
from goqueue.core.requests.call import Call
from goqueue.core.requests.groups import GroupMode, Polled, PolledBatches, PollGroup
from goqueue.core.requests.messages import Fetch, Fetched, FindOffset, FoundOffset
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.services.internal_requests import InternalRequests
from goqueue.core.timers.alarms import Alarms

RECORDS_MAX = 1_000_000
BYTES_MAX = 64 << 20
# What all polls under way may have found together before each is content with what it has.
_FOUND_BYTES_MAX = 64 << 20


@define
class Polls:
    """The polls of all members of a node's groups; `ends` tells what there is to be read of a partition."""

    _coordinator: Coordinator
    _ends: Ends
    _wishes: InternalRequests
    # None where no other node leads anything.
    _reach: OffsetLookup | None = None
    # Answers that hold already; those that do not are with the coordinator's.
    replies: list[tuple[Call, Reply]] = field(factory=list)
    count: int = 0
    empty_count: int = 0
    _readers: dict[str, dict[str, Reader]] = field(factory=dict)
    _by_call: dict[Call, Reader] = field(factory=dict)
    _by_read: dict[int, Reader] = field(factory=dict)
    _came: list[tuple[int, Fetched | FoundOffset | Refusal]] = field(factory=list)
    # Whom to look at in this turn.
    _due: dict[MemberKey, Reader] = field(factory=dict)
    _waiting: dict[Slot, dict[MemberKey, Reader]] = field(factory=dict)
    _alarms: Alarms[Call] = field(factory=Alarms)
    _found_bytes: int = 0

    # --- what is asked

    def poll(self, now: int, call: Call, request: PollGroup) -> None:
        """Take a poll; it is looked at in the next `turn`."""
        refusal = self._coordinator.alive(now, request.group, request.member_id)
        reader = refusal or self._reader(request.group, request.member_id)
        if isinstance(reader, Refusal):
            self._coordinator.replies.append((call, reader))
            return
        earlier = self._end(reader)
        if earlier is not None:
            self._say(earlier, self._polled(reader, []))
        records_max = min(max(request.records_max, 1), RECORDS_MAX)
        bytes_max = min(max(request.bytes_max, 1), BYTES_MAX)
        # Who is waited for longer than a session lasts would be taken for dead.
        member = self._coordinator.groups.groups[request.group].members[request.member_id]
        wait_ns = min(max(request.wait_ns, 0), member.session_timeout_ms * 1_000_000 // 3)
        reader.poll = Poll(call, records_max, bytes_max, now + wait_ns, wait_ns > 0)
        reader.poll.begin(reader.order, reader.first)
        self._by_call[call] = reader
        self._due[reader.key] = reader

    def _reader(self, group: str, member_id: str) -> Reader | Refusal:
        reader = self._readers.get(group, {}).get(member_id)
        if reader is not None:
            return reader
        held = self._holding(group, member_id)
        if isinstance(held, Refusal):
            return held
        reader = self._readers.setdefault(group, {})[member_id] = Reader(group, member_id)
        reader.hold(held)
        return reader

    def _holding(self, name: str, member_id: str) -> dict[Slot, int] | Refusal:
        """What a member may be given messages of, and since which generation it has each."""
        coordinator = self._coordinator
        group = coordinator.groups.groups.get(name)
        if group is None:
            return Refusal(Code.UNKNOWN_MEMBER, f"there is no group {name!r}", "member_id")
        member = plan.member_of(group, member_id)
        if isinstance(member, Refusal):
            return member
        if group.mode is not GroupMode.EXCLUSIVE:
            message = f"group {name} is {group.mode}, and its members are given messages, not partitions"
            return Refusal(Code.WRONG_MODE, message, "group")
        held = rebalance.tenures(member, rebalance.assigned(member))
        known = coordinator.session(name, member_id).answered if member.eager else held
        return {
            slot: since
            for slot, since in held.items()
            if known.get(slot) == since and slot[1] < coordinator.partitions(slot[0])
        }

    def forget(self, call: Call) -> None:
        """Nobody waits for the answer to `call` any more."""
        reader = self._by_call.get(call)
        if reader is not None:
            self._end(reader)

    def end_all(self) -> list[Call]:
        """Forget all members and where they were; who waits for an answer."""
        waiting = [*self._by_call, *(call for call, _ in self.take_replies())]
        self._readers, self._by_call, self._by_read, self._came = {}, {}, {}, []
        self._due, self._waiting, self._alarms, self._found_bytes = {}, {}, Alarms(), 0
        return waiting

    def forget_found(self) -> None:
        """Let go of the batches in memory: polls that have found some begin anew."""
        for reader in self._by_call.values():
            assert reader.poll is not None
            if reader.poll.found:
                reader.poll.begin(reader.order, reader.first)
        self._found_bytes = 0

    # --- what happens

    def news(self, topic: str, partition: int) -> bool:
        """There may be more in a partition; return whether a poll waits for that."""
        slot = (topic, partition)
        waiting = self._waiting.get(slot)
        if waiting is None:
            return False
        for key, reader in waiting.items():
            place, span = reader.places.get(slot), self._ends(topic, partition)
            if place is None or span is None or place.offset < span[1] or self._is_far(slot):
                self._due[key] = reader
        return bool(self._due)

    def answered(self, number: int, reply: Fetched | FoundOffset | Refusal) -> None:
        """The answer to a read or a search, if it is one of these."""
        if number in self._by_read:
            self._came.append((number, reply))

    def deadline(self) -> int | None:
        """When `wake` has something to do."""
        return self._alarms.deadline()

    def wake(self, now: int) -> None:
        """Have those looked at whose time is up."""
        for call in self._alarms.due(now):
            reader = self._by_call[call]
            self._due[reader.key] = reader

    def take_replies(self) -> list[tuple[Call, Reply]]:
        """The answers that may be sent at once."""
        replies, self.replies = self.replies, []
        return replies

    def turn(self, now: int, appended: int, durable: int) -> None:
        """Let every poll go as far as it can; so many batches of the journal were appended, so many are durable."""
        changed, self._coordinator.changed = self._coordinator.changed, {}
        for group in changed:
            for reader in [*self._readers.get(group, {}).values()]:
                self._follow(reader)
        came, self._came = self._came, []
        for number, reply in came:
            reader_of = self._by_read.pop(number, None)
            if reader_of is not None:
                self._take(now, reader_of, reply)
        due, self._due = self._due, {}
        for reader in due.values():
            if reader.poll is not None and not reader.poll.reading:
                self._look(now, reader, appended, durable)

    def _follow(self, reader: Reader) -> None:
        """The member's group is not what it was."""
        held = self._holding(reader.group, reader.member_id)
        if isinstance(held, Refusal):
            call = self._end(reader)
            if call is not None:
                self._coordinator.replies.append((call, held))
            self._drop(reader)
        elif held != reader.held:
            poll = reader.poll
            if poll is None:
                reader.hold(held)
                return
            self._rouse(reader, poll)
            before = poll.size
            reader.hold(held)
            self._found_bytes += poll.size - before
            self._due[reader.key] = reader

    def _drop(self, reader: Reader) -> None:
        others = self._readers[reader.group]
        del others[reader.member_id]
        if not others:
            del self._readers[reader.group]

    # --- going round

    def _look(self, now: int, reader: Reader, appended: int, durable: int) -> None:
        """Read on where there is something, or be done."""
        poll = reader.poll
        assert poll is not None
        if poll.is_waiting:
            self._rouse(reader, poll)
            poll.look_round(reader.order, reader.first)
        is_content = poll.is_full or (poll.found and self._found_bytes > _FOUND_BYTES_MAX)
        while poll.rest and not is_content:
            slot = poll.rest[0]
            span = self._ends(*slot)
            if self._is_out_of_reach(slot, span):
                poll.rest.popleft()
                continue
            place = reader.places.get(slot) if span is None else self._place(reader, slot, span, appended)
            poll.offset = 0 if place is None else poll.reached(place)
            if place is not None and place.moment_ms is not None:
                self._ask(reader, poll, slot, place, FindOffset(*slot, place.moment_ms))
                return
            if span is None or poll.offset < span[1] or self._is_to_be_tried(poll, slot):
                self._ask(reader, poll, slot, place, Fetch(*slot, poll.offset, poll.read_bytes(place)))
                return
            poll.rest.popleft()
        if poll.found or (poll.deadline <= now and not self._is_sounding(reader)):
            self._finish(now, reader, poll, durable)
        else:
            self._wait(now, reader, poll)

    # --- partitions that other nodes lead

    def _is_far(self, slot: Slot) -> bool:
        return self._reach is not None and self._reach.is_far(slot)

    def _is_out_of_reach(self, slot: Slot, span: tuple[int, int] | None) -> bool:
        """Whether there is nothing to be read of a partition for now, as it is to be found out where to read it."""
        reach = self._reach
        if reach is None or not reach.is_far(slot):
            return False
        if reach.is_paused(slot) or reach.is_sounding(slot):
            return True
        if span is not None:
            return False
        reach.sound(slot)
        return True

    def _is_to_be_tried(self, poll: Poll, slot: Slot) -> bool:
        """Whether a read is to show what a partition has: whoever waits hears of it by a scout."""
        return not (poll.waits or poll.found) and self._is_far(slot)

    def _is_sounding(self, reader: Reader) -> bool:
        reach = self._reach
        return reach is not None and any(reach.is_sounding(slot) for slot in reader.order)

    def _is_passing(self, now: int, reach: OffsetLookup, poll: Poll, refusal: Refusal) -> bool:
        """Whether another node's partition can be read again soon, which the poll is to bear in mind."""
        if refusal.code is Code.OFFSET_OUT_OF_RANGE:
            # It begins or ends elsewhere by now, which is found out before it is read again.
            reach.forget(poll.slot)
            if poll.place is not None:
                poll.place.is_lost = True
        elif refusal.code in PASSING:
            reach.pause(now, poll.slot)
        else:
            return False
        return True

    def _place(self, reader: Reader, slot: Slot, span: tuple[int, int], appended: int) -> Place:
        place = reader.places.get(slot)
        if place is None:
            groups = self._coordinator.groups
            group = groups.groups[reader.group]
            offset, moment_ms = plan.beginning(groups, group, slot, span), plan.moment_to_find(groups, group, slot)
            place = reader.places[slot] = Place(reader.held[slot], appended, offset, moment_ms)
        # How far another node's partition reaches is known from before; only a read that it refused is beyond its end.
        end = span[1] if place.is_lost or not self._is_far(slot) else place.offset
        place.offset, place.is_lost = min(max(place.offset, span[0]), max(end, span[0])), False
        return place

    def _ask(self, reader: Reader, poll: Poll, slot: Slot, place: Place | None, wish: Fetch | FindOffset) -> None:
        poll.slot, poll.place = slot, place
        poll.reading = self._wishes.ask(wish)
        self._by_read[poll.reading] = reader

    def _take(self, now: int, reader: Reader, reply: Fetched | FoundOffset | Refusal) -> None:
        """Take what a read or a search came to, if the partition is still the member's."""
        poll = reader.poll
        assert poll is not None
        poll.reading = 0
        self._due[reader.key] = reader
        slot, place = poll.slot, poll.place
        if slot not in reader.held or reader.places.get(slot) is not place:
            return
        if place is not None and poll.reached(place) != poll.offset:
            # What was found before it is gone, or the partition begins later by now.
            return
        if isinstance(reply, Refusal):
            self._fail(now, reader, poll, reply)
        elif isinstance(reply, FoundOffset):
            assert place is not None
            place.offset, place.moment_ms = reply.offset, None
        elif place is not None and reply.batches:
            self._learn(slot, reply)
            before = poll.size
            poll.take(slot, place, reply)
            self._found_bytes += poll.size - before
        else:
            self._learn(slot, reply)
            if place is not None and poll.reached(place) == place.offset:
                place.offset = max(place.offset, reply.next_offset)
            poll.rest = deque(each for each in poll.rest if each != slot)

    def _learn(self, slot: Slot, fetched: Fetched) -> None:
        if self._reach is not None:
            self._reach.learn(slot, fetched)

    def _fail(self, now: int, reader: Reader, poll: Poll, refusal: Refusal) -> None:
        """A partition cannot be read: that is told before anything else is, and then the others have their turn."""
        topic, partition = poll.slot
        if self._reach is not None and self._reach.is_far(poll.slot):
            if self._is_passing(now, self._reach, poll, refusal):
                return
        elif (span := self._ends(topic, partition)) is not None and not span[0] <= poll.offset <= span[1]:
            # Retention has overtaken the read, which may have lost its file under way; the place follows.
            return
        if poll.found:
            poll.rest, poll.bytes_left = deque([poll.slot]), 0
            return
        reader.first = (topic, partition + 1)
        message = f"{topic}-{partition} cannot be read: {refusal.message}"
        self._end(reader)
        self._coordinator.alive(now, reader.group, reader.member_id)
        self._say(poll.call, Refusal(refusal.code, message, refusal.field, refusal.retry_after_ms))

    def _finish(self, now: int, reader: Reader, poll: Poll, durable: int) -> None:
        """Answer with what was found; from here on it counts as read."""
        self._coordinator.alive(now, reader.group, reader.member_id)
        for place, part in poll.found:
            assert reader.is_at(place, part)
            place.offset = max(place.offset, part.end_offset)
        if poll.found and poll.rest:
            topic, partition = poll.slot
            last = poll.found[-1][1]
            is_served = (last.topic, last.partition) == poll.slot
            reader.first = (topic, partition + is_served)
        self._end(reader)
        polled = self._polled(reader, [part for _, part in poll.found])
        if all(place.after <= durable for place, _ in poll.found):
            self._say(poll.call, polled)
        else:
            self._coordinator.replies.append((poll.call, polled))
            self.count += 1

    def _polled(self, reader: Reader, parts: list[PolledBatches]) -> Polled:
        """An answer, which for an eager member may be empty for no other reason than that it is to join again."""
        group = self._coordinator.groups.groups[reader.group]
        member = group.members[reader.member_id]
        told, seen = self._coordinator.session(*reader.key).told, describe.fingerprint(group, member)
        return Polled(parts, describe.is_rebalance_required(member, told, seen))

    def _say(self, call: Call, answer: Polled | Refusal) -> None:
        self.replies.append((call, answer))
        self.count += 1
        self.empty_count += isinstance(answer, Polled) and not answer.parts

    def _end(self, reader: Reader) -> Call | None:
        """The member polls no more; who asked."""
        poll, reader.poll = reader.poll, None
        if poll is None:
            return None
        self._rouse(reader, poll)
        self._by_read.pop(poll.reading, None)
        self._found_bytes -= poll.size
        del self._by_call[poll.call]
        return poll.call

    # --- waiting

    def _wait(self, now: int, reader: Reader, poll: Poll) -> None:
        poll.is_waiting = True
        for slot in reader.order:
            self._waiting.setdefault(slot, {})[reader.key] = reader
            if self._reach is not None and self._reach.is_far(slot):
                self._reach.watch(slot)
        if poll.deadline > now:
            self._alarms.set(poll.call, poll.deadline)

    def _rouse(self, reader: Reader, poll: Poll) -> None:
        if not poll.is_waiting:
            return
        poll.is_waiting = False
        for slot in reader.order:
            others = self._waiting[slot]
            del others[reader.key]
            if not others:
                del self._waiting[slot]
        self._alarms.drop(poll.call)

    # --- what must hold

    def check(self) -> None:
        """Assert the invariants."""
        self._alarms.check()
        readers = [reader for others in self._readers.values() for reader in others.values()]
        assert self._found_bytes == sum(reader.poll.size for reader in readers if reader.poll is not None)
        polling = {reader.poll.call: reader for reader in readers if reader.poll is not None}
        assert polling == self._by_call
        assert {reader.poll.reading for reader in polling.values() if reader.poll} - {0} == {*self._by_read}
        waiting = [reader for reader in polling.values() if reader.poll is not None and reader.poll.is_waiting]
        assert sum(len(reader.order) for reader in waiting) == sum(len(others) for others in self._waiting.values())
        for reader in waiting:
            assert all(self._waiting[slot][reader.key] is reader for slot in reader.order)
        for reader in readers:
            assert reader.order == sorted(reader.held)
            assert all(reader.held.get(slot) == place.since for slot, place in reader.places.items())
            group = self._coordinator.groups.groups.get(reader.group)
            assert reader.group in self._coordinator.changed or (group and reader.member_id in group.members)
