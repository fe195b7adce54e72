"""One broker of a world: its machine with a disk, and the processes that live on it one after another.

A process is the only driver of its node in simulation, as `transports/runtime.py` is the only one in production. Both
hand what touches the disk to `storage/node_disk.py`; where a broker has threads, a process runs each piece of work at
a moment drawn from the seed and hands it back at another, so that turns, other work and deaths come between.

The machine has clocks of its own: one that only goes forward, from anywhere and at nearly the pace of the world, and
one of the wall that is wrong by `wall_skew_ms`. It can stand still: then nothing happens on it, and what is sent to it
waits.

Not here: what is asked of it and by whom (`world.py`), and what goes wrong with it (`trouble.py`, `calamities.py`).
"""

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from attrs import evolve

from goqueue.core.broker.node_options import NodeOptions
from goqueue.core.clock import Clock
from goqueue.core.cluster.options import ClusterOptions
from goqueue.core.node import Node
from goqueue.core.quorum.voter_id import voter_id
from goqueue.core.requests.call import Caller
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request
from goqueue.core.services.secrets import Secrets
from goqueue.fuzz.asker import Asker
from goqueue.fuzz.checkers.checker import HEALER
from goqueue.fuzz.digestible import digestible
from goqueue.fuzz.faults import Interruptions, PowerCut
from goqueue.fuzz.insight import saved_vote
from goqueue.fuzz.slices import Slice, Slices
from goqueue.fuzz.users.front import Front
from goqueue.fuzz.watchdog import Turn
from goqueue.storage.capture import Capture
from goqueue.storage.jobs import StreamJob
from goqueue.storage.lives import begin_life, end_life
from goqueue.storage.node_disk import NodeDisk, Work
from goqueue.storage.simulated import SimulatedDisk
from goqueue.storage.simulated_faults import Conditions
from goqueue.storage.store import Store

if TYPE_CHECKING:
    from goqueue.fuzz.world import World

WALL_MS = 1_700_000_000_000
_PAUSE_FIRST_NS, _PAUSE_MOST_NS = 2_000_000, 20_000_000
_CALLER = Caller("simulated")
_PPM = 1_000_000
# How long a process that is to end waits for others to lead what it leads.
_LEAVING_NS = 5_000_000_000


class Process:
    """A machine, and whichever process lives on it."""

    def __init__(self, world: "World", node_id: str, make_capture: Callable[[str], Capture] | None) -> None:
        options = world.options
        self.node_id = node_id
        self.world = world
        self.disk = SimulatedDisk(
            world.random(f"{node_id}/disk"), Conditions(p_cold=options.p_cold, p_slow=options.p_slow)
        )
        self.disk.conditions.reserves = options.reserves
        self.disk.conditions.slow_ns = 50_000_000
        self.faults = Interruptions(world.random(f"{node_id}/faults"))
        self.disk.faults = self.faults
        self.node: Node | None = None
        self.node_disk: NodeDisk | None = None
        # Whether the process is to end, and whether others are to take over what it leads before it does.
        self.is_stopping = self.is_leaving = False
        # How often its machine has lost its power.
        self.boots = 0
        # A number that no other process of the machine has, in a cluster.
        self.incarnation = 0
        # Whether something has happened to the node that checkers have not looked at.
        self.is_stirred = False
        self.vain_turns = 0
        self.wall_skew_ms = 0
        self.origin_ns = 0
        self.drift_ppm = 0
        self.still_until = 0
        # How long nobody starts another process after one that was stopped; None for a short while.
        self.down_ns: int | None = None
        # Nobody starts a process here before that; never, where a machine is not used yet.
        self.down_until = 0
        # Whether its node has left the cluster for good: nobody starts a process here.
        self.is_retired = False
        # By which name it is reached.
        self.host = node_id
        # Who it belongs to; None for a node that is alone.
        self.cluster: ClusterOptions | None = None
        self._make_capture = make_capture
        self._capture: Capture | None = None
        self._slices = Slices(world.random(f"{node_id}/slices"), self.faults)
        self._schedule = world.random(f"{node_id}/schedule")
        self._store: Store | None = None
        self._inbox: list[tuple[int, Asker | None, Request]] = []
        self._letters: list[tuple[str, object]] = []
        # What was heard of links to peers: a method of the node, and of which peer.
        self._links: list[tuple[str, str]] = []
        self._connections: dict[int, Asker] = {}
        self._turn_due: int | None = None
        self._has_metadata = self._is_full = False
        self._doubtful: dict[str, bool] = {}
        # What serves programs that use the client library, once one has connected.
        self._front: Front | None = None

    @property
    def life(self) -> int:
        """Which process this is of all that have lived here, from 1 on."""
        return self.disk.life

    @property
    def is_up(self) -> bool:
        """Whether a process lives, whatever it is doing."""
        return self.node is not None

    @property
    def front(self) -> Front:
        """The server of the process that lives."""
        if self._front is None:
            self._front = Front(self)
        return self._front

    # --- clocks

    def local_ns(self) -> int:
        """What the machine's monotonic clock shows."""
        now = self.world.now
        return self.origin_ns + now + now * self.drift_ppm // _PPM

    def wall_ms(self) -> int:
        """What its wall clock shows."""
        return WALL_MS + self.world.now // 1_000_000 + self.wall_skew_ms

    def world_ns(self, local_ns: int) -> int:
        """When in the world the monotonic clock shows that much, or a little more."""
        since = local_ns - self.origin_ns
        return since if not self.drift_ppm else since * _PPM // (_PPM + self.drift_ppm) + 1

    # --- lives

    def later(self, delay_ns: int, act: Callable[[Any], None], argument: object = None) -> None:
        """Let something happen if this very process still lives then."""
        self.world.later(delay_ns, act, argument, process=self)

    def start(self, _: object = None) -> None:
        """A process begins; when the disk does not let it, another one will."""
        if self.node is None and not self.is_retired and self.world.now >= self.down_until:
            self.survive(self._begin, None)

    def _begin(self, _: object) -> None:
        self.is_stopping = self.is_leaving = False
        try:
            self._store = Store(self.disk)
        except OSError:
            # What a process leaves that gives up is what a killed one leaves.
            self.disk.kill()
            self._start_later(self._schedule.randint(0, 50_000_000))
            return
        try:
            options = self._options()
        except OSError:
            self._store = None
            self.disk.kill()
            self._start_later(self._schedule.randint(0, 50_000_000))
            return
        node = Node(options, Clock(self.local_ns(), self.wall_ms()), self.local_ns())
        if self._make_capture is not None:
            self._capture = self._make_capture(self.node_id)
            node = self._capture.start(node, self.local_ns(), self.wall_ms())
        self.node_disk = NodeDisk(
            node, self._store, self._say, pause_first_ns=_PAUSE_FIRST_NS, pause_most_ns=_PAUSE_MOST_NS
        )
        self.node = node
        self._has_metadata, self._is_full, self.vain_turns = False, False, 0
        self.world.note(self, "start", self.life)
        self.world.count("start")
        self.kick(0)
        self.world.started(self)

    def _options(self) -> NodeOptions:
        recent_bytes, thresholds = self.world.options.recent_bytes, self.world.options.thresholds()
        # Another source a life, as the operating system would have: nothing may rest on drawing the same again.
        secrets = Secrets(self.world.random(f"secrets/{self.node_id}/{self.life}").randbytes)
        seed, cluster = self.life, None
        if self.cluster is not None:
            self.incarnation = seed = self._schedule.getrandbits(40) + 1
            before = begin_life(self.disk, seed, f"boot-{self.boots}")
            cluster = evolve(self.cluster, incarnation=seed, whole=before.whole, synced=before.lives)
        return NodeOptions(
            self.node_id,
            partitions_default=1,
            recent_bytes=recent_bytes,
            seed=seed,
            secrets=secrets,
            thresholds=thresholds,
            cluster=cluster,
            groups=self.world.options.bounds(),
        )

    def _start_later(self, delay_ns: int) -> None:
        self.down_until = self.world.now + delay_ns
        self.world.later(delay_ns, self.start)

    def survive(self, act: Callable[[Any], None], argument: object) -> None:
        """Do something during which the power may go."""
        try:
            act(argument)
        except PowerCut as cut:
            self.die(crash=cut.crash, down_ns=cut.down_ns)

    def die(self, *, crash: bool, down_ns: int | None = None) -> None:
        """The process ends without a word; with `crash`, so does the machine. Another one starts some time later."""
        self.close()
        self.void_what_was_lost()
        self._doubtful.clear()
        self.node = self.node_disk = self._store = None
        self._inbox.clear()
        self._letters.clear()
        self._links.clear()
        self._connections.clear()
        self.world.history.died(self.node_id, lingers=self.world.sight.is_cluster)
        self._turn_due = None
        self.still_until = 0
        self.faults.spare()
        if crash:
            self.boots += 1
            self.disk.crash()
            self.world.power_lost(self)
        else:
            self.disk.kill()
        self.world.note(self, "crash" if crash else "kill", self.life)
        self.world.count("crash" if crash else "kill or stop")
        self.world.died(self, silently=crash)
        self._start_later(self._schedule.randint(0, 50_000_000) if down_ns is None else down_ns)

    def wipe(self) -> None:
        """The machine gets another disk, and a process begins on it; whatever was on the old one is lost."""
        assert self.node is None
        assert self.cluster is not None
        sight, lost = self.world.sight, voter_id(self.node_id, self.cluster.disk_id)
        sight.lost_votes[lost] = saved_vote(sight.disks.pop(lost))
        self.disk.empty()
        self.world.power_lost(self)
        # Whoever founded alone would do so again: an operator starts it like one that joins.
        founders = self.cluster.founders if len(self.cluster.founders) > 1 else []
        disk_id = f"disk-{self.disk.life}-of-{self.node_id}"
        self.cluster = evolve(self.cluster, disk_id=disk_id, founders=founders)
        sight.disks[voter_id(self.node_id, self.cluster.disk_id)] = self.disk
        self.world.note(self, "wipe", self.life)
        self.world.count("wipe")
        self.down_until = self.world.now
        self.world.later(0, self.start)

    def leave(self) -> None:
        """Ask the process to end in order once others lead what it leads, or when it has waited for that."""
        if self.node is not None and not self.is_stopping and not self.is_leaving:
            self.is_leaving = True
            self.node.leave(self.local_ns())
            self.later(_LEAVING_NS, self.stop)
            self.kick(0)

    def stop(self, _: object = None) -> None:
        """Ask the process to end in order."""
        if self.node is not None and not self.is_stopping:
            self._turn_now()
            self.is_stopping = True
            self.world.network.leaving(self)
            if self._front is not None:
                self._front.leave()
            self.node.close(self.local_ns())
            self._turn_now()

    def retire(self) -> None:
        """Stop the process, and start no other one on this machine."""
        self.is_retired = True
        if self.is_up:
            self.survive(lambda _: self.stop(), None)

    def close(self) -> None:
        """Nothing goes on in the process any more."""
        if self._front is not None:
            self._front.die()
            self._front = None
        self._slices.end()
        if self._capture is not None:
            self._capture.close()
            self._capture = None

    def end(self) -> None:
        """The world ends."""
        self._slices.close()
        self.close()

    def void_what_was_lost(self) -> None:
        """A sync that failed may have lost what a weak topic acknowledged, until the node knows and has recovered."""
        struck, self.faults.struck = self.faults.struck, []
        for operation, path in struck:
            self._say(f"struck: {operation} of {path}")
            self.world.count(f"failed {operation}")
            parts = path.split("/")
            if operation == "sync" and parts[0] == "logs":
                self._doubtful.setdefault("/".join(parts[:-1]), False)
                self.world.void(self, parts[1])
        for stream, was_unsound in list(self._doubtful.items()):
            partition = self.node.led.held(stream) if self.node is not None else None
            self.world.void(self, stream.split("/")[1])
            if partition is None or (was_unsound and partition.log.unsound is None):
                del self._doubtful[stream]
            else:
                self._doubtful[stream] = partition.log.unsound is not None

    @property
    def turn_due(self) -> int | None:
        """When the next turn comes; None while none is to come."""
        return self._turn_due

    def has_in_inbox(self, to: int) -> bool:
        """Whether a request has come that no turn has taken in."""
        return any(one[0] == to for one in self._inbox)

    # --- what comes in

    def receive(self, to: int, connection: Asker | None, request: Request) -> None:
        """A request has come to the machine; the next turn takes it."""
        self._inbox.append((to, connection, request))
        self.kick()

    def take_letter(self, sender: str, letter: object) -> None:
        """A letter of a peer has come to the machine; the next turn takes it."""
        self._letters.append((sender, letter))
        self.kick()

    def hear_of_peer(self, peer: str, *, is_up: bool) -> None:
        """The link to a peer is there, or is there no more."""
        if self.node is not None:
            self._links.append(("peer_met" if is_up else "peer_lost", peer))
            self.kick()

    def hear_of_end(self, peer: str) -> None:
        """All says that a peer's process has ended, whether it has or not."""
        if self.node is not None:
            self._links.append(("peer_gone", peer))
            self.kick()

    def forget(self, gone: set[int]) -> None:
        """Nobody waits for these answers, and what was not taken yet never is."""
        self._inbox = [one for one in self._inbox if one[0] not in gone]
        if self.node is not None:
            for to in sorted(gone):
                self.node.forget(to)

    def _hand_over(self, node: Node, to: int, connection: Asker | None, request: Request) -> None:
        if connection is not None:
            self._connections[to] = connection
        world = self.world
        world.note(self, "ask", to, type(request).__name__)
        world.count(f"request {type(request).__name__}")
        world.witness.asked(self.node_id, to, HEALER if connection is None else connection.name, request)
        if world.watch is not None:
            world.watch.asked(self, to, request)
        node.ask(self.local_ns(), to, _CALLER, request)

    def _answer(self, to: int, reply: Reply) -> None:
        self.world.note(self, "answer", to, digestible(reply))
        self.world.progress.answered(to)
        if self.world.watch is not None:
            self.world.watch.answered(self, to, reply)
        self.world.witness.answered(to, reply)
        connection = self._connections.pop(to, None)
        if connection is not None:
            connection.reply(to, reply)

    # --- turns

    def kick(self, delay_ns: int | None = None) -> None:
        """Let a turn come soon."""
        if self.node is not None:
            self._turn_at(self.world.now + (int(self._schedule.random() * 100_000) if delay_ns is None else delay_ns))

    def _turn_at(self, due: int) -> None:
        if self._turn_due is None or due < self._turn_due:
            self._turn_due = due
            self.later(max(due - self.world.now, 0), self._turn)

    def _turn(self, _: object) -> None:
        if self._turn_due is not None and self._turn_due <= self.world.now:
            self._turn_due = None
            self._turn_now()

    def _turn_now(self) -> None:
        node, node_disk, world, now = self.node, self.node_disk, self.world, self.local_ns()
        assert node is not None
        assert node_disk is not None
        self.is_stirred = True
        world.sight.turned(world.now, self.wall_ms(), min(one.wall_ms() for one in world.processes))
        node.clock_moved(now, self.wall_ms())
        self._tell_of_room(node, now)
        is_vain = not (self._letters or self._links or self._inbox)
        if self._letters or self._links:
            self._read_letters(node, now)
        inbox, self._inbox = self._inbox, []
        for to, connection, request in inbox:
            self._hand_over(node, to, connection, request)
        node.wake(now)
        turn = Turn(self.node_id)
        while ready := node.take(now):
            is_vain = False
            turn.taken()
            node_disk.act(now, ready)
            for send in ready.sends:
                self._answer(send.to, send.reply)
            world.post.send_all(self, ready.letters)
            if ready.is_last:
                due = node.deadline()
                assert (due is not None and due <= now) or not node.take(now), "more was there to be taken"
                break
        for work in node_disk.take(now):
            self.later(self._duration(work), self._run, work)
        world.post.follow(self)
        if not self._has_metadata and node.has_metadata:
            self._has_metadata = True
            for checker in world.checkers:
                checker.started()
        if self.is_leaving and node.has_left and not node.is_controller:
            self.later(0, self.stop)
        if self.is_stopping and not node_disk.pending():
            self._end_in_order(node_disk)
            self.die(crash=False, down_ns=self.down_ns)
            return
        dues = [due for due in (node.deadline(), node_disk.deadline()) if due is not None]
        self.vain_turns = self.vain_turns + 1 if is_vain and min(dues, default=now + 1) <= now else 0
        if dues:
            self._turn_at(max(self.world_ns(min(dues)), world.now + 1_000))
        if self._capture is not None:
            self._capture.turn(now, self.wall_ms())

    def _tell_of_room(self, node: Node, now: int) -> None:
        """Whoever looks at the disk from time to time says that it is full before writes fail, or is not any more."""
        is_full = self.world.options.watches_room and self.disk.conditions.capacity_bytes is not None
        if is_full is not self._is_full:
            self._is_full = is_full
            node.disk_room(now, is_full)

    def _end_in_order(self, node_disk: NodeDisk) -> None:
        """What a broker does last."""
        if self.cluster is not None and node_disk.is_whole:
            with suppress(OSError):
                end_life(self.disk)

    def _read_letters(self, node: Node, now: int) -> None:
        """What peers have written, and what became of the links to them."""
        links, self._links = self._links, []
        for verb, peer in links:
            getattr(node, verb)(now, peer)
        letters, self._letters = self._letters, []
        self.world.post.taken(self)
        for sender, letter in letters:
            self.world.witness.read(self.node_id, sender, letter)
            node.receive(now, sender, letter)

    def _duration(self, work: Work) -> int:
        return self.disk.latency("sync" if isinstance(work, StreamJob) else "read")

    def _run(self, work: Work) -> None:
        if self.world.trouble is not None:
            self.world.trouble.before_work(self, work)
        if self._schedule.random() < self.world.options.p_split:
            self._go_on((work, self._slices.begin(work.run)))
        else:
            work.run()
            self.world.count(f"work {type(work).__name__}")
            self._hand_back(work)

    def _go_on(self, begun: tuple[Work, Slice]) -> None:
        """Do another part of a piece of work."""
        work, piece = begun
        self.world.count(f"part of work {type(work).__name__}")
        if self._slices.go_on(piece):
            self._hand_back(work)
        else:
            self.later(self._schedule.choice((0, 50_000, 500_000)), self._go_on, begun)

    def _hand_back(self, work: Work) -> None:
        self.later(self._schedule.choice((0, 0, 200_000, 2_000_000)), self._finish, work)

    def _finish(self, work: Work) -> None:
        assert self.node_disk is not None
        self.is_stirred = True
        for checker in self.world.overseers:
            checker.worked(self, work)
        self.node_disk.finish(self.local_ns(), work)
        self.kick()

    def _say(self, line: str) -> None:
        self.world.say(self, line)
