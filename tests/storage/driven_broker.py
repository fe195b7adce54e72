"""A node and its disk in a test's hands: turns by hand, work run or held back, time that only moves when told."""

import os
from collections.abc import Callable

from goqueue.core.broker.node_options import NodeOptions
from goqueue.core.clock import Clock
from goqueue.core.log.thresholds import Thresholds
from goqueue.core.node import Node
from goqueue.core.records.batch import split
from goqueue.core.records.record import Record, iterate
from goqueue.core.requests.call import Caller
from goqueue.core.requests.messages import Fetch, Fetched, NewRecord, Publish
from goqueue.core.requests.refusals import Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request
from goqueue.core.requests.topics import CreateTopic
from goqueue.core.services.secrets import Secrets
from goqueue.storage.disk import Disk
from goqueue.storage.node_disk import NodeDisk, Work
from goqueue.storage.store import Store

SECOND_NS = 1_000_000_000
WALL_MS = 1_700_000_000_000

# Of brokers that are driven from here on; tests of what lies beyond them set smaller ones.
THRESHOLDS = Thresholds()


class DrivenBroker:
    """Everything of a broker but its transports and its loop; `reports` is what it told its operator."""

    def __init__(self, disk: Disk) -> None:
        self.now = 0
        self.reports: list[str] = []
        self.store = Store(disk)
        options = NodeOptions(recent_bytes=0, secrets=Secrets(os.urandom), thresholds=THRESHOLDS)
        self.node = Node(options, Clock(0, WALL_MS), 0)
        self.disk = NodeDisk(self.node, self.store, self.reports.append)
        self.held: list[Work] = []
        self._answers: dict[int, Reply] = {}
        self._last_to = 0

    def turn(self, hold: Callable[[Work], bool] = lambda _: False) -> None:
        """One turn; work that `hold` wants stays in `held`, all other is run and finished."""
        self.node.wake(self.now)
        while ready := self.node.take(self.now):
            self.disk.act(self.now, ready)
            self._answers.update((send.to, send.reply) for send in ready.sends)
            if ready.is_last:
                due = self.node.deadline()
                assert (due is not None and due <= self.now) or not self.node.take(self.now)
                break
        for work in self.disk.take(self.now):
            if hold(work):
                self.held.append(work)
            else:
                work.run()
                self.disk.finish(self.now, work)
        self.node.check()

    def await_answer(self, request: Request) -> Reply:
        """Ask, and turn until there is an answer and no longer."""
        to = self.ask(request)
        for _ in range(20):
            if to in self._answers:
                break
            self.turn()
        return self._answers.pop(to)

    def close(self) -> None:
        """Leave the logs as a clean stop does."""
        self.node.close(self.now)
        self.settle()
        self.store.close()

    def settle(self, hold: Callable[[Work], bool] = lambda _: False) -> None:
        """As many turns as it takes until nothing is left to do at this time."""
        for _ in range(20):
            self.turn(hold)

    def release(self) -> None:
        """Run and finish what was held."""
        held, self.held = self.held, []
        for work in held:
            work.run()
            self.disk.finish(self.now, work)

    def ask(self, request: Request) -> int:
        """Hand over a request, and answer its number."""
        self._last_to += 1
        self.node.ask(self.now, self._last_to, Caller(), request)
        return self._last_to

    def answered(self) -> list[int]:
        """The numbers of all requests whose answers are there and were not looked at."""
        return sorted(self._answers)

    def taken(self, to: int) -> Reply:
        """The answer to a request that was answered."""
        return self._answers.pop(to)

    def answer(self, request: Request) -> Reply:
        """Ask, settle, and the answer."""
        to = self.ask(request)
        self.settle()
        return self._answers.pop(to)

    def later(self, seconds: float, hold: Callable[[Work], bool] = lambda _: False) -> None:
        """Let time pass, and settle."""
        self.now += int(seconds * SECOND_NS)
        self.settle(hold)

    def create(self, name: str, **config: object) -> None:
        """A topic of one partition."""
        self.settle()
        reply = self.answer(CreateTopic(name, 1, 1, config))
        assert not isinstance(reply, Refusal), reply

    def publish(self, topic: str, *messages: tuple[bytes, bytes | None]) -> Reply:
        """Publish keys and values."""
        return self.answer(Publish(topic, [NewRecord(key, value, partition=0) for key, value in messages]))

    def records(self, topic: str) -> list[Record]:
        """All that a reader of partition 0 gets."""
        found: list[Record] = []
        offset = 0
        while True:
            reply = self.answer(Fetch(topic, 0, offset, 1 << 20))
            assert isinstance(reply, Fetched), reply
            if not len(reply.batches):
                return found
            for batch in split(reply.batches):
                # A batch may lie partly below the offset asked for, and its bytes belong to the next reader.
                found.extend(one for one in map(_kept, iterate(batch)) if one.offset >= offset)
            offset = reply.next_offset


def _kept(record: Record) -> Record:
    key = None if record.key is None else bytes(record.key)
    value = None if record.value is None else bytes(record.value)
    return Record(record.offset, record.timestamp, key, value, record.headers)
