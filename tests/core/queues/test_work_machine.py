"""Whatever members do, and wherever the node is cut off: every message comes to one end, and to no other.

The model is a dict of messages. It knows who has each until when, what was settled, and the earliest time at which each
may be seen again; it does not guess how long a pause is, only that it is neither shorter nor longer than may be. A
crash takes back what was not durable, and the model goes back with it.
"""

from copy import deepcopy

from attrs import define, field
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from goqueue.core.cluster.queue_settings import WorkSettings
from goqueue.core.queues.proving import Outcome
from goqueue.core.queues.queue import EPOCH_BITS
from goqueue.core.queues.receipts import STEM_LETTERS, read_stem
from tests.core.queues.worked import ABSENT, MS, Worked, attempts, spelled

PICKS = st.lists(st.integers(0, 1 << 16), min_size=1, max_size=8)
MEMBERS = st.sampled_from(["a", "b", "c"])
MAX_ATTEMPTS = 3
BACKOFF_MS = 400
LONGEST_MS = 1_000
VISIBILITY_MS = 2_000


@define
class Message:
    """A message as the model knows it; `end` is how it was settled, or dead, "" while it is neither."""

    end: str = ""
    failures: int = 0
    lease: int = 0
    member: str = ""
    # While leased, the lease is not over before the first and over at the second; else it is seen again in between.
    earliest: int = 0
    latest: int = 0


@define
class Model:
    """All messages that were ever given to anybody, and every receipt that was."""

    messages: dict[int, Message] = field(factory=dict)
    receipts: dict[str, tuple[int, int]] = field(factory=dict)
    floor: int = 0


class WorkMachine(RuleBasedStateMachine):
    """One queue, three members, and a node that may go down."""

    @initialize(key_ordered=st.booleans(), max_in_flight=st.sampled_from([5, 40]), held_max=st.sampled_from([3, 100]))
    def begin(self, key_ordered: bool, max_in_flight: int, held_max: int) -> None:
        """A queue of some settings."""
        self.settings = WorkSettings(
            VISIBILITY_MS, MAX_ATTEMPTS, BACKOFF_MS, LONGEST_MS, max_in_flight, key_ordered, held_max
        )
        self.worked = Worked(self.settings)
        self.model = Model()
        self.durable = Model()

    # --- what the model makes of it

    @property
    def now(self) -> int:
        """The present."""
        return self.worked.now

    def fail(self, message: Message, delay_ms: int | None = None) -> None:
        """A try came to nothing."""
        message.failures += 1
        message.lease = 0
        if message.failures >= MAX_ATTEMPTS:
            message.end = "dead"
            return
        span_ms = min(BACKOFF_MS << message.failures - 1, LONGEST_MS) if delay_ms is None else delay_ms
        message.earliest = self.now + (span_ms // 2 if delay_ms is None else span_ms) * MS
        message.latest = self.now + span_ms * MS

    def follow_time(self) -> None:
        """Leases that are over have failed; between the earliest and the latest, the queue says whether they are."""
        self.worked.queue.wake(self.now)
        for offset, message in self.model.messages.items():
            if message.lease and message.earliest <= self.now:
                lease = self.worked.queue.ledger.leases.get(message.lease)
                is_open = lease is not None and lease.at(offset) >= 0
                assert not (is_open and message.latest <= self.now), "a lease outlived its time"
                if not is_open:
                    self.fail(message)

    def held(self, receipt: str) -> Message | None:
        """The message that a receipt stands for, if its lease is alive."""
        lease, offset = self.model.receipts[receipt]
        message = self.model.messages.get(offset)
        return message if message is not None and message.lease == lease else None

    def chosen(self, picks: list[int]) -> list[str]:
        """Some receipts, newest first."""
        receipts = [*reversed(self.model.receipts)]
        return [*dict.fromkeys(receipts[pick % len(receipts)] for pick in picks)] if receipts else []

    def expect(self, receipts: list[str], outcomes: list[Outcome]) -> list[Message]:
        """Hold answers against the model; the messages that the call is about."""
        done = []
        for receipt, outcome in zip(receipts, outcomes, strict=True):
            message = self.held(receipt)
            if message is not None:
                assert outcome is Outcome.DONE
                done.append(message)
            else:
                offset = self.model.receipts[receipt][1]
                known = self.model.messages.get(offset)
                is_settled = offset < self.model.floor or (known is not None and known.end == "settled")
                assert outcome is (Outcome.SETTLED if is_settled else Outcome.STALE)
        return done

    # --- what happens

    @rule(count=st.integers(1, 30), key=st.sampled_from([None, ABSENT, 1, 2, 3, 3]))
    def publish(self, count: int, key: int | None) -> None:
        """Messages more, or a gap in them."""
        self.worked.publish(count, key)

    @rule(keys=st.lists(st.sampled_from([None, ABSENT, 1, 2, 3, 4, 5]), min_size=1, max_size=20))
    def publish_mixed(self, keys: list[int | None]) -> None:
        """Messages of several keys."""
        self.worked.keys += keys

    @rule(member=MEMBERS, count=st.integers(1, 30), span_ms=st.sampled_from([0, 0, 500, 5_000]))
    def poll(self, member: str, count: int, span_ms: int) -> None:
        """A member is given what nobody has, of each key only the first, and not before its time."""
        self.follow_time()
        grant = self.worked.poll(member, count, span_ms)
        for offset in sorted(self.worked.expired):
            if self.worked.queue.ledger.reasons.get(offset) == "expired":
                message = self.model.messages.setdefault(offset, Message())
                assert not message.lease
                assert message.end in ("", "dead")
                message.end = "dead"
        if grant is None:
            return
        given = spelled(grant)
        assert len(given) <= count
        until = self.now + (span_ms or VISIBILITY_MS) * MS
        for offset, attempt in attempts(grant).items():
            message, receipt = self.model.messages.setdefault(offset, Message()), given[offset]
            assert not message.end
            assert not message.lease
            assert message.earliest <= self.now, "it came early"
            assert attempt == message.failures + 1
            assert self.worked.keys[offset] != ABSENT
            assert offset not in self.worked.expired
            message.lease, message.member = grant.lease, member
            message.earliest = message.latest = until
            self.model.receipts[receipt] = (grant.lease, offset)
            assert read_stem(receipt[:STEM_LETTERS]).lease >> EPOCH_BITS == self.worked.epoch
        self.is_ordered([*given])

    @rule(picks=PICKS)
    def expire(self, picks: list[int]) -> None:
        """The time of some messages is over."""
        if self.worked.keys:
            self.worked.expired.update(pick % len(self.worked.keys) for pick in picks)

    def is_ordered(self, offsets: list[int]) -> None:
        """In a queue ordered by key, all that comes before in its key is done with."""
        if self.settings.key_ordered:
            for offset in offsets:
                key = self.worked.keys[offset]
                before = [each for each in range(self.model.floor, offset) if self.worked.keys[each] == key]
                if key is not None:
                    assert all(self.model.messages[each].end for each in before)

    @rule(picks=PICKS)
    def ack(self, picks: list[int]) -> None:
        """Messages are done."""
        receipts = self.chosen(picks)
        self.follow_time()
        for message in self.expect(receipts, self.worked.ack(self.now, receipts)):
            message.end, message.lease = "settled", 0

    @rule(picks=PICKS, delay_ms=st.sampled_from([None, 0, 300, 3_000]))
    def nack(self, picks: list[int], delay_ms: int | None) -> None:
        """Messages failed."""
        receipts = self.chosen(picks)
        self.follow_time()
        for message in self.expect(receipts, self.worked.nack(self.now, receipts, delay_ms)):
            self.fail(message, delay_ms)

    @rule(picks=PICKS)
    def reject(self, picks: list[int]) -> None:
        """Messages will never do."""
        receipts = self.chosen(picks)
        self.follow_time()
        for message in self.expect(receipts, self.worked.reject(self.now, receipts, "bad")):
            message.end, message.lease = "dead", 0
            message.failures += 1

    @rule(picks=PICKS, span_ms=st.sampled_from([0, 200, 4_000]))
    def extend(self, picks: list[int], span_ms: int) -> None:
        """Messages take longer."""
        receipts = self.chosen(picks)
        self.follow_time()
        for message in self.expect(receipts, self.worked.extend(self.now, receipts, span_ms)):
            message.earliest = message.latest = self.now + span_ms * MS

    @rule(picks=PICKS)
    def release(self, picks: list[int]) -> None:
        """Messages were not begun."""
        receipts = self.chosen(picks)
        self.follow_time()
        for message in self.expect(receipts, self.worked.release(self.now, receipts)):
            message.lease = message.earliest = message.latest = 0

    @rule(member=MEMBERS, is_lost=st.booleans())
    def go(self, member: str, is_lost: bool) -> None:
        """A member goes, with or without a word."""
        self.follow_time()
        (self.worked.queue.lose if is_lost else self.worked.queue.leave)(self.now, member)
        for message in self.model.messages.values():
            if message.lease and message.member == member:
                if is_lost:
                    self.fail(message)
                else:
                    message.lease = message.earliest = message.latest = 0

    @rule(count=st.integers(1, 5))
    def bury(self, count: int) -> None:
        """Dead letters are moved."""
        dead = self.worked.queue.dead(count)
        for offset, reason, tried in dead:
            message = self.model.messages[offset]
            assert message.end == "dead"
            assert tried == message.failures
            assert reason in ("rejected:bad", "max_attempts", "expired")
            message.end = "settled"
        self.worked.queue.buried(self.now, [offset for offset, _, _ in dead])

    @rule(share=st.integers(0, 100))
    def trim(self, share: int) -> None:
        """Retention takes what is old."""
        self.follow_time()
        start = len(self.worked.keys) * share // 400
        self.worked.queue.trim(self.now, start)
        self.model.floor = max(self.model.floor, start)
        for offset, message in self.model.messages.items():
            if offset < start:
                message.end, message.lease = "settled", 0

    @rule(span_ms=st.sampled_from([1, 50, 250, 700, 2_500]))
    def let_pass(self, span_ms: int) -> None:
        """Time passes."""
        for _ in range(span_ms // 50 or 1):
            self.worked.let_pass(min(span_ms, 50))
            self.follow_time()

    # --- the node

    @rule()
    def flush(self) -> None:
        """Everything so far is durable."""
        self.worked.flush()
        self.durable = deepcopy(self.model)

    @precondition(lambda self: self.worked.journal)
    @rule()
    def snapshot(self) -> None:
        """The journal begins anew."""
        self.flush()
        self.worked.journal = [self.worked.queue.snapshot(self.now)]

    @rule(is_clean=st.booleans(), jump_ms=st.sampled_from([0, 0, -100_000, 100_000]))
    def crash(self, is_clean: bool, jump_ms: int) -> None:
        """The node goes down, with or without what was said last, and the calendar may have jumped meanwhile."""
        if is_clean:
            self.flush()
        self.model = deepcopy(self.durable)
        self.worked.wall_ms += jump_ms
        self.worked.restart()
        for message in self.model.messages.values():
            if message.lease:
                message.earliest, message.latest = self.now, self.now + 5_000 * MS
            elif jump_ms:
                # The calendar says when, and by how much at most it is still to be waited for.
                message.earliest = self.now
                message.latest = max(message.latest, self.now + 3_000 * MS)
            elif message.latest > self.now:
                message.latest += 3_000 * MS
        self.durable = deepcopy(self.model)
        self.follow_time()

    # --- what must hold

    @invariant()
    def check(self) -> None:
        """The queue agrees with itself, and with the model on what is done."""
        self.worked.queue.check()
        self.follow_time()
        floor = self.worked.queue.floor
        assert floor <= len(self.worked.keys)
        for offset, message in self.model.messages.items():
            assert offset >= floor or message.end == "settled", "the floor passed over what is not settled"
        counts = self.worked.queue.counts()
        assert counts.in_flight == sum(message.lease > 0 for message in self.model.messages.values())
        assert counts.doomed == sum(message.end == "dead" for message in self.model.messages.values())

    def teardown(self) -> None:
        """When everybody does what is asked, everything comes to its end."""
        if not hasattr(self, "worked"):
            return
        for _ in range(400):
            if self.worked.queue.floor == len(self.worked.keys):
                break
            self.let_pass(2_500)
            for member in "abc":
                self.poll(member, 40, 0)
            self.ack([*range(120)])
            self.bury(100)
            self.check()
        assert self.worked.queue.floor == len(self.worked.keys)
        # What waited when retention took it is only forgotten when its time comes.
        self.worked.let_pass(5_000)
        assert self.worked.queue.deadline() is None
        assert not self.worked.queue.ledger.window.pages


TestWorkQueue = WorkMachine.TestCase
TestWorkQueue.settings = settings(max_examples=40, stateful_step_count=40)
