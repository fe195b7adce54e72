"""Groups whose members poll: a coordinator, its polls, and partitions that are lists of batches.

What the polls want to read is answered at once, unless `holds_reads` is set; then it waits in `reads`.
"""

from random import Random

from goqueue.core.clock import Clock
from goqueue.core.groups.coordinator import Coordinator
from goqueue.core.groups.polling import Polls
from goqueue.core.groups.state import Slot
from goqueue.core.records.batch import read_header, split
from goqueue.core.records.build import rebuild
from goqueue.core.records.entries import Entry
from goqueue.core.records.record import iterate
from goqueue.core.requests.call import Call
from goqueue.core.requests.groups import Joined, JoinGroup, Polled, PolledBatches, PollGroup
from goqueue.core.requests.messages import Fetch, Fetched, FindOffset, FoundOffset
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request, ServiceName
from goqueue.core.services.internal_requests import InternalRequests
from tests.core.calls import call
from tests.core.driven_node import stored
from tests.core.log.batches import WALL_MS

MS = 1_000_000
S = 1_000 * MS


class Shelf:
    """One partition: its batches, where it begins, and why it cannot be read if it cannot."""

    def __init__(self) -> None:
        self.batches: list[bytes] = []
        self.start = 0
        self.end = 0
        self.problem: Refusal | None = None

    def add(self, count: int, size: int = 10) -> None:
        """One more batch of so many records."""
        entries = [(WALL_MS, None, b"%0*d" % (size, self.end + at), ()) for at in range(count)]
        self.batches.append(bytes(stored(self.end, *entries)))
        self.end += count

    def add_sparse(self, span: int, *deltas: int) -> None:
        """A batch as compaction leaves it: over so many offsets, with records at these."""
        whole = stored(self.end, *[(WALL_MS, None, b"%d" % at, ()) for at in range(span)])
        kept = [record for record in iterate(whole) if record.offset - self.end in deltas]
        self.batches.append(bytes(rebuild(read_header(whole), kept)))
        self.end += span

    def skip(self, span: int) -> None:
        """A gap in which no batch is left."""
        self.end += span

    def find(self, find: FindOffset) -> FoundOffset | Refusal:
        """The offset of a moment, where messages came a second apart from WALL_MS on."""
        return self.problem or FoundOffset(min(max((find.timestamp - WALL_MS) // 1000, self.start), self.end), 0)

    def read(self, fetch: Fetch) -> Fetched | Refusal:
        """Whole batches from an offset on, at least one if there is one."""
        if self.problem is not None:
            return self.problem
        if not self.start <= fetch.offset <= self.end:
            return Refusal(Code.OFFSET_OUT_OF_RANGE, "out of range", "offset")
        found: list[bytes] = []
        next_offset = fetch.offset
        for batch in self.batches:
            header = read_header(batch)
            if header.next_offset <= fetch.offset:
                continue
            if found and sum(map(len, found)) + len(batch) > fetch.max_bytes:
                break
            found.append(batch)
            next_offset = header.next_offset
        return Fetched(b"".join(found), next_offset if found else self.end, self.end, self.start)


class PolledGroups:
    """A coordinator of groups on a journal that is durable at once, unless `holds_journal` is set."""

    def __init__(self, **topics: int) -> None:
        self.now = 0
        self.journal: list[Entry] = []
        self.appended = 0
        self.durable = 0
        self.holds_journal = False
        self.holds_reads = False
        self.reads: list[tuple[int, Fetch | FindOffset]] = []
        self.read_count = 0
        self.answers: dict[Call, Reply] = {}
        self.shelves: dict[Slot, Shelf] = {}
        self.topics: dict[str, int] = {}
        self._held: list[tuple[int, Call, Reply]] = []
        self._last_to = 0
        self.wishes = InternalRequests(ServiceName.GROUPS)
        self.coordinator = Coordinator(Clock(0, WALL_MS), Random(1), self.ends, {})
        self.polls = Polls(self.coordinator, self.ends, self.wishes)
        self.make(**topics)

    def make(self, **topics: int) -> None:
        """More topics, or more partitions."""
        self.topics |= topics
        for topic, count in topics.items():
            for number in range(count):
                self.shelves.setdefault((topic, number), Shelf())
        self.coordinator.topics_changed(self.now, self.topics, {})
        self.turn()

    def delete(self, topic: str) -> None:
        """A topic is gone, and so are its partitions."""
        for number in range(self.topics.pop(topic)):
            del self.shelves[topic, number]
        self.coordinator.topics_changed(self.now, self.topics, {})
        self.turn()

    def ends(self, topic: str, partition: int) -> tuple[int, int] | None:
        """Start and end of a partition."""
        shelf = self.shelves.get((topic, partition))
        return None if shelf is None else (shelf.start, shelf.end)

    def add(self, topic: str, partition: int, count: int, size: int = 10) -> None:
        """One more batch in a partition; `turn` when all of a turn are there."""
        self.shelves[topic, partition].add(count, size)
        self.polls.news(topic, partition)

    # --- what is asked

    def ask(self, request: Request) -> Call:
        """Hand over a request; the call of it."""
        self._last_to += 1
        asked = call(self._last_to)
        if isinstance(request, PollGroup):
            self.polls.poll(self.now, asked, request)
        else:
            self.coordinator.ask(self.now, asked, request)
        return asked

    def answer(self, request: Request) -> Reply:
        """Ask, and take the answer."""
        to = self.ask(request)
        self.turn()
        return self.answers.pop(to)

    def join(self, *topics: str, eager: bool = False, **config: object) -> str:
        """One member more of group g, and what it comes to; its id."""
        joined = self.answer(JoinGroup("g", [*topics], eager=eager, config=config))
        assert isinstance(joined, Joined)
        self.wait(2 * S)
        return joined.member_id

    def poll(self, member_id: str, records_max: int = 500, bytes_max: int = 1 << 20) -> list[PolledBatches]:
        """A poll that does not wait."""
        polled = self.answer(PollGroup("g", member_id, records_max, bytes_max))
        assert isinstance(polled, Polled), polled
        return polled.parts

    def refused(self, member_id: str, group: str = "g") -> Refusal:
        """A poll that is refused."""
        refusal = self.answer(PollGroup(group, member_id))
        assert isinstance(refusal, Refusal), refusal
        return refusal

    # --- what happens

    def wait(self, span_ns: int) -> None:
        """Let time pass, from one thing that is due to the next."""
        until = self.now + span_ns
        while True:
            dues = [due for due in (self.coordinator.deadline(), self.polls.deadline()) if due is not None]
            if not dues or min(dues) > until:
                break
            self.now = max(self.now, min(dues))
            self.coordinator.wake(self.now)
            self.polls.wake(self.now)
            self.turn()
        self.now = until

    def turn(self) -> None:
        """What a node does in one turn: the journal is written, polls go on, reads are answered."""
        self.settle()
        while not self.holds_reads and self.reads:
            self.read()
            self.settle()

    def settle(self) -> None:
        """The same, but for the reads."""
        coordinator = self.coordinator
        if coordinator.entries:
            self.journal += coordinator.entries
            coordinator.entries = []
            self.appended += 1
        if not self.holds_journal:
            self.durable = self.appended
        self.polls.turn(self.now, self.appended, self.durable)
        self._held += [(self.appended, to, answer) for to, answer in coordinator.replies]
        coordinator.replies = []
        for after, to, answer in [*self._held]:
            if after <= self.durable:
                self._held.remove((after, to, answer))
                self._give(to, answer)
        for to, polled in self.polls.take_replies():
            self._give(to, polled)
        for asked, wish in self.wishes.take():
            assert isinstance(wish, Fetch | FindOffset)
            self.reads.append((asked.number, wish))
        coordinator.check()
        self.polls.check()

    def _give(self, to: Call, answer: Reply) -> None:
        assert to not in self.answers, "answered twice"
        self.answers[to] = answer

    def read(self) -> None:
        """Answer the reads that are wanted."""
        reads, self.reads = self.reads, []
        for number, fetch in reads:
            self.read_count += 1
            shelf = self.shelves.get((fetch.topic, fetch.partition))
            gone = Refusal(Code.TOPIC_NOT_FOUND, f"topic {fetch.topic} was deleted", "topic")
            if shelf is None:
                self.polls.answered(number, gone)
            else:
                self.polls.answered(number, shelf.read(fetch) if isinstance(fetch, Fetch) else shelf.find(fetch))


def spans(parts: list[PolledBatches]) -> list[tuple[str, int, int, int]]:
    """What was polled: topic, partition, first offset and end."""
    return [(part.topic, part.partition, part.first_offset, part.end_offset) for part in parts]


def offsets(parts: list[PolledBatches]) -> list[int]:
    """The offsets of the messages that were polled, read from the batches themselves."""
    return [
        record.offset
        for part in parts
        for batch in split(part.batches)
        for record in iterate(batch)
        if part.first_offset <= record.offset < part.end_offset
    ]
