"""What is written to the journal of groups, what is read back, and what is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goqueue.core.errors import ProtocolError
from goqueue.core.groups.records import (
    GROUPS_CODEC,
    GroupRecord,
    MemberRecord,
    OffsetRecord,
    group_key,
    offset_key,
    read_key,
)
from goqueue.core.groups.state import Group, Groups, GroupStands, OffsetStands, change_of, entry_of
from goqueue.core.requests.groups import GroupMode


def member(member_id: str = "a-1", **owned: dict[int, int]) -> MemberRecord:
    """A member that has and keeps some partitions."""
    target = {topic: sorted(since) for topic, since in owned.items()}
    return MemberRecord(member_id, "", "a", sorted(owned), "", 30_000, False, dict(owned), target)


def group(*members: MemberRecord) -> Group:
    """A group in its second generation."""
    return Group("g", GroupMode.EXCLUSIVE, {"start": "latest"}).next({one.member_id: one for one in members}, 2)


def test_a_group_is_one_record_under_its_name() -> None:
    one = member(t={0: 1, 5: 2})
    key, value = entry_of(GroupStands("g", group(one)))
    assert key == b"group/g"
    assert value is not None
    spelled = GROUPS_CODEC.encode(one)
    assert GROUPS_CODEC.decode(value) == GroupRecord(GroupMode.EXCLUSIVE, '{"start": "latest"}', 2, 0, [spelled])
    assert change_of(key, value) == GroupStands("g", group(one))


def test_an_offset_is_a_record_under_its_partition() -> None:
    change = OffsetStands("g", "t", 7, OffsetRecord(12, 3, 1_700_000_000_000))
    key, value = entry_of(change)
    assert key == b"offset/g/t/7"
    assert value is not None
    assert GROUPS_CODEC.decode(value) == OffsetRecord(12, 3, 1_700_000_000_000)
    assert change_of(key, value) == change


def test_what_an_earlier_release_wrote_is_read_and_held_as_this_one_would_write_it() -> None:
    number, _, *content = GROUPS_CODEC.encode(OffsetRecord(12, 3, 1_700_000_000_000))
    # Version 2 did not say which topic of the name it was.
    assert GROUPS_CODEC.decode(bytes([number, 2 << 1, *content[:-1]])) == OffsetRecord(12, 3, 1_700_000_000_000, 0)
    one = member(t={0: 1, 5: 2})
    number, _, *content = GROUPS_CODEC.encode(one)
    value = GROUPS_CODEC.encode(GroupRecord(GroupMode.EXCLUSIVE, "{}", 2, 0, [bytes([number, 2 << 1, *content])]))
    change = change_of(b"group/g", value)
    assert isinstance(change, GroupStands)
    assert change.group is not None
    change.group.check()


@pytest.mark.parametrize("change", [GroupStands("g", None), OffsetStands("g", "t", 0, None)])
def test_an_end_is_a_key_without_a_value(change: GroupStands | OffsetStands) -> None:
    key, value = entry_of(change)
    assert value is None
    assert change_of(key, value) == change


@pytest.mark.parametrize(
    "key", [b"", b"group", b"group/a/b", b"offset/g/t", b"offset/g/t/x", b"offset/g/t/-1", b"topic/g", b"\xff/g"]
)
def test_any_other_key_is_refused(key: bytes) -> None:
    with pytest.raises(ProtocolError, match="no key of a group"):
        read_key(key)


def test_keys_read_back() -> None:
    assert read_key(group_key("a.b-c")) == "a.b-c"
    assert read_key(offset_key("g", "t.1", 12)) == ("g", "t.1", 12)


def test_a_value_that_belongs_to_another_key_is_refused() -> None:
    record = OffsetRecord(0, 0, 0)
    offset = GROUPS_CODEC.encode(record)
    whole = entry_of(GroupStands("g", group()))[1]
    with pytest.raises(ProtocolError, match="holds a OffsetRecord"):
        change_of(b"group/g", offset)
    with pytest.raises(ProtocolError, match="holds a GroupRecord"):
        change_of(b"offset/g/t/0", whole)
    broken = GROUPS_CODEC.encode(GroupRecord(GroupMode.EXCLUSIVE, "{}", 1, 0, [offset]))
    with pytest.raises(ProtocolError, match="where group g has a member"):
        change_of(b"group/g", broken)


KEYS = st.sampled_from([b"group/g", b"offset/g/t/0"]) | st.binary(max_size=30)
VALUES = st.builds(
    lambda content, at, byte: content[:at] + bytes([byte]) + content[at + 1 :],
    st.sampled_from([*group(member(t={0: 1})).spelled.values(), entry_of(GroupStands("g", group(member())))[1] or b""]),
    st.integers(0, 40),
    st.integers(0, 255),
)


@given(KEYS, st.none() | VALUES | st.binary())
def test_garbage_is_read_or_refused_with_one_error(key: bytes, value: bytes | None) -> None:
    try:
        change = change_of(key, value)
    except ProtocolError:
        return
    assert isinstance(change, GroupStands | OffsetStands)


def test_a_plan_that_is_not_applied_leaves_no_trace() -> None:
    before = group(member(t={0: 1}))
    spelled = dict(before.spelled)
    before.next({"b-1": member("b-1", u={0: 2})})
    before.without("a-1", 5)
    assert before == group(member(t={0: 1}))
    assert before.spelled == spelled


def test_state_is_the_last_value_of_each_key() -> None:
    state = Groups()
    first, last = group(member(t={0: 1})), group(member("b-1", t={0: 2}))
    for change in (
        GroupStands("g", first),
        OffsetStands("g", "t", 0, OffsetRecord(1, 1, 1)),
        OffsetStands("g", "t", 1, OffsetRecord(1, 1, 1)),
        GroupStands("g", last),
        OffsetStands("g", "t", 0, OffsetRecord(5, 2, 2)),
        OffsetStands("g", "t", 1, None),
        OffsetStands("h", "t", 1, None),
        GroupStands("h", None),
    ):
        state.apply(change)
        state.check()
    assert state == Groups({"g": last}, {"g": {("t", 0): OffsetRecord(5, 2, 2)}})


@pytest.mark.parametrize(
    "wrong",
    [
        group(member(t={0: 1}), member("b-1", t={0: 1})),
        group(member(t={0: 3})),
        group(MemberRecord("a-1", "", "", ["t"], "", 1, False, {}, {"t": [0]})),
        group(MemberRecord("a-1", "", "", [], "", 1, False, {"t": {0: 1}}, {"t": [0]})),
        Group("g", GroupMode.SHARED, {}).next({"a-1": member(t={0: 1})}, 1),
    ],
)
def test_a_state_that_cannot_be_is_noticed(wrong: Group) -> None:
    with pytest.raises(AssertionError):
        wrong.check()
