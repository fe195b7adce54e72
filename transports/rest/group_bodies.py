"""The JSON of consumer groups that comes in and goes out, as types: see `bodies.py`, whose rules hold here too.

A partition is written `{"topic", "partition"}`, and as `topic-partition` where clients know it so.
"""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from goqueue.core.groups.assignment import Assignor
from goqueue.core.groups.bounds import TOPICS_MAX
from goqueue.core.groups.plan import NAME_LENGTH_MAX
from goqueue.core.groups.settings import NUMBERS, SPANS_MS
from goqueue.core.requests.refusals import Outcome
from goqueue.transports.rest.bodies import SPAN_SCHEMA, Config, Count, Draft, Priority, Span, TopicName, config_schema

Number = Annotated[int, Meta(ge=0, le=(1 << 63) - 1)]
Start = Annotated[int, Meta(ge=0, le=(1 << 63) - 2)]
Name = Annotated[str, Meta(max_length=NAME_LENGTH_MAX)]
GroupConfig = Annotated[
    Config,
    Meta(
        extra_json_schema=config_schema(
            {
                "assignor": {"type": "string", "enum": [*Assignor]},
                "start": {"anyOf": [{"type": "string"}, {"type": "integer", "minimum": 0}]},
                "key_ordered": {"type": "boolean"},
                **{key: {"type": "string", **SPAN_SCHEMA} for key in SPANS_MS},
                **{key: {"type": "integer", "minimum": 1, "maximum": most} for key, most in NUMBERS.items()},
            }
        )
    ),
]
Mode = Literal["exclusive", "shared"]
Protocol = Literal["eager", "cooperative"]
# What the members of a group speak: none has members, mixed has both kinds.
Protocols = Literal["none", "eager", "cooperative", "mixed"]
State = Literal["empty", "assigning", "reconciling", "stable"]
Handover = Literal["none", "assigning", "revoking"]


# --- what comes in


class SettingsDraft(Draft, kw_only=True):
    """Settings of a group, in `config` or by their names; null there takes one back to its default."""

    config: GroupConfig = {}
    mode: Mode | None = None
    key_ordered: bool | None = None
    visibility_timeout: Span | None = None
    max_attempts: Annotated[int, Meta(ge=1, le=NUMBERS["max_attempts"])] | None = None
    retry_backoff: Span | None = None
    max_in_flight: Annotated[int, Meta(ge=1, le=NUMBERS["max_in_flight"])] | None = None
    start: str | Start | None = None
    offsets_retention: Span | None = None


class MembershipDraft(SettingsDraft, kw_only=True):
    """A membership: a new one, or with `member_id` the one there is; settings are for a group that this makes."""

    client_id: Name
    topics: Annotated[list[TopicName], Meta(min_length=1, max_length=TOPICS_MAX)]
    member_id: str = ""
    instance_id: Name = ""
    session_timeout: Span | None = None
    assignor: Literal["", "sticky", "roundrobin", "range"] = ""


class JoinDraft(MembershipDraft, kw_only=True):
    """A membership by either protocol, eager if none is named."""

    protocol: Protocol | None = None


class CooperativeJoinDraft(MembershipDraft, kw_only=True):
    """A membership by the cooperative protocol."""

    protocol: Literal["cooperative"] | None = None


class BeatDraft(Draft):
    """A member lives, and follows the assignment of `generation`."""

    member_id: str
    generation: Number


class MemberDraft(Draft):
    """Which member it is about; `generation` is taken for courtesy, for a member may leave in any."""

    member_id: str
    generation: Number | None = None


class Slot(Draft):
    """One partition."""

    topic: str
    partition: Count


class RevokedDraft(Draft):
    """What a member has let go of, since an answer of `generation` asked it to."""

    member_id: str
    generation: Number
    revoked_partitions: list[Slot | str] = []


class CommitDraft(Draft):
    """The next offsets to be read, by topic and partition; the generation is the present one if none is named."""

    offsets: dict[str, dict[str, Number]]
    member_id: str = ""
    generation: Number | None = None


class ResetDraft(Draft):
    """Where a group is to go on; all partitions of the topic if none are named."""

    topic: str
    partitions: list[Count] = []
    to: Literal["earliest", "latest", "offset", "time"] | None = None
    offset: Number | None = None
    time: str | None = None
    dry_run: bool = False


# --- what goes out


class JoinedView(Struct):
    """A membership; `partitions` has the numbers where the member reads one topic."""

    member_id: str
    generation: int
    leader_id: str
    partitions: list[int]
    assigned_partitions: list[str]
    members: list[str]
    rebalance_required: bool
    mode: Mode
    protocol: Protocol
    heartbeat_interval: str


class BeatView(Struct):
    """How the group is, and whether the member is to join again."""

    rebalance_required: bool
    state: State
    generation: int


class CooperativeBeatView(Struct):
    """What the member may read, and what it is to let go of until when."""

    rebalance_required: bool
    partitions_to_revoke: list[Slot]
    partitions_assigned: list[Slot]
    generation: int
    protocol: Protocol
    state: State
    revocation_deadline: str | UnsetType = UNSET


class RevokedView(Struct):
    """How many partitions the member has yet to let go of."""

    status: Literal["complete", "pending"]
    pending_count: int
    rebalance_state: Handover


class LeftView(Struct):
    """That a member is gone."""

    member_id: str
    left: bool = True


class CooperativeLeftView(Struct):
    """That a member is gone, as cooperative clients know it."""

    member_id: str
    status: Literal["left"] = "left"


class MemberSlot(Struct):
    """One partition and the member that reads it."""

    topic: str
    partition: int
    member_id: str


class AssignmentView(Struct):
    """Who reads what: one member's partitions, or everybody's."""

    generation: int
    partitions: list[MemberSlot]
    member_id: str | UnsetType = UNSET


class MemberView(Struct):
    """One member."""

    member_id: str
    client_id: str
    instance_id: str
    protocol: Protocol
    topics: list[str]
    assigned_partitions: list[str]
    partitions_to_revoke: list[str]
    session_timeout: str
    last_heartbeat: str | None


class GroupView(Struct):
    """One group; members by seniority."""

    group_id: str
    state: State
    generation: int
    protocol: Protocols
    mode: Mode
    assignment_strategy: str
    leader_id: str
    topics: list[str]
    members: list[MemberView]
    config: dict[str, Any]
    # When it is forgotten unless somebody uses it; null while it has members.
    expires_at: str | None


class GroupsView(Struct):
    """All groups: their names, or with `details` each of them."""

    groups: list[str | GroupView]


class GroupGone(Struct):
    """A group that was removed."""

    group_id: str
    deleted: bool = True


class RebalancesView(Struct):
    """The rebalances since the node began."""

    total_rebalances: int
    successful_rebalances: int
    failed_rebalances: int
    total_partitions_revoked: int
    total_partitions_assigned: int
    total_revocation_timeouts: int
    last_rebalance_duration_ms: int
    average_rebalance_duration_ms: int
    last_rebalance_at: str | None
    rebalances_by_reason: dict[str, int]


class CooperativeView(Struct):
    """One group as cooperative clients know it."""

    id: str
    state: State
    generation: int
    protocol: Protocols
    assignment_strategy: str
    rebalance_state: Handover
    topics: list[str]
    members: list[MemberView]
    member_assignments: dict[str, list[Slot]]
    rebalance_metrics: RebalancesView


class CommitRefusedView(Struct):
    """Why the offset of one partition was not taken."""

    topic: str
    partition: int
    error: str
    code: str
    field: str
    outcome: Outcome


class CommittedView(Struct):
    """Whether all offsets were taken; `refused` has those that were not."""

    committed: bool
    refused: list[CommitRefusedView] | UnsetType = UNSET


class OffsetsView(Struct):
    """Committed offsets, -1 for none, and how many messages are left to read, -1 where that is unknown."""

    offsets: dict[str, dict[str, int]]
    lag: dict[str, dict[str, int]]


class Move(Struct):
    """Where a partition's offset was and is, -1 for none."""

    before: int
    after: int


class ResetView(Struct):
    """What a reset did, or would do."""

    topic: str
    dry_run: bool
    offsets: dict[str, Move]


class PolledView(Struct):
    """One message of a partition that the member reads, or of a shared group: the attempt, its receipt, until when."""

    topic: str
    partition: int
    offset: int
    key: str | None
    value: str | None
    headers: dict[str, str | None]
    timestamp: str | None
    priority: Priority
    encoding: Literal["base64"] | UnsetType = UNSET
    headers_encoding: Literal["base64"] | UnsetType = UNSET
    attempt: int | UnsetType = UNSET
    receipt_handle: str | UnsetType = UNSET
    expires_at: str | UnsetType = UNSET


class LeftOutView(Struct):
    """Messages that a poll could not bring, from `offset` to before `next_offset`, and why."""

    topic: str
    partition: int
    offset: int
    next_offset: int
    error: str
    code: str


class PolledViews(Struct):
    """The next messages for a member; what is left out does not come with the next poll either."""

    messages: list[PolledView]
    rebalance_required: bool
    left_out: list[LeftOutView] | UnsetType = UNSET
