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

from collections.abc import Callable

from attrs import define

from goqueue.core.alarms import Alarms
from goqueue.core.cluster.apply import Placement
from goqueue.core.cluster.options import ClusterOptions
from goqueue.core.errors import BatchError
from goqueue.core.log.effects import Effect, Read, ReadResult, SyncToken, TimeResult
from goqueue.core.log.log import LogState, LogUnsound
from goqueue.core.partition.leadership import Leadership
from goqueue.core.partition.partition import Partition
from goqueue.core.partition.recent import RecentBatches
from goqueue.core.ready import Fetching, Letter
from goqueue.core.replication.counts import ReplicationCounts
from goqueue.core.replication.insync import InSync, IsrWish
from goqueue.core.replication.messages import (
    LEFT,
    Kept,
    Pull,
    Pulled,
    PulledPart,
    PullPart,
    ReplicationMessage,
    Verdict,
)
from goqueue.core.replication.pulling import PAUSE_FIRST_NS, Followed, Place, Pulling
from goqueue.core.replication.replica import Replica
from goqueue.core.replication.serving import Served, Serving

# Numbers of reads from here on are replication's.
REPLICA_TOKENS = 1 << 40
_SECOND_NS = 1_000_000_000
_HELD_NS = 20_000_000


@define(eq=False)
class Throttle:
    """How many bytes may go to replicas that are not in sync: so many a second, and at most a second's at once."""

    bytes_per_s: int
    _level: int = 0
    _filled_at: int = 0

    def allowance(self, now: int) -> int | None:
        """What may be sent at this moment; None for as much as there is."""
        if self.bytes_per_s <= 0:
            return None
        gained = (now - self._filled_at) * self.bytes_per_s // _SECOND_NS
        if gained > 0:
            self._level = min(self._level + gained, self.bytes_per_s)
            self._filled_at = now
        return self._level

    def spend(self, size: int) -> None:
        """So much was sent; a debt is paid before anything else is."""
        self._level -= size


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
        self._recent = recent
        self._incarnation_of = incarnation_of
        self.letters: list[Letter] = []
        self.reads: list[Fetching] = []
        self.wishes: list[IsrWish] = []
        # What is led and has answers for publishers, or shows more than before.
        self.moved: dict[str, Partition] = {}
        self.counts = ReplicationCounts()
        self._places: dict[str, Place] = {}
        # What is led.
        self._led: dict[Place, Partition] = {}
        self._insync: dict[tuple[int, int], InSync] = {}
        self._servings: dict[str, Serving] = {}
        self._watchers: dict[Place, dict[str, Served]] = {}
        self._heard: dict[str, int] = {}
        self._looks: Alarms[tuple[int, int]] = Alarms()
        self._timeouts: Alarms[Place] = Alarms()
        self._throttle = Throttle(options.catch_up_bytes_per_s)
        self._pending: dict[int, tuple[str, Serving, Served, Read]] = {}
        self._next_token = REPLICA_TOKENS
        # What is followed.
        self._followed: dict[Place, Followed] = {}
        self._pullings: dict[str, Pulling] = {}
        self._touched: dict[Place, Replica] = {}
        self._writing: dict[Place, Replica] = {}

    # --- roles

    def lead(self, now: int, topic_id: int, partition: Partition, placement: Placement, min_isr: int) -> None:
        """A stream is led here, by this agreement; one that was followed is left before."""
        place = topic_id, partition.number, partition.side
        stream = partition.log.stream
        assert place not in self._followed
        assert self._places.setdefault(stream, place) == place
        team = self._insync.get(place[:2])
        epoch = placement.leader_epoch
        if team is None or team.leadership.epoch < epoch:
            team = InSync(partition.topic, partition.number, Leadership(self.node_id, epoch))
            self._insync[place[:2]] = team
        elif epoch < team.leadership.epoch or placement.version < team.leadership.version:
            return
        if partition.leader_epoch < epoch:
            self._unwatch(place)
        before = team.leadership.isr
        team.leadership.agree(placement.version, placement.replicas, placement.isr, min_isr)
        self._count_changes(before, placement.isr)
        self._led[place] = partition
        for one in [partition, *team.streams.values()]:
            team.lead(now, one)
            self.moved[one.log.stream] = one
        self.advanced(now, partition)
        self._look(now, place[:2])

    def _count_changes(self, before: list[str], after: list[str]) -> None:
        if before:
            self.counts.isr_shrinks += len([one for one in before if one not in after])
            self.counts.isr_expands += len([one for one in after if one not in before])

    def follow(self, now: int, topic_id: int, replica: Replica, leader: str, leader_epoch: int) -> None:
        """A stream is followed; one that was led is left before. Nobody leads it where `leader` is empty."""
        place = topic_id, replica.number, replica.side
        stream = replica.log.stream
        assert place not in self._led
        assert self._places.setdefault(stream, place) == place
        known = self._followed.get(place)
        if known is not None and known.replica is replica:
            if leader_epoch < known.epoch or (known.leader == leader and known.epoch == leader_epoch):
                return
        if known is not None:
            self._unfollow(known)
        followed = self._followed[place] = Followed(place, replica, leader, leader_epoch)
        self._touched[place] = replica
        if leader and leader != self.node_id:
            self._pulling(leader).add(followed)

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
        if followed is not None:
            self._unfollow(followed)
        self._touched.pop(place, None)
        self._writing.pop(place, None)
        if self._led.pop(place, None) is not None:
            self._unwatch(place)
            self._timeouts.drop(place)
            self.moved.pop(stream, None)
            team = self._insync[place[:2]]
            team.streams.pop(place[2], None)
            if not team.streams:
                del self._insync[place[:2]]
                self._looks.drop(place[:2])

    def _unwatch(self, place: Place) -> None:
        for follower in self._watchers.pop(place, {}):
            serving = self._servings.get(follower)
            if serving is not None:
                serving.forget(place)

    def taken(self) -> list[Replica]:
        """The followed streams of which something was taken that is not written yet."""
        return [*self._writing.values()]

    def is_followed(self, stream: str) -> bool:
        """Whether a stream is followed here."""
        place = self._places.get(stream)
        return place is not None and place in self._followed

    # --- letters

    def receive(self, now: int, sender: str, message: ReplicationMessage) -> None:
        """Take a letter of a peer."""
        if isinstance(message, Pulled):
            self._pulled(now, sender, message)
        elif message.incarnation != self._incarnation_of(sender):
            if isinstance(message, Pull):
                self._disown(sender, message)
        elif isinstance(message, Pull):
            self._heard[sender] = now
            self._pull(now, sender, message)
        else:
            self._heard[sender] = now
            self._kept(now, sender, message)

    def peer_lost(self, now: int, peer: str) -> None:
        """What was under way to a peer, or from it, is lost."""
        pulling = self._pullings.get(peer)
        if pulling is not None:
            pulling.broke(now)
        self._hang_up(peer)

    def peer_changed(self, now: int, peer: str) -> None:
        """Another process runs under a peer's name: what the one before said does not count."""
        self._hang_up(peer)
        self._heard.pop(peer, None)
        for place, partition in self._led.items():
            if peer in partition.ends:
                self._insync[place[:2]].begin(now, partition, peer)

    def _hang_up(self, follower: str) -> None:
        serving = self._servings.pop(follower, None)
        if serving is not None:
            for place in serving.parts:
                self._watchers.get(place, {}).pop(follower, None)

    # --- what leaders hear

    def _disown(self, sender: str, pull: Pull) -> None:
        self.letters.append(Letter(sender, Pulled(pull.session, pull.round, is_known=False)))

    def _pull(self, now: int, sender: str, pull: Pull) -> None:
        serving = self._servings.get(sender)
        if serving is not None and serving.incarnation == pull.incarnation and pull.session < serving.session:
            return
        is_known = serving is not None and (serving.incarnation, serving.session) == (pull.incarnation, pull.session)
        if not is_known and pull.round == 1:
            self._hang_up(sender)
            serving = Serving(sender, pull.incarnation, pull.session, self._recent)
            self._servings[sender] = serving
        elif serving is not None and is_known and pull.round <= serving.round:
            return
        elif serving is None or not is_known or pull.round != serving.round + 1 or not serving.can_take:
            self._disown(sender, pull)
            return
        serving.pulled(now, pull)
        for part in pull.parts:
            self._name(now, sender, serving, part, pull.stamp)

    def _name(self, now: int, sender: str, serving: Serving, named: PullPart, stamp: int) -> None:
        place = named.topic_id, named.partition, named.side
        partition = self._led.get(place)
        if named.leader_epoch == LEFT:
            serving.forget(place)
            self._watchers.get(place, {}).pop(sender, None)
            return
        is_led = partition is not None and partition.leader_epoch == named.leader_epoch
        if partition is None or not is_led or partition.has_failed or partition.log.unsound is not None:
            self._watchers.get(place, {}).pop(sender, None)
            serving.refuse(named)
            return
        served = serving.name(now, named, partition, stamp)
        self._watchers.setdefault(place, {})[sender] = serving.parts[place]
        if served is not None:
            self._told(now, sender, served, named.kept_offset)

    def _kept(self, now: int, sender: str, message: Kept) -> None:
        serving = self._servings.get(sender)
        if serving is None or (serving.incarnation, serving.session) != (message.incarnation, message.session):
            return
        for part in message.parts:
            served = serving.parts.get((part.topic_id, part.partition, part.side))
            if served is not None and served.epoch == part.leader_epoch and served.stamp < message.stamp:
                served.stamp = message.stamp
                self._told(now, sender, served, part.kept_offset)

    def _told(self, now: int, follower: str, served: Served, kept_offset: int) -> None:
        """A follower whose log is a beginning of the leader's has this much of it for certain."""
        partition = served.partition
        end = partition.ends.get(follower)
        if end is None:
            return
        end.told(now, min(kept_offset, served.offset), partition.log.next_offset)
        self.advanced(now, partition)
        leadership = partition.leadership
        assert leadership is not None
        if follower not in leadership.counted or end.kept < partition.high_watermark:
            self._look(now, served.place[:2])

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
        if replica.heard(now, part.high_watermark, part.start_offset, part.end_offset):
            self._touched[place] = replica

    def _append(self, now: int, replica: Replica, part: PulledPart) -> None:
        self.counts.batches_in += replica.replicate(now, part.runs)
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
        self._serve(now)
        if not self._writing:
            self._speak(now)
        return effects

    def _speak(self, now: int) -> None:
        for leader, pulling in self._pullings.items():
            letter = pulling.letter(now)
            if letter is not None:
                self.letters.append(Letter(leader, letter))

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

    def synced(self, now: int, stream: str, token: SyncToken) -> None:
        """The disk kept a promise about a stream that is followed."""
        place = self._places[stream]
        self._followed[place].replica.synced(now, token)
        self._note_kept(place)

    def disk_failed(self, now: int, stream: str, why: str) -> None:
        """The disk refused or lost something of a stream that is followed."""
        self._followed[self._places[stream]].replica.disk_failed(now, why)

    def recovery_failed(self, now: int, stream: str, why: str) -> None:
        """A stream that is followed cannot be taken up again yet."""
        self._followed[self._places[stream]].replica.recovery_failed(why)

    def reopened(self, now: int, stream: str, state: LogState) -> None:
        """A stream that is followed was recovered, after a failure or a cut."""
        place = self._places[stream]
        followed = self._followed[place]
        followed.replica.reopened(now, state)
        self._touched[place] = followed.replica
        pulling = self._pullings.get(followed.leader)
        if pulling is not None and place in pulling.parts:
            pulling.changed(place)

    def led_failed(self, now: int, partition: Partition) -> None:
        """The disk of a stream that is led failed, or came back."""
        place = self._places.get(partition.log.stream)
        if place is not None and place in self._led:
            self._look(now, place[:2])

    def touch(self, stream: str) -> None:
        """A stream that is followed may have something to be written by itself, as retention does."""
        place = self._places.get(stream)
        if place is not None and place in self._followed:
            self._touched[place] = self._followed[place].replica

    # --- what is led

    def appended(self, now: int, partition: Partition) -> None:
        """What a leader took was handed to the disk: send it to whoever waits."""
        place = self._places.get(partition.log.stream)
        if place is None or place not in self._led:
            return
        for follower, served in self._watchers.get(place, {}).items():
            self._servings[follower].appended(served)
        end_offset = partition.log.next_offset
        is_behind = False
        for end in partition.ends.values():
            end.grew(now, end_offset)
            is_behind = is_behind or end.behind_since is not None
        if is_behind and place[:2] not in self._looks:
            self._looks.set(place[:2], now + self._options.replica_lag_ns)
        if partition.waits_since is not None and place not in self._timeouts:
            self._timeouts.set(place, now + self._options.request_ns)

    def advanced(self, now: int, partition: Partition) -> None:
        """What is durable of a stream that is led has changed, here or elsewhere."""
        place = self._places.get(partition.log.stream)
        if place is None or place not in self._led:
            return
        before = partition.high_watermark
        partition.acknowledge()
        if partition.done or partition.high_watermark != before:
            self.moved[partition.log.stream] = partition
        for follower, served in self._watchers.get(place, {}).items():
            self._servings[follower].advanced(now, served)

    def _look(self, now: int, key: tuple[int, int]) -> None:
        """See whether others are in sync than are agreed on."""
        team = self._insync.get(key)
        if team is None:
            return
        lag_ns = self._options.replica_lag_ns
        wish = team.wish(now, lag_ns, self._heard)
        if wish is not None:
            wish.incarnations = self._joining(wish, team)
            self.wishes.append(wish)
        due = team.deadline(now, lag_ns)
        if due is None:
            self._looks.drop(key)
        else:
            self._looks.set(key, due)

    def _joining(self, wish: IsrWish, team: InSync) -> dict[str, int]:
        known = team.leadership.isr
        return {one: self._servings[one].incarnation for one in wish.isr if one not in known and one in self._servings}

    # --- reads

    def _serve(self, now: int) -> None:
        for follower, serving in self._servings.items():
            allowance = self._throttle.allowance(now)
            for served, read in serving.collect(now, allowance):
                self._next_token += 1
                self._pending[self._next_token] = follower, serving, served, read
                self.reads.append(Fetching(self._next_token, read))
            serving.held_until = now + _HELD_NS if allowance is not None else 0
            self._answer(now, follower, serving)

    def _answer(self, now: int, follower: str, serving: Serving) -> None:
        found = serving.answer(now)
        if found is not None:
            pulled, size = found
            self.counts.bytes_out += size
            self._throttle.spend(serving.slow_bytes(pulled))
            self.letters.append(Letter(follower, pulled))

    def read_done(self, now: int, token: int, result: ReadResult | TimeResult | None) -> None:
        """The answer to one of the `reads`."""
        assert not isinstance(result, TimeResult)
        _, serving, served, read = self._pending.pop(token)
        serving.read_done(served, read, result)

    def read_failed(self, now: int, token: int, why: str, *, damaged: bool) -> None:
        """The disk could not answer one of the `reads`."""
        self.read_done(now, token, None)

    # --- time

    def deadline(self) -> int | None:
        """When `wake` has something to do."""
        times = [self._looks.deadline(), self._timeouts.deadline()]
        times += [serving.deadline() for serving in self._servings.values()]
        times += [pulling.deadline() for pulling in self._pullings.values()]
        return min((due for due in times if due is not None), default=None)

    def wake(self, now: int) -> None:
        """Do what is due; answers whose time has come are given by the next `take`."""
        for key in self._looks.due(now):
            self._look(now, key)
        for place in self._timeouts.due(now):
            partition = self._led[place]
            due = partition.expire(now, self._options.request_ns)
            if due is not None:
                self._timeouts.set(place, due)
            if partition.done:
                self.moved[partition.log.stream] = partition
        for pulling in self._pullings.values():
            pulling.wake(now)

    def measure(self) -> ReplicationCounts:
        """What was done so far, and how far behind followers in sync are."""
        lag: dict[tuple[str, int], int] = {}
        for team in self._insync.values():
            counted = team.leadership.counted
            behind = [
                partition.log.next_offset - max(end.kept, partition.log.start_offset)
                for partition in team.streams.values()
                for follower, end in partition.ends.items()
                if follower in counted
            ]
            lag[team.topic, team.number] = max(behind, default=0)
        self.counts.lag = lag
        return self.counts

    def check(self) -> None:
        """Assert the invariants."""
        assert not self._led.keys() & self._followed.keys()
        assert len(self._places) == len(self._led) + len(self._followed)
        for followed in self._followed.values():
            followed.replica.check()
        for pulling in self._pullings.values():
            pulling.check()
        for serving in self._servings.values():
            serving.check()
        self._looks.check()
        self._timeouts.check()
