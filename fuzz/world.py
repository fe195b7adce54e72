"""One world: brokers on simulated machines, their clients, and everything that goes wrong, all from one seed.

Time is a number that jumps from event to event. Each part of the world draws from a generator of its own, made from
the seed and the part's name, so that switching one thing off leaves the others as they were. A run has two phases:
first anything in the options may happen, and nothing may be lost that was promised; then nothing fails any more, and
all has to come to rest, healed (`healing.py`). Not here: what one broker does (`process.py`).
"""

import hashlib
import heapq
from collections.abc import Callable, Iterable
from random import Random
from typing import Any, Protocol

from goqueue.core.requests.messages import PublishReply
from goqueue.core.requests.refusals import Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request
from goqueue.fuzz.aiming import Aiming
from goqueue.fuzz.calamities import Calamities, Calamity, draw_calamities
from goqueue.fuzz.checkers import CHECKERS
from goqueue.fuzz.checkers.checker import Checker, Sight
from goqueue.fuzz.deliveries import Terms
from goqueue.fuzz.emptying import Emptying
from goqueue.fuzz.founding import found_cluster
from goqueue.fuzz.growing import Growing
from goqueue.fuzz.history import History, Violation
from goqueue.fuzz.invariants import invariants
from goqueue.fuzz.network import Network
from goqueue.fuzz.options import Options
from goqueue.fuzz.post import Post
from goqueue.fuzz.process import Process
from goqueue.fuzz.progress import Progress
from goqueue.fuzz.scribing.scribe import Scribe
from goqueue.fuzz.trouble import Trouble
from goqueue.fuzz.users.handed import Handed
from goqueue.fuzz.users.laborer import Laborer
from goqueue.fuzz.users.program import Program
from goqueue.fuzz.users.publisher import Publisher
from goqueue.fuzz.users.reader import Reader
from goqueue.fuzz.users.wires import Wires as ProgramWires
from goqueue.fuzz.watchdog import Watchdog
from goqueue.fuzz.wiping import Wiping
from goqueue.fuzz.wires.wires import Wires
from goqueue.fuzz.witness import Witness
from goqueue.fuzz.workloads.admin import Admin
from goqueue.fuzz.workloads.client import Client
from goqueue.fuzz.workloads.consumer import Consumer
from goqueue.fuzz.workloads.eager_member import EagerMember
from goqueue.fuzz.workloads.hostile import Hostile
from goqueue.fuzz.workloads.library import LibraryProducer
from goqueue.fuzz.workloads.meddler import Meddler
from goqueue.fuzz.workloads.member import Member
from goqueue.fuzz.workloads.operator import Operator
from goqueue.fuzz.workloads.petitioner import Petitioner
from goqueue.fuzz.workloads.producer import Producer
from goqueue.fuzz.workloads.scheduler import Scheduler
from goqueue.fuzz.workloads.sequenced import SequencedProducer
from goqueue.fuzz.workloads.steward import Steward
from goqueue.fuzz.workloads.undertaker import Undertaker
from goqueue.fuzz.workloads.visitor import Visitor
from goqueue.fuzz.workloads.worker import Worker
from goqueue.storage.capture import Capture

_KINDS: tuple[tuple[str, type[Client], str], ...] = (
    ("p", Producer, "producers"), ("c", Consumer, "consumers"), ("s", SequencedProducer, "sequenced"),
    ("m", Member, "members"), ("e", EagerMember, "eager_members"), ("o", Operator, "operators"),
    ("a", Steward, "stewards"), ("w", Worker, "workers"), ("d", Scheduler, "schedulers"),
    ("u", Undertaker, "undertakers"), ("l", LibraryProducer, "library"), ("h", Hostile, "hostiles"),
    ("v", Visitor, "visitors"), ("x", Meddler, "meddlers"), ("q", Petitioner, "petitioners"),
)  # fmt: skip
"""Clients by the first letter of their names, and the option that says how many there are."""


_PROGRAMS: tuple[tuple[str, type[Program], str], ...] = (
    ("x", Publisher, "publishers"), ("r", Reader, "readers"), ("b", Laborer, "laborers"),
)  # fmt: skip
"""Programs that use the client library, likewise."""

# Where a cluster has no leader for a while, clients ask again some hundred milliseconds later.
_HASTE = 100


# The invariants of a node are looked at after each turn of one that is alone, and after some of one among others, whose
# turns are many and cheap.
_CHECKED_EACH = 16


class Watcher(Protocol):
    """Who looks on to tell people later, and changes nothing."""

    def begin(self, world: "World") -> None:
        """The world that is watched."""

    def noted(self, process: Process | None, what: tuple[object, ...]) -> None:
        """Something happened that belongs to the fingerprint of the world."""

    def asked(self, process: Process, to: int, request: Request) -> None:
        """A node was asked."""

    def answered(self, process: Process, to: int, reply: Reply) -> None:
        """A node answered."""

    def looked(self, process: Process) -> None:
        """Something has happened to a node."""


class World:
    """Everything there is, and the moment it is."""

    def __init__(
        self,
        seed: int,
        options: Options,
        report: Callable[[str], None] | None = None,
        make_capture: Callable[[str], Capture] | None = None,
    ) -> None:
        self.seed = seed
        self._report = report
        self.watch: Watcher | None = None
        self.watchdog = Watchdog()
        self.scribe = Scribe(seed, options, lambda: self.now)
        self.options = options
        self.now = 0
        self.steps = 0
        self.counts: dict[str, int] = {}
        self.history = History()
        self.sight = Sight(self.history)
        self.checkers = [*(checker(self.sight) for checker in CHECKERS), *invariants(self.sight)]
        self.overseers = [checker for checker in self.checkers if type(checker).worked is not Checker.worked]
        self._lookers = [checker for checker in self.checkers if type(checker).stepped is not Checker.stepped]
        self.witness = Witness(self.sight, self.checkers)
        self.wires = Wires(self, options) if options.wire or options.peer_bytes else None
        self.network = Network(self.random("network"), self, options) if self.wires is None else self.wires.network()
        self.chance = Trouble(self.random("trouble"), self)
        self.trouble: Trouble | None = self.chance
        self._schedule = self.random("schedule")
        self._haste = 1 if options.nodes == 1 else _HASTE
        self._events: list[tuple[int, int, Process | None, int, Callable[[Any], None], Any]] = []
        self._serial = 0
        self._last_to = 0
        self._looks = 0
        self._digest = hashlib.blake2b(digest_size=16)
        self.processes = [Process(self, f"node-{number + 1}", make_capture) for number in range(options.nodes)]
        self.sight.processes = self.processes
        self._named = {process.node_id: process for process in self.processes}
        self.post = Post(self.random("post"), self, options) if self.wires is None else self.wires.post()
        self.wiping = Wiping(self, self.random("wiping"))
        self.emptying = Emptying(self, self.random("emptying"))
        self.growing = Growing(self, self.random("growing")) if options.grows else None
        self.progress = Progress(self)
        self.aiming = Aiming(self)
        self.calamities: list[Calamity] = []
        if options.nodes > 1:
            found_cluster(self)
            names = [process.node_id for process in self.processes]
            drawn = draw_calamities(self.random("calamities"), options, names)
            self.calamities = [calamity for calamity in drawn if calamity.number not in options.spared]
        if options.is_calm:
            self.sight.calm_since = 0
        self._gather_people(options)
        for group in (f"w{number}" for number in range(options.shared_groups)):
            terms = Terms(options.visibility_ms * 1_000_000, options.attempts_max, group == "w1")
            self.history.deliveries.terms[group] = terms

    def _gather_people(self, options: Options) -> None:
        """Make whoever asks: clients, and programs that use the client library."""
        self.clients: list[Client] = [Admin("admin", self.random("admin"), options)]
        for kind, cls, counted in _KINDS:
            names = [f"{kind}{at}" for at in range(getattr(options, counted))]
            self.clients += [cls(name, self.random(name), options) for name in names]
        self.clients = [client for client in self.clients if client.name not in options.without]
        self.sight.clients = self.clients
        self.program_wires = ProgramWires(self.random("wires"), self)
        self.handed = self.sight.handed = Handed(self)
        self.users: list[Program] = []
        for kind, program, counted in _PROGRAMS:
            names = [f"{kind}{at}" for at in range(getattr(options, counted))]
            self.users += [program(self, name, self.random(name)) for name in names]
        self.sight.users = self.users
        self.sight.counts = self.counts

    def random(self, part: str) -> Random:
        """The generator of one part of the world."""
        return Random(f"{self.seed}/{part}")

    @property
    def digest(self) -> str:
        """A fingerprint of all that was asked and answered: the same for the same seed, whatever the machine."""
        return self._digest.hexdigest()

    def present(self) -> list[Process]:
        """The processes of nodes that have not left for good, whether they live or not."""
        return [process for process in self.processes if not process.is_retired]

    def living(self) -> list[Process]:
        """The processes that can be asked."""
        return [process for process in self.processes if process.is_up and not process.is_stopping]

    # --- events

    def later(
        self, delay_ns: int, act: Callable[[Any], None], argument: object = None, *, process: Process | None = None
    ) -> None:
        """Let something happen; with a process, only there, and only if it still lives."""
        assert delay_ns >= 0
        self._serial += 1
        life = 0 if process is None else process.life
        heapq.heappush(self._events, (self.now + delay_ns, self._serial, process, life, act, argument))

    def close(self) -> None:
        """The world ends."""
        if self.wires is not None:
            self.wires.close()
        for user in self.users:
            user.end()
        for process in self.processes:
            process.end()

    @property
    def is_healed(self) -> bool:
        """Whether nothing is to go wrong any more."""
        return self.trouble is None

    def machine(self, node_id: str) -> Process | None:
        """The machine of a node."""
        return self._named.get(node_id)

    def machine_at(self, host: str) -> Process | None:
        """The machine that is reached by a name at this moment."""
        return next((process for process in self.processes if process.host == host), None)

    def begin(self) -> None:
        """The first processes start and the clients wake up."""
        for process in self.processes:
            self.later(process.down_until, process.start)
        Calamities(self, self.calamities).begin()
        if self.growing is not None:
            self.growing.begin()
        for client in self.clients:
            self.later(client.think_ns(), self._client_asks, client)
        self.program_wires.begin()
        for user in self.users:
            user.begin()

    def step(self, until: int | None = None) -> bool:
        """Let the next thing happen; False when nothing is left, or nothing before `until`."""
        if not self._events or (until is not None and self._events[0][0] > until):
            self.now = max(self.now, until or 0)
            return False
        at, _, process, life, act, argument = heapq.heappop(self._events)
        self.now = max(self.now, at)
        self.watchdog.event(self.now, process, act)
        if process is None:
            act(argument)
        elif life == process.life and process.is_up:
            if process.still_until > self.now:
                self.later(process.still_until - self.now, act, argument, process=process)
            else:
                self._live(process, act, argument)
        return True

    def _live(self, process: Process, act: Callable[[Any], None], argument: object) -> None:
        """Let something happen in a process, unless trouble ends it first."""
        life = process.life
        self.steps += 1
        if self.trouble is not None:
            self.trouble.strike(process)
        if process.is_up and life == process.life:
            process.survive(act, argument)
        self._look(process)

    def _look(self, process: Process) -> None:
        """See that every promise is kept; work beside the node changes nothing in it."""
        process.void_what_was_lost()
        if not process.is_stirred:
            return
        process.is_stirred = False
        self.sight.stir(self.now, process)
        if self.watch is not None:
            self.watch.looked(process)
        self._looks += 1
        if process.node is not None and (len(self.processes) == 1 or self._looks % _CHECKED_EACH == 0):
            process.node.check()
        for checker in self._lookers:
            checker.stepped()
        self.progress.look()
        self.aiming.looked(process)

    def started(self, process: Process) -> None:
        """A process has begun: whoever waited for one may ask."""
        if self.wires is not None:
            self.wires.started(process)
        self.network.started(process)
        self.post.started(process)
        self.program_wires.node_started(process)
        for client in self.clients:
            if len(self.processes) == 1:
                client.patience_until = self.now + 2_000_000
            self.unpark(client)

    def died(self, process: Process, *, silently: bool) -> None:
        """A process is gone."""
        if self.wires is not None:
            self.wires.died(process, silently=silently)
        self.network.node_died(process, silently=silently)
        self.program_wires.node_died(process, silently=silently)
        self.post.died(process, silently=silently)

    def heal(self) -> None:
        """From here on nothing goes wrong, and everything that stands still or is down goes on."""
        self.trouble = None
        self.network.heal()
        self.program_wires.heal()
        self.post.heal()
        self.aiming.heal()
        if self.growing is not None:
            self.growing.heal()
        for process in self.processes:
            process.faults.clear()
            process.disk.conditions.capacity_bytes = None
            process.disk.conditions.p_slow = 0.0
            process.still_until = 0
            process.down_until = min(process.down_until, self.now)
            if process.is_leaving:
                # Nobody waits for it to end when all is to be well.
                process.survive(process.stop, None)
            self.later(0, process.start)

    def void(self, process: Process | None, name: str | None) -> None:
        """What a topic promised that promises little is not promised any more; None for all topics.

        In a cluster it is promised as long as others have it than the one whose disk failed.
        """
        topic_id = None if name is None else self.sight.topic_ids().get(name)
        if process is not None and topic_id is not None and self.sight.is_cluster:
            self.history.disk_failed(process.node_id, topic_id)
        else:
            self.history.void(topic_id)
        for checker in self.checkers:
            checker.lost(topic_id)

    def power_lost(self, process: Process) -> None:
        """A machine has lost what it had in memory: a weak promise holds as far as other nodes have the message."""
        if not self.sight.is_cluster:
            self.void(None, None)
            return
        self.history.power_lost(process.node_id)
        for checker in self.checkers:
            checker.lost(None)

    # --- requests

    def next_to(self) -> int:
        """The number of another request."""
        self._last_to += 1
        return self._last_to

    def _client_asks(self, client: Client) -> None:
        if self.trouble is None and not client.goes_on:
            return
        if not self.living() or client.in_flight >= client.in_flight_max:
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
        self.scribe.asked(client.name, request)
        self.network.send(client, self.next_to(), request)
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
        self.next_to()
        living = self.living()
        if not living:
            raise Violation(f"nothing fails, and no process lives that could be asked: {request}"[:500])
        living[self._last_to % len(living)].receive(self._last_to, None, request)
        return self._last_to

    def forget(self, process: Process, requests: Iterable[int]) -> None:
        """A connection is gone: nobody waits for these answers."""
        gone = set(requests)
        self.witness.forgotten(gone)
        process.forget(gone)

    def deliver(self, client: Client, request: Request, reply: Reply) -> None:
        """An answer has come to whoever asked."""
        self.note(None, "hear", client.name)
        self.scribe.answered(request, reply)
        if _is_refused(reply):
            self.count("refusal")
            client.patience_until = self.now + self._schedule.randint(1_000_000, 5_000_000) * self._haste
            if len(self.processes) > 1 and self._schedule.random() < 0.3:
                # Another node may be more obliging.
                self.network.hang_up(client)
        client.now = self.now
        self.progress.heard(client, request, reply)
        client.answered(request, reply)
        self.unpark(client)

    def count(self, what: str) -> None:
        """Keep count of what happens."""
        self.counts[what] = self.counts.get(what, 0) + 1

    def note(self, process: Process | None, *what: object) -> None:
        """Something happened that belongs to the fingerprint of the world."""
        line = repr((self.now, what))
        self._digest.update(line.encode())
        if self.watch is not None:
            self.watch.noted(process, what)
        self.say(process, line)

    def say(self, process: Process | None, line: str) -> None:
        """Tell whoever watches."""
        if self._report is not None:
            who = "" if process is None or len(self.processes) == 1 else f"{process.node_id}: "
            self._report(f"{self.now / 1e6:.3f} ms: {who}{line}"[:400])


def _is_refused(reply: Reply) -> bool:
    results = reply.results if isinstance(reply, PublishReply) else [reply]
    return all(isinstance(result, Refusal) for result in results)
