"""Some nodes in a test's hands, each on a simulated disk that never fails, and a net that loses what it is told to.

Time moves only by `advance`, in steps that end where a node wants to be woken. Between two of them everything that can
happen at once happens: letters are delivered, disks do their work, answers are collected. Nothing is drawn here, so a
test says itself what goes wrong: `cut`, `kill`, `start`.
"""

from collections.abc import Callable
from random import Random

from goqueue.core.broker.node_options import NodeOptions
from goqueue.core.clock import Clock
from goqueue.core.cluster.options import ClusterOptions
from goqueue.core.log.thresholds import OF_BROKERS
from goqueue.core.node import Node
from goqueue.core.requests.call import Caller
from goqueue.core.requests.refusals import Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request
from goqueue.storage.lives import begin_life
from goqueue.storage.node_disk import NodeDisk
from goqueue.storage.simulated import SimulatedDisk
from goqueue.storage.store import Store
from tests.core.log.batches import WALL_MS
from tests.core.seeded_secrets import seeded_secrets

CALLER = Caller("test")
_MS = 1_000_000
_ROUNDS_MAX = 2_000
# So many times in a row somebody may want to be woken at once although there was nothing to do.
_VAIN_MAX = 100


class DrivenMember:
    """One node of a cluster, with its disk, alive or not."""

    thresholds = OF_BROKERS

    def __init__(
        self, node_id: str, founders: list[str], rack: str, recorded: Callable[[Node], Node], *, disk_id: str = ""
    ) -> None:
        self.node_id = node_id
        self.founders = founders
        self.rack = rack
        self.disk = SimulatedDisk(Random(node_id))
        self.disk_id = disk_id or f"disk-of-{node_id}"
        self.disks = 1
        self.incarnation = 0
        # Nobody of these leaves for good.
        self.is_retired = False
        # How often its machine has lost its power.
        self.boots = 0
        self.vain_turns = 0
        self.node: Node | None = None
        self.node_disk: NodeDisk | None = None
        self.answers: dict[int, Reply] = {}
        self.reports: list[str] = []
        self._recorded = recorded

    def start(self, now: int) -> None:
        """A process begins."""
        assert self.node is None
        self.incarnation += 1
        store = Store(self.disk)
        before = begin_life(self.disk, self.incarnation, f"boot-{self.boots}")
        cluster = ClusterOptions(
            self.founders,
            self.rack,
            f"{self.node_id}:7000",
            f"{self.node_id}:8080",
            f"{self.node_id}:9000",
            incarnation=self.incarnation,
            disk_id=self.disk_id,
            whole=before.whole,
            synced=before.lives,
        )
        options = NodeOptions(self.node_id, "1.0", 1, seed=hash_of(self.node_id, self.incarnation), cluster=cluster)
        options.thresholds = self.thresholds
        options.secrets = seeded_secrets(options.seed)
        self.node = self._recorded(Node(options, Clock(now, WALL_MS + now // _MS), now))
        self.node_disk = NodeDisk(self.node, store, self.reports.append)

    def kill(self, *, crash: bool) -> None:
        """The process is gone, and with its machine what was not synced."""
        if crash:
            self.boots += 1
            self.disk.crash()
        else:
            self.disk.kill()
        self.node = self.node_disk = None
        self.answers.clear()

    def wipe(self) -> None:
        """The process is gone, and everything on its disk; what begins here next has an empty folder."""
        assert self.node is None
        self.disks += 1
        self.disk = SimulatedDisk(Random(f"{self.node_id}/{self.disks}"))
        self.disk_id = f"disk-{self.disks}-of-{self.node_id}"


class DrivenCluster:
    """All nodes, what is on its way between them, and the time."""

    def __init__(
        self,
        count: int = 3,
        *,
        founders: list[str] | None = None,
        recorded: Callable[[Node], Node] = lambda node: node,
    ) -> None:
        self.now = 0
        # Puts somebody before a node who takes notes.
        self._recorded = recorded
        names = [f"n{number + 1}" for number in range(count)]
        self.members = {name: DrivenMember(name, founders or names, "", recorded) for name in names}
        self.cuts: set[tuple[str, str]] = set()
        self.letters: list[tuple[str, str, object]] = []
        self.lost = 0
        self._last_to = 0
        for name in names:
            self.start(name)

    # --- what a test does

    def node(self, name: str) -> Node:
        """A node that lives."""
        node = self.members[name].node
        assert node is not None
        return node

    def living(self) -> list[str]:
        """The nodes that live."""
        return [name for name, member in self.members.items() if member.node is not None]

    def add(self, name: str, founders: list[str], rack: str = "") -> None:
        """One more node comes."""
        self.members[name] = DrivenMember(name, founders, rack, self._recorded)
        self.start(name)

    def start(self, name: str) -> None:
        """Start a node, for the first time or again."""
        self.members[name].start(self.now)
        self._turn_all()

    def kill(self, name: str, *, crash: bool = True) -> None:
        """End a node, and its machine or not; its peers are told that their links are gone."""
        self.members[name].kill(crash=crash)
        for other in self.living():
            self.node(other).peer_lost(self.now, name)
        self._turn_all()

    def wipe(self, name: str) -> None:
        """End a node and empty its disk."""
        self.kill(name)
        self.members[name].wipe()

    def meet(self, name: str) -> None:
        """A node and all others get links."""
        for other in self.living():
            if other != name:
                self.node(name).peer_met(self.now, other)
                self.node(other).peer_met(self.now, name)

    def cut(self, one: str, other: str) -> None:
        """From here on letters between two nodes are lost, both ways."""
        self.cuts |= {(one, other), (other, one)}

    def isolate(self, name: str) -> None:
        """From here on all letters from and to a node are lost."""
        for other in self.members:
            if other != name:
                self.cut(name, other)

    def heal(self) -> None:
        """From here on no letter is lost."""
        self.cuts.clear()

    def ask(self, name: str, request: Request) -> int:
        """Hand a request to a node."""
        self._last_to += 1
        self.node(name).ask(self.now, self._last_to, CALLER, request)
        self._turn_all()
        return self._last_to

    def answer(self, name: str, request: Request, within_ms: int = 10_000) -> Reply:
        """The answer to a request, which must come within a time; refusals that pass are asked about again."""
        until = self.now + within_ms * _MS
        while True:
            reply = self._answered(name, self.ask(name, request), until)
            assert self.now < until, f"not answered within {within_ms} ms: {request}, at last {reply}"
            if not (isinstance(reply, Refusal) and reply.retry_after_ms):
                return reply
            self.advance(max(reply.retry_after_ms, 10))

    def _answered(self, name: str, to: int, until: int) -> Reply:
        answers = self.members[name].answers
        self.run(until, lambda: to in answers)
        return answers.pop(to, None)

    def advance(self, milliseconds: int) -> None:
        """Let time pass."""
        self.run(self.now + milliseconds * _MS)

    def until(self, is_so: Callable[[], bool], within_ms: int = 20_000) -> None:
        """Let time pass until something is so, which it must be within a time."""
        self.run(self.now + within_ms * _MS, is_so)
        assert is_so(), f"not so within {within_ms} ms"

    def controller(self) -> str:
        """The node that is controller, by its own opinion; empty while there is none."""
        names = [name for name in self.living() if self.node(name).is_controller]
        return names[0] if len(names) == 1 else ""

    def leader(self, topic: str, partition: int = 0) -> str:
        """Who leads a partition by its own opinion; empty while that is nobody, or not only one."""
        stream = f"logs/{topic}/{partition}"
        names = [name for name in self.living() if stream in self.node(name).led.streams]
        return names[0] if len(names) == 1 else ""

    # --- how it happens

    def run(self, until: int, is_over: Callable[[], bool] = lambda: False) -> None:
        """Let time pass to `until`, or until it is over."""
        self._turn_all()
        vain = 0
        while self.now < until and not is_over():
            dues = [self._due(name) for name in self.living()]
            due = min([until, *(due for due in dues if due is not None)])
            vain = vain + 1 if due <= self.now else 0
            assert vain <= _VAIN_MAX, f"somebody wants to be woken at once, again and again: {dues} at {self.now}"
            self.now = max(self.now + 1, due)
            self._turn_all()

    def _due(self, name: str) -> int | None:
        member = self.members[name]
        assert member.node is not None
        assert member.node_disk is not None
        dues = [due for due in (member.node.deadline(), member.node_disk.deadline()) if due is not None]
        return min(dues, default=None)

    def _turn_all(self) -> None:
        for _ in range(_ROUNDS_MAX):
            stirred = [self._turn(self.members[name]) for name in self.living()]
            letters, self.letters = self.letters, []
            for sender, to, message in letters:
                self._deliver(sender, to, message)
            if not letters and not any(stirred):
                return
        raise AssertionError("the nodes find no rest")

    def _deliver(self, sender: str, to: str, message: object) -> None:
        member = self.members.get(to)
        if (sender, to) in self.cuts or member is None or member.node is None:
            self.lost += 1
        else:
            member.node.receive(self.now, sender, message)

    def _turn(self, member: DrivenMember) -> bool:
        """One turn of a node's driver; False when nothing came of it."""
        node, node_disk = member.node, member.node_disk
        assert node is not None
        assert node_disk is not None
        stirred = False
        node.wake(self.now)
        while ready := node.take(self.now):
            stirred = True
            node_disk.act(self.now, ready)
            member.answers.update({send.to: send.reply for send in ready.sends})
            self.letters += [(member.node_id, letter.to, letter.message) for letter in ready.letters]
        for work in node_disk.take(self.now):
            stirred = True
            work.run()
            node_disk.finish(self.now, work)
        node.check()
        return stirred


def hash_of(name: str, number: int) -> int:
    """A seed that is the same in every process."""
    return int.from_bytes(f"{name}/{number}".encode(), "big")
