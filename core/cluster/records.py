"""The records of the metadata log: everything that nodes agree on is a sequence of these."""

from attrs import define, field

from goqueue.core.codec.codec import Codec
from goqueue.core.requests.messages import Side
from goqueue.core.requests.standing import Standing


@define
class TopicCreated:
    """A topic exists from here on; `config` is JSON text of the settings that differ from the defaults."""

    name: str
    topic_id: int
    partitions: int
    config: str
    created_ms: int
    # Which streams its partitions have besides the data.
    sides: list[Side] = field(factory=list)
    # The topic once acknowledged what was not on the disk, whatever its settings say.
    was_weak: bool = False


@define
class SideAdded:
    """Every partition of a topic has a stream more from here on."""

    name: str
    side: Side


@define
class TopicAltered:
    """A topic's settings are these from here on."""

    name: str
    config: str


@define
class TopicDeleted:
    """A topic is no more; its folder is still to be removed."""

    name: str
    topic_id: int


@define
class MetadataSnapshot:
    """Everything that the records before it added up to; those may be removed."""

    next_topic_id: int
    topics: list[bytes] = field(factory=list)
    removing: dict[str, int] = field(factory=dict)
    next_producer_id: int = 0
    cluster_id: str = ""
    # Records that make the nodes and the places of partitions what they are.
    others: list[bytes] = field(factory=list)
    # Which nodes still have folders of topics that are being removed, as `name/node`.
    holders: list[str] = field(factory=list)
    # The voter ids of nodes that were forgotten, and of data folders that are gone.
    given_up: list[str] = field(factory=list)


@define
class TopicRemoved:
    """The folder of a deleted topic is gone, of one node or of all; after the last its name can be used again."""

    name: str
    topic_id: int
    # Empty where a node was alone when it said so.
    node_id: str = ""


@define
class ProducerIds:
    """The producer ids from `first` up to `next` are one node's to hand out, and nobody else's ever again."""

    first: int
    next: int


@define
class ClusterNamed:
    """The cluster's id, drawn once: nodes of another one are strangers."""

    cluster_id: str


@define
class NodeRegistered:
    """A node has begun, or begun again under another incarnation, and is reached there."""

    node_id: str
    incarnation: int
    disk_id: str
    rack: str
    internal: str
    http: str
    grpc: str
    version: str
    wall_ms: int
    # The processes on the same disk just before this one, by their incarnations.
    before: list[int] = field(factory=list)


@define
class NodeStanding:
    """A node's standing is another from here on."""

    node_id: str
    standing: Standing


@define
class NodeRemoved:
    """A node is no part of the cluster any more."""

    node_id: str


@define
class DiskLost:
    """A node's data folder is gone: another one may register under its id, and the voter that it was is none."""

    node_id: str


@define
class PartitionPlaced:
    """Who has a partition, who of them is in sync, and who leads it; nobody does where `leader` is empty.

    `version` rises with every such record of a partition, `leader_epoch` with every leader. `adding` and `removing` are
    the replicas that a move under way brings and takes. `elr` are replicas that are not in sync and have all that was
    acknowledged all the same; `last` is who was the last to have it, where no replica is known to have it any more.
    """

    topic: str
    partition: int
    replicas: list[str]
    isr: list[str]
    leader: str
    leader_epoch: int
    version: int
    adding: list[str] = field(factory=list)
    removing: list[str] = field(factory=list)
    elr: list[str] = field(factory=list)
    last: str = ""


@define
class PartitionsAdded:
    """A topic has so many partitions from here on."""

    topic: str
    partitions: int


MetadataRecord = (
    TopicCreated
    | TopicAltered
    | TopicDeleted
    | MetadataSnapshot
    | TopicRemoved
    | ProducerIds
    | SideAdded
    | ClusterNamed
    | NodeRegistered
    | NodeStanding
    | NodeRemoved
    | PartitionPlaced
    | PartitionsAdded
    | DiskLost
)

_KINDS = {
    1: TopicCreated,
    2: TopicAltered,
    3: TopicDeleted,
    4: MetadataSnapshot,
    5: TopicRemoved,
    6: ProducerIds,
    7: SideAdded,
    8: ClusterNamed,
    9: NodeRegistered,
    10: NodeStanding,
    11: NodeRemoved,
    12: PartitionPlaced,
    13: PartitionsAdded,
    14: DiskLost,
}

METADATA_CODEC = Codec(_KINDS, version=5)
