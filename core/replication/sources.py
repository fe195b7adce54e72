"""The leader's half of replication: the streams that are led here, and a session with every follower.

What is appended goes to whoever waits for it; what followers say they have moves the high watermark, and shows who is
in sync. Letters of another process than the one that is agreed to run under a node's name do not come here.

Invariant: only streams that are led are watched, and a follower watches a stream in its session only.
"""

from collections.abc import Sequence

from goqueue.core.cluster.apply import Placement
from goqueue.core.cluster.options import ClusterOptions
from goqueue.core.log.effects import Read, ReadResult
from goqueue.core.partition.leadership import UNKNOWN, Leadership
from goqueue.core.partition.partition import Partition
from goqueue.core.partition.recent import RecentBatches
from goqueue.core.ready import Fetching, Letter
from goqueue.core.replication.counts import ReplicationCounts
from goqueue.core.replication.insync import SILENT_NS, InSync, IsrWish
from goqueue.core.replication.lanes import Lanes
from goqueue.core.replication.messages import LEFT, Kept, Pull, Pulled, PullPart
from goqueue.core.replication.pulling import Place
from goqueue.core.replication.serving import Served, Serving
from goqueue.core.replication.throttle import Throttle
from goqueue.core.requests.cluster import CatchingUp
from goqueue.core.requests.messages import Side
from goqueue.core.timers.alarms import Alarms

# Numbers of reads from here on are replication's.
REPLICA_TOKENS = 1 << 40
_HELD_NS = 20_000_000


class Sources:
    """All that is led in a node, and who pulls it."""

    def __init__(
        self,
        node_id: str,
        options: ClusterOptions,
        recent: RecentBatches,
        lanes: Lanes,
        counts: ReplicationCounts,
        places: dict[str, Place],
    ) -> None:
        self._node_id = node_id
        self._options = options
        self._recent = recent
        self._lanes = lanes
        self._counts = counts
        # By stream, of everything that is led or followed.
        self._places = places
        self.led: dict[Place, Partition] = {}
        self._insync: dict[tuple[int, int], InSync] = {}
        self._servings: dict[str, Serving] = {}
        self._watchers: dict[Place, dict[str, Served]] = {}
        self._heard: dict[str, int] = {}
        # Nodes that are about to stop, or taken for dead: in sync or not, the controller lets them join nothing.
        self.barred: frozenset[str] = frozenset()
        self._looks: Alarms[tuple[int, int]] = Alarms()
        self._timeouts: Alarms[Place] = Alarms()
        self._throttle = Throttle(options.catch_up_bytes_per_s)
        self._pending: dict[int, tuple[Serving, Served, Read]] = {}
        self._next_token = REPLICA_TOKENS

    # --- roles

    def lead(
        self,
        now: int,
        place: Place,
        partition: Partition,
        placement: Placement,
        min_isr: int,
        sides: Sequence[Side],
    ) -> None:
        """A stream is led here, by this agreement."""
        team = self._insync.get(place[:2])
        epoch = placement.leader_epoch
        if team is None or team.leadership.epoch < epoch:
            team = InSync(partition.topic, partition.number, Leadership(self._node_id, epoch))
            self._insync[place[:2]] = team
        assert epoch == team.leadership.epoch
        team.sides = [*sides]
        if partition.leader_epoch < epoch:
            self._unwatch(place)
        before = team.leadership.isr
        team.leadership.agree(placement.version, placement.replicas, placement.isr, min_isr, placement.elr)
        self._count_changes(before, placement.isr)
        for gone in before:
            if gone not in placement.isr:
                # It may be dead: what it said before it was taken out brings it back no more.
                self._heard.pop(gone, None)
        self.led[place] = partition
        for one in [partition, *team.streams.values()]:
            team.lead(now, one)
            self._lanes.moved[one.log.stream] = one
            self._ask_newcomers((*place[:2], one.side), one)
        self.advanced(now, partition)
        self.look(now, place[:2])

    def _ask_newcomers(self, place: Place, partition: Partition) -> None:
        """Have those say anew how far they are that followed before it was known here that they are replicas.

        Of a stream in which nothing happens they would say no more.
        """
        watchers = self._watchers.get(place, {})
        for follower in [one for one in watchers if one in partition.ends and partition.ends[one].kept == UNKNOWN]:
            self._servings[follower].ask_again(watchers.pop(follower))

    def _count_changes(self, before: list[str], after: list[str]) -> None:
        if before:
            self._counts.isr_shrinks += len([one for one in before if one not in after])
            self._counts.isr_expands += len([one for one in after if one not in before])

    def _unwatch(self, place: Place) -> None:
        for follower in self._watchers.pop(place, {}):
            serving = self._servings.get(follower)
            if serving is not None:
                serving.forget(place)

    def leave(self, place: Place, stream: str) -> None:
        """A stream is led no more."""
        if self.led.pop(place, None) is None:
            return
        self._unwatch(place)
        self._timeouts.drop(place)
        self._lanes.moved.pop(stream, None)
        team = self._insync[place[:2]]
        team.streams.pop(place[2], None)
        if not team.streams:
            del self._insync[place[:2]]
            self._looks.drop(place[:2])

    def peer_changed(self, now: int, peer: str) -> None:
        """What a follower said does not count any more."""
        self.hang_up(peer)
        self._heard.pop(peer, None)
        for place, partition in self.led.items():
            if peer in partition.ends:
                self._insync[place[:2]].begin(now, partition, peer)

    def bar(self, now: int, nodes: frozenset[str]) -> None:
        """These cannot be in sync; one that can be again may have caught up with everything meanwhile."""
        is_freed = not self.barred <= nodes
        self.barred = nodes
        if is_freed:
            for key in self._insync:
                self.look(now, key)

    def hang_up(self, follower: str) -> None:
        """There is no session with a follower any more."""
        serving = self._servings.pop(follower, None)
        if serving is not None:
            for place in serving.parts:
                self._watchers.get(place, {}).pop(follower, None)

    # --- what followers say

    def disown(self, sender: str, pull: Pull) -> None:
        """Tell a follower that its session is not known."""
        self._lanes.letters.append(Letter(sender, Pulled(pull.session, pull.round, is_known=False)))

    def pull(self, now: int, sender: str, pull: Pull) -> None:
        """A follower asks for what comes next."""
        is_back = sender not in self._heard or now - self._heard[sender] >= SILENT_NS
        self._heard[sender] = now
        serving = self._servings.get(sender)
        if serving is not None and serving.incarnation == pull.incarnation and pull.session < serving.session:
            return
        is_known = serving is not None and (serving.incarnation, serving.session) == (pull.incarnation, pull.session)
        if not is_known and pull.round == 1:
            self.hang_up(sender)
            serving = Serving(sender, pull.incarnation, pull.session, self._recent)
            self._servings[sender] = serving
        elif serving is not None and is_known and pull.round <= serving.round:
            return
        elif serving is None or not is_known or pull.round != serving.round + 1 or not serving.can_take:
            self.disown(sender, pull)
            return
        serving.pulled(now, pull)
        for part in pull.parts:
            self._name(now, sender, serving, part, pull.stamp)
        if is_back:
            # It may be in sync with what it does not name, for nothing has changed there.
            for key in dict.fromkeys(place[:2] for place in serving.parts):
                self.look(now, key)

    def _name(self, now: int, sender: str, serving: Serving, named: PullPart, stamp: int) -> None:
        place = named.topic_id, named.partition, named.side
        partition = self.led.get(place)
        if named.leader_epoch == LEFT:
            serving.forget(place)
            self._watchers.get(place, {}).pop(sender, None)
            return
        is_led = partition is not None and partition.leader_epoch == named.leader_epoch
        if partition is None or not is_led or partition.has_failed or partition.log.unsound is not None:
            self._watchers.get(place, {}).pop(sender, None)
            serving.refuse(named)
            return
        before = serving.parts.get(place)
        served = serving.name(now, named, partition, stamp)
        self._watchers.setdefault(place, {})[sender] = serving.parts[place]
        if served is None:
            return
        if before is not None and before.is_later_about(partition, stamp):
            # What the disk had by then was said by a letter that overtook this one.
            served.stamp = before.stamp
        else:
            self._told(now, sender, served, named.kept_offset)

    def kept(self, now: int, sender: str, message: Kept) -> None:
        """A follower's disk is done with something."""
        self._heard[sender] = now
        serving = self._servings.get(sender)
        if serving is None or (serving.incarnation, serving.session) != (message.incarnation, message.session):
            return
        for part in message.parts:
            served = serving.parts.get((part.topic_id, part.partition, part.side))
            if served is None or not served.is_sound or served.epoch != part.leader_epoch:
                continue
            if served.stamp < message.stamp:
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
            self.look(now, served.place[:2])

    # --- what is led

    def appended(self, now: int, partition: Partition) -> None:
        """What a leader took was handed to the disk: send it to whoever waits."""
        place = self._places.get(partition.log.stream)
        if place is None or place not in self.led:
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
        if place is None or place not in self.led:
            return
        before = partition.high_watermark
        partition.acknowledge()
        if partition.done or partition.high_watermark != before:
            self._lanes.moved[partition.log.stream] = partition
        for follower, served in self._watchers.get(place, {}).items():
            self._servings[follower].advanced(now, served)

    def look(self, now: int, key: tuple[int, int]) -> None:
        """See whether others are in sync than are agreed on."""
        team = self._insync.get(key)
        if team is None:
            return
        lag_ns = self._options.replica_lag_ns
        heard = {one: at for one, at in self._heard.items() if one not in self.barred}
        wish = team.wish(now, lag_ns, heard)
        if wish is not None:
            wish.incarnations = self._joining(wish, team)
            self._lanes.wishes.append(wish)
        due = team.deadline(now, lag_ns)
        if due is None:
            self._looks.drop(key)
        else:
            self._looks.set(key, due)

    def _joining(self, wish: IsrWish, team: InSync) -> dict[str, int]:
        known = team.leadership.isr
        return {one: self._servings[one].incarnation for one in wish.isr if one not in known and one in self._servings}

    # --- answers

    def serve(self, now: int) -> None:
        """Answer followers that wait, as far as there is anything for them."""
        for follower, serving in self._servings.items():
            allowance = self._throttle.allowance(now)
            for served, read in serving.collect(now, allowance):
                self._next_token += 1
                self._pending[self._next_token] = serving, served, read
                self._lanes.reads.append(Fetching(self._next_token, read))
            serving.held_until = now + _HELD_NS if allowance is not None else 0
            self._answer(now, follower, serving)

    def _answer(self, now: int, follower: str, serving: Serving) -> None:
        found = serving.answer(now)
        if found is not None:
            pulled, size = found
            self._counts.bytes_out += size
            self._throttle.spend(serving.slow_bytes(pulled))
            self._lanes.letters.append(Letter(follower, pulled))

    def read_done(self, token: int, result: ReadResult | None) -> None:
        """The answer to one of the reads; None where the disk had none."""
        serving, served, read = self._pending.pop(token)
        serving.read_done(served, read, result)

    # --- time

    def deadline(self) -> int | None:
        """When `wake` or `serve` has something to do."""
        times = [self._looks.deadline(), self._timeouts.deadline()]
        times += [serving.deadline() for serving in self._servings.values()]
        return min((due for due in times if due is not None), default=None)

    def wake(self, now: int) -> None:
        """Do what is due."""
        for key in self._looks.due(now):
            self.look(now, key)
        for place in self._timeouts.due(now):
            partition = self.led[place]
            due = partition.expire(now, self._options.request_ns)
            if due is not None:
                self._timeouts.set(place, due)
            if partition.done:
                self._lanes.moved[partition.log.stream] = partition

    def lag(self) -> dict[tuple[str, int], int]:
        """How many records the last of the followers is behind, in sync or not, by partition."""
        lag: dict[tuple[str, int], int] = {}
        for team in self._insync.values():
            behind = [
                partition.log.next_offset - max(end.kept, partition.log.start_offset)
                for partition in team.streams.values()
                for end in partition.ends.values()
            ]
            lag[team.topic, team.number] = max(behind, default=0)
        return lag

    def catching_up(self) -> list[CatchingUp]:
        """How far those replicas of what is led have come that are not in sync."""
        found: list[CatchingUp] = []
        for team in self._insync.values():
            partition = team.streams.get(Side.DATA)
            if partition is None:
                continue
            for follower in team.followers():
                if follower not in team.leadership.isr:
                    offset = max(partition.ends[follower].kept, 0)
                    found.append(CatchingUp(team.topic, team.number, follower, offset, partition.log.next_offset))
        return found

    def check(self) -> None:
        """Assert the invariants."""
        assert all(place in self.led for place in self._watchers)
        for serving in self._servings.values():
            serving.check()
        self._looks.check()
        self._timeouts.check()
