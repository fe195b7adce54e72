"""What members and operators ask of a group, and what they are answered.

Partitions travel as `{topic: [partition, ...]}`, sorted. `seen` in an answer is a fingerprint of the assignment that it
tells: a member that sends it back with a watch is answered as soon as its assignment is another one.
"""

from enum import StrEnum
from functools import partial

from attrs import define, field

from goqueue.core.records.varint import Readable
from goqueue.core.requests.histogram import Histogram
from goqueue.core.requests.refusals import Refusal
from goqueue.core.requests.row import NOTHING, Audience, Operation, Repeat, Request, Resource, Route, Row, ServiceName

Partitions = dict[str, list[int]]


class GroupMode(StrEnum):
    """Whether a partition belongs to one member, or a message does; fixed when the group is made."""

    EXCLUSIVE = "exclusive"
    SHARED = "shared"


class GroupState(StrEnum):
    """How a group is: without members, about to divide partitions anew, handing them over, or at rest."""

    EMPTY = "empty"
    ASSIGNING = "assigning"
    RECONCILING = "reconciling"
    STABLE = "stable"


class ResetTo(StrEnum):
    """Where a reset puts a group's offsets."""

    EARLIEST = "earliest"
    LATEST = "latest"
    OFFSET = "offset"
    TIME = "time"


@define
class JoinGroup(Request):
    """Become a member, or come back as one; an `eager` member learns its partitions from the answer to a join alone.

    Without a `member_id` the answer brings one. `instance_id` is a name that outlives the process: who joins with it
    takes the place of the member that had it. A mode of None is the group's, or exclusive for a new group. `config` is
    for a group that is made by this; one that is there keeps its own.
    """

    group: str
    topics: list[str]
    member_id: str = ""
    instance_id: str = ""
    client_id: str = ""
    session_timeout_ms: int = 0
    mode: GroupMode | None = None
    assignor: str = ""
    eager: bool = False
    config: dict[str, object] = field(factory=dict)


@define
class GroupHeartbeat(Request):
    """The member lives; of an eager one it also says that it follows the assignment of `generation`."""

    group: str
    member_id: str
    generation: int


@define
class WatchGroup(Request):
    """A heartbeat that is answered when the member's assignment is not the one `seen`, or after `wait_ns`.

    Unless it `counts` it is none: whoever watches on a member's behalf says nothing of whether the member lives.
    """

    group: str
    member_id: str
    seen: int = 0
    wait_ns: int = 0
    counts: bool = True


@define
class LeaveGroup(Request):
    """The member is gone, and its partitions are free at once."""

    group: str
    member_id: str


@define
class RevokePartitions(Request):
    """The member has let go of these partitions and will commit nothing more for them."""

    group: str
    member_id: str
    generation: int
    revoked: Partitions


@define
class Joined:
    """A membership; `members` are all ids by seniority, and `assigned` is what the member may read from here on."""

    member_id: str
    generation: int
    mode: GroupMode
    assigned: Partitions
    to_revoke: Partitions
    heartbeat_interval_ms: int
    rebalance_required: bool
    members: list[str]
    seen: int


@define
class GroupBeat:
    """What a member may read, and what it is to let go of until when; an eager one joins again where required."""

    generation: int
    state: GroupState
    assigned: Partitions
    to_revoke: Partitions
    # In milliseconds since 1970; 0 when nothing is to be revoked.
    revocation_deadline_ms: int
    rebalance_required: bool
    seen: int


@define
class RevokedPartitions:
    """How many partitions the member has yet to let go of, and how the group is."""

    pending: int
    state: GroupState


@define
class PollGroup(Request):
    """What comes next in the member's partitions, once there is anything or after `wait_ns`; also a heartbeat.

    At most `records_max` messages, and batches of `bytes_max` in all, save that a first one comes whole. One poll at a
    time: a second one ends the first.
    """

    group: str
    member_id: str
    records_max: int = 500
    bytes_max: int = 1 << 20
    wait_ns: int = 0


@define
class PolledBatches:
    """Whole batches, of which the messages with first_offset <= offset < end_offset are meant; there may be none."""

    topic: str
    partition: int
    batches: Readable
    first_offset: int
    end_offset: int


@define
class Polled:
    """What comes next; of one partition there may be several parts, in order.

    `rebalance_required` is what a heartbeat would be answered.
    """

    parts: list[PolledBatches]
    rebalance_required: bool = False


@define
class PartitionOffset:
    """The next offset to be read of a partition."""

    topic: str
    partition: int
    offset: int


@define
class CommitOffsets(Request):
    """The group has come this far; without a member only for a group that has none."""

    group: str
    member_id: str
    generation: int
    offsets: list[PartitionOffset]


@define
class CommitRefusal:
    """Why one partition's offset was not taken."""

    topic: str
    partition: int
    refusal: Refusal


@define
class CommittedOffsets:
    """All were taken except these."""

    refusals: list[CommitRefusal]


@define
class FetchOffsets(Request):
    """How far the group has come in some topics; in all that it has committed to or reads when there are none."""

    group: str
    topics: list[str] = field(factory=list)


@define
class GroupOffset:
    """A committed offset, -1 for none, and how many messages are left to read, -1 where that is unknown."""

    topic: str
    partition: int
    offset: int
    lag: int


@define
class ResetOffsets(Request):
    """Go on from somewhere else, in partitions that nobody reads; all of the topic's when none are named.

    For a time, `at_ms` in milliseconds since 1970, `found` holds the offset of the first message at or after it by
    partition: whoever leads the partitions looks them up before the coordinator hears of it.
    """

    group: str
    topic: str
    to: ResetTo
    partitions: list[int] = field(factory=list)
    offset: int = 0
    at_ms: int = 0
    found: dict[int, int] = field(factory=dict)
    dry_run: bool = False


@define
class OffsetChange:
    """Where a partition's offset was and is, -1 for none."""

    partition: int
    before: int
    after: int


@define
class AlterGroup(Request):
    """Change settings of a group; None takes one back to its default."""

    group: str
    config: dict[str, object]


@define
class ListGroups(Request):
    """All groups."""


@define
class DescribeGroup(Request):
    """One group."""

    group: str


@define
class DescribeRebalances(Request):
    """What rebalances there were: of a group, or of all when none is named."""

    group: str = ""


@define
class MeasureGroups(Request):
    """What there is to count of groups, for whoever draws curves of it; of so many of them one by one.

    Of two groups the one with members comes first. It is answered with what is known at once, and makes nothing.
    """

    groups_max: int = 1000
    topics_max: int = 10_000
    partitions_max: int = 20_000


@define
class DeleteGroup(Request):
    """Remove a group without members, and its offsets."""

    group: str


@define
class GroupMemberReply:
    """One member as it is known."""

    member_id: str
    instance_id: str
    client_id: str
    topics: list[str]
    assigned: Partitions
    to_revoke: Partitions
    session_timeout_ms: int
    eager: bool
    last_heartbeat_ms: int


@define
class GroupReply:
    """A group as it is known, members by seniority."""

    group: str
    state: GroupState
    generation: int
    assignor: str
    mode: GroupMode
    config: dict[str, object]
    members: list[GroupMemberReply]
    # When it is forgotten unless somebody uses it, in milliseconds since 1970; 0 while it has members.
    expires_ms: int = 0


@define
class RebalancesReply:
    """Rebalances counted since this coordinator began; one fails when a member had to be cut off."""

    total: int = 0
    successful: int = 0
    failed: int = 0
    partitions_revoked: int = 0
    partitions_assigned: int = 0
    revocation_timeouts: int = 0
    last_duration_ms: int = 0
    average_duration_ms: int = 0
    # In milliseconds since 1970; 0 when there was none.
    last_at_ms: int = 0
    by_reason: dict[str, int] = field(factory=dict)


@define
class TopicMeasure:
    """How far a group has come in a topic, all partitions added up: committed offsets, and messages left to read.

    `lag_ms` is how long ago the oldest of these was appended: at most, or at least if nobody remembers.
    """

    topic: str
    committed: int
    lag: int
    lag_ms: int


@define
class GroupMeasure:
    """One group in numbers; `assigned` is how many partitions its members have."""

    group: str
    generation: int
    members: int
    assigned: int
    topics: list[TopicMeasure]


@define
class GroupsMeasured:
    """Groups in numbers: how many in each state, some one by one, and what was counted since the node began.

    Rebalances, whose `latency` is from what makes one necessary until all is handed over, begin anew with the
    coordinator.
    """

    states: dict[str, int]
    groups: list[GroupMeasure]
    rebalances: dict[str, int]
    latency: Histogram
    heartbeats: int
    session_timeouts: int
    polls: int
    polls_empty: int
    # How many were forgotten because nobody used them; and how many there are, of how many at most.
    expired_groups: int = 0
    expired_offsets: int = 0
    offsets: int = 0
    groups_max: int = 0
    offsets_max: int = 0


_row = partial(
    Row, audience=Audience.CLIENT, service=ServiceName.GROUPS, resource=Resource.GROUP, route=Route.COORDINATOR
)
_look = partial(_row, repeat=Repeat.ALWAYS, changes=False)
ROWS = (
    _row(JoinGroup, 120, Joined, Operation.READ, "group"),
    _row(GroupHeartbeat, 121, GroupBeat, Operation.READ, "group", repeat=Repeat.ELSEWHERE),
    _look(WatchGroup, 122, GroupBeat, Operation.READ, "group"),
    _row(LeaveGroup, 123, NOTHING, Operation.READ, "group", repeat=Repeat.ELSEWHERE),
    _row(RevokePartitions, 124, RevokedPartitions, Operation.READ, "group", repeat=Repeat.ELSEWHERE),
    # A poll moves the member's place, which is in the memory of the coordinator: that one would skip what was in the
    # answer that is lost. Another process knows nothing of the place.
    _row(PollGroup, 125, Polled, Operation.READ, "group", repeat=Repeat.ELSEWHERE, changes=False, measured=True),
    _row(CommitOffsets, 126, CommittedOffsets, Operation.READ, "group", repeat=Repeat.ELSEWHERE),
    _look(FetchOffsets, 127, GroupOffset, Operation.DESCRIBE, "group", many=True),
    _row(ResetOffsets, 128, OffsetChange, Operation.ALTER, "group", many=True),
    _row(AlterGroup, 129, GroupReply, Operation.ALTER, "group"),
    _look(ListGroups, 130, GroupReply, Operation.DESCRIBE, "", many=True),
    _look(DescribeGroup, 131, GroupReply, Operation.DESCRIBE, "group"),
    _look(DescribeRebalances, 132, RebalancesReply, Operation.DESCRIBE, "group"),
    _look(MeasureGroups, 133, GroupsMeasured, Operation.DESCRIBE, "", route=Route.HERE),
    _row(DeleteGroup, 134, NOTHING, Operation.DELETE, "group"),
)
"""The rows of this area."""
