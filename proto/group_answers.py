"""What a group's coordinator answers: replies of the core as messages, and messages as replies.

A server writes by `<answer>_reply`, a client reads by `read_<answer>`. What a newer broker says beyond what is known
here is read as the nearest thing that is, never refused: it is the broker's to choose its words.
"""

from contextlib import suppress

import betterproto

from goqueue.core.requests.groups import (
    CommitRefusal,
    CommittedOffsets,
    GroupBeat,
    GroupMemberReply,
    GroupOffset,
    GroupReply,
    GroupState,
    Joined,
    OffsetChange,
    RebalancesReply,
    RevokedPartitions,
)
from goqueue.proto import v1
from goqueue.proto.fields import contents, made
from goqueue.proto.group_requests import mode_number, mode_of, partitions_of, topic_partitions
from goqueue.proto.refusals import read_refusal, refusal
from goqueue.proto.topics import setting

# --- membership


def joined_reply(reply: Joined) -> v1.JoinReply:
    """A membership."""
    return made(
        v1.JoinReply,
        member_id=reply.member_id,
        generation=reply.generation,
        mode=mode_number(reply.mode),
        assigned=topic_partitions(reply.assigned),
        to_revoke=topic_partitions(reply.to_revoke),
        heartbeat_interval_ms=reply.heartbeat_interval_ms,
        rebalance_required=reply.rebalance_required,
        members=[*reply.members],
        seen=reply.seen,
    )


def read_joined(message: v1.JoinReply) -> Joined:
    """A membership."""
    fields = contents(message)
    return Joined(
        fields["member_id"],
        fields["generation"],
        mode_of(fields["mode"]),
        partitions_of(fields["assigned"]),
        partitions_of(fields["to_revoke"]),
        fields["heartbeat_interval_ms"],
        fields["rebalance_required"],
        [*fields["members"]],
        fields["seen"],
    )


def group_beat_reply(reply: GroupBeat) -> v1.HeartbeatReply:
    """What a member may read, and what it is to let go of."""
    return made(
        v1.HeartbeatReply,
        generation=reply.generation,
        state=str(reply.state),
        assigned=topic_partitions(reply.assigned),
        to_revoke=topic_partitions(reply.to_revoke),
        revocation_deadline_ms=reply.revocation_deadline_ms,
        rebalance_required=reply.rebalance_required,
        seen=reply.seen,
    )


def read_group_beat(message: v1.HeartbeatReply) -> GroupBeat:
    """What a member may read, and what it is to let go of."""
    fields = contents(message)
    return GroupBeat(
        fields["generation"],
        _state(fields["state"]),
        partitions_of(fields["assigned"]),
        partitions_of(fields["to_revoke"]),
        fields["revocation_deadline_ms"],
        fields["rebalance_required"],
        fields["seen"],
    )


def _state(word: str) -> GroupState:
    with suppress(ValueError):
        return GroupState(word)
    return GroupState.STABLE


def leave_reply(reply: None) -> v1.LeaveReply:  # noqa: ARG001 - it says nothing
    """A member is gone."""
    return made(v1.LeaveReply)


def revoked_partitions_reply(reply: RevokedPartitions) -> v1.RevokeReply:
    """What is left to be let go of."""
    return made(v1.RevokeReply, pending=reply.pending, state=str(reply.state))


def read_revoked_partitions(message: v1.RevokeReply) -> RevokedPartitions:
    """What is left to be let go of."""
    return RevokedPartitions(message.pending, _state(message.state))


# --- offsets


def committed_offsets_reply(reply: CommittedOffsets) -> v1.CommitReply:
    """Which offsets were not taken."""
    return made(v1.CommitReply, refusals=[_commit_refusal(each) for each in reply.refusals])


def _commit_refusal(one: CommitRefusal) -> v1.CommitRefusal:
    partition = made(v1.TopicPartition, topic=one.topic, partition=one.partition)
    return made(v1.CommitRefusal, partition=partition, refusal=refusal(one.refusal))


def read_committed_offsets(message: v1.CommitReply) -> CommittedOffsets:
    """Which offsets were not taken."""
    return CommittedOffsets([_read_commit_refusal(each) for each in contents(message)["refusals"]])


def _read_commit_refusal(message: v1.CommitRefusal) -> CommitRefusal:
    partition = message.partition
    return CommitRefusal(partition.topic, partition.partition, read_refusal(message.refusal))


def group_offsets_reply(reply: list[GroupOffset]) -> v1.FetchOffsetsReply:
    """How far a group has come."""
    offsets = [
        made(v1.GroupOffset, topic=each.topic, partition=each.partition, offset=each.offset, lag=each.lag)
        for each in reply
    ]
    return made(v1.FetchOffsetsReply, offsets=offsets)


def read_group_offsets(message: v1.FetchOffsetsReply) -> list[GroupOffset]:
    """How far a group has come."""
    found = map(contents, contents(message)["offsets"])
    return [GroupOffset(each["topic"], each["partition"], each["offset"], each["lag"]) for each in found]


def offset_changes_reply(reply: list[OffsetChange]) -> v1.ResetOffsetsReply:
    """What a reset changed, or would."""
    changes = [made(v1.OffsetChange, partition=each.partition, before=each.before, after=each.after) for each in reply]
    return made(v1.ResetOffsetsReply, changes=changes)


def read_offset_changes(message: v1.ResetOffsetsReply) -> list[OffsetChange]:
    """What a reset changed, or would."""
    found = map(contents, contents(message)["changes"])
    return [OffsetChange(each["partition"], each["before"], each["after"]) for each in found]


# --- groups


def group_reply(reply: GroupReply) -> v1.Group:
    """One group."""
    return made(
        v1.Group,
        group=reply.group,
        state=str(reply.state),
        generation=reply.generation,
        assignor=reply.assignor,
        mode=mode_number(reply.mode),
        config={key: setting(value) for key, value in reply.config.items()},
        members=[_member(each) for each in reply.members],
        expires_ms=reply.expires_ms,
    )


def _member(reply: GroupMemberReply) -> v1.GroupMember:
    return made(
        v1.GroupMember,
        member_id=reply.member_id,
        instance_id=reply.instance_id,
        client_id=reply.client_id,
        topics=[*reply.topics],
        assigned=topic_partitions(reply.assigned),
        to_revoke=topic_partitions(reply.to_revoke),
        session_timeout_ms=reply.session_timeout_ms,
        eager=reply.eager,
        last_heartbeat_ms=reply.last_heartbeat_ms,
    )


def read_group(message: v1.Group) -> GroupReply:
    """One group."""
    fields = contents(message)
    return GroupReply(
        fields["group"],
        _state(fields["state"]),
        fields["generation"],
        fields["assignor"],
        mode_of(fields["mode"]),
        {key: betterproto.which_one_of(value, "value")[1] for key, value in fields["config"].items()},
        [_read_member(each) for each in fields["members"]],
        fields["expires_ms"],
    )


def _read_member(message: v1.GroupMember) -> GroupMemberReply:
    fields = contents(message)
    return GroupMemberReply(
        fields["member_id"],
        fields["instance_id"],
        fields["client_id"],
        [*fields["topics"]],
        partitions_of(fields["assigned"]),
        partitions_of(fields["to_revoke"]),
        fields["session_timeout_ms"],
        fields["eager"],
        fields["last_heartbeat_ms"],
    )


def groups_reply(reply: list[GroupReply]) -> v1.ListGroupsReply:
    """All groups."""
    return made(v1.ListGroupsReply, groups=[group_reply(each) for each in reply])


def read_groups(message: v1.ListGroupsReply) -> list[GroupReply]:
    """All groups."""
    return [read_group(each) for each in contents(message)["groups"]]


def delete_group_reply(reply: None) -> v1.DeleteGroupReply:  # noqa: ARG001 - it says nothing
    """A group is gone."""
    return made(v1.DeleteGroupReply)


def rebalances_reply(reply: RebalancesReply) -> v1.Rebalances:
    """What rebalances there were."""
    return made(
        v1.Rebalances,
        total=reply.total,
        successful=reply.successful,
        failed=reply.failed,
        partitions_revoked=reply.partitions_revoked,
        partitions_assigned=reply.partitions_assigned,
        revocation_timeouts=reply.revocation_timeouts,
        last_duration_ms=reply.last_duration_ms,
        average_duration_ms=reply.average_duration_ms,
        last_at_ms=reply.last_at_ms,
        by_reason=dict(reply.by_reason),
    )


def read_rebalances(message: v1.Rebalances) -> RebalancesReply:
    """What rebalances there were."""
    fields = contents(message)
    return RebalancesReply(
        fields["total"],
        fields["successful"],
        fields["failed"],
        fields["partitions_revoked"],
        fields["partitions_assigned"],
        fields["revocation_timeouts"],
        fields["last_duration_ms"],
        fields["average_duration_ms"],
        fields["last_at_ms"],
        dict(fields["by_reason"]),
    )
