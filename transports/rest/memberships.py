"""The endpoints by which a process becomes a member of a group, stays one and leaves: the eager face.

An eager member learns its partitions from the answer to a join. When a heartbeat's answer says `rebalance_required`, it
joins again, with its member id, and goes on with what that answer says; the join says that it has let go of the rest.
"""

from goqueue.core.cluster.durations import format_duration
from goqueue.core.groups.plan import SESSION_MS_MAX
from goqueue.core.requests.groups import GroupBeat, GroupHeartbeat, GroupMode, Joined, JoinGroup, LeaveGroup
from goqueue.transports.rest.call import Call, answer
from goqueue.transports.rest.decoding import span_ns
from goqueue.transports.rest.errors import RestError, invalid
from goqueue.transports.rest.exchange import Answer
from goqueue.transports.rest.group_bodies import (
    BeatDraft,
    BeatView,
    JoinDraft,
    JoinedView,
    LeftView,
    MemberDraft,
    MembershipDraft,
)
from goqueue.transports.rest.groups import as_written, shorthands, slot_names


async def join(call: Call) -> Answer:
    """POST /groups/{group}/join."""
    draft = call.body(JoinDraft)
    return await joined(call, draft, eager=draft.protocol != "cooperative")


async def joined(call: Call, draft: MembershipDraft, *, eager: bool) -> Answer:
    """The membership that a draft asks for."""
    given = shorthands(draft)
    config = {key: value for key, value in draft.config.items() if value is not None}
    request = JoinGroup(
        call.group, draft.topics, draft.member_id, draft.instance_id, draft.client_id,
        _session_ms(draft.session_timeout), None if draft.mode is None else GroupMode(draft.mode),
        draft.assignor, eager, {**config, **given},
    )  # fmt: skip
    try:
        reply = await call.ask(request, Joined)
    except RestError as error:
        raise as_written(error, given) from None
    return answer(_joined_view(reply, draft.topics, eager=eager))


def _session_ms(written: str | None) -> int:
    """A session's time; what nobody wrote is 0, and the coordinator's choice."""
    if written is None:
        return 0
    session_ms = span_ns(written, "session_timeout", SESSION_MS_MAX * 1_000_000) // 1_000_000
    if not session_ms:
        raise invalid(f"session_timeout must be at least 1s, not {written}", "session_timeout")
    return session_ms


def _joined_view(reply: Joined, topics: list[str], *, eager: bool) -> JoinedView:
    numbers = reply.assigned.get(topics[0], []) if len(set(topics)) == 1 else []
    assert reply.member_id in reply.members
    return JoinedView(
        reply.member_id, reply.generation, reply.members[0], numbers, slot_names(reply.assigned), reply.members,
        reply.rebalance_required, reply.mode.value, "eager" if eager else "cooperative",
        format_duration(reply.heartbeat_interval_ms),
    )  # fmt: skip


async def heartbeat(call: Call) -> Answer:
    """POST /groups/{group}/heartbeat."""
    draft = call.body(BeatDraft)
    beat = await call.ask(GroupHeartbeat(call.group, draft.member_id, draft.generation), GroupBeat)
    return answer(BeatView(beat.rebalance_required, beat.state.value, beat.generation))


async def leave(call: Call) -> Answer:
    """POST /groups/{group}/leave."""
    draft = call.body(MemberDraft)
    await call.ask(LeaveGroup(call.group, draft.member_id), type(None))
    return answer(LeftView(draft.member_id))
