"""What the leader of a replicated partition knows of the others: who counts, and how far each of them has come.

One `Leadership` serves the data of a partition and its other streams: they have one place, one epoch, one set in sync.
How far followers have come is kept by stream (`FollowerEnd`).

A message is acknowledged when everybody in sync has it as durable as the topic says. Who is in sync is agreed on by the
controller, and the leader hears of a change later than it is made. So it counts whoever may be among them: those agreed
on, and those it has ever asked for since the agreement that it knows. Were it to count fewer, this could happen:

1. the leader asks for follower F to join, hears nothing, and no longer counts F;
2. it acknowledges a message that F does not have, while the controller takes F in;
3. the leader dies, F is elected, and the message is gone.

While fewer are agreed to be in sync than `min_isr`, nothing more is acknowledged and nothing shown: who reads a message
may rely on it.

Invariants: the leader counts all agreed on but itself; what is asked for is forgotten only for a later version.
"""

from collections.abc import Iterable

from attrs import define, field

from goqueue.core.requests.refusals import Code, Refusal

UNKNOWN = -1


@define(eq=False)
class FollowerEnd:
    """How far one follower has one stream, and since when it is behind."""

    # The end of what is durable there, UNKNOWN until it has said so in this epoch.
    kept: int = UNKNOWN
    behind_since: int | None = None
    # Where the stream ended at a time after the follower fell behind.
    _mark: int = 0
    _marked: int = 0

    def grew(self, now: int, end: int) -> None:
        """The leader's log ends at `end`."""
        if self.behind_since is None and self.kept < end:
            self.behind_since = self._marked = now
            self._mark = end

    def told(self, now: int, kept: int, end: int) -> None:
        """The follower has everything below `kept`, which may be less than before when its disk failed."""
        self.kept = kept
        if kept >= end:
            self.behind_since = None
        elif self.behind_since is None:
            self.grew(now, end)
        elif kept >= self._mark:
            # It has what there was then, so it has not been behind for longer than since then.
            self.behind_since = self._marked
            self._mark, self._marked = end, now


@define(eq=False)
class Leadership:
    """A leader's term over one partition."""

    node_id: str
    epoch: int
    version: int = -1
    replicas: list[str] = field(factory=list)
    isr: list[str] = field(factory=list)
    # Others that may lead as well, since they have everything that was acknowledged.
    elr: list[str] = field(factory=list)
    min_isr: int = 1
    # The followers that a message waits for.
    counted: list[str] = field(factory=list)
    _asked: dict[str, None] = field(factory=dict)

    def agree(self, version: int, replicas: list[str], isr: list[str], min_isr: int, elr: Iterable[str] = ()) -> None:
        """This is agreed on; of the same version only `min_isr` can differ."""
        assert version >= self.version
        if version > self.version:
            self._asked.clear()
        self.version = version
        self.replicas, self.isr, self.min_isr, self.elr = [*replicas], [*isr], min_isr, [*elr]
        self._count()

    def ask(self, isr: list[str]) -> None:
        """The controller is about to be asked for this set."""
        self._asked.update(dict.fromkeys(isr))
        self._count()

    def _count(self) -> None:
        self.counted = [one for one in dict.fromkeys([*self.isr, *self._asked]) if one != self.node_id]

    @property
    def is_short(self) -> bool:
        """Whether fewer are in sync than a message needs."""
        return len(self.isr) < self.min_isr

    def held(self, ends: dict[str, FollowerEnd], kept: int) -> int:
        """The end of what everybody who counts has, of which the leader itself has what lies below `kept`."""
        if self.is_short:
            return UNKNOWN
        for follower in self.counted:
            end = ends.get(follower)
            if end is None:
                return UNKNOWN
            if end.kept < kept:
                kept = end.kept
        return kept

    def shortage(self, topic: str, number: int) -> Refusal:
        """What whoever wants a message on all replicas is told while there are too few of them."""
        message = (
            f"partition {number} of {topic} has {len(self.isr)} replicas in sync, and the topic asks for"
            f" {self.min_isr}: nothing was stored"
        )
        return Refusal(Code.NOT_ENOUGH_REPLICAS, message, retry_after_ms=1000)

    def check(self) -> None:
        """Assert the invariants."""
        assert self.node_id in self.replicas
        assert all(one in self.counted for one in self.isr if one != self.node_id)
        assert self.node_id not in self.counted
