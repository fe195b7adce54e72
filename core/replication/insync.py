"""Who is in sync with a leader, as it sees it, and what it asks of the controller for that.

A follower is taken in when it has, of every stream of the partition, all that is acknowledged and all that was there
when the leader's term began, and has just spoken: to ask for one that is dead would be to wait for it. It is left out
when it has been behind in any of them for too long, or has less than what is acknowledged, as after a disk that failed.
The controller decides; the leader asks again until the place has another version, and counts whom it asked for until
then (`partition/leadership.py`).

A leader whose disk failed asks to be replaced where another replica is eligible. Where none is, it waits for the disk,
and says so when the disk has lost something. Of followers that are eligible it says the same.
"""

from attrs import define, field

from goqueue.core.partition.leadership import UNKNOWN, FollowerEnd, Leadership
from goqueue.core.partition.partition import Partition
from goqueue.core.requests.messages import Side

_AGAIN_NS = 1_000_000_000
# A follower pulls more often than that.
SILENT_NS = 1_500_000_000
_LOOK_NS = 100_000_000


@define
class IsrWish:
    """What a leader asks of the controller: this set in sync, by the place as it knows it.

    `incarnations` says of those who join as which process they have caught up. One that `resigns` cannot go on in its
    epoch: another that is eligible is to lead, or, if there is none, the same in a new epoch. `lost` have less than was
    acknowledged.
    """

    topic: str
    partition: int
    leader_epoch: int
    version: int
    isr: list[str]
    resigns: bool = False
    incarnations: dict[str, int] = field(factory=dict)
    lost: list[str] = field(factory=list)


@define(eq=False)
class InSync:
    """One partition that is led: all its streams, and what was asked for last."""

    topic: str
    number: int
    leadership: Leadership
    # All that the partition has, and those that are open.
    sides: list[Side] = field(factory=lambda: [Side.DATA])
    streams: dict[Side, Partition] = field(factory=dict)
    _asked: tuple[list[str], list[str]] | None = None
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
        resigns, lost = self._resigns(), self._lost()
        wanted = self._without_me(lost) if resigns else self._wanted(now, lag_ns, heard)
        counted = {leadership.node_id, *leadership.counted}
        if not resigns and not lost and set(wanted) == set(leadership.isr) == counted:
            return None
        is_asked = (wanted, lost) == self._asked and leadership.version == self._asked_version
        if is_asked and now < self._again_at:
            return None
        self._asked, self._asked_version, self._again_at = (wanted, lost), leadership.version, now + _AGAIN_NS
        leadership.ask(wanted)
        return IsrWish(self.topic, self.number, leadership.epoch, leadership.version, wanted, resigns, lost=lost)

    def _resigns(self) -> bool:
        """Whether another is to lead: the disk failed, or, where no other is eligible, it has lost something."""
        leadership, streams = self.leadership, self.streams.values()
        if [*leadership.isr, *leadership.elr] == [leadership.node_id]:
            return any(partition.has_lost for partition in streams)
        return any(partition.has_failed for partition in streams)

    def _lost(self) -> list[str]:
        """Who is eligible, and has less than what was acknowledged."""
        leadership, streams = self.leadership, self.streams.values()
        lost = [one for one in [*leadership.isr, *leadership.elr] if any(_has_lost(one, each) for each in streams)]
        return [leadership.node_id, *lost] if any(partition.has_lost for partition in streams) else lost

    def _without_me(self, lost: list[str]) -> list[str]:
        own = self.leadership.node_id
        return [one for one in self.leadership.isr if one != own and one not in lost] or [own]

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
        """Whether nothing is missing in any stream; of one that is not open yet nobody knows."""
        streams = self.streams
        return all(side in streams and streams[side].is_caught_up(follower) for side in self.sides)

    def _keeps_up(self, now: int, follower: str, lag_ns: int) -> bool:
        for partition in self.streams.values():
            end = partition.ends.get(follower)
            if end is None:
                continue
            if _has_lost(follower, partition):
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


def _has_lost(follower: str, partition: Partition) -> bool:
    """Whether a follower has said that it has less than what was acknowledged."""
    end = partition.ends.get(follower)
    return end is not None and UNKNOWN < end.kept < partition.high_watermark
