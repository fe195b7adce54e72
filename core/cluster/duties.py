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


Duty = NameCluster | DeclareDead | Tidy
