"""Replication in one node: the streams that it follows and those it leads, and a session with every other node.

The node tells which streams it leads or follows whenever that is agreed on anew, hands over letters, and says what its
disk did; it takes what is to be written, read and sent. Nothing here opens a log or decides who leads.

A batch that is appended is sent in the same turn to whoever waits for it, before it is on any disk: every log syncs on
its own, and a message is acknowledged when all in sync have said that they have. What a follower has taken is asked
for no more only when the driver has written it, so what is on its way is bounded by one answer a session.

Letters of another process than the one that is agreed to run under a node's name are not heeded: what a process knew
to be written may be lost with it.

Invariants: a stream is led, followed, or neither; every stream that is led or followed has one place, which no other
has.
"""

from collections.abc import Callable, Iterable, Sequence

from goqueue.core.cluster.apply import Placement
from goqueue.core.cluster.options import ClusterOptions
from goqueue.core.errors import BatchError
from goqueue.core.log.effects import Effect, ReadResult, SyncToken, TimeResult
from goqueue.core.log.log import LogState, LogUnsound
from goqueue.core.partition.partition import Partition
from goqueue.core.partition.recent import RecentBatches
from goqueue.core.ready import Letter
from goqueue.core.replication.counts import ReplicationCounts
from goqueue.core.replication.lanes import Lanes
from goqueue.core.replication.messages import (
    Pull,
    Pulled,
    PulledPart,
    ReplicationMessage,
    Verdict,
)
from goqueue.core.replication.pulling import PAUSE_FIRST_NS, Followed, Place, Pulling
from goqueue.core.replication.replica import Replica
from goqueue.core.replication.sanity import demand_sane
from goqueue.core.replication.sources import Sources
from goqueue.core.requests.cluster import CatchingUp
from goqueue.core.requests.messages import Side


class Replication:
    """All of a node's dealings with replicas; see the module."""

    def __init__(
        self,
        node_id: str,
        options: ClusterOptions,
        recent: RecentBatches,
        incarnation_of: Callable[[str], int | None],
    ) -> None:
        self.node_id = node_id
        self._options = options
        self._incarnation_of = incarnation_of
        self.lanes = Lanes()
        self.counts = ReplicationCounts()
        self._places: dict[str, Place] = {}
        self._sources = Sources(node_id, options, recent, self.lanes, self.counts, self._places)
        # What is followed.
        self._followed: dict[Place, Followed] = {}
        # What of that nobody leads.
        self._leaderless: dict[Place, None] = {}
        self._pullings: dict[str, Pulling] = {}
        self._touched: dict[Place, Replica] = {}
        self._writing: dict[Place, Replica] = {}

    def bar(self, now: int, nodes: Iterable[str]) -> None:
        """From here on these nodes and no others are not asked for as members of an ISR."""
        self._sources.bar(now, frozenset(nodes))

    # --- roles

    def lead(
        self,
        now: int,
        topic_id: int,
        partition: Partition,
        placement: Placement,
        min_isr: int,
        sides: Sequence[Side] = (Side.DATA,),
    ) -> None:
        """A stream is led here, by this agreement; one that was followed is left before.

        `sides` are all streams that the partition has, whether they are open yet or not.
        """
        place = topic_id, partition.number, partition.side
        assert place not in self._followed
        self._settle_place(partition.log.stream, place)
        self._sources.lead(now, place, partition, placement, min_isr, sides)

    def follow(self, now: int, topic_id: int, replica: Replica, leader: str, leader_epoch: int) -> None:
        """A stream is followed; one that was led is left before. Nobody leads it where `leader` is empty."""
        place = topic_id, replica.number, replica.side
        assert place not in self._sources.led
        self._settle_place(replica.log.stream, place)
        known = self._followed.get(place)
        if known is not None and known.replica is replica:
            if leader_epoch < known.epoch or (known.leader == leader and known.epoch == leader_epoch):
                return
        if known is not None:
            self._unfollow(known)
        followed = self._followed[place] = Followed(place, replica, leader, leader_epoch)
        if leader:
            self._leaderless.pop(place, None)
        else:
            self._leaderless[place] = None
        self._touched[place] = replica
        if leader and leader != self.node_id:
            self._pulling(leader).add(followed)

    def _settle_place(self, stream: str, place: Place) -> None:
        known = self._places.setdefault(stream, place)
        assert known == place

    def _pulling(self, leader: str) -> Pulling:
        pulling = self._pullings.get(leader)
        if pulling is None:
            pulling = self._pullings[leader] = Pulling(leader, self._options.incarnation)
        return pulling

    def _unfollow(self, followed: Followed) -> None:
        pulling = self._pullings.get(followed.leader)
        if pulling is not None and followed.place in pulling.parts:
            pulling.remove(followed.place)

    def leave(self, now: int, stream: str) -> None:
        """A stream is neither led nor followed any more, or changes its role."""
        place = self._places.pop(stream, None)
        if place is None:
            return
        followed = self._followed.pop(place, None)
        self._leaderless.pop(place, None)
        if followed is not None:
            self._unfollow(followed)
        self._touched.pop(place, None)
        self._writing.pop(place, None)
        self._sources.leave(place, stream)

    def leaderless(self) -> list[Replica]:
        """The logs of messages here that nobody leads."""
        return [self._followed[place].replica for place in self._leaderless if place[2] is Side.DATA]

    def touched(self) -> list[Replica]:
        """The followed streams that `take` will look at, whether or not there is anything to be written."""
        return [*self._touched.values()]

    # --- letters

    def receive(self, now: int, sender: str, message: ReplicationMessage) -> None:
        """Take a letter of a peer. Raises ProtocolError for one that cannot be meant, and makes nothing of it."""
        demand_sane(message)
        if isinstance(message, Pulled):
            self._pulled(now, sender, message)
        elif message.incarnation != self._incarnation_of(sender):
            if isinstance(message, Pull):
                self._sources.disown(sender, message)
        elif isinstance(message, Pull):
            self._sources.pull(now, sender, message)
        else:
            self._sources.kept(now, sender, message)

    def peer_lost(self, now: int, peer: str) -> None:
        """What was under way to a peer, or from it, is lost."""
        pulling = self._pullings.get(peer)
        if pulling is not None:
            pulling.broke(now)
        self._sources.hang_up(peer)

    def peer_changed(self, now: int, peer: str) -> None:
        """Another process runs under a peer's name: what the one before said does not count."""
        self._sources.peer_changed(now, peer)

    # --- what followers hear

    def _pulled(self, now: int, sender: str, pulled: Pulled) -> None:
        pulling = self._pullings.get(sender)
        if pulling is None or not pulling.answered(now, pulled.session, pulled.round, is_known=pulled.is_known):
            return
        for part in pulled.parts:
            followed = pulling.takes(part)
            if followed is not None:
                self._take_part(now, pulling, followed, part)

    def _take_part(self, now: int, pulling: Pulling, followed: Followed, part: PulledPart) -> None:
        replica, place = followed.replica, followed.place
        if part.verdict is Verdict.NOT_LED:
            pulling.retry(now, followed)
            return
        try:
            if part.verdict is Verdict.GOES_ON:
                self._append(now, replica, part)
            else:
                self._cut(now, replica, part)
        except BatchError:
            # It came damaged, or lies so on the leader's disk: what was sound before it has been taken.
            self.counts.refused_batches += 1
            self._touched[place] = replica
            pulling.retry(now, followed)
        except LogUnsound:
            return
        else:
            followed.pause_ns = PAUSE_FIRST_NS
            if part.runs or part.verdict is not Verdict.GOES_ON:
                pulling.changed(place)
                self._touched[place] = replica
        # While logs differ, how far all are in the leader's says nothing of what is here.
        goes_on = part.verdict is Verdict.GOES_ON
        if goes_on and replica.heard(now, part.high_watermark, part.start_offset, part.end_offset):
            self._touched[place] = replica

    def _append(self, now: int, replica: Replica, part: PulledPart) -> None:
        self.counts.batches_in += replica.replicate(now, part.runs, part.leader_epoch)
        self.counts.bytes_in += sum(map(len, part.runs))

    def _cut(self, now: int, replica: Replica, part: PulledPart) -> None:
        log = replica.log
        replica.leader_start = part.start_offset
        found = log.epochs.end_offset(part.epoch, log.next_offset) if part.verdict is Verdict.DIVERGED else None
        if found is not None:
            epoch, end = found
            at = min(end, part.at) if epoch == part.epoch else end
            if log.start_offset <= at < log.next_offset:
                self.counts.truncations += 1
                replica.cut(now, at)
                return
        # Nothing of what is here is known to be the leader's.
        at = part.at if part.verdict is Verdict.RESTART else part.start_offset
        if log.start_offset != at or log.next_offset != at:
            self.counts.restarts += 1
            replica.restart(now, at)

    # --- the disk

    def take(self, now: int) -> list[Effect]:
        """What is to be written to streams that are followed; what is to be said is in the lanes after that."""
        effects: list[Effect] = []
        for place, replica in self._touched.items():
            found = replica.take(now)
            if found:
                effects.extend(found)
                self._writing[place] = replica
        self._touched.clear()
        self._sources.serve(now)
        if not self._writing:
            self._speak(now)
        return effects

    def _speak(self, now: int) -> None:
        for leader, pulling in self._pullings.items():
            letter = pulling.letter(now)
            if letter is not None:
                self.lanes.letters.append(Letter(leader, letter))

    def written(self, now: int) -> None:
        """All writes taken so far are in the hands of the operating system, save where a disk failed."""
        for place, replica in self._writing.items():
            replica.written()
            self._note_kept(place)
        self._writing.clear()

    def _note_kept(self, place: Place) -> None:
        followed = self._followed.get(place)
        if followed is None or followed.replica.kept_offset <= followed.told_kept:
            return
        pulling = self._pullings.get(followed.leader)
        if pulling is not None and place in pulling.parts:
            pulling.kept(place)

    def _held(self, stream: str) -> Followed | None:
        place = self._places.get(stream)
        return None if place is None else self._followed.get(place)

    def synced(self, now: int, stream: str, token: SyncToken) -> None:
        """The disk kept a promise about a stream that is followed."""
        followed = self._held(stream)
        if followed is not None:
            followed.replica.synced(now, token)
            self._note_kept(followed.place)

    def disk_failed(self, now: int, stream: str, why: str) -> None:
        """The disk refused or lost something of a stream that is followed."""
        followed = self._held(stream)
        if followed is not None:
            followed.replica.disk_failed(now, why)

    def recovery_failed(self, now: int, stream: str, why: str) -> None:
        """A stream that is followed cannot be taken up again yet."""
        followed = self._held(stream)
        if followed is not None:
            followed.replica.recovery_failed(why)

    def reopened(self, now: int, stream: str, state: LogState) -> None:
        """A stream that is followed was recovered, after a failure or a cut."""
        followed = self._held(stream)
        if followed is None:
            return
        followed.replica.reopened(now, state)
        self._touched[followed.place] = followed.replica
        pulling = self._pullings.get(followed.leader)
        if pulling is not None and followed.place in pulling.parts:
            pulling.changed(followed.place)

    def led_failed(self, now: int, partition: Partition) -> None:
        """The disk of a stream that is led failed, or came back."""
        place = self._places.get(partition.log.stream)
        if place is not None and place in self._sources.led:
            self._sources.look(now, place[:2])

    def touch(self, stream: str) -> None:
        """A stream that is followed may have something to be written by itself, as retention does."""
        followed = self._held(stream)
        if followed is not None:
            self._touched[followed.place] = followed.replica

    # --- what is led

    def appended(self, now: int, partition: Partition) -> None:
        """What a leader took was handed to the disk: send it to whoever waits."""
        self._sources.appended(now, partition)

    def advanced(self, now: int, partition: Partition) -> None:
        """What is durable of a stream that is led has changed, here or elsewhere."""
        self._sources.advanced(now, partition)

    def read_done(self, now: int, token: int, result: ReadResult | TimeResult | None) -> None:
        """The answer to one of the reads."""
        assert not isinstance(result, TimeResult)
        self._sources.read_done(token, result)

    def read_failed(self, now: int, token: int, why: str, *, damaged: bool) -> None:
        """The disk could not answer one of the reads."""
        self._sources.read_done(token, None)

    # --- time

    def deadline(self) -> int | None:
        """When `wake` has something to do."""
        times = [self._sources.deadline(), *(pulling.deadline() for pulling in self._pullings.values())]
        return min((due for due in times if due is not None), default=None)

    def wake(self, now: int) -> None:
        """Do what is due; answers whose time has come are given by the next `take`."""
        self._sources.wake(now)
        for pulling in self._pullings.values():
            pulling.wake(now)

    def measure(self) -> ReplicationCounts:
        """What was done so far, and how far followers are behind."""
        self.counts.lag = self._sources.lag()
        return self.counts

    def catching_up(self) -> list[CatchingUp]:
        """How far those replicas of what is led have come that are not in sync."""
        return self._sources.catching_up()

    def check(self) -> None:
        """Assert the invariants."""
        led = self._sources.led
        assert not led.keys() & self._followed.keys()
        assert len(self._places) == len(led) + len(self._followed)
        for followed in self._followed.values():
            followed.replica.check()
        for pulling in self._pullings.values():
            pulling.check()
        self._sources.check()
