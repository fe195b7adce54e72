"""What befalls a cluster: a list of calamities, drawn from the seed before anything happens.

A calamity has a kind, a moment, a duration and victims. Since the whole list is known beforehand, any of them can be
left out and the rest stays as it was: that is how a smaller world is found which breaks the same promise
(`shrinking.py`). What fails by chance at each operation of a disk is not here but in `trouble.py`.

Any number of nodes may be struck at one time. Safety has to hold all the same; that anything goes on is only promised
once the world is healed.
"""

import errno
from collections.abc import Callable
from functools import partial
from random import Random
from typing import TYPE_CHECKING

from attrs import define

from goqueue.core.cluster.apply import Placement
from goqueue.fuzz.aiming import Aim, drawn_aim
from goqueue.fuzz.faults import OTHER_OPERATIONS, PowerCut
from goqueue.fuzz.insight import agreed_state
from goqueue.fuzz.options import Options
from goqueue.fuzz.post import Link, Weather
from goqueue.fuzz.rehousing import rehouse

if TYPE_CHECKING:
    from goqueue.fuzz.process import Process
    from goqueue.fuzz.world import World

_MS = 1_000_000
_S = 1_000 * _MS
_RIFT_LASTS = 5
# These strike all nodes, or draw those that they strike when the time has come.
_OF_ALL = ("blackout", "rolling", "last", "outpace")
_BROKEN = {"syncs": "sync", "writes": "write", "reads": "read"}


@define
class Calamity:
    """One thing that goes wrong; what else there is to draw is drawn from `luck`."""

    number: int
    at_ns: int
    kind: str
    victims: list[str]
    lasts_ns: int
    luck: int

    def text(self) -> str:
        """The same for people."""
        what = f" ({drawn_aim(self.luck).text()})" if self.kind == "aimed" else ""
        return f"#{self.number} {self.kind} of {','.join(self.victims)} for {self.lasts_ns / _S:.1f} s{what}"


def draw_calamities(random: Random, options: Options, names: list[str]) -> list[Calamity]:
    """All that befalls a world while it is in trouble."""
    drawn: list[Calamity] = []
    at = random.randint(2 * _S, 6 * _S)
    while at < options.seconds * _S and options.calamities:
        kind = random.choice(options.calamities)
        count = random.randint(1, max(len(names) - 1, 1)) if kind == "partition" else 1
        victims = random.sample(names, count) if kind not in _OF_ALL else [*names]
        lasts_ns = int(random.choice(options.calamity_lasts_s) * (0.5 + random.random()) * _S)
        drawn.append(Calamity(len(drawn), at, kind, victims, lasts_ns, random.getrandbits(32)))
        at += int(options.calamity_ns * 2 * random.random())
    return drawn


class Calamities:
    """Brings calamities about, and ends them."""

    def __init__(self, world: "World", calamities: list[Calamity]) -> None:
        self._world = world
        self._calamities = calamities
        self._acts: dict[str, Callable[[Calamity, Process], None]] = {
            "kill": self._die, "crash": self._die, "blackout": self._die, "stop": self._stop, "rolling": self._roll,
            "pause": self._pause, "clock": self._set_clock, "isolate": self._isolate, "rift": self._tear,
            "deafen": self._deafen, "full": self._fill, "slow": self._slow, "syncs": self._break,
            "writes": self._break, "wipe": world.wiping.strike, "refuse": self._refuse,
            "aimed": self._aim, "amid": self._cut_amid, "reads": self._break, "others": self._break,
            "address": self._rehouse, "empty": world.emptying.strike,
        }  # fmt: skip

    def begin(self) -> None:
        """Let all of them come at their time."""
        for calamity in self._calamities:
            self._world.later(calamity.at_ns, self._strike, calamity)

    def _strike(self, calamity: Calamity) -> None:
        world = self._world
        if world.is_healed:
            return
        world.count(f"calamity {calamity.kind}")
        world.note(None, "calamity", calamity.text())
        if calamity.kind == "partition":
            self._part(calamity)
        elif calamity.kind == "last":
            self._strand(calamity)
        elif calamity.kind == "outpace":
            self._outpace(calamity)
        elif calamity.kind == "storm":
            self._storm(calamity)
        else:
            for name in calamity.victims:
                process = world.machine(name)
                assert process is not None
                self._acts[calamity.kind](calamity, process)

    def _later(self, delay_ns: int, act: Callable[[], None]) -> None:
        """Let something end; once the world is healed it has ended already."""
        self._world.later(delay_ns, lambda _: None if self._world.is_healed else act())

    # --- processes

    def _die(self, calamity: Calamity, process: "Process") -> None:
        if process.is_up:
            process.die(crash=calamity.kind != "kill", down_ns=calamity.lasts_ns)

    def _stop(self, calamity: Calamity, process: "Process") -> None:
        if process.is_up:
            process.down_ns = calamity.lasts_ns
            self._end(process)

    def _end(self, process: "Process") -> None:
        ends = process.leave if self._world.options.leaves else process.stop
        process.survive(lambda _: ends(), None)

    def _rehouse(self, calamity: Calamity, process: "Process") -> None:
        """A process ends, and the next one is reached elsewhere; whoever knew only the first node finds that one.

        Before a node is registered others know it by what they were told alone: an operator has to tell them.
        """
        node = self._world.sight.node()
        is_registered = node is not None and process.node_id in agreed_state(node).nodes
        if is_registered and process is not self._world.processes[0]:
            if process.is_up:
                process.die(crash=Random(calamity.luck).random() < 0.5, down_ns=calamity.lasts_ns)
            rehouse(process)

    def _roll(self, calamity: Calamity, process: "Process") -> None:
        """Restart one after another, as for an upgrade."""
        place = calamity.victims.index(process.node_id)
        self._later(place * (2 * _S + calamity.lasts_ns), lambda: self._restart(process))

    def _restart(self, process: "Process") -> None:
        if process.is_up:
            process.down_ns = 200 * _MS
            self._end(process)

    def _strand(self, calamity: Calamity) -> None:
        """Of a partition all replicas but one are killed; that one goes on, loses its power, and is back first."""
        random = Random(calamity.luck)
        place = self._drawn_place(random)
        if place is None:
            return
        last = place.leader or random.choice(place.replicas)
        alone_ns, back_ns = random.choice((1 * _S, 5 * _S, 7 * _S)), random.choice((100 * _MS, calamity.lasts_ns))
        for order, name in enumerate(one for one in place.replicas if one != last):
            away_ns = alone_ns + back_ns + random.choice((0, calamity.lasts_ns)) + order * 500 * _MS
            self._die_later(order * random.choice((0, 500 * _MS)), name, away_ns, crash=False)
        self._die_later(alone_ns, last, back_ns, crash=True)

    def _drawn_place(self, random: Random) -> Placement | None:
        """Draw a partition that has several replicas."""
        topics = self._world.sight.topics()
        placed = [topics[name].placements[number] for name in sorted(topics) for number in topics[name].placements]
        placed = [one for one in placed if len(one.replicas) > 1]
        return random.choice(placed) if placed else None

    def _outpace(self, calamity: Calamity) -> None:
        """A follower is cut off from its leader, which dies about when it asks to go on without the follower."""
        random = Random(calamity.luck)
        place = self._drawn_place(random)
        leader = None if place is None else self._world.machine(place.leader)
        if place is None or leader is None:
            return
        follower = random.choice([one for one in place.replicas if one != place.leader])
        strike = random.choice(("kill", "kill", "crash", "isolate", "pause"))
        aim = Aim("change of an ISR", strike, 0, random.choice((0, 1, 10, 50, 200)), is_anywhere=False)
        self._world.aiming.arm(aim, leader, calamity.lasts_ns, partial(self._isolate, calamity))
        links = [(place.leader, follower), (follower, place.leader)]
        self._world.post.cut(links)
        lasts_ns = 2 * self._world.options.replica_lag_ns + calamity.lasts_ns
        self._later(lasts_ns, lambda: self._world.post.mend(links))

    def _die_later(self, delay_ns: int, name: str, down_ns: int, *, crash: bool) -> None:
        process = self._world.machine(name)
        assert process is not None
        self._later(delay_ns, lambda: process.die(crash=crash, down_ns=down_ns) if process.is_up else None)

    def _pause(self, calamity: Calamity, process: "Process") -> None:
        process.still_until = self._world.now + calamity.lasts_ns

    def _aim(self, calamity: Calamity, process: "Process") -> None:
        """Strike when something next happens."""
        world = self._world
        world.aiming.arm(drawn_aim(calamity.luck), process, calamity.lasts_ns, partial(self._isolate, calamity))

    def _cut_amid(self, calamity: Calamity, process: "Process") -> None:
        """The process, or its machine, ends before an operation of its disk that is soon to come."""
        random, faults = Random(calamity.luck), process.faults
        faults.operations_left = random.randint(0, 60)
        faults.death = PowerCut(crash=random.random() < 0.7, down_ns=calamity.lasts_ns)

    def _set_clock(self, calamity: Calamity, process: "Process") -> None:
        process.wall_skew_ms += Random(calamity.luck).choice((-120_000, -2_000, 2_000, 120_000))

    # --- links

    def _cut(self, calamity: Calamity, links: list[Link]) -> None:
        self._world.post.cut(links)
        self._later(calamity.lasts_ns, lambda: self._world.post.mend(links))

    def _others(self, name: str) -> list[str]:
        return [process.node_id for process in self._world.processes if process.node_id != name]

    def _isolate(self, calamity: Calamity, process: "Process") -> None:
        name = process.node_id
        self._cut(calamity, [link for other in self._others(name) for link in ((name, other), (other, name))])

    def _tear(self, calamity: Calamity, process: "Process") -> None:
        """Two nodes do not reach each other for long, while both reach all others."""
        name, other = process.node_id, Random(calamity.luck).choice(self._others(process.node_id))
        links = [(name, other), (other, name)]
        self._world.post.cut(links)
        self._later(_RIFT_LASTS * calamity.lasts_ns, lambda: self._world.post.mend(links))

    def _deafen(self, calamity: Calamity, process: "Process") -> None:
        """One direction only: it speaks and does not hear, or the other way round; to all, or to one."""
        random, name = Random(calamity.luck), process.node_id
        others = self._others(name)
        chosen = others if random.random() < 0.5 else [random.choice(others)]
        links = [(name, other) for other in chosen]
        self._cut(calamity, links if random.random() < 0.5 else [(there, here) for here, there in links])

    def _refuse(self, calamity: Calamity, process: "Process") -> None:
        """Links of a node are reset, and its port refuses on its behalf: to some others it seems to have ended."""
        random, post, name = Random(calamity.luck), self._world.post, process.node_id
        for other in self._others(name):
            if random.random() < 0.8:
                self._cut(calamity, [(name, other), (other, name)])
                post.deny(name, other, random.randint(0, 1_000 * _MS))

    def _part(self, calamity: Calamity) -> None:
        """Two halves that do not hear each other."""
        here = calamity.victims
        there = [process.node_id for process in self._world.processes if process.node_id not in here]
        self._cut(calamity, [link for one in here for two in there for link in ((one, two), (two, one))])

    def _storm(self, calamity: Calamity) -> None:
        random, post = Random(calamity.luck), self._world.post
        post.weather = Weather(
            random.choice((0.05, 0.3)), random.choice((0.0, 0.3)), random.choice((0, 50 * _MS, 500 * _MS))
        )
        self._later(calamity.lasts_ns, lambda: setattr(post, "weather", Weather()))

    # --- disks

    def _fill(self, calamity: Calamity, process: "Process") -> None:
        disk = process.disk
        disk.conditions.capacity_bytes = disk.used_bytes + Random(calamity.luck).choice((0, 100, 5_000))
        self._later(calamity.lasts_ns, lambda: setattr(disk.conditions, "capacity_bytes", None))

    def _slow(self, calamity: Calamity, process: "Process") -> None:
        conditions = process.disk.conditions
        conditions.p_slow, conditions.slow_ns = 0.5, 1_000 * _MS
        self._later(calamity.lasts_ns, lambda: setattr(conditions, "p_slow", self._world.options.p_slow))

    def _break(self, calamity: Calamity, process: "Process") -> None:
        """Some operations of one kind fail."""
        random = Random(calamity.luck)
        for after in range(0, random.choice((1, 4)) * 3, 3):
            operation = _BROKEN.get(calamity.kind) or random.choice(OTHER_OPERATIONS)
            process.disk.fail_next(operation, errno.EIO, random.choice(("", "logs/", "meta/")), after)
