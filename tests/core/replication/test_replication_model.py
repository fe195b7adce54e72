"""Nodes at random: letters lost, late and doubled, processes and disks that fail, leaders that change, all from a seed.

What holds whatever happens: logs are equal up to what their nodes take for acknowledged; what readers are shown never
goes back; what was acknowledged is never lost while one of those in sync keeps its memory. When all is well again,
everybody has everything.
"""

from random import Random

import pytest
from attrs import define, field

from goqueue.core.cluster.options import ClusterOptions
from goqueue.core.log.config import Fsync
from goqueue.core.partition.partition import Partition
from goqueue.core.partition.publishing import Publishing
from goqueue.core.ready import Letter
from goqueue.core.requests.messages import Acks, Published, Side
from tests.core.log.batches import settings_of
from tests.core.replication.replicated import MS, STREAMS, Cluster, Site

NAMES = "abc"


@define(eq=False)
class World:
    """A cluster at the mercy of chance."""

    random: Random
    fsync: Fsync
    cluster: Cluster = field(init=False)
    letters: list[tuple[int, str, Letter]] = field(factory=list)
    # What each node is to hear of the place, and when.
    tidings: list[tuple[int, str]] = field(factory=list)
    down: dict[str, int] = field(factory=dict)
    failed: dict[tuple[str, str], int] = field(factory=dict)
    published: list[tuple[str, Side, bytes, Publishing]] = field(factory=list)
    acknowledged: dict[tuple[Side, int], bytes] = field(factory=dict)
    shown: dict[Side, int] = field(factory=dict)
    is_calm: bool = False
    is_quiet: bool = False
    count: int = 0

    def __attrs_post_init__(self) -> None:
        random = self.random
        config = settings_of(fsync=self.fsync, segment_bytes=random.choice([600, 5_000, 1 << 20]))
        options = ClusterOptions([], replica_lag_ns=2_000 * MS, request_ns=60_000 * MS)
        sides = (Side.DATA, Side.LEDGER) if random.random() < 0.3 else (Side.DATA,)
        recent_bytes = random.choice([0, 500, 1 << 20])
        self.cluster = Cluster(*NAMES, config=config, options=options, sides=sides, recent_bytes=recent_bytes)
        self.cluster.agree("a")
        for site in self.sites():
            site.syncs_at_once = site.cuts_at_once = False

    def sites(self) -> list[Site]:
        """Those whose process runs."""
        return [site for name, site in self.cluster.sites.items() if name not in self.down]

    # --- the controller

    def agree(self, leader: str | None, isr: list[str]) -> None:
        """Agree on something, of which each node hears in its own time."""
        cluster, place = self.cluster, self.cluster.place
        epoch = place.leader_epoch + (leader is not None)
        name = place.leader if leader is None else leader
        cluster.place = type(place)(place.replicas, isr, name, epoch, place.version + 1)
        for hearer in NAMES:
            late = 0 if self.is_calm else self.random.choice([0, 0, 20, 300])
            self.tidings.append((cluster.now + late * MS, hearer))

    def elect(self) -> None:
        """Another leader, or the same in another epoch, from those in sync."""
        place = self.cluster.place
        live = [one for one in place.isr if one not in self.down]
        if live:
            self.agree(self.random.choice(live), place.isr)

    def expel(self, name: str) -> None:
        """A node has died or begun anew: it leaves those in sync, if there is another."""
        place = self.cluster.place
        rest = [one for one in place.isr if one != name]
        live = [one for one in rest if one not in self.down]
        if not rest:
            if name not in self.down:
                self.agree(name, [name])
        elif name in place.isr and name == place.leader:
            self.agree(live[0] if live else "", rest)
        elif name in place.isr:
            self.agree(None, rest)
        elif not place.leader and live:
            self.agree(live[0], place.isr)

    def grant(self) -> None:
        """Consider what leaders wish."""
        for site in self.sites():
            wishes, site.wishes = site.wishes, []
            for wish in wishes:
                place = self.cluster.place
                if (wish.leader_epoch, wish.version, site.name) != (place.leader_epoch, place.version, place.leader):
                    continue
                if any(one in self.down for one in wish.isr if one not in place.isr):
                    continue
                if any(self.cluster.incarnations[one] != number for one, number in wish.incarnations.items()):
                    continue
                if wish.resigns:
                    live = [one for one in wish.isr if one not in self.down]
                    self.agree(live[0] if live else "", wish.isr)
                else:
                    self.agree(None, wish.isr)

    def hear(self) -> None:
        """Let nodes hear what is agreed on, as far as it has come to them."""
        due = [name for at, name in self.tidings if at <= self.cluster.now]
        self.tidings = [one for one in self.tidings if one[0] > self.cluster.now]
        for name in dict.fromkeys(due):
            if name not in self.down:
                self.cluster.sites[name].now = self.cluster.now
                self.cluster.tell(name)

    # --- faults

    def kill(self, name: str) -> None:
        """A process dies; on a machine that goes with it, what was not synced is lost."""
        if name in self.down:
            return
        others = [one for one in self.cluster.place.isr if one != name and one not in self.down]
        if self.fsync is not Fsync.EVERY and not others:
            return
        self.cluster.sites[name].crash(self.random.choice([0, 50, 1 << 30]))
        self.down[name] = self.cluster.now + self.random.randrange(50, 2_000) * MS
        self.failed = {place: at for place, at in self.failed.items() if place[0] != name}
        self.published = [one for one in self.published if one[0] != name]
        self.expel(name)

    def revive(self) -> None:
        """Processes begin anew, which others hear of."""
        for name, at in list(self.down.items()):
            if at <= self.cluster.now:
                del self.down[name]
                self.cluster.restart(name)
                site = self.cluster.sites[name]
                site.syncs_at_once = site.cuts_at_once = self.is_calm
                self.expel(name)
                self.tidings += [(self.cluster.now, hearer) for hearer in NAMES]

    def fail_disk(self, name: str) -> None:
        """A stream's disk fails for a while; only where the mode promises to survive that."""
        if self.fsync is not Fsync.EVERY or name in self.down:
            return
        site = self.cluster.sites[name]
        side = self.random.choice(site.sides)
        if site.streams[side].log.unsound is None and STREAMS[side] not in site.cuts:
            site.fail_disk(side, self.random.choice([0, 100, 1 << 30]))
            self.failed[name, STREAMS[side]] = self.cluster.now + self.random.randrange(1_500) * MS

    def repair(self) -> None:
        """Disks that failed come back."""
        for (name, stream), at in list(self.failed.items()):
            if at <= self.cluster.now:
                del self.failed[name, stream]
                self.cluster.sites[name].recover(stream)

    # --- work

    def publish(self) -> None:
        """Publish to whoever takes itself for the leader."""
        for site in self.sites():
            for side in site.sides:
                if isinstance(site.streams[side], Partition) and self.random.random() < 0.4:
                    self.count += 1
                    value = b"%d " % self.count + bytes(self.random.choice([0, 10, 300]))
                    acks = self.random.choice([Acks.ALL, Acks.ALL, Acks.LEADER])
                    publishing = site.publish(value, acks=acks, side=side)
                    if acks is Acks.ALL:
                        self.published.append((site.name, side, value, publishing))

    def turn(self) -> None:
        """One turn of everybody; letters go on their way."""
        random, now = self.random, self.cluster.now
        for site in self.sites():
            site.now = now
            if self.is_calm or random.random() < 0.5:
                site.sync()
            if self.is_calm or random.random() < 0.3:
                site.reopen()
            site.turn()
            for letter in site.letters:
                for _ in range(self._copies()):
                    late = 0 if self.is_calm else random.choice([0, 1, 1, 5, 60, 900])
                    self.letters.append((now + late * MS, site.name, letter))
            site.letters = []

    def _copies(self) -> int:
        return 1 if self.is_calm else self.random.choice([0, 1, 1, 1, 1, 1, 1, 2])

    def deliver(self) -> None:
        """Letters come in any order; those to the dead are lost."""
        due = [one for one in self.letters if one[0] <= self.cluster.now]
        self.letters = [one for one in self.letters if one[0] > self.cluster.now]
        if not self.is_calm:
            self.random.shuffle(due)
        for _, sender, letter in due:
            if letter.to not in self.down:
                site = self.cluster.sites[letter.to]
                site.replication.receive(self.cluster.now, sender, letter.message)  # type: ignore[arg-type]

    def step(self) -> None:
        """A little time, and what comes in it."""
        random, cluster = self.random, self.cluster
        cluster.now += random.choice([1, 5, 20, 100]) * MS
        if not self.is_calm:
            chance = random.random()
            if chance < 0.01:
                self.kill(random.choice(NAMES))
            elif chance < 0.02:
                self.elect()
            elif chance < 0.03:
                self.fail_disk(random.choice(NAMES))
            elif chance < 0.04:
                one, other = random.sample(NAMES, 2)
                for site, peer in ((one, other), (other, one)):
                    if site not in self.down:
                        cluster.sites[site].replication.peer_lost(cluster.now, peer)
        self.revive()
        self.repair()
        self.hear()
        if not self.is_quiet:
            self.publish()
        self.turn()
        self.deliver()
        self.grant()
        self.look()

    # --- what holds

    def look(self) -> None:
        """Hold everything against what must be."""
        self._look_at_answers()
        for site in self.sites():
            for side, held in site.streams.items():
                if isinstance(held, Partition) and self._leads(site) and held.is_settled:
                    assert held.high_watermark >= self.shown.get(side, 0), "what readers are shown went back"
                    self.shown[side] = held.high_watermark
        if self.random.random() < 0.03:
            self._compare()

    def _leads(self, site: Site) -> bool:
        """Whether a node's epoch is the newest; one that was replaced shows less, and its tenure has run out."""
        return site.place is not None and site.place.leader_epoch == self.cluster.place.leader_epoch

    def _look_at_answers(self) -> None:
        waiting = []
        for name, side, value, publishing in self.published:
            [result] = publishing.results
            if isinstance(result, Published):
                known = self.acknowledged.setdefault((side, result.offset), value)
                assert known == value, "two messages were acknowledged at one offset"
            elif result is None:
                waiting.append((name, side, value, publishing))
        self.published = waiting

    def _compare(self) -> None:
        for side in self.cluster.sites["a"].sides:
            sound = [site for site in self.sites() if site.streams[side].log.unsound is None]
            logs = {site.name: dict(site.stored(side)) for site in sound}
            for site in sound:
                for other in sound:
                    limit = min(_sure(site, side), _sure(other, side))
                    mine = {offset: one for offset, one in logs[site.name].items() if offset < limit}
                    theirs = {offset: one for offset, one in logs[other.name].items() if offset < limit}
                    assert mine == theirs, f"{site.name} and {other.name} differ below {limit}"
            self._look_for_loss(side, logs)

    def _look_for_loss(self, side: Side, logs: dict[str, dict[int, bytes]]) -> None:
        """Whoever may be elected has all that was acknowledged."""
        for site in self.sites():
            is_in = site.name in self.cluster.place.isr and site.heard == self.cluster.incarnations
            held = site.streams[side]
            if is_in and held.log.unsound is None and held.written_offset == held.log.next_offset:
                for (of, offset), value in self.acknowledged.items():
                    if of is side:
                        assert logs[site.name].get(offset) == value, f"{site.name} has lost offset {offset}"

    def calm(self) -> None:
        """Nothing fails any more."""
        self.is_calm = True
        self.down = dict.fromkeys(self.down, 0)
        self.failed = dict.fromkeys(self.failed, 0)
        for site in self.cluster.sites.values():
            site.syncs_at_once = site.cuts_at_once = True
        self.revive()
        if not self.cluster.place.leader:
            self.elect()
        for _ in range(200):
            self.step()
        self.is_quiet = True
        for _ in range(60):
            self.step()
        self._compare()


def _sure(site: Site, side: Side) -> int:
    """How far a node takes messages for acknowledged that it has written."""
    held = site.streams[side]
    return min(held.high_watermark, held.written_offset)


@pytest.mark.parametrize("fsync", [Fsync.EVERY, Fsync.NONE])
@pytest.mark.parametrize("seed", range(8))
def test_whatever_fails_what_was_acknowledged_stays_and_all_come_together_again(seed: int, fsync: Fsync) -> None:
    world = World(Random(seed), fsync)
    for _ in range(300):
        world.step()
    world.calm()
    cluster = world.cluster
    assert sorted(cluster.place.isr) == [*NAMES]
    assert world.acknowledged
    assert not world.published, "every publish is answered"
    for side in cluster.sites["a"].sides:
        stored = cluster.sites["a"].stored(side)
        assert stored == cluster.sites["b"].stored(side) == cluster.sites["c"].stored(side)
