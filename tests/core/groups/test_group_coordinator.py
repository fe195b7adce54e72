"""The coordinator as a whole: how fast groups settle, what a capture of it is, that every request has one answer."""

import sys
from random import Random

from attrs import define, field

from goqueue.core.capture.reading import ValueReader
from goqueue.core.capture.values import ValueWriter
from goqueue.core.capture.vocabulary import Vocabulary
from goqueue.core.clock import Clock
from goqueue.core.groups.coordinator import Coordinator
from goqueue.core.records.entries import Entry
from goqueue.core.requests.call import Call
from goqueue.core.requests.groups import (
    CommitOffsets,
    CommittedOffsets,
    DeleteGroup,
    DescribeGroup,
    DescribeRebalances,
    GroupBeat,
    GroupHeartbeat,
    GroupReply,
    GroupState,
    Joined,
    JoinGroup,
    LeaveGroup,
    ListGroups,
    PartitionOffset,
    RebalancesReply,
    RevokedPartitions,
    RevokePartitions,
    WatchGroup,
)
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request
from tests.core.calls import call

MS = 1_000_000
S = 1000 * MS
ROUND_TRIP_NS = 5 * MS


def no_ends(topic: str, partition: int) -> tuple[int, int] | None:
    """Nobody knows where a partition ends."""
    return None


@define
class Member:
    """A member with a stream: it waits for news and does at once what they say."""

    member_id: str
    watching: Call | None = None
    seen: int = 0
    generation: int = 0
    reads: int = 0


@define
class Node:
    """A coordinator, and a journal that is durable at once."""

    topics: dict[str, int]
    now: int = 0
    count: int = 0
    coordinator: Coordinator = field(init=False)
    journal: list[Entry] = field(factory=list)
    answers: dict[Call, Reply] = field(factory=dict)
    members: dict[str, Member] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        self.coordinator = Coordinator(Clock(0, 0), Random(1), no_ends, self.topics)

    def ask(self, request: Request) -> Call:
        """Ask; the call to which the answer comes."""
        self.count += 1
        self.coordinator.ask(self.now, call(self.count), request)
        self.take()
        return call(self.count)

    def answer(self, request: Request) -> Reply:
        """Ask, and the answer that comes at once."""
        return self.answers.pop(self.ask(request))

    def take(self) -> None:
        """Entries and replies of a turn."""
        self.journal += self.coordinator.entries
        for to, answer in self.coordinator.replies:
            assert to not in self.answers
            self.answers[to] = answer
        self.coordinator.entries, self.coordinator.replies = [], []

    def join(self, **options: object) -> None:
        """A member more."""
        joined = self.answer(JoinGroup("g", [*self.topics], session_timeout_ms=3_000, **options))  # type: ignore[arg-type]
        assert isinstance(joined, Joined)
        self.members[joined.member_id] = Member(joined.member_id)

    def run(self, until: int) -> None:
        """Time passes, and members answer what they are told after a round trip."""
        while self.now < until:
            self.now += ROUND_TRIP_NS
            while (due := self.coordinator.deadline()) is not None and due <= self.now:
                self.coordinator.wake(self.now)
                self.take()
            for member in self.members.values():
                self.follow(member)
            self.coordinator.check()

    def follow(self, member: Member) -> None:
        """One round of a member."""
        beat = None if member.watching is None else self.answers.pop(member.watching, None)
        if isinstance(beat, GroupBeat):
            member.seen, member.generation = beat.seen, beat.generation
            member.reads = sum(len(partitions) for partitions in beat.assigned.values())
            if beat.to_revoke:
                self.answer(RevokePartitions("g", member.member_id, beat.generation, beat.to_revoke))
        if beat is not None or member.watching is None:
            member.watching = self.ask(WatchGroup("g", member.member_id, member.seen, S))

    def settled_at(self, bound: int) -> int:
        """When every partition is read by somebody who knows."""
        while self.now < bound:
            self.run(self.now + ROUND_TRIP_NS)
            if sum(member.reads for member in self.members.values()) == sum(self.topics.values()):
                reply = self.answer(DescribeGroup("g"))
                assert isinstance(reply, GroupReply)
                if reply.state is GroupState.STABLE:
                    return self.now
        raise AssertionError("the group does not settle")


def test_the_tenth_member_has_its_part_within_a_second() -> None:
    node = Node({"t": 64})
    for _ in range(9):
        node.join()
    node.settled_at(2 * S)
    node.run(node.now + S)
    begun = node.now
    node.join()
    assert node.settled_at(begun + S) - begun < S
    assert sorted(member.reads for member in node.members.values()) == [6] * 6 + [7] * 4


def test_a_hundred_members_that_join_within_a_second_are_three_generations_at_most() -> None:
    node = Node({"t": 256})
    for number in range(100):
        node.run(number * 10 * MS)
        node.join()
    assert node.settled_at(5 * S) < 5 * S
    assert {member.generation for member in node.members.values()} <= {2, 3}
    assert {member.reads for member in node.members.values()} == {2, 3}


def test_the_partitions_of_a_member_that_dies_flow_again_within_four_seconds() -> None:
    node = Node({"t": 16})
    for _ in range(4):
        node.join()
    node.settled_at(2 * S)
    node.run(node.now + 5 * S)
    begun = node.now
    del node.members[next(iter(node.members))]
    assert node.settled_at(begun + 4 * S) - begun < 4 * S


def test_what_a_restart_knows_is_what_the_journal_holds_key_by_key() -> None:
    node = Node({"t": 8})
    for _ in range(5):
        node.join(instance_id=f"i{len(node.members)}")
    node.settled_at(2 * S)
    compacted = [*dict(node.journal).items()]
    again = Coordinator(Clock(0, 0), Random(2), no_ends, node.topics)
    again.restore(node.now, compacted)
    again.check()
    assert again.groups == node.coordinator.groups


def test_what_was_committed_to_a_topic_is_not_told_of_the_next_one_of_its_name() -> None:
    def one_reading() -> Coordinator:
        return Coordinator(Clock(0, 0), Random(1), lambda _topic, _partition: (0, 100), {})

    before = one_reading()
    before.topics_changed(0, {"t": 2, "kept": 2}, {"t": 4, "kept": 5})
    before.ask(0, call(1), CommitOffsets("g", "", 0, [PartitionOffset(name, 1, 9) for name in ("t", "kept")]))
    assert before.replies == [(call(1), CommittedOffsets([]))]
    # The next coordinator never saw that there was no such topic for a while.
    after = one_reading()
    after.topics_changed(0, {"t": 2, "kept": 2}, {"t": 6, "kept": 5})
    after.restore(0, before.entries)
    assert {slot: one.offset for slot, one in after.groups.committed("g").items()} == {("kept", 1): 9}
    assert after.entries == [(b"offset/g/t/1", None)]


def test_a_coordinator_is_captured_whole_and_goes_on_the_same() -> None:
    node = Node({"t": 8})
    for _ in range(3):
        node.join()
    node.run(150 * MS)
    # `no_ends` stands here in the node's place, so this module is one of those that have a name.
    modules = [module for name, module in sorted(sys.modules.items()) if name.startswith("goqueue.core.")]
    names = Vocabulary([*modules, sys.modules[__name__]])
    out = bytearray()
    ValueWriter(names, out).write(node.coordinator)
    copy = ValueReader(names, bytes(out)).read()
    assert isinstance(copy, Coordinator)
    original = node.coordinator
    for one in (original, copy):
        one.ask(node.now, call(10_000), JoinGroup("g", ["t"]))
        one.wake(node.now + S)
        one.check()
    assert copy.entries == original.entries
    assert [(to.number, reply) for to, reply in copy.replies] == [(to.number, reply) for to, reply in original.replies]
    assert copy.deadline() == original.deadline()


def test_who_waits_or_was_not_answered_yet_is_told_of_a_restart() -> None:
    node = Node({"t": 1})
    node.join()
    [member] = node.members.values()
    beat = node.answer(GroupHeartbeat("g", member.member_id, 1))
    assert isinstance(beat, GroupBeat)
    waiting = node.ask(WatchGroup("g", member.member_id, beat.seen, S))
    node.coordinator.ask(node.now, call(1000), ListGroups())
    node.coordinator.restore(node.now, node.journal)
    node.take()
    for to in (waiting, call(1000)):
        answer = node.answers[to]
        assert isinstance(answer, Refusal)
        assert answer.code is Code.UNAVAILABLE
        assert answer.retry_after_ms


def test_a_watch_that_nobody_waits_for_is_not_answered() -> None:
    node = Node({"t": 1})
    node.join()
    [member] = node.members.values()
    beat = node.answer(GroupHeartbeat("g", member.member_id, 1))
    assert isinstance(beat, GroupBeat)
    waiting = node.ask(WatchGroup("g", member.member_id, beat.seen, S))
    node.coordinator.forget(waiting)
    node.ask(LeaveGroup("g", member.member_id))
    node.coordinator.wake(2 * S)
    node.take()
    assert waiting not in node.answers


def test_polls_keep_a_member_alive_and_tell_a_stranger_that_it_is_none() -> None:
    node = Node({"t": 1})
    node.join()
    [member_id] = node.members
    for second in range(1, 10):
        node.coordinator.wake(second * S)
        assert node.coordinator.alive(second * S, "g", member_id) is None
    node.coordinator.wake(12 * S)
    for refusal in (
        node.coordinator.alive(12 * S, "g", member_id),
        node.coordinator.alive(12 * S, "h", member_id),
    ):
        assert isinstance(refusal, Refusal)
        assert refusal.code is Code.UNKNOWN_MEMBER


def test_a_generator_that_begins_again_gives_no_member_the_id_of_another() -> None:
    node = Node({"t": 2})
    first = node.answer(JoinGroup("g", ["t"]))
    node.coordinator = Coordinator(Clock(0, 0), Random(1), no_ends, node.topics)
    node.coordinator.restore(0, node.journal)
    second = node.answer(JoinGroup("g", ["t"]))
    assert isinstance(first, Joined)
    assert isinstance(second, Joined)
    assert second.members == [first.member_id, second.member_id]


def test_a_late_word_of_letting_go_is_not_taken_for_a_later_one() -> None:
    node = Node({"t": 2})
    ids = []
    for now in (0, 200 * MS, 600 * MS):
        # The others: joins, leaves, joins again. The first one's second partition is asked for, given back, asked for.
        node.now = now
        joined = node.answer(JoinGroup("g", ["t"]))
        assert isinstance(joined, Joined)
        ids.append(joined.member_id)
        node.coordinator.wake(now + 150 * MS)
        if now == 200 * MS:
            node.ask(LeaveGroup("g", joined.member_id))
            node.coordinator.wake(now + 350 * MS)
    beat = node.answer(GroupHeartbeat("g", ids[0], 4))
    assert isinstance(beat, GroupBeat)
    assert (beat.generation, beat.to_revoke) == (4, {"t": [1]})
    late = node.answer(RevokePartitions("g", ids[0], 2, {"t": [1]}))
    assert late == RevokedPartitions(1, GroupState.RECONCILING)
    assert node.answer(RevokePartitions("g", ids[0], 4, {"t": [1]})) == RevokedPartitions(0, GroupState.STABLE)


def test_a_join_to_an_empty_group_waits_for_nobody() -> None:
    node = Node({"t": 3})
    joined = node.answer(JoinGroup("g", ["t"], client_id="c"))
    assert isinstance(joined, Joined)
    assert joined.assigned == {"t": [0, 1, 2]}
    assert joined.heartbeat_interval_ms == 10_000
    assert joined.members == [joined.member_id]
    assert not joined.rebalance_required


def test_what_a_deleted_group_added_to_everybodys_rebalances_stays() -> None:
    node = Node({"t": 3})
    node.join()
    [member_id] = node.members
    node.ask(LeaveGroup("g", member_id))
    node.ask(DeleteGroup("g"))
    counted = node.answer(DescribeRebalances())
    assert isinstance(counted, RebalancesReply)
    assert (counted.total, counted.successful, counted.partitions_assigned) == (1, 1, 3)
    refusal = node.answer(DescribeRebalances("g"))
    assert isinstance(refusal, Refusal)
    assert refusal.code is Code.GROUP_NOT_FOUND
    node.coordinator.check()
