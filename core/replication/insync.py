"""Who is in sync with a leader, as it sees it, and what it asks of the controller for that.

A follower is taken in when it has, of every stream of the partition, all that is acknowledged and all that was there
when the leader's term began, and has just spoken: to ask for one that is dead would be to wait for it. It is left out
when it has been behind in any of them for too long, or has less than what is acknowledged, as after a disk that failed.
The controller decides; the leader asks again until the place has another version, and counts whom it asked for until
then (`partition/leadership.py`).

A leader whose disk failed asks to be replaced.
"""

from attrs import define, field

from goqueue.core.partition.leadership import UNKNOWN, FollowerEnd, Leadership
from goqueue.core.partition.partition import Partition
from goqueue.core.verbs import Side

_AGAIN_NS = 1_000_000_000
# A follower pulls more often than that.
SILENT_NS = 1_500_000_000
_LOOK_NS = 100_000_000


@define
class IsrWish:
    """What a leader asks of the controller: this set in sync, by the place as it knows it.

    `incarnations` says of those who join as which process they have caught up. One that `resigns` cannot go on in its
    epoch: another of the set is to lead, or, if there is none, the same in a new epoch.
    """

    topic: str
    partition: int
    leader_epoch: int
    version: int
    isr: list[str]
    resigns: bool = False
    incarnations: dict[str, int] = field(factory=dict)


@define(eq=False)
class InSync:
    """One partition that is led: all its streams, and what was asked for last."""

    topic: str
    number: int
    leadership: Leadership
    streams: dict[Side, Partition] = field(factory=dict)
    _asked: list[str] = field(factory=list)
    _asked_version: int = UNKNOWN
    _again_at: int = 0

    def lead(self, now: int, partition: Partition) -> None:
        """One more stream is led, or all of them under another agreement."""
        self.streams[partition.side] = partition
        partition.lead(self.leadership)
        ends = partition.ends
        for gone in [one for one in ends if one not in self.leadership.replicas]:
            del ends[gone]
        for follower in self.followers():
            if follower not in ends:
                self.begin(now, partition, follower)

    def followers(self) -> list[str]:
        """All replicas but the leader."""
        return [one for one in self.leadership.replicas if one != self.leadership.node_id]

    def begin(self, now: int, partition: Partition, follower: str) -> None:
        """Nothing is known of a follower, or no longer."""
        end = partition.ends[follower] = FollowerEnd()
        end.grew(now, partition.log.next_offset)

    def wish(self, now: int, lag_ns: int, heard: dict[str, int]) -> IsrWish | None:
        """What is to be asked for at this moment; None when all is as agreed, or was asked for a moment ago."""
        leadership = self.leadership
        resigns = any(partition.has_failed for partition in self.streams.values())
        wanted = self._without_me() if resigns else self._wanted(now, lag_ns, heard)
        counted = {leadership.node_id, *leadership.counted}
        if not resigns and set(wanted) == set(leadership.isr) == counted:
            return None
        is_asked = wanted == self._asked and leadership.version == self._asked_version
        if is_asked and now < self._again_at:
            return None
        self._asked, self._asked_version, self._again_at = wanted, leadership.version, now + _AGAIN_NS
        leadership.ask(wanted)
        return IsrWish(self.topic, self.number, leadership.epoch, leadership.version, wanted, resigns)

    def _without_me(self) -> list[str]:
        leadership = self.leadership
        return [one for one in leadership.isr if one != leadership.node_id] or [leadership.node_id]

    def _wanted(self, now: int, lag_ns: int, heard: dict[str, int]) -> list[str]:
        leadership = self.leadership
        wanted: list[str] = []
        for one in leadership.replicas:
            if one == leadership.node_id:
                belongs = True
            elif one in leadership.isr:
                belongs = self._keeps_up(now, one, lag_ns)
            else:
                belongs = self._has_caught_up(one) and one in heard and now - heard[one] < SILENT_NS
            if belongs:
                wanted.append(one)
        return wanted

    def _has_caught_up(self, follower: str) -> bool:
        return all(partition.is_caught_up(follower) for partition in self.streams.values())

    def _keeps_up(self, now: int, follower: str, lag_ns: int) -> bool:
        for partition in self.streams.values():
            end = partition.ends.get(follower)
            if end is None:
                continue
            if UNKNOWN < end.kept < partition.high_watermark:
                return False
            if end.behind_since is not None and now - end.behind_since >= lag_ns:
                return False
        return True

    def deadline(self, now: int, lag_ns: int) -> int | None:
        """When `wish` may have something that it has not at this moment."""
        leadership = self.leadership
        times = [
            end.behind_since + lag_ns
            for partition in self.streams.values()
            for follower, end in partition.ends.items()
            if end.behind_since is not None and follower in leadership.isr
        ]
        if self._asked_version == leadership.version:
            times.append(self._again_at)
        return max(min(times), now + _LOOK_NS) if times else None
