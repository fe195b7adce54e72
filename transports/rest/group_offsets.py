"""The endpoints that say how far a group has come, and how far it is to be taken.

In a commit of several partitions those that can be taken are; the answer names the others. A commit of which nothing
was taken is an error like any other.
"""

from goqueue.core.requests.groups import (
    CommitOffsets,
    CommitRefusal,
    CommittedOffsets,
    FetchOffsets,
    GroupBeat,
    GroupHeartbeat,
    GroupOffset,
    OffsetChange,
    PartitionOffset,
    ResetOffsets,
    ResetTo,
)
from goqueue.transports.rest.call import PARTITION_MAX, Call, answer
from goqueue.transports.rest.decoding import whole_number
from goqueue.transports.rest.errors import invalid, refused
from goqueue.transports.rest.exchange import Answer
from goqueue.transports.rest.group_bodies import (
    CommitDraft,
    CommitRefusedView,
    CommittedView,
    Move,
    OffsetsView,
    ResetDraft,
    ResetView,
)
from goqueue.transports.rest.times import read_time

COMMITS_MAX = 100_000


async def commit(call: Call) -> Answer:
    """POST /groups/{group}/commit and /groups/{group}/offsets."""
    draft = call.body(CommitDraft)
    offsets = _partition_offsets(draft.offsets)
    generation = await _generation(call, draft)
    reply = await call.ask(CommitOffsets(call.group, draft.member_id, generation, offsets), CommittedOffsets)
    if not reply.refusals:
        return answer(CommittedView(committed=True))
    if len(reply.refusals) == len(offsets):
        raise refused(reply.refusals[0].refusal)
    return answer(CommittedView(committed=False, refused=[_refused_view(each) for each in reply.refusals]))


def _partition_offsets(written: dict[str, dict[str, int]]) -> list[PartitionOffset]:
    count = sum(map(len, written.values()))
    if count > COMMITS_MAX:
        raise invalid(f"offsets may name up to {COMMITS_MAX} partitions, not {count}", "offsets")
    return [
        PartitionOffset(topic, whole_number(number, f"offsets.{topic}.{number}", most=PARTITION_MAX), offset)
        for topic, offsets in written.items()
        for number, offset in offsets.items()
    ]


async def _generation(call: Call, draft: CommitDraft) -> int:
    """The generation that a commit speaks for; who names none may commit whatever is its own at present."""
    if draft.generation is not None or not draft.member_id:
        return draft.generation or 0
    beat = await call.ask(GroupHeartbeat(call.group, draft.member_id, 0), GroupBeat)
    return beat.generation


def _refused_view(one: CommitRefusal) -> CommitRefusedView:
    refusal = one.refusal
    return CommitRefusedView(one.topic, one.partition, refusal.message, refusal.code, refusal.field, refusal.outcome)


async def fetch_offsets(call: Call) -> Answer:
    """GET /groups/{group}/offsets."""
    topic: str | None = call.query.get("topic")
    found: list[GroupOffset] = await call.ask(FetchOffsets(call.group, [] if topic is None else [topic]), list)
    view = OffsetsView({}, {})
    for one in found:
        view.offsets.setdefault(one.topic, {})[str(one.partition)] = one.offset
        view.lag.setdefault(one.topic, {})[str(one.partition)] = one.lag
    return answer(view)


async def reset_offsets(call: Call) -> Answer:
    """POST /groups/{group}/offsets/reset."""
    draft = call.body(ResetDraft)
    to = _reset_to(draft)
    at_ms = 0 if draft.time is None else read_time(draft.time, "time")
    request = ResetOffsets(
        call.group, draft.topic, to, draft.partitions, draft.offset or 0, dry_run=draft.dry_run, at_ms=at_ms
    )
    changes: list[OffsetChange] = await call.ask(request, list)
    moves = {str(change.partition): Move(change.before, change.after) for change in changes}
    return answer(ResetView(draft.topic, draft.dry_run, moves))


def _reset_to(draft: ResetDraft) -> ResetTo:
    """Where a reset goes: `to`, or what an offset or a time alone says."""
    given = [name for name in ("offset", "time") if getattr(draft, name) is not None]
    to = draft.to or (given[0] if given else None)
    if to is None:
        raise invalid("to is required: earliest, latest, offset or time", "to")
    for name in given:
        if name != to:
            raise invalid(f"{name} says where to go on, and so does to, which is {to}", name)
    if to in ("offset", "time") and to not in given:
        raise invalid(f"{to} is required where to is {to}", to)
    return ResetTo(to)
