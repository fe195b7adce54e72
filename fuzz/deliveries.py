"""What work queues gave to whom, and what was said of it: a fate for each message in each group.

What a member says counts from when it came to the node, answered or not: a lease of which anything was said may be
over. What the node says counts from when it said so. A lease lasts at least from when the poll was asked for as long
as it was promised; sessions that can have run out and members that can have left end it.

A group that somebody wanted reset or deleted is nobody's promise any more. Not here: what is wrong with any of it
(`checkers/`).
"""

from collections.abc import Iterator

from attrs import define, field

from goqueue.core.queues.receipts import read_stem
from goqueue.core.records.batch import split
from goqueue.core.records.record import Record, iterate
from goqueue.core.requests.groups import DeleteGroup, Joined, JoinGroup, LeaveGroup, ResetOffsets
from goqueue.core.requests.queues import (
    AckWork,
    ExtendWork,
    LeasedBatches,
    LeaseRun,
    NackWork,
    PolledWork,
    PollWork,
    RejectWork,
    ReleaseWork,
    WorkDone,
)
from goqueue.core.requests.refusals import Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request

Spot = tuple[str, int, int, int]
"""A group, a topic by its id, a partition and an offset."""

Showing = AckWork | NackWork | RejectWork | ExtendWork | ReleaseWork
_SHOWING = (AckWork, NackWork, RejectWork, ExtendWork, ReleaseWork)


@define(eq=False)
class Hold:
    """A lease as its member knows it: certain until a moment, unless something was said of it before."""

    spot: Spot
    member_id: str
    attempt: int
    until: int
    # The last request that was to extend it.
    extension: Request | None = None
    # Whether anything was said that may have ended it, and whether it was handed back, perhaps or for certain.
    may_be_over: bool = False
    may_be_released: bool = False
    is_released: bool = False
    has_failed: bool = False


@define(eq=False)
class Fate:
    """What became of a message in a group."""

    holds: list[Hold] = field(factory=list)
    attempt: int = 0
    # Which attempt the next one is at least.
    attempt_least: int = 0
    # Whether an acknowledgement was answered; whether one, or something else that may end it, was ever sent.
    is_acked: bool = False
    may_be_acked: bool = False
    may_be_settled: bool = False
    may_be_dead: bool = False


@define(eq=False)
class Employment:
    """A member of a shared group: how long it may be silent, and when it was last heard of."""

    group: str
    session_ns: int
    heard: int
    has_left: bool = False
    # Whether it was ever to leave: then what it had may have been handed back, and counts as not tried.
    may_have_left: bool = False

    def lives(self, now: int) -> bool:
        """Whether its session cannot be over."""
        return not self.has_left and now < self.heard + self.session_ns


@define
class Terms:
    """What a shared group was made with."""

    span_ns: int
    attempts_max: int
    key_ordered: bool


@define
class Given:
    """One message of an answer to a poll."""

    spot: Spot
    run: LeaseRun
    record: Record


@define
class Deliveries:
    """All fates, by group and message."""

    fates: dict[Spot, Fate] = field(factory=dict)
    terms: dict[str, Terms] = field(factory=dict)
    # Groups of which nothing is promised, for somebody meddled with them.
    meddled: set[str] = field(factory=set)
    # How many polls of a group had no answer that anybody heard: each may have been an attempt of any message.
    unheard: dict[str, int] = field(factory=dict)
    _members: dict[str, Employment] = field(factory=dict)
    _holds: dict[tuple[str, int], Hold] = field(factory=dict)

    def groups(self) -> list[str]:
        """The groups that somebody has belonged to, and nobody meddled with."""
        joined = dict.fromkeys(member.group for member in self._members.values())
        return [group for group in joined if group not in self.meddled]

    def fate(self, spot: Spot) -> Fate:
        """What became of a message."""
        return self.fates.setdefault(spot, Fate())

    # --- what is asked

    def asked(self, now: int, request: Request, *, coordinates: bool) -> None:
        """Note what may come of a request, to the coordinator or to another node."""
        if isinstance(request, PollWork):
            self.heard(request.member_id, now, counts=coordinates)
        elif isinstance(request, LeaveGroup) and request.member_id in self._members:
            member = self._members[request.member_id]
            member.has_left = member.may_have_left = True
        elif isinstance(request, DeleteGroup | ResetOffsets) and request.group in self.terms:
            self.meddled.add(request.group)
            self._forget(request.group)
        elif isinstance(request, _SHOWING):
            for hold in self.shown(request):
                self._said(now, request, hold)

    def shown(self, request: Showing) -> Iterator[Hold]:
        """The leases that a request shows receipts of."""
        return (hold for hold, _ in self.holds_of(request))

    def holds_of(self, request: Showing) -> Iterator[tuple[Hold, str]]:
        """The same with the stems of the receipts."""
        for run in request.receipts:
            for offset in range(run.first_offset, run.first_offset + run.count):
                hold = self._holds.get((run.stem, offset))
                if hold is not None:
                    yield hold, run.stem

    def _said(self, now: int, request: Showing, hold: Hold) -> None:
        fate, terms = self.fate(hold.spot), self.terms[hold.spot[0]]
        if isinstance(request, ExtendWork):
            hold.extension = request
            hold.until = min(hold.until, now + request.timeout_ms * 1_000_000)
            fate.may_be_dead = fate.may_be_dead or hold.attempt >= terms.attempts_max
            return
        hold.may_be_over = True
        hold.may_be_released = hold.may_be_released or isinstance(request, ReleaseWork)
        fate.may_be_acked = fate.may_be_acked or isinstance(request, AckWork)
        is_last = hold.attempt >= terms.attempts_max
        fate.may_be_settled = fate.may_be_settled or isinstance(request, AckWork | RejectWork) or is_last
        fate.may_be_dead = fate.may_be_dead or isinstance(request, RejectWork) or is_last

    def heard(self, member_id: str, now: int, *, counts: bool = True) -> None:
        """A member has spoken; that counts once the coordinator has heard of it."""
        member = self._members.get(member_id)
        if member is not None and member.lives(now):
            member.heard = now if counts else member.heard
        elif member is not None:
            # It may have been given up before it spoke.
            member.has_left = True

    def _forget(self, group: str) -> None:
        for spot in [spot for spot in self.fates if spot[0] == group]:
            del self.fates[spot]
        for key in [key for key, hold in self._holds.items() if hold.spot[0] == group]:
            del self._holds[key]

    def unanswered(self, request: Request) -> None:
        """A request has no answer, or one that nobody waits for."""
        if isinstance(request, PollWork):
            self.unheard[request.group] = self.unheard.get(request.group, 0) + 1

    # --- what is answered

    def answered(self, asked_at: int, now: int, request: Request, reply: Reply) -> None:
        """Note what an answer promises; what polls gave is noted by `give`."""
        if isinstance(request, JoinGroup) and isinstance(reply, Joined) and request.group in self.terms:
            self._members[reply.member_id] = Employment(request.group, request.session_timeout_ms * 1_000_000, asked_at)
        elif isinstance(reply, Refusal):
            self.unanswered(request)
        elif isinstance(request, ExtendWork) and isinstance(reply, WorkDone):
            for hold in self.done(request, reply):
                if hold.extension is request:
                    hold.until = max(hold.until, asked_at + request.timeout_ms * 1_000_000)
        elif isinstance(request, NackWork) and isinstance(reply, WorkDone):
            for hold in self.done(request, reply):
                self.fate(hold.spot).attempt_least = hold.attempt + 1
                hold.has_failed = not hold.is_released
        elif isinstance(request, ReleaseWork) and isinstance(reply, WorkDone):
            for hold in self.done(request, reply):
                hold.is_released = not hold.has_failed

    def done(self, request: Showing, reply: WorkDone) -> list[Hold]:
        """The leases for which an answer says that it was done."""
        refused = {(one.stem, one.offset) for one in reply.refusals}
        return [hold for hold, stem in self.holds_of(request) if (stem, hold.spot[3]) not in refused]

    def given(
        self, group: str, topics: dict[str, int], rotten: set[tuple[int, int]], reply: PolledWork
    ) -> Iterator[Given]:
        """The messages of an answer, in order, of topics that are known by these ids, where no bits have rotted."""
        for part in reply.parts:
            topic_id = topics.get(part.topic)
            if topic_id is not None and (topic_id, part.partition) not in rotten:
                yield from _given(group, topic_id, part)

    def give(self, asked_at: int, member_id: str, given: Given) -> None:
        """A message was given to a member."""
        fate, terms, run = self.fate(given.spot), self.terms[given.spot[0]], given.run
        hold = Hold(given.spot, member_id, run.attempt, asked_at + terms.span_ns)
        self._holds[run.stem, given.spot[3]] = hold
        fate.holds.append(hold)
        fate.attempt = run.attempt

    def has_left(self, member_id: str) -> bool:
        """Whether a member has asked to leave: what it is given after that was its own before, and is no more."""
        member = self._members.get(member_id)
        return member is not None and member.has_left

    def was_given(self, spot: Spot, lease: int) -> bool:
        """Whether anybody was told that it has a message, under the lease of a number."""
        return any(hold.spot == spot and read_stem(stem).lease == lease for (stem, _), hold in self._holds.items())

    def is_late(self, given: Given) -> bool:
        """Whether a message was leased again since: an answer from another node may be long on its way."""
        lease = read_stem(given.run.stem).lease
        return any(hold.spot == given.spot and read_stem(stem).lease > lease for (stem, _), hold in self._holds.items())

    def live(self, now: int, fate: Fate) -> Hold | None:
        """A lease that cannot be over, if there is one; leases that are over by time may have been the last."""
        for hold in fate.holds:
            member = self._members.get(hold.member_id)
            if not hold.may_be_over and now < hold.until and member is not None and member.lives(now):
                return hold
        return None

    def may_have_failed(self, now: int, spot: Spot) -> bool:
        """Whether a message may be a dead letter, since its last lease may have run out."""
        fate, terms = self.fate(spot), self.terms[spot[0]]
        if fate.attempt + self.unheard.get(spot[0], 0) >= terms.attempts_max > fate.attempt:
            return True
        last = [hold for hold in fate.holds if hold.attempt >= terms.attempts_max]
        return fate.may_be_dead or any(self.live(now, Fate([hold])) is None for hold in last)

    def next_attempt(self, now: int, spot: Spot) -> int | None:
        """Which attempt the next one of a message is; None where it hangs on what nobody has heard."""
        fate = self.fate(spot)
        if self.unheard.get(spot[0], 0):
            return None
        if not fate.holds:
            return 1
        last = fate.holds[-1]
        member = self._members.get(last.member_id)
        is_told = last.is_released or last.has_failed
        if member is None or not member.lives(now) or (last.may_be_released and not is_told):
            return None
        return last.attempt if last.is_released else last.attempt + 1

    def attempt_least(self, spot: Spot) -> int:
        """Which attempt the next one of a message is at least: all that was not handed back was tried."""
        fate = self.fate(spot)
        least = max(fate.attempt, fate.attempt_least)
        for hold in fate.holds[-1:]:
            member = self._members.get(hold.member_id)
            if member is not None and not member.may_have_left and not hold.may_be_released:
                least = max(least, hold.attempt + 1)
        return least

    def lost(self, topic_ids: set[int]) -> None:
        """A crash has taken back what was promised of some topics."""
        for spot in [spot for spot in self.fates if spot[1] in topic_ids]:
            del self.fates[spot]


def _given(group: str, topic_id: int, part: LeasedBatches) -> Iterator[Given]:
    records = {record.offset: record for batch in split(part.batches) for record in iterate(batch)}
    for run in part.leases:
        for offset in range(run.first_offset, run.first_offset + run.count):
            yield Given((group, topic_id, part.partition, offset), run, records[offset])
