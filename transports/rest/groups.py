"""The endpoints of groups as a whole: what there is, their settings, their end, and their rebalances."""

from goqueue.core.cluster.durations import format_duration
from goqueue.core.requests.groups import (
    AlterGroup,
    DeleteGroup,
    DescribeGroup,
    DescribeRebalances,
    GroupMemberReply,
    GroupReply,
    ListGroups,
    Partitions,
    RebalancesReply,
)
from goqueue.core.requests.refusals import Code
from goqueue.transports.rest.call import Call, answer
from goqueue.transports.rest.errors import STATUS, RestError
from goqueue.transports.rest.exchange import Answer
from goqueue.transports.rest.group_bodies import (
    GroupGone,
    GroupsView,
    GroupView,
    MemberView,
    Protocols,
    RebalancesView,
    SettingsDraft,
)
from goqueue.transports.rest.times import written_time

SHORTHANDS = (
    "key_ordered", "visibility_timeout", "max_attempts", "retry_backoff", "max_in_flight", "start", "offsets_retention",
)  # fmt: skip


async def list_groups(call: Call) -> Answer:
    """GET /groups: names, or all of each."""
    groups: list[GroupReply] = await call.ask(ListGroups(), list)
    if call.query.get("details"):
        return answer(GroupsView([group_view(group) for group in groups]))
    return answer(GroupsView([group.group for group in groups]))


async def describe_group(call: Call) -> Answer:
    """GET /groups/{group}."""
    return answer(group_view(await described(call)))


async def alter_group(call: Call) -> Answer:
    """PATCH /groups/{group}."""
    draft = call.body(SettingsDraft)
    if draft.mode is not None:
        await _keep_mode(call, draft.mode)
    given = shorthands(draft)
    try:
        group = await call.ask(AlterGroup(call.group, {**draft.config, **given}), GroupReply)
    except RestError as error:
        raise as_written(error, given) from None
    return answer(group_view(group))


async def _keep_mode(call: Call, mode: str) -> None:
    group = await described(call)
    if group.mode != mode:
        said = f"group {group.group} is {group.mode}, and its mode cannot change"
        raise RestError(STATUS[Code.WRONG_MODE], Code.WRONG_MODE, said, "mode")


async def delete_group(call: Call) -> Answer:
    """DELETE /groups/{group}."""
    await call.ask(DeleteGroup(call.group), type(None))
    return answer(GroupGone(call.group))


async def describe_rebalances(call: Call) -> Answer:
    """GET /rebalance/stats and /groups/{group}/rebalance/stats."""
    return answer(await counted(call, call.names.get("group", "")))


async def described(call: Call) -> GroupReply:
    """The group in the path."""
    return await call.ask(DescribeGroup(call.group), GroupReply)


async def counted(call: Call, group: str) -> RebalancesView:
    """The rebalances of a group, or of all when none is named."""
    return _rebalances_view(await call.ask(DescribeRebalances(group), RebalancesReply))


def shorthands(draft: SettingsDraft) -> dict[str, object]:
    """The settings that stand at the top of a body."""
    return {key: getattr(draft, key) for key in SHORTHANDS if getattr(draft, key) is not None}


def as_written(error: RestError, given: dict[str, object]) -> RestError:
    """The error about a setting, with its field where its user wrote it."""
    if error.field.removeprefix("config.") in given:
        error.field = error.field.removeprefix("config.")
    return error


def slot_names(partitions: Partitions) -> list[str]:
    """Partitions by the names that clients know."""
    return [f"{topic}-{number}" for topic, numbers in partitions.items() for number in numbers]


def topics_read(group: GroupReply) -> list[str]:
    """The topics that somebody in a group reads."""
    return sorted({topic for member in group.members for topic in member.topics})


def protocols(group: GroupReply) -> Protocols:
    """What the members of a group speak."""
    eager = sum(member.eager for member in group.members)
    if not group.members:
        return "none"
    if eager == len(group.members):
        return "eager"
    return "mixed" if eager else "cooperative"


def group_view(group: GroupReply) -> GroupView:
    """A group as JSON says it."""
    members = [member_view(member) for member in group.members]
    leader_id = members[0].member_id if members else ""
    return GroupView(
        group.group, group.state.value, group.generation, protocols(group), group.mode.value, group.assignor,
        leader_id, topics_read(group), members, group.config,
        written_time(group.expires_ms) if group.expires_ms else None,
    )  # fmt: skip


def member_view(member: GroupMemberReply) -> MemberView:
    """A member as JSON says it."""
    return MemberView(
        member.member_id, member.client_id, member.instance_id, "eager" if member.eager else "cooperative",
        member.topics, slot_names(member.assigned), slot_names(member.to_revoke),
        format_duration(member.session_timeout_ms), written_time(member.last_heartbeat_ms),
    )  # fmt: skip


def _rebalances_view(reply: RebalancesReply) -> RebalancesView:
    return RebalancesView(
        reply.total, reply.successful, reply.failed, reply.partitions_revoked, reply.partitions_assigned,
        reply.revocation_timeouts, reply.last_duration_ms, reply.average_duration_ms,
        written_time(reply.last_at_ms) if reply.last_at_ms else None, reply.by_reason,
    )  # fmt: skip
