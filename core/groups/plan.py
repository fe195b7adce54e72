"""What a request would change in the groups: changes, or a refusal. Nothing here changes anything.

What a member may commit: a partition that it owns, in any generation since it was given it. What it let go of or was
cut off from is refused, and so is a generation that never was. An offset beyond the partition's end is refused: it
would skip messages yet to come; so is any where the end is not known. One below its start is taken: the messages
between are gone, and the group begins where the partition does. One below what is committed already is answered as done
and moves nothing, as a commit that was overtaken by a later one should; only a reset goes back. Where nobody is a
member it says that the place is still wanted, which is written down now and then.
"""

from collections.abc import Callable
from random import Random

from attrs import define, evolve

from goqueue.core.cluster.plan import name_problem
from goqueue.core.groups.assignment import Assignor
from goqueue.core.groups.beginnings import EARLIEST, LATEST, moment_ms
from goqueue.core.groups.bounds import (
    COMMIT_MAX,
    TOPICS_MAX,
    groups_refusal,
    members_refusal,
    offsets_refusal,
    topics_refusal,
)
from goqueue.core.groups.expiries import is_stale
from goqueue.core.groups.records import OffsetRecord
from goqueue.core.groups.settings import changed, setting_problem
from goqueue.core.groups.state import Change, Group, Groups, GroupStands, Member, OffsetStands, Slot
from goqueue.core.requests.groups import (
    AlterGroup,
    CommitOffsets,
    CommitRefusal,
    CommittedOffsets,
    FetchOffsets,
    GroupMode,
    GroupOffset,
    JoinGroup,
    OffsetChange,
    PartitionOffset,
    ResetOffsets,
    ResetTo,
)
from goqueue.core.requests.refusals import Code, Refusal

SESSION_MS_MIN = 1_000
SESSION_MS_DEFAULT = 30_000
SESSION_MS_MAX = 1_800_000
NAME_LENGTH_MAX = 200
OFFSET_MAX = (1 << 63) - 1
# A member's id ends in 16 digits. The sign before them tells one that has an instance id from one that has none.
_ID_TAIL = 17

# Start and end of what can be read of a partition; None when this node cannot tell.
Ends = Callable[[str, int], tuple[int, int] | None]


@define
class JoinPlan:
    """A membership to be: the group with it, and why partitions are to be divided anew, "" if they are not."""

    group: Group
    member_id: str
    reason: str = ""
    # The member that gives way to one of the same instance id.
    fenced_id: str = ""


# --- membership


def fresh_id(request: JoinGroup, number: int) -> str:
    """The id of a new member, from a random number of 64 bits."""
    name = f"{request.instance_id}@" if request.instance_id else f"{request.client_id or 'member'}-"
    return f"{name}{number:016x}"


def unused_id(groups: Groups, request: JoinGroup, chance: Random) -> str:
    """The id of a new member, which no member of its group has."""
    group = groups.groups.get(request.group)
    new_id = fresh_id(request, chance.getrandbits(64))
    # A generator that was seeded like the one before a restart gives out the same numbers.
    while group is not None and new_id in group.members:
        new_id = fresh_id(request, chance.getrandbits(64))
    return new_id


def plan_join(groups: Groups, request: JoinGroup, new_id: str) -> JoinPlan | Refusal:
    """A member more, or one that is back; `new_id` is for one that has no id yet."""
    refusal = join_refusal(request)
    if refusal is not None:
        return refusal
    group = groups.groups.get(request.group)
    if group is None:
        if len(groups.groups) >= groups.bounds.groups:
            return groups_refusal(groups.bounds)
        group = Group(request.group, request.mode or GroupMode.EXCLUSIVE, changed({}, request.config))
    if request.mode not in (None, group.mode):
        message = f"group {group.name} is {group.mode}, and cannot be joined as {request.mode}"
        return Refusal(Code.WRONG_MODE, message, "mode")
    if request.member_id:
        return _plan_return(groups, group, request)
    assert new_id not in group.members
    earlier = group.instance(request.instance_id)
    if earlier is not None:
        member = _member(request, new_id, earlier)
        if refusal := topics_refusal(groups.topic_count - len(earlier.topics) + len(member.topics)):
            return refusal
        return JoinPlan(group.replaced(earlier.member_id, member), new_id, _reason(earlier, member), earlier.member_id)
    member = _member(request, new_id, None)
    topics = groups.topic_count + len(member.topics)
    refusal = members_refusal(group.name, len(group.members), groups.member_count, topics)
    return refusal or JoinPlan(group.next({new_id: member}), new_id, "member_joined")


def _plan_return(groups: Groups, group: Group, request: JoinGroup) -> JoinPlan | Refusal:
    found = member_of(group, request.member_id)
    if isinstance(found, Refusal):
        return found
    if request.instance_id != found.instance_id:
        message = f"member {found.member_id} has instance_id {found.instance_id!r}, which cannot change"
        return Refusal(Code.INVALID, message, "instance_id")
    member = _member(request, found.member_id, found)
    if member == found:
        return JoinPlan(group, member.member_id)
    if refusal := topics_refusal(groups.topic_count - len(found.topics) + len(member.topics)):
        return refusal
    return JoinPlan(group.next({member.member_id: member}), member.member_id, _reason(found, member))


def _member(request: JoinGroup, member_id: str, earlier: Member | None) -> Member:
    topics = [*dict.fromkeys(request.topics)]
    target = {topic: slots for topic, slots in earlier.target.items() if topic in topics} if earlier else {}
    return Member(
        member_id,
        request.instance_id,
        request.client_id,
        topics,
        request.assignor,
        request.session_timeout_ms or SESSION_MS_DEFAULT,
        request.eager,
        earlier.owned if earlier else {},
        target,
    )


def _reason(earlier: Member, member: Member) -> str:
    if sorted(earlier.topics) != sorted(member.topics):
        return "subscription_changed"
    return "assignor_changed" if earlier.assignor != member.assignor else ""


def join_refusal(request: JoinGroup) -> Refusal | None:
    """Why nobody could join like this."""
    refusal = name_refusal(request.group)
    if refusal is not None:
        return refusal
    if not 1 <= len(request.topics) <= TOPICS_MAX:
        return _invalid("topics", f"a member reads from 1 to {TOPICS_MAX} topics, not {len(request.topics)}")
    for topic in request.topics:
        if problem := name_problem(topic):
            return _invalid("topics", problem)
    for name, value in (("client_id", request.client_id), ("instance_id", request.instance_id)):
        if len(value) > NAME_LENGTH_MAX or not value.isprintable():
            return _invalid(name, f"{name} must be at most {NAME_LENGTH_MAX} printable characters")
    if request.session_timeout_ms and not SESSION_MS_MIN <= request.session_timeout_ms <= SESSION_MS_MAX:
        bounds = f"{SESSION_MS_MIN} to {SESSION_MS_MAX} ms"
        return _invalid("session_timeout", f"session_timeout must be {bounds}, not {request.session_timeout_ms}")
    if request.assignor and request.assignor not in tuple(Assignor):
        return _invalid("assignor", f"assignor must be one of {', '.join(Assignor)}, not {request.assignor!r}")
    return _config_refusal(request.config)


def _config_refusal(config: dict[str, object]) -> Refusal | None:
    found = setting_problem(config)
    return _invalid(f"config.{found[0]}", f"config.{found[0]}: {found[1]}") if found else None


def _invalid(name: str, message: str) -> Refusal:
    return Refusal(Code.INVALID, message, name)


def name_refusal(group: str) -> Refusal | None:
    """Why no group can be called so."""
    problem = name_problem(group)
    return _invalid("group", problem.replace("a topic", "a group").replace("topics", "groups")) if problem else None


def group_of(groups: Groups, name: str) -> Group | Refusal:
    """A group, or that there is none."""
    return groups.groups.get(name) or Refusal(Code.GROUP_NOT_FOUND, f"there is no group {name!r}", "group")


def member_of(group: Group, member_id: str) -> Member | Refusal:
    """A member, or why it is none."""
    member = group.members.get(member_id)
    if member is not None:
        return member
    instance_id, sign = member_id[:-_ID_TAIL], member_id[-_ID_TAIL : 1 - _ID_TAIL]
    if sign == "@" and group.instance(instance_id) is not None:
        message = f"another member of group {group.name} has joined as instance {instance_id!r} since"
        return Refusal(Code.FENCED_INSTANCE, message, "member_id")
    return Refusal(Code.UNKNOWN_MEMBER, f"group {group.name} has no member {member_id!r}", "member_id")


def plan_alter(group: Group, request: AlterGroup) -> Group | Refusal:
    """The group with other settings."""
    return _config_refusal(request.config) or group.configured(changed(group.config, request.config))


def plan_delete(groups: Groups, name: str) -> list[Change] | Refusal:
    """The end of a group and of its offsets."""
    found = group_of(groups, name)
    if isinstance(found, Refusal):
        return found
    if found.members:
        message = f"group {name} has {len(found.members)} members; it can be deleted once they have left"
        return Refusal(Code.GROUP_NOT_EMPTY, message, "group")
    return ending(groups, name)


def ending(groups: Groups, name: str) -> list[Change]:
    """What takes a group and all of its offsets away; the group last, so that no half of it looks whole."""
    offsets: list[Change] = [OffsetStands(name, topic, partition, None) for topic, partition in groups.committed(name)]
    return [*offsets, GroupStands(name, None)]


# --- offsets


def plan_commit(
    groups: Groups, request: CommitOffsets, topics: dict[str, int], ends: Ends, wall_ms: int
) -> tuple[list[Change], CommittedOffsets] | Refusal:
    """The offsets that can be taken, and why the others cannot."""
    refusal = name_refusal(request.group)
    if refusal is not None:
        return refusal
    if len(request.offsets) > COMMIT_MAX:
        return _invalid("offsets", f"a commit names at most {COMMIT_MAX} partitions, not {len(request.offsets)}")
    group = groups.groups.get(request.group)
    changes: list[Change] = []
    if group is None and not request.member_id:
        if len(groups.groups) >= groups.bounds.groups:
            return groups_refusal(groups.bounds)
        # Who reads partitions of its own choice keeps its place under a group that nobody ever joined.
        group = Group(request.group, GroupMode.EXCLUSIVE, {}, emptied_ms=wall_ms)
        changes.append(GroupStands(group.name, group))
    if group is None:
        return Refusal(Code.UNKNOWN_MEMBER, f"there is no group {request.group!r}", "member_id")
    if group.mode is not GroupMode.EXCLUSIVE:
        message = f"group {group.name} is {group.mode}, and acknowledges messages; it commits no offsets"
        return Refusal(Code.WRONG_MODE, message, "group")
    member = _committer(group, request)
    if isinstance(member, Refusal):
        return member
    refusals: list[CommitRefusal] = []
    committed = groups.committed(group.name)
    newest: dict[Slot, int] = {}
    room = groups.bounds.offsets - groups.offset_count
    for one in request.offsets:
        slot = (one.topic, one.partition)
        why = _commit_refusal(group, member, request.generation, one, topics, ends)
        is_more = slot not in committed and slot not in newest
        if why is None and is_more and room <= 0:
            why = offsets_refusal(groups.bounds, "offsets")
        if why is not None:
            refusals.append(CommitRefusal(one.topic, one.partition, why))
            continue
        room -= is_more
        before = newest[slot] if slot in newest else _offset(committed.get(slot))
        if one.offset > before or (member is None and slot not in newest and is_stale(groups, group, slot, wall_ms)):
            newest[slot] = max(one.offset, before)
            record = OffsetRecord(newest[slot], group.generation, wall_ms)
            changes.append(OffsetStands(group.name, one.topic, one.partition, record))
    is_made_for_nothing = group.name not in groups.groups and not newest
    return ([] if is_made_for_nothing else changes), CommittedOffsets(refusals)


def _offset(record: OffsetRecord | None) -> int:
    return record.offset if record else -1


def _committer(group: Group, request: CommitOffsets) -> Member | Refusal | None:
    if not request.member_id:
        if not group.members:
            return None
        message = f"group {group.name} has members, and only they commit"
        return Refusal(Code.UNKNOWN_MEMBER, message, "member_id")
    member = member_of(group, request.member_id)
    return member if isinstance(member, Refusal) else generation_refusal(group, request.generation) or member


def _commit_refusal(
    group: Group, member: Member | None, generation: int, one: PartitionOffset, topics: dict[str, int], ends: Ends
) -> Refusal | None:
    if not 0 <= one.partition < topics.get(one.topic, 0):
        return Refusal(Code.PARTITION_NOT_FOUND, f"there is no partition {one.topic}-{one.partition}", "offsets")
    if not 0 <= one.offset <= OFFSET_MAX:
        return _invalid("offsets", f"an offset is at least 0, not {one.offset}")
    if member is not None:
        since = member.owned.get(one.topic, {}).get(one.partition)
        if since is None or generation < since:
            message = (
                f"{one.topic}-{one.partition} is not member {member.member_id}'s in generation {generation} of "
                f"group {group.name}, which is in {group.generation}"
            )
            return Refusal(Code.FENCED_GENERATION, message, "generation")
    span = ends(one.topic, one.partition)
    if span is None:
        message = f"where {one.topic}-{one.partition} ends is not known here"
        return Refusal(Code.UNAVAILABLE, message, "offsets", retry_after_ms=200)
    if one.offset > span[1]:
        message = f"{one.topic}-{one.partition} ends at {span[1]}, and {one.offset} is beyond"
        return Refusal(Code.OFFSET_OUT_OF_RANGE, message, "offsets")
    return None


def fetched(
    groups: Groups, group: Group, request: FetchOffsets, topics: dict[str, int], ends: Ends
) -> list[GroupOffset]:
    """How far a group has come, partition by partition."""
    committed = groups.committed(group.name)
    read = (topic for member in group.members.values() for topic in member.topics)
    names = sorted(dict.fromkeys(request.topics or [*read, *(topic for topic, _ in committed)]))
    offsets = []
    for topic in names:
        for partition in range(topics.get(topic, 0)):
            record = committed.get((topic, partition))
            lag = left_to_read(group, record, ends(topic, partition))
            offsets.append(GroupOffset(topic, partition, _offset(record), lag))
    return offsets


def left_to_read(group: Group, record: OffsetRecord | None, span: tuple[int, int] | None) -> int:
    """How many messages are left to read in a partition, -1 where its ends or where to begin are not known."""
    if span is None:
        return -1
    if record is None:
        start = group.config.get("start", EARLIEST)
        return span[1] - span[0] if start == EARLIEST else 0 if start == LATEST else -1
    return max(span[1] - max(record.offset, span[0]), 0)


def beginning(groups: Groups, group: Group, slot: Slot, span: tuple[int, int]) -> int:
    """Where a group goes on in a partition that reaches from `span[0]` to before `span[1]`.

    One that has committed nothing and begins at a moment goes on at the start at the earliest.
    """
    record = groups.committed(group.name).get(slot)
    if record is not None:
        return record.offset
    return span[1] if group.config.get("start") == LATEST else span[0]


def moment_to_find(groups: Groups, group: Group, slot: Slot) -> int | None:
    """The moment at which a group begins in a partition, if that is where it goes on."""
    is_committed = slot in groups.committed(group.name)
    return None if is_committed else moment_ms(group.config.get("start", EARLIEST))


def plan_reset(
    groups: Groups, request: ResetOffsets, partitions: int, ends: Ends, wall_ms: int
) -> tuple[list[Change], list[OffsetChange]] | Refusal:
    """Offsets as if the group had come elsewhere; `partitions` is how many the topic has."""
    group = group_of(groups, request.group)
    if isinstance(group, Refusal):
        return group
    if not partitions:
        return Refusal(Code.TOPIC_NOT_FOUND, f"there is no topic {request.topic!r}", "topic")
    owners = group.owners()
    committed = groups.committed(group.name)
    numbers = sorted(dict.fromkeys(request.partitions)) or range(partitions)
    if (
        len({(request.topic, number) for number in numbers} - committed.keys()) + groups.offset_count
        > groups.bounds.offsets
    ):
        return offsets_refusal(groups.bounds, "partitions")
    changes: list[Change] = []
    moves: list[OffsetChange] = []
    for partition in numbers:
        if not 0 <= partition < partitions:
            message = f"topic {request.topic} has partitions 0 to {partitions - 1}, not {partition}"
            return Refusal(Code.PARTITION_NOT_FOUND, message, "partitions")
        owner = owners.get((request.topic, partition))
        if owner is not None:
            message = f"member {owner} reads {request.topic}-{partition}; it can be reset once nobody does"
            return Refusal(Code.GROUP_NOT_EMPTY, message, "partitions")
        after = _reset_offset(request, partition, ends(request.topic, partition))
        if isinstance(after, Refusal):
            return after
        moves.append(OffsetChange(partition, _offset(committed.get((request.topic, partition))), after))
        record = OffsetRecord(after, group.generation, wall_ms)
        changes.append(OffsetStands(group.name, request.topic, partition, record))
    return ([] if request.dry_run else changes), moves


def _reset_offset(request: ResetOffsets, partition: int, span: tuple[int, int] | None) -> int | Refusal:
    if span is None:
        message = f"where {request.topic}-{partition} begins and ends is not known here"
        return Refusal(Code.UNAVAILABLE, message, "partitions", retry_after_ms=1000)
    start, end = span
    if request.to is ResetTo.EARLIEST:
        return start
    if request.to is ResetTo.LATEST:
        return end
    if request.to is ResetTo.OFFSET:
        if not 0 <= request.offset <= end:
            message = f"{request.topic}-{partition} ends at {end}, and {request.offset} is not from 0 to there"
            return Refusal(Code.OFFSET_OUT_OF_RANGE, message, "offset")
        return max(request.offset, start)
    found = request.found.get(partition)
    if found is None:
        message = f"which message of {request.topic}-{partition} comes first then is not known here"
        return Refusal(Code.UNAVAILABLE, message, "time", retry_after_ms=1000)
    return min(max(found, start), end)


def named(changes: list[Change], topic_ids: dict[str, int]) -> list[Change]:
    """Changes in which offsets say of which topic of the name they are: one that is made again has another id."""
    return [
        evolve(one, committed=evolve(one.committed, topic_id=topic_ids.get(one.topic, 0)))
        if isinstance(one, OffsetStands) and one.committed is not None
        else one
        for one in changes
    ]


def pruned(groups: Groups, topics: dict[str, int], topic_ids: dict[str, int]) -> list[Change]:
    """The end of the offsets of topics that are no more, also where another one has come by the name."""
    return [
        OffsetStands(name, topic, partition, None)
        for name, offsets in groups.offsets.items()
        for (topic, partition), committed in offsets.items()
        if partition >= topics.get(topic, 0) or 0 < committed.topic_id < topic_ids.get(topic, 0)
    ]


def generation_refusal(group: Group, generation: int) -> Refusal | None:
    """Why nobody can have seen a generation."""
    if generation <= group.generation:
        return None
    message = f"group {group.name} is in generation {group.generation}, {generation} never was"
    return Refusal(Code.FENCED_GENERATION, message, "generation")
