"""What nodes and operators ask of the controller, and what they are answered.

What changes the agreed state is answered when the change is agreed on; `NodeHeartbeat` and `DescribeReassignments`
change nothing and are answered from the controller's memory. `DescribeCluster` and `MeasureCluster` are answered by any
node from what it knows.
"""

from functools import partial

from attrs import define, field

from goqueue.core.requests.row import NOTHING, Audience, Operation, Repeat, Request, Resource, Route, Row, ServiceName
from goqueue.core.requests.standing import Standing

# The incarnation of a node that is not registered.
UNKNOWN = -1


@define
class RegisterNode(Request):
    """A node has begun, or was told that it is not known: answered `RegisteredReply` when all know it.

    From then on it is in none of the ISRs in which another node is, so it leads nothing with a tail that it lost.

    `whole` and `synced` name earlier processes of the node by their incarnations: those of which the disk has all that
    they wrote, and those of which it has at least what they synced. Of a process in neither nothing is known, as when
    the folder is an older copy.
    """

    node_id: str
    incarnation: int
    disk_id: str
    rack: str = ""
    internal: str = ""
    http: str = ""
    grpc: str = ""
    version: str = ""
    # Of the cluster that the node's folder belongs to; empty where it is new.
    cluster_id: str = ""
    whole: list[int] = field(factory=list)
    synced: list[int] = field(factory=list)


@define
class RegisteredReply:
    """A node is known; `cluster_id` is what its folder belongs to from here on."""

    cluster_id: str
    standing: Standing


@define
class CatchingUp:
    """How far a replica that a move brings has come, in the eyes of the partition's leader."""

    topic: str
    partition: int
    node_id: str
    # Of the data: the end that the replica has, and the leader's.
    offset: int
    end_offset: int


@define
class LogEnd:
    """How far a log of a partition reaches that nobody leads, and the epoch of its last batch; -1 where it is empty."""

    topic: str
    partition: int
    # Of the place: a log that was told of under another epoch may have changed since.
    leader_epoch: int
    epoch: int
    offset: int


@define
class NodeHeartbeat(Request):
    """A node lives; answered `NodeHeartbeatReply` at once."""

    node_id: str
    incarnation: int
    # Rises with every heartbeat of a process: the answer bears it.
    number: int
    # Of the moves whose partitions the node leads, a bounded number of them.
    catching_up: list[CatchingUp] = field(factory=list)
    # Of partitions that stand still, a bounded number of them.
    logs: list[LogEnd] = field(factory=list)


@define
class NodeHeartbeatReply:
    """What the controller of a term knows of a node; `incarnation` is `UNKNOWN` for one that is not registered."""

    number: int
    term: int
    controller: str
    incarnation: int
    standing: Standing
    # For how long the controller had not been in touch with a majority of voters when it said so.
    silence_ns: int = 0


@define
class LeaveNode(Request):
    """A node is about to stop as planned: others lead what it leads, and it leaves the ISRs. Answered `LeaveReply`."""

    node_id: str
    incarnation: int


@define
class LeaveReply:
    """How many partitions still hang on the node, because nobody else has all of them."""

    left: int


@define
class IsrChange:
    """Who is in sync with a leader, as it sees it at a version of the partition's place.

    `incarnations` says of the nodes that join as which process they have caught up: one that has begun anew since may
    have lost what it had. A leader that resigns, because its disk failed, is none of them, and one of them is to lead;
    where it is alone it names itself, and leads under another epoch. `lost` are replicas, maybe the leader itself, that
    have less than what was acknowledged.
    """

    topic: str
    partition: int
    leader_epoch: int
    version: int
    isr: list[str]
    incarnations: dict[str, int] = field(factory=dict)
    resigns: bool = False
    lost: list[str] = field(factory=list)


@define
class AlterIsr(Request):
    """A leader sees other replicas in sync than are agreed on; answered None when at least one change is made.

    Every change that is made raises the version of the place, even where the ISR stays as it was. One that is not made
    leaves it; the leader may ask again by the place that it then knows.
    """

    node_id: str
    incarnation: int
    changes: list[IsrChange]


@define
class ReplicaMove:
    """Where a partition is to be; no replicas take back the move that is under way."""

    topic: str
    partition: int
    replicas: list[str] = field(factory=list)


@define
class Reassign(Request):
    """Bring partitions to other nodes; answered None when that has begun (all moves of a request, or none)."""

    moves: list[ReplicaMove]


@define
class DescribeReassignments(Request):
    """The moves under way: answered `ReassignmentsReply`."""


@define
class Reassignment:
    """One move under way; `progress` has what the leader told last of replicas that are not in sync yet."""

    topic: str
    partition: int
    replicas: list[str]
    isr: list[str]
    leader: str
    adding: list[str]
    removing: list[str]
    progress: list[CatchingUp] = field(factory=list)


@define
class ReassignmentsReply:
    """All moves under way, by topic and partition."""

    moves: list[Reassignment]


@define
class Drain(Request):
    """Let a node lead nothing (or, `is_on` false, lead again); it keeps its replicas. Answered `DrainReply`."""

    node_id: str
    is_on: bool = True


@define
class DrainReply:
    """How many partitions the node still leads, because no other replica is in sync."""

    leads: int


@define
class ElectLeaders(Request):
    """Let the first replicas lead where they are in sync: of one partition, one topic or all. Answered `ElectReply`.

    Where that is `unclean`, it is of one partition that nobody leads: a replica leads that may lack what was
    acknowledged, the one that is named, or else who was last known to have everything, or else any that lives.
    """

    topic: str = ""
    partition: int = -1
    unclean: bool = False
    node_id: str = ""


@define
class ElectReply:
    """How many partitions are led by others than their first replicas still; of one partition also who leads it."""

    left: int
    leader: str = ""


@define
class ForgetNode(Request):
    """A dead node will not come back: its replicas go to others. Answered None.

    Where nobody else has all of a partition the request is refused, unless `accept_loss` says that what only that node
    had may be lost.
    """

    node_id: str
    accept_loss: bool = False


@define
class ReadmitNode(Request):
    """A dead node has lost its data folder: let it come back with an empty one. Answered None.

    It keeps its replicas, which are empty and in no ISR. Where nobody else has all of a partition the request is
    refused, unless `accept_loss` says that what only that node had may be lost.
    """

    node_id: str
    accept_loss: bool = False


@define
class DescribeCluster(Request):
    """Nodes, who of them decides, and whether all partitions are well: answered `ClusterReply`."""


@define
class ClusterNode:
    """One node, and what hangs on it; `seen_ago_ms` is -1 where only the controller knows."""

    node_id: str
    standing: Standing
    rack: str
    internal: str
    http: str
    grpc: str
    version: str
    incarnation: int
    is_controller: bool
    is_voter: bool
    # It was not heard of for longer than `suspect_ns`.
    is_suspect: bool
    seen_ago_ms: int
    leaders: int
    replicas: int
    in_sync: int


@define
class PartitionName:
    """One partition of one topic."""

    topic: str
    partition: int


@define
class OfflinePartition:
    """A partition that nobody leads: who has all of it, as far as is known, and why that is so in a sentence."""

    topic: str
    partition: int
    eligible: list[str]
    why: str


@define
class ClusterReply:
    """The cluster as the answering node knows it; the lists of partitions are cut at a thousand, the counts are not."""

    cluster_id: str
    controller: str
    term: int
    voters: list[str]
    nodes: list[ClusterNode]
    topics: int
    partitions: int
    moving: int
    under_replicated_count: int
    offline_count: int
    under_replicated: list[PartitionName] = field(factory=list)
    offline: list[OfflinePartition] = field(factory=list)
    # Nodes that vote with a data folder that they do not have, or have not come with yet.
    missing_voters: list[str] = field(factory=list)
    # Why the answering node is no part of the cluster at the moment; empty where it is one.
    absence: str = ""


@define
class MeasureCluster(Request):
    """The cluster's figures as the asked node sees them: answered `ClusterFigures`."""


@define
class ClusterFigures:
    """Figures since the node began, and as they are; `leaders_per_node` has every node that is registered."""

    nodes_total: int
    nodes_healthy: int
    is_controller: bool
    partition_count: int
    under_replicated_partitions: int
    offline_partitions: int
    isr_size: int
    leaders_per_node: dict[str, int]
    controller_elections_total: int
    leader_elections_total: int
    unclean_leader_elections_total: int
    isr_shrinks_total: int
    isr_expands_total: int
    # From a partition's loss of its leader to the next one, as this node has seen it.
    leader_election_latency_count: int
    leader_election_latency_ms_sum: int
    # What the node has fetched as a follower.
    bytes_replicated_total: int = 0
    # By topic: how many records the last follower of any partition that the node leads is behind.
    replication_lag: dict[str, int] = field(factory=dict)


_row = partial(
    Row,
    audience=Audience.CLIENT,
    service=ServiceName.METADATA,
    resource=Resource.CLUSTER,
    route=Route.CONTROLLER,
    repeat=Repeat.ALWAYS,
    about_peers=True,
)
_peer = partial(_row, audience=Audience.PEER, about_peers=False)
_look = partial(_row, service=ServiceName.CONTROLLER, changes=False)
ROWS = (
    _peer(RegisterNode, 200, RegisteredReply, Operation.ACT, "node_id"),
    _peer(NodeHeartbeat, 201, NodeHeartbeatReply, Operation.ACT, "node_id", service=ServiceName.CONTROLLER),
    _peer(LeaveNode, 202, LeaveReply, Operation.ACT, "node_id"),
    _peer(AlterIsr, 203, NOTHING, Operation.ACT, "node_id"),
    _row(Reassign, 205, NOTHING, Operation.ALTER, ""),
    _look(DescribeReassignments, 206, ReassignmentsReply, Operation.DESCRIBE, ""),
    _row(Drain, 207, DrainReply, Operation.ALTER, "node_id"),
    _row(ElectLeaders, 208, ElectReply, Operation.ALTER, "topic"),
    _row(ForgetNode, 209, NOTHING, Operation.ALTER, "node_id"),
    _look(DescribeCluster, 210, ClusterReply, Operation.DESCRIBE, "", route=Route.HERE),
    _look(MeasureCluster, 211, ClusterFigures, Operation.DESCRIBE, "", route=Route.HERE),
    _row(ReadmitNode, 212, NOTHING, Operation.ALTER, "node_id"),
)
"""The rows of this area."""
