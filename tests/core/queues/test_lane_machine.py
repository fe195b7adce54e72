"""Whatever is published in which lane, and whatever members do: order within a lane, and every message once.

The model is a list of messages. It knows who has which, which were delivered ever and which are settled.
"""

from attrs import define
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from goqueue.core.cluster.queue_settings import WorkSettings
from goqueue.core.partition.lanes import LaneIndex
from goqueue.core.queues.proving import Outcome
from tests.core.queues.worked import MS, Worked, attempts, spelled

PICKS = st.lists(st.integers(0, 1 << 16), min_size=1, max_size=8)
MEMBERS = st.sampled_from(["a", "b", "c"])
STARVATION_MS = 3_000


@define
class Message:
    """A message as the model knows it."""

    lane: int
    member: str = ""
    receipt: str = ""
    was_given: bool = False
    is_settled: bool = False


class LaneMachine(RuleBasedStateMachine):
    """One queue with lanes, and three members."""

    @initialize(
        weights=st.sampled_from([(50, 25, 15, 7, 3), (2, 2, 1, 1, 1), (1, 1, 1, 1, 20)]),
        runs_max=st.sampled_from([6, 1 << 18]),
        begin=st.sampled_from([0, 1_020]),
    )
    def begin(self, weights: tuple[int, ...], runs_max: int, begin: int) -> None:
        """A queue of some settings, at some offset."""
        self.settings = WorkSettings(
            2_000, 50, 100, 200, max_in_flight=60, lane_weights=weights, starvation_ms=STARVATION_MS
        )
        self.runs_max = runs_max
        index = LaneIndex(begin, runs_max)
        self.worked = Worked(self.settings, [None] * begin, index=index, lanes=[0] * begin)
        self.worked.queue.restart(0, begin)
        self.messages = [Message(0, was_given=True, is_settled=True) for _ in range(begin)]
        self.begins = begin
        self.missed: dict[int, int] = {}
        self.overdue = [0] * 5

    @rule(count=st.integers(1, 30), lane=st.integers(0, 4))
    def publish(self, count: int, lane: int) -> None:
        """A batch in a lane."""
        self.worked.publish_in(lane, count)
        self.messages += [Message(lane) for _ in range(count)]

    @rule(count=st.integers(500, 1_500), lane=st.sampled_from([0, 0, 3]))
    def publish_many(self, count: int, lane: int) -> None:
        """Batches that fill pages."""
        if len(self.messages) < 4_000:
            self.publish(count, lane)

    @rule(member=MEMBERS, count=st.integers(1, 40))
    def poll(self, member: str, count: int) -> None:
        """What is given is nobody's, and the first of its lane that was never given."""
        self.let_pass(0)
        waiting = self.first_waiting()
        grant = self.worked.poll(member, count)
        if grant is None:
            return
        texts, given = spelled(grant), attempts(grant)
        for offset in given:
            message = self.messages[offset]
            assert not message.is_settled
            assert not message.member
            if not message.was_given:
                assert offset == waiting[message.lane], "a message was skipped"
                waiting[message.lane] = self.after(offset, message.lane)
            message.was_given, message.member, message.receipt = True, member, texts[offset]
        self.is_nobody_starved({self.messages[offset].lane for offset in given})

    def after(self, offset: int, lane: int) -> int:
        """The next message of a lane that was never given."""
        return next(
            (
                at
                for at in range(offset + 1, len(self.messages))
                if self.messages[at].lane == lane and not self.messages[at].was_given
            ),
            -1,
        )

    def first_waiting(self) -> list[int]:
        """By lane, the first message that was never given."""
        return [self.after(self.begins - 1, lane) for lane in range(5)]

    def is_nobody_starved(self, served: set[int]) -> None:
        """A lane that waited too long is passed over for no more than each of the others that did."""
        for lane, first in enumerate(self.first_waiting()):
            if lane in served or first < 0:
                self.missed.pop(lane, None)
                self.overdue[lane] = 0
            elif self.worked.now - self.missed.setdefault(lane, self.worked.now) >= STARVATION_MS * MS:
                self.overdue[lane] += 1
                assert self.overdue[lane] <= 4 or self.runs_max == 6, "a lane starves"

    def chosen(self, picks: list[int]) -> list[Message]:
        """Some messages that somebody has."""
        held = [message for message in self.messages if message.member]
        return [held[at] for at in dict.fromkeys(pick % len(held) for pick in picks)] if held else []

    @rule(picks=PICKS)
    def ack(self, picks: list[int]) -> None:
        """Messages are done."""
        self.let_pass(0)
        chosen = self.chosen(picks)
        assert set(self.worked.ack(self.worked.now, [each.receipt for each in chosen])) <= {Outcome.DONE}
        for message in chosen:
            message.is_settled, message.member = True, ""

    @rule(member=MEMBERS)
    def ack_all(self, member: str) -> None:
        """All that a member has is done."""
        self.let_pass(0)
        held = [message for message in self.messages if message.member == member]
        self.worked.ack(self.worked.now, [each.receipt for each in held])
        for message in held:
            message.is_settled, message.member = True, ""

    @rule(picks=PICKS, delay_ms=st.sampled_from([None, 0, 500]))
    def nack(self, picks: list[int], delay_ms: int | None) -> None:
        """Messages failed."""
        self.let_pass(0)
        chosen = self.chosen(picks)
        assert set(self.worked.nack(self.worked.now, [each.receipt for each in chosen], delay_ms)) <= {Outcome.DONE}
        for message in chosen:
            message.member = ""

    @rule(member=MEMBERS)
    def lose(self, member: str) -> None:
        """A member is gone without a word."""
        self.let_pass(0)
        self.worked.queue.lose(self.worked.now, member)
        for message in self.messages:
            if message.member == member:
                message.member = ""

    @rule(span_ms=st.sampled_from([1, 100, 700, 1_500]))
    def let_pass(self, span_ms: int) -> None:
        """Time passes, and leases end."""
        self.worked.let_pass(span_ms)
        leases = self.worked.queue.ledger.leases
        held = {offset for lease in leases.all() for run in lease.open_runs() for offset in range(*run)}
        for offset, message in enumerate(self.messages):
            if message.member and offset not in held:
                message.member = ""

    @rule(is_short=st.booleans())
    def restart(self, is_short: bool) -> None:
        """The node goes down; the index is made anew, from the reach on."""
        if is_short and self.worked.journal:
            self.worked.flush()
            self.worked.journal = [self.worked.queue.snapshot(self.worked.now)]
        self.worked.flush()
        reach = max(self.worked.queue.ledger.window.reach, self.begins)
        index = self.worked.index = LaneIndex(reach, self.runs_max)
        for offset in range(reach, len(self.messages)):
            index.add_run(offset, offset + 1, self.messages[offset].lane)
        self.worked.restart()
        self.missed, self.overdue = {}, [0] * 5

    @rule()
    def trim(self) -> None:
        """The index forgets what nobody will ask for."""
        assert self.worked.index is not None
        self.worked.index.trim(self.worked.queue.ledger.window.reach)

    @invariant()
    def check(self) -> None:
        """The queue agrees with itself, and its counts with the model."""
        self.worked.queue.check()
        assert self.worked.index is not None
        self.worked.index.check()
        self.let_pass(0)
        in_flight = [0] * 5
        if self.runs_max > 6:
            for message in self.messages:
                in_flight[message.lane] += bool(message.member)
            assert [flying for _, flying in self.worked.queue.lane_counts()] == in_flight

    def teardown(self) -> None:
        """When everybody does what is asked, everything is settled."""
        if not hasattr(self, "worked"):
            return
        for _ in range(len(self.messages) // 40 + 500):
            if self.worked.queue.floor == len(self.messages):
                break
            for member in "abc":
                self.poll(member, 40)
                self.ack_all(member)
            self.let_pass(100)
        assert self.worked.queue.floor == len(self.messages)
        assert all(message.is_settled for message in self.messages)
        assert not self.worked.queue.ledger.window.unlike


TestLanes = LaneMachine.TestCase
TestLanes.settings = settings(max_examples=30, stateful_step_count=30)
