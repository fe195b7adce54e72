"""Members on a bad network, against the coordinator itself: what one reads nobody else does, and all comes to rest.

Requests and answers travel one by one, in any order, or never arrive. The coordinator's node crashes and loses the end
of its journal; sessions end; partitions come and go; applications hold on to what they read for as long as they like.
"""

from random import Random

from attrs import define, field
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from goqueue.core.client.failure import CONNECTION_LOST, Failure
from goqueue.core.client.membership import (
    Assigned,
    Kept,
    Lost,
    MemberRequest,
    Membership,
    Revoking,
    Standing,
)
from goqueue.core.clock import Clock
from goqueue.core.groups.coordinator import Coordinator
from goqueue.core.groups.state import Slot
from goqueue.core.records.entries import Entry
from goqueue.core.requests.groups import JoinGroup, RevokePartitions
from goqueue.core.requests.replies import Reply
from tests.core.calls import call

MS = 1_000_000
SESSION_MS, ROUND_MS = 6_000, 300
PICKS = st.integers(0, 1 << 16)
TOPICS = ("a", "b")


@define(eq=False)
class Process:
    """A member, and what its application believes after the news."""

    membership: Membership
    instance_id: str = ""
    # By partition, the generation in which it was learned.
    reads: dict[Slot, int] = field(factory=dict)
    lets_go: dict[Slot, int] = field(factory=dict)

    def follow(self) -> None:
        """What the news say is done."""
        news, self.membership.news = self.membership.news, []
        for one in news:
            for slot in one.slots:
                self._follow(one, slot)

    def _follow(self, one: Assigned | Revoking | Kept | Lost, slot: Slot) -> None:
        if isinstance(one, Assigned):
            assert slot not in self.reads
            assert slot not in self.lets_go
            self.reads[slot] = self.membership.generation
        elif isinstance(one, Revoking):
            self.lets_go[slot] = self.reads.pop(slot)
        elif isinstance(one, Kept):
            self.reads[slot] = self.lets_go.pop(slot)
        else:
            assert (slot in self.reads) != (slot in self.lets_go)
            self.reads.pop(slot, None)
            self.lets_go.pop(slot, None)


@define
class Letter:
    """Something under way."""

    process: Process
    number: int
    request: MemberRequest
    answer: Reply = None


class Members(RuleBasedStateMachine):
    """Processes of one group, the network, and the node of its coordinator."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0
        self.count = 0
        self.processes: list[Process] = []
        self.requests: list[Letter] = []
        self.asked: dict[int, Letter] = {}
        self.answers: list[Letter] = []
        self.journal: list[Entry] = []
        self.topics = {"a": 4, "b": 2}
        self.coordinator = self.node()

    def node(self) -> Coordinator:
        """A coordinator that knows nothing yet."""
        return Coordinator(Clock(0, 0), Random(self.count), lambda _topic, _partition: (0, 100), self.topics)

    # --- what carries things

    def turn(self, process: Process) -> None:
        """A member does what it has to."""
        process.membership.wake(self.now)
        taken = process.membership.take(self.now)
        if taken is not None:
            self.requests.append(Letter(process, *taken))
        process.membership.check()
        process.follow()
        if taken is not None and isinstance(taken[1], RevokePartitions):
            revoked = {(topic, each) for topic, numbers in taken[1].revoked.items() for each in numbers}
            assert revoked.isdisjoint(process.reads)
            assert revoked.isdisjoint(process.lets_go)

    def arrive(self, letter: Letter) -> None:
        """A request reaches the coordinator."""
        self.count += 1
        self.asked[self.count] = letter
        self.coordinator.ask(self.now, call(self.count), letter.request)

    def flush(self) -> None:
        """The journal is durable, and answers go out."""
        coordinator = self.coordinator
        self.journal += coordinator.entries
        replies, coordinator.entries, coordinator.replies = coordinator.replies, [], []
        for to, answer in replies:
            letter = self.asked.pop(to.number)
            letter.answer = answer
            self.answers.append(letter)

    def learn(self, letter: Letter) -> None:
        """An answer reaches its member, if that is there."""
        if letter.process not in self.processes:
            return
        letter.process.membership.answered(self.now, letter.number, letter.answer)
        self.turn(letter.process)

    def let_pass(self, span_ns: int) -> None:
        """Time passes for the node and for those processes that run."""
        end = self.now + span_ns
        while (due := self.coordinator.deadline()) is not None and due <= end:
            self.now = max(due, self.now)
            self.coordinator.wake(self.now)
        self.now = end

    def settle(self, rounds: int) -> None:
        """All goes well for a while: nothing is lost, and whoever is asked lets go."""
        for _ in range(rounds):
            self.let_pass(ROUND_MS * MS)
            for process in self.processes:
                self.turn(process)
                self.let_go_of(process)
            requests, self.requests = self.requests, []
            for letter in requests:
                self.arrive(letter)
            self.flush()
            answers, self.answers = self.answers, []
            for letter in answers:
                self.learn(letter)
            self.nobody_shares_a_partition()

    def let_go_of(self, process: Process) -> None:
        """The application holds nothing of it any more."""
        slots, process.lets_go = [*process.lets_go], {}
        process.membership.released(self.now, slots)
        self.turn(process)

    # --- what happens

    @precondition(lambda self: len(self.processes) < 5)
    @rule(topics=st.lists(st.sampled_from(TOPICS), min_size=1, max_size=2, unique=True), named=st.booleans())
    def begin(self, topics: list[str], named: bool) -> None:
        """A process begins."""
        self.count += 1
        instance_id = f"i{self.count}" if named else ""
        join = JoinGroup("g", topics, instance_id=instance_id, session_timeout_ms=SESSION_MS)
        self.processes.append(Process(Membership(join, Random(self.count)), instance_id))
        self.turn(self.processes[-1])

    @precondition(lambda self: self.processes)
    @rule(pick=PICKS)
    def step(self, pick: int) -> None:
        """A process gets a turn."""
        self.turn(self.processes[pick % len(self.processes)])

    @precondition(lambda self: self.requests)
    @rule(pick=PICKS)
    def carry_request(self, pick: int) -> None:
        """Some request arrives."""
        self.arrive(self.requests.pop(pick % len(self.requests)))

    @precondition(lambda self: self.answers)
    @rule(pick=PICKS)
    def carry_answer(self, pick: int) -> None:
        """Some answer arrives."""
        self.learn(self.answers.pop(pick % len(self.answers)))

    @precondition(lambda self: self.requests or self.answers)
    @rule(pick=PICKS, is_told=st.booleans())
    def lose(self, pick: int, is_told: bool) -> None:
        """A request or an answer is lost; whoever waits hears of it, or does not."""
        letters = self.requests or self.answers
        letter = letters.pop(pick % len(letters))
        if is_told:
            letter.process.membership.failed(self.now, letter.number, Failure(CONNECTION_LOST, "cut"))

    @rule()
    def write(self) -> None:
        """The disk did its work."""
        self.flush()

    @precondition(lambda self: self.processes)
    @rule(pick=PICKS)
    def let_go(self, pick: int) -> None:
        """An application comes to the end of what it holds."""
        self.let_go_of(self.processes[pick % len(self.processes)])

    @precondition(lambda self: self.processes)
    @rule(pick=PICKS)
    def leave(self, pick: int) -> None:
        """A process wants to end."""
        process = self.processes[pick % len(self.processes)]
        process.membership.leave(self.now)
        process.reads, process.lets_go = {}, {}
        self.turn(process)

    @precondition(lambda self: self.processes)
    @rule(pick=PICKS)
    def die(self, pick: int) -> None:
        """A process is gone without a word."""
        self.processes.pop(pick % len(self.processes))

    @rule(span_ms=st.sampled_from([1, 100, 700, 2_000, 6_500, 61_000]), runs=st.booleans())
    def wait(self, span_ms: int, runs: bool) -> None:
        """Time passes, for processes as well or behind their backs."""
        self.let_pass(span_ms * MS)
        for process in self.processes if runs else []:
            self.turn(process)

    @rule(rounds=st.integers(1, 12))
    def go_well(self, rounds: int) -> None:
        """Nothing happens."""
        self.settle(rounds)

    @rule(topic=st.sampled_from(TOPICS), count=st.integers(0, 6))
    def change_topics(self, topic: str, count: int) -> None:
        """A topic appears, grows, shrinks by being made anew, or goes."""
        self.topics = {**self.topics, topic: count}
        self.coordinator.topics_changed(self.now, self.topics, {})
        self.flush()

    @rule(keep=PICKS)
    def crash(self, keep: int) -> None:
        """The node stops: the end of its journal and all answers that it held are lost, and it begins anew."""
        entries = self.coordinator.entries
        self.journal += entries[: keep % (len(entries) + 1)]
        self.asked.clear()
        self.coordinator = self.node()
        self.coordinator.restore(self.now, self.journal)

    # --- what must hold

    @invariant()
    def nobody_shares_a_partition(self) -> None:
        """What a certain member reads is its own, has been all the time, and nobody else believes the same."""
        self.coordinator.check()
        group = self.coordinator.groups.groups.get("g")
        believed: dict[Slot, Process] = {}
        for process in self.processes:
            membership = process.membership
            membership.check()
            assert list(process.reads) == [slot for slot in process.reads if slot in membership.reading]
            if not membership.is_certain(self.now):
                continue
            owned = group.members[membership.member_id].owned if group is not None else {}
            for slot, learned in process.reads.items():
                assert slot not in believed
                believed[slot] = process
                assert owned[slot[0]][slot[1]] <= learned

    def teardown(self) -> None:
        """Once all goes well, every partition that somebody reads has one reader, and who left is gone."""
        self.requests, self.answers = [], []
        self.settle(SESSION_MS // ROUND_MS * 3)
        living = [process for process in self.processes if process.membership.standing is not Standing.OVER]
        assert all(process.membership.standing is Standing.MEMBER for process in living)
        assert all(process.membership.is_certain(self.now) for process in living)
        read = [slot for process in living for slot in process.reads]
        assert len(set(read)) == len(read)
        group = self.coordinator.groups.groups.get("g")
        wanted = {topic for process in living for topic in process.membership._join.topics}
        assert set(read) == {(topic, each) for topic in wanted for each in range(self.topics[topic])}
        if group is not None:
            assert sorted(group.members) == sorted(process.membership.member_id for process in living)


TestMembers = Members.TestCase
TestMembers.settings = settings(max_examples=80, stateful_step_count=40, deadline=None)
