"""What a request would change in a group, record by record, and what it is refused for."""

import pytest

from goqueue.core.groups.plan import JoinPlan, fresh_id, member_of, plan_commit, plan_delete, plan_join, plan_reset
from goqueue.core.groups.rebalance import assigned, rebalanced, released, to_revoke, without
from goqueue.core.groups.records import OffsetRecord
from goqueue.core.groups.state import Group, Groups, GroupStands, Member, OffsetStands
from goqueue.core.requests.groups import (
    CommitOffsets,
    CommitRefusal,
    CommittedOffsets,
    GroupMode,
    JoinGroup,
    OffsetChange,
    PartitionOffset,
    ResetOffsets,
    ResetTo,
)
from goqueue.core.requests.refusals import Code, Refusal

WALL_MS = 1_700_000_000_000
TOPICS = {"t": 4}


def member(member_id: str, owned: dict[int, int], target: list[int], instance_id: str = "") -> Member:
    """A member that reads topic t."""
    held = {"t": owned} if owned else {}
    return Member(member_id, instance_id, "", ["t"], "", 30_000, False, held, {"t": target} if target else {})


def group(*members: Member, generation: int = 2) -> Group:
    """A group with some members."""
    return Group("g", GroupMode.EXCLUSIVE, {}).next({one.member_id: one for one in members}, generation)


def groups(*members: Member) -> Groups:
    """A state with one group."""
    return Groups({"g": group(*members)})


def ends(topic: str, partition: int) -> tuple[int, int] | None:
    """Every partition goes from 10 to 20."""
    return 10, 20


def refused(plan: object) -> tuple[Code, str]:
    """Code and field of a refusal."""
    assert isinstance(plan, Refusal)
    assert plan.message
    return plan.code, plan.field


@pytest.mark.parametrize(
    ("request_", "code", "field"),
    [
        (JoinGroup("", ["t"]), Code.INVALID, "group"),
        (JoinGroup("a/b", ["t"]), Code.INVALID, "group"),
        (JoinGroup("__g", ["t"]), Code.INVALID, "group"),
        (JoinGroup("g", []), Code.INVALID, "topics"),
        (JoinGroup("g", ["a/b"]), Code.INVALID, "topics"),
        (JoinGroup("g", ["t"] * 1001), Code.INVALID, "topics"),
        (JoinGroup("g", ["t"], client_id="x" * 201), Code.INVALID, "client_id"),
        (JoinGroup("g", ["t"], instance_id="a\n"), Code.INVALID, "instance_id"),
        (JoinGroup("g", ["t"], session_timeout_ms=999), Code.INVALID, "session_timeout"),
        (JoinGroup("g", ["t"], session_timeout_ms=1_800_001), Code.INVALID, "session_timeout"),
        (JoinGroup("g", ["t"], assignor="best"), Code.INVALID, "assignor"),
        (JoinGroup("g", ["t"], config={"max_attempts": 0}), Code.INVALID, "config.max_attempts"),
        (JoinGroup("g", ["t"], config={"key_ordered": "yes"}), Code.INVALID, "config.key_ordered"),
        (JoinGroup("g", ["t"], config={"retry_backoff": "soon"}), Code.INVALID, "config.retry_backoff"),
        (JoinGroup("g", ["t"], config={"retry_backoff": 5}), Code.INVALID, "config.retry_backoff"),
        (JoinGroup("g", ["t"], mode=GroupMode.SHARED), Code.WRONG_MODE, "mode"),
        (JoinGroup("g", ["t"], "b"), Code.UNKNOWN_MEMBER, "member_id"),
        (JoinGroup("g", ["t"], "i@0123456789abcdef", "i"), Code.FENCED_INSTANCE, "member_id"),
        (JoinGroup("g", ["t"], "a", "i"), Code.INVALID, "instance_id"),
    ],
)
def test_a_join_that_cannot_be_is_refused(request_: JoinGroup, code: Code, field: str) -> None:
    state = groups(member("a", {0: 1}, [0]), member("i@1", {1: 1}, [1], "i"))
    assert refused(plan_join(state, request_, "new")) == (code, field)


def test_an_id_tells_who_took_its_place_and_is_not_mistaken_for_another() -> None:
    assert fresh_id(JoinGroup("g", ["t"], client_id="c"), 255) == "c-00000000000000ff"
    assert fresh_id(JoinGroup("g", ["t"]), 255) == "member-00000000000000ff"
    assert fresh_id(JoinGroup("g", ["t"], client_id="c", instance_id="i"), 255) == "i@00000000000000ff"
    there = group(member("i@0000000000000001", {}, [], "i"))
    assert refused(member_of(there, "i@00000000000000ff"))[0] is Code.FENCED_INSTANCE
    assert refused(member_of(there, fresh_id(JoinGroup("g", ["t"], client_id="i@c"), 255)))[0] is Code.UNKNOWN_MEMBER
    assert refused(member_of(there, "i@c"))[0] is Code.UNKNOWN_MEMBER
    assert refused(member_of(there, ""))[0] is Code.UNKNOWN_MEMBER


def test_who_joins_has_nothing_before_a_rebalance() -> None:
    planned = plan_join(groups(), JoinGroup("g", ["t", "t"]), "new")
    assert planned == JoinPlan(group(member("new", {}, [])), "new", "member_joined")


def test_who_comes_back_by_name_takes_the_place_as_it_was() -> None:
    state = groups(member("i@1", {1: 1, 2: 1}, [1], "i"), member("b", {3: 2}, [2, 3]))
    planned = plan_join(state, JoinGroup("g", ["t"], instance_id="i"), "i@2")
    after = group(member("i@2", {1: 1, 2: 1}, [1], "i"), member("b", {3: 2}, [2, 3]))
    assert planned == JoinPlan(after, "i@2", "", "i@1")
    assert [*after.members] == ["i@2", "b"]
    after.check()


def test_partitions_that_move_are_asked_for_and_not_taken() -> None:
    before = group(member("a", {0: 1, 1: 1, 2: 1, 3: 1}, [0, 1, 2, 3]), member("b", {}, []))
    after = rebalanced(before, TOPICS)
    assert after == group(member("a", {0: 1, 1: 1, 2: 1, 3: 1}, [0, 1]), member("b", {}, [2, 3]), generation=3)
    assert assigned(after.members["a"]) == {"t": [0, 1]}
    assert to_revoke(after.members["a"]) == {"t": [2, 3]}
    assert rebalanced(after, TOPICS) is None


def test_what_is_let_go_of_is_the_next_ones_in_the_same_step() -> None:
    before = group(member("a", {0: 1, 1: 1, 2: 1, 3: 1}, [0, 1]), member("b", {}, [2, 3]))
    after = released(before, "a", {"t": [3]})
    assert after == group(member("a", {0: 1, 1: 1, 2: 1}, [0, 1]), member("b", {3: 2}, [2, 3]))


def test_nobody_lets_go_of_what_it_is_to_keep() -> None:
    before = group(member("a", {0: 1, 1: 1, 2: 1, 3: 1}, [0, 1]), member("b", {}, [2, 3]))
    assert released(before, "a", {"t": [0, 1, 9], "u": [0]}) is None
    assert released(before, "b", {"t": [2]}) is None
    after = released(before, "a", {"t": [0, 2]})
    assert after is not None
    assert after.members["a"] == member("a", {0: 1, 1: 1, 3: 1}, [0, 1])


def test_who_waits_for_a_partition_of_one_that_leaves_has_it_at_once() -> None:
    before = group(member("a", {0: 1, 1: 1}, [0]), member("b", {}, [1]))
    assert without(before, "a", WALL_MS) == group(member("b", {1: 2}, [1]))
    alone = without(group(member("a", {0: 1}, [0])), "a", WALL_MS)
    assert alone == Group("g", GroupMode.EXCLUSIVE, {}, 2, WALL_MS)


def test_partitions_that_are_no_more_are_let_go_of_like_others() -> None:
    before = group(member("a", {0: 1, 1: 1}, [0, 1]), member("b", {2: 1, 3: 1}, [2, 3]))
    fewer = rebalanced(before, {"t": 1})
    assert fewer == group(member("a", {0: 1, 1: 1}, [0]), member("b", {2: 1, 3: 1}, []), generation=3)
    after = released(fewer, "b", {"t": [2, 3]})
    assert after == group(member("a", {0: 1, 1: 1}, [0]), member("b", {}, []), generation=3)


def commit(state: Groups, member_id: str, generation: int, **offsets: int) -> object:
    """A plan for a commit in topic t, partitions spelled p0, p1."""
    pairs = [PartitionOffset("t", int(name[1:]), offset) for name, offset in offsets.items()]
    return plan_commit(state, CommitOffsets("g", member_id, generation, pairs), TOPICS, ends, WALL_MS)


def test_a_commit_is_taken_partition_by_partition() -> None:
    state = groups(member("a", {0: 1, 1: 2}, [0, 1]))
    state.apply(OffsetStands("g", "t", 0, OffsetRecord(12, 1, 1)))
    refusals = [(1, Code.FENCED_GENERATION), (2, Code.FENCED_GENERATION), (9, Code.PARTITION_NOT_FOUND)]
    planned = commit(state, "a", 1, p0=15, p1=15, p2=15, p9=0)
    assert isinstance(planned, tuple)
    assert planned[0] == [OffsetStands("g", "t", 0, OffsetRecord(15, 2, WALL_MS))]
    assert isinstance(planned[1], CommittedOffsets)
    assert all(isinstance(one, CommitRefusal) for one in planned[1].refusals)
    assert [(one.partition, one.refusal.code) for one in planned[1].refusals] == refusals


@pytest.mark.parametrize(("offset", "changes"), [(0, 1), (20, 1), (21, 0), (-1, 0), (1 << 63, 0)])
def test_offsets_below_the_start_are_taken_and_those_beyond_the_end_are_not(offset: int, changes: int) -> None:
    planned = commit(groups(member("a", {0: 1}, [0])), "a", 2, p0=offset)
    assert isinstance(planned, tuple)
    assert len(planned[0]) == changes


def test_nothing_is_taken_where_the_end_is_not_known() -> None:
    state = groups(member("a", {0: 1}, [0]))
    request = CommitOffsets("g", "a", 2, [PartitionOffset("t", 0, 15)])
    planned = plan_commit(state, request, TOPICS, lambda topic, partition: None, WALL_MS)
    assert isinstance(planned, tuple)
    assert planned[0] == []
    (refusal,) = planned[1].refusals
    assert (refusal.partition, refusal.refusal.code) == (0, Code.UNAVAILABLE)
    assert refusal.refusal.retry_after_ms > 0


def test_a_commit_that_goes_back_is_done_and_changes_nothing() -> None:
    state = groups(member("a", {0: 1}, [0]))
    state.apply(OffsetStands("g", "t", 0, OffsetRecord(15, 2, 1)))
    assert commit(state, "a", 2, p0=15) == ([], CommittedOffsets([]))
    assert commit(state, "a", 2, p0=14) == ([], CommittedOffsets([]))


def test_only_members_commit_where_there_are_any() -> None:
    state = groups(member("a", {0: 1}, [0]))
    assert refused(commit(state, "", 0, p0=1)) == (Code.UNKNOWN_MEMBER, "member_id")
    assert refused(commit(state, "b", 0, p0=1)) == (Code.UNKNOWN_MEMBER, "member_id")
    assert refused(commit(state, "a", 3, p0=1)) == (Code.FENCED_GENERATION, "generation")
    assert refused(commit(Groups(), "a", 0, p0=1)) == (Code.UNKNOWN_MEMBER, "member_id")
    made = commit(Groups(), "", 0, p0=1)
    assert isinstance(made, tuple)
    assert made[0] == [
        GroupStands("g", Group("g", GroupMode.EXCLUSIVE, {}, 0, WALL_MS)),
        OffsetStands("g", "t", 0, OffsetRecord(1, 0, WALL_MS)),
    ]


@pytest.mark.parametrize(
    ("request_", "after"),
    [
        (ResetOffsets("g", "t", ResetTo.EARLIEST, [3]), 10),
        (ResetOffsets("g", "t", ResetTo.LATEST, [3]), 20),
        (ResetOffsets("g", "t", ResetTo.OFFSET, [3], 12), 12),
        (ResetOffsets("g", "t", ResetTo.OFFSET, [3], 2), 10),
        (ResetOffsets("g", "t", ResetTo.TIME, [3], found={3: 17}), 17),
    ],
)
def test_a_reset_goes_anywhere_between_start_and_end(request_: ResetOffsets, after: int) -> None:
    state = groups(member("a", {0: 1}, [0]))
    state.apply(OffsetStands("g", "t", 3, OffsetRecord(15, 2, 1)))
    expected = [OffsetStands("g", "t", 3, OffsetRecord(after, 2, WALL_MS))]
    assert plan_reset(state, request_, 4, ends, WALL_MS) == (expected, [OffsetChange(3, 15, after)])
    request_.dry_run = True
    assert plan_reset(state, request_, 4, ends, WALL_MS) == ([], [OffsetChange(3, 15, after)])


@pytest.mark.parametrize(
    ("request_", "code", "field"),
    [
        (ResetOffsets("h", "t", ResetTo.LATEST), Code.GROUP_NOT_FOUND, "group"),
        (ResetOffsets("g", "t", ResetTo.LATEST), Code.GROUP_NOT_EMPTY, "partitions"),
        (ResetOffsets("g", "t", ResetTo.LATEST, [4]), Code.PARTITION_NOT_FOUND, "partitions"),
        (ResetOffsets("g", "t", ResetTo.OFFSET, [3], 21), Code.OFFSET_OUT_OF_RANGE, "offset"),
        (ResetOffsets("g", "t", ResetTo.TIME, [3], found={2: 1}), Code.UNAVAILABLE, "time"),
    ],
)
def test_a_reset_that_cannot_be_is_refused(request_: ResetOffsets, code: Code, field: str) -> None:
    state = groups(member("a", {0: 1}, [0]))
    assert refused(plan_reset(state, request_, 4, ends, WALL_MS)) == (code, field)


def test_a_group_is_deleted_when_it_is_empty_and_its_offsets_first() -> None:
    state = groups(member("a", {0: 1}, [0]))
    state.apply(OffsetStands("g", "t", 3, OffsetRecord(15, 2, 1)))
    assert refused(plan_delete(state, "g")) == (Code.GROUP_NOT_EMPTY, "group")
    assert refused(plan_delete(state, "h")) == (Code.GROUP_NOT_FOUND, "group")
    state.apply(GroupStands("g", Group("g", GroupMode.EXCLUSIVE, {}, 2, WALL_MS)))
    assert plan_delete(state, "g") == [OffsetStands("g", "t", 3, None), GroupStands("g", None)]
