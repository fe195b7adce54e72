"""How queues come to be: a group that polls a topic for the first time is given one on each of its partitions.

The topic's ledgers are made where there are none; and a group that begins at a moment has that looked up. Until all is
there a group's dispatcher is `opening`, so that a poll that does not wait is not answered with nothing before it could
have something.

Invariant: for a group and a partition there is one search at most, and for a topic one request for ledgers.
"""

from attrs import define, field

from goqueue.core.groups.beginnings import EARLIEST, LATEST, moment_ms
from goqueue.core.groups.state import Group
from goqueue.core.queues.dispatcher import GroupDispatcher
from goqueue.core.queues.errands import Errands, Slot
from goqueue.core.queues.queue_ledger import QueueLedger
from goqueue.core.replicas.replica_set import ReplicaSet
from goqueue.core.requests.messages import FindOffset, FoundOffset, Side
from goqueue.core.requests.metadata import AddSide
from goqueue.core.requests.refusals import Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.state.state_log import Standing
from goqueue.core.timers.alarms import Alarms

_PAUSE_NS = 1_000_000_000


@define(eq=False)
class Openings:
    """The queues that are being made; `begun` are those that were since it was last asked."""

    _errands: Errands
    _led: ReplicaSet
    _books: dict[Slot, QueueLedger]
    begun: list[tuple[str, Slot]] = field(factory=list)
    # Whether something has come that polls in line may have waited for.
    is_stale: bool = False
    # What was made already, so that a poll looks at no partition in vain.
    _complete: dict[tuple[str, str], None] = field(factory=dict)
    _siding: dict[int, str] = field(factory=dict)
    _finding: dict[int, tuple[str, Slot]] = field(factory=dict)
    _moments: dict[tuple[str, Slot], int | None] = field(factory=dict)
    # Topics whose ledgers were made, and are yet to be heard of here.
    _awaited: dict[str, None] = field(factory=dict)
    # What was refused, and when to ask again.
    _refused: Alarms[str | tuple[str, Slot]] = field(factory=Alarms)

    def prepare(self, now: int, dispatcher: GroupDispatcher, group: Group, topics: list[str]) -> None:
        """Have a group's queues on some topics made, as far as that can be now."""
        for topic in topics:
            if (group.name, topic) in self._complete:
                continue
            standings = self._topic(now, group, topic)
            if Standing.LOADING in standings:
                dispatcher.opening[topic] = None
            else:
                dispatcher.opening.pop(topic, None)
                if topic in self._led.topics and Standing.FAILED not in standings:
                    self._complete[group.name, topic] = None

    def _topic(self, now: int, group: Group, topic: str) -> list[Standing]:
        """How far the queues of a group on the partitions of a topic are."""
        leader = self._led.topics.get(topic)
        if leader is None:
            return []
        if topic in self._refused:
            return [Standing.FAILED]
        if Side.LEDGER not in leader.topic.sides:
            if topic not in self._siding.values() and topic not in self._awaited:
                self._siding[self._errands.ask(self, AddSide(topic, Side.LEDGER))] = topic
            return [Standing.LOADING]
        numbers = range(leader.topic.partitions)
        return [self._slot(now, group, (topic, number)) for number in numbers if leader.is_led(number)]

    def _slot(self, now: int, group: Group, slot: Slot) -> Standing:
        book, span = self._books.get(slot), self._led.ends(*slot)
        if book is None or not book.is_ready:
            return Standing.FAILED if book is not None and book.has_failed else Standing.LOADING
        if group.name in book.queues:
            return Standing.READY
        if span is None:
            return Standing.FAILED
        start = group.config.get("start", EARLIEST)
        moment = moment_ms(start)
        if moment is None:
            self._begin(now, group.name, book, span[1] if start == LATEST else span[0])
            return Standing.READY
        key = (group.name, slot)
        if key in self._refused:
            return Standing.FAILED
        found = self._moments.get(key, -1)
        if found == -1:
            self._moments[key] = None
            self._finding[self._errands.ask(self, FindOffset(*slot, moment))] = key
            return Standing.LOADING
        if found is None:
            return Standing.LOADING
        del self._moments[key]
        self._begin(now, group.name, book, min(max(found, span[0]), span[1]))
        return Standing.READY

    def _begin(self, now: int, group: str, book: QueueLedger, floor: int) -> None:
        book.begin(now, group, floor)
        self.begun.append((group, book.slot))

    def answered(self, now: int, number: int, reply: Reply) -> None:
        """A topic has ledgers, or a moment was found, or neither can be for now."""
        self.is_stale = True
        key = self._finding.pop(number, None)
        if key is None:
            topic = self._siding.pop(number)
            leader = self._led.topics.get(topic)
            if isinstance(reply, Refusal):
                self._refused.set(topic, now + _PAUSE_NS)
            elif leader is not None and Side.LEDGER not in leader.topic.sides:
                self._awaited[topic] = None
        elif isinstance(reply, FoundOffset):
            self._moments[key] = reply.offset
        else:
            assert isinstance(reply, Refusal)
            self._moments.pop(key, None)
            self._refused.set(key, now + _PAUSE_NS)

    def deadline(self) -> int | None:
        """When `wake` has something to do."""
        return self._refused.deadline()

    def wake(self, now: int) -> None:
        """Ask again for what was refused."""
        if self._refused.due(now):
            self.is_stale = True

    def renew(self) -> None:
        """Look at everything again: ledgers, topics or groups are not what they were."""
        self._complete.clear()
        self._awaited.clear()
        self.is_stale = True

    def take_begun(self) -> list[tuple[str, Slot]]:
        """Groups and partitions whose queues were begun."""
        begun, self.begun = self.begun, []
        return begun

    def check(self) -> None:
        """Assert the invariants."""
        assert len({*self._siding.values()}) == len(self._siding)
        self._refused.check()
        finding = [key for key, found in self._moments.items() if found is None]
        assert sorted(finding) == sorted(self._finding.values())
