"""Requests about topics, and their answers."""

from functools import partial

from attrs import define, field

from goqueue.core.requests.row import NOTHING, Audience, Operation, Repeat, Request, Resource, Route, Row, ServiceName


@define
class CreateTopic(Request):
    """A new topic; `config` holds what differs from the defaults, as text or numbers. Zeros stand for the defaults."""

    name: str
    partitions: int = 0
    replication_factor: int = 0
    config: dict[str, object] = field(factory=dict)


@define
class AlterTopic(Request):
    """Change settings of a topic; None takes one back to its default."""

    name: str
    config: dict[str, object]


@define
class DeleteTopic(Request):
    """Remove a topic with everything in it."""

    name: str


@define
class ListTopics(Request):
    """All topics."""


@define
class DescribeTopic(Request):
    """One topic."""

    name: str


@define
class DescribePartitions(Request):
    """Where a topic's partitions live and how far they reach."""

    name: str


@define
class PartitionReply:
    """One partition as this node knows it."""

    partition: int
    leader: str
    replicas: list[str]
    isr: list[str]
    start_offset: int
    end_offset: int
    high_watermark: int
    size_bytes: int
    # Where clients reach the leader by gRPC; empty where it is the one that answers, or there is none.
    leader_address: str = ""
    # Replicas that are not in sync and may lead all the same, and why nobody leads where that is so.
    elr: list[str] = field(factory=list)
    why_offline: str = ""


@define
class TopicReply:
    """A topic as it is known; `offsets` holds start and end of every partition that is open."""

    name: str
    partitions: int
    config: dict[str, object]
    created_ms: int
    offsets: dict[int, tuple[int, int]]
    size_bytes: int
    segments: int = 0
    # Tells it from any other topic of its name, before it and after it.
    identity: str = ""


@define
class AddPartitions(Request):
    """Let a topic have so many partitions from here on. Answered None.

    Keys go to the partitions that were there before, as the topic's `key_partitions` says, until that is altered.
    """

    name: str
    partitions: int


_row = partial(Row, audience=Audience.CLIENT, service=ServiceName.METADATA, resource=Resource.TOPIC)
_look = partial(_row, service=ServiceName.NODE, repeat=Repeat.ALWAYS, changes=False)
ROWS = (
    _row(CreateTopic, 100, TopicReply, Operation.CREATE, "name", route=Route.CONTROLLER),
    _row(AlterTopic, 101, TopicReply, Operation.ALTER, "name", route=Route.CONTROLLER, repeat=Repeat.ELSEWHERE),
    _row(DeleteTopic, 102, NOTHING, Operation.DELETE, "name", route=Route.CONTROLLER),
    _look(ListTopics, 103, TopicReply, Operation.DESCRIBE, "", many=True),
    _look(DescribeTopic, 104, TopicReply, Operation.DESCRIBE, "name"),
    _look(DescribePartitions, 105, PartitionReply, Operation.DESCRIBE, "name", many=True),
    _row(AddPartitions, 204, NOTHING, Operation.ALTER, "name", route=Route.CONTROLLER, repeat=Repeat.ALWAYS),
)
"""The rows of this area."""
