"""What the controller asks of itself: changes that nobody else may ask for."""

from attrs import define, field


@define
class NameCluster:
    """Give the cluster an id, unless it has one."""

    cluster_id: str


@define
class DeclareDead:
    """A node, as the process that was heard of last, was not heard of for too long."""

    node_id: str
    incarnation: int


@define
class Tidy:
    """Bring what can be better into order: leaders where there are none, moves that are complete, first replicas.

    `settled` are nodes that have lived for long enough to be given back what they led before.
    """

    settled: list[str] = field(factory=list)


@define
class EndStandstill:
    """Let the replica with the longest log lead a partition of which nobody is known to have everything.

    `incarnations` says as which process each replica has told how far its log reaches.
    """

    topic: str
    partition: int
    leader_epoch: int
    node_id: str
    incarnations: dict[str, int]


@define
class Summarize:
    """The log has grown long beside what it adds up to: one record that says all is to follow."""


Duty = NameCluster | DeclareDead | Tidy | EndStandstill
