"""The follower's end of a session: what is pulled from one leader, for all streams that are followed there.

There is one pull under way as a rule, which waits at the leader until there is news. A second one is sent before the
first is answered when streams are to be pulled of which the leader does not know: it answers the first at once then.
Pulls are answered in the order of their rounds. Whatever else comes, or does not come in time, ends in a new session,
in which everything is named again. An answer that does not come in time was too much for the link, maybe: the next
ones may bring less, until answers come again.

A stream is named when the leader may think otherwise of it than it is. What the leader sends is taken only if it rests
on the last naming, and the log is still as it was then. Logs have gaps where compaction took something, so nobody would
see a hole that a late answer leaves:

1. the follower names a stream at offset 8, loses what was not synced with its disk, and names it again at offset 4;
2. the answer to the first naming brings what begins at 8.

Invariants: at most two pulls are under way; what is to be named is followed, or was named and is followed no more.
"""

from collections import deque

from attrs import define, field

from goqueue.core.replication.messages import LEFT, Kept, KeptPart, Pull, PulledPart, PullPart
from goqueue.core.replication.replica import Replica
from goqueue.core.requests.messages import Side
from goqueue.core.timers.alarms import Alarms

# Topic id, partition and side name a stream wherever it is.
Place = tuple[int, int, Side]

WAIT_NS = 700_000_000
PULL_BYTES = 4 << 20
# What a link is asked to carry at least, however slow it is, and to what part of it an answer that is late shrinks.
PULL_BYTES_LEAST = 64 << 10
_SHRINK = 4
_PATIENCE_NS = 500_000_000
_UNDER_WAY_MAX = 2
PAUSE_FIRST_NS = 50_000_000
_PAUSE_MOST_NS = 1_000_000_000
_SLOWNESS_MOST = 4


@define(eq=False)
class Followed:
    """One stream that is followed: whose epoch it is, and what the leader knows of it."""

    place: Place
    replica: Replica
    leader: str
    epoch: int
    # Of the log when it was named last, and the round of that.
    incarnation: int = -1
    named: int = 0
    told_kept: int = -1
    is_named: bool = False
    pause_ns: int = PAUSE_FIRST_NS

    @property
    def can_be_named(self) -> bool:
        """Whether its log could take anything."""
        return self.replica.log.unsound is None


@define(eq=False)
class Pulling:
    """A session with one leader, or with one after the other; those before are forgotten."""

    leader: str
    incarnation: int
    parts: dict[Place, Followed] = field(factory=dict)
    _session: int = 0
    _is_open: bool = False
    # Not before this is a session opened; how patient to be, in multiples.
    _opens_at: int = 0
    _slowness: int = 1
    # How much an answer may bring: less, once one has not come in time.
    _pull_bytes: int = PULL_BYTES
    _round: int = 0
    _stamp: int = 0
    _sent: deque[int] = field(factory=deque)
    # What the next pull names, and what of it the leader waits for in vain until then.
    _changed: dict[Place, None] = field(factory=dict)
    _is_urgent: bool = False
    # What has become durable, and what of that only a letter said that may be lost.
    _kept: dict[Place, None] = field(factory=dict)
    _unsure: dict[Place, None] = field(factory=dict)
    _retries: Alarms[Place] = field(factory=Alarms)

    # --- what is followed

    def add(self, followed: Followed) -> None:
        """Follow one more stream here."""
        self.parts[followed.place] = followed
        self.changed(followed.place)

    def remove(self, place: Place) -> None:
        """Follow a stream here no more."""
        followed = self.parts.pop(place)
        for marks in (self._changed, self._kept, self._unsure):
            marks.pop(place, None)
        self._retries.drop(place)
        if followed.is_named:
            self._changed[place] = None

    def changed(self, place: Place) -> None:
        """The leader has to hear anew how a stream is."""
        if self.parts[place].can_be_named:
            self._changed[place] = None
            self._is_urgent = True

    def kept(self, place: Place) -> None:
        """More of a stream is durable."""
        if place not in self._changed:
            self._kept[place] = None

    def retry(self, now: int, followed: Followed) -> None:
        """The leader could not serve a stream; name it again after a while."""
        self._retries.set(followed.place, now + followed.pause_ns)
        followed.pause_ns = min(2 * followed.pause_ns, _PAUSE_MOST_NS)

    # --- answers

    def answered(self, now: int, session: int, number: int, *, is_known: bool) -> bool:
        """Whether an answer is the one that comes next; if not, it is not to be looked at."""
        if not self._is_open or session != self._session or number <= self._round - len(self._sent):
            return False
        if not is_known:
            # It has not heard of this process, or has forgotten the session.
            pause_ns = 0 if self._round > 1 else PAUSE_FIRST_NS * self._slowness
            self.broke(now, pause_ns)
            return False
        if number != self._round - len(self._sent) + 1 or not self._sent:
            # It is for an earlier process of this node, whose sessions bore the same numbers, or was made up.
            self.broke(now, 0)
            return False
        self._sent.popleft()
        self._slowness = 1
        self._pull_bytes = min(2 * self._pull_bytes, PULL_BYTES)
        return True

    def takes(self, part: PulledPart) -> Followed | None:
        """The stream that a part of an answer is for; None when it is not as it was when it was named."""
        followed = self.parts.get((part.topic_id, part.partition, part.side))
        if followed is None or followed.epoch != part.leader_epoch or followed.named != part.named:
            return None
        log = followed.replica.log
        return followed if log.unsound is None and log.incarnation == followed.incarnation else None

    def broke(self, now: int, pause_ns: int = PAUSE_FIRST_NS) -> None:
        """The session is of no use any more; open another one after a while."""
        self._is_open = False
        self._sent.clear()
        self._opens_at = now + pause_ns
        self._slowness = min(2 * self._slowness, _SLOWNESS_MOST)

    # --- pulls

    def letter(self, now: int) -> Pull | Kept | None:
        """What is to be said at this moment."""
        if not self._is_open:
            if now < self._opens_at or not self.parts:
                return None
            self._open()
        if not self._sent or (self._is_urgent and len(self._sent) < _UNDER_WAY_MAX):
            return self._pull(now) if self.parts or self._changed else None
        return self._tell() if self._kept else None

    def _open(self) -> None:
        self._session += 1
        self._is_open = True
        self._round = self._stamp = 0
        self._kept.clear()
        self._unsure.clear()
        self._changed = {place: None for place, one in self.parts.items() if one.can_be_named}
        for one in self.parts.values():
            one.is_named = False

    def _pull(self, now: int) -> Pull:
        named = dict.fromkeys([*self._changed, *self._kept, *self._unsure])
        for marks in (self._changed, self._kept, self._unsure):
            marks.clear()
        self._is_urgent = False
        self._sent.append(now)
        self._round += 1
        self._stamp += 1
        wait_ns = 0 if self._round == 1 else WAIT_NS
        parts = [self._named(place) for place in named]
        return Pull(self.incarnation, self._session, self._round, self._stamp, self._pull_bytes, wait_ns, parts)

    def _named(self, place: Place) -> PullPart:
        followed = self.parts.get(place)
        if followed is None or not followed.can_be_named:
            if followed is not None:
                followed.is_named = False
            return PullPart(*place, LEFT)
        replica, log = followed.replica, followed.replica.log
        followed.is_named, followed.incarnation, followed.named = True, log.incarnation, self._round
        followed.told_kept = kept = replica.kept_offset
        self._retries.drop(place)
        return PullPart(*place, followed.epoch, replica.reach, log.epochs.latest, kept)

    def _tell(self) -> Kept | None:
        """Say at once what is durable, and once more by the next pull."""
        parts: list[KeptPart] = []
        for place in self._kept:
            followed = self.parts[place]
            kept = followed.replica.kept_offset
            if followed.is_named and kept > followed.told_kept:
                followed.told_kept = kept
                parts.append(KeptPart(*place, followed.epoch, kept))
        self._unsure.update(self._kept)
        self._kept.clear()
        if not parts:
            return None
        self._stamp += 1
        return Kept(self.incarnation, self._session, self._stamp, parts)

    # --- time

    def deadline(self) -> int | None:
        """When `wake` has something to do."""
        times = [self._retries.deadline()]
        if self._is_open and self._sent:
            times.append(self._patient_until)
        elif self.parts and not self._is_open:
            times.append(self._opens_at)
        return min((due for due in times if due is not None), default=None)

    @property
    def _patient_until(self) -> int:
        return self._sent[0] + WAIT_NS + self._slowness * _PATIENCE_NS

    def wake(self, now: int) -> None:
        """Do what is due."""
        for place in self._retries.due(now):
            self.changed(place)
        if self._is_open and self._sent and now >= self._patient_until:
            # Over a slow link a large answer is late each time, and asked for again for ever.
            self._pull_bytes = max(self._pull_bytes // _SHRINK, PULL_BYTES_LEAST)
            self.broke(now, 0)

    def check(self) -> None:
        """Assert the invariants."""
        self._retries.check()
        assert len(self._sent) <= _UNDER_WAY_MAX
        assert all(place in self.parts for place in [*self._kept, *self._unsure])
