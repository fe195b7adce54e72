"""The JSON of the cluster, as types: nodes, moves of partitions, and what operators ask for."""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from goqueue.transports.rest.bodies import Count, Draft, PartitionCount

MOVES_MAX = 1000


class NodeView(Struct):
    """One node, and what hangs on it; `last_seen_ms`: how long ago the controller, if asked, heard of it."""

    node_id: str
    standing: str
    healthy: bool
    is_controller: bool
    is_voter: bool
    rack: str
    internal: str
    http: str
    grpc: str
    version: str
    leaders: int
    replicas: int
    in_sync: int
    last_seen_ms: int | UnsetType = UNSET


class PlaceView(Struct):
    """One partition of one topic."""

    topic: str
    partition: int


class OfflineView(Struct):
    """A partition that nobody leads: who has all of it, as far as is known, and why, with what to do about it."""

    topic: str
    partition: int
    eligible: list[str]
    why: str


class ClusterView(Struct):
    """The cluster as the node that was asked knows it; lists of partitions are cut at a thousand, counts are not."""

    cluster_id: str
    controller: str
    # The term of the controller: it rises with each.
    epoch: int
    voters: list[str]
    nodes: list[NodeView]
    topics: int
    partitions: int
    reassigning: int
    under_replicated_count: int
    offline_count: int
    under_replicated: list[PlaceView]
    offline: list[OfflineView]


class ClusterHealthView(Struct):
    """Whether all is well: `ok`, `degraded` where something is missing and nothing stands still, or `fail`."""

    status: str
    controller: str
    nodes_total: int
    nodes_healthy: int
    under_replicated: int
    offline: int
    reassigning: int
    # What is wrong, in sentences.
    problems: list[str]


class PartitionsDraft(Draft):
    """How many partitions a topic is to have."""

    count: PartitionCount
    replica_assignments: Annotated[dict[str, list[str]], Meta(extra_json_schema={"maxProperties": 0})] = {}


class ScaledView(Struct):
    """What became of it."""

    topic_name: str
    old_partition_count: int
    new_partition_count: int
    partitions_added: list[int]
    success: bool = True


class ScalingView(Struct):
    """How a topic's partitions are led."""

    topic_name: str
    partition_count: int
    leaderless: list[int]
    under_replicated: list[int]
    reassigning: list[int]
    is_complete: bool


class MoveDraft(Draft):
    """Where a partition is to be; `old_replicas`, where given, have to be those that it has."""

    topic: str
    partition: Count
    new_replicas: Annotated[list[str], Meta(min_length=1)]
    old_replicas: list[str] | None = None


class ReassignDraft(Draft):
    """Partitions to be moved, all of them or none; what copies them is bounded by the nodes' own setting."""

    partitions: Annotated[list[MoveDraft], Meta(min_length=1, max_length=MOVES_MAX)]
    throttle_bytes_per_sec: Annotated[int, Meta(ge=0, extra_json_schema={"maximum": 0})] = 0
    timeout_per_partition_sec: Count = 0


class ReplicaView(Struct):
    """How far a replica that a move brings has come."""

    node_id: str
    offset: int
    end_offset: int


class MoveView(Struct):
    """One move under way; `progress` goes from 0 to 1."""

    id: str
    topic: str
    partition: int
    leader: str
    replicas: list[str]
    in_sync: list[str]
    adding: list[str]
    removing: list[str]
    progress: float
    catching_up: list[ReplicaView]
    status: str = "in_progress"


class MovesView(Struct):
    """Moves under way; `id` stands for all of them together."""

    id: str
    reassignments: list[MoveView]


class MovesEnded(Struct):
    """Moves that were taken back."""

    id: str
    cancelled: bool = True


class DrainedView(Struct):
    """A node that leads nothing any more, as far as others can take over, or that may lead again."""

    node_id: str
    draining: bool
    leaders_left: int


class ForgottenView(Struct):
    """A node that is no part of the cluster any more."""

    node_id: str
    forgotten: bool = True


class ReadmittedView(Struct):
    """A node that may come back with an empty data folder."""

    node_id: str
    readmitted: bool = True


class ElectionDraft(Draft):
    """Where the first replicas are to lead: one partition, one topic, or all.

    `unclean` lets a replica lead one partition that nobody leads, although it may lack messages that were acknowledged:
    `node`, or whichever seems best.
    """

    topic: str = ""
    partition: Count | None = None
    unclean: bool = False
    node: str = ""


class ElectedView(Struct):
    """How many partitions are still led by others than their first replicas; of one partition, who leads it."""

    left: int
    leader: str = ""
