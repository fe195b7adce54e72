"""What the world tells a checker."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from goqueue.core.cluster.apply import Topic
from goqueue.core.cluster.plan import is_own
from goqueue.core.groups.journal import JOURNAL_TOPIC
from goqueue.core.node import Node
from goqueue.core.partition.partition import Partition
from goqueue.core.ready import Letter, SaveVote
from goqueue.core.requests.messages import Side
from goqueue.core.requests.replies import Reply
from goqueue.fuzz.deliveries import Spot
from goqueue.fuzz.history import LETTERS_ENDING, Asked, History
from goqueue.fuzz.insight import agreed_index, agreed_topics, given_up
from goqueue.fuzz.workloads.client import Client
from goqueue.fuzz.workloads.petitioner import Petitioner
from goqueue.storage.node_disk import Work
from goqueue.storage.simulated import SimulatedDisk

if TYPE_CHECKING:
    from goqueue.fuzz.users.handed import Handed
    from goqueue.fuzz.users.program import Program

HEALER = "healer"
"""Who asks once nothing fails any more."""


_TROUBLES = (
    "crash", "kill or stop", "pause", "clock jump", "disk full", "bit rot", "failed ", "wire trouble", "calamity",
    "wipe", "program killed", "program met Un", "program met C",
)  # fmt: skip


class Broker(Protocol):
    """What may be seen of a process: its node, while it lives, and what lies on its disk."""

    node_id: str
    node: Node | None
    disk: SimulatedDisk
    # How often its machine has lost its power.
    boots: int
    # How many turns in a row it had for nothing, and wanted the next one at once.
    vain_turns: int
    # Whether its node has left the cluster for good.
    is_retired: bool


class Sight:
    """What a checker may look at: the history, the processes, the clients and the clocks."""

    def __init__(self, history: History) -> None:
        self.history = history
        self.processes: Sequence[Broker] = []
        self.now = 0
        self.wall_ms = self.least_ms = 0
        # What any clock ever showed, and whether one was ever put back.
        self.latest_ms = 0
        self.went_back = False
        # Whose turn it was, or whose work came back.
        self.stirred: Broker | None = None
        self._stirred_led: list[tuple[int, Partition]] | None = None
        self._stirred_streams: list[tuple[int, Partition]] | None = None
        # Of a cluster, by voter id: the disks that there are, and what was last voted on those that were lost.
        self.disks: dict[str, SimulatedDisk] = {}
        self.lost_votes: dict[str, SaveVote] = {}
        # Since when nothing fails any more, and all has come to rest that did; None while anything may fail.
        self.calm_since: int | None = None
        # How many turns there were of all nodes.
        self.turns = 0
        self.clients: list[Client] = []
        # Programs that use the client library, and what the readers among them were handed.
        self.users: Sequence[Program] = []
        # How often what has happened.
        self.counts: dict[str, int] = {}
        self.handed: Handed | None = None
        # Of a cluster: the topics as the one knew them that knew most so far, and the latest epoch of each stream.
        self._known: tuple[int, dict[str, Topic]] = (0, {})
        # By name, the ids of all topics that there ever were.
        self._ids: dict[str, set[int]] = {}
        self._epochs: dict[tuple[int, str], int] = {}

    @property
    def was_quiet(self) -> bool:
        """Whether nothing has failed so far that a program could notice, and none has died."""
        return not any(what.startswith(_TROUBLES) for what in self.counts)

    @property
    def is_cluster(self) -> bool:
        """Whether there is, or may be, more than one node."""
        return len(self.processes) > 1

    def turned(self, now: int, wall_ms: int, least_ms: int) -> None:
        """A turn of a node begins, by its own wall clock and the one that is furthest behind of all."""
        self.went_back = self.went_back or least_ms < self.least_ms
        self.now, self.wall_ms, self.least_ms = now, wall_ms, least_ms
        self.latest_ms = max(self.latest_ms, wall_ms)
        self.turns += 1

    def stir(self, now: int, broker: Broker) -> None:
        """Something has happened to a node."""
        self.now, self.stirred = now, broker
        self._stirred_led = self._stirred_streams = None

    def nodes(self) -> list[Node]:
        """All that live."""
        return [process.node for process in self.processes if process.node is not None]

    def broker(self, node_id: str) -> Broker | None:
        """The process of a node."""
        return next((process for process in self.processes if process.node_id == node_id), None)

    def node(self) -> Node | None:
        """The one that knows most of what is agreed on; None when none lives that knows of anything."""
        nodes = [node for node in self.nodes() if node.has_metadata]
        return max(nodes, key=agreed_index, default=None) if self.is_cluster else next(iter(nodes), None)

    def is_petition(self, asked: Asked) -> bool:
        """Whether somebody asks for what nobody may have, so that nothing can come of it."""
        petitioners = (client for client in self.clients if isinstance(client, Petitioner))
        return any(one.petitions.get(id(asked.request)) is asked.request for one in petitioners)

    def topics(self) -> dict[str, Topic]:
        """The topics that are agreed on: as far as a node knows that is alone, or as anybody ever knew."""
        node = self.node()
        if self.is_cluster:
            if node is not None and agreed_index(node) > self._known[0]:
                self._known = agreed_index(node), agreed_topics(node)
                for name, topic in self._known[1].items():
                    self._ids.setdefault(name, set()).add(topic.topic_id)
            return self._known[1]
        return {} if node is None else {name: one.topic for name, one in node.led.topics.items()}

    def topic_ids(self) -> dict[str, int]:
        """The same by their ids."""
        return {name: topic.topic_id for name, topic in self.topics().items()}

    def ids_believed(self, name: str) -> set[int]:
        """The ids that nodes of a cluster believe a topic to have: one that hears nothing may be behind by several."""
        self.topics()
        believed = (agreed_topics(node).get(name) for node in self.nodes())
        return {one.topic_id for one in (self._known[1].get(name), *believed) if one is not None}

    def ids_since(self, name: str, least_id: int) -> list[int]:
        """The ids of all topics of a name, in a cluster, from one on."""
        self.topics()
        return sorted(one for one in self._ids.get(name, ()) if one >= least_id)

    def coordinator(self) -> str:
        """The node that leads the groups, as it is agreed on; empty while none does."""
        topic = self.topics().get(JOURNAL_TOPIC)
        if not self.is_cluster or topic is None:
            return "" if self.is_cluster else self.processes[0].node_id
        return topic.placements[0].leader

    def partitions(self) -> list[tuple[int, Partition]]:
        """(topic id, partition) of all that are open where they are led, of topics that clients made."""
        return [(topic_id, partition) for topic_id, partition in self.all_partitions() if _is_made(partition.topic)]

    def all_partitions(self) -> list[tuple[int, Partition]]:
        """(topic id, partition) of all that are open where they are led, also of the nodes' own topics."""
        return [one for process in self.processes for one in self._led(process)]

    def stirred_partitions(self) -> list[tuple[int, Partition]]:
        """Those that are led by the node of which something was just heard."""
        if self._stirred_led is None:
            self._stirred_led = [] if self.stirred is None else self._led(self.stirred)
        return self._stirred_led

    def stirred_streams(self) -> list[tuple[int, Partition]]:
        """The same with all their streams."""
        if self._stirred_streams is None:
            self._stirred_streams = [] if self.stirred is None else self.led_streams(self.stirred)
        return self._stirred_streams

    def led_streams(self, broker: Broker) -> list[tuple[int, Partition]]:
        """(topic id, stream) of all that a node leads, as far as readers see it."""
        if broker.node is None:
            return []
        topics, streams = broker.node.led.topics, broker.node.led.streams.values()
        found = [(topics[one.topic].topic.topic_id, one) for one in streams if one.topic in topics]
        return [(topic_id, one) for topic_id, one in found if self._is_shown(topic_id, one)]

    def _led(self, broker: Broker) -> list[tuple[int, Partition]]:
        if broker.node is None:
            return []
        leaders = broker.node.led.topics.values()
        found = [(leader.topic.topic_id, partition) for leader in leaders for partition in leader.partitions()]
        if not self.is_cluster:
            return found
        return [(topic_id, partition) for topic_id, partition in found if self._is_shown(topic_id, partition)]

    def _is_shown(self, topic_id: int, partition: Partition) -> bool:
        """Whether readers see a partition, and nobody leads it under a later epoch."""
        key, epoch = (topic_id, partition.log.stream), partition.leader_epoch
        if not partition.is_settled or epoch < self._epochs.get(key, 0):
            return False
        self._epochs[key] = epoch
        return True

    def is_given_up_unheard(self, spot: Spot) -> bool:
        """Whether the last attempt of a message was one that nobody heard of.

        Among several nodes a part of a poll may be that: its node died, or answered too late for the others.
        """
        group, topic_id, number, offset = spot
        topic = next((name for name, one in self.topic_ids().items() if one == topic_id), None)
        if topic is None or not self.is_cluster:
            return False
        ledger = f"logs/{topic}/{number}/{Side.LEDGER}"
        return any(
            start <= offset < end and not self.history.deliveries.was_given(spot, lease)
            for process in self.processes
            for lease, runs in given_up(process.disk, ledger, group)
            for start, end in runs
        )

    def disk_of(self, partition: Partition) -> SimulatedDisk:
        """The disk of the node that leads a partition."""
        stream = partition.log.stream
        return next(
            process.disk
            for process in self.processes
            if process.node is not None and process.node.led.streams.get(stream) is partition
        )


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

    def posted(self, broker: Broker, letter: Letter) -> None:
        """A node writes to a peer."""

    def worked(self, broker: Broker, work: Work) -> None:
        """Work beside a node is done, and the node is about to be told."""

    def lost(self, topic_id: int | None) -> None:
        """Weak promises, of one topic or of all, have just been taken back."""

    def started(self) -> None:
        """A process has its metadata back; those before it are dead."""

    def stepped(self) -> None:
        """Something has happened; the node is between two turns."""

    def ended(self) -> None:
        """The world is healed and at rest."""
