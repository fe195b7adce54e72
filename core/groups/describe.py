"""Groups as others see them: replies, fingerprints, counts. Nothing here changes anything."""

import mmh3

from goqueue.core.cluster.durations import format_duration
from goqueue.core.groups.rebalance import assigned, chosen_assignor, to_revoke
from goqueue.core.groups.settings import full
from goqueue.core.groups.state import Group, Member
from goqueue.core.requests.groups import GroupBeat, GroupMemberReply, GroupReply, GroupState, Joined


def fingerprint(group: Group, member: Member) -> int:
    """A number that differs when what a member is to be told differs; the same after a restart, and never 0."""
    told = repr((group.generation, assigned(member), to_revoke(member)))
    return (mmh3.hash64(told, signed=False)[0] >> 1) or 1


def group_reply(group: Group, state: GroupState, heard_ms: list[int], retention_ms: int, expires_ms: int) -> GroupReply:
    """A group for whoever asks; `heard_ms` is when each member was last heard of."""
    members = [_member_reply(*pair) for pair in zip(group.members.values(), heard_ms, strict=True)]
    assignor = chosen_assignor(group).value
    config = full({"offsets_retention": format_duration(retention_ms), **group.config})
    return GroupReply(group.name, state, group.generation, assignor, group.mode, config, members, expires_ms)


def _member_reply(member: Member, heard_ms: int) -> GroupMemberReply:
    return GroupMemberReply(
        member.member_id,
        member.instance_id,
        member.client_id,
        member.topics,
        assigned(member),
        to_revoke(member),
        member.session_timeout_ms,
        member.eager,
        heard_ms,
    )


def joined(group: Group, member: Member, seen: int, *, is_required: bool) -> Joined:
    """What a member is answered that has joined."""
    return Joined(
        member.member_id,
        group.generation,
        group.mode,
        assigned(member),
        to_revoke(member),
        member.session_timeout_ms // 3,
        is_required,
        [*group.members],
        seen,
    )


def beat(group: Group, state: GroupState, member: Member, told: int, deadline_ms: int) -> GroupBeat:
    """What a member is answered that has said that it lives, and was last `told` another thing or the same."""
    seen = fingerprint(group, member)
    required = is_rebalance_required(member, told, seen)
    return GroupBeat(group.generation, state, assigned(member), to_revoke(member), deadline_ms, required, seen)


def is_rebalance_required(member: Member, told: int, seen: int) -> bool:
    """Whether a member, `told` another thing, is to join again; a cooperative one, to let go of something."""
    return told != seen if member.eager else bool(to_revoke(member))


def count_owned(member: Member) -> int:
    """How many partitions a member has."""
    return sum(len(partitions) for partitions in member.owned.values())


def gained(before: Group, after: Group) -> int:
    """How many partitions are the target of another member than before."""
    count = 0
    for member_id, member in after.members.items():
        earlier = before.members[member_id].target
        for topic, partitions in member.target.items():
            count += len({*partitions}.difference(earlier.get(topic, ())))
    return count


def check_complete(group: Group, topics: dict[str, int]) -> None:
    """Assert that each partition of each topic that somebody reads is one member's target, and nothing else is."""
    read = {topic for member in group.members.values() for topic in member.topics}
    wanted = {(topic, partition) for topic in read for partition in range(topics.get(topic, 0))}
    targets = [
        (topic, partition)
        for member in group.members.values()
        for topic, partitions in member.target.items()
        for partition in partitions
    ]
    assert len(targets) == len(wanted)
    assert set(targets) == wanted
