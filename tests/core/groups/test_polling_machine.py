"""However members come, go and poll: each is given what comes next in what it has, all of it, and nothing else.

The model is one number for each tenure of a partition: the next offset that its member is to be given.
"""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from goqueue.core.groups.rebalance import assigned
from goqueue.core.groups.state import Slot
from goqueue.core.requests.call import Call
from goqueue.core.requests.groups import (
    CommitOffsets,
    GroupHeartbeat,
    JoinGroup,
    LeaveGroup,
    PartitionOffset,
    Polled,
    PollGroup,
    RevokePartitions,
)
from goqueue.core.requests.refusals import Code, Refusal
from tests.core.groups.polled_groups import MS, PolledGroups, S, offsets

PICKS = st.integers(0, 1 << 16)
SLOTS = [("a", 0), ("a", 1), ("a", 2), ("b", 0)]
MEMBERS_MAX = 3


class Polling(RuleBasedStateMachine):
    """One group whose members poll."""

    def __init__(self) -> None:
        super().__init__()
        self.groups = PolledGroups(a=3, b=1)
        # The next offset of each tenure, by member, partition and the generation since when it has it.
        self.next: dict[tuple[str, Slot, int], int] = {}
        self.polls: dict[Call, tuple[str, PollGroup]] = {}

    @property
    def members(self) -> list[str]:
        group = self.groups.coordinator.groups.groups.get("g")
        return [*group.members] if group is not None else []

    def pick(self, at: int) -> str:
        return self.members[at % len(self.members)]

    # --- members

    @precondition(lambda self: len(self.members) < MEMBERS_MAX)
    @rule(eager=st.booleans())
    def joins(self, eager: bool) -> None:
        self.groups.answer(JoinGroup("g", ["a", "b"], eager=eager))

    @precondition(lambda self: self.members)
    @rule(at=PICKS)
    def joins_again(self, at: int) -> None:
        member_id = self.pick(at)
        eager = self.groups.coordinator.groups.groups["g"].members[member_id].eager
        self.groups.answer(JoinGroup("g", ["a", "b"], member_id, eager=eager))

    @precondition(lambda self: self.members)
    @rule(at=PICKS)
    def leaves(self, at: int) -> None:
        self.groups.answer(LeaveGroup("g", self.pick(at)))

    @precondition(lambda self: self.members)
    @rule(at=PICKS)
    def lets_go(self, at: int) -> None:
        generation = self.groups.coordinator.groups.groups["g"].generation
        self.groups.answer(RevokePartitions("g", self.pick(at), generation, {"a": [0, 1, 2], "b": [0]}))

    @precondition(lambda self: self.members)
    @rule(at=PICKS)
    def beats(self, at: int) -> None:
        generation = self.groups.coordinator.groups.groups["g"].generation
        self.groups.answer(GroupHeartbeat("g", self.pick(at), generation))

    @precondition(lambda self: self.members)
    @rule(at=PICKS)
    def commits(self, at: int) -> None:
        member_id = self.pick(at)
        group = self.groups.coordinator.groups.groups["g"]
        member = group.members[member_id]
        places = [
            PartitionOffset(*slot, offset)
            for (owner, slot, since), offset in self.next.items()
            if owner == member_id and member.owned.get(slot[0], {}).get(slot[1]) == since
        ]
        self.groups.answer(CommitOffsets("g", member_id, group.generation, places))

    # --- partitions

    @rule(slot=st.sampled_from(SLOTS), counts=st.lists(st.integers(1, 9), min_size=1, max_size=4))
    def publishes(self, slot: Slot, counts: list[int]) -> None:
        for count in counts:
            self.groups.add(*slot, count)
        self.groups.turn()

    @rule(slot=st.sampled_from(SLOTS), part=st.integers(0, 100))
    def expires(self, slot: Slot, part: int) -> None:
        shelf = self.groups.shelves[slot]
        shelf.start += (shelf.end - shelf.start) * part // 100

    @rule(slot=st.sampled_from(SLOTS), fails=st.booleans())
    def breaks(self, slot: Slot, fails: bool) -> None:
        self.groups.shelves[slot].problem = Refusal(Code.DAMAGED, "torn") if fails else None

    # --- polls

    @precondition(lambda self: self.members)
    @rule(at=PICKS, records_max=st.integers(1, 30), bytes_max=st.integers(1, 600), wait_ms=st.sampled_from([0, 700]))
    def polls_once(self, at: int, records_max: int, bytes_max: int, wait_ms: int) -> None:
        member_id = self.pick(at)
        request = PollGroup("g", member_id, records_max, bytes_max, wait_ms * MS)
        self.polls[self.groups.ask(request)] = member_id, request
        self.groups.turn()

    @precondition(lambda self: self.polls)
    @rule(at=PICKS)
    def gives_up(self, at: int) -> None:
        to = [*self.polls][at % len(self.polls)]
        if to not in self.groups.answers:
            self.groups.polls.forget(to)
            del self.polls[to]

    @rule(holds=st.booleans())
    def disk_is_slow(self, holds: bool) -> None:
        self.groups.holds_reads = holds
        self.groups.turn()

    @rule()
    def disk_answers(self) -> None:
        self.groups.read()
        self.groups.settle()

    @rule()
    def memory_is_wanted(self) -> None:
        self.groups.polls.forget_found()

    @rule(ms=st.sampled_from([10, 150, 1_500]))
    def time_passes(self, ms: int) -> None:
        self.groups.wait(ms * MS)

    # --- what must hold

    @invariant()
    def answers_are_what_comes_next(self) -> None:
        for to in [*self.polls]:
            answer = self.groups.answers.pop(to, None)
            if answer is not None:
                member_id, request = self.polls.pop(to)
                self.answered(member_id, request, answer)

    def answered(self, member_id: str, request: PollGroup, answer: object) -> None:
        if isinstance(answer, Refusal):
            is_gone = member_id not in self.members
            assert answer.code is (Code.UNKNOWN_MEMBER if is_gone else Code.DAMAGED)
            return
        assert isinstance(answer, Polled)
        assert sum(part.end_offset - part.first_offset for part in answer.parts) <= request.records_max
        if len(answer.parts) > 1:
            assert sum(len(part.batches) for part in answer.parts) <= request.bytes_max
        for part in answer.parts:
            slot = part.topic, part.partition
            since = self.groups.coordinator.groups.groups["g"].members[member_id].owned[slot[0]][slot[1]]
            shelf = self.groups.shelves[slot]
            expected = self.next.get((member_id, slot, since), self.beginning(slot))
            assert part.first_offset == expected or expected < part.first_offset <= shelf.start
            assert part.first_offset < part.end_offset <= shelf.end
            assert offsets([part]) == [*range(part.first_offset, part.end_offset)]
            self.next[member_id, slot, since] = part.end_offset

    def beginning(self, slot: Slot) -> int:
        committed = self.groups.coordinator.groups.committed("g").get(slot)
        return 0 if committed is None else committed.offset

    def teardown(self) -> None:
        """Whatever happened, members who poll on come to the end of everything that they have."""
        self.groups.holds_reads = False
        for shelf in self.groups.shelves.values():
            shelf.problem = None
        self.groups.turn()
        self.groups.wait(S)
        self.answers_are_what_comes_next()
        for member_id in self.members:
            while parts := self.groups.poll(member_id, 10):
                self.answered(member_id, PollGroup("g", member_id, 10), Polled(parts))
            member = self.groups.coordinator.groups.groups["g"].members[member_id]
            if member.eager:
                continue
            for topic, partitions in assigned(member).items():
                for partition in partitions:
                    slot, since = (topic, partition), member.owned[topic][partition]
                    shelf = self.groups.shelves[slot]
                    reached = self.next.get((member_id, slot, since), self.beginning(slot))
                    assert max(reached, shelf.start) == shelf.end


Polling.TestCase.settings = settings(max_examples=60, stateful_step_count=60, deadline=None)
TestPolling = Polling.TestCase
