"""What an operator chooses for a node."""

from attrs import define, field

from goqueue.core.cluster.options import ClusterOptions
from goqueue.core.cluster.topic_settings import Value
from goqueue.core.groups.plan import SESSION_MS_DEFAULT


@define
class NodeOptions:
    """What an operator chooses for a node."""

    node_id: str = "node-1"
    version: str = ""
    partitions_default: int = 6
    # How much of what was appended last is kept in memory for those who follow, of all partitions together.
    recent_bytes: int = 16 << 20
    # Where the ids of members begin to be drawn; another number at every start.
    seed: int = 0
    # What a topic gets besides what its maker says of it, and how long a member may be silent that does not say.
    topic_config: dict[str, Value] = field(factory=dict)
    session_timeout_ms: int = SESSION_MS_DEFAULT
    # Of topics of whose replicas nothing is said; as many as there are nodes, if those are fewer.
    replication_default: int = 1
    # None in a node that is alone.
    cluster: ClusterOptions | None = None
