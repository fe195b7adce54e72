"""A member of a group without its network: what it may read, what it is to let go of, what it asks next.

It asks what is in `core.requests.groups` as a cooperative member: one `JoinGroup`, then `WatchGroup` for as long as
it lasts, and `RevokePartitions` for what it was asked for and nobody holds any more. A watch is also the heartbeat.
Whoever drives it sends what `take` gives, brings back what becomes of that, calls `wake` in time, and follows the
`news`.

At most one request counts at a time. One that is overtaken, by a revocation or by its own time, is given up: its answer
is ignored, and the driver may break it off. So every answer that counts was made after all that were learned before it,
and each is the whole truth: what it tells replaces what was known. After a failure the first thing asked is that truth.

A partition stands in one of two ways. What is `reading` may be read. What is `revoking` the coordinator wants back:
nothing more is handed out of it, and it is confirmed only after `released`. What the coordinator no longer speaks of is
lost; so is everything when the coordinator does not know the member, which then joins again.

Between two answers nobody knows. `is_certain` says whether partitions can be another's already, by our own clock: they
can once the session is over, or once the time is over in which a member is to let go of what it may not have heard that
it should. Both are counted from when the last request that was answered was sent; the coordinator began no earlier. A
partition that is ours after such a silence may have been another's meanwhile: 1. the answers that ask for p are lost;
2. p is cut off, and another reads it; 3. that one leaves, and p is ours again, two generations on. So it is lost and
assigned, and not kept.

Time may jump. Backwards, it stands still until it has caught up; forwards, a request is given up too soon.

Invariants: `reading` and `revoking` share nothing; what is revoking was asked for; who is no member has neither.
"""

from enum import Enum
from random import Random

from attrs import define, evolve, field

from goqueue.core.client.failure import PASSING, Failure
from goqueue.core.groups.sessions import REVOCATION_NS
from goqueue.core.groups.state import Slot
from goqueue.core.requests.groups import (
    GroupBeat,
    Joined,
    JoinGroup,
    LeaveGroup,
    Partitions,
    RevokedPartitions,
    RevokePartitions,
    WatchGroup,
)
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.timers.backoff import FIRST_NS, Backoff

MS = 1_000_000
# A watch is answered at least so often, so that a member is certain while all goes well.
WAIT_NS_MAX = REVOCATION_NS // 4
# How long the answers to these are waited for. A join that is given up may have made a member that nobody is.
JOIN_NS = 10_000 * MS
LEAVE_NS = 3_000 * MS
LEAVE_ATTEMPTS_MAX = 3
_PATIENCE_DOUBLINGS_MAX = 3
# The coordinator does not know the member.
_STRANGER = (str(Code.UNKNOWN_MEMBER), str(Code.GROUP_NOT_FOUND))

MemberRequest = JoinGroup | WatchGroup | RevokePartitions | LeaveGroup


class Standing(Enum):
    """How a member stands to its group; from OVER nothing leads back."""

    OUT = "out"
    MEMBER = "member"
    LEAVING = "leaving"
    OVER = "over"


@define
class Assigned:
    """These may be read, from where the group has come in them."""

    slots: list[Slot]


@define
class Revoking:
    """These are wanted back: hand out nothing more of them, and say `released` once nobody holds them."""

    slots: list[Slot]


@define
class Kept:
    """These were to be let go of, and stay: go on where you were."""

    slots: list[Slot]


@define
class Lost:
    """These may be another's already; nothing can be committed for them."""

    slots: list[Slot]


News = Assigned | Revoking | Kept | Lost


@define
class Membership:
    """See the module."""

    _join: JoinGroup
    _random: Random
    standing: Standing = Standing.OUT
    member_id: str = ""
    generation: int = 0
    # By partition; the values say nothing, the order is that of the answers.
    reading: dict[Slot, None] = field(factory=dict)
    revoking: dict[Slot, None] = field(factory=dict)
    news: list[News] = field(factory=list)
    # The request that counts; 0 when there is none.
    live: int = 0
    # Why it is over, if it was not left.
    failure: Failure | None = None
    # What went wrong last, and since then nothing went well.
    trouble: Failure | None = None
    _request: MemberRequest | None = None
    _asked: dict[Slot, None] = field(factory=dict)
    _seen: int = 0
    _wait_ns: int = 0
    _sent: int = 0
    _due: int = 0
    _heard: int = 0
    _attempts: int = 0
    _last_number: int = 0
    # Our clock is the driver's and this much, so that it never goes back.
    _ahead_ns: int = 0
    _latest: int = 0
    _backoff: Backoff = field(init=False)

    def __attrs_post_init__(self) -> None:
        assert self._join.session_timeout_ms > 0
        assert not self._join.member_id
        assert not self._join.eager
        longest_ns = max(self._session_ns // 6, FIRST_NS)
        self._backoff = Backoff(self._random, FIRST_NS, longest_ns)
        self._wait_ns = min(self._session_ns // 3, WAIT_NS_MAX)

    @property
    def _session_ns(self) -> int:
        return self._join.session_timeout_ms * MS

    # --- what the driver does

    def take(self, now: int) -> tuple[int, MemberRequest] | None:
        """The next request and its number, if one is due; it is the one that counts from here on."""
        now = self._clock(now)
        if self.live or now < self._due or self.standing is Standing.OVER:
            return None
        self._last_number += 1
        self.live, self._sent, self._request = self._last_number, now, self._next()
        return self.live, self._request

    def answered(self, now: int, number: int, answer: Reply) -> None:
        """The coordinator's answer to a request; a refusal is one."""
        if isinstance(answer, Refusal):
            failure = Failure(str(answer.code), answer.message, answer.field, answer.retry_after_ms)
            self.failed(now, number, failure)
            return
        now = self._clock(now)
        if number != self.live:
            return
        request, self.live = self._request, 0
        self._attempts, self.trouble = 0, None
        self._due = now
        if isinstance(request, LeaveGroup):
            self._end(None)
        elif isinstance(answer, Joined):
            self._joined(answer)
        elif isinstance(answer, GroupBeat):
            assert isinstance(request, WatchGroup)
            self._pace(now, request, answer)
            self._learn(now, answer.generation, answer.assigned, answer.to_revoke, answer.seen)
        else:
            assert isinstance(answer, RevokedPartitions)
            assert isinstance(request, RevokePartitions)
            self._heard = self._sent
            for slot in _slots(request.revoked):
                self._asked.pop(slot, None)

    def failed(self, now: int, number: int, failure: Failure) -> None:
        """There was a refusal, or no answer: from the coordinator, or because nobody was there."""
        now = self._clock(now)
        if number == self.live:
            self._fail(now, failure)

    def _fail(self, now: int, failure: Failure) -> None:
        request, self.live = self._request, 0
        self._attempts += 1
        delay_ns = self._backoff.delay_ns(self._attempts)
        self._due, self._seen, self.trouble = now + max(delay_ns, failure.retry_after_ms * MS), 0, failure
        if self.standing is Standing.LEAVING:
            is_passing = failure.code in PASSING and self._attempts < LEAVE_ATTEMPTS_MAX
            if not is_passing or isinstance(request, JoinGroup):
                self._end(None)
        elif failure.code == Code.FENCED_INSTANCE:
            self._end(failure)
        elif isinstance(request, JoinGroup):
            if failure.code not in PASSING:
                self._end(failure)
        elif failure.code in _STRANGER:
            self._lose()
            if self._attempts == 1:
                self._due = now

    def released(self, now: int, slots: list[Slot]) -> None:
        """Nobody holds these any more, of those that are revoking; others are passed over."""
        now = self._clock(now)
        let_go = [slot for slot in slots if slot in self.revoking]
        for slot in let_go:
            del self.revoking[slot]
        is_free = isinstance(self._request, WatchGroup) if self.live else not self._attempts
        if let_go and is_free:
            self._overtake(now)

    def leave(self, now: int) -> None:
        """Be a member no longer, and hold nothing; what was held is not lost, and no news."""
        now = self._clock(now)
        if self.standing in (Standing.LEAVING, Standing.OVER):
            return
        self.reading, self.revoking, self._asked = {}, {}, {}
        self.news.clear()
        if self.standing is Standing.OUT and not self.live:
            self._end(None)
            return
        self.standing, self._attempts = Standing.LEAVING, 0
        # A join that is under way may make a member yet: its answer says whom to take back.
        if not isinstance(self._request, JoinGroup) or not self.live:
            self._overtake(now)

    def wake(self, now: int) -> None:
        """Do what time alone brings about."""
        now = self._clock(now)
        if self.live and now >= self._sent + self._patience_ns():
            self._fail(now, Failure("deadline_exceeded", "the group's coordinator did not answer in time"))

    def deadline(self) -> int | None:
        """When `wake` or `take` has something to do; None when it is over."""
        if self.standing is Standing.OVER:
            return None
        return (self._sent + self._patience_ns() if self.live else self._due) - self._ahead_ns

    def is_certain(self, now: int) -> bool:
        """Whether what is `reading` is nobody else's: the session lasts, as far as can be known here."""
        return self.standing is Standing.MEMBER and self._clock(now) < self._certain_until()

    def _certain_until(self) -> int:
        return self._heard + min(self._session_ns, REVOCATION_NS)

    # --- what is asked

    def _next(self) -> MemberRequest:
        group = self._join.group
        if self.standing is Standing.OUT:
            return evolve(self._join)
        if self.standing is Standing.LEAVING:
            return LeaveGroup(group, self.member_id)
        freed = [slot for slot in self._asked if slot not in self.revoking and slot not in self.reading]
        if freed:
            return RevokePartitions(group, self.member_id, self.generation, _partitions(freed))
        return WatchGroup(group, self.member_id, self._seen, self._wait_ns)

    def _patience_ns(self) -> int:
        """How long the present request may take: longer after each that failed, for a coordinator that is slow."""
        if isinstance(self._request, JoinGroup):
            return JOIN_NS
        if isinstance(self._request, LeaveGroup):
            return LEAVE_NS
        wait_ns = self._wait_ns if isinstance(self._request, WatchGroup) and self._request.seen else 0
        return wait_ns + (self._session_ns // 6 << min(self._attempts, _PATIENCE_DOUBLINGS_MAX))

    def _pace(self, now: int, request: WatchGroup, answer: GroupBeat) -> None:
        """Who is answered at once, and hears nothing that it did not know, is not to ask at once again."""
        if answer.seen == request.seen:
            self._due = max(now, self._sent + self._wait_ns // 2)

    def _overtake(self, now: int) -> None:
        self.live, self._due = 0, now

    # --- what is learned

    def _joined(self, answer: Joined) -> None:
        self.member_id = answer.member_id
        if self.standing is Standing.LEAVING:
            return
        assert self.standing is Standing.OUT
        assert not self.reading
        self.standing, self.generation = Standing.MEMBER, answer.generation
        self._wait_ns = min(answer.heartbeat_interval_ms * MS or self._wait_ns, self._wait_ns)
        self._learn(self._sent, answer.generation, answer.assigned, answer.to_revoke, answer.seen)

    def _learn(self, now: int, generation: int, assigned: Partitions, to_revoke: Partitions, seen: int) -> None:
        """What the coordinator says replaces what was known."""
        is_continuous = generation <= self.generation + 1 or now < self._certain_until()
        self._heard, self._seen, self.generation = self._sent, seen, generation
        mine, asked = dict.fromkeys(_slots(assigned)), dict.fromkeys(_slots(to_revoke))
        held = [*self.reading, *self.revoking]
        lost = [slot for slot in held if not is_continuous or (slot not in mine and slot not in asked)]
        for slot in lost:
            self.reading.pop(slot, None)
            self.revoking.pop(slot, None)
        kept = [slot for slot in self.revoking if slot in mine]
        wanted = [slot for slot in self.reading if slot in asked]
        gained = [slot for slot in mine if slot not in self.reading and slot not in self.revoking]
        self.revoking = {slot: None for slot in [*self.revoking, *wanted] if slot in asked}
        self.reading, self._asked = mine, asked
        self._tell(Lost(lost), Kept(kept), Revoking(wanted), Assigned(gained))

    def _tell(self, *news: News) -> None:
        self.news.extend(one for one in news if one.slots)

    def _lose(self) -> None:
        """The membership is gone, and all that came with it; join again."""
        held = [*self.reading, *self.revoking]
        self.reading, self.revoking, self._asked = {}, {}, {}
        self.standing, self.member_id, self.generation = Standing.OUT, "", 0
        self._tell(Lost(held))

    def _end(self, failure: Failure | None) -> None:
        self._lose()
        self.standing, self.failure, self.live = Standing.OVER, failure, 0

    # --- time, and what must hold

    def _clock(self, now: int) -> int:
        now += self._ahead_ns
        if now < self._latest:
            self._ahead_ns += self._latest - now
            now = self._latest
        self._latest = now
        return now

    def check(self) -> None:
        """Assert the invariants."""
        assert self.reading.keys().isdisjoint(self.revoking)
        assert self.revoking.keys() <= self._asked.keys()
        assert self.reading.keys().isdisjoint(self._asked)
        if self.standing is not Standing.MEMBER:
            assert not self.reading
            assert not self.revoking
        assert (self.standing is Standing.MEMBER) <= bool(self.member_id)
        assert self.live in (0, self._last_number)
        assert self.standing is not Standing.OVER or not self.live
        assert self._heard <= self._sent <= self._latest


def _slots(partitions: Partitions) -> list[Slot]:
    return [(topic, partition) for topic, numbers in partitions.items() for partition in numbers]


def _partitions(slots: list[Slot]) -> Partitions:
    found: Partitions = {}
    for topic, partition in sorted(slots):
        found.setdefault(topic, []).append(partition)
    return found
