"""The state of all groups, and the only code that changes it: what a key stands for is replaced as a whole.

A `Group` and its members are never changed in place: a plan makes the next one out of the last, and shares what stays.
So a plan that is not applied leaves no trace, and one that is cannot be applied by half.

Invariants: no partition is owned by two members, nor the target of two. Who is to have a partition that nobody has,
has it. A partition is owned since a generation of the group, and its targets are topics its member reads.
"""

import json
from typing import Any

from attrs import define, field

from goqueue.core.errors import ProtocolError
from goqueue.core.groups.bounds import GroupBounds
from goqueue.core.groups.records import (
    GROUPS_CODEC,
    GroupRecord,
    MemberRecord,
    OffsetRecord,
    group_key,
    offset_key,
    read_key,
)
from goqueue.core.groups.settings import Value
from goqueue.core.records.entries import Entry
from goqueue.core.requests.groups import GroupMode

Member = MemberRecord
Slot = tuple[str, int]


@define
class Group:
    """A group as of some moment; `members` by seniority, `spelled` the same as bytes.

    `lost` is the member whose end made it what it is, where that was gone without a word.
    """

    name: str
    mode: GroupMode
    config: dict[str, Value]
    generation: int = 0
    emptied_ms: int = 0
    members: dict[str, Member] = field(factory=dict)
    spelled: dict[str, bytes] = field(factory=dict, eq=False, repr=False)
    lost: str = field(default="", eq=False)

    def next(self, changed: dict[str, Member], generation: int | None = None) -> "Group":
        """The group with some members changed, or added as the last; in a generation of its own if one is given."""
        spelled = {member_id: GROUPS_CODEC.encode(member) for member_id, member in changed.items()}
        generation = self.generation if generation is None else generation
        return Group(
            self.name, self.mode, self.config, generation, 0, {**self.members, **changed}, {**self.spelled, **spelled}
        )

    def replaced(self, member_id: str, member: Member) -> "Group":
        """The group with a member that took the place of another."""
        members = dict(
            (each, one) if each != member_id else (member.member_id, member) for each, one in self.members.items()
        )
        spelled = {each: self.spelled.get(each) or GROUPS_CODEC.encode(member) for each in members}
        return Group(self.name, self.mode, self.config, self.generation, 0, members, spelled)

    def without(self, member_id: str, wall_ms: int) -> "Group":
        """The group without a member."""
        members = {each: member for each, member in self.members.items() if each != member_id}
        spelled = {each: content for each, content in self.spelled.items() if each != member_id}
        emptied_ms = 0 if members else wall_ms
        return Group(self.name, self.mode, self.config, self.generation, emptied_ms, members, spelled)

    def configured(self, config: dict[str, Value]) -> "Group":
        """The group with other settings."""
        return Group(self.name, self.mode, config, self.generation, self.emptied_ms, self.members, self.spelled)

    def instance(self, instance_id: str) -> Member | None:
        """The member that goes by a name of its own."""
        return next((one for one in self.members.values() if instance_id and one.instance_id == instance_id), None)

    def owners(self) -> dict[Slot, str]:
        """Who has each partition that somebody has."""
        return {
            (topic, partition): member.member_id
            for member in self.members.values()
            for topic, partitions in member.owned.items()
            for partition in partitions
        }

    def check(self) -> None:
        """Assert the invariants."""
        owners: dict[Slot, str] = {}
        targets: dict[Slot, str] = {}
        for member_id, member in self.members.items():
            assert member.member_id == member_id
            assert self.spelled[member_id] == GROUPS_CODEC.encode(member)
            for topic, since in member.owned.items():
                assert since, "a topic without partitions is not owned"
                for partition, generation in since.items():
                    assert owners.setdefault((topic, partition), member_id) == member_id
                    assert 0 < generation <= self.generation
            for topic, partitions in member.target.items():
                assert topic in member.topics
                assert partitions == sorted(partitions)
                for partition in partitions:
                    assert targets.setdefault((topic, partition), member_id) == member_id
        assert targets.keys() <= owners.keys(), "nobody has what somebody is to have"
        assert len(self.spelled) == len(self.members)
        assert not (self.members and self.emptied_ms)
        instances = [member.instance_id for member in self.members.values() if member.instance_id]
        assert len(set(instances)) == len(instances)
        assert not owners or self.mode is GroupMode.EXCLUSIVE


@define
class GroupStands:
    """What a group is from here on; None when there is none."""

    name: str
    group: Group | None


@define
class OffsetStands:
    """What a committed offset is from here on; None when there is none."""

    group: str
    topic: str
    partition: int
    committed: OffsetRecord | None


Change = GroupStands | OffsetStands


@define
class Groups:
    """All groups and all committed offsets, which may be there before and after their group has members."""

    groups: dict[str, Group] = field(factory=dict)
    offsets: dict[str, dict[Slot, OffsetRecord]] = field(factory=dict)
    bounds: GroupBounds = field(factory=GroupBounds)
    # How many there are in all groups; a topic counts for each member that reads it.
    offset_count: int = field(default=0, init=False)
    member_count: int = field(default=0, init=False)
    topic_count: int = field(default=0, init=False)

    def __attrs_post_init__(self) -> None:
        self.offset_count = sum(map(len, self.offsets.values()))
        for group in self.groups.values():
            self._count(group, 1)

    def apply(self, change: Change) -> None:
        """Take one change into the state."""
        if isinstance(change, GroupStands):
            if change.group is None:
                self._count(self.groups.pop(change.name, None), -1)
            else:
                self._stand(change.group)
            return
        offsets = self.offsets.setdefault(change.group, {})
        self.offset_count -= len(offsets)
        if change.committed is None:
            offsets.pop((change.topic, change.partition), None)
        else:
            offsets[change.topic, change.partition] = change.committed
        self.offset_count += len(offsets)
        if not offsets:
            del self.offsets[change.group]

    def _stand(self, group: Group) -> None:
        self._count(self.groups.get(group.name), -1)
        self.groups[group.name] = group
        self._count(group, 1)

    def _count(self, group: Group | None, sign: int) -> None:
        if group is not None:
            self.member_count += sign * len(group.members)
            self.topic_count += sign * sum([len(member.topics) for member in group.members.values()])

    def committed(self, group: str) -> dict[Slot, OffsetRecord]:
        """The offsets of one group."""
        return self.offsets.get(group, {})

    def check(self) -> None:
        """Assert the invariants."""
        for name, group in self.groups.items():
            assert group.name == name
            group.check()
        members = [member for group in self.groups.values() for member in group.members.values()]
        assert self.member_count == len(members)
        assert self.topic_count == sum(len(member.topics) for member in members)
        assert self.offset_count == sum(map(len, self.offsets.values()))
        for offsets in self.offsets.values():
            assert offsets
            assert all(committed.offset >= 0 for committed in offsets.values())


def entry_of(change: Change) -> Entry:
    """A change as it is kept: a key, and a value unless it is the end of what the key stands for."""
    if isinstance(change, OffsetStands):
        committed = change.committed
        value = None if committed is None else GROUPS_CODEC.encode(committed)
        return offset_key(change.group, change.topic, change.partition), value
    group = change.group
    if group is None:
        return group_key(change.name), None
    config = json.dumps(group.config, sort_keys=True)
    record = GroupRecord(group.mode, config, group.generation, group.emptied_ms, [*group.spelled.values()], group.lost)
    return group_key(change.name), GROUPS_CODEC.encode(record)


def change_of(key: bytes, value: bytes | None) -> Change:
    """The change that an entry keeps; ProtocolError when it is none."""
    name = read_key(key)
    record: Any = None if value is None else GROUPS_CODEC.decode(value)
    if isinstance(name, tuple):
        if not isinstance(record, OffsetRecord | None):
            raise ProtocolError(f"{key[:80]!r} holds a {type(record).__name__}")
        return OffsetStands(*name, record)
    if record is None:
        return GroupStands(name, None)
    if not isinstance(record, GroupRecord):
        raise ProtocolError(f"{key[:80]!r} holds a {type(record).__name__}")
    return GroupStands(name, _group(name, record))


def _group(name: str, record: GroupRecord) -> Group:
    members: dict[str, Member] = {}
    for content in record.members:
        member = GROUPS_CODEC.decode(content)
        if not isinstance(member, MemberRecord):
            raise ProtocolError(f"a {type(member).__name__} stands where group {name} has a member")
        members[member.member_id] = member
    # Not the bytes that were read: an earlier release may have spelled them.
    spelled = {member_id: GROUPS_CODEC.encode(member) for member_id, member in members.items()}
    try:
        config = json.loads(record.config)
    except ValueError as error:
        raise ProtocolError(f"the settings of group {name} cannot be read: {error}") from error
    if not isinstance(config, dict):
        raise ProtocolError(f"the settings of group {name} are no mapping: {record.config[:80]}")
    return Group(name, record.mode, config, record.generation, record.emptied_ms, members, spelled, record.lost)
