"""What the world tells a checker."""

from goqueue.core.calls import Reply
from goqueue.core.cluster.plan import is_own
from goqueue.core.node import Node
from goqueue.core.partition.partition import Partition
from goqueue.fuzz.history import LETTERS_ENDING, Asked, History
from goqueue.fuzz.workloads.client import Client
from goqueue.storage.simulated import SimulatedDisk

HEALER = "healer"
"""Who asks once nothing fails any more."""


class Sight:
    """What a checker may look at: the history, the disk, the clients, the clocks, and the node while there is one."""

    def __init__(self, history: History, disk: SimulatedDisk) -> None:
        self.history = history
        self.disk = disk
        self.node: Node | None = None
        self.now = 0
        self.wall_ms = 0
        # How many turns there were of all nodes.
        self.turns = 0
        self.clients: list[Client] = []

    def turned(self, now: int, wall_ms: int) -> None:
        """A turn of the node begins."""
        self.now, self.wall_ms = now, wall_ms
        self.turns += 1

    def topic_ids(self) -> dict[str, int]:
        """The topics that the node leads."""
        return {} if self.node is None else {name: one.topic.topic_id for name, one in self.node.led.topics.items()}

    def partitions(self) -> list[tuple[int, Partition]]:
        """(topic id, partition) of all that are open, of topics that clients made."""
        return [(topic_id, partition) for topic_id, partition in self.all_partitions() if _is_made(partition.topic)]

    def all_partitions(self) -> list[tuple[int, Partition]]:
        """(topic id, partition) of all that are open, also of the node's own topics."""
        leaders = [] if self.node is None else self.node.led.topics.values()
        return [(leader.topic.topic_id, partition) for leader in leaders for partition in leader.partitions()]


def _is_made(topic: str) -> bool:
    return not is_own(topic) and not topic.endswith(LETTERS_ENDING)


class Checker:
    """Looks on; every method raises `Violation` when it sees a promise broken."""

    def __init__(self, sight: Sight) -> None:
        self.sight = sight
        self.history = sight.history

    def compacts(self, topic_id: int | None) -> bool:
        """Whether a topic is compacted."""
        terms = self.history.terms.get(topic_id) if topic_id is not None else None
        return terms is not None and terms.compacts

    def asked(self, asked: Asked) -> None:
        """A request was handed to the node."""

    def answered(self, asked: Asked, reply: Reply) -> None:
        """The node answered; promises of this answer are in the history already."""

    def lost(self, topic_id: int | None) -> None:
        """Weak promises, of one topic or of all, have just been taken back."""

    def started(self) -> None:
        """A process has its metadata back; those before it are dead."""

    def stepped(self) -> None:
        """Something has happened; the node is between two turns."""

    def ended(self) -> None:
        """The world is healed and at rest."""
