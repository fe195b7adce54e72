"""The ledgers of a node's partitions: readers open and shut with them, and answers wait until they are durable.

What a turn changed goes into the books at its end, one batch a partition for all groups and all requests, and whatever
was said rests on that. When a book is lost, whoever waits for it is refused, its queues are read anew, and what a poll
that is refused was given elsewhere is handed back.

Invariants: a reader is open for each queue of a book that is ready, and for nothing else; each is woken in time.
"""

from attrs import define, field

from goqueue.core.cluster.queue_settings import WorkSettings
from goqueue.core.groups.leader import GroupLeader
from goqueue.core.groups.shared import Departure
from goqueue.core.partition.partition import Partition
from goqueue.core.queues.errands import Errands, Slot, Turn
from goqueue.core.queues.holding import Held, Holding
from goqueue.core.queues.measure import Measures
from goqueue.core.queues.policy import work_settings
from goqueue.core.queues.polling import Polls
from goqueue.core.queues.queue_ledger import QueueLedger
from goqueue.core.queues.reader import QueueReader
from goqueue.core.queues.settling import Homes
from goqueue.core.replicas.elsewhere import elsewhere
from goqueue.core.requests.call import Call
from goqueue.core.requests.groups import GroupMode
from goqueue.core.requests.messages import Side
from goqueue.core.requests.queues import PolledWork, ReceiptRun
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.services.service import ServiceContext
from goqueue.core.timers.alarms import Alarms

_UNKNOWN_NS = 200_000_000


@define(eq=False)
class Ledgers:
    """All books, and who waits for them."""

    _site: ServiceContext
    _errands: Errands
    _turn: Turn
    _polls: Polls
    _groups: GroupLeader
    books: dict[Slot, QueueLedger] = field(factory=dict)
    # Books that are other than they were, for whoever moves their dead letters.
    doomed: dict[Slot, None] = field(factory=dict)
    homes: Homes = field(init=False)
    measures: Measures = field(factory=Measures)
    _holding: Holding = field(factory=Holding)
    # The loads that readers are open for, books that may want to be read again, and when queues are to be woken.
    _loads: dict[Slot, int] = field(factory=dict)
    _ailing: dict[Slot, None] = field(factory=dict)
    _alarms: Alarms[tuple[str, Slot]] = field(factory=Alarms)
    # Ledgers that were read before it was sure which groups there are, and since when.
    _unsure: dict[Slot, int] = field(factory=dict)
    # Where partitions ended when they were recovered, as long as no queue has heard of it.
    _ends: dict[Slot, int] = field(factory=dict)
    # Answers of this turn with the books that they rest on and their rounds, and receipts that nobody will hear of.
    _said: list[tuple[Call, object, list[Slot], int]] = field(factory=list)
    _returned: list[ReceiptRun] = field(factory=list)

    def __attrs_post_init__(self) -> None:
        self.homes = Homes(self._site.led, self.books, self._groups.knows)

    # --- books

    def opened(self, now: int, partition: Partition) -> None:
        """A ledger was recovered: it is read from its start."""
        self._book((partition.topic, partition.number)).opened(partition)
        self._follow(now)

    def failed(self, now: int, stream: str, why: str) -> None:
        """A stream cannot be used, which is a ledger maybe."""
        _, name, number, *side = stream.split("/")
        slot = (name, int(number)) if name in self._site.led.topics else None
        if slot is None:
            return
        is_far = elsewhere(self._site.led, *slot) is not None
        if is_far:
            # What is appended elsewhere lies beyond the end that was seen here.
            self._ends.pop(slot, None)
        if side == [Side.LEDGER.value] and (slot in self.books or not is_far):
            self._book(slot).log.failed(why)
            self._follow(now)

    def _book(self, slot: Slot) -> QueueLedger:
        book = self.books.get(slot)
        if book is None:
            book = self.books[slot] = QueueLedger(*slot, self._site, self._errands, self._turn, self.settings)
        return book

    def answered(self, now: int, number: int, reply: Reply) -> bool:
        """Take the answer to an internal request; return whether a ledger has changed."""
        self._errands.answered(now, number, reply)
        return self._follow(now)

    def topics_changed(self) -> None:
        """Books of topics that are no more are none any more, and all others may have other settings."""
        for slot in [*self.books]:
            if slot[0] not in self._site.led.topics:
                self._shut(self.books.pop(slot))
                self._ailing.pop(slot, None)
                self._unsure.pop(slot, None)
                self.doomed[slot] = None
                self.measures.end_topic(slot[0])
        self._ends = {slot: end for slot, end in self._ends.items() if slot[0] in self._site.led.topics}
        self.homes.topics_changed()
        for dispatcher in self._polls.dispatchers.values():
            for reader in dispatcher.readers.values():
                self.configure(reader)

    def touch(self, slot: Slot, group: str) -> None:
        """The moves of a book that is ready were changed from outside, or the queue of a group."""
        book = self.books.get(slot)
        if book is None:
            # Its topic was deleted within this turn.
            return
        if group:
            book.touch(group)
        else:
            self._turn.touch(book)

    def refusal(self, topics: list[str]) -> Refusal | None:
        """Why nothing can be said for now of the partitions of some topics that are led here."""
        for topic in topics:
            leader = self._site.led.topics.get(topic)
            if leader is not None and Side.LEDGER in leader.topic.sides:
                slots = [(topic, number) for number in range(leader.topic.partitions) if leader.is_led(number)]
                lost = [slot for slot in slots if slot not in self.books or not self.books[slot].is_ready]
                if lost:
                    return self.unready(lost[0])
        return None

    def unready(self, slot: Slot) -> Refusal:
        """Why the queues of a partition cannot be used."""
        book = self.books.get(slot)
        why = "they are being read" if book is None or not book.why else book.why
        message = f"the work queues of {slot[0]}-{slot[1]} cannot be used: {why}"
        return Refusal(Code.UNAVAILABLE, message, retry_after_ms=200)

    def _follow(self, now: int) -> bool:
        """Open and shut readers as books come and go, and let go of answers that have become durable."""
        differs = False
        for slot in self._turn.take_stirred():
            book = self.books.get(slot)
            if book is None:
                continue
            self.doomed[slot] = None
            was_open = slot in self._loads
            if was_open and (not book.is_ready or self._loads[slot] != book.load):
                self._shut(book)
            if book.has_failed:
                self._ailing[slot] = None
            if book.is_ready and slot not in self._loads:
                self._open_all(now, book)
            differs = differs or not was_open or slot not in self._loads
            self._go_on(book)
            for held in self._holding.durable(book):
                self._send(held)
        return differs

    def _attach(self, book: QueueLedger) -> None:
        """Note what is appended to a partition, once its queues are there."""
        partition = self._site.led.partition(*book.slot)
        if isinstance(partition, Partition) and book.queues:
            book.lanes.attach(partition, min(queue.ledger.window.reach for queue in book.queues.values()))

    def _go_on(self, book: QueueLedger) -> None:
        """More of a partition's lanes may be known."""
        partition = self._site.led.partition(*book.slot)
        if isinstance(partition, Partition):
            book.lanes.step(partition)
        for reader in self._readers(book.slot):
            reader.rise()
            self._polls.stir(reader)

    # --- readers

    def settings(self, topic: str, group: str) -> WorkSettings:
        """How a group's queues on a topic behave."""
        found = self._groups.known.get(group)
        return work_settings(self._site.led.topics[topic].topic, {} if found is None else found.config)

    def configure(self, reader: QueueReader) -> None:
        """The settings of a queue may be others; while its group is not known here, it keeps those that it has."""
        if self._groups.knows(reader.group):
            reader.queue.configure(self.settings(reader.slot[0], reader.group))
        reader.book.touch(reader.group)
        self._polls.stir(reader)

    def _open_all(self, now: int, book: QueueLedger) -> None:
        """A book was read: open the readers of its queues, but for those of groups that are gone."""
        self._loads[book.slot] = book.load
        self._unsure[book.slot] = now
        self.end_gone(now)
        for name in book.queues:
            self._open(now, name, book)
        self._ends.pop(book.slot, None)
        self._attach(book)

    def end_gone(self, now: int) -> None:
        """End the queues of groups that are gone, once that is sure: a copy of the groups may be behind a ledger."""
        groups = self._groups.known
        for slot in [slot for slot, since in self._unsure.items() if self._groups.is_sure(since)]:
            del self._unsure[slot]
            book = self.books[slot]
            for name in [*book.queues]:
                group = groups.get(name)
                if group is None or group.mode is not GroupMode.SHARED:
                    dispatcher = self._polls.dispatchers.get(name)
                    reader = None if dispatcher is None else dispatcher.readers.get(slot)
                    if reader is not None:
                        self._close(reader)
                    book.end(name)

    def open(self, now: int, name: str, book: QueueLedger) -> None:
        """Serve a group from a partition, on which its queue was begun."""
        self._open(now, name, book)
        self.reach_back(book, name)

    def reach_back(self, book: QueueLedger, name: str) -> None:
        """A queue begins, maybe further back than all others did."""
        if not book.lanes.is_attached or book.queues[name].ledger.window.reach < book.lanes.index.begin:
            book.feed_anew()
            self._attach(book)

    def _open(self, now: int, name: str, book: QueueLedger) -> None:
        reader = QueueReader(name, book, book.queues[name], self._site)
        reader.queue.tally = self.measures.tally(name, book.topic)
        end = self._ends.get(book.slot)
        if end is not None:
            reader.cut(now, end)
        self.homes.open(reader)
        self._polls.open(reader)
        self.configure(reader)

    def _shut(self, book: QueueLedger) -> None:
        """A book was lost: whoever waits for it is told."""
        self._loads.pop(book.slot, None)
        self._unsure.pop(book.slot, None)
        partition = self._site.led.partition(*book.slot)
        if isinstance(partition, Partition):
            partition.lanes = None
        for dispatcher in self._polls.dispatchers.values():
            reader = dispatcher.readers.get(book.slot)
            if reader is not None:
                self._close(reader)
        refusal = self.unready(book.slot).in_doubt()
        for held in self._holding.void(book.slot):
            # The ledger may have what the answer rests on.
            self._refuse(held.call, held.answer, refusal)

    def _close(self, reader: QueueReader) -> None:
        self.homes.close(reader)
        self._alarms.drop((reader.group, reader.slot))
        self._polls.close(reader)

    def _readers(self, slot: Slot) -> list[QueueReader]:
        """All readers of a partition; a queue that was begun in this turn has none yet."""
        if slot not in self._loads:
            return []
        dispatchers = [self._polls.dispatchers.get(group) for group in self.books[slot].queues]
        return [
            dispatcher.readers[slot]
            for dispatcher in dispatchers
            if dispatcher is not None and slot in dispatcher.readers
        ]

    def news(self, partition: Partition) -> bool:
        """There may be more to read in a partition; return whether a queue has more."""
        has_more = False
        for reader in self._readers((partition.topic, partition.number)):
            if reader.end != partition.high_watermark:
                reader.end = partition.high_watermark
                self._polls.stir(reader)
                has_more = True
        return has_more

    def reread(self, now: int, partition: Partition) -> None:
        """A partition was recovered, and may hold less than was read of it."""
        slot = (partition.topic, partition.number)
        book = self.books.get(slot)
        if book is None or not book.is_ready:
            # Messages that come before the queues are read have the numbers of what was lost.
            self._ends[slot] = min(self._ends.get(slot, partition.log.next_offset), partition.log.next_offset)
            return
        if book.lanes.index.upto > partition.log.next_offset:
            self._ends[slot] = partition.log.next_offset
            book.log.reload()
            self._follow(now)
            return
        for reader in self._readers(slot):
            reader.cut(now, partition.log.next_offset)
            self._polls.reread(reader)
        if not book.lanes.is_complete:
            self._attach(book)

    # --- groups

    def end(self, name: str) -> None:
        """A group is no more, nor are its queues."""
        self.measures.end_group(name)
        dispatcher = self._polls.dispatchers.get(name)
        if dispatcher is None:
            return
        for reader in [*dispatcher.readers.values()]:
            self._close(reader)
            reader.book.end(name)
        self._polls.end(dispatcher, Refusal(Code.UNKNOWN_MEMBER, f"there is no group {name!r}", "member_id"))

    def depart(self, now: int, departure: Departure) -> None:
        """A member is gone, and others may have what it had."""
        dispatcher = self._polls.dispatchers.get(departure.group)
        for reader in [] if dispatcher is None else [*dispatcher.readers.values()]:
            if reader.queue.ledger.leases.in_flight(departure.member_id):
                reader.book.touch(reader.group)
                if departure.lost:
                    reader.queue.lose(now, departure.member_id)
                else:
                    reader.queue.leave(now, departure.member_id)
                self._polls.stir(reader)

    # --- answers

    def say(self, call: Call, answer: object, slots: list[Slot], round_: int = 0) -> None:
        """Answer once all that was changed in some books so far is durable."""
        self._said.append((call, answer, slots, round_))

    def end_round(self, round_: int) -> None:
        """A round of polls is over: what is held back for it is nobody's, and its own answer is nothing."""
        held = self._holding.end_round(round_)
        if held is not None:
            self._hand_back(held.answer)
            self._site.send(held.call, PolledWork([]))

    def forget(self, call: Call) -> None:
        """Nobody waits for the answer to `call` any more."""
        self._hand_back(self._holding.forget(call))
        for said in [each for each in self._said if each[0] == call]:
            self._said.remove(said)
            self._hand_back(said[1])

    def take_returned(self) -> list[ReceiptRun]:
        """What was given to polls that nobody heard of."""
        returned, self._returned = self._returned, []
        return returned

    def _hand_back(self, answer: object) -> None:
        for part in answer.parts if isinstance(answer, PolledWork) else ():
            runs = (ReceiptRun(lease.stem, lease.first_offset, lease.count) for lease in part.leases)
            self._returned.extend(runs)

    def _send(self, held: Held) -> None:
        self._site.send(held.call, held.answer)  # type: ignore[arg-type]

    def _refuse(self, call: Call, answer: object, refusal: Refusal) -> None:
        self._site.send(call, refusal)
        self._hand_back(answer)

    # --- time and output

    def renew(self, now: int) -> None:
        """This node may act as a leader again: what could not be read is read at once."""
        for slot in self._ailing:
            self.books[slot].log.renew(now)

    @property
    def is_due(self) -> bool:
        """Whether there may be something to write or to say."""
        return bool(self._turn.touched or self._turn.stirred or self._said or self._returned)

    def deadline(self) -> int | None:
        """When `wake` has something to do."""
        if not self._site.led.is_in_office:
            return None
        ends = self._alarms.deadline() if self._groups.is_known else None
        times = [ends, *(self.books[slot].log.deadline() for slot in self._ailing)]
        return min((due for due in times if due is not None), default=None)

    def wake(self, now: int) -> None:
        """Do what is due; a lease ends only when it is known how often its group tries a message.

        Nor does any while others may lead the partition, and know better.
        """
        if not self._site.led.is_in_office:
            return
        for slot in [*self._ailing]:
            book = self.books[slot]
            book.log.wake(now)
            if not book.has_failed:
                del self._ailing[slot]
        self._follow(now)
        for group, slot in self._alarms.due(now) if self._groups.is_known else ():
            if not self._groups.knows(group):
                # How often it tries a message is the group's to say, of which this node is yet to hear.
                self._alarms.set((group, slot), now + _UNKNOWN_NS)
                continue
            reader = self._polls.dispatchers[group].readers[slot]
            reader.book.touch(group)
            reader.queue.wake(now)
            self._polls.stir(reader)

    def write(self, now: int) -> None:
        """Write what was changed, and hold what was said until that is durable."""
        for slot in self._turn.take_touched():
            book = self.books.get(slot)
            if book is None or not book.is_ready:
                continue
            self.doomed[slot] = None
            book.lanes.trim(queue.ledger.window.reach for queue in book.queues.values())
            for group in book.write(now):
                reader = self._polls.dispatchers[group].readers[slot]
                reader.written()
                due = reader.queue.deadline()
                if due is None:
                    self._alarms.drop((group, slot))
                else:
                    self._alarms.set((group, slot), due)
        said, self._said = self._said, []
        for call, answer, slots, round_ in said:
            lost = [slot for slot in slots if slot not in self._loads]
            if lost:
                refusal = self.unready(lost[0])
                # The ledgers that are left have been written.
                self._refuse(call, answer, refusal if len(lost) == len(slots) else refusal.in_doubt())
            elif not self._holding.hold(call, answer, [self.books[slot] for slot in slots], round_):
                self._send(Held(call, answer))

    def check(self) -> None:
        """Assert the invariants."""
        self._holding.check()
        self._alarms.check()
        for slot, book in self.books.items():
            book.check()
            assert book.slot == slot
            assert (slot in self._loads) == book.is_ready
            assert not book.has_failed or slot in self._ailing
            for group in book.queues if book.is_ready else ():
                reader = self._polls.dispatchers[group].readers[slot]
                assert reader.queue is book.queues[group]
                assert reader.queue.deadline() is None or (group, slot) in self._alarms or slot in self._turn.touched
        readers = [reader for dispatcher in self._polls.dispatchers.values() for reader in dispatcher.readers.values()]
        assert len(readers) == sum(len(book.queues) for book in self.books.values() if book.is_ready)
        self.homes.check(readers)
