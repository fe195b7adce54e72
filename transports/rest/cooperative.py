"""The endpoints of members that give up single partitions: the cooperative face of groups.

A cooperative member is told by its heartbeats what to let go of and until when, confirms that by a revocation, and
reads on meanwhile in all that it keeps.
"""

from goqueue.core.requests.groups import (
    GroupBeat,
    GroupHeartbeat,
    GroupState,
    LeaveGroup,
    Partitions,
    RevokedPartitions,
    RevokePartitions,
)
from goqueue.core.requests.refusals import Code
from goqueue.transports.rest.bodies import Count
from goqueue.transports.rest.call import PARTITION_MAX, Call, answer
from goqueue.transports.rest.decoding import whole_number
from goqueue.transports.rest.errors import STATUS, RestError, invalid
from goqueue.transports.rest.exchange import Answer
from goqueue.transports.rest.group_bodies import (
    AssignmentView,
    BeatDraft,
    CooperativeBeatView,
    CooperativeJoinDraft,
    CooperativeLeftView,
    CooperativeView,
    Handover,
    MemberDraft,
    MemberSlot,
    RevokedDraft,
    RevokedView,
    Slot,
)
from goqueue.transports.rest.groups import counted, described, member_view, protocols, topics_read
from goqueue.transports.rest.memberships import joined
from goqueue.transports.rest.times import written_time

HANDOVERS: dict[GroupState, Handover] = {
    GroupState.EMPTY: "none",
    GroupState.ASSIGNING: "assigning",
    GroupState.RECONCILING: "revoking",
    GroupState.STABLE: "none",
}


async def join(call: Call) -> Answer:
    """POST /groups/{group}/join/cooperative."""
    return await joined(call, call.body(CooperativeJoinDraft), eager=False)


async def heartbeat(call: Call) -> Answer:
    """POST /groups/{group}/heartbeat/cooperative."""
    draft = call.body(BeatDraft)
    beat = await call.ask(GroupHeartbeat(call.group, draft.member_id, draft.generation), GroupBeat)
    view = CooperativeBeatView(
        beat.rebalance_required, _slots(beat.to_revoke), _slots(beat.assigned),
        beat.generation, "cooperative", beat.state.value,
    )  # fmt: skip
    if beat.revocation_deadline_ms:
        view.revocation_deadline = written_time(beat.revocation_deadline_ms) or ""
    return answer(view)


async def revoke(call: Call) -> Answer:
    """POST /groups/{group}/revoke."""
    draft = call.body(RevokedDraft)
    request = RevokePartitions(call.group, draft.member_id, draft.generation, _revoked(draft.revoked_partitions))
    reply = await call.ask(request, RevokedPartitions)
    return answer(RevokedView("pending" if reply.pending else "complete", reply.pending, HANDOVERS[reply.state]))


def _revoked(written: list[Slot | str]) -> Partitions:
    partitions: Partitions = {}
    for at, slot in enumerate(written):
        topic, number = _read_slot(slot, f"revoked_partitions[{at}]") if isinstance(slot, str) else _pair(slot)
        partitions.setdefault(topic, []).append(number)
    return partitions


def _read_slot(written: str, field: str) -> tuple[str, Count]:
    """A partition written as `topic-partition`; a topic's name may have hyphens of its own."""
    topic, hyphen, number = written.rpartition("-")
    if not (topic and hyphen):
        raise invalid(f"{field} must be a partition such as orders-0, not {written[:60]!r}", field)
    return topic, whole_number(number, field, most=PARTITION_MAX)


def _pair(slot: Slot) -> tuple[str, Count]:
    return slot.topic, slot.partition


async def leave(call: Call) -> Answer:
    """POST /groups/{group}/leave/cooperative."""
    draft = call.body(MemberDraft)
    await call.ask(LeaveGroup(call.group, draft.member_id), type(None))
    return answer(CooperativeLeftView(draft.member_id))


async def describe_assignment(call: Call) -> Answer:
    """GET /groups/{group}/assignment: of one member, or of all."""
    member_id: str | None = call.query.get("member_id")
    group = await described(call)
    members = [member for member in group.members if member_id in (None, member.member_id)]
    if member_id is not None and not members:
        said = f"group {group.group} has no member {member_id!r}"
        raise RestError(STATUS[Code.UNKNOWN_MEMBER], Code.UNKNOWN_MEMBER, said, "member_id")
    slots = [
        MemberSlot(topic, partition, member.member_id)
        for member in members
        for topic, partitions in member.assigned.items()
        for partition in partitions
    ]
    view = AssignmentView(group.generation, slots)
    if member_id is not None:
        view.member_id = member_id
    return answer(view)


async def describe(call: Call) -> Answer:
    """GET /groups/{group}/cooperative."""
    group = await described(call)
    rebalances = await counted(call, group.group)
    members = [member_view(member) for member in group.members]
    assignments = {member.member_id: _slots(member.assigned) for member in group.members}
    view = CooperativeView(
        group.group, group.state.value, group.generation, protocols(group), group.assignor, HANDOVERS[group.state],
        topics_read(group), members, assignments, rebalances,
    )  # fmt: skip
    return answer(view)


def _slots(partitions: Partitions) -> list[Slot]:
    return [Slot(topic, number) for topic, numbers in partitions.items() for number in numbers]
