"""A member against the simplest broker: whatever breaks, each message has one outcome, and both sides agree on it.

The broker here is lists: which messages nobody has, who holds which lease, what was acknowledged. It never sends beyond
credit, forgets members now and then, lets leases run out, and loses answers with the stream.
"""

from random import Random

from attrs import define, field
from hypothesis import given
from hypothesis import strategies as st

from goqueue.core.client.failure import Failure
from goqueue.core.client.membership import Standing
from goqueue.core.client.settling import Saying, SettleRequest, Slip, Verb
from goqueue.core.client.work_session import GrantCredit, WorkAnswer, WorkSession, WorkTerms
from goqueue.core.requests.groups import GroupMode, Joined, JoinGroup, LeaveGroup
from goqueue.core.requests.queues import (
    AckWork,
    ExtendWork,
    NackWork,
    ReceiptRefusal,
    RejectWork,
    ReleaseWork,
    WorkDone,
)
from goqueue.core.requests.refusals import Code, Refusal
from tests.core.client.leased_parts import NOW_MS, SECOND, SPAN_MS, Held, batch, make, part
from tests.core.client.test_work_session import membership

COUNT, PREFETCH = 40, 8
JOIN = JoinGroup("crew", ["jobs"], session_timeout_ms=30_000, mode=GroupMode.SHARED)


@define
class Broker:
    """Messages 0 to COUNT of one partition."""

    ready: list[int] = field(factory=lambda: [*range(COUNT)])
    # Offset to stem, until when, and whether it was tried.
    leases: dict[int, tuple[str, int]] = field(factory=dict)
    settled: dict[int, str] = field(factory=dict)
    members: int = 0
    stems: int = 0
    known: str = ""
    credit: int = 0
    # What was done about which lease of which message.
    done: set[tuple[str, int, type]] = field(factory=set)
    # So many messages are refused for the time being.
    balks: int = 0
    answers: list[tuple[int, WorkAnswer]] = field(factory=list)

    def take(self, now: int, number: int, request: object) -> None:
        """A request comes."""
        self.expire(now)
        if isinstance(request, GrantCredit):
            self.credit += request.messages
        elif isinstance(request, JoinGroup):
            self.answers.append((number, self.join(request)))
        elif isinstance(request, LeaveGroup):
            self.ready += [*self.leases]
            self.leases.clear()
            self.answers.append((number, None))
        else:
            self.answers.append((number, self.settle(now, request)))  # type: ignore[arg-type]

    def join(self, request: JoinGroup) -> Joined | Refusal:
        if request.member_id and request.member_id != self.known:
            return Refusal(Code.UNKNOWN_MEMBER, "who?")
        if not request.member_id:
            self.members += 1
            self.known = f"m{self.members}"
        return membership(self.known)

    def settle(self, now: int, request: SettleRequest) -> WorkDone:
        done = WorkDone(0)
        for run in request.receipts:
            for offset in range(run.first_offset, run.first_offset + run.count):
                code = self.settle_one(now, request, run.stem, offset)
                if code is None:
                    done.done += 1
                else:
                    done.refusals.append(ReceiptRefusal(run.stem, offset, Refusal(code, "no")))
        return done

    def settle_one(self, now: int, request: SettleRequest, stem: str, offset: int) -> Code | None:
        if self.balks:
            self.balks -= 1
            return Code.UNAVAILABLE
        if offset in self.settled:
            return None if isinstance(request, AckWork) else Code.ALREADY_SETTLED
        if self.leases.get(offset, ("", 0))[0] != stem:
            return Code.RECEIPT_EXPIRED
        self.done.add((stem, offset, type(request)))
        if isinstance(request, ExtendWork):
            self.leases[offset] = stem, now + request.timeout_ms * 1_000_000
            return None
        del self.leases[offset]
        if isinstance(request, AckWork | RejectWork):
            self.settled[offset] = "ack" if isinstance(request, AckWork) else "reject"
        elif isinstance(request, ReleaseWork):
            self.ready.insert(0, offset)
        else:
            self.ready.append(offset)
        return None

    def expire(self, now: int) -> None:
        for offset, (_, until) in [*self.leases.items()]:
            if until <= now:
                del self.leases[offset]
                self.ready.append(offset)

    def forget(self) -> None:
        """The member's session is over."""
        self.known = ""
        self.ready += [*self.leases]
        self.leases.clear()

    def lease(self, now: int, count: int) -> tuple[str, list[int]]:
        """Lease messages as far as there is credit."""
        self.expire(now)
        count = min(count, self.credit, len(self.ready))
        offsets, self.ready = self.ready[:count], self.ready[count:]
        self.credit -= count
        self.stems += 1
        stem = f"s{self.stems}"
        self.leases.update((offset, (stem, now + SPAN_MS * 1_000_000)) for offset in offsets)
        return stem, offsets


@define
class Run:
    """A member and a broker, a stream between them, and what the application holds and has said."""

    session: WorkSession[Held]
    broker: Broker = field(factory=Broker)
    now: int = 0
    in_hand: list[Held] = field(factory=list)
    said: list[tuple[Slip, Held, Verb]] = field(factory=list)
    seen: set[tuple[str, int]] = field(factory=set)

    def step(self, what: str, count: int) -> None:
        """One thing happens."""
        session, broker = self.session, self.broker
        if what == "time":
            self.now += count * SECOND
        elif what == "cut":
            self.cut(Failure("connection_lost", "cut"))
        elif what == "forget":
            broker.forget()
            self.cut(Failure("unknown_member", "gone"))
        elif what == "lease" and session._is_joined:
            self.lease(count)
        elif what == "balk":
            broker.balks = count
        elif what == "answer":
            answers, broker.answers = broker.answers[:count], broker.answers[count:]
            for number, answer in answers:
                session.answered(self.now, number, answer)
        elif what == "hand":
            session.wake(self.now)
            chunk = session.grants.next()
            for message in chunk:
                receipt = message.grant.stem, message.offset
                assert receipt not in self.seen, "handed out twice under one lease"
                assert self.now < message.grant.half, "begun too late"
                # Without a stream nobody can know that the group has forgotten the member.
                lease = broker.leases.get(message.offset)
                assert not session._is_joined or (lease and lease[0] == message.grant.stem), "begun by two"
                self.seen.add(receipt)
            self.in_hand += chunk
        elif what in ("ack", "nack", "reject", "release") and self.in_hand:
            message = self.in_hand.pop(count % len(self.in_hand))
            self.settle(Verb(what), message)
        self.talk()
        session.check()
        assert session.credit.messages_held <= PREFETCH

    def lease(self, count: int) -> None:
        stem, offsets = self.broker.lease(self.now, count)
        if offsets:
            source = b"".join(batch(at, 5) for at in range(0, COUNT, 5))
            self.session.leased(self.now, part(source, *((offset, 1) for offset in offsets), stem=stem), NOW_MS)

    def settle(self, verb: Verb, message: Held) -> None:
        grant, offset = message.grant, message.offset
        session = self.session
        slip = session.ack(grant, offset) if verb is Verb.ACK else session.settle(Saying(verb), grant, offset)
        self.said.append((slip, message, verb))

    def cut(self, failure: Failure) -> None:
        if self.session.opens_at() is None and self.session.standing is not Standing.OVER:
            self.broker.answers.clear()
            self.broker.credit = 0
            self.session.lost(self.now, failure)

    def talk(self) -> None:
        session = self.session
        opens_at = session.opens_at()
        if opens_at is not None and opens_at <= self.now:
            session.opened()
            self.broker.credit = 0
        for number, request in session.take(self.now, is_idle=True):
            self.broker.take(self.now, number, request)

    def heal(self) -> None:
        """Nothing goes wrong any more: all that is left is worked off."""
        self.broker.balks = 0
        for _ in range(400):
            if len(self.broker.settled) == COUNT:
                return
            for what in ("answer", "lease", "hand", *["ack"] * PREFETCH, "answer"):
                self.step(what, 5)
            self.now += SECOND // 4
        raise AssertionError("the member stands still")

    def end(self) -> None:
        """Leave in order, with a broker that answers."""
        self.session.leave()
        self.in_hand.clear()
        for _ in range(200):
            if self.session.standing is Standing.OVER:
                break
            self.now += SECOND // 10
            self.step("lease", 2)
            self.step("answer", 10)
        assert self.session.standing is Standing.OVER


# Mostly what goes well, so that there is something to go wrong.
OFTEN = ("lease", "answer", "hand", "ack") * 5
STEPS = st.lists(
    st.tuples(
        st.sampled_from([*OFTEN, "nack", "reject", "release", "time", "cut", "cut", "balk", "forget"]),
        st.integers(1, 9),
    ),
    min_size=60,
    max_size=150,
)


REQUESTS = {Verb.ACK: AckWork, Verb.NACK: NackWork, Verb.REJECT: RejectWork, Verb.RELEASE: ReleaseWork}


@given(STEPS, st.integers(0, 3), st.booleans())
def test_both_sides_agree_on_every_outcome(steps: list[tuple[str, int]], seed: int, heals: bool) -> None:
    run = Run(WorkSession(WorkTerms(JOIN, PREFETCH, 1 << 20, 30 * SECOND), Random(seed), make))
    run.talk()
    run.step("answer", 1)
    for what, count in steps:
        run.step(what, count)
    if heals:
        run.heal()
    run.end()
    broker = run.broker
    for slip, message, verb in run.said:
        assert slip.is_done
        failure = slip.find(message.grant.stem, message.offset)
        was_done = (message.grant.stem, message.offset, REQUESTS[verb]) in broker.done
        if failure is None:
            assert was_done or slip.sent > 1
        else:
            assert failure.code in ("receipt_expired", "already_settled", "dropped", "unavailable")
            # Whoever had no answer, and was told to come later for too long, does not know.
            assert not was_done or failure.code in ("dropped", "unavailable")
        if failure is None and verb is Verb.ACK:
            assert message.offset in broker.settled
    # What was not settled is there for others: nothing is left with whoever is gone.
    assert sorted([*broker.ready, *broker.settled]) == [*range(COUNT)]
