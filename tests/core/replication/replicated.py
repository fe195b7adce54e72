"""Nodes with one partition between them: real logs on remembered disks, letters in a list, a controller by hand.

A test moves everything itself: turns of nodes, letters, syncs, and what each node has heard of the place.
"""

from attrs import define, evolve, field

from goqueue.core.clock import Clock
from goqueue.core.cluster.apply import Placement
from goqueue.core.cluster.options import ClusterOptions
from goqueue.core.log.config import Fsync, LogConfig
from goqueue.core.log.effects import Cut, Effect, Read, ReadResult, Sync, SyncToken
from goqueue.core.log.log import Log
from goqueue.core.partition.partition import Partition
from goqueue.core.partition.publishing import Publishing
from goqueue.core.partition.recent import RecentBatches
from goqueue.core.ready import Letter
from goqueue.core.records.build import encode
from goqueue.core.records.record import iterate
from goqueue.core.replication.insync import IsrWish
from goqueue.core.replication.replica import Replica
from goqueue.core.replication.replication import Replication
from goqueue.core.replication.roles import demoted, promoted
from goqueue.core.requests.call import Call
from goqueue.core.requests.messages import Acks, Published, Side
from goqueue.core.requests.refusals import Code, Refusal
from tests.core.calls import call
from tests.core.log.batches import WALL_MS, beginning, settings_of, walk
from tests.core.log.remembered_disk import RememberedDisk

TOPIC_ID = 7
STREAMS = {Side.DATA: "logs/orders/0", Side.LEDGER: "logs/orders/0/ledger"}
GONE = Refusal(Code.NOT_LEADER, "another leads")
MS = 1_000_000

FIRST = call(1)


@define(eq=False)
class Site:
    """One node: its disks outlast its process."""

    name: str
    incarnations: dict[str, int]
    config: LogConfig
    options: ClusterOptions
    recent_bytes: int = 1 << 20
    now: int = 0
    disks: dict[str, RememberedDisk] = field(factory=dict)
    streams: dict[Side, Partition | Replica] = field(factory=dict)
    # Syncs that are under way, and letters that nobody has carried away.
    syncs: list[tuple[str, SyncToken]] = field(factory=list)
    letters: list[Letter] = field(factory=list)
    wishes: list[IsrWish] = field(factory=list)
    done: list[Publishing] = field(factory=list)
    # What this node knows of the place, and the incarnations that it has heard of.
    place: Placement | None = None
    heard: dict[str, int] = field(factory=dict)
    replication: Replication = field(init=False)
    recent: RecentBatches = field(init=False)
    # Whether syncs are done at once.
    syncs_at_once: bool = True
    sides: list[Side] = field(factory=lambda: [Side.DATA])
    cuts: list[str] = field(factory=list)
    cuts_at_once: bool = True

    def __attrs_post_init__(self) -> None:
        self.heard = dict(self.incarnations)
        self.start()

    def start(self) -> None:
        """Begin a process: every stream is recovered and followed by nobody."""
        options = evolve(self.options, incarnation=self.incarnations[self.name])
        self.recent = RecentBatches(self.recent_bytes, 1 << 20)
        self.replication = Replication(self.name, options, self.recent, self.heard.get)
        self.syncs, self.letters, self.wishes, self.done, self.cuts = [], [], [], [], []
        self.place = None
        for side in self.sides:
            stream = STREAMS[side]
            if stream in self.disks:
                state = self.disks[stream].recovered(self.config, WALL_MS)
            else:
                self.disks[stream], state = RememberedDisk(), beginning(self.config)
            log = Log(stream, self.config, Clock(0, WALL_MS), state)
            self.streams[side] = Replica("orders", 0, log, side)

    def crash(self, lost_bytes: int = 1 << 30) -> None:
        """The process dies, and what was not synced is lost."""
        for disk in self.disks.values():
            disk.tear(lost_bytes)

    # --- roles

    def see(self, place: Placement, incarnations: dict[str, int], min_isr: int = 1) -> None:
        """Hear what is agreed on."""
        for name, incarnation in incarnations.items():
            if self.heard.get(name) != incarnation:
                self.heard[name] = incarnation
                self.replication.peer_changed(self.now, name)
        self.place = place
        # What its disk is still reading is opened later.
        for side in self.streams:
            if place.leader == self.name:
                self._lead(side, place, min_isr)
            else:
                self._follow(side, place)

    def _lead(self, side: Side, place: Placement, min_isr: int) -> None:
        held = self.streams[side]
        if isinstance(held, Replica):
            self.replication.leave(self.now, held.log.stream)
            held = self.streams[side] = promoted(held, self.recent)
        self.replication.lead(self.now, TOPIC_ID, held, place, min_isr, self.sides)

    def _follow(self, side: Side, place: Placement) -> None:
        held = self.streams[side]
        if isinstance(held, Partition):
            self.replication.leave(self.now, held.log.stream)
            held, done = demoted(held, GONE)
            self.done += done
            self.streams[side] = held
        self.replication.follow(self.now, TOPIC_ID, held, place.leader, place.leader_epoch)

    def log(self, side: Side = Side.DATA) -> Log:
        """The log of one stream."""
        return self.streams[side].log

    def leader(self, side: Side = Side.DATA) -> Partition:
        """A stream that this node leads."""
        held = self.streams[side]
        assert isinstance(held, Partition)
        return held

    def watermark(self, side: Side = Side.DATA) -> int:
        """How far this node knows all to be."""
        return self.streams[side].high_watermark

    # --- publishing

    def publish(self, *values: bytes, acks: Acks = Acks.ALL, asked: Call = FIRST, side: Side = Side.DATA) -> Publishing:
        """Publish a batch to what this node leads."""
        publishing = Publishing(asked, [None], 1, acks is not Acks.NONE, None, acks is Acks.ALL)
        batch = encode([(WALL_MS, None, value, ()) for value in values])
        self.leader(side).publish_batch(self.now, batch, publishing)
        return publishing

    # --- turns

    def turn(self) -> None:
        """What a driver does until nothing more comes of it."""
        replication = self.replication
        deadline = replication.deadline()
        if deadline is not None and deadline <= self.now:
            replication.wake(self.now)
        while True:
            effects = self._take()
            self._perform(effects)
            if effects:
                self._written()
            reads, replication.lanes.reads = replication.lanes.reads, []
            for fetching in reads:
                assert isinstance(fetching.request, Read)
                replication.read_done(self.now, fetching.token, self._fetch(fetching.request))
            if self.syncs_at_once:
                self.sync()
            if self.cuts_at_once:
                self.reopen()
            if not effects and not reads:
                break
        self.letters += replication.lanes.letters
        self.wishes += replication.lanes.wishes
        replication.lanes.letters, replication.lanes.wishes = [], []
        self._settle()
        self.check()

    def _take(self) -> list[Effect]:
        effects: list[Effect] = []
        for held in self.streams.values():
            if isinstance(held, Partition):
                effects += held.take(self.now)
                self.replication.appended(self.now, held)
        return [*effects, *self.replication.take(self.now)]

    def _perform(self, effects: list[Effect]) -> None:
        for effect in effects:
            self.disks[effect.stream].perform([effect])
            if isinstance(effect, Sync):
                self.syncs.append((effect.stream, effect.token))
            elif isinstance(effect, Cut):
                self.cuts.append(effect.stream)

    def _written(self) -> None:
        for held in self.streams.values():
            if isinstance(held, Partition):
                held.written()
                self.replication.advanced(self.now, held)
        self.replication.written(self.now)

    def _fetch(self, read: Read) -> ReadResult:
        batches, next_offset, position = self.disks[read.stream].fetch(read)
        return ReadResult(memoryview(batches), next_offset, position)

    def sync(self) -> None:
        """All syncs under way are done."""
        syncs, self.syncs = self.syncs, []
        for stream, token in syncs:
            held = self._held(stream)
            if token.incarnation == held.log.incarnation:
                self.disks[stream].synced(token)
            if isinstance(held, Partition):
                held.synced(self.now, token)
                self.replication.advanced(self.now, held)
            else:
                self.replication.synced(self.now, stream, token)

    def reopen(self) -> None:
        """All cuts under way are done."""
        cuts, self.cuts = self.cuts, []
        for stream in cuts:
            self.recover(stream)

    def recover(self, stream: str) -> None:
        """A stream comes back from its disk, after a cut or a failure."""
        held = self._held(stream)
        state = self.disks[stream].recovered(self.config, WALL_MS)
        if isinstance(held, Partition):
            held.reopened(self.now, state)
            self.replication.led_failed(self.now, held)
            self.replication.advanced(self.now, held)
        else:
            self.replication.reopened(self.now, stream, state)

    def fail_disk(self, side: Side = Side.DATA, lost_bytes: int = 1 << 30) -> None:
        """A stream's disk fails, and what was not synced may be lost."""
        held, stream = self.streams[side], STREAMS[side]
        self.syncs = [one for one in self.syncs if one[0] != stream]
        self.disks[stream].tear(lost_bytes)
        if isinstance(held, Partition):
            held.disk_failed(self.now, "broken")
            self.replication.led_failed(self.now, held)
        else:
            self.replication.disk_failed(self.now, stream, "broken")

    def _held(self, stream: str) -> Partition | Replica:
        return next(held for held in self.streams.values() if held.log.stream == stream)

    def _settle(self) -> None:
        moved, self.replication.lanes.moved = self.replication.lanes.moved, {}
        for held in [*moved.values(), *self.streams.values()]:
            if isinstance(held, Partition):
                done, held.done = held.done, []
                self.done += done

    def check(self) -> None:
        """Assert every invariant."""
        self.replication.check()
        for held in self.streams.values():
            held.check()

    def stored(self, side: Side = Side.DATA) -> list[tuple[int, bytes]]:
        """Offsets and values of everything on the disk."""
        disk, found = self.disks[STREAMS[side]], []
        for name in sorted(disk.logs):
            content = bytes(disk.logs[name])
            for at, header in walk(content):
                run = memoryview(content)[at : at + header.size]
                base = header.base_offset
                found += [(base + place, bytes(record.value or b"")) for place, record in enumerate(iterate(run))]
        return found


class Cluster:
    """Sites and a controller that does as it is told."""

    def __init__(
        self,
        *names: str,
        fsync: Fsync = Fsync.EVERY,
        min_isr: int = 1,
        recent_bytes: int = 1 << 20,
        sides: tuple[Side, ...] = (Side.DATA,),
        config: LogConfig | None = None,
        options: ClusterOptions | None = None,
    ) -> None:
        self.now = 0
        self.min_isr = min_isr
        self.incarnations = dict.fromkeys(names, 1)
        options = options or ClusterOptions([])
        config = config or settings_of(fsync=fsync)
        self.sites = {
            name: Site(name, self.incarnations, config, options, recent_bytes, sides=[*sides]) for name in names
        }
        self.place = Placement([*names], [*names], "", 0, 0)
        # Letters from these to those are lost.
        self.cut: set[tuple[str, str]] = set()

    def site(self, name: str) -> Site:
        """One node."""
        return self.sites[name]

    def agree(self, leader: str | None = None, isr: list[str] | None = None, *hearers: str) -> None:
        """Another version of the place; a leader that is named begins an epoch. All hear of it, or some."""
        place = self.place
        epoch = place.leader_epoch + (leader is not None)
        self.place = Placement(
            place.replicas, isr if isr is not None else place.isr, place.leader if leader is None else leader, epoch,
            place.version + 1,
        )  # fmt: skip
        self.tell(*hearers)

    def tell(self, *hearers: str) -> None:
        """Let all hear, or some, what is agreed on."""
        for name in hearers or self.sites:
            self.sites[name].see(self.place, self.incarnations, self.min_isr)

    def restart(self, name: str) -> None:
        """A process that died begins anew; nobody has heard of it yet."""
        self.incarnations[name] += 1
        self.sites[name].start()

    def grant(self, name: str) -> None:
        """Agree to what a leader wishes."""
        site = self.sites[name]
        wishes, site.wishes = site.wishes, []
        for wish in wishes:
            if (wish.leader_epoch, wish.version) == (self.place.leader_epoch, self.place.version):
                self.agree(None, wish.isr)

    def deliver(self) -> bool:
        """Carry all letters that are under way, once; False when there were none."""
        letters = [(name, letter) for name, site in self.sites.items() for letter in site.letters]
        for site in self.sites.values():
            site.letters = []
        for sender, letter in letters:
            if (sender, letter.to) not in self.cut:
                self.sites[letter.to].replication.receive(self.now, sender, letter.message)  # type: ignore[arg-type]
        return bool(letters)

    def pump(self, rounds: int = 30) -> None:
        """Turns and letters until nothing is under way at this moment."""
        for _ in range(rounds):
            for site in self.sites.values():
                site.now = self.now
                site.turn()
            if not self.deliver():
                return

    def pass_time(self, span_ms: int, step_ms: int = 50) -> None:
        """Let time go by, with everything that it brings about."""
        for _ in range(span_ms // step_ms):
            self.now += step_ms * MS
            self.pump()

    def settle(self) -> None:
        """Enough time for followers to hear of everything."""
        self.pump()
        self.pass_time(200)


def offsets(publishing: Publishing) -> list[int]:
    """Where the messages of an acknowledged publish went."""
    assert publishing.missing == 0
    return [result.offset for result in publishing.results if isinstance(result, Published)]


def code_of(publishing: Publishing) -> Code:
    """Why a publish was refused."""
    [result] = publishing.results
    assert isinstance(result, Refusal)
    return result.code
