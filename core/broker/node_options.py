"""What an operator chooses for a node."""

from attrs import define, field

from goqueue.core.cluster.options import ClusterOptions
from goqueue.core.cluster.topic_settings import Value
from goqueue.core.groups.bounds import GroupBounds
from goqueue.core.groups.plan import SESSION_MS_DEFAULT
from goqueue.core.log.thresholds import Thresholds
from goqueue.core.services.secrets import Secrets


@define
class NodeOptions:
    """What an operator chooses for a node."""

    node_id: str = "node-1"
    version: str = ""
    partitions_default: int = 6
    # How much of what was appended last is kept in memory for those who follow, of all partitions together.
    recent_bytes: int = 16 << 20
    # Where what is no secret begins to be drawn, as pauses and the ids of members; another number at every start.
    seed: int = 0
    # Where secrets come from; a node that has none to draw from draws none.
    secrets: Secrets = field(factory=Secrets, eq=False)
    # What a topic gets besides what its maker says of it, and how long a member may be silent that does not say.
    topic_config: dict[str, Value] = field(factory=dict)
    session_timeout_ms: int = SESSION_MS_DEFAULT
    # How many groups and offsets are kept, and for how long when nobody uses them.
    groups: GroupBounds = field(factory=GroupBounds)
    # How many replicas a topic gets whose maker does not say, or one for each node where there are fewer nodes. With
    # `AUTOMATIC` three, and the topic waits for all but one of them (`min_insync_replicas`) unless its maker says.
    replication_default: int = 1
    thresholds: Thresholds = field(factory=Thresholds)
    # None in a node that is alone.
    cluster: ClusterOptions | None = None
