"""A member of a shared group without its network: joined by one stream after another, given messages, heard of them.

Whoever drives it opens a stream, tells what comes on it, and sends what `take` gives: first a join, then credit and
what became of messages. An open stream is all it takes to stay a member. When one breaks, the next one joins under the
same member id: what is held stays held, what had no answer is said again, and credit begins anew with what there is
room for. Where the group has forgotten the member its leases are over: what was not begun is forgotten here, and what
was begun is refused by the broker when it is settled, which whoever settles it is told.

Each message in hand is somebody's to settle. For those that somebody is at work on, `tend`, leases are prolonged when
half of them is over, and again, until they are settled. What waits and was not begun is handed back when half of its
lease is over.

Leaving: what was not begun is handed back at once, what was begun and is open is given back as failed if the member is
left by an error, and else is the broker's to hand back. What was said is sent and its answers are awaited; then the
member leaves. Whoever waits no longer calls `abandon`.

Invariants: those of its parts; messages are held only from joining until it is over.
"""

from random import Random
from typing import Generic, TypeVar

from attrs import define, evolve, field

from goqueue.core.client.credit import Credit
from goqueue.core.client.decoding import Make
from goqueue.core.client.failure import PASSING, Failure
from goqueue.core.client.grants import MS, Claim, Grant, Grants
from goqueue.core.client.membership import JOIN_NS, Standing
from goqueue.core.client.settling import Saying, SettleRequest, Settling, Slip, Verb, failure_of
from goqueue.core.requests.groups import Joined, JoinGroup, LeaveGroup
from goqueue.core.requests.queues import LeasedBatches, ReceiptRun, WorkDone
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.timers.backoff import Backoff

T = TypeVar("T")

# A lease is prolonged for so long at least.
SPAN_MS_MIN = 1_000
_STRANGER = (str(Code.UNKNOWN_MEMBER), str(Code.GROUP_NOT_FOUND))


@define
class GrantCredit:
    """The broker may send so many messages and bytes more; leases last for `visibility_ms` unless that is 0."""

    messages: int
    size: int
    visibility_ms: int = 0


@define
class WorkTerms:
    """What a member was asked to be, checked."""

    join: JoinGroup
    prefetch: int
    prefetch_bytes: int
    # How long something is tried that cannot be done for now.
    timeout_ns: int
    # 0 for the group's, or else the topic's.
    visibility_ms: int = 0


@define(eq=False)
class Tended:
    """A message that somebody is at work on, and until when its lease lasts by our clock."""

    grant: Grant
    offset: int
    until: int
    due: int
    # Whether the broker refused to prolong the lease, and why.
    failure: Failure | None = None
    slip: Slip | None = None


WorkRequest = JoinGroup | LeaveGroup | GrantCredit | SettleRequest
WorkAnswer = Joined | WorkDone | Refusal | None


@define(eq=False)
class WorkSession(Generic[T]):
    """See the module."""

    _terms: WorkTerms
    _random: Random
    _make: Make[Claim, T]
    standing: Standing = Standing.OUT
    member_id: str = ""
    # Why it is over, if it was not left; and what went wrong last, if nothing went well since.
    failure: Failure | None = None
    trouble: Failure | None = None
    # How often a lease was prolonged, and how many messages were handed back for having waited.
    prolonged: int = 0
    handed_back: int = 0
    # How often the group had forgotten the member.
    forgotten: int = 0
    credit: Credit = field(init=False)
    grants: Grants[T] = field(init=False)
    settling: Settling = field(init=False)
    _tended: dict[Tended, None] = field(factory=dict)
    _number: int = 0
    _joining: int = 0
    _join_due: int = 0
    _leaving: int = 0
    _is_open: bool = False
    _is_joined: bool = False
    _is_retired: bool = False
    _attempts: int = 0
    # No stream is to be opened before this time.
    _due: int = 0
    _backoff: Backoff = field(init=False)

    def __attrs_post_init__(self) -> None:
        terms = self._terms
        self.credit = Credit(terms.prefetch, terms.prefetch_bytes)
        self.grants = Grants(self._make, self.credit)
        self.settling = Settling(terms.timeout_ns)
        self._backoff = Backoff(self._random)

    # --- streams

    def opens_at(self) -> int | None:
        """When to open a stream; None while one is open, and when none is wanted any more."""
        return None if self._is_open or self.standing is Standing.OVER else self._due

    def opened(self) -> None:
        """There is a new stream."""
        assert not self._is_open
        self._is_open, self._is_joined, self._joining, self._leaving = True, False, 0, 0
        self.credit.begin()

    def lost(self, now: int, failure: Failure) -> None:
        """The stream is over, or there was none to be had."""
        self._is_open = self._is_joined = False
        self._joining = 0
        self.settling.lost()
        if self.standing is Standing.OVER:
            return
        self.trouble = failure
        if failure.code in _STRANGER:
            self._forget_member(now)
            return
        if failure.code not in PASSING:
            self._end(failure)
            return
        self._attempts += 1
        self._due = now + max(self._backoff.delay_ns(self._attempts), failure.retry_after_ms * MS)

    def _forget_member(self, now: int) -> None:
        """The group does not know us: join anew, at once unless that was so before."""
        self.member_id = ""
        self.forgotten += 1
        self.grants.take_waiting()
        self._attempts += 1
        self._due = now if self._attempts == 1 else now + self._backoff.delay_ns(self._attempts)
        if self.standing is Standing.LEAVING:
            self._end(None)
        else:
            self.standing = Standing.OUT

    def _end(self, failure: Failure | None) -> None:
        self.standing, self.failure = Standing.OVER, failure
        said = "the consumer was left" if failure is None else failure.message
        self.settling.close(f"{said}, before this was settled")
        self.grants.take_open()
        self._tended.clear()

    # --- what is sent

    def take(self, now: int, *, is_idle: bool) -> list[tuple[int, WorkRequest]]:
        """What to send, in order, with its numbers; `is_idle` when the application has nothing left to be handed."""
        self.wake(now)
        if not self._is_open or self.standing is Standing.OVER:
            return []
        if not self._is_joined:
            return self._join(now)
        requests: list[tuple[int, WorkRequest]] = []
        settling = self.settling
        if settling.wants_out:
            requests += settling.take(now, self._number + 1)
            self._number += len(requests)
        if self.standing is Standing.LEAVING:
            if settling.is_idle and not self._leaving:
                self._leaving = self._next_number()
                requests.append((self._leaving, LeaveGroup(self._terms.join.group, self.member_id)))
        elif not self._is_retired and not settling.is_clogged:
            granted = self.credit.take(is_idle=is_idle)
            if granted is not None:
                requests.append((0, GrantCredit(*granted, self._terms.visibility_ms)))
        return requests

    def _join(self, now: int) -> list[tuple[int, WorkRequest]]:
        if self._joining:
            return []
        if self.standing is Standing.LEAVING and not self.member_id:
            self._end(None)
            return []
        self._joining, self._join_due = self._next_number(), now + JOIN_NS
        return [(self._joining, evolve(self._terms.join, member_id=self.member_id))]

    def _next_number(self) -> int:
        self._number += 1
        return self._number

    @property
    def is_urgent(self) -> bool:
        """Whether so much waits to be said that it should not wait for more."""
        return self.settling.waiting * 4 >= self._terms.prefetch

    # --- what comes

    def answered(self, now: int, number: int, answer: WorkAnswer) -> None:
        """The answer to a request; a refusal is one."""
        if isinstance(answer, Refusal):
            self._refused(now, number, failure_of(answer))
        elif isinstance(answer, WorkDone):
            self.settling.answered(now, number, answer)
            self._attempts, self.trouble = 0, None
        elif isinstance(answer, Joined):
            if number == self._joining:
                self._joined(answer)
        elif number == self._leaving and self.standing is Standing.LEAVING:
            self._end(None)

    def _joined(self, answer: Joined) -> None:
        self._joining, self._is_joined, self.member_id = 0, True, answer.member_id
        self._attempts, self.trouble = 0, None
        if self.standing is Standing.OUT:
            self.standing = Standing.MEMBER

    def _refused(self, now: int, number: int, failure: Failure) -> None:
        if number == self._leaving:
            self._end(None)
        elif number == self._joining:
            self.trouble = failure
            if failure.code in _STRANGER and self.member_id:
                self._joining = 0
                self._forget_member(now)
            elif failure.code in PASSING:
                self.lost(now, failure)
            else:
                self._end(failure)
        else:
            self.settling.refused(now, number, failure)

    def leased(self, now: int, part: LeasedBatches, now_ms: int) -> None:
        """Messages came."""
        self.grants.received(now, part, now_ms)
        if self._is_retired or self.standing is not Standing.MEMBER:
            self.settling.release(self.grants.take_waiting())

    def damaged(self, reason: str) -> None:
        """What was to be handed out next cannot be read: it failed."""
        self._say_all(Saying(Verb.NACK, reason=reason), self.grants.take_damaged())

    # --- what is said of messages

    def ack(self, grant: Grant, offset: int) -> Slip:
        """This message is done."""
        # What `Grants.settle` does, spelled here: it is done for every message there is.
        at = offset - grant.first
        if not grant.settled[at]:
            grant.settled[at] = 1
            grant.left -= 1
            credit = self.credit
            credit.messages_held -= 1
            credit.bytes_held -= grant.bytes_each
            if not grant.left:
                del self.grants.held[grant]
        return self.settling.ack(grant, offset)

    def settle(self, saying: Saying, grant: Grant, offset: int) -> Slip:
        """This becomes of a message; to prolong its lease settles nothing."""
        if saying.verb is not Verb.EXTEND and not grant.settled[offset - grant.first]:
            self.grants.settle(grant, offset)
        return self.settling.say(saying, grant.stem, offset)

    def hand_back(self, messages: list[tuple[Grant, int]]) -> None:
        """These were made and not begun."""
        for grant, offset in messages:
            self.settling.release(self.grants.give_back(grant, (offset,)))
        self.handed_back += len(messages)

    def discard(self, messages: list[tuple[Grant, int]]) -> None:
        """These were made and not begun, and their leases are over."""
        for grant, offset in messages:
            self.grants.give_back(grant, (offset,))

    def _say_all(self, saying: Saying, runs: list[ReceiptRun]) -> None:
        for run in runs:
            for offset in range(run.first_offset, run.first_offset + run.count):
                self.settling.say(saying, run.stem, offset)

    # --- leases that are looked after

    def tend(self, now: int, grant: Grant, offset: int) -> Tended:
        """Somebody is at work on this message."""
        tended = Tended(grant, offset, grant.until, max(grant.half, now))
        self._tended[tended] = None
        return tended

    def is_first(self, tended: Tended) -> bool:
        """Whether it is the first whose lease is to be prolonged, as far as that is known without looking at all."""
        return next(iter(self._tended)) is tended

    def untend(self, tended: Tended) -> None:
        """Nobody is any more."""
        self._tended.pop(tended, None)

    def wake(self, now: int) -> None:
        """Do what time alone brings about."""
        self.settling.wake(now)
        deadline = self.grants.deadline()
        if deadline is not None and deadline <= now:
            runs = self.grants.take_waiting(now)
            self.handed_back += sum(run.count for run in runs)
            self.settling.release(runs)
        if self._joining and now >= self._join_due:
            self.lost(now, Failure("deadline_exceeded", "the group's coordinator did not answer in time"))
        for tended in [tended for tended in self._tended if tended.due <= now]:
            self._prolong(now, tended)

    def _prolong(self, now: int, tended: Tended) -> None:
        slip, grant = tended.slip, tended.grant
        if slip is not None and slip.is_done:
            tended.failure = slip.find(grant.stem, tended.offset)
            if tended.failure is not None:
                # Whoever settles it is told so by the broker.
                self.untend(tended)
                return
        span_ms = max(grant.span_ns // MS, SPAN_MS_MIN)
        tended.slip = self.settling.say(Saying(Verb.EXTEND, timeout_ms=span_ms), grant.stem, tended.offset)
        tended.until, tended.due = now + span_ms * MS, now + span_ms * MS // 2
        self.prolonged += 1

    def deadline(self) -> int | None:
        """When `take` has something to do for time's sake; None when it is over."""
        if self.standing is Standing.OVER:
            return None
        times = [tended.due for tended in self._tended]
        if self._joining:
            times.append(self._join_due)
        times += [time for time in (self.grants.deadline(), self.settling.deadline()) if time is not None]
        return min(times, default=None)

    # --- the end

    def retire(self) -> None:
        """Begin nothing more: what waits is handed back, and so is what comes yet; what is in hand is finished."""
        self._is_retired = True
        self.settling.release(self.grants.take_waiting())

    def leave(self, *, why: str = "") -> None:
        """Be a member no longer; `why` says what went wrong with what was begun, if something did."""
        if self.standing in (Standing.LEAVING, Standing.OVER):
            return
        self.standing = Standing.LEAVING
        self._tended.clear()
        self.settling.release(self.grants.take_waiting())
        if why:
            self._say_all(Saying(Verb.NACK, reason=why), self.grants.take_open())
        else:
            self.grants.take_open()
        if not self._is_open and not self.member_id:
            self._end(None)

    def abandon(self) -> None:
        """Wait for nothing more."""
        if self.standing is not Standing.OVER:
            self._end(None)

    def check(self) -> None:
        """Assert the invariants."""
        self.grants.check()
        self.settling.check()
        assert not self._is_joined or self._is_open
        if self.standing in (Standing.LEAVING, Standing.OVER):
            assert not self.grants.held
            assert not self._tended
        assert self.standing is not Standing.OVER or self.settling.is_idle
