"""Whoever is in sync, or eligible to lead besides, has all that is acknowledged; and who joins has all there was.

The moments at which that could come to be false are looked at, and no others: when more is shown to readers, when a
log was opened anew or cut, and when it is agreed that others are in sync. Who joins also has what lay in the log when
its leader's term began, acknowledged or not: the leader before may have acknowledged that, and this one has told
nobody how far it goes until then. Whoever leads is in sync, so a leader has all from the moment of its election on.

Where a topic syncs every message, all of that is durable. Where it does not, a machine that has lost its power, or a
disk that has failed, may have less for a while, until that is agreed on: such a replica is passed over until its
process is known to the cluster, or joins those in sync once more.
"""

from goqueue.core.cluster.apply import Placement, Topic
from goqueue.core.cluster.topic_settings import setting
from goqueue.core.requests.messages import Side
from goqueue.fuzz.checkers.checker import Broker, Sight
from goqueue.fuzz.history import Place, Violation
from goqueue.fuzz.insight import agreed_index, agreed_state
from goqueue.fuzz.invariants.acknowledged import Acknowledged, Reach
from goqueue.fuzz.invariants.copies import Copies, Copy, Kind, Mark
from goqueue.fuzz.invariants.invariant import OfCopies

# Who begins anew, or whose disk fails, in the moment in which it joins may have lost again what it had caught up with.
_SETTLED_NS = 1_000_000_000


class InSyncReplicas(OfCopies):
    """Holds the logs of those in sync against what is acknowledged."""

    def __init__(self, sight: Sight, copies: Copies, acknowledged: Acknowledged) -> None:
        super().__init__(sight, copies)
        self._acknowledged = acknowledged
        self._index = 0
        self._placed: dict[Place, Placement] = {}
        self._shaken: set[int] = set()
        # By node: in which life it is, and since when that was seen.
        self._lives: dict[str, tuple[int, int]] = {}
        # By node and topic: how much had happened when its disk failed last, and when that was.
        self._failed: dict[tuple[str, int], tuple[int, int]] = {}
        # By node and place: how often its machine had lost its power, and how much had happened, when it joined.
        self._joined: dict[tuple[str, Place], tuple[int, int]] = {}

    def lost(self, topic_id: int | None) -> None:
        """A failed disk has taken what was not durable of a topic."""
        if topic_id is None:
            return
        self._shaken.add(topic_id)
        for broker in self.sight.processes:
            at, which = self.history.disk_failed_at(broker.node_id, topic_id), (broker.node_id, topic_id)
            if self._failed.get(which, (-1, 0))[0] != at:
                self._failed[which] = at, self.sight.now

    def stepped(self) -> None:
        """Look at what has come to be acknowledged, and at who has come to be in sync."""
        broker = self.sight.stirred
        if not self.sight.is_cluster or broker is None or broker.node is None:
            return
        if self._lives.get(broker.node_id, (0, 0))[0] != broker.disk.life:
            self._lives[broker.node_id] = broker.disk.life, self.sight.now
        for kind, partition in self._acknowledged.advanced:
            topic = self.sight.topics().get(partition.topic)
            if topic is not None and topic.topic_id == kind[0] and kind[1] in topic.placements:
                placement = topic.placements[kind[1]]
                for member in placement.isr:
                    self.judge(topic, kind, member)
        for copy in self.copies.changed:
            if copy.is_anew:
                self._judge_anew(broker.node_id, copy)
        index = agreed_index(broker.node)
        if index > self._index:
            self._index = index
            for topic in self.sight.topics().values():
                for number, placement in topic.placements.items():
                    self._follow(topic, number, placement)

    def _judge_anew(self, member: str, copy: Copy) -> None:
        topic = self.sight.topics().get(copy.stream.split("/")[1])
        if topic is not None and topic.topic_id == copy.kind[0] and copy.kind[1] in topic.placements:
            if member in topic.placements[copy.kind[1]].eligible:
                self.judge(topic, copy.kind, member)

    def ended(self) -> None:
        """At the end all that are in sync have all."""
        for topic in self.sight.topics().values() if self.sight.is_cluster else ():
            for number, placement in topic.placements.items():
                for side in (Side.DATA, *topic.sides):
                    for member in placement.isr:
                        self.judge(topic, (topic.topic_id, number, side), member)

    def _follow(self, topic: Topic, number: int, placement: Placement) -> None:
        """See who is in sync from here on."""
        place = topic.topic_id, number
        known = self._placed.get(place)
        self._placed[place] = placement
        if known is not None and known.version == placement.version:
            return
        for member in placement.isr:
            if known is not None and member not in known.isr:
                self._join(member, place)
        for side in (Side.DATA, *topic.sides):
            for member in placement.eligible:
                self.judge(topic, (*place, side), member)
            if known is not None and known.leader_epoch == placement.leader_epoch and placement.leader:
                for member in placement.isr:
                    if member not in known.isr:
                        self._judge_joining(topic, (*place, side), member, placement)

    def _join(self, member: str, place: Place) -> None:
        """What a replica lost before it joined it has again."""
        broker = self.sight.broker(member)
        life, since = self._lives.get(member, (0, 0))
        _, failed = self._failed.get((member, place[0]), (-1, -_SETTLED_NS))
        if broker is not None and broker.node is not None and broker.disk.life == life:
            if self.sight.now - max(since, failed) >= _SETTLED_NS:
                self._joined[member, place] = broker.boots, self.history.count

    def judge(self, topic: Topic, kind: Kind, member: str, reach: Reach | None = None) -> None:
        """A replica that is in sync has all that is acknowledged, or as much as `reach` says."""
        stream = topic.stream(kind[1], kind[2])
        copy, reach = self.copies.copy(member, kind, stream), reach or self._acknowledged.reach(kind)
        if self._may_lack(kind, copy) or setting(topic.config, "unclean_leader_election"):
            return
        if kind[0] in self.history.given_up:
            return
        lacking = reach.lacking(copy)
        if not lacking and copy is not None and reach.last is not None and self._is_fragile(copy, reach.last):
            lacking = f"what is not durable at {reach.last.base}"
        if lacking:
            what = f"{member} is in sync with {stream}, which is acknowledged up to {reach.end}"
            raise Violation(f"{what}, and has {lacking}")

    def _judge_joining(self, topic: Topic, kind: Kind, member: str, placement: Placement) -> None:
        """A replica that joins has what its leader found when its term began."""
        stream = topic.stream(kind[1], kind[2])
        leading = self.copies.copy(placement.leader, kind, stream)
        copy = self.copies.copy(member, kind, stream)
        if leading is None or leading.compacts or self._may_lack(kind, copy):
            return
        found = [mark for mark in leading.marks if mark.epoch < placement.leader_epoch]
        end = found[-1].next_offset if found else 0
        if copy is None and end > leading.start:
            raise Violation(f"{member} joins those in sync with {stream}, and has nothing")
        if copy is not None and max(copy.end, copy.start) < end:
            what = f"{member} joins those in sync with {stream} with a log that ends at {copy.end}"
            raise Violation(f"{what}, and the term of {placement.leader} began at {end}")

    def _may_lack(self, kind: Kind, copy: Copy | None) -> bool:
        """Whether a replica may have lost what it had: weak promises are kept by memories."""
        if self.history.is_strong(kind[0]):
            return False
        if copy is None:
            return kind[0] in self._shaken
        return self._has_lost(copy.broker, kind)

    def _has_lost(self, broker: Broker, kind: Kind) -> bool:
        """Whether a node may have lost something of a topic since it joined those in sync."""
        boots, count = self._joined.get((broker.node_id, kind[:2]), (0, -1))
        if broker.boots > boots and not self._is_known(broker):
            return True
        return self.history.disk_failed_at(broker.node_id, kind[0]) >= max(count, 0)

    def _is_known(self, broker: Broker) -> bool:
        """Whether it is agreed that this very process runs there: with that it is agreed what it may have lost."""
        options = None if broker.node is None else broker.node.options.cluster
        knowing = self.sight.node()
        node = None if knowing is None else agreed_state(knowing).nodes.get(broker.node_id)
        return options is not None and node is not None and node.incarnation == options.incarnation

    def _is_fragile(self, copy: Copy, last: Mark) -> bool:
        """Whether a batch is not as durable as its topic promises."""
        own = copy.at(last.base)
        if own is None or not self.history.is_strong(copy.kind[0]):
            return False
        return not copy.is_durable(own)
