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
from collections.abc import Callable, Iterable
from random import Random
from typing import Any

from goqueue.core.calls import Reply, Request
from goqueue.core.clock import Clock
from goqueue.core.groups.verbs import Polled
from goqueue.core.node import Node, NodeOptions
from goqueue.core.records.varint import Readable
from goqueue.core.verbs import Caller, Fetched, PublishReply, Refusal
from goqueue.core.work.verbs import PolledWork
from goqueue.fuzz.checkers import CHECKERS
from goqueue.fuzz.checkers.checker import HEALER, Sight
from goqueue.fuzz.deliveries import Terms
from goqueue.fuzz.faults import Interruptions, PowerCut
from goqueue.fuzz.history import History
from goqueue.fuzz.network import Connection, Network
from goqueue.fuzz.options import Options
from goqueue.fuzz.slices import Slice, Slices
from goqueue.fuzz.trouble import Trouble
from goqueue.fuzz.witness import Witness
from goqueue.fuzz.workloads.admin import Admin
from goqueue.fuzz.workloads.client import Client
from goqueue.fuzz.workloads.consumer import Consumer
from goqueue.fuzz.workloads.eager_member import EagerMember
from goqueue.fuzz.workloads.member import Member
from goqueue.fuzz.workloads.operator import Operator
from goqueue.fuzz.workloads.producer import Producer
from goqueue.fuzz.workloads.scheduler import Scheduler
from goqueue.fuzz.workloads.sequenced import SequencedProducer
from goqueue.fuzz.workloads.undertaker import Undertaker
from goqueue.fuzz.workloads.worker import Worker
from goqueue.storage.capture import Capture
from goqueue.storage.jobs import StreamJob
from goqueue.storage.node_disk import NodeDisk, Opening, Work
from goqueue.storage.simulated import SimulatedDisk
from goqueue.storage.simulated_faults import Conditions
from goqueue.storage.store import Store

_WALL_MS = 1_700_000_000_000
_PAUSE_FIRST_NS, _PAUSE_MOST_NS = 2_000_000, 20_000_000
_CALLER = Caller("simulated")


class World:
    """Everything there is, and the moment it is."""

    def __init__(
        self,
        seed: int,
        options: Options,
        report: Callable[[str], None] | None = None,
        make_capture: Callable[[], Capture] | None = None,
    ) -> None:
        self.seed = seed
        self._report = report
        self._make_capture = make_capture
        self._capture: Capture | None = None
        self.options = options
        self.now = 0
        self.steps = 0
        self.counts: dict[str, int] = {}
        self.disk = SimulatedDisk(self.random("disk"), Conditions(p_cold=options.p_cold, p_slow=options.p_slow))
        self.disk.conditions.reserves = options.reserves
        self.disk.conditions.slow_ns = 50_000_000
        self.faults = Interruptions(self.random("faults"))
        self.disk.faults = self.faults
        self._slices = Slices(self.random("slices"), self.faults)
        self.history = History()
        self.sight = Sight(self.history, self.disk)
        self.checkers = [checker(self.sight) for checker in CHECKERS]
        self.witness = Witness(self.sight, self.checkers)
        self.network = Network(self.random("network"), self, options)
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
        self._inbox: list[tuple[int, Connection | None, Request]] = []
        self._connections: dict[int, Connection] = {}
        self._turn_due: int | None = None
        self._has_metadata = False
        self._is_stirred = False
        self._digest = hashlib.blake2b(digest_size=16)
        self.clients: list[Client] = [Admin("admin", self.random("admin"), options)]
        for kind, cls, count in (
            ("p", Producer, options.producers),
            ("c", Consumer, options.consumers),
            ("s", SequencedProducer, options.sequenced),
            ("m", Member, options.members),
            ("e", EagerMember, options.eager_members),
            ("o", Operator, options.operators),
            ("w", Worker, options.workers),
            ("d", Scheduler, options.schedulers),
            ("u", Undertaker, options.undertakers),
        ):
            self.clients += [cls(f"{kind}{at}", self.random(f"{kind}{at}"), options) for at in range(count)]
        self.sight.clients = self.clients
        for group in (f"w{number}" for number in range(options.shared_groups)):
            terms = Terms(options.visibility_ms * 1_000_000, options.attempts_max, group == "w1")
            self.history.deliveries.terms[group] = terms

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
        assert delay_ns >= 0
        self._serial += 1
        heapq.heappush(self._events, (self.now + delay_ns, self._serial, life, act, argument))

    def close(self) -> None:
        """The world ends."""
        self._slices.close()
        self._end_capture()

    def _end_capture(self) -> None:
        if self._capture is not None:
            self._capture.close()
            self._capture = None

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
        if not life:
            act(argument)
        elif life == self.disk.life and self.sight.node is not None:
            self._live(act, argument)
        return True

    def _live(self, act: Callable[[Any], None], argument: object) -> None:
        """Let something happen in the process, unless trouble ends it first."""
        life = self.disk.life
        self.steps += 1
        if self.trouble is not None:
            self.trouble.strike()
        if self.sight.node is not None and life == self.disk.life:
            self.survive(act, argument)
        self._look()

    def _look(self) -> None:
        """See that every promise is kept; work beside the node changes nothing in it."""
        self._void_what_was_lost()
        if not self._is_stirred:
            return
        self._is_stirred = False
        self.sight.now = self.now
        if self.sight.node is not None:
            self.sight.node.check()
        for checker in self.checkers:
            checker.stepped()

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
        options = NodeOptions(partitions_default=1, recent_bytes=self.options.recent_bytes, seed=self.disk.life)
        node = Node(options, Clock(self.now, self.wall_ms()), self.now)
        if self._make_capture is not None:
            self._capture = self._make_capture()
            node = self._capture.start(node, self.now, self.wall_ms())
        self.node_disk = NodeDisk(
            node, self._store, self._say, pause_first_ns=_PAUSE_FIRST_NS, pause_most_ns=_PAUSE_MOST_NS
        )
        self.sight.node = node
        self._has_metadata = False
        self._note("start", self.disk.life)
        self.count("start")
        self.kick(0)
        for client in self.clients:
            client.patience_until = self.now + 2_000_000
            self.unpark(client)

    def die(self, *, crash: bool) -> None:
        """The process ends without a word; with `crash`, so does the machine."""
        crash = crash or bool(self.faults.unwarned)
        self._slices.end()
        self._end_capture()
        self._void_what_was_lost()
        self._doubtful.clear()
        self.sight.node = self.node_disk = self._store = None
        self._inbox.clear()
        self._connections.clear()
        self.history.died()
        self._turn_due = None
        self.faults.operations_left = None
        self.faults.unwarned.clear()
        if crash:
            self.disk.crash()
            self._void(None)
        else:
            self.disk.kill()
        self._note("crash" if crash else "kill", self.disk.life)
        self.count("crash" if crash else "kill or stop")
        self.network.node_died(silently=crash)
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
            self.count(f"failed {operation}")
            parts = path.split("/")
            if operation == "sync" and parts[0] == "logs":
                self._doubtful.setdefault("/".join(parts[:-1]), False)
                self._void(self.sight.topic_ids().get(parts[1]))
        for stream, was_unsound in list(self._doubtful.items()):
            partition = self.sight.node.led.streams.get(stream) if self.sight.node is not None else None
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
        self._turn_at(self.now + (int(self._schedule.random() * 100_000) if delay_ns is None else delay_ns))

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
        self._is_stirred = True
        self.sight.turned(self.now, self.wall_ms())
        node.clock_moved(self.now, self.sight.wall_ms)
        inbox, self._inbox = self._inbox, []
        for to, connection, request in inbox:
            self._hand_over(node, to, connection, request)
        node.wake(self.now)
        while ready := node.take(self.now):
            node_disk.act(self.now, ready)
            for send in ready.sends:
                self._answer(send.to, send.reply)
        for work in node_disk.take(self.now):
            self.later(self._duration(work), self._run, work, life=self.disk.life)
        if not self._has_metadata and node.has_metadata:
            self._has_metadata = True
            for checker in self.checkers:
                checker.started()
        if self.is_stopping and not node_disk.pending():
            self.die(crash=False)
            return
        dues = [due for due in (node.deadline(), node_disk.deadline()) if due is not None]
        if dues:
            self._turn_at(max(min(dues), self.now + 1_000))
        if self._capture is not None:
            self._capture.turn(self.now, self.wall_ms())

    def _duration(self, work: Work) -> int:
        return self.disk.latency("sync" if isinstance(work, StreamJob) else "read")

    def _run(self, work: Work) -> None:
        if self._schedule.random() < self.options.p_split:
            self._go_on((work, self._slices.begin(work.run)))
        else:
            work.run()
            self.count(f"work {type(work).__name__}")
            self._hand_back(work)

    def _go_on(self, begun: tuple[Work, Slice]) -> None:
        """Do another part of a piece of work."""
        work, piece = begun
        self.count(f"part of work {type(work).__name__}")
        if self._slices.go_on(piece):
            self._hand_back(work)
        else:
            self.later(self._schedule.choice((0, 50_000, 500_000)), self._go_on, begun, life=self.disk.life)

    def _hand_back(self, work: Work) -> None:
        self.later(self._schedule.choice((0, 0, 200_000, 2_000_000)), self._finish, work, life=self.disk.life)

    def _finish(self, work: Work) -> None:
        assert self.node_disk is not None
        self._is_stirred = True
        self.node_disk.finish(self.now, work)
        if isinstance(work, Opening) and work.recovery is not None:
            self.faults.unwarned.pop(work.stream, None)
        self.kick()

    # --- requests

    def _client_asks(self, client: Client) -> None:
        if self.trouble is None and not client.goes_on:
            return
        if self.sight.node is None or self.is_stopping or client.in_flight >= client.in_flight_max:
            client.is_parked = True
            return
        if client.patience_until > self.now:
            self.later(client.patience_until - self.now, self._client_asks, client)
            return
        if not self.network.is_connected(client):
            self.network.connect(client)
        client.now = self.now
        request = client.next_request()
        if request is None:
            self._park(client)
            return
        client.in_flight += 1
        self._last_to += 1
        self.network.send(client, self._last_to, request)
        self.later(client.think_ns(), self._client_asks, client)

    def _park(self, client: Client) -> None:
        """Turn to a client again when there is an answer, or when it wants to look for itself."""
        client.is_parked = True
        idle_ns = client.idle_ns()
        if idle_ns is not None:
            self.later(idle_ns, self.unpark, client)
        else:
            assert client.in_flight > 0, f"{client.name} waits for nothing"

    def unpark(self, client: Client) -> None:
        """A client that had to wait may have something to ask."""
        if client.is_parked:
            client.is_parked = False
            self.later(max(client.think_ns(), client.patience_until - self.now), self._client_asks, client)

    def ask(self, request: Request) -> int:
        """Ask without any network between; the answer is a checker's to see."""
        self._last_to += 1
        self.receive(self._last_to, None, request)
        return self._last_to

    def receive(self, to: int, connection: Connection | None, request: Request) -> None:
        """A request has come to the node's system; its next turn takes it."""
        self._inbox.append((to, connection, request))
        self.kick()

    def forget(self, requests: Iterable[int]) -> None:
        """A connection is gone: nobody waits for these answers, and what was not taken yet never is."""
        gone = set(requests)
        self._inbox = [one for one in self._inbox if one[0] not in gone]
        self.witness.forgotten(gone)
        if self.sight.node is not None:
            for to in sorted(gone):
                self.sight.node.forget(to)

    def _hand_over(self, node: Node, to: int, connection: Connection | None, request: Request) -> None:
        if connection is not None:
            self._connections[to] = connection
        self._note("ask", to, type(request).__name__)
        self.count(f"request {type(request).__name__}")
        self.witness.asked(node, to, HEALER if connection is None else connection.client.name, request)
        node.ask(self.now, to, _CALLER, request)

    def _answer(self, to: int, reply: Reply) -> None:
        self._note("answer", to, _digestible(reply))
        self.witness.answered(to, reply)
        connection = self._connections.pop(to, None)
        if connection is not None:
            self.network.reply(connection, to, reply)

    def deliver(self, client: Client, request: Request, reply: Reply) -> None:
        """An answer has come to whoever asked."""
        self._note("hear", client.name)
        if _is_refused(reply):
            self.count("refusal")
            client.patience_until = self.now + self._schedule.randint(1_000_000, 5_000_000)
        client.now = self.now
        client.answered(request, reply)
        self.unpark(client)

    def count(self, what: str) -> None:
        """Keep count of what happens."""
        self.counts[what] = self.counts.get(what, 0) + 1

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


def _sum(content: Readable) -> str:
    return hashlib.blake2b(content, digest_size=8).hexdigest()


def _digestible(reply: Reply) -> object:
    if isinstance(reply, Fetched):
        return _sum(reply.batches), reply.next_offset, reply.high_watermark
    if isinstance(reply, PolledWork):
        return [(one.topic, one.partition, _sum(one.batches), one.leases) for one in reply.parts]
    if isinstance(reply, Polled):
        return [(one.topic, one.partition, _sum(one.batches), one.first_offset, one.end_offset) for one in reply.parts]
    return reply
