"""One world: a node on a simulated disk, its clients, and everything that goes wrong, all from one seed.

The world is the only driver of a node in simulation, as `transports/runtime.py` is the only one in production. Both
hand what touches the disk to `storage/node_disk.py`; where a broker has threads, a world runs each piece of work at
a moment drawn from the seed and hands it back at another, so that turns, other work and deaths come between.

Time is a number that jumps from event to event. Each part of the world draws from a generator of its own, made from
the seed and the part's name, so that switching one thing off leaves the others as they were. A run has two phases:
first anything in the options may happen, and nothing may be lost that was promised; then nothing fails any more, and
all has to come to rest, healed (`healing.py`).
"""

import hashlib
import heapq
from collections.abc import Callable
from random import Random
from typing import Any

from goqueue.core.clock import Clock
from goqueue.core.cluster.topic_settings import log_config
from goqueue.core.log.config import UNLIMITED
from goqueue.core.node import Node, NodeOptions
from goqueue.core.verbs import (
    Caller,
    Code,
    DeleteTopic,
    Fetched,
    Publish,
    PublishBatch,
    Published,
    PublishReply,
    Refusal,
    Reply,
    Request,
)
from goqueue.fuzz.checkers import CHECKERS
from goqueue.fuzz.checkers.checker import Sight
from goqueue.fuzz.faults import Interruptions, PowerCut
from goqueue.fuzz.history import Asked, History, Message, Violation
from goqueue.fuzz.options import Options
from goqueue.fuzz.trouble import Trouble
from goqueue.fuzz.workloads.admin import Admin
from goqueue.fuzz.workloads.client import Client
from goqueue.fuzz.workloads.consumer import Consumer
from goqueue.fuzz.workloads.producer import Producer
from goqueue.storage.jobs import StreamJob
from goqueue.storage.node_disk import NodeDisk, Work
from goqueue.storage.simulated import SimulatedDisk
from goqueue.storage.simulated_faults import Conditions
from goqueue.storage.store import Store

_FINAL = (Code.INVALID, Code.TOO_LARGE, Code.CORRUPT_BATCH, Code.PARTITION_NOT_FOUND)
_WALL_MS = 1_700_000_000_000
_PAUSE_FIRST_NS, _PAUSE_MOST_NS = 2_000_000, 20_000_000
_CALLER = Caller("simulated")


class World:
    """Everything there is, and the moment it is."""

    def __init__(self, seed: int, options: Options, report: Callable[[str], None] | None = None) -> None:
        self.seed = seed
        self._report = report
        self.options = options
        self.now = 0
        self.steps = 0
        self.acknowledged = 0
        self.disk = SimulatedDisk(self.random("disk"), Conditions(p_cold=options.p_cold, p_slow=options.p_slow))
        self.disk.conditions.reserves = options.reserves
        self.disk.conditions.slow_ns = 50_000_000
        self.faults = Interruptions(self.random("faults"))
        self.disk.faults = self.faults
        self.history = History()
        self.sight = Sight(self.history, self.disk)
        self.checkers = [checker(self.sight) for checker in CHECKERS]
        self.node_disk: NodeDisk | None = None
        self.trouble: Trouble | None = Trouble(self.random("trouble"), self)
        self.wall_skew_ms = 0
        self._doubtful: dict[str, bool] = {}
        self.is_stopping = False
        self._store: Store | None = None
        self._schedule = self.random("schedule")
        self._events: list[tuple[int, int, int, Callable[[Any], None], Any]] = []
        self._serial = 0
        self._last_to = 0
        self._inbox: list[tuple[int, Client | None, Request]] = []
        self._askers: dict[int, Client] = {}
        self._turn_due: int | None = None
        self._has_metadata = False
        self._digest = hashlib.blake2b(digest_size=16)
        self.clients: list[Client] = [Admin("admin", self.random("admin"), options)]
        for kind, cls, count in (("p", Producer, options.producers), ("c", Consumer, options.consumers)):
            self.clients += [cls(f"{kind}{at}", self.random(f"{kind}{at}"), options) for at in range(count)]

    def random(self, part: str) -> Random:
        """The generator of one part of the world."""
        return Random(f"{self.seed}/{part}")

    @property
    def digest(self) -> str:
        """A fingerprint of all that was asked and answered: the same for the same seed, whatever the machine."""
        return self._digest.hexdigest()

    def wall_ms(self) -> int:
        """What the wall clock shows."""
        return _WALL_MS + self.now // 1_000_000 + self.wall_skew_ms

    # --- events

    def later(self, delay_ns: int, act: Callable[[Any], None], argument: object = None, *, life: int = 0) -> None:
        """Let something happen; with a life, only if that process still lives."""
        self._serial += 1
        heapq.heappush(self._events, (self.now + delay_ns, self._serial, life, act, argument))

    def begin(self) -> None:
        """The first process starts and the clients wake up."""
        self.later(0, self.start)
        for client in self.clients:
            self.later(client.think_ns(), self._client_asks, client)

    def step(self, until: int | None = None) -> bool:
        """Let the next thing happen; False when nothing is left, or nothing before `until`."""
        if not self._events or (until is not None and self._events[0][0] > until):
            self.now = max(self.now, until or 0)
            return False
        at, _, life, act, argument = heapq.heappop(self._events)
        self.now = max(self.now, at)
        if not self._is_alive(life):
            return True
        self.steps += 1
        if self.trouble is not None:
            self.trouble.strike()
        if self._is_alive(life):
            self.survive(act, argument)
        if life:
            self._look()
        return True

    def _look(self) -> None:
        """See that every promise is kept; what happens outside a process changes nothing in it."""
        self._void_what_was_lost()
        if self.sight.node is not None:
            self.sight.node.check()
        for checker in self.checkers:
            checker.stepped()

    def _is_alive(self, life: int) -> bool:
        return not life or (self.sight.node is not None and life == self.disk.life)

    def survive(self, act: Callable[[Any], None], argument: object) -> None:
        """Do something during which the power may go."""
        try:
            act(argument)
        except PowerCut:
            self.die(crash=True)

    # --- processes

    def start(self, _: object = None) -> None:
        """A process begins; when the disk does not let it, another one will."""
        assert self.sight.node is None
        self.is_stopping = False
        try:
            self._store = Store(self.disk)
        except OSError:
            # What a process leaves that gives up is what a killed one leaves.
            self.disk.kill()
            self.later(self._schedule.randint(0, 50_000_000), self.start)
            return
        node = Node(NodeOptions(partitions_default=1), Clock(self.now, self.wall_ms()), self.now)
        self.node_disk = NodeDisk(
            node, self._store, self._say, pause_first_ns=_PAUSE_FIRST_NS, pause_most_ns=_PAUSE_MOST_NS
        )
        self.sight.node = node
        self._has_metadata = False
        self._note("start", self.disk.life)
        self.kick(0)
        for client in self.clients:
            client.patience_until = self.now + 2_000_000
            self._unpark(client)

    def die(self, *, crash: bool) -> None:
        """The process ends without a word; with `crash`, so does the machine."""
        self._void_what_was_lost()
        self._doubtful.clear()
        self.sight.node = self.node_disk = self._store = None
        self._inbox.clear()
        self._askers.clear()
        self.history.open.clear()
        self._turn_due = None
        self.faults.operations_left = None
        if crash:
            self.disk.crash()
            self._void(None)
        else:
            self.disk.kill()
        self._note("crash" if crash else "kill", self.disk.life)
        for client in self.clients:
            client.broker_died()
        self.later(self._schedule.randint(0, 50_000_000), self.start)

    def stop(self) -> None:
        """Ask the process to end in order."""
        node, node_disk = self.sight.node, self.node_disk
        if node is not None and node_disk is not None and not self.is_stopping:
            self._turn_now()
            self.is_stopping = True
            node.close(self.now)
            self._turn_now()

    def _void_what_was_lost(self) -> None:
        """A sync that failed may have lost what a weak topic acknowledged, until the node knows and has recovered."""
        struck, self.faults.struck = self.faults.struck, []
        for operation, path in struck:
            self._say(f"struck: {operation} of {path}")
            parts = path.split("/")
            if operation == "sync" and parts[0] == "logs":
                self._doubtful.setdefault("/".join(parts[:3]), False)
                self._void(self.sight.topic_ids().get(parts[1]))
        for stream, was_unsound in list(self._doubtful.items()):
            partition = self.sight.node._streams.get(stream) if self.sight.node is not None else None
            self._void(self.sight.topic_ids().get(stream.split("/")[1]))
            if partition is None or (was_unsound and partition.log.unsound is None):
                del self._doubtful[stream]
            else:
                self._doubtful[stream] = partition.log.unsound is not None

    def _void(self, topic_id: int | None) -> None:
        self.history.void(topic_id)
        for checker in self.checkers:
            checker.lost(topic_id)

    # --- turns

    def kick(self, delay_ns: int | None = None) -> None:
        """Let a turn come soon."""
        self._turn_at(self.now + (self._schedule.randint(0, 100_000) if delay_ns is None else delay_ns))

    def _turn_at(self, due: int) -> None:
        if self._turn_due is None or due < self._turn_due:
            self._turn_due = due
            self.later(max(due - self.now, 0), self._turn, life=self.disk.life)

    def _turn(self, _: object) -> None:
        if self._turn_due is not None and self._turn_due <= self.now:
            self._turn_due = None
            self._turn_now()

    def _turn_now(self) -> None:
        node, node_disk = self.sight.node, self.node_disk
        assert node is not None
        assert node_disk is not None
        node.clock.moved(self.now, self.wall_ms())
        inbox, self._inbox = self._inbox, []
        for to, client, request in inbox:
            self._hand_over(node, to, client, request)
        node.wake(self.now)
        while ready := node.take(self.now):
            node_disk.act(self.now, ready)
            for send in ready.sends:
                self._answer(send.to, send.reply)
        for work in node_disk.take(self.now):
            self.later(self._duration(work), self._run, work, life=self.disk.life)
        if not self._has_metadata and node._metadata is not None:
            self._has_metadata = True
            for checker in self.checkers:
                checker.started()
        if self.is_stopping and not node_disk.pending():
            self.die(crash=False)
            return
        dues = [due for due in (node.deadline(), node_disk.deadline()) if due is not None]
        if dues:
            self._turn_at(max(min(dues), self.now + 1_000))

    def _duration(self, work: Work) -> int:
        return self.disk.latency("sync" if isinstance(work, StreamJob) else "read")

    def _run(self, work: Work) -> None:
        work.run()
        self.later(self._schedule.choice((0, 0, 200_000, 2_000_000)), self._finish, work, life=self.disk.life)

    def _finish(self, work: Work) -> None:
        assert self.node_disk is not None
        self.node_disk.finish(self.now, work)
        self.kick()

    # --- requests

    def _client_asks(self, client: Client) -> None:
        if self.trouble is None:
            return
        if self.sight.node is None or self.is_stopping or client.in_flight >= client.in_flight_max:
            client.is_parked = True
            return
        if client.patience_until > self.now:
            self.later(client.patience_until - self.now, self._client_asks, client)
            return
        client.in_flight += 1
        self.ask(client, client.next_request())
        self.later(client.think_ns(), self._client_asks, client)

    def _unpark(self, client: Client) -> None:
        if client.is_parked:
            client.is_parked = False
            self.later(max(client.think_ns(), client.patience_until - self.now), self._client_asks, client)

    def ask(self, client: Client | None, request: Request) -> int:
        """Put a request on its way."""
        self._last_to += 1
        self._inbox.append((self._last_to, client, request))
        self.kick()
        return self._last_to

    def _hand_over(self, node: Node, to: int, client: Client | None, request: Request) -> None:
        topic = getattr(request, "topic", getattr(request, "name", None))
        topic_id = self.sight.topic_ids().get(topic) if topic is not None else None
        if topic_id is not None:
            self._learn(node, str(topic), topic_id)
        asked = Asked(to, client.name if client is not None else "healer", request, topic_id)
        self.history.asked(asked)
        if isinstance(request, DeleteTopic) and topic_id is not None:
            self.history.doomed(topic_id)
        if client is not None:
            self._askers[to] = client
        for checker in self.checkers:
            checker.asked(asked)
        self._note("ask", to, type(request).__name__)
        node.ask(self.now, to, _CALLER, request)
        if client is not None and self._schedule.random() < self.options.p_forget:
            asked.is_forgotten = True
            node.forget(to)
            client.in_flight -= 1
            del self._askers[to]
            self._unpark(client)

    def _learn(self, node: Node, topic: str, topic_id: int) -> None:
        """What a topic promises is in its settings, from the beginning to the end."""
        if topic_id not in self.history.fsyncs:
            config = log_config(node._topics[topic].topic.config)
            self.history.fsyncs[topic_id] = config.fsync
            self.history.retained[topic_id] = config.retention_ms != UNLIMITED or config.retention_bytes != UNLIMITED

    def _answer(self, to: int, reply: Reply) -> None:
        self._note("answer", to, _digestible(reply))
        asked = self.history.open.pop(to, None)
        if asked is None:
            raise Violation(f"request {to} was answered twice, or never asked: {reply}"[:500])
        self._take_note(asked, reply)
        for checker in self.checkers:
            checker.answered(asked, reply)
        client = self._askers.pop(to, None)
        if client is not None:
            client.in_flight -= 1
            if _is_refused(reply):
                client.patience_until = self.now + self._schedule.randint(1_000_000, 5_000_000)
            client.answered(asked.request, reply)
            self._unpark(client)

    def _take_note(self, asked: Asked, reply: Reply) -> None:
        """Enter what an answer promises into the history."""
        request = asked.request
        if isinstance(request, Publish) and isinstance(reply, PublishReply):
            for message, result in zip(asked.messages, reply.results, strict=True):
                self._message_answered(message, result, 0)
        elif isinstance(request, PublishBatch) and isinstance(reply, PublishReply):
            for place, message in enumerate(asked.messages):
                self._message_answered(message, reply.results[0], place)

    def _message_answered(self, message: Message, result: Published | Refusal, place: int) -> None:
        if isinstance(result, Refusal):
            message.is_refused = result.code in _FINAL
        elif message.topic_id is None:
            raise Violation(f"{message.name!r} was taken for a topic that does not exist")
        else:
            self.acknowledged += 1
            self.history.acknowledged(message, (message.topic_id, result.partition), result.offset + place)

    def _note(self, *what: object) -> None:
        line = repr((self.now, what))
        self._digest.update(line.encode())
        self._say(line)

    def _say(self, line: str) -> None:
        if self._report is not None:
            self._report(f"{self.now / 1e6:.3f} ms: {line}"[:400])


def _is_refused(reply: Reply) -> bool:
    results = reply.results if isinstance(reply, PublishReply) else [reply]
    return all(isinstance(result, Refusal) for result in results)


def _digestible(reply: Reply) -> object:
    if isinstance(reply, Fetched):
        return hashlib.blake2b(reply.batches, digest_size=8).hexdigest(), reply.next_offset, reply.high_watermark
    return reply
