"""What members and operators ask of a group: messages as requests, and requests as messages.

A server reads by `<verb>_request`, a client writes by `<verb>_message`; the two are each other's inverse. What cannot
be meant is refused here with the field that is wrong, what depends on the state of a group by the core.
"""

from collections.abc import Iterable
from typing import Any

import betterproto
from attrs import define

from goqueue.core.records.varint import INT64_MAX
from goqueue.core.requests.groups import (
    AlterGroup,
    CommitOffsets,
    DeleteGroup,
    DescribeGroup,
    DescribeRebalances,
    FetchOffsets,
    GroupHeartbeat,
    GroupMode,
    JoinGroup,
    LeaveGroup,
    ListGroups,
    PartitionOffset,
    Partitions,
    ResetOffsets,
    ResetTo,
    RevokePartitions,
    WatchGroup,
)
from goqueue.core.requests.refusals import Refusal
from goqueue.proto import v1
from goqueue.proto.fields import contents, made
from goqueue.proto.refusals import invalid, missing, negative
from goqueue.proto.topics import config_of, setting

_NS_PER_MS = 1_000_000
_UINT32_MAX = (1 << 32) - 1
_MODES: dict[int, GroupMode | None] = {
    v1.GroupMode.UNSPECIFIED: None,
    v1.GroupMode.EXCLUSIVE: GroupMode.EXCLUSIVE,
    v1.GroupMode.SHARED: GroupMode.SHARED,
}
_NUMBERS = {mode: v1.GroupMode.try_value(number) for number, mode in _MODES.items()}
_PLACES = {"earliest": ResetTo.EARLIEST, "latest": ResetTo.LATEST}


@define
class Seek:
    """Go on from these offsets in partitions that a stream reads."""

    positions: list[PartitionOffset]


# --- membership


def join_group_request(message: v1.JoinRequest) -> JoinGroup | Refusal:
    """Somebody wants to be a member."""
    fields = contents(message)
    if not fields["group"]:
        return missing("group")
    if fields["mode"] not in _MODES:
        return invalid(f"mode cannot be {int(fields['mode'])}", "mode")
    config = config_of(fields["config"], alters="AlterGroup")
    if isinstance(config, Refusal):
        return config
    return JoinGroup(
        fields["group"],
        [*fields["topics"]],
        fields["member_id"],
        fields["instance_id"],
        fields["client_id"],
        fields["session_timeout_ms"],
        _MODES[fields["mode"]],
        fields["assignor"],
        fields["eager"],
        config,
    )


def join_group_message(request: JoinGroup) -> v1.JoinRequest:
    """A member's way in."""
    return made(
        v1.JoinRequest,
        group=request.group,
        member_id=request.member_id,
        instance_id=request.instance_id,
        client_id=request.client_id,
        topics=[*request.topics],
        session_timeout_ms=request.session_timeout_ms,
        mode=mode_number(request.mode),
        assignor=request.assignor,
        config={key: setting(value) for key, value in request.config.items()},
        eager=request.eager,
    )


def mode_number(mode: GroupMode | None) -> v1.GroupMode:
    """A mode as it travels; None is the group's."""
    return _NUMBERS[mode]


def mode_of(number: int) -> GroupMode:
    """The mode of a group that a broker told of."""
    return _MODES.get(number) or GroupMode.EXCLUSIVE


def group_heartbeat_request(message: v1.HeartbeatRequest) -> GroupHeartbeat | Refusal:
    """A member lives."""
    fields = contents(message)
    absent = _absent(fields)
    return absent or GroupHeartbeat(fields["group"], fields["member_id"], fields["generation"])


def group_heartbeat_message(request: GroupHeartbeat) -> v1.HeartbeatRequest:
    """A member lives."""
    return made(v1.HeartbeatRequest, group=request.group, member_id=request.member_id, generation=request.generation)


def watch_group_request(message: v1.WatchRequest) -> WatchGroup | Refusal:
    """A member waits for news."""
    fields = contents(message)
    wait_ns = fields["wait_ms"] * _NS_PER_MS
    # Nodes pass on numbers of 63 bits. A larger one was never told to anybody, and is worth as much as none.
    seen = fields["seen"] if fields["seen"] <= INT64_MAX else 0
    return _absent(fields) or WatchGroup(fields["group"], fields["member_id"], seen, wait_ns)


def watch_group_message(request: WatchGroup) -> v1.WatchRequest:
    """A member waits for news."""
    wait_ms = min(request.wait_ns // _NS_PER_MS, _UINT32_MAX)
    return made(v1.WatchRequest, group=request.group, member_id=request.member_id, seen=request.seen, wait_ms=wait_ms)


def leave_group_request(message: v1.LeaveRequest) -> LeaveGroup | Refusal:
    """A member goes."""
    fields = contents(message)
    return _absent(fields) or LeaveGroup(fields["group"], fields["member_id"])


def leave_group_message(request: LeaveGroup) -> v1.LeaveRequest:
    """A member goes."""
    return made(v1.LeaveRequest, group=request.group, member_id=request.member_id)


def revoke_partitions_request(message: v1.RevokeRequest) -> RevokePartitions | Refusal:
    """A member has let go."""
    fields = contents(message)
    revoked = _partitions_given(fields["revoked"], "revoked")
    if isinstance(revoked, Refusal):
        return revoked
    return _absent(fields) or RevokePartitions(fields["group"], fields["member_id"], fields["generation"], revoked)


def revoke_partitions_message(request: RevokePartitions) -> v1.RevokeRequest:
    """A member has let go."""
    return made(
        v1.RevokeRequest,
        group=request.group,
        member_id=request.member_id,
        generation=request.generation,
        revoked=topic_partitions(request.revoked),
    )


def topic_partitions(partitions: Partitions) -> list[v1.TopicPartition]:
    """Partitions as they travel."""
    return [
        made(v1.TopicPartition, topic=topic, partition=partition)
        for topic, numbers in partitions.items()
        for partition in numbers
    ]


def partitions_of(messages: Iterable[v1.TopicPartition]) -> Partitions:
    """Partitions as the core has them: by topic, in order, each once."""
    pairs = {(fields["topic"], fields["partition"]) for fields in map(contents, messages)}
    partitions: Partitions = {}
    for topic, partition in sorted(pairs):
        partitions.setdefault(topic, []).append(partition)
    return partitions


def _partitions_given(messages: list[v1.TopicPartition], name: str) -> Partitions | Refusal:
    for at, each in enumerate(messages):
        if not contents(each)["topic"]:
            return missing(f"{name}[{at}].topic")
    return partitions_of(messages)


def _absent(fields: dict[str, Any]) -> Refusal | None:
    """What is missing of what names a member."""
    if not fields["group"]:
        return missing("group")
    return None if fields["member_id"] else missing("member_id")


# --- offsets


def commit_offsets_request(message: v1.CommitRequest) -> CommitOffsets | Refusal:
    """A group has come this far."""
    fields = contents(message)
    if not fields["group"]:
        return missing("group")
    offsets = _offsets_given(fields["offsets"], "offsets")
    if isinstance(offsets, Refusal):
        return offsets
    return CommitOffsets(fields["group"], fields["member_id"], fields["generation"], offsets)


def commit_offsets_message(request: CommitOffsets) -> v1.CommitRequest:
    """A group has come this far."""
    return made(
        v1.CommitRequest,
        group=request.group,
        member_id=request.member_id,
        generation=request.generation,
        offsets=[_offset_message(each) for each in request.offsets],
    )


def _offset_message(one: PartitionOffset) -> v1.PartitionOffset:
    return made(v1.PartitionOffset, topic=one.topic, partition=one.partition, offset=one.offset)


def _offsets_given(messages: list[v1.PartitionOffset], name: str) -> list[PartitionOffset] | Refusal:
    offsets = []
    for at, each in enumerate(messages):
        fields = contents(each)
        if not fields["topic"]:
            return missing(f"{name}[{at}].topic")
        if fields["offset"] < 0:
            return negative(f"{name}[{at}].offset", fields["offset"])
        offsets.append(PartitionOffset(fields["topic"], fields["partition"], fields["offset"]))
    return offsets


def seek_request(message: v1.SeekRequest) -> Seek | Refusal:
    """Where to go on reading; each partition once."""
    positions = _offsets_given(contents(message)["positions"], "positions")
    if isinstance(positions, Refusal):
        return positions
    places = [(each.topic, each.partition) for each in positions]
    for at, place in enumerate(places):
        if place in places[:at]:
            return invalid(f"positions[{at}] names {place[0]}-{place[1]} once more", f"positions[{at}]")
    return Seek(positions)


def fetch_offsets_request(message: v1.FetchOffsetsRequest) -> FetchOffsets | Refusal:
    """How far a group has come is asked."""
    fields = contents(message)
    return FetchOffsets(fields["group"], [*fields["topics"]]) if fields["group"] else missing("group")


def fetch_offsets_message(request: FetchOffsets) -> v1.FetchOffsetsRequest:
    """How far a group has come is asked."""
    return made(v1.FetchOffsetsRequest, group=request.group, topics=[*request.topics])


def reset_offsets_request(message: v1.ResetOffsetsRequest) -> ResetOffsets | Refusal:
    """A group is to go on from somewhere else."""
    for name, given in (("group", message.group), ("topic", message.topic)):
        if not given:
            return missing(name)
    place: tuple[str, Any] = betterproto.which_one_of(message, "to")
    which, value = place
    if value is None:
        return invalid("earliest, latest, offset or timestamp_ms is required", "to")
    wanted = ResetOffsets(message.group, message.topic, ResetTo.TIME, [*message.partitions], dry_run=message.dry_run)
    if which in _PLACES:
        wanted.to = _PLACES[which]
        return wanted if value else invalid(f"{which} can only be true", which)
    if value < 0:
        return negative(which, value)
    if which == "offset":
        wanted.to, wanted.offset = ResetTo.OFFSET, value
    else:
        wanted.at_ms = value
    return wanted


def reset_offsets_message(request: ResetOffsets) -> v1.ResetOffsetsRequest:
    """A group is to go on from somewhere else."""
    message = v1.ResetOffsetsRequest(
        group=request.group, topic=request.topic, partitions=[*request.partitions], dry_run=request.dry_run
    )
    if request.to is ResetTo.EARLIEST:
        message.earliest = True
    elif request.to is ResetTo.LATEST:
        message.latest = True
    elif request.to is ResetTo.OFFSET:
        message.offset = request.offset
    else:
        message.timestamp_ms = request.at_ms
    return message


# --- groups


def list_groups_request(message: v1.ListGroupsRequest) -> ListGroups:  # noqa: ARG001 - it says nothing
    """All groups are asked for."""
    return ListGroups()


def list_groups_message(request: ListGroups) -> v1.ListGroupsRequest:  # noqa: ARG001 - it says nothing
    """All groups are asked for."""
    return made(v1.ListGroupsRequest)


def describe_group_request(message: v1.DescribeGroupRequest) -> DescribeGroup | Refusal:
    """One group is asked for."""
    return DescribeGroup(message.group) if message.group else missing("group")


def describe_group_message(request: DescribeGroup) -> v1.DescribeGroupRequest:
    """One group is asked for."""
    return made(v1.DescribeGroupRequest, group=request.group)


def alter_group_request(message: v1.AlterGroupRequest) -> AlterGroup | Refusal:
    """Settings to be changed, or taken back to their defaults."""
    fields = contents(message)
    if not fields["group"]:
        return missing("group")
    config = config_of(fields["config"], resets=True)
    return config if isinstance(config, Refusal) else AlterGroup(fields["group"], config)


def alter_group_message(request: AlterGroup) -> v1.AlterGroupRequest:
    """Settings to be changed, or taken back to their defaults."""
    config = {key: setting(value) for key, value in request.config.items()}
    return made(v1.AlterGroupRequest, group=request.group, config=config)


def delete_group_request(message: v1.DeleteGroupRequest) -> DeleteGroup | Refusal:
    """A group is to be removed."""
    return DeleteGroup(message.group) if message.group else missing("group")


def delete_group_message(request: DeleteGroup) -> v1.DeleteGroupRequest:
    """A group is to be removed."""
    return made(v1.DeleteGroupRequest, group=request.group)


def describe_rebalances_request(message: v1.DescribeRebalancesRequest) -> DescribeRebalances:
    """What rebalances there were."""
    return DescribeRebalances(message.group)


def describe_rebalances_message(request: DescribeRebalances) -> v1.DescribeRebalancesRequest:
    """What rebalances there were."""
    return made(v1.DescribeRebalancesRequest, group=request.group)
