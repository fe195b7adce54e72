"""Consumer groups as an operator sees and changes them: who reads what, how far the group has come, where it goes on.

Membership is `group_consumer.py`. Here nothing joins: offsets are looked at, reset and committed from outside, which
the broker allows as long as nobody owns the partition (a reset) or the group has no members (a commit).
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TypeAlias

from attrs import define

from goqueue.proto import v1
from goqueue.transports.client.brokers import Brokers
from goqueue.transports.client.errors import ClientError, CommitFailed, error_of, refusal_failure
from goqueue.transports.client.settings import SettingFound, SettingGiven, settings_found, settings_given
from goqueue.transports.client.times import MILLISECOND, milliseconds_of, moment_of, wall_ms

EARLIEST, LATEST = "earliest", "latest"
OFFSET_MAX = (1 << 63) - 1

Place: TypeAlias = str | int | datetime | timedelta


@define
class GroupMember:
    """A member: what it reads, what it has, as `(topic, partition)`, and what of that it is to let go of."""

    member_id: str
    instance_id: str
    client_id: str
    topics: list[str]
    assigned: list[tuple[str, int]]
    to_revoke: list[tuple[str, int]]
    session_timeout: timedelta
    is_eager: bool
    last_heartbeat: datetime


@define
class Group:
    """A group: empty, assigning, reconciling or stable; its settings, defaults included; its members by seniority."""

    name: str
    state: str
    generation: int
    mode: str
    assignor: str
    config: dict[str, SettingFound]
    members: list[GroupMember]


@define
class GroupOffset:
    """The next offset to be read, None where nothing was committed; how much is left, None where that is unknown."""

    topic: str
    partition: int
    offset: int | None
    lag: int | None


@define
class OffsetChange:
    """Where the offset of a partition was, None for nowhere, and where it is."""

    topic: str
    partition: int
    before: int | None
    after: int


@define
class Rebalances:
    """Rebalances since the coordinator began; one fails when a member had to be cut off."""

    total: int
    successful: int
    failed: int
    partitions_revoked: int
    partitions_assigned: int
    revocation_timeouts: int
    last_duration: timedelta
    average_duration: timedelta
    last_at: datetime | None
    by_reason: dict[str, int]


# Within the class `list` is a method.
_GroupList: TypeAlias = list[Group]
_OffsetList: TypeAlias = list[GroupOffset]
_ChangeList: TypeAlias = list[OffsetChange]


class Groups:
    """The consumer groups of a broker."""

    def __init__(self, brokers: Brokers) -> None:
        self._brokers = brokers

    async def list(self) -> _GroupList:
        """All groups, by name."""
        reply = await self._brokers.call("Groups/ListGroups", v1.ListGroupsRequest(), v1.ListGroupsReply)
        return [_group(each) for each in reply.groups]

    async def describe(self, group: str) -> Group:
        """One group."""
        return _group(await self._brokers.call("Groups/DescribeGroup", v1.DescribeGroupRequest(group), v1.Group, group))

    async def offsets(self, group: str, *topics: str) -> _OffsetList:
        """How far the group has come in these topics; in all that it reads or has committed to, if none is named."""
        request = v1.FetchOffsetsRequest(group, [*topics])
        reply = await self._brokers.call("Groups/FetchOffsets", request, v1.FetchOffsetsReply, group)
        return [
            GroupOffset(each.topic, each.partition, _known(each.offset), _known(each.lag)) for each in reply.offsets
        ]

    async def reset(
        self,
        group: str,
        topic: str,
        *,
        to: Place,
        partitions: int | Sequence[int] | None = None,
        dry_run: bool = False,
    ) -> _ChangeList:
        """Go on from elsewhere, in partitions that nobody owns: all of the topic's, unless some are named.

        `to` is "earliest", "latest", an offset, an aware datetime, or a timedelta for that long ago.
        """
        request = reset_request(group, topic, to, partitions, dry_run=dry_run)
        reply = await self._brokers.call("Groups/ResetOffsets", request, v1.ResetOffsetsReply, group, once=not dry_run)
        return [OffsetChange(topic, each.partition, _known(each.before), each.after) for each in reply.changes]

    async def commit(self, group: str, offsets: Mapping[tuple[str, int], int]) -> None:
        """Say how far a group without members has come; it is made if there is none. Raises CommitFailed."""
        wanted = [v1.PartitionOffset(topic, partition, offset) for (topic, partition), offset in offsets.items()]
        request = v1.CommitRequest(group=group, offsets=wanted)
        reply, is_in_doubt = await self._brokers.call_doubting("Groups/Commit", request, v1.CommitReply, group)
        if reply.refusals:
            failures: dict[tuple[str, int], ClientError] = {}
            for each in reply.refusals:
                failure = refusal_failure(each.refusal)
                slot = each.partition.topic, each.partition.partition
                failures[slot] = error_of(failure.in_doubt() if is_in_doubt else failure)
            raise CommitFailed(failures)

    async def alter(self, group: str, config: Mapping[str, SettingGiven]) -> Group:
        """Change settings; None takes one back to its default."""
        request = v1.AlterGroupRequest(group, settings_given(config))
        return _group(await self._brokers.call("Groups/AlterGroup", request, v1.Group, group))

    async def delete(self, group: str) -> None:
        """Remove a group without members, and its offsets."""
        request = v1.DeleteGroupRequest(group)
        await self._brokers.call("Groups/DeleteGroup", request, v1.DeleteGroupReply, group, once=True)

    async def rebalances(self, group: str = "") -> Rebalances:
        """What rebalances there were: of a group, or of all."""
        request = v1.DescribeRebalancesRequest(group)
        return _rebalances(await self._brokers.call("Groups/DescribeRebalances", request, v1.Rebalances, group))


def reset_request(
    group: str, topic: str, to: Place, partitions: int | Sequence[int] | None, *, dry_run: bool
) -> v1.ResetOffsetsRequest:
    """A reset out of what a user said; raises ValueError or TypeError."""
    chosen = [partitions] if isinstance(partitions, int) else [*(partitions or ())]
    if partitions is not None and (not chosen or min(chosen) < 0):
        raise ValueError(f"partitions are numbers from 0 on, at least one, not {partitions!r}")
    request = v1.ResetOffsetsRequest(group=group, topic=topic, partitions=chosen, dry_run=dry_run)
    if to == EARLIEST:
        request.earliest = True
    elif to == LATEST:
        request.latest = True
    elif isinstance(to, int) and not isinstance(to, bool):
        if not 0 <= to <= OFFSET_MAX:
            raise ValueError(f"an offset is a number from 0 on, not {to}")
        request.offset = to
    elif isinstance(to, datetime):
        request.timestamp_ms = max(0, milliseconds_of(to, "to"))
    elif isinstance(to, timedelta):
        request.timestamp_ms = max(0, wall_ms() - to // MILLISECOND)
    else:
        raise TypeError(f"to is {EARLIEST!r}, {LATEST!r}, an offset, an aware datetime or a timedelta, not {to!r}")
    return request


def _group(found: v1.Group) -> Group:
    members = [_member(each) for each in found.members]
    mode = (v1.GroupMode(found.mode).name or "").lower()
    return Group(
        found.group, found.state, found.generation, mode, found.assignor, settings_found(found.config), members
    )


def _member(found: v1.GroupMember) -> GroupMember:
    return GroupMember(
        found.member_id,
        found.instance_id,
        found.client_id,
        list(found.topics),
        _pairs(found.assigned),
        _pairs(found.to_revoke),
        found.session_timeout_ms * MILLISECOND,
        found.eager,
        moment_of(found.last_heartbeat_ms),
    )


def _pairs(found: Iterable[v1.TopicPartition]) -> list[tuple[str, int]]:
    return [(each.topic, each.partition) for each in found]


def _rebalances(found: v1.Rebalances) -> Rebalances:
    return Rebalances(
        found.total,
        found.successful,
        found.failed,
        found.partitions_revoked,
        found.partitions_assigned,
        found.revocation_timeouts,
        found.last_duration_ms * MILLISECOND,
        found.average_duration_ms * MILLISECOND,
        moment_of(found.last_at_ms) if found.last_at_ms else None,
        dict(found.by_reason),
    )


def _known(number: int) -> int | None:
    return None if number < 0 else number
