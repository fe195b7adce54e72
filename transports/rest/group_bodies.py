"""The JSON of consumer groups that comes in and goes out, as types: see `bodies.py`, whose rules hold here too.

A partition is written `{"topic", "partition"}`, and as `topic-partition` where clients know it so.
"""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from goqueue.core.verbs import Outcome
from goqueue.transports.rest.bodies import Config, Count, Priority, TopicName

Number = Annotated[int, Meta(ge=0, le=(1 << 63) - 1)]
Mode = Literal["exclusive", "shared"]
Protocol = Literal["eager", "cooperative"]
# What the members of a group speak: none has members, mixed has both kinds.
Protocols = Literal["none", "eager", "cooperative", "mixed"]
State = Literal["empty", "assigning", "reconciling", "stable"]
Handover = Literal["none", "assigning", "revoking"]


# --- what comes in


class SettingsDraft(Struct, kw_only=True):
    """Settings of a group, in `config` or by their names; null there takes one back to its default."""

    config: Config = {}
    mode: Mode | None = None
    key_ordered: bool | None = None
    visibility_timeout: str | None = None
    max_attempts: int | None = None
    retry_backoff: str | None = None
    max_in_flight: int | None = None
    start: str | Number | None = None


class JoinDraft(SettingsDraft, kw_only=True):
    """A membership: a new one, or with `member_id` the one there is; settings are for a group that this makes."""

    client_id: str
    topics: list[TopicName]
    member_id: str = ""
    instance_id: str = ""
    session_timeout: str | None = None
    assignor: str = ""
    protocol: Protocol | None = None


class BeatDraft(Struct):
    """A member lives, and follows the assignment of `generation`."""

    member_id: str
    generation: Number


class MemberDraft(Struct):
    """Which member it is about."""

    member_id: str


class Slot(Struct):
    """One partition."""

    topic: str
    partition: Count


class RevokedDraft(Struct):
    """What a member has let go of, since an answer of `generation` asked it to."""

    member_id: str
    generation: Number
    revoked_partitions: list[Slot | str] = []


class CommitDraft(Struct):
    """The next offsets to be read, by topic and partition; the generation is the present one if none is named."""

    offsets: dict[str, dict[str, Number]]
    member_id: str = ""
    generation: Number | None = None


class ResetDraft(Struct):
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


class GroupsView(Struct):
    """All groups."""

    groups: list[GroupView]


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
