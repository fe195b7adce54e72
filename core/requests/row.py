"""What is known of a request before anybody carries it out: its row in the table of requests.

The routing, the peer codec, the admission of bytes, the metrics and whoever repeats a request that had no answer read
the row; none of them has a list of its own.
"""

from collections.abc import Callable
from enum import Enum, StrEnum
from typing import Any

from attrs import define


class Request:
    """The base of all requests."""

    __slots__ = ()


class Audience(StrEnum):
    """Who may ask: clients too, nodes of the cluster, or only a service of the node that carries the request out."""

    CLIENT = "client"
    PEER = "peer"
    INTERNAL = "internal"


class ServiceName(StrEnum):
    """Which part of a node carries a request out; a service registers for its word."""

    METADATA = "metadata"
    NODE = "node"
    CONTROLLER = "controller"
    PARTITIONS = "partitions"
    GROUPS = "groups"
    QUEUES = "queues"
    DELAYS = "delays"
    DEAD_LETTERS = "dead letters"
    ROUTING = "routing"
    LIFECYCLE = "lifecycle"


class Route(StrEnum):
    """Which node carries a request out.

    The node that is asked; the leader of the partition that the request names; the leaders of the partitions that its
    records go to, each its part; the coordinator of the group; the controller; or the node that the request names.
    """

    HERE = "here"
    PARTITION = "partition"
    PARTITIONS = "partitions"
    COORDINATOR = "coordinator"
    CONTROLLER = "controller"
    NODE = "node"


class Repeat(Enum):
    """Who may carry out a request again that had no answer.

    Anybody; another process than the one that may have done so; another process if the batch is numbered, so that the
    log recognises it; or nobody.
    """

    ALWAYS = "always"
    ELSEWHERE = "elsewhere"
    NUMBERED = "numbered"
    NEVER = "never"


class Resource(StrEnum):
    """What a request is about, for whoever decides about access."""

    TOPIC = "topic"
    GROUP = "group"
    CLUSTER = "cluster"


class Operation(StrEnum):
    """What a request does to its resource, in the words of Kafka's access lists."""

    READ = "read"
    WRITE = "write"
    CREATE = "create"
    ALTER = "alter"
    DELETE = "delete"
    DESCRIBE = "describe"
    ACT = "cluster_action"


@define(frozen=True)
class Row:
    """One request; what has no default here is said of every request, or its area does not import."""

    request: type[Request]
    # Between nodes; for ever. None for a request that no node passes on.
    number: int | None
    # The class of the answer, `type(None)` where there is nothing to say; `many` for a list of them.
    answer: type
    operation: Operation
    # The field of the request that names the resource; empty where the request names none.
    named_by: str
    audience: Audience
    service: ServiceName
    resource: Resource
    many: bool = False
    route: Route = Route.HERE
    repeat: Repeat = Repeat.NEVER
    # False where nothing is lost or done twice, whatever became of a request that had no answer.
    changes: bool = True
    # Whether it is about other nodes: a node that is alone refuses it, or speaks of itself.
    about_peers: bool = False
    # The bytes that the request holds until it is answered; None for one that holds next to nothing.
    weight: Callable[[Any], int] | None = None
    # Whether its rate and latency are metrics of their own.
    measured: bool = False


NOTHING = type(None)
"""The class of an answer that says nothing but that it was done."""
